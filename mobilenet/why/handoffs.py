"""Divide the interruption by a handoff into contiguous stretches, from the delivery before it to the delivery after it.

Model     the time before the handoff is divided into the old session, time out of coverage, and the last update of the
          attachment, in which the host entered the new cell. The handoff itself is traced backwards through the
          handlers that led to its confirmation. The time after the confirmation is explained by the delay of the first
          message that is delivered
Units     integer nanoseconds
Source    ours: docs/models/causes.md, "Handoffs"
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from typing import NamedTuple

from mobilenet.scenario import AnyScenario
from mobilenet.why.kinds import (
    DETECTION,
    HANDOFF,
    HOST,
    IDLE,
    OLD_SESSION,
    UNEXPLAINED,
    Part,
    timer_kind,
)
from mobilenet.why.record import ARRIVED, NONE, QUEUED, RECEIVED, TIMER, events_of
from mobilenet.why.stories import Stories
from mobilenet.why.stretches import Stretch, clip, cut, fill

CONFIRMED = "handoff_end"


class Interruption(NamedTuple):
    """A confirmed handoff, and the host's deliveries before and after it."""

    host: str
    session: int | None
    last_ns: int  # time of the last delivery before the handoff
    begin_ns: int
    end_ns: int
    first_ns: int  # time of the first delivery after the handoff

    @property
    def name(self) -> str:
        return f"{self.host}:{self.session}"

    @property
    def length_ns(self) -> int:
        return self.first_ns - self.last_ns


