"""Check that hosts and stations received what the events require.

Checks    where hosts act only on frames: a host joins, ends a handoff, has a gap or delivers when it has just received
          a message of the station that the event names, which was for it, and of a kind that can be the cause
          over TCP it has received data of a station
          there a station has received something of a host, which was for it, since a message was broadcast that
          a host delivers, and since a handoff began that ends with that station
          a message of another host is delivered after a message with its name was received
          a station gives up on a host after as long a silence as the rows show
Model     what is handed up is handed up when the last receiver of the frame has it, at most one propagation delay after
          its end. Acknowledged frames that come twice are handed up once, so after those a silence may have begun
          earlier
Units     integer nanoseconds
Shapes    over the frames, or messages, that a node received
Errors    none
Source    ours: docs/protocols/mobile-causal.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.expected.expectations import Air
from mobilenet.rundir.table import Table
from mobilenet.verify.air.messages import NO_NS, Hops
from mobilenet.verify.air.nodes import Nodes, first
from mobilenet.verify.air.outcomes import RECEIVED
from mobilenet.verify.air.pairs import Pairs

NEVER = 1 << 62
ACTS = {  # event -> what a host has just received of its station
    "join": ("InitAck",),
    "handoff_end": ("InitAck",),
    "gap": ("InitAck", "Reset"),
    "deliver": ("AppSh", "AppOne", "AppCo", "InitAck"),
}
DATA = ("TcpData",)
MARGIN_NS = 1000  # silences are recorded as decimal fractions


class Receptions:
    """What nodes received over the radio, by sender, receiver and time."""

    def __init__(
        self,
        sender: np.ndarray,
        receiver: np.ndarray,
        at_ns: np.ndarray,
        addressed: np.ndarray,
        twice: np.ndarray,
        nodes: Nodes,
        delay_ns: int,
    ) -> None:
        """`at_ns`: handed up then, or at most `delay_ns` later; `twice`: it may have been received before."""
        link = sender * nodes.count + receiver
        order = np.lexsort((at_ns, link))
        self._at_ns, self._addressed, self._twice = at_ns[order], addressed[order], twice[order]
        links, begins = np.unique(link[order], return_index=True)
        ends = np.append(begins[1:], len(order))[: len(begins)]
        spans = zip(begins.tolist(), ends.tolist(), strict=True)
        self._rows = dict(zip(links.tolist(), spans, strict=True))
        self._nodes, self.delay_ns = nodes, delay_ns

    def between(self, sender: int, receiver: int) -> tuple[np.ndarray, np.ndarray]:
        """The times of what was for this receiver, and whether it may have been received before."""
        begin, end = self._rows.get(sender * self._nodes.count + receiver, (0, 0))
        own = self._addressed[begin:end]
        return self._at_ns[begin:end][own], self._twice[begin:end][own]


def receptions_in_frames(pairs: Pairs, nodes: Nodes, air: Air, kinds: tuple[str, ...] = ()) -> Receptions:
    """By the rows of frames; of some `kinds`, or of all."""
    chosen = pairs.table.column("kind").among(kinds) if kinds else ~pairs.is_ack
    rows = np.flatnonzero((pairs.outcome == RECEIVED) & chosen)
    lasts_ns, sizes = (pairs.end_ns - pairs.start_ns)[rows], pairs.size_bytes[rows]
    twice = np.zeros(len(rows), bool)
    if air.repeats:
        each, which = np.unique(sizes, return_inverse=True)
        unicast_ns = np.array([air.unicast.of(size) for size in each.tolist()], np.int64)
        twice = lasts_ns == unicast_ns[which]
    columns = (pairs.sender[rows], pairs.receiver[rows], pairs.end_ns[rows], pairs.addressed[rows])
    return Receptions(*columns, twice, nodes, pairs.delay_ns)


def receptions_in_messages(hops: Hops, nodes: Nodes, air: Air, kinds: tuple[str, ...] = ()) -> Receptions:
    """By the rows of messages: those that were for the receiver, and broadcasts; of some `kinds`, or of all."""
    chosen = hops.is_received & ~hops.is_wired
    rows = np.flatnonzero(chosen & hops.table.column("kind").among(kinds) if kinds else chosen)
    twice = np.full(len(rows), air.repeats)
    columns = (hops.sender[rows], hops.receiver[rows], hops.receive_ns[rows], np.ones(len(rows), bool))
    return Receptions(*columns, twice, nodes, air.delay_ns)


def acts_problem(events: Table, event: str, receptions: Receptions, nodes: Nodes) -> str | None:
    """The first event of this kind at a host for which it had received nothing."""
    rows = events.column("event").rows(event)
    if not len(rows):
        return None
    host = nodes.indices(events.column("node"))[rows]
    station = nodes.indices(events.column("station"))[rows]
    at_ns = events.numbers("time_ns")[rows]
    link = station * nodes.count + host
    wrong: list[int] = []
    order = np.argsort(link, kind="stable")
    _, begins = np.unique(link[order], return_index=True)
    ends = [*begins.tolist()[1:], len(order)]
    for begin, end in zip(begins.tolist(), ends, strict=True):
        own = order[begin:end]
        times = receptions.between(int(station[own[0]]), int(host[own[0]]))[0]
        last = np.append(times, NO_NS - receptions.delay_ns)[np.searchsorted(times, at_ns[own], "right") - 1]
        if (at := first(last < at_ns[own] - receptions.delay_ns)) is not None:
            wrong.append(int(rows[own[at]]))
    if not wrong:
        return None
    row = min(wrong)
    node, of, kinds = events["node"][row], events["station"][row], " or ".join(ACTS[event])
    what = f"{node} records {event} with {of}"
    return f"{_event(events, row)}: {what}, but receives no {kinds} from {of} at that time"


def segments_problem(events: Table, receptions: Receptions, nodes: Nodes) -> str | None:
    """Over TCP, the first event at a host for which no station had just sent it data.

    A host delivers its own messages at once. If it turns back before it has left, its handoff ends when it begins.
    """
    rows = events.column("event").rows("handoff_start", "join", "handoff_end", "gap", "deliver")
    columns = (events.pick(name, rows) for name in ("event", "node", "time_ns", "message"))
    times: dict[str, np.ndarray] = {}
    begun_ns: dict[str, int] = {}
    for row, (event, node, now_ns, message) in zip(rows.tolist(), zip(*columns, strict=True), strict=True):
        if event == "handoff_start":
            begun_ns[node] = now_ns
        if event == "handoff_start" or event == "handoff_end" and begun_ns.get(node) == now_ns:
            continue
        if event == "deliver" and message.startswith(f"{node}:"):
            continue
        if node not in times:
            heard_ns = [receptions.between(station, nodes.index(node))[0] for station in range(nodes.stations)]
            times[node] = np.sort(np.concatenate(heard_ns))
        last = int(np.searchsorted(times[node], now_ns, "right")) - 1
        if last < 0 or times[node][last] < now_ns - receptions.delay_ns:
            return f"{_event(events, row)}: {node} has the event {event}, but receives no {DATA[0]} at that time"
    return None


def unheard_problem(events: Table, receptions: Receptions, nodes: Nodes) -> str | None:
    """The first message, or end of a handoff, of a host that no station had received anything of."""
    message, sent = events.column("message"), events.column("event").rows("broadcast")
    delivered = events.column("event").rows("deliver")
    at_ns, first_ns = events.numbers("time_ns"), np.full(len(message.words) + 1, NEVER)
    np.minimum.at(first_ns, message.codes[delivered], at_ns[delivered])
    senders = nodes.indices(events.column("node"))[sent]
    for host in np.unique(senders).tolist():
        times = np.sort(np.concatenate([receptions.between(host, station)[0] for station in range(nodes.stations)]))
        own = sent[senders == host]
        due_ns = first_ns[message.codes[own]]
        reached_ns = np.append(times, NEVER)[np.searchsorted(times, at_ns[own])]
        if (at := first((due_ns < NEVER) & (reached_ns > due_ns))) is not None:
            row = int(own[at])
            what = f"{events['node'][row]} broadcasts {events['message'][row]}"
            return f"{_event(events, row)}: {what}, which is delivered before any station hears from this host again"
    begun_ns: dict[str, int] = {}
    rows = events.column("event").rows("handoff_start", "handoff_end")
    columns = (events.pick(name, rows) for name in ("event", "node", "station", "time_ns"))
    for row, (event, node, station, now_ns) in zip(rows.tolist(), zip(*columns, strict=True), strict=True):
        if event == "handoff_start":
            begun_ns[node] = now_ns
        elif node in begun_ns:
            times = receptions.between(nodes.index(node), nodes.index(station))[0]
            if np.searchsorted(times, begun_ns[node]) == np.searchsorted(times, now_ns, "right"):
                return (
                    f"{_event(events, row)}: {node} ends a handoff with {station}, which received nothing from"
                    f" {node} during this handoff"
                )
    return None


def carried_problem(events: Table, hops: Hops, nodes: Nodes) -> str | None:
    """The first message of another host that is delivered where no message with its name was received."""
    rows = events.column("event").rows("deliver")
    names, known = events.column("message"), hops.table.column("message")
    codes = {name: code for code, name in enumerate(known.words)}
    of_known = names.map([codes.get(name, -2) for name in names.words], -2)[rows]
    host = nodes.indices(events.column("node"))[rows]
    got = np.flatnonzero(hops.is_received & ~hops.is_wired & (known.codes >= 0))
    width = len(known.words) + 3
    keys = hops.receiver[got] * width + known.codes[got]
    order = np.lexsort((hops.receive_ns[got], keys))
    unique, begins = np.unique(keys[order], return_index=True)
    earliest_ns = hops.receive_ns[got][order][begins]
    delivered_keys = host * width + of_known
    at = np.searchsorted(unique, delivered_keys)
    inside = np.minimum(at, max(len(unique) - 1, 0))
    if len(unique):
        is_there = (at < len(unique)) & (unique[inside] == delivered_keys) & (of_known >= 0)
        is_there &= earliest_ns[inside] <= events.numbers("time_ns")[rows]
    else:
        is_there = np.zeros(len(rows), bool)
    if (wrong := first(~is_there)) is None:
        return None
    row = int(rows[wrong])
    node, message = events["node"][row], events["message"][row]
    return f"{_event(events, row)}: {node} delivers {message}, but has received no message that carries it"


def expire_problem(events: Table, receptions: Receptions, nodes: Nodes) -> str | None:
    """The first station that gives up on a host after a silence that differs from that in the rows."""
    rows = events.column("event").rows("expire")
    columns = (events.pick(name, rows) for name in ("time_ns", "node", "detail"))
    for row, now_ns, station, detail in zip(rows.tolist(), *columns, strict=True):
        expiry = _expiry(detail)
        if expiry is None:
            continue  # its form is looked at elsewhere
        at_ns, twice = receptions.between(nodes.index(expiry.host), nodes.index(station))
        spans = _silences(at_ns, twice, now_ns, receptions.delay_ns)
        if not any(least - MARGIN_NS <= expiry.silent_ns <= most + MARGIN_NS for least, most in spans):
            return (
                f"{_event(events, row)}: {station} gives up on {expiry.host} after {expiry.silent_ns / SECOND:.6f} s of"
                f" silence, but it last heard from {expiry.host} {spans[-1][0] / SECOND:.6f} s earlier"
            )
    return None


def expiries(events: Table, nodes: Nodes) -> Iterator[tuple[int, int, int]]:
    """Yield when which station gave up which host."""
    rows = events.column("event").rows("expire")
    columns = (events.pick(name, rows) for name in ("time_ns", "node", "detail"))
    for now_ns, station, detail in zip(*columns, strict=True):
        if (expiry := _expiry(detail)) is not None:
            yield now_ns, nodes.index(station), nodes.index(expiry.host)


class Expiry(NamedTuple):
    host: str
    silent_ns: int


def _expiry(detail: str | None) -> Expiry | None:
    try:
        content = json.loads(detail or "")
        return Expiry(str(content["host"]), round(content["silent_s"] * SECOND))
    except (ValueError, KeyError, TypeError, OverflowError):
        return None


def _silences(at_ns: np.ndarray, twice: np.ndarray, now_ns: int, delay_ns: int) -> list[tuple[int, int]]:
    """What a silence could have lasted by now, from the least and the most; of several the last row comes last."""
    until = int(np.searchsorted(at_ns, now_ns, "right"))
    spans: list[tuple[int, int]] = []
    for i in range(until - 1, -1, -1):
        spans.insert(0, (now_ns - int(at_ns[i]) - delay_ns, now_ns - int(at_ns[i])))
        if not twice[i] and at_ns[i] <= now_ns - delay_ns:
            return spans
    return [(now_ns, now_ns), *spans]


def _event(events: Table, row: int) -> str:
    return f"events: at {events['time_ns'][row] / SECOND:.6f} s (event {row})"
