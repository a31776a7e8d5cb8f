"""Check that messages on the record can have brought each node what it delivers, and what it joins by.

Checks    a node delivers a message of another node only after something has reached it, directly or through others,
          that was sent since the broadcast of this message
          a host whose protocol is known joins, ends a handoff or has a gap only after something that the station had
          sent has reached it
          where nothing shows who received what: at least as many receptions as nodes that delivered others' messages;
          between hosts one more, at a station. And no delivery within the air time of the shortest frame
Model     what a node knows grows with what it receives, and lasts through crashes: it may have stored it. Of several
          equal messages from one sender the last counts, which carries the most. Where only frames are recorded, wires
          bring all stations everything at once. Programs may talk to each other in ways that the emulator does not see.
          Then the message was broadcast, and nothing is violated, but the run shows nothing about them on this network
Units     integer nanoseconds
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from operator import itemgetter
from typing import Any, Final, NamedTuple

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.rundir.schema import MAC_ACK
from mobilenet.rundir.table import Table
from mobilenet.verify.evidence import Evidence
from mobilenet.verify.verdict import Verdict

PAST_THE_NETWORK: Final = "so its program guessed the message, or received it by a route other than this network"
PROGRAM = "program"  # a protocol
ACTS = ("join", "handoff_end", "gap")
MOVES = ("broadcast", "deliver", "datagram", "datagram_received")
PEERS = {"h": "s", "s": "h", "p": "p"}  # whose frames a node receives
Known = dict[str, int]  # of each node, how many of its broadcasts
encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


class Knowledge:
    """What each node can know of the broadcasts of others."""

    def __init__(self) -> None:
        self._of: dict[str, Known] = {}
        self._sent: dict[Any, Known] = {}
        self._place: dict[str, int] = {}  # message -> which broadcast of its node it is

    def broadcast(self, node: str, message: str) -> None:
        known = self._of.setdefault(node, {})
        self._place[message] = known[node] = known.get(node, 0) + 1

    def send(self, node: str, what: Any) -> None:
        self._sent[what] = dict(self._of.get(node, ()))

    def receive(self, node: str, what: Any) -> None:
        known = self._of.setdefault(node, {})
        for other, number in self._sent.get(what, {}).items():
            known[other] = max(known.get(other, 0), number)

    def meet(self, node: str) -> None:
        """The node sends something, and so may be known to others."""
        self._of.setdefault(node, {}).setdefault(node, 0)

    def has_met(self, node: str, other: str) -> bool:
        """Whether something that the other node sent has reached this one."""
        return other in self._of.get(node, ())

    def has_heard_of(self, node: str, message: str) -> bool:
        """Whether this message could have reached the node. True of messages that were not broadcast."""
        source = message.rpartition(":")[0]
        return source == node or self._of.get(node, {}).get(source, 0) >= self._place.get(message, 0)


def carriage(run: Evidence) -> Verdict | None:
    """The first delivery, or act of a host, that nothing on the record can have led to."""
    if run.manifest.get("real_time") is not None:
        problem = _by_datagrams(run.events)
    elif "lines" in run.tables and run.manifest["protocol"] == PROGRAM:
        problem = _by_lines(run.tables["lines"])
    elif (hops := _hops(run.tables)) is not None:
        problem = _by_hops(run, hops)
    else:
        brings_code = run.manifest["protocol"] in (PROGRAM, "own")
        problem = (_by_counters(run) if brings_code else None) or _by_air_time(run)
    if problem is None:
        return None
    talks_elsewhere = run.manifest["protocol"] == PROGRAM or run.manifest.get("real_time") is not None
    return Verdict("unknown", f"{problem}, {PAST_THE_NETWORK}") if talks_elsewhere else Verdict("violated", problem)


class _Hop(NamedTuple):
    """One message or frame, from one node to another."""

    sent_ns: int
    received_ns: int
    sender: str
    receiver: str


def _hops(tables: Mapping[str, Table]) -> list[_Hop] | None:
    """All that nodes received; None: it is not recorded, or takes no time, and then the record shows no order."""
    if "messages" in tables:
        names, table, of_sent = ("send_ns", "receive_ns", "sender", "receiver"), tables["messages"], "received"
        rows = table.column("fate").rows(of_sent)
        hops = list(starmap(_Hop, zip(*(table.pick(name, rows) for name in names), strict=True)))
    elif "frames" in tables:
        names, table = ("start_ns", "end_ns", "sender", "receiver"), tables["frames"]
        is_ack = table.column("kind").among((MAC_ACK,))
        rows = np.flatnonzero(table.column("fate").among(("received",)) & ~is_ack)
        columns = [table.pick(name, rows) for name in names]
        columns[2:] = (["s" if node[0] == "s" else node for node in nodes] for nodes in columns[2:])
        hops = list(starmap(_Hop, zip(*columns, strict=True)))
    else:
        return None
    return None if any(hop.sent_ns == hop.received_ns for hop in hops) else hops


def _by_hops(run: Evidence, hops: Sequence[_Hop]) -> str | None:
    """In one nanosecond nodes first receive, then broadcast, then send, and then deliver: whatever is possible."""
    knowledge, events, of_frames = Knowledge(), run.events, "messages" not in run.tables
    kinds = ("broadcast", "deliver", *(ACTS if run.conduct is not None else ()))
    rows = events.column("event").rows(*kinds)
    columns = (events.pick(name, rows) for name in ("time_ns", "event", "node", "message", "station"))
    steps: list[tuple[int, int, int, Any]] = [(hop.received_ns, 0, i, hop) for i, hop in enumerate(hops)]
    steps += [(hop.sent_ns, 2, i, hop) for i, hop in enumerate(hops)]
    for row, at_ns, *what in zip(rows.tolist(), *columns, strict=True):
        steps.append((at_ns, 1 if what[0] == "broadcast" else 3, row, what))
    steps.sort(key=itemgetter(0, 1, 2))
    for at_ns, order, row, what in steps:
        if order == 0:
            knowledge.receive(what.receiver, what)
        elif order == 2:
            knowledge.meet(what.sender)
            knowledge.send(what.sender, what)
        elif order == 1:
            knowledge.broadcast(what[1], what[2])
        else:
            event, node, message, station = what
            if event == "deliver":
                if not knowledge.has_heard_of(node, message):
                    return _sentence(at_ns, f"event {row}", node, message, "frame" if of_frames else "message")
            elif station is not None and not knowledge.has_met(node, "s" if of_frames else station):
                return (
                    f"at {at_ns / SECOND:.6f} s (event {row}): {event} of {node} with {station}, from which {node} had"
                    " received nothing by then, directly or through other nodes"
                )
    return None


def _by_air_time(run: Evidence) -> str | None:
    """Without a record of what came when: no frame is shorter."""
    if run.of_hosts is None or run.of_hosts.radio is None:
        return None
    least_ns = run.of_hosts.radio.least_airtime_ns
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
        f" {took_ns[early[0]]} ns after its broadcast; the shortest frame takes {least_ns} ns"
    )


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


def _by_lines(lines: Table) -> str | None:
    knowledge = Knowledge()
    columns = (lines[name] for name in ("time_ns", "node", "said", "line"))
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
            of_processes = node[0] == "p"
            return _sentence(at_ns, f"row {row} of lines", node, message, "message" if of_processes else "frame")
    return None


def _by_counters(run: Evidence) -> str | None:
    """Without a record of what came when: how many there must have been."""
    foreign = list(_foreign(run.events))
    if not foreign:
        return None
    of_processes = "processes" in run.manifest
    counted = run.counters["messages" if of_processes else "radio"]["received"]
    least = len({node for _, node, _ in foreign}) + (not of_processes)
    if counted >= least:
        return None
    what = "messages" if of_processes else "frames"
    at_ns, node, message = foreign[-1]
    return (
        f"{node} delivers {message} at {at_ns / SECOND:.6f} s, but {counted} {what} were received in the whole run, and"
        f" at least {least} are needed to deliver the messages of other nodes"
    )


def _foreign(events: Table) -> Iterator[tuple[int, str, str]]:
    """The first delivery of another node's message at each node."""
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
