"""Check that programs were notified of the timers that they had set, when these were due.

Checks    a timer that is reported was set in the same life, not reported since, and not cancelled. It comes when
          it was due or, with `between_ns`, within what was asked for
          a timer that was due before a later line of its life, or before the end of the run, has been reported, unless
          its node crashed first, or has reported that it is out
Model     setting a timer that runs moves it. A host that is not a member at the end may be gone, and its timers with
          it. The times of an adversary's schedule are not planned: there only the first check is asked, without when
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

LONGEST = 80  # characters of a name in a sentence
NEVER = 1 << 62
Due = tuple[int, int]  # earliest and latest time


class Timers:
    """The running timers, followed line by line in order. `is_planned`: timers keep the time that is asked for."""

    def __init__(self, is_planned: bool) -> None:
        self._is_planned = is_planned
        self._running: dict[str, dict[str, Due]] = {}  # node -> name -> when it is due, in the present life
        self._latest: dict[str, list[tuple[int, str]]] = {}  # node -> heap of the latest times at which each is due
        self._lives: dict[str, int] = {}
        self._may_be_gone: set[str] = set()  # hosts that have reported `out`: no event records that they are gone

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
        """Yield what is wrong with an event: its subject, what it is, what was expected."""
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
        """Return in a sentence a timer that was due before the end of the run, and was never reported."""
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
        """Return the first timer of that node that was due before then, with its time."""
        heap, running = self._latest[node], self._running[node]
        while heap and heap[0][0] < at_ns:
            latest_ns, name = heappop(heap)
            if (due := running.get(name)) is not None and due[1] == latest_ns:
                return f"{cut(name, LONGEST)}, due at {latest_ns / 1e9:.6f} s"
        return None
