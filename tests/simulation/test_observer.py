"""Tests that observers see every event in order and do not change the run."""

from __future__ import annotations

from mobilenet.engine.clock import MILLISECOND, SECOND
from mobilenet.scenario import Scenario
from mobilenet.simulation.mobile import Simulation
from mobilenet.simulation.observer import Event, Observer
from tests.conftest import FIRST

SHORT = ["duration_s=6"]


class Everything(Observer):
    def __init__(self, every_ns: int) -> None:
        self.every_ns = every_ns
        self.events: list[Event] = []
        self.slices: list[int] = []
        self.ends: list[int] = []

    def on_event(self, event: Event) -> None:
        assert not self.ends
        self.events.append(event)

    def on_slice(self, now_ns: int) -> None:
        assert all(event.time_ns <= now_ns for event in self.events)
        self.slices.append(now_ns)

    def on_end(self, now_ns: int) -> None:
        self.ends.append(now_ns)


def test_observers_see_every_event_and_do_not_change_the_run() -> None:
    alone = Simulation(Scenario.load(FIRST, SHORT)).run()
    fast, slow = Everything(50 * MILLISECOND), Everything(2 * SECOND)
    watched = Simulation(Scenario.load(FIRST, SHORT)).run(observers=[fast, slow])
    columns = alone.recording.events.columns()
    assert watched.recording.events.columns() == columns
    # Observers do not affect the sampling of the totals.
    assert watched.recording.samples.lists == alone.recording.samples.lists
    assert watched.recording.counters == alone.recording.counters
    rows = [Event(*row) for row in zip(*columns.values(), strict=True)]
    assert fast.events == slow.events == rows and len(rows) > 50
    assert fast.slices[:3] == [0, 50 * MILLISECOND, 100 * MILLISECOND]
    assert slow.slices[:4] == [0, 2 * SECOND, 4 * SECOND, 6 * SECOND]
    assert fast.ends == slow.ends == [alone.simulated_ns]


def test_an_observer_without_row_handlers_receives_no_rows() -> None:
    class Silent(Observer):
        looks = 0

        def on_slice(self, now_ns: int) -> None:
            self.looks += 1

    silent = Silent()
    Simulation(Scenario.load(FIRST, SHORT)).run(observers=[silent])
    assert silent.looks >= 6
