"""Simulated time: an integer number of nanoseconds, and what happens when.

Model     simpy's environment and event queue; what waits in the queue is a bare callable, for a simpy event one that handles it
Ties      (time, priority, order of scheduling): what was scheduled first happens first
Units     integer nanoseconds
Errors    ValueError for a moment in the past or a time that is not an integer; Runaway for a run that does not get on
Source    ours: DESIGN.md §2
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

import simpy
from simpy.events import NORMAL, Event, EventPriority

SECOND = 1_000_000_000
MILLISECOND = 1_000_000
MICROSECOND = 1_000
LOOK_EVERY = 1_000_000  # events between two looks at whether time moves at all

Action = Callable[[], None]


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

    @property
    def now(self) -> int:
        return self._now

    def at(self, time_ns: int, action: Action) -> None:
        """Call `action` at `time_ns`, after everything already scheduled for that instant."""
        if time_ns < self._now:
            raise ValueError(f"cannot schedule at {time_ns} ns: it is already {self._now} ns")
        heappush(self._queue, (time_ns, NORMAL, next(self._eid), action))  # type: ignore[misc, arg-type]

    def place(self) -> int:
        """The present place in the order of scheduling, for whoever keeps a calendar of its own."""
        return next(self._eid)

    def at_place(self, time_ns: int, place: int, action: Action) -> None:
        """As if it had been scheduled when the place was taken."""
        heappush(self._queue, (time_ns, NORMAL, place, action))  # type: ignore[misc, arg-type]

    def goes_on_to(self, time_ns: int, place: int) -> bool:
        """Advance the clock to what has that place, within an action; not if something is to happen before, or the run ends."""
        if time_ns > self._until:
            return False
        queue = self._queue
        if queue:
            first = queue[0]
            if first[0] <= time_ns and (first[0] < time_ns or first[2] < place):
                return False
        self._now = time_ns
        return True

    def after(self, delay_ns: int, action: Action) -> None:
        self.at(self._now + delay_ns, action)

    def schedule(self, event: Event, priority: EventPriority = NORMAL, delay: float = 0) -> None:
        """For simpy: its events come up like anything else."""
        heappush(self._queue, (self._now + int(delay), priority, next(self._eid), _Handling(event)))  # type: ignore[misc, arg-type]

    def step(self) -> None:
        """Handle the next entry of the queue."""
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
                if not queue or queue[0][0] > time_ns:
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


class _Handling:
    """What simpy does with an event when its time has come: Environment.step(), without the queue."""

    __slots__ = ("_event",)

    def __init__(self, event: Event) -> None:
        self._event = event

    def __call__(self) -> None:
        event = self._event
        callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
        for callback in callbacks:
            callback(event)
        if not event._ok and not hasattr(event, "_defused"):
            raise event._value
