"""Check that programs were notified of each timer when it was due.

Checks    a timer that expires was set in the same life, has not expired since, and was not cancelled. It expires when
          it is due or, with `between_ns`, within the requested interval
          a timer that is due before a later line of its life, or before the end of the run, has expired, unless its
          node crashed first or reported that it is out
Model     setting a running timer moves its deadline. A host that is not a member at the end may be gone, together with
          its timers. An adversary's schedule ignores the planned times. Only the first check then applies, and it does
          not consider times
Units     integer nanoseconds
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Any

from mobilenet.quoting import cut
from mobilenet.record.table import Table

LONGEST = 80  # the maximum number of characters of a name in a sentence
NEVER = 1 << 62
Due = tuple[int, int]  # earliest and latest time at which the timer may expire


class Timers:
    """Follows the running timers line by line. `is_planned`: whether timers expire at the requested time."""

    def __init__(self, is_planned: bool) -> None:
        self._is_planned = is_planned
        self._running: dict[str, dict[str, Due]] = {}  # node -> name -> when the timer is due, for the current life
        self._latest: dict[str, list[tuple[int, str]]] = {}  # node -> heap of (latest time, name)
        self._lives: dict[str, int] = {}
        self._may_be_gone: set[str] = set()  # hosts that have reported `out`, and may be gone without a recorded event

    def note_line(self, line: Any) -> None:
        what, running = line.object, self._running[line.node]
        if what["do"] == "out":
            self._may_be_gone.add(line.node)
        elif what["do"] == "cancel":
            running.pop(what["name"], None)
        elif what["do"] == "timer":
            after = what.get("between_ns") or [what["after_ns"]] * 2
            due = (line.at_ns + after[0], line.at_ns + after[1]) if self._is_planned else (0, NEVER)
            running[what["name"]] = due
            heappush(self._latest[line.node], (due[1], what["name"]))

    def wrongs(self, line: Any) -> Iterator[tuple[str, Any, str]]:
        """Yield what is wrong with an event: its subject, the actual value and the expected value."""
        if line.life != self._lives.get(line.node):
            self._lives[line.node], self._running[line.node], self._latest[line.node] = line.life, {}, []
        if line.object["ev"] == "timer":
            name = line.object["name"]
            due = self._running[line.node].pop(name, None)
            if due is None:
                yield "name", name, "a timer that is running"
            elif not due[0] <= line.at_ns <= due[1]:
                within = " to ".join(f"{bound / 1e9:.6f} s" for bound in sorted({*due}))
                yield "name", name, f"a timer due at this time; this one is due at {within}"
        missed = self._first_missed(line.node, line.at_ns)
        if missed is not None:
            yield "ev", line.object["ev"], f"timer {missed}, before it"

    def problem(self, events: Table, end_ns: int) -> str | None:
        """Return a sentence about the first timer that was due before the end of the run and never expired, or None."""
        kinds = events.column("event")
        crashes = Counter(events.pick("node", kinds.rows("crash")))
        changes = kinds.rows("join", "leave")
        last = dict(zip(events.pick("node", changes), events.pick("event", changes), strict=True))
        for node, life in self._lives.items():
            is_there = crashes[node] < life and (
                node[0] != "h" or last.get(node) == "join" and node not in self._may_be_gone
            )
            missed = self._first_missed(node, end_ns) if is_there else None
            if missed is not None:
                return (
                    f"lines: {node} is never notified of timer {missed}, although the run ends at {end_ns / 1e9:.6f} s"
                )
        return None

    def _first_missed(self, node: str, at_ns: int) -> str | None:
        """Return the first timer of that node that was due before this time, with the time at which it was due."""
        heap, running = self._latest[node], self._running[node]
        while heap and heap[0][0] < at_ns:
            latest_ns, name = heappop(heap)
            if (due := running.get(name)) is not None and due[1] == latest_ns:
                return f"{cut(name, LONGEST)}, due at {latest_ns / 1e9:.6f} s"
        return None
