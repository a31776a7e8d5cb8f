"""Simulated time: an integer number of nanoseconds, and simpy on top of it.

Model     This is simpy's environment on top of a Calendar. It runs unchanged simpy processes together with plain calls.
Units     Times are integer nanoseconds.
Errors    `at` and `after` raise ValueError for a time in the past. These methods and `run_until` raise TypeError for a
          time that is not a whole number (delays of simpy are truncated to whole numbers). `run_until` checks every
          million events whether the run makes progress, and raises Runaway if it does not. A priority outside of -1 to
          2 raises ValueError.
Source    ours: docs/architecture/time-and-chance.md
"""

from __future__ import annotations

import math
from collections.abc import Generator
from functools import partial
from numbers import Real
from operator import index
from typing import Any

import simpy
from simpy.core import EmptySchedule, StopSimulation
from simpy.events import NORMAL, Event, EventPriority

from mobilenet.engine.clock import SECOND, ns
from mobilenet.engine.event_queue import Action, Calendar

Process = Generator[Event, Any, None]  # a simpy process that has not been started


class Kernel(simpy.Environment):
    """The clock and the queue of one run. Two kernels in one process do not share any state.

    `at` and `after` schedule a plain callable without an event object, which makes frames cheap. Code that does this
    for each frame or message uses the `calendar` directly, which saves a call.
    """

    def __init__(self) -> None:
        super().__init__(initial_time=0)
        self.calendar = Calendar()

    @property
    def now(self) -> int:
        return self.calendar.now

    def at(self, time_ns: int, action: Action) -> None:
        """Call `action` at `time_ns`, after all actions that are already scheduled for that instant."""
        self.calendar.at(index(time_ns), action)

    def after(self, delay_ns: int, action: Action) -> None:
        self.calendar.at(self.calendar.now + index(delay_ns), action)

    def until(self, time_ns: int, priority: int = NORMAL) -> Event:
        """Return an event that occurs at this time. Its position among other events at the same nanosecond is fixed by
        this call.
        """
        event = Event(self)
        event._ok, event._value = True, None
        calendar = self.calendar
        calendar.put(index(time_ns), priority, calendar.sequence_number(), _Handling(self, event))
        return event

    def start(self, generator: Process) -> None:
        """Start a process, and run it at once until its first `yield`. By contrast, `process()` starts a process by an
        event, that is, only after the current callback has returned.
        """
        first = next(generator, None)
        if first is not None:
            self.process(_go_on(first, generator))

    def run_until(self, time_ns: int) -> None:
        """Process everything up to and including `time_ns`, then stop there."""
        self.calendar.run_until(index(time_ns))

    def schedule(self, event: Event, priority: EventPriority = NORMAL, delay: float = 0) -> None:
        """Schedule an event of simpy, which is processed like any other entry."""
        if not -1 <= priority <= 2:
            raise ValueError(f"the priority is {priority}, expected simpy's URGENT (0) or NORMAL (1), or -1 or 2")
        calendar = self.calendar
        calendar.put(calendar.now + int(delay), priority, calendar.sequence_number(), _Handling(self, event))

    def peek(self) -> float:
        """Return the time of the next entry, or infinity if the queue is empty."""
        next_ns = self.calendar.next_ns()
        return math.inf if next_ns is None else next_ns

    def step(self) -> None:
        """Process the next entry. Raise EmptySchedule if the queue is empty."""
        if not self.calendar.step():
            raise EmptySchedule


def _go_on(first: Event, generator: Process) -> Process:
    yield first
    yield from generator


LONGEST_S = 1e12  # the longest delay, which exceeds the duration of any run


class Seconds(simpy.Environment):
    """The clock and the queue of a kernel, for processes that count in seconds. Events at or after `end_ns` do not
    occur.
    """

    def __init__(self, kernel: Kernel, end_ns: int) -> None:
        super().__init__()
        self._kernel = kernel
        self._end_ns = end_ns

    @property
    def now(self) -> float:
        return self._kernel.now / SECOND

    def schedule(self, event: Event, priority: EventPriority = NORMAL, delay: float = 0) -> None:
        """Schedule an event of simpy. This is the only place where the delay is rounded to whole nanoseconds."""
        calendar = self._kernel.calendar
        at_ns = calendar.now + ns(delay)
        if at_ns < self._end_ns:
            action = partial(self._handle, _Handling(self, event))
            calendar.put(at_ns, priority, calendar.sequence_number(), action)

    def timeout(self, delay: float = 0, value: Any = None) -> simpy.Timeout:
        """Return an event that occurs after `delay` seconds."""
        if not isinstance(delay, Real) or not 0 <= delay <= LONGEST_S:
            raise ValueError(f"timeout: the delay is {delay!r}, expected seconds, 0 to {LONGEST_S:,.0f}")
        return simpy.Timeout(self, float(delay), value)

    @property
    def is_over(self) -> bool:
        """Whether the end of this environment has been reached."""
        return self._kernel.now >= self._end_ns

    def is_own(self, event: Any) -> bool:
        """Return whether a process of this environment can wait for this object."""
        return isinstance(event, Event) and event.env is self

    def run(self, until: Any = None) -> Any:
        raise RuntimeError("the network runs this environment; expected `yield` instead of env.run()")

    def step(self) -> None:
        self.run()

    def peek(self) -> float:
        return float(self.run())

    def _handle(self, handling: Action) -> None:
        handling()


class _Handling:
    """Processes a simpy event that is due. Unlike Environment.step(), it does not use the queue."""

    __slots__ = ("_event", "_kernel")

    def __init__(self, kernel: simpy.Environment, event: Event) -> None:
        self._kernel = kernel
        self._event = event

    def __call__(self) -> None:
        event = self._event
        callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
        try:
            for callback in callbacks:
                callback(event)
        except StopSimulation:  # run(until=event) ends here; the remaining callbacks are called when the run continues
            event.callbacks = callbacks[callbacks.index(callback) + 1 :]
            self._kernel.schedule(event, EventPriority(-1))
            raise
        if not event._ok and not hasattr(event, "_defused"):
            raise event._value
