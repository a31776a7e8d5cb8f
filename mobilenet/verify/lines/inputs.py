"""Check that the events which programs receive are true: who and where they are, the time, and the messages of others.

Checks    `t` of each event is its time; `me`, `role` and the numbers of nodes in `start` are those of the node and the
          run; `stable` is what the node stored last
          the payload of a broadcast is that of the scenario. A cell is one of the run; it is null if the host has just
          left coverage, and the entered cell if it has just come into coverage
          a received message was sent before, to this node or to all, by the node that it names
          timers expire when they are due: see timers.py
Model     two messages are the same if their JSON values are equal. A message may be lost, and an adversary may deliver
          it twice, so that messages are not counted here
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from mobilenet.quoting import cut
from mobilenet.record.table import Table
from mobilenet.scenario.plans.expectations import Expectations
from mobilenet.verify.lines.forms import ROLES
from mobilenet.verify.lines.timers import Timers

PEERS = {"h": "sh", "s": "h", "p": "p"}  # the kinds of nodes whose frames a node receives
LONGEST = 80  # the maximum number of characters of a value in a sentence
encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def inputs_problem(
    rows: Iterable[Any], events: Table, manifest: dict[str, Any], expected: Expectations | None, is_planned: bool
) -> str | None:
    """Return the first untrue event that a program received. `rows`: see judge.py. `is_planned`: see timers.py."""
    known = _KnownFacts(events, manifest, expected, Timers(is_planned))
    for row, line in enumerate(rows):
        if line.is_action:
            known.note_line(line)
        elif (wrong := next(known.wrongs(line), None)) is not None:
            key, input_value, due = wrong
            return (
                f"lines: row {row}: the event {line.object.get('ev')} of {line.node} at {line.at_ns / 1e9:.6f} s states"
                f" that {key} is {cut(encode(input_value), LONGEST)}, expected {due}"
            )
    return known.timers.problem(events, round(manifest["simulated_s"] * 1e9))


class _KnownFacts:
    def __init__(self, events: Table, manifest: dict[str, Any], expected: Expectations | None, timers: Timers) -> None:
        self.timers = timers
        self._counts = {"n": {manifest.get("processes")}, "stations": {manifest["stations"]}}
        hosts = None if expected is None else expected.hosts
        if hosts is not None:
            self._counts["hosts"] = {len(hosts), sum(not host.is_added for host in hosts)}
        self._stations = manifest["stations"]
        self._payload_bytes = manifest.get("payload_bytes", 0)
        self._stored: dict[str, Any] = {}
        self._sent_messages: set[tuple[str, str, Any, str]] = set()  # (sender, kind of transmission, receiver, message)
        self._texts: dict[int, str] = {}
        chosen = events.column("event").rows("in_coverage", "out_of_coverage")
        names = ("node", "time_ns", "station")
        columns = (events.pick(name, chosen) for name in names)
        self._covered: dict[tuple[str, int], set[int | None]] = {}
        # (node, time) of each change of coverage whose station the node has learned
        self._entered: set[tuple[str, int]] = set()
        for node, at_ns, station in zip(*columns, strict=True):
            self._covered.setdefault((node, at_ns), set()).add(None if station is None else int(station[1:]))

    def note_line(self, line: Any) -> None:
        what = line.object
        action = what["do"]
        self.timers.note_line(line)
        if action == "store":
            self._stored[line.node] = what.get("stable")
        elif action in ("send", "broadcast", "wire"):
            how = "wire" if action == "wire" else "receive"
            to = what.get("to")
            self._sent_messages.add((line.node, how, to if type(to) is int else None, self._text(what)))

    def _text(self, what: dict[str, Any]) -> str:
        """Return the encoded message of a line. It is cached, because equal lines share one object."""
        text = self._texts.get(id(what))
        if text is None:
            text = self._texts[id(what)] = encode(what.get("message"))
        return text

    def wrongs(self, line: Any) -> Iterator[tuple[str, Any, str]]:
        """Yield what is wrong with a line: the subject, the actual value and the expected value."""
        what, kind, me = line.object, line.object["ev"], int(line.node[1:])
        if what.get("t") != line.at_ns:
            yield "t", what.get("t"), str(line.at_ns)
        yield from self.timers.wrongs(line)
        if kind == "start":
            yield from self._start_wrongs(line, me)
        elif kind == "broadcast" and self._payload_bytes is not None:
            if what.get("payload_bytes") != self._payload_bytes:
                yield "payload_bytes", what.get("payload_bytes"), f"{self._payload_bytes}"
        elif kind == "cell":
            yield from self._cell_wrongs(line)
        elif kind in ("receive", "wire"):
            kinds, text = PEERS[line.node[0]] if kind == "receive" else "s", self._text(what)
            peers = [f"{letter}{what.get('from')}" for letter in kinds]
            candidates = ((peer, kind, to, text) for peer in peers for to in (me, None))
            if self._sent_messages.isdisjoint(candidates):
                yield "message", what.get("message"), f"something that {' or '.join(peers)} had sent to it"

    def _start_wrongs(self, line: Any, me: int) -> Iterator[tuple[str, Any, str]]:
        what, role = line.object, ROLES[line.node[0]]
        for key, due in (("me", me), ("role", role), ("stable", self._stored.get(line.node))):
            if encode(what.get(key)) != encode(due):
                yield key, what.get(key), cut(encode(due), LONGEST)
        for key, counts in self._counts.items():
            if key in what and what[key] not in counts:
                yield key, what.get(key), " or ".join(map(str, sorted(counts)))

    def _cell_wrongs(self, line: Any) -> Iterator[tuple[str, Any, str]]:
        station, covered = line.object.get("station"), self._covered.get((line.node, line.at_ns))
        if station is None:
            if covered is None or None not in covered:
                yield "station", None, "a station, since the host is in coverage at that time"
        elif type(station) is not int or not 0 <= station < self._stations:
            yield "station", station, f"a number below {self._stations}"
        elif covered is not None and len(covered - {None}) == 1:
            if station not in covered and (line.node, line.at_ns) not in self._entered:
                yield "station", station, "the station that in_coverage names in that nanosecond"
            # a user's drag may move the host to the next station in the same nanosecond
            self._entered.add((line.node, line.at_ns))
