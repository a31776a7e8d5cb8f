"""Find out what a node did for other messages while a message waited there.

Model     the node waited for a timer with which it sends messages, or frames with other messages were in the queue of
          its radio. A timer sends messages if, anywhere in the run, a timer of the same name queued a frame with a
          message or put one on a wire. Frames that only acknowledge, report or test are ignored
Units     integer nanoseconds
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

import numpy as np

from mobilenet.why.kinds import QUEUE, TIMER_WAIT, UNEXPLAINED
from mobilenet.why.record import NONE, QUEUED, TIMER, WIRE, Record
from mobilenet.why.stretches import Stretch, fill


class Activity:
    """The timers that send messages and the frames that contain messages, for all nodes of one run."""

    def __init__(self, record: Record) -> None:
        self._record = record
        causes = np.asarray(record.cause)[record.steps.among((QUEUED, WIRE)) & record.has_messages]
        is_timer = record.steps.among((TIMER,))
        timers = causes[(causes != NONE) & is_timer[causes]]
        names = np.unique(record.kinds.codes[timers])
        self._fired = record.by_node(np.flatnonzero(is_timer & np.isin(record.kinds.codes, names)))
        queued = record.steps.among((QUEUED,)) & record.has_messages & (np.asarray(record.left) != NONE)
        # the frames, sorted by the time at which they left the queue
        self._queued = record.by_node(np.flatnonzero(queued))

    def explain(self, parts: list[Stretch]) -> list[Stretch]:
        """Divide the unexplained stretches, first by timers that send messages at this node, then by frames in its
        queue.
        """
        record = self._record
        for kind, rows_of, begin_ns, end_ns in (
            (TIMER_WAIT, self._fired, record.start_ns.__getitem__, record.time_ns.__getitem__),
            (QUEUE, self._queued, record.time_ns.__getitem__, record.left_ns),
        ):
            out: list[Stretch] = []
            for part in parts:
                if part.kind != UNEXPLAINED:
                    out.append(part)
                    continue
                rows = rows_of[record.node_codes.get(part.place, NONE)]
                spans = (
                    (row, begin_ns(row), end_ns(row)) for row in rows[bisect_right(rows, part.begin_ns, key=end_ns) :]
                )
                out.extend(fill(list(_within(part, kind, spans)), part.begin_ns, part.end_ns, part))
            parts = out
        return parts


def _within(part: Stretch, kind: str, spans: Iterable[tuple[int, int, int]]) -> Iterator[Stretch]:
    """Divide a stretch by intervals of time, given as (row, start, end) in the order of their ends."""
    at_ns = part.begin_ns
    for row, begin_ns, end_ns in spans:
        begin_ns, end_ns = max(at_ns, begin_ns), min(end_ns, part.end_ns)
        if begin_ns < end_ns:
            yield part._replace(begin_ns=begin_ns, end_ns=end_ns, kind=kind, row=row)
            at_ns = end_ns
        if at_ns >= part.end_ns:
            return
