"""Find out when the frames of an impaired host left its delay line and entered the queue of its radio.

Model     as in simulation/delay_line.py: a frame enters the radio's queue after the delay that is set when it is
          queued, and never before an earlier frame. A crash empties the line, and all impairments end at `duration_s`
Units     integer nanoseconds
Source    ours: docs/models/causes.md, docs/models/world.md
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict

from mobilenet.engine.clock import ns
from mobilenet.scenario import AnyScenario
from mobilenet.why.record import QUEUED, Record, events_of
from mobilenet.world.interventions import Impair, in_order


class DelayLines:
    """The delay lines of one run."""

    def __init__(self, record: Record, scenario: AnyScenario) -> None:
        self._record = record
        self._left_ns: dict[int, int] = {}  # queued row -> when the frame entered the queue of the radio
        delays = _delays(scenario)
        if not delays:
            return
        crashes: dict[str, list[int]] = defaultdict(list)  # host -> rows of its crashes
        for number, _, node, *_ in events_of(record.events, "crash"):
            crashes[node].append(number)
        # host -> number of its crashes so far, and the time at which its last frame left the line
        last: dict[str, tuple[int, int]] = {}
        for row in record.steps.rows(QUEUED).tolist():
            if changes := delays.get(record.node[row]):
                self._leave(row, changes, bisect_left(crashes[record.node[row]], record.events_before[row]), last)

    def _leave(self, row: int, changes: list[tuple[int, int]], lives: int, last: dict[str, tuple[int, int]]) -> None:
        record = self._record
        host, queued_ns = record.node[row], record.time_ns[row]
        lives_before, last_ns = last.get(host, (lives, 0))
        least_ns = max(queued_ns, last_ns if lives == lives_before else 0)
        # a change takes effect after the nanosecond in which it occurs
        change = bisect_left(changes, queued_ns, key=lambda one: one[0]) - 1
        left_ns = max(least_ns, queued_ns + (changes[change][1] if change >= 0 else 0))
        sent = record.sent_rows(row)
        # the frame was queued in the nanosecond in which the impairment ended
        if sent and record.start_ns[sent[0]] < left_ns:
            left_ns = least_ns
        self._left_ns[row] = left_ns
        last[host] = lives, left_ns

    def left_ns(self, queued: int) -> int:
        """Return when the frame entered the queue of the radio."""
        left_ns = self._left_ns.get(queued)
        return self._record.time_ns[queued] if left_ns is None else left_ns


def _delays(scenario: AnyScenario) -> dict[str, list[tuple[int, int]]]:
    """Return the changes of delay of each host that is ever delayed, as (time, new delay), in order."""
    changes: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for one in in_order(scenario.interventions):
        if isinstance(one, Impair):
            changes[one.host].append((ns(one.at_s), ns(one.delay_s)))
    ends = (ns(scenario.duration_s), 0)
    return {host: [*own, ends] for host, own in changes.items() if any(delay_ns for _, delay_ns in own)}
