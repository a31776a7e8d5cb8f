"""The event calendar of one run, and its clock.

Model     A pending event is a plain callable. Each time bucket has a dictionary of its events. The keys are sorted when
          the bucket begins. A heap contains the keys of events that were scheduled for the current bucket after it
          began, so that it stays short even with many timers. The key of an event is one number that combines the time
          since the bucket began, the priority and the sequence number. With thousands of nodes, most time would be
          spent waiting for memory if tuples of keys and callables were compared, or if all buckets shared a dictionary.
Ties      Events at the same time are ordered by priority, and then by the order in which they were scheduled.
Units     Times are integer nanoseconds.
Errors    `at` raises ValueError for a time in the past. `run_until` checks every million events whether the run makes
          progress, and raises Runaway if it does not.
Source    ours: docs/architecture/time-and-chance.md
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, Final

NORMAL: Final = 1  # priority of all simpy events that are not urgent
LOOK_EVERY: Final = 1_000_000  # number of events between two checks that time advances
BUCKET_BITS: Final = 18  # a bucket lasts 2^18 ns, a quarter of a millisecond
PRIORITY_BITS: Final = 2  # priorities range from -1, which simpy uses for the end of a run, to 2
SEQUENCE_BITS: Final = 40  # all three add up to 60 bits, that is, two 30-bit digits of a Python integer

_TIME_SHIFT: Final = PRIORITY_BITS + SEQUENCE_BITS

Action = Callable[[], None]
Key = Any  # an integer, which mypyc would copy for each use if it was declared as int


class Runaway(Exception):
    """The run makes no progress, or has too many events. The message contains the simulated time at which it
    stopped.
    """


class Calendar:
    """The calendar of events, which frames and messages use directly. `Kernel` is its interface for simpy."""

    __slots__ = (
        "_base",
        "_buckets",
        "_current",
        "_heap",
        "_horizon",
        "_later",
        "_sequence",
        "_sorted",
        "_until",
        "handled",
        "max_events",
        "now",
    )

    def __init__(self) -> None:
        self.now = 0
        self.handled = 0
        self.max_events = sys.maxsize
        self._sequence = -1  # the last sequence number that was used
        self._until = -1  # the end of the current call of run_until
        self._horizon = 0  # end of the current bucket
        self._base = 0  # start of the current bucket; its keys are relative to it
        self._current: dict[Key, Action] = {}  # the events of the current bucket
        self._sorted: list[Key] = []  # the keys of those that existed when it began, last one first
        self._heap: list[Key] = []  # the keys of the others
        self._later: dict[int, dict[Key, Action]] = {}  # all other events, by bucket
        self._buckets: list[int] = []  # the numbers of the buckets in `_later`, as a heap

    def at(self, time_ns: int, action: Action) -> None:
        """Call `action` at `time_ns`, after all actions that are already scheduled for that instant."""
        if time_ns < self.now:
            raise ValueError(f"cannot schedule at {time_ns} ns: the clock is already at {self.now} ns")
        self._sequence += 1
        self.put(time_ns, NORMAL, self._sequence, action)

    def sequence_number(self) -> int:
        """Return a new sequence number, for callers that have their own calendar."""
        self._sequence += 1
        return self._sequence

    def put(self, time_ns: int, priority: int, sequence: int, action: Action) -> None:
        """Schedule an action as if it had been scheduled when its sequence number was taken. Two pending events must
        not have the same sequence number.
        """
        bucket = time_ns >> BUCKET_BITS
        begin_ns = self._base if time_ns < self._horizon else bucket << BUCKET_BITS
        key: Key = _key(time_ns - begin_ns, priority, sequence)
        if time_ns < self._horizon:
            self._current[key] = action
            heappush(self._heap, key)
            return
        later = self._later.get(bucket)
        if later is None:
            self._later[bucket] = {key: action}
            heappush(self._buckets, bucket)
        else:
            later[key] = action

    def advance_to(self, time_ns: int, sequence: int) -> bool:
        """Advance the clock, within an action, to the entry with this time and sequence number. Return False if another
        event is due earlier, or if the run ends earlier.
        """
        if time_ns > self._until:
            return False
        if time_ns >= self._horizon and self._buckets and self._buckets[0] <= time_ns >> BUCKET_BITS:
            return False  # an earlier event may exist; this is checked when the entry is reached
        if (self._sorted or self._heap) and self._first() < _key(time_ns - self._base, NORMAL, sequence):
            return False
        self.now = time_ns
        return True

    def next_ns(self) -> int | None:
        """Return the time of the next entry, or None if the calendar is empty."""
        return self._base + (self._first() >> _TIME_SHIFT) if self._has_events() else None

    def step(self) -> bool:
        """Process the next entry. Return False if the calendar is empty. Raise Runaway as `run_until` does."""
        if not self._has_events():
            return False
        self.handled += 1
        self.now = self._base + (self._first() >> _TIME_SHIFT)
        self._take()()
        self._require_few()
        return True

    def _require_few(self) -> None:
        if self.handled > self.max_events:
            raise Runaway(
                f"{self.handled:,} events at {self.now / 1e9:.9g} s, more than {self.max_events:,}; raise this"
                " limit if they are intended"
            )

    def run_until(self, time_ns: int) -> None:
        """Process everything up to and including `time_ns`, then stop there."""
        self._until = time_ns
        while True:
            begun_ns = self.now
            most = min(LOOK_EVERY, self.max_events + 1 - self.handled)
            for handled in range(most):
                if not self._has_events() or (now := self._base + (self._first() >> _TIME_SHIFT)) > time_ns:
                    self.now = time_ns
                    self.handled += handled
                    return
                self.now = now
                self._take()()
            self.handled += most
            self._require_few()
            if self.now == begun_ns:
                raise Runaway(
                    f"time stands still at {self.now / 1e9:.9g} s: {LOOK_EVERY:,} events, and the next one is at the"
                    " same instant"
                )
            if self._sequence >= 1 << SEQUENCE_BITS:
                raise Runaway(
                    f"more than {1 << SEQUENCE_BITS:,} events were scheduled by {self.now / 1e9:.9g} s, so their order"
                    " can no longer be kept"
                )

    def _first(self) -> int:
        """Return the lowest key in the current bucket, which is not empty."""
        if not self._sorted:
            return int(self._heap[0])
        key = int(self._sorted[-1])
        return min(key, int(self._heap[0])) if self._heap else key

    def _take(self) -> Action:
        """Remove the event with the lowest key from the current bucket, which is not empty, and return its action."""
        if self._heap and (not self._sorted or int(self._heap[0]) < int(self._sorted[-1])):
            key = heappop(self._heap)
        else:
            key = self._sorted.pop()
        return self._current.pop(key)

    def _has_events(self) -> bool:
        """Return whether there are events. Begin the next bucket if the current one is empty."""
        if self._sorted or self._heap:
            return True
        if not self._buckets:
            return False
        bucket = heappop(self._buckets)
        self._current = self._later.pop(bucket)
        self._sorted = list(self._current)
        if len(self._sorted) > 1:
            self._sorted.sort()
            self._sorted.reverse()
        self._base = bucket << BUCKET_BITS
        self._horizon = (bucket + 1) << BUCKET_BITS
        return True


def _key(since_ns: int, priority: int, sequence: int) -> int:
    """Return the key of an event. Earlier events have lower keys, and those before the bucket negative ones."""
    return (since_ns << _TIME_SHIFT) + ((priority + 1) << SEQUENCE_BITS) + sequence
