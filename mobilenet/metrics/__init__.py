"""Compute the metrics of a run, from its record only.

Model     one pass over the events (fold.py) and the samples yields one flat row. A registry describes each metric in
          words (registry.py). A custom metric is a function in a plug-in's file (custom.py)
Imports   The metrics depend on the record, but not on scenarios, the simulator or protocols
"""

from __future__ import annotations

from typing import Any

from mobilenet.metrics.custom import OwnMetric, Record, metric
from mobilenet.metrics.declaration import Row
from mobilenet.metrics.mobile import mobile_metrics
from mobilenet.metrics.processes import process_metrics
from mobilenet.record.kinds import PROCESSES, run_kind
from mobilenet.record.packets.packet_order import Captures
from mobilenet.record.table import Columns

__all__ = ["OwnMetric", "Record", "as_measured", "metric", "metrics"]


def metrics(
    events: Columns,
    samples: Columns,
    counters: dict[str, Any],
    manifest: dict[str, Any],
    captures: Captures | None = None,
) -> Row:
    """Return one row of metrics from the columns of a run. `manifest` contains the kind and the window of the run.
    `captures`: the packets of real software.
    """
    if run_kind(manifest) is PROCESSES:
        return process_metrics(events, samples, counters, as_measured(manifest))
    return mobile_metrics(events, samples, counters, as_measured(manifest), captures)


def as_measured(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the manifest with the window that was actually measured. It ends early if an error ended the run."""
    if "ended_by_error" not in manifest:
        return manifest
    end_s = min(manifest["duration_s"], manifest["simulated_s"])
    return {**manifest, "duration_s": end_s, "warmup_s": min(manifest["warmup_s"], end_s)}
