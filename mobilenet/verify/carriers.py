"""Check that the network can have brought each message to the nodes at which a user's code delivers it.

Checks    a node delivers a message of another node only after it has received something, directly or through others,
          that was sent after the broadcast of this message. A host ends a handoff only if it received something since
          the handoff began
          if receptions are not recorded, there are at least as many receptions as nodes that delivered messages of
          others. Between hosts, at least one more reception is needed, at a station. No delivery comes earlier than the
          shortest frame or hop allows. For processes, recorded causes replace these checks
          a gap, or the end of a handoff, belongs to a session that the host began
Model     the knowledge of a node grows with what it receives, and survives crashes, because the node may have stored
          it. Of several equal messages from one sender the last one counts, because the sender knew most by then. If
          only frames are recorded, wires bring everything to all stations at once. Programs may talk to each other
          outside the emulator. The verdict on a run of programs is therefore unknown, and never violated, if a message
          did not arrive over the network
Units     integer nanoseconds
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from mobilenet.engine.clock import SECOND
from mobilenet.record.schema import MAC_ACK
from mobilenet.record.table import Table
from mobilenet.verify.evidence import Evidence
from mobilenet.verify.verdict import Verdict

PAST_THE_NETWORK: Final = "so its program guessed the message, or received it by a route other than this network"
PROGRAM = "program"  # the protocol of scenarios in which nodes are programs
MOVES = ("broadcast", "deliver", "datagram", "datagram_received")
PEERS = {"h": "s", "s": "h", "p": "p"}  # the kinds of nodes whose frames a node receives
Known = Mapping[str, int]  # node -> how many of its broadcasts are known
NOTHING: Final[Known] = {}
encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


class Knowledge:
    """The broadcasts that each node can know of. When a node learns of broadcasts, its knowledge is replaced by a new
    object. Messages in transit can therefore share the old object.
    """

    def __init__(self) -> None:
        self._of: dict[str, Known] = {}
        self._heard_ns: dict[str, int] = {}  # when a node last received something
        self._sent: dict[Any, Known] = {}
        self._place: dict[str, int] = {}  # message -> its number among its node's broadcasts

    def broadcast(self, node: str, message: str) -> None:
        known = self._of.get(node, NOTHING)
        self._place[message] = number = known.get(node, 0) + 1
        self._of[node] = {**known, node: number}

    def send(self, node: str, what: Any) -> None:
        self._sent[what] = self._of.get(node, NOTHING)

    def has_heard_since(self, node: str, at_ns: int) -> bool:
        return self._heard_ns.get(node, -1) >= at_ns

    def receive(self, node: str, what: Any, now_ns: int = 0) -> bool:
        """Record a reception. Return whether the node learned anything new from it."""
        self._heard_ns[node] = now_ns
        brought, known = self._sent.get(what, NOTHING), self._of.get(node, NOTHING)
        if brought is known or not (news := {k: n for k, n in brought.items() if known.get(k, 0) < n}):
            return False
        self._of[node] = {**known, **news}
        return True

    def has_heard_of(self, node: str, message: str) -> bool:
        """Return whether the node can know of this message. Return True for a message that was never broadcast."""
        source = message.rpartition(":")[0]
        return source == node or self._of.get(node, NOTHING).get(source, 0) >= self._place.get(message, 0)


def carriage(run: Evidence) -> Verdict | None:
    """Return a verdict on the first delivery, gap or handoff that cannot result from any recorded message."""
    protocol, is_real_time = run.manifest["protocol"], run.manifest.get("real_time") is not None
    if (unbegun := _unbegun_session(run.events)) is not None:
        return Verdict("violated", unbegun)
    if is_real_time:
        problem = _by_datagrams(run.events)
    elif "lines" in run.tables and protocol == PROGRAM:
        problem = _by_lines(run)
    elif "causes" in run.tables and run.plan is not None:
        problem = _by_causes(run.events, run.tables["causes"])
    elif (hops := _hops(run.tables)) is not None:
        problem = _by_hops(run, hops)
    else:
        problem = _by_counters(run) or _too_early(run)
    if problem is None:
        return None
    if protocol == PROGRAM or is_real_time:
        return Verdict("unknown", f"{problem}, {PAST_THE_NETWORK}")
    return Verdict("violated", problem)


def brings_code(run: Evidence) -> bool:
    """Return whether a user's own code delivers messages."""
    return run.manifest["protocol"] in (PROGRAM, "own") or run.manifest.get("real_time") is not None


