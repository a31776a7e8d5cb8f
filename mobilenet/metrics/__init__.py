"""The numbers of a run, from its record alone.

Model     one fold over the events (fold.py), the samples beside it, one flat row; what each number means stands in one
          registry (registry.py). A user's own metric is a function in a plug-in's file (own.py)
Knows     the record; no scenario, no simulator, no protocol
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mobilenet.metrics.fold import Columns
from mobilenet.metrics.mobile import mobile_metrics
from mobilenet.metrics.own import OwnMetric, Record, metric, own_row
from mobilenet.metrics.processes import process_metrics
from mobilenet.metrics.registry import Row
from mobilenet.rundir.schema import kind_of

__all__ = ["OwnMetric", "Record", "metric", "metrics"]


def metrics(
    events: Columns,
    samples: Columns,
    counters: dict[str, Any],
    manifest: dict[str, Any],
    own: Iterable[OwnMetric] = (),
) -> Row:
    """One row from the columns of a run; the manifest tells its kind and the window; `own`: a user's metrics."""
    measure = process_metrics if kind_of(manifest) == "processes" else mobile_metrics
    row = measure(events, samples, counters, manifest)
    return row | own_row(own, Record(events, samples, counters, manifest))
