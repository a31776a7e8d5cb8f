"""Judge a record that an error in a plug-in, or a user, ended early.

Checks    until then a whole record, one that ended early as well: samples are of the right form and in order, counters
          are numbers, the network's totals never fall; positions, stations, coverage and delays are what the scenario
          allows; sums of the radio come out. Where it was stopped by hand between two events, all sums come out, and
          frames and messages are what they are in a whole run
Model     nothing of it is valid: what must never happen is violated where it happened, and all else is unknown. Only
          properties are asked for that a longer run could not repair. What a plug-in left half done is within the last
          nanosecond, so positions of that are not looked at
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import numpy as np

from mobilenet.verify.air.judge import Problem, air_problem
from mobilenet.verify.basis.evidence import Evidence
from mobilenet.verify.basis.sampled import samples_so_far_problem
from mobilenet.verify.declared import STOPPED
from mobilenet.verify.record.cells import cells_problem
from mobilenet.verify.record.conservation import conservation_problem, no_counts, radio_problem
from mobilenet.verify.record.delays import delays_problem
from mobilenet.verify.record.places import places_so_far_problem
from mobilenet.verify.record.totals import falling_problem


def record_so_far_problem(run: Evidence) -> str | None:
    """The first thing that cannot be, whatever would have followed."""
    end_ns, positions = run.end_ns, run.positions
    problem = samples_so_far_problem(run.samples, end_ns) or next(no_counts("counters", run.counters), None)
    if problem is None and any(time is None or time > end_ns for time in positions["time_ns"]):
        problem = f"positions: a position is later than the end of the run, {run.manifest['simulated_s']:.9g} s"
    if problem is not None:
        return problem
    before = np.flatnonzero(positions.numbers("time_ns") < max(end_ns, 1))
    places = {name: positions.pick(name, before) for name in positions}
    return (
        falling_problem(run.samples)
        or cells_problem(run.events)
        or places_so_far_problem(run.events, places, run.expected)
        or delays_problem(run.events, run.expected)
    )


def sums_so_far_problem(error: str, run: Evidence) -> Problem | None:
    """The first sum, or row of frames and messages, that cannot be: the property, and why."""
    duplicating_air, expected = run.promises["duplicating_air"], run.expected
    if expected is None or expected.hosts is None or not run.events.rows:
        return None
    if not error.startswith(STOPPED):  # a plug-in may have left half a message on a wire
        lost = radio_problem(run.counters, run.samples, duplicating_air, expected)
    else:
        lost = conservation_problem(run.counters, run.samples, False, duplicating_air, expected)
        if lost is None:
            return air_problem(run)
    return None if lost is None else ("conservation", lost)
