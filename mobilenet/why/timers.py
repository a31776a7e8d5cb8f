"""When a node waited for a timer by which its protocol sends messages, although something else made it act.

Model     a timer sends messages if a timer of its name queued a frame with a message, or put one on a wire, anywhere in
          the run. Those that only acknowledge, report or test do not count
Units     integer nanoseconds
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator

from mobilenet.why.kinds import TIMER_WAIT, UNEXPLAINED
from mobilenet.why.record import NONE, QUEUED, TIMER, WIRE, Record
from mobilenet.why.stretches import Stretch, fill


class Timers:
    """The timers of one run by which messages are sent."""

    def __init__(self, record: Record) -> None:
        self._record = record
        names = {
            record.kind[record.cause[row]]
            for row, step in enumerate(record.step)
            if step in (QUEUED, WIRE)
            and record.messages[row]
            and record.cause[row] != NONE
            and record.step[record.cause[row]] == TIMER
        }
        self._fired: dict[str, list[int]] = defaultdict(list)  # node -> rows
        for row, step in enumerate(record.step):
            if step == TIMER and record.kind[row] in names:
                self._fired[record.node[row]].append(row)

    def explain(self, parts: list[Stretch]) -> list[Stretch]:
        """What is not explained is a wait for a timer while one ran at the place."""
        out: list[Stretch] = []
        for part in parts:
            is_open = part.kind == UNEXPLAINED
            out.extend(fill(list(self._running(part)), part.begin_ns, part.end_ns, part) if is_open else (part,))
        return out

    def _running(self, part: Stretch) -> Iterator[Stretch]:
        record, at_ns = self._record, part.begin_ns
        rows = self._fired.get(part.place, [])
        for row in rows[bisect_right(rows, at_ns, key=record.time_ns.__getitem__) :]:
            begin_ns, end_ns = max(at_ns, record.start_ns[row]), min(record.time_ns[row], part.end_ns)
            if begin_ns < end_ns:
                yield part._replace(begin_ns=begin_ns, end_ns=end_ns, kind=TIMER_WAIT, row=row)
                at_ns = end_ns
            if at_ns >= part.end_ns:
                return
