"""What is to happen, and when: the event calendar of one run, and its clock.

Model     what waits is a bare callable. The heap holds what happens within the present bucket of time; what comes
          later waits in a list for its bucket, unsorted, so the heap stays short and in the cache however many
          timers there are. An entry is its turn and its callable. The turn is one number, made of the time since the
          bucket began, the priority and the place in the order of scheduling: with thousands of nodes entries come
          from memory, and a tuple with one number in it comes sooner than one with three
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

NORMAL: Final = 1  # simpy's priority of all that is not urgent
LOOK_EVERY: Final = 1_000_000  # events between two looks at whether time moves at all
BUCKET_BITS: Final = 18  # of nanoseconds: a quarter of a millisecond
PRIORITY_BITS: Final = 2  # -1 (simpy's, of the end of a run) to 2
PLACE_BITS: Final = 40  # together 60: Python's integers have digits of 30

_TIME_SHIFT: Final = PRIORITY_BITS + PLACE_BITS

Action = Callable[[], None]
Entry = tuple[int, Action]  # turn, what


class Runaway(Exception):
    """More events than anybody meant; the message says where time stands."""


class Calendar:
    """Everything under a frame or a message schedules here; `Kernel` is the face that it has for simpy."""

    __slots__ = (
        "_base",
        "_heap",
        "_horizon",
        "_later",
        "_place",
        "_stretches",
        "_until",
        "handled",
        "max_events",
        "now",
    )

    def __init__(self) -> None:
        self.now = 0
        self.handled = 0
        self.max_events = sys.maxsize
        self._place = -1  # the last one taken in the order of scheduling
        self._until = -1  # where the present run_until ends
        self._horizon = 0  # the heap holds what happens before, and nothing else
        self._base = 0  # turns in the heap are counted from here
        self._heap: list[Entry] = []
        self._later: dict[int, list[Entry]] = {}  # the rest, by bucket
        self._stretches: list[int] = []  # those of `later`, as a heap

    def at(self, time_ns: int, action: Action) -> None:
        """Call `action` at `time_ns`, after everything already scheduled for that instant."""
        if time_ns < self.now:
            raise ValueError(f"cannot schedule at {time_ns} ns: it is already {self.now} ns")
        self._place += 1
        self.put(time_ns, NORMAL, self._place, action)

    def place(self) -> int:
        """The present place in the order of scheduling, for whoever keeps a calendar of its own."""
        self._place += 1
        return self._place

    def put(self, time_ns: int, priority: int, place: int, action: Action) -> None:
        """As if it had been scheduled when the place was taken."""
        if time_ns < self._horizon:
            heappush(self._heap, (_turn(time_ns - self._base, priority, place), action))
            return
        bucket = time_ns >> BUCKET_BITS
        entry = (_turn(time_ns - (bucket << BUCKET_BITS), priority, place), action)
        later = self._later.get(bucket)
        if later is None:
            self._later[bucket] = [entry]
            heappush(self._stretches, bucket)
        else:
            later.append(entry)

    def goes_on_to(self, time_ns: int, place: int) -> bool:
        """Advance the clock to what has that place, within an action; not if something is to happen before, or the
        run ends.
        """
        if time_ns > self._until:
            return False
        if time_ns >= self._horizon and self._stretches and self._stretches[0] <= time_ns >> BUCKET_BITS:
            return False  # perhaps not: whoever asks will see when its entry comes up
        if self._heap and self._heap[0][0] < _turn(time_ns - self._base, NORMAL, place):
            return False
        self.now = time_ns
        return True

    def next_ns(self) -> int | None:
        """When the next entry comes up."""
        return self._base + (self._heap[0][0] >> _TIME_SHIFT) if self._heap or self._turn_over() else None

    def step(self) -> bool:
        """Handle the next entry. False: there is none."""
        if not self._heap and not self._turn_over():
            return False
        self.handled += 1
        turn, action = heappop(self._heap)
        self.now = self._base + (turn >> _TIME_SHIFT)
        action()
        return True

    def run_until(self, time_ns: int) -> None:
        """Handle everything up to and including `time_ns`, then stand there."""
        heap = self._heap
        self._until = time_ns
        while True:
            begun_ns = self.now
            for handled in range(LOOK_EVERY):
                if (not heap and not self._turn_over()) or (now := self._base + (heap[0][0] >> _TIME_SHIFT)) > time_ns:
                    self.now = time_ns
                    self.handled += handled
                    return
                self.now = now
                heappop(heap)[1]()
            self.handled += LOOK_EVERY
            if self.now == begun_ns:
                raise Runaway(
                    f"time stands still at {self.now / 1e9:.9g} s: {LOOK_EVERY:,} events, and the next is at the same"
                    " instant"
                )
            if self._place >= 1 << PLACE_BITS:
                raise Runaway(
                    f"more than {1 << PLACE_BITS:,} events were scheduled by {self.now / 1e9:.9g} s: their order can no"
                    " longer be told"
                )
            if self.handled > self.max_events:
                raise Runaway(
                    f"{self.handled:,} events at {self.now / 1e9:.9g} s, more than {self.max_events:,}; raise it if"
                    " they are meant"
                )

    def _turn_over(self) -> bool:
        """The heap is empty: the next bucket begins. False if there is none."""
        if not self._stretches:
            return False
        bucket = heappop(self._stretches)
        self._heap.extend(self._later.pop(bucket))
        heapify(self._heap)
        self._base = bucket << BUCKET_BITS
        self._horizon = (bucket + 1) << BUCKET_BITS
        return True


def _turn(since_ns: int, priority: int, place: int) -> int:
    """Lower for what happens first. A time before the bucket is negative, and lower too."""
    return (since_ns << _TIME_SHIFT) + ((priority + 1) << PLACE_BITS) + place
