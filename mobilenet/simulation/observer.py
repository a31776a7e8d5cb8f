"""Observers, which watch a run in progress: the recorder of totals, a progress bar or a live window, for example.

Model     A run is divided into slices of simulated time. Before each slice, an observer receives the events since the
          last slice, in order of occurrence, and then the time. Observers do not slow down the hot path and do not
          change the fingerprint of the run.
Units     integer nanoseconds
Example   class Deliveries(Observer):
              count = 0
              def on_event(self, event):
                  self.count += event.event == "deliver"
          Simulation(scenario).run(observers=[Deliveries()])
Source    ours: docs/architecture.md, "Observers"
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mobilenet.engine.clock import SECOND
from mobilenet.record.recorder import EventLog
from mobilenet.record.schema import Event

if TYPE_CHECKING:
    from mobilenet.network.radio.medium import Medium
    from mobilenet.network.wired.network import WiredNetwork
    from mobilenet.simulation.counters import Counters

__all__ = ["Event", "Observer", "Watch"]


class Observer:
    """The base class of observers. Override the methods that you need."""

    every_ns: int = SECOND  # the longest slice that the observer accepts, in simulated time

    def on_event(self, event: Event) -> None:
        """Handle an event of the slice that has ended."""

    def on_slice(self, now_ns: int) -> None:
        """Handle the end of a slice, just before the next one begins. The first call comes at the beginning of the
        run.
        """

    def on_end(self, now_ns: int) -> None:
        """Handle the end of the run. All of its events have been passed on before."""


class Watch:
    """Calls each observer at the end of each of its slices. Observers have slices of different lengths."""

    def __init__(self, events: EventLog, observers: Sequence[Observer]) -> None:
        self._events = events
        self._observers = observers
        self._due_ns = [0] * len(observers)
        self._listeners = [o for o in observers if type(o).on_event is not Observer.on_event]
        self._next_row = 0
        self._pending: list[tuple[Any, ...]] = []  # rows that the listeners have not received yet

    def restart(self, now_ns: int) -> None:
        """Begin a new slice for every observer."""
        self._due_ns = [now_ns] * len(self._observers)

    def look(self, now_ns: int) -> int:
        """Notify each observer whose slice is over, and return when the next slice ends."""
        self._tell_events()
        for i, observer in enumerate(self._observers):
            if self._due_ns[i] <= now_ns:
                observer.on_slice(now_ns)
                self._due_ns[i] = now_ns + observer.every_ns
        return min(self._due_ns)

    def end(self, now_ns: int) -> None:
        self._tell_events()
        for observer in self._observers:
            observer.on_end(now_ns)

    def keep_rows(self) -> None:
        """Copy the rows that observers have not received yet, before the rows are moved into batches."""
        if self._listeners:
            self._pending += self._events.rows(self._next_row)
        self._next_row = len(self._events)

    def _tell_events(self) -> None:
        self.keep_rows()
        for row in self._pending:
            event = Event(*row)
            for observer in self._listeners:
                observer.on_event(event)
        self._pending.clear()


class Totals(Observer):
    """The first observer of every run. It samples the running totals once per simulated second."""

    def __init__(self, counters: Counters, medium: Medium, wires: WiredNetwork) -> None:
        self._counters = counters
        self._medium = medium
        self._wires = wires

    def on_slice(self, now_ns: int) -> None:
        self._counters.sample_totals(self._medium, self._wires)