class Interruptions:
    """The interruptions of one run, divided into stretches."""

    def __init__(self, stories: Stories, scenario: AnyScenario) -> None:
        self._stories, self._record = stories, stories.record
        self._tick_ns = scenario.tick_ns
        events = self._record.events
        self._confirmed: dict[tuple[str, int], int] = {}  # (host, time) -> event of the confirmation
        self._first: dict[tuple[str, int], str] = {}  # (host, time) -> the first message that was delivered then
        for number, time_ns, node, *_ in events_of(events, CONFIRMED):
            self._confirmed[node, time_ns] = number
        for one in self._record.deliveries:
            self._first.setdefault((one.node, one.time_ns), one.message)
        self._broadcast = {(sent.node, sent.time_ns): name for name, sent in self._record.broadcasts.items()}
        # (sender, kind, receiver) -> rows of frames with these three values
        self._alike: dict[tuple[str, str, str], list[int]] = defaultdict(list)
        for row in self._record.steps.rows(QUEUED).tolist():
            self._alike[self._record.node[row], self._record.kind[row], self._record.to[row]].append(row)

    def of(self, one: Interruption) -> list[Stretch]:
        """Return the stretches in chronological order. Their lengths add up to the interruption."""
        handler = self._record.handler_of(self._confirmed[one.host, one.end_ns], one.end_ns)
        return [*self._old_session(one), *self._setup(one, handler), *self._after(one)]

    def _old_session(self, one: Interruption) -> list[Stretch]:
        """Return the stretches before the start of the handoff."""
        begin_ns = one.begin_ns
        noticed_ns = begin_ns
        if self._tick_ns and begin_ns % self._tick_ns == 0:
            noticed_ns = max(one.last_ns, begin_ns - self._tick_ns)
        blank = Stretch(one.last_ns, begin_ns, OLD_SESSION, HOST, one.host, reason=self._first[one.host, one.first_ns])
        stretches = self._in_states(blank, ())
        if noticed_ns < begin_ns and not any(stretch.end_ns > noticed_ns for stretch in stretches):
            stretches.append(blank._replace(begin_ns=noticed_ns, kind=DETECTION, reason=""))
        return fill(stretches, one.last_ns, begin_ns, blank)

    def _in_states(self, blank: Stretch, but: Collection[str]) -> list[Stretch]:
        """Return the parts of a stretch in which the host was down, out of coverage or between two sessions."""
        return [
            blank._replace(begin_ns=begin_ns, end_ns=end_ns, kind=state, reason="")
            for begin_ns, end_ns, state in self._stories.states.between(blank.place, blank.begin_ns, blank.end_ns)
            if state not in but
        ]

    def _after(self, one: Interruption) -> list[Stretch]:
        """Return the stretches from the confirmation to the first delivery."""
        message = self._first[one.host, one.first_ns]
        story = clip(self._stories.of(message, one.host), one.end_ns, one.first_ns)
        return fill(story, one.end_ns, one.first_ns, Stretch(0, 0, IDLE, HOST, one.host, reason=message))

    def _setup(self, one: Interruption, row: int) -> list[Stretch]:
        """Return the stretches from the start to the confirmation of the handoff, traced backwards through the
        handlers.
        """
        record, hops, node, leg, end_ns = self._record, self._stories.hops, one.host, HOST, one.end_ns
        out: list[Stretch] = []
        answers: dict[str, int] = {}  # node -> its frame in the chain of handlers
        while end_ns > one.begin_ns and row != NONE:
            queued = record.cause[row]
            if record.step[row] == TIMER:
                since_ns = max(one.begin_ns, record.start_ns[row])
                out.append(Stretch(since_ns, end_ns, timer_kind(record.kind[row]), leg, record.node[row], row))
                end_ns, row, node = since_ns, queued, record.node[row]
            elif queued == NONE:
                break
            elif record.step[row] != ARRIVED and record.node[queued] == node:  # a frame of this node left the queue
                hops.in_queue(queued, row, end_ns, out, leg)
                end_ns, row = record.time_ns[queued], record.cause[queued]
            else:
                leg = hops.leg(row)
                hops.departure(row, out, leg, node)
                end_ns, row = self._attempts(out, queued, node, one.begin_ns, answers.get(node, NONE))
                node = record.node[queued]
                if record.step[queued] == QUEUED:
                    answers[node] = queued
        out = [cut(stretch, one.begin_ns, one.end_ns) for stretch in reversed(out)]
        blank = Stretch(one.begin_ns, max(one.begin_ns, end_ns), UNEXPLAINED, HOST, one.host)
        message = self._broadcast.get((node, end_ns))
        if message is not None:  # a broadcast caused the confirmation
            blank = blank._replace(kind=IDLE, reason=message)
        out = [*self._in_states(blank, (HANDOFF,)), *(stretch for stretch in out if stretch.length_ns > 0)]
        return fill(out, one.begin_ns, one.end_ns, blank)

    def _attempts(self, out: list[Stretch], queued: int, receiver: str, begin_ns: int, answer: int) -> tuple[int, int]:
        """Add the earlier frames of this kind that a timer repeated, going backwards in time. Return when the first of
        them was queued, and in which handler. `answer`: the receiver's frame that ended the repetitions.
        """
        record, leg = self._record, self._stories.hops.leg(queued)
        end_ns, handler, sender = record.time_ns[queued], record.cause[queued], record.node[queued]
        while handler != NONE and record.step[handler] == TIMER:
            queued = self._before(queued, max(begin_ns, record.start_ns[handler]))
            if queued == NONE:
                break
            sent, hearer = record.sent_rows(queued), record.to[queued] or receiver
            left_ns = min(record.time_ns[sent[-1] if sent else queued], end_ns)
            outcome = record.outcome(queued, hearer)
            if outcome == RECEIVED:  # the frame arrived, so the outcome of the answer matters
                outcome = self._last_outcome(answer, sender, record.time_ns[queued], end_ns)
            kind = timer_kind(record.kind[handler], outcome != RECEIVED)
            out.append(Stretch(left_ns, end_ns, kind, leg, sender, handler, outcome))
            tried: list[Stretch] = []
            if sent:
                self._stories.hops.on_air(queued, sent[-1], tried, leg, hearer)
            out.extend(cut(stretch, begin_ns, left_ns) for stretch in tried)
            end_ns, handler = record.time_ns[queued], record.cause[queued]
        return end_ns, handler

    def _before(self, queued: int, since_ns: int) -> int:
        """Return the last similar frame that the node had queued since this time, or NONE."""
        rows = self._like(queued)
        before = bisect_left(rows, queued) - 1
        return rows[before] if before >= 0 and self._record.time_ns[rows[before]] >= since_ns else NONE

    def _like(self, queued: int) -> list[int]:
        record = self._record
        is_frame = queued != NONE and record.step[queued] == QUEUED
        return self._alike[record.node[queued], record.kind[queued], record.to[queued]] if is_frame else []

    def _last_outcome(self, answer: int, node: str, begin_ns: int, end_ns: int) -> str:
        """Return the outcome of the last frame between these times that is similar to the answer."""
        record = self._record
        rows = [row for row in self._like(answer) if begin_ns <= record.time_ns[row] < end_ns]
        return record.outcome(rows[-1], node) if rows else RECEIVED


def parts_of(stretches: Iterable[Stretch]) -> dict[Part, int]:
    """Return the total time for each kind of stretch and each leg, in descending order."""
    parts: Counter[Part] = Counter()
    for stretch in stretches:
        parts[stretch.kind, stretch.leg] += stretch.length_ns
    return dict(parts.most_common())
