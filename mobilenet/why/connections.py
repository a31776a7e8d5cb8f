"""What a message waits for that a TCP connection holds back: the segments that ended the wait, walked backwards.

Model     a rule of TCP, a window, or bytes that are missing hold a message back until a segment arrives. Its way, the
          segment before that it answers, and the timeouts between them show why that took its time: losses and
          interventions keep their kinds, and all else has the kind of the rule. On a wire, a segment is lost only by a
          cut or an impairment, so the timeout after it has that kind
Units     integer nanoseconds
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

from collections import defaultdict

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
from mobilenet.why.record import ARRIVED, LEAVES, NONE, TIMER, WIRE, Record
from mobilenet.why.stretches import Stretch, cut, fill

KEPT = frozenset((LOST, MAC_RETRY, RETRANSMISSION, CUT, IMPAIRED_LINK, IMPAIRED_HOST))


class Connections:
    """The TCP connections of one run."""

    def __init__(self, record: Record, cuts: Cuts, hops: Hops) -> None:
        self._record, self._cuts, self._hops = record, cuts, hops
        self._lost: dict[frozenset[str], list[int]] = defaultdict(list)  # link -> rows of what was lost on it
        self._sent_on: dict[int, frozenset[str]] = {}  # handler -> the link that it put a segment on
        arrived = {record.cause[row] for row, step in enumerate(record.step) if step == ARRIVED}
        for row, step in enumerate(record.step):
            if step == WIRE and record.kind[row].startswith("Tcp"):
                link = frozenset((record.node[row], record.to[row]))
                self._sent_on[record.cause[row]] = link
                if row not in arrived:
                    self._lost[link].append(row)

    def of(self, rule: Stretch, node: str) -> list[Stretch]:
        """The parts of a wait that ended in the row of `rule` at this node, in order; the rest is like `rule`."""
        record, row, end_ns = self._record, rule.row, rule.end_ns
        out: list[Stretch] = []
        while end_ns > rule.begin_ns and row != NONE:
            queued, part = record.cause[row], list[Stretch]()
            if record.step[row] == TIMER:
                since_ns, node = record.start_ns[row], record.node[row]
                part.append(Stretch(since_ns, end_ns, self.timer_kind(row), rule.leg, node, row))
            elif queued == NONE:
                break
            elif record.step[row] in LEAVES and record.node[queued] == node:  # its own frame has left
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
        """The kind of a wait that this timer ended."""
        kind = timer_kind(self._record.kind[row], is_after_loss)
        link = self._sent_on.get(row) if kind == RETRANSMISSION else None
        if link is None:
            return kind
        record = self._record
        lost = next((one for one in reversed(self._lost[link]) if one < row), NONE)
        if lost == NONE or record.time_ns[lost] < record.start_ns[row]:
            return kind
        end = record.events_before[row]
        is_cut = any(
            one.loses and one.begin < end and record.events_before[lost] <= one.end for one in self._cuts.of(*link)
        )
        return CUT if is_cut else IMPAIRED_LINK