CARRIED: Final = (
    "Something on the record can have brought the message to the node that delivers it.",
    carriage, brings_code, ("events", "messages", "frames", "lines", "causes"),
)  # fmt: skip


class _Hops(NamedTuple):
    """All receptions of messages or frames, as columns."""

    sent_ns: np.ndarray
    received_ns: np.ndarray
    senders: list[str]
    receivers: list[str]


def _hops(tables: Mapping[str, Table]) -> _Hops | None:
    """Return the recorded receptions, or None if they were not recorded."""
    if "messages" in tables:
        table, names = tables["messages"], ("send_ns", "receive_ns", "sender", "receiver")
        rows = table.column("fate").rows("received")
    elif "frames" in tables:
        table, names = tables["frames"], ("start_ns", "end_ns", "sender", "receiver")
        is_ack = table.column("kind").among((MAC_ACK,))
        rows = np.flatnonzero(table.column("fate").among(("received",)) & ~is_ack)
    else:
        return None
    sent_ns, received_ns = (table.numbers_or(name, 0)[rows] for name in names[:2])
    nodes = [table.pick(name, rows) for name in names[2:]]
    if "messages" not in tables:  # wires bring everything to all stations at once
        nodes = [["s" if node[0] == "s" else node for node in own] for own in nodes]
    return _Hops(sent_ns, received_ns, *nodes)


def _by_hops(run: Evidence, hops: _Hops) -> str | None:
    """Judge by recorded receptions. Within one nanosecond, nodes receive, then broadcast, then send, and then deliver,
    which is the most permissive order. Messages that take no time are received and passed on before the deliveries.
    """
    knowledge, events, began_ns = Knowledge(), run.events, dict[str, int]()
    at_once = _at_once(hops)
    rows = events.column("event").rows("broadcast", "handoff_start", "deliver", "handoff_end")
    at_ns, kinds, nodes, messages = (events.pick(name, rows) for name in ("time_ns", "event", "node", "message"))
    count = len(hops.senders)
    times = np.concatenate((hops.received_ns, hops.sent_ns, at_ns)).astype(np.int64)
    turns = np.concatenate(
        (np.zeros(count), np.full(count, 2), [1 if kind in ("broadcast", "handoff_start") else 3 for kind in kinds])
    ).astype(np.int64)
    carrier = "message" if "messages" in run.tables else "frame"
    for step in np.lexsort((turns, times)).tolist():
        if step < count:
            knowledge.receive(hops.receivers[step], step, int(hops.received_ns[step]))
        elif step < 2 * count:
            knowledge.send(hops.senders[step - count], step - count)
            _pass_on(knowledge, hops, at_once.get(step - count, []))
        else:
            place = step - 2 * count
            kind, node, message, now_ns = kinds[place], nodes[place], messages[place], at_ns[place]
            if kind == "broadcast":
                knowledge.broadcast(node, message)
            elif kind == "handoff_start":
                began_ns[node] = now_ns
            elif kind == "deliver" and not knowledge.has_heard_of(node, message):
                return _sentence(now_ns, f"event {rows[place]}", node, message, carrier)
            elif kind == "handoff_end" and not knowledge.has_heard_since(node, began_ns.get(node, now_ns)):
                return (
                    f"at {now_ns / SECOND:.6f} s (event {rows[place]}): {node} ends a handoff, but by then {node} had"
                    f" received no {carrier} since the handoff began"
                )
    return None


