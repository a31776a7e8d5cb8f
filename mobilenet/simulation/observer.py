"""An observer watches a run while it goes on: the recorder of totals, a progress bar, a live window.

Model     a run is cut into slices of simulated time. Before each slice an observer receives the events since the last
          one, in order of occurrence, and then the moment. Observing costs the hot path nothing and changes nothing: a
          run has the same fingerprint with or without observers
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
    """The base class of observers. Override what you need."""

    every_ns: int = SECOND  # the longest slice that it wants, in simulated time

    def on_event(self, event: Event) -> None:
        """Handle an event of the slice that is over."""

    def on_slice(self, now_ns: int) -> None:
        """Handle the end of a slice (at the beginning there has been none), just before the next begins."""

    def on_end(self, now_ns: int) -> None:
        """Handle the end of the run. All of its events have been passed on."""


class Watch:
    """The caller of the observers, each at its own pace."""

    def __init__(self, events: EventLog, observers: Sequence[Observer]) -> None:
        self._events = events
        self._observers = observers
        self._due_ns = [0] * len(observers)
        self._listeners = [o for o in observers if type(o).on_event is not Observer.on_event]
        self._next_row = 0
        self._untold: list[tuple[Any, ...]] = []  # rows of the present slice that are in batches

    def restart(self, now_ns: int) -> None:
        """Count slices from now on."""
        self._due_ns = [now_ns] * len(self._observers)

    def look(self, now_ns: int) -> int:
        """Notify the observers whose slice is over, and return when the next slice ends."""
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
        """Take the rows that the observers receive when the slice is over, before they go into batches."""
        if self._listeners:
            self._untold += self._events.rows(self._next_row)
        self._next_row = len(self._events)

    def _tell_events(self) -> None:
        self.keep_rows()
        for row in self._untold:
            event = Event(*row)
            for observer in self._listeners:
                observer.on_event(event)
        self._untold.clear()


class Totals(Observer):
    """The first observer of every run: it samples the running totals once per simulated second."""

    def __init__(self, counters: Counters, medium: Medium, wires: WiredNetwork) -> None:
        self._counters = counters
        self._medium = medium
        self._wires = wires

    def on_slice(self, now_ns: int) -> None:
        self._counters.sample_totals(self._medium, self._wires)
