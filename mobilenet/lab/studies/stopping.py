"""Decide when a configuration has enough replications.

Model     each configuration is judged only by its own runs: it has enough when its metric has the precision asked
          for, when its backlog grows without end (then a mean does not exist), or when it has the most that
          the study allows. The others get `step` more in the next round. So precise levels do not pay for
          imprecise ones, and the number of workers does not matter
Errors    StudyError for a metric that does not exist
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.declaration import Replications, Until
from mobilenet.lab.studies.parts import in_order
from mobilenet.lab.studies.statistics import grows, t_interval
from mobilenet.metrics.registry import is_infinite
from mobilenet.quoting import unknown


class Open(NamedTuple):
    """A configuration that needs more replications."""

    configuration: int
    relative_half_width: float  # of the interval: divided by the mean; infinite where the mean is 0


def still_open(folder: Path, targets: list[int], rule: Replications, confidence: float) -> list[Open]:
    """The configurations that get another round, the least precise first; `folder` holds the parts."""
    if rule.until is None:
        return []
    candidates = []
    known: set[str] = set()
    for rows in in_order(folder, targets, ("configuration", "replication", "metrics")):
        number = rows["configuration"][0].as_py()
        runs = [dict(row) for row in rows["metrics"].to_pylist()]
        known.update(*runs)
        width = _relative_half_width(runs, rule.until, confidence)
        if width is not None and width > rule.until.relative_half_width and targets[number] < rule.most:
            candidates.append(Open(number, width))
    if known and rule.until.metric not in known:
        raise StudyError(f"replications.until.metric: {unknown('metric', rule.until.metric, sorted(known))}")
    return sorted(candidates, key=lambda one: (-one.relative_half_width, one.configuration))


def _relative_half_width(runs: list[dict[str, float]], until: Until, confidence: float) -> float | None:
    """None where more replications would not help: nothing is measured, or no mean exists."""
    values = [row[until.metric] for row in runs if until.metric in row]
    if len(values) < 2 or any(is_infinite(until.metric, row) for row in runs):
        return None
    if grows(np.array([row.get("backlog_slope", 0.0) for row in runs])):
        return None
    interval = t_interval(np.array(values), confidence)
    if interval.half_width == 0:
        return 0.0
    return interval.half_width / abs(interval.mean) if interval.mean else float("inf")
