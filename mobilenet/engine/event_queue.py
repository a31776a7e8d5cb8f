"""The event calendar of one run, and its clock.

Model     a pending event is a bare callable. The heap holds the events of the current bucket of time; later ones wait
          in a list for their bucket, unsorted, so the heap stays short and in the cache however many timers there are.
          An entry is its key and its callable. The key is one number, made of the time since the bucket began, the
          priority and the sequence number, which counts what is scheduled: with thousands of nodes entries are read
          from memory, and a tuple with one number in it is read faster than one with three
Ties      (time, priority, order of scheduling): what was scheduled first happens first
Units     integer nanoseconds
Errors    `at`: ValueError for a moment in the past. `run_until`: Runaway for a run that makes no progress, looked at
          every million events
Source    ours: docs/architecture/time-and-chance.md
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Final

NORMAL: Final = 1  # simpy's priority of everything not urgent
LOOK_EVERY: Final = 1_000_000  # events between two looks at whether time moves at all
BUCKET_BITS: Final = 18  # of nanoseconds: a quarter of a millisecond
PRIORITY_BITS: Final = 2  # -1 (simpy's, of the end of a run) to 2
SEQUENCE_BITS: Final = 40  # together 60: Python's integers have digits of 30

_TIME_SHIFT: Final = PRIORITY_BITS + SEQUENCE_BITS

Action = Callable[[], None]
Entry = tuple[int, Action]  # key, what


class Runaway(Exception):
    """The run makes no progress. The message has the time that it reached."""


class Calendar:
    """The calendar that frames and messages use directly. `Kernel` is its interface for simpy."""

    __slots__ = (
        "_base",
        "_buckets",
        "_heap",
        "_horizon",
        "_later",
        "_sequence",
        "_until",
        "handled",
        "max_events",
        "now",
    )

    def __init__(self) -> None:
        self.now = 0
        self.handled = 0
        self.max_events = sys.maxsize
        self._sequence = -1  # the last number taken in the order of scheduling
        self._until = -1  # the end of the present run_until
        self._horizon = 0  # the heap holds what happens before, and nothing else
        self._base = 0  # when the present bucket began: keys in the heap count from here
        self._heap: list[Entry] = []
        self._later: dict[int, list[Entry]] = {}  # the rest, by bucket
        self._buckets: list[int] = []  # those of `later`, as a heap

    def at(self, time_ns: int, action: Action) -> None:
        """Call `action` at `time_ns`, after everything already scheduled for that instant."""
        if time_ns < self.now:
            raise ValueError(f"cannot schedule at {time_ns} ns: the clock is already at {self.now} ns")
        self._sequence += 1
        self.put(time_ns, NORMAL, self._sequence, action)

    def sequence_number(self) -> int:
        """Take another number in the order of scheduling, for users with their own calendar."""
        self._sequence += 1
        return self._sequence

    def put(self, time_ns: int, priority: int, sequence: int, action: Action) -> None:
        """Schedule the entry as if it had been done when the sequence number was taken."""
        if time_ns < self._horizon:
            heappush(self._heap, (_key(time_ns - self._base, priority, sequence), action))
            return
        bucket = time_ns >> BUCKET_BITS
        entry = (_key(time_ns - (bucket << BUCKET_BITS), priority, sequence), action)
        later = self._later.get(bucket)
        if later is None:
            self._later[bucket] = [entry]
            heappush(self._buckets, bucket)
        else:
            later.append(entry)

    def advance_to(self, time_ns: int, sequence: int) -> bool:
        """Advance the clock to the entry with that number, within an action. Return False if something is to happen
        before, or the run ends.
        """
        if time_ns > self._until:
            return False
        if time_ns >= self._horizon and self._buckets and self._buckets[0] <= time_ns >> BUCKET_BITS:
            return False  # perhaps not; this is known when its entry comes up
        if self._heap and self._heap[0][0] < _key(time_ns - self._base, NORMAL, sequence):
            return False
        self.now = time_ns
        return True

    def next_ns(self) -> int | None:
        """Return when the next entry comes up."""
        return self._base + (self._heap[0][0] >> _TIME_SHIFT) if self._heap or self._open_next_bucket() else None

    def step(self) -> bool:
        """Handle the next entry. Return False if there is none. Raise Runaway as `run_until` does."""
        if not self._heap and not self._open_next_bucket():
            return False
        self.handled += 1
        key, action = heappop(self._heap)
        self.now = self._base + (key >> _TIME_SHIFT)
        action()
        self._require_few()
        return True

    def _require_few(self) -> None:
        if self.handled > self.max_events:
            raise Runaway(
                f"{self.handled:,} events at {self.now / 1e9:.9g} s, more than {self.max_events:,}; raise this"
                " limit if they are intended"
            )

    def run_until(self, time_ns: int) -> None:
        """Handle everything up to and including `time_ns`, then stop there."""
        heap = self._heap
        self._until = time_ns
        while True:
            begun_ns = self.now
            most = min(LOOK_EVERY, self.max_events + 1 - self.handled)
            for handled in range(most):
                if (not heap and not self._open_next_bucket()) or (
                    now := self._base + (heap[0][0] >> _TIME_SHIFT)
                ) > time_ns:
                    self.now = time_ns
                    self.handled += handled
                    return
                self.now = now
                heappop(heap)[1]()
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

    def _open_next_bucket(self) -> bool:
        """Open the next bucket, because the heap is empty. Return False if there is none."""
        if not self._buckets:
            return False
        bucket = heappop(self._buckets)
        self._heap.extend(self._later.pop(bucket))
        heapify(self._heap)
        self._base = bucket << BUCKET_BITS
        self._horizon = (bucket + 1) << BUCKET_BITS
        return True


def _key(since_ns: int, priority: int, sequence: int) -> int:
    """Return a key that is lower for what happens first. A time before the bucket is negative, and lower too."""
    return (since_ns << _TIME_SHIFT) + ((priority + 1) << SEQUENCE_BITS) + sequence
