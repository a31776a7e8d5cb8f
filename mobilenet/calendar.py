"""What is to happen, and when: the event calendar of one run, and its clock.

Model     what waits is a bare callable. The heap holds what happens within the present stretch of time; what comes later
          waits in a list for its stretch, unsorted, so the heap stays short and in the cache however many timers there are
Ties      (time, priority, order of scheduling): what was scheduled first happens first
Units     integer nanoseconds
Errors    ValueError for a moment in the past; Runaway for a run that does not get on
Source    ours: DESIGN.md §2
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Final

NORMAL: Final = 1  # simpy's priority of all that is not urgent
LOOK_EVERY: Final = 1_000_000  # events between two looks at whether time moves at all
STRETCH_BITS: Final = 18  # of nanoseconds: a quarter of a millisecond

Action = Callable[[], None]
Entry = tuple[int, int, int, Action]  # when, priority, order of scheduling, what


class Runaway(Exception):
    """More events than anybody meant; the message says where time stands."""


class Calendar:
    """Everything under a frame or a message schedules here; `Kernel` is the face that it has for simpy."""

    __slots__ = ("_heap", "_horizon", "_later", "_place", "_stretches", "_until", "handled", "max_events", "now")

    def __init__(self) -> None:
        self.now = 0
        self.handled = 0
        self.max_events = sys.maxsize
        self._place = -1  # the last one taken in the order of scheduling
        self._until = -1  # where the present run_until ends
        self._horizon = 0  # the heap holds what happens before, and nothing else
        self._heap: list[Entry] = []
        self._later: dict[int, list[Entry]] = {}  # the rest, by stretch
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
        entry = (time_ns, priority, place, action)
        if time_ns < self._horizon:
            heappush(self._heap, entry)
            return
        stretch = time_ns >> STRETCH_BITS
        later = self._later.get(stretch)
        if later is None:
            self._later[stretch] = [entry]
            heappush(self._stretches, stretch)
        else:
            later.append(entry)

    def goes_on_to(self, time_ns: int, place: int) -> bool:
        """Advance the clock to what has that place, within an action; not if something is to happen before, or the run ends."""
        if time_ns > self._until:
            return False
        if time_ns >= self._horizon and self._stretches and self._stretches[0] <= time_ns >> STRETCH_BITS:
            return False  # perhaps not: whoever asks will see when its entry comes up
        if self._heap and self._heap[0][:3] < (time_ns, NORMAL, place):
            return False
        self.now = time_ns
        return True

    def next_ns(self) -> int | None:
        """When the next entry comes up."""
        return self._heap[0][0] if self._heap or self._turn_over() else None

    def step(self) -> bool:
        """Handle the next entry. False: there is none."""
        if not self._heap and not self._turn_over():
            return False
        self.handled += 1
        time_ns, _, _, action = heappop(self._heap)
        self.now = time_ns
        action()
        return True

    def run_until(self, time_ns: int) -> None:
        """Handle everything up to and including `time_ns`, then stand there."""
        heap = self._heap
        self._until = time_ns
        while True:
            begun_ns = self.now
            for handled in range(LOOK_EVERY):
                if (not heap and not self._turn_over()) or heap[0][0] > time_ns:
                    self.now = time_ns
                    self.handled += handled
                    return
                now, _, _, action = heappop(heap)  # step() without its call
                self.now = now
                action()
            self.handled += LOOK_EVERY
            if self.now == begun_ns:
                raise Runaway(f"time stands still at {self.now / 1e9:.9g} s: {LOOK_EVERY:,} events, and the next is at the same instant")
            if self.handled > self.max_events:
                raise Runaway(f"{self.handled:,} events at {self.now / 1e9:.9g} s, more than {self.max_events:,}; raise it if they are meant")

    def _turn_over(self) -> bool:
        """The heap is empty: the next stretch begins. False if there is none."""
        if not self._stretches:
            return False
        stretch = heappop(self._stretches)
        self._heap.extend(self._later.pop(stretch))
        heapify(self._heap)
        self._horizon = (stretch + 1) << STRETCH_BITS
        return True
