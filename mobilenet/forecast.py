"""Estimate how long a run will take to compute, and how much memory and disk space it needs, by playing its beginning.

Model     The beginning of the run is played, without writing files. The run is assumed to continue like the second half
          of this beginning, except that each planned delivery adds up to EVENTS_PER_DELIVERY events. If the run
          consists mostly of joins and hosts are still joining at this point, the estimate of the scenario is used for
          the remaining events. A run of processes is assumed to continue at the same pace until all required deliveries
          have happened.
Units     Computing times on this machine are in seconds, and sizes in megabytes.
Errors    PluginError if custom code fails while it is played.
Source    ours: docs/performance.md
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from math import ceil
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from mobilenet.by_kind import builder, with_declared
from mobilenet.protocols.names import REAL_TIME
from mobilenet.record.recorder import Recording
from mobilenet.scenario import AnyScenario, Scenario
from mobilenet.scenario.plans.hosts import planned_deliveries
from mobilenet.simulation.plugin_code import EarlyEnd, attributing_errors
from mobilenet.world.track_mobility import Tracks

MOST_EVENTS = 200_000  # the maximum number of events that are played, which takes one or two seconds
ENOUGH_S = 2.0  # playing stops after this many seconds, at the end of a simulated second
LEAST_S = 1e-9
OTHERS_TAKE = 4.0  # events other than joins take this many times as long as a message on a link
EVENTS_PER_DELIVERY = 2.0  # in a run with many broadcasts
IDLE = 0.1  # the least work that goes on without deliveries, as a share of the work for deliveries
ROWS_PER_EVENT = 1.5  # the number of rows for each event other than joins
S_PER_ROW = 2.5e-6  # the time to judge and to write a row
LEAST_MB = 150.0  # the memory of the program and of the verifier
BYTES_PER_ROW = 42  # the memory for each row while the record is judged
BATCH_BYTES_PER_ROW = 30  # the disk space for each row during the run
RECORD_BYTES_PER_ROW = 6
LEAST_RECORD_BYTES = 15_000
LONG_DRAIN_S = 300  # seconds of computing; a longer drain causes a warning
UNKNOWN = "the running time of the custom code is unknown"


class Forecast(NamedTuple):
    events: float
    cpu_s: float
    rows: float

    @property
    def memory_mb(self) -> float:
        return LEAST_MB + self.rows * BYTES_PER_ROW / 1e6

    @property
    def record_bytes(self) -> float:
        return LEAST_RECORD_BYTES + self.rows * RECORD_BYTES_PER_ROW

    @property
    def disk_mb(self) -> float:
        """The peak disk usage during the run."""
        return (self.record_bytes + self.rows * BATCH_BYTES_PER_ROW) / 1e6


class _Mark(NamedTuple):
    time_s: float
    events: float
    rows: float
    cpu_s: float


def forecast(scenario: AnyScenario, allow_code: bool = False) -> Forecast | None:
    """Play the beginning of a run and return the forecast. Return None if the beginning cannot be played, because
    programs or code without permission would have to run.
    """
    if scenario.protocol.name in REAL_TIME or (any(scenario.code()) and not allow_code):
        return None
    began_s = time.process_time()
    with attributing_errors(scenario):
        parts = builder(with_declared(scenario, allow_code), allow_code, None, None, None)()
    calendar, recording = parts.kernel.calendar, parts.recording
    calendar.max_events = MOST_EVENTS
    built_s, marks = time.process_time(), [_Mark(0, 0, 0, 0)]

    def mark(*_: float) -> None:
        cpu_s = time.process_time() - built_s
        if cpu_s > ENOUGH_S:
            calendar.max_events = calendar.handled
        marks.append(_Mark(calendar.now / 1e9, calendar.handled, recording.rows, cpu_s))

    try:
        with attributing_errors(scenario):
            parts.run(mark)
        is_whole = True
    except EarlyEnd:
        if calendar.handled <= calendar.max_events:
            raise
        is_whole = False
    mark()
    end = marks[-1] if is_whole else _end(scenario, marks, recording)
    return Forecast(end.events, built_s - began_s + end.cpu_s + end.rows * S_PER_ROW, end.rows)


def _end(scenario: AnyScenario, marks: list[_Mark], recording: Recording) -> _Mark:
    """Return the estimated totals at the end of the run."""
    last, steady_s = marks[-1], scenario.steady_from_s
    if steady_s is None:
        delivered = len(recording.tables()["events"].column("event").rows("deliver"))
        longer = max(1.0, scenario.deliveries_due / max(1, delivered))
        return _Mark(0, *(longer * total for total in last[1:]))
    total, of_joins = scenario.estimated_events(), scenario.events_of_joins
    others = total - of_joins
    if last.time_s < 2 * steady_s and of_joins > others:
        cpu_s = last.cpu_s * (of_joins + OTHERS_TAKE * others) / last.events
        return _Mark(0, total, ROWS_PER_EVENT * others, cpu_s)
    first = next(mark for mark in reversed(marks) if mark.time_s <= last.time_s / 2)
    more = max(0.0, scenario.duration_s - last.time_s) / max(LEAST_S, last.time_s - first.time_s)
    planned = planned_deliveries(cast(Scenario, scenario))
    before, then = (_between(planned, *span) for span in ((first.time_s, last.time_s), (last.time_s, len(planned))))
    lately = last.events - first.events
    rest = more * lately + min(EVENTS_PER_DELIVERY, lately / max(1.0, before)) * (then - more * before)
    longer = max(0.0, rest) / max(1.0, lately)
    return _Mark(0, *(b + longer * (b - a) for a, b in zip(first[1:], last[1:], strict=True)))


def work_until(scenario: AnyScenario) -> Callable[[float], float]:
    """Return a function that estimates the work up to a simulated time. It consists of the first joins and of the
    planned deliveries. If these are unknown, or tracks would have to be read to count them, the work grows with the
    time.
    """
    steady_s = scenario.steady_from_s
    if steady_s is None or isinstance(cast(Scenario, scenario).hosts.mobility, Tracks):
        return float
    planned, joins = planned_deliveries(cast(Scenario, scenario)), scenario.events_of_joins
    others = scenario.estimated_events() - joins
    busy = min(others / (1 + IDLE), EVENTS_PER_DELIVERY * planned.sum())  # the rest goes on at an even pace
    each = OTHERS_TAKE * ((others - busy) / len(planned) + busy * planned / max(1.0, planned.sum()))
    each[: ceil(steady_s)] += joins / ceil(steady_s)
    work = np.concatenate(([0.0], each.cumsum()))
    return lambda time_s: float(np.interp(time_s, np.arange(len(work)), work))


def _between(per_s: NDArray[np.float64], begin_s: float, end_s: float) -> float:
    """Return the sum of a series with one value per second between two times."""
    seconds = per_s[int(begin_s) : ceil(end_s)]
    return float(seconds.mean() * (end_s - begin_s)) if len(seconds) and end_s > begin_s else 0.0


def describe_effort(scenario: AnyScenario, foreseen: Forecast | None) -> str:
    """Describe in words how large a run is likely to be."""
    if foreseen is None:
        events = f"about {scenario.estimated_events():,} events"
        return f"in real time, {events}" if scenario.protocol.name in REAL_TIME else f"{events}; {UNKNOWN}"
    memory = f", up to {_size(foreseen.memory_mb)} of memory" if foreseen.memory_mb >= 2 * LEAST_MB else ""
    return (
        f"about {_in_two_digits(foreseen.events):,} events, which take about {_time(foreseen.cpu_s)} to compute{memory}"
    )


def shortages(scenario: AnyScenario, foreseen: Forecast, folder: Path) -> Iterator[str]:
    """Yield a warning if the run may exceed the limits of events or memory, or the free disk space in `folder`. Also
    warn if the drain may take minutes, and longer than the run itself.
    """
    if foreseen.events > (most := scenario.limits.max_events):
        yield f"limits.max_events: the run may end early, at {most:,} events; raise this limit"
    memory_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e6
    if foreseen.memory_mb > memory_mb:
        yield f"the run may need {_size(foreseen.memory_mb)} of memory; this machine has {_size(memory_mb)}"
    free_mb = shutil.disk_usage(folder).free / 1e6
    if foreseen.disk_mb > free_mb:
        needed = f"the record may need {_size(foreseen.disk_mb)} of disk space"
        yield f"{needed}; {folder.absolute()} has {_size(free_mb)} left"
    drain_s = scenario.events_of_drain() * foreseen.cpu_s / max(1.0, foreseen.events)
    if drain_s > max(LONG_DRAIN_S, foreseen.cpu_s):
        yield (
            f"if the run does not come to rest sooner, its drain of up to {scenario.longest_drain_s:g} s may take about"
            f" {_time(drain_s)} more"
        )


def _size(mb: float) -> str:
    return f"{mb / 1e3:.1f} GB" if mb >= 1000 else f"{mb:.0f} MB"


def _in_two_digits(events: float) -> int:
    """Round to two significant digits, because the estimate is not more accurate."""
    return int(round(round(events), 2 - len(str(round(events)))))


def _time(seconds: float) -> str:
    if seconds < 2:
        return "a second or two"
    if seconds > 7200:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds > 120 else f"{seconds:.0f} s"