def _at_once(hops: _Hops) -> dict[int, list[int]]:
    """For each nanosecond in which messages take no time, map the last message sent in it to all messages sent in
    it.
    """
    instants = np.unique(hops.sent_ns[hops.sent_ns == hops.received_ns])
    if not len(instants):
        return {}
    groups: dict[int, list[int]] = {}
    for hop in np.flatnonzero(np.isin(hops.sent_ns, instants)).tolist():
        groups.setdefault(int(hops.sent_ns[hop]), []).append(hop)
    return {group[-1]: group for group in groups.values()}


def _pass_on(knowledge: Knowledge, hops: _Hops, group: list[int]) -> None:
    """Pass on the knowledge in these messages, in any order, until no node learns anything new."""
    has_news = bool(group)
    while has_news:
        has_news = False
        for hop in group:
            knowledge.send(hops.senders[hop], hop)
            if hops.sent_ns[hop] == hops.received_ns[hop]:
                has_news |= knowledge.receive(hops.receivers[hop], hop, int(hops.received_ns[hop]))


def _by_causes(events: Table, causes: Table) -> str | None:
    """Judge processes by the causes of their messages. Each row of `causes` counts the events before it."""
    knowledge = Knowledge()
    rows, steps = events.column("event").rows("broadcast", "deliver"), causes.column("step").rows("wire", "arrived")
    upcalls = [events.pick(name, rows) for name in ("event", "node", "message", "time_ns")]
    moves = [causes.pick(name, steps) for name in ("step", "node", "cause")]
    places = np.concatenate((causes.numbers("events")[steps], rows))
    for one in np.lexsort((np.arange(len(places)) >= len(steps), places)).tolist():
        if one < len(steps):
            step, node, sent = (column[one] for column in moves)
            if step == "wire":
                knowledge.send(node, int(steps[one]))
            else:
                knowledge.receive(node, sent)
        else:
            event, node, message, at_ns = (column[one - len(steps)] for column in upcalls)
            if event == "broadcast":
                knowledge.broadcast(node, message)
            elif not knowledge.has_heard_of(node, message):
                return _sentence(at_ns, f"event {rows[one - len(steps)]}", node, message, "message")
    return None


def _too_early(run: Evidence) -> str | None:
    """Return the first delivery that is earlier than the shortest frame or hop allows, if receptions are not
    recorded.
    """
    if run.plan is not None:
        least_ns, carrier = run.plan.hop_ns, "hop"
    elif run.of_hosts is not None and run.of_hosts.radio is not None:
        least_ns, carrier = run.of_hosts.radio.least_airtime_ns, "frame"
    else:
        return None
    events = run.events
    event, node, message = (events.column(name) for name in ("event", "node", "message"))
    times, sent, rows = events.numbers("time_ns"), event.rows("broadcast"), event.rows("deliver")
    sent_ns, sender = np.full(len(message.words), -1 << 62), np.full(len(message.words), -2)
    sent_ns[message.codes[sent]], sender[message.codes[sent]] = times[sent], node.codes[sent]
    took_ns = times[rows] - sent_ns[message.codes[rows]]
    early = np.flatnonzero((took_ns >= 0) & (took_ns < least_ns) & (sender[message.codes[rows]] != node.codes[rows]))
    if not len(early):
        return None
    row = int(rows[early[0]])
    return (
        f"at {times[row] / SECOND:.6f} s (event {row}): {events['node'][row]} delivers {events['message'][row]}"
        f" {took_ns[early[0]]} ns after its broadcast; the shortest {carrier} takes {least_ns} ns"
    )


