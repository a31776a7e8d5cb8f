"""How much computing, memory and disk a run is likely to need.

Errors    none
Source    ours: docs/performance.md
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from mobilenet.protocols.names import REAL_TIME
from mobilenet.scenario.opening import AnyScenario

EVENTS_PER_S = 50_000  # of estimated ones; shipped scenarios make a third to three times as many
LEAST_MB = 200.0  # of the program and what it builds
BYTES_PER_EVENT = 90  # while the record is judged, at most
DISK_BYTES_PER_EVENT = 60  # of the batches that are there while a run goes on, and of the record
LONG_DRAIN_S = 300  # of computing, from which on a drain is worth a warning


def expected_effort(scenario: AnyScenario) -> str:
    """Describe in words how big the run is likely to be: events, seconds and memory."""
    events = scenario.estimated_events()
    if scenario.protocol.name in REAL_TIME:
        return f"in real time, about {events:,} events"
    mb = _memory_mb(events)
    memory = f", up to {_size(mb)} of memory" if mb >= 1.5 * LEAST_MB else ""
    if any(scenario.code()):
        return f"about {events:,} events{memory}; the running time of the custom code is unknown"
    if events < EVENTS_PER_S:
        return f"about {events:,} events, which take a second or two to compute"
    return f"about {events:,} events, which take about {_time(events)} to compute (within a factor of three){memory}"


def _memory_mb(events: int) -> float:
    return LEAST_MB + events * BYTES_PER_EVENT / 1e6


def _size(mb: float) -> str:
    return f"{mb / 1e3:.1f} GB" if mb >= 1000 else f"{mb:.0f} MB"


def effort_beyond_this_machine(scenario: AnyScenario, folder: Path) -> str | None:
    """What a run may need more of than there is: memory, or room for its record in `folder`."""
    events = scenario.estimated_events()
    needed_mb = _memory_mb(events)
    memory_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e6
    if needed_mb > memory_mb:
        return f"the run may need {_size(needed_mb)} of memory; this machine has {_size(memory_mb)}"
    record_mb, free_mb = events * DISK_BYTES_PER_EVENT / 1e6, shutil.disk_usage(folder).free / 1e6
    if record_mb > free_mb:
        return f"the record may need {_size(record_mb)} of disk space; {folder.absolute()} has {_size(free_mb)} left"
    return None


def _time(events: int) -> str:
    seconds = events / EVENTS_PER_S
    if seconds > 7200:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds > 120 else f"{seconds:.0f} s"


def effort_of_drain(scenario: AnyScenario) -> str | None:
    """Return in words the work that its drain adds, if it may take minutes and longer than the run itself."""
    if scenario.protocol.name in REAL_TIME:
        return None
    events = scenario.events_of_drain()
    if events < max(LONG_DRAIN_S * EVENTS_PER_S, scenario.estimated_events()):
        return None
    return (
        f"if the run does not come to rest sooner, its drain of up to {scenario.longest_drain_s:g} s may add about"
        f" {events:,} events, which take about {_time(events)}"
    )
