"""Check that the recorded network could have carried each message to the program that delivers it.

Checks    a program delivers a message of another node only after something has reached it, directly or through others,
          that was sent since the broadcast of this message
          where neither datagrams nor lines are recorded: at least as many receptions as nodes that delivered others'
          messages; between hosts one more, at a station
Model     what fails here is not a violation: the message was broadcast. But the programs have guessed it, or talked to
          each other past the network, and then the run shows nothing about them on this network.
          what a node knows grows with what it receives, and lasts through crashes: it may have stored it. Of several
          equal messages from one sender the last counts, which carries the most
Units     integer nanoseconds
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from mobilenet.clock import SECOND
from mobilenet.rundir.table import Table
from mobilenet.verify.basis.evidence import Evidence

PAST_THE_NETWORK: Final = "so its program guessed the message, or received it by a route other than this network"
PROGRAM = "program"  # a protocol
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

    def has_heard_of(self, node: str, message: str) -> bool:
        """Whether this message could have reached the node. True of messages that were not broadcast."""
        source = message.rpartition(":")[0]
        return source == node or self._of.get(node, {}).get(source, 0) >= self._place.get(message, 0)


def uncarried_problem(run: Evidence) -> str | None:
    """Return a sentence on the first delivery that nothing could have carried. Only of programs: they may talk to each
    other in ways that the emulator does not see.
    """
    protocol = run.manifest.get("protocol")
    if run.manifest.get("real_time") is not None:
        return _by_datagrams(run.events)
    if protocol != PROGRAM:
        return None
    if run.tables is not None and "lines" in run.tables:
        return _by_lines(run.tables["lines"])
    return _by_counters(run)


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
        f" at least {least} are needed to deliver the messages of other nodes. A program must have guessed a message,"
        " or received it by a route other than this network"
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
        f" {carrier} that was sent after the broadcast of {message}, directly or through other nodes,"
        f" {PAST_THE_NETWORK}"
    )