def _unbegun_session(events: Table) -> str | None:
    """Return the first gap or end of a handoff in a session that its host did not begin."""
    begun: set[tuple[str, Any]] = set()
    rows = events.column("event").rows("join", "handoff_start", "handoff_end", "gap")
    columns = (events.pick(name, rows) for name in ("time_ns", "event", "node", "session"))
    for row, at_ns, kind, node, session in zip(rows.tolist(), *columns, strict=True):
        if kind in ("join", "handoff_start"):
            begun.add((node, session))
        elif (node, session) not in begun:
            what = "ends a handoff" if kind == "handoff_end" else "reports a gap"
            return f"at {at_ns / SECOND:.6f} s (event {row}): {node} {what} in session {session}, which it never began"
    return None


def _by_datagrams(events: Table) -> str | None:
    knowledge = Knowledge()
    rows = events.column("event").rows(*MOVES)
    columns = (events.pick(name, rows) for name in ("event", "node", "message", "time_ns"))
    for row, event, node, message, at_ns in zip(rows.tolist(), *columns, strict=True):
        if event == "broadcast":
            knowledge.broadcast(node, message)
        elif event == "datagram":
            knowledge.send(node, message)
        elif event == "datagram_received":
            knowledge.receive(node, message)
        elif not knowledge.has_heard_of(node, message):
            return _sentence(at_ns, f"event {row}", node, message, "datagram")
    return None


def _by_lines(run: Evidence) -> str | None:
    knowledge = Knowledge()
    columns = (run.tables["lines"][name] for name in ("time_ns", "node", "said", "line"))
    for row, (at_ns, node, is_output, line) in enumerate(zip(*columns, strict=True)):
        what = json.loads(line)
        kind = what["do" if is_output else "ev"]
        message = _name(node, what.get("id"))
        if not is_output and kind == "broadcast":
            knowledge.broadcast(node, message)
        elif not is_output and kind in ("receive", "wire"):
            peer = f"{'s' if kind == 'wire' else PEERS[node[0]]}{what.get('from')}"
            knowledge.receive(node, (peer, kind, encode(what.get("message"))))
        elif is_output and kind in ("send", "broadcast", "wire"):
            medium = "wire" if kind == "wire" else "receive"
            knowledge.send(node, (node, medium, encode(what.get("message"))))
        elif is_output and kind == "deliver" and not knowledge.has_heard_of(node, message):
            return _sentence(at_ns, f"row {row} of lines", node, message, run.kind.carried_in[1].removesuffix("s"))
    return None


def _by_counters(run: Evidence) -> str | None:
    """Return why the counters show too few receptions for the deliveries, if receptions are not recorded."""
    foreign = list(_foreign(run.events))
    if not foreign:
        return None
    counters, what = run.kind.carried_in
    counted = run.counters[counters]["received"]
    least = len({node for _, node, _ in foreign}) + run.kind.is_heard_twice
    if counted >= least:
        return None
    at_ns, node, message = foreign[-1]
    return (
        f"{node} delivers {message} at {at_ns / SECOND:.6f} s, but {counted} {what} were received in the whole run, and"
        f" at least {least} are needed to deliver the messages of other nodes"
    )


def _foreign(events: Table) -> Iterator[tuple[int, str, str]]:
    """Yield the first delivery of another node's message at each node."""
    rows = events.column("event").rows("deliver")
    columns: Iterable[Any] = zip(*(events.pick(name, rows) for name in ("time_ns", "node", "message")), strict=True)
    met: set[str] = set()
    for at_ns, node, message in columns:
        if node not in met and message.rpartition(":")[0] != node:
            met.add(node)
            yield at_ns, node, message


def _name(node: str, message: Any) -> str:
    is_pair = isinstance(message, list) and len(message) == 2
    return f"{'p' if node[0] == 'p' else 'h'}{message[0]}:{message[1]}" if is_pair else ""


def _sentence(at_ns: int, place: str, node: str, message: str, carrier: str) -> str:
    return (
        f"at {at_ns / SECOND:.6f} s ({place}): {node} delivers {message}, but by then {node} had received no"
        f" {carrier} that was sent after the broadcast of {message}, directly or through other nodes"
    )
