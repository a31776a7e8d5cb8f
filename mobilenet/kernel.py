"""Simulated time: an integer number of nanoseconds, and what happens when.

Model     simpy's environment; what waits is a bare callable, for a simpy event one that handles it. The queue holds what
          happens within the present millisecond; what comes later waits in a list for its stretch, unsorted,
          so the queue stays short and in the cache however many timers there are
Ties      (time, priority, order of scheduling): what was scheduled first happens first
Units     integer nanoseconds
Errors    ValueError for a moment in the past; Runaway for a run that does not get on
Source    ours: DESIGN.md §2
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any

import simpy
from simpy.core import EmptySchedule, StopSimulation
from simpy.events import NORMAL, Event, EventPriority

SECOND = 1_000_000_000
MILLISECOND = 1_000_000
MICROSECOND = 1_000
LOOK_EVERY = 1_000_000  # events between two looks at whether time moves at all
STRETCH_BITS = 20  # of nanoseconds: a millisecond

Action = Callable[[], None]
Entry = tuple[int, int, int, Action]  # when, priority, order of scheduling, what


def ns(seconds: float) -> int:
    """Seconds as the nearest integer number of nanoseconds."""
    return round(seconds * SECOND)


class Runaway(RuntimeError):
    """More events than anybody meant; the message says where time stands."""


class Kernel(simpy.Environment):
    """The clock and the queue of one run. Two kernels in one process share nothing.

    simpy processes run on it unchanged. `at` and `after` schedule a plain callable:
    no event object is built for it, which is what makes a frame cheap.
    """

    _now: int

    def __init__(self) -> None:
        super().__init__(initial_time=0)
        self.handled = 0
        self.max_events = sys.maxsize
        self._until = -1  # where the present run_until ends
        self._horizon = 0  # the queue holds what happens before, and nothing else
        self._later: dict[int, list[Entry]] = {}  # the rest, by stretch
        self._stretches: list[int] = []  # those of `later`, as a heap

    @property
    def now(self) -> int:
        return self._now

    def at(self, time_ns: int, action: Action) -> None:
        """Call `action` at `time_ns`, after everything already scheduled for that instant."""
        if time_ns < self._now:
            raise ValueError(f"cannot schedule at {time_ns} ns: it is already {self._now} ns")
        if time_ns < self._horizon:
            heappush(self._queue, (time_ns, NORMAL, next(self._eid), action))  # type: ignore[misc, arg-type]
        else:
            self._put_off((time_ns, NORMAL, next(self._eid), action))

    def place(self) -> int:
        """The present place in the order of scheduling, for whoever keeps a calendar of its own."""
        return next(self._eid)

    def at_place(self, time_ns: int, place: int, action: Action) -> None:
        """As if it had been scheduled when the place was taken."""
        self._put((time_ns, NORMAL, place, action))

    def goes_on_to(self, time_ns: int, place: int) -> bool:
        """Advance the clock to what has that place, within an action; not if something is to happen before, or the run ends."""
        if time_ns > self._until:
            return False
        if time_ns >= self._horizon and self._stretches and self._stretches[0] <= time_ns >> STRETCH_BITS:
            return False  # perhaps not: whoever asks will see when its entry comes up
        queue = self._queue
        if queue:
            first = queue[0]
            if first[0] <= time_ns and (first[0] < time_ns or first[1] < NORMAL or first[2] < place):
                return False
        self._now = time_ns
        return True

    def after(self, delay_ns: int, action: Action) -> None:
        self.at(self._now + delay_ns, action)

    def schedule(self, event: Event, priority: EventPriority = NORMAL, delay: float = 0) -> None:
        """For simpy: its events come up like anything else."""
        self._put((self._now + int(delay), priority, next(self._eid), _Handling(self, event)))

    def peek(self) -> float:
        """When the next entry comes up; infinity if there is none."""
        return self._queue[0][0] if self._queue or self._turn_over() else math.inf

    def step(self) -> None:
        """Handle the next entry of the queue."""
        if not self._queue and not self._turn_over():
            raise EmptySchedule
        self.handled += 1
        self._now, _, _, action = heappop(self._queue)  # type: ignore[assignment]
        action()  # type: ignore[operator]

    def run_until(self, time_ns: int) -> None:
        """Handle everything up to and including `time_ns`, then stand there."""
        queue: list[Any] = self._queue
        self._until = time_ns
        while True:
            begun_ns = self._now
            for handled in range(LOOK_EVERY):
                if (not queue and not self._turn_over()) or queue[0][0] > time_ns:
                    self._now = time_ns
                    self.handled += handled
                    return
                self._now, _, _, action = heappop(queue)  # step() without its call
                action()
            self.handled += LOOK_EVERY
            if self._now == begun_ns:
                raise Runaway(f"time stands still at {self._now / SECOND:.9g} s: {LOOK_EVERY:,} events, and the next is at the same instant")
            if self.handled > self.max_events:
                raise Runaway(f"{self.handled:,} events at {self._now / SECOND:.9g} s, more than {self.max_events:,}; raise it if they are meant")

    def _put(self, entry: Entry) -> None:
        if entry[0] < self._horizon:
            heappush(self._queue, entry)  # type: ignore[misc, arg-type]
        else:
            self._put_off(entry)

    def _put_off(self, entry: Entry) -> None:
        stretch = entry[0] >> STRETCH_BITS
        later = self._later.get(stretch)
        if later is None:
            self._later[stretch] = [entry]
            heappush(self._stretches, stretch)
        else:
            later.append(entry)

    def _turn_over(self) -> bool:
        """The queue is empty: the next stretch begins. False if there is none."""
        if not self._stretches:
            return False
        stretch = heappop(self._stretches)
        self._queue.extend(self._later.pop(stretch))  # type: ignore[arg-type]
        heapify(self._queue)
        self._horizon = (stretch + 1) << STRETCH_BITS
        return True


class _Handling:
    """What simpy does with an event when its time has come: Environment.step(), without the queue."""

    __slots__ = ("_event", "_kernel")

    def __init__(self, kernel: Kernel, event: Event) -> None:
        self._kernel = kernel
        self._event = event

    def __call__(self) -> None:
        event = self._event
        callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
        try:
            for callback in callbacks:
                callback(event)
        except StopSimulation:  # run(until=event) ends here; who else waits for it is called when it goes on
            event.callbacks = callbacks[callbacks.index(callback) + 1 :]
            self._kernel.schedule(event, EventPriority(-1))
            raise
        if not event._ok and not hasattr(event, "_defused"):
            raise event._value
