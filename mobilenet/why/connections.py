"""Explain why a TCP connection holds a message back, by tracing back the segments that ended the wait.

Model     a rule of TCP, a window or missing bytes hold a message back until a segment arrives. The path of this
          segment, the earlier segment that it answers, and the timeouts between them explain the wait. Losses and
          interventions keep their kinds, and everything else has the kind of the rule. On a wire, a segment is lost
          only by a cut or an impairment, so that the timeout after it has this kind
Units     integer nanoseconds
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict

import numpy as np

from mobilenet.why.cuts import Cuts
from mobilenet.why.hops import Hops
from mobilenet.why.kinds import (
    CUT,
    IMPAIRED_HOST,
    IMPAIRED_LINK,
    LOST,
    MAC_RETRY,
    RETRANSMISSION,
    timer_kind,
)
from mobilenet.why.record import LEAVES, NONE, TIMER, WIRE, Record
from mobilenet.why.stretches import Stretch, cut, fill

KEPT = frozenset((LOST, MAC_RETRY, RETRANSMISSION, CUT, IMPAIRED_LINK, IMPAIRED_HOST))


class Connections:
    """The TCP connections of one run."""

    def __init__(self, record: Record, cuts: Cuts, hops: Hops) -> None:
        self._record, self._cuts, self._hops = record, cuts, hops
        # link -> rows of the messages that were lost on it
        self._lost: dict[frozenset[str], list[int]] = defaultdict(list)
        self._segment: dict[int, int] = {}  # handler -> the segment that it put on a wire
        self._copies: dict[tuple[str, str, str], list[int]] = defaultdict(list)  # (sender, receiver, message) -> rows
        is_segment = record.kinds.map([name.startswith("Tcp") for name in record.kinds.words], False)
        lost = set(record.lost_rows(is_segment))
        for row in np.flatnonzero(is_segment & record.steps.among((WIRE,))).tolist():
            self._segment[record.cause[row]] = row
            for message in record.messages[row]:
                self._copies[record.node[row], record.to[row], message].append(row)
            if row in lost:
                self._lost[frozenset((record.node[row], record.to[row]))].append(row)

    def of(self, rule: Stretch, node: str) -> list[Stretch]:
        """Return in chronological order the parts of a wait that ended in the row of `rule` at this node. Time without
        another explanation has the kind of `rule`.
        """
        record, row, end_ns = self._record, rule.row, rule.end_ns
        out: list[Stretch] = []
        while end_ns > rule.begin_ns and row != NONE:
            queued, part = record.cause[row], list[Stretch]()
            if record.step[row] == TIMER:
                since_ns, node = record.start_ns[row], record.node[row]
                part.append(Stretch(since_ns, end_ns, self.timer_kind(row), rule.leg, node, row))
            elif queued == NONE:
                break
            elif record.step[row] in LEAVES and record.node[queued] == node:  # a frame of this node has left the queue
                self._hops.in_queue(queued, row, end_ns, part, rule.leg)
                since_ns, queued = record.time_ns[queued], record.cause[queued]
            else:
                node = self._hops.departure(row, part, self._hops.leg(row), node)
                since_ns, queued = record.time_ns[queued], record.cause[queued]
            out.extend(cut(one, rule.begin_ns, end_ns) for one in part if one.kind in KEPT)
            end_ns, row = min(end_ns, since_ns), queued
        kept = [one for one in reversed(out) if one.length_ns > 0]
        return fill(kept, rule.begin_ns, rule.end_ns, rule)

    def timer_kind(self, row: int, is_after_loss: bool = False) -> str:
        """Return the kind of a wait that this timer has ended."""
        kind = timer_kind(self._record.kind[row], is_after_loss)
        segment = self._segment.get(row, NONE) if kind == RETRANSMISSION else NONE
        lost = NONE if segment == NONE else self._lost_before(row, segment)
        if lost == NONE:
            return kind
        record, ends = self._record, (self._record.node[segment], self._record.to[segment])
        end = record.events_before[row]
        cuts = self._cuts.of(*ends)
        is_cut = any(one.loses and one.begin < end and record.events_before[lost] <= one.end for one in cuts)
        return CUT if is_cut else IMPAIRED_LINK

    def _lost_before(self, timer: int, segment: int) -> int:
        """Return the segment whose loss made this timer retransmit: a segment that was lost after the timer was
        started, or that had the same messages.
        """
        record, a, b = self._record, self._record.node[segment], self._record.to[segment]
        losses = self._lost[frozenset((a, b))]
        place = bisect_left(losses, timer)
        if not place:
            return NONE
        if record.time_ns[losses[place - 1]] >= record.start_ns[timer]:
            return losses[place - 1]
        copies = (self._copies[a, b, message] for message in record.messages[segment])
        before = max((rows[at - 1] for rows in copies if (at := bisect_left(rows, segment))), default=NONE)
        return before if before in losses[:place] else NONE
