"""Compute, on a grid of squares, where deliveries were delayed and where frames were lost.

Model     A delivery belongs to the square of its host. A pair of a frame (except ACKs) and a node in range belongs to
          the square of the node when the frame begins. As in the collision ratio, a frame counts as lost if it
          collided, if the receiver was busy with another frame, or if its preamble was missed.
Units     metres, seconds
Shapes    Only squares that contain data are listed: their column, row, value and count
Source    ours: docs/guide/maps.md
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mobilenet.metrics.network import LOST_TO_OTHERS

from .pack import narrow, pack_column
from .record import Floats, Ints, Record, read_frames

SQUARES_ACROSS_A_RANGE = 10
MOST_ACROSS = 240


def places(run: Record, frames_in: Path) -> dict[str, Any]:
    """Return both grids. `losses` is null if frames were not recorded."""
    grid = Grid(run)
    return {
        "x_m": grid.x_m,
        "y_m": grid.y_m,
        "side_m": grid.side_m,
        "delays": _delays(run, grid),
        "losses": _losses(run, grid, frames_in),
    }


class Grid:
    """Squares that cover the area of all hosts and stations."""

    def __init__(self, run: Record) -> None:
        xs, ys = (
            np.concatenate(pair)
            for pair in ((run.places.x_m, run.stations_m[:, 0]), (run.places.y_m, run.stations_m[:, 1]))
        )
        self.x_m, self.y_m = (float(v.min(initial=0.0 if not len(v) else v[0])) for v in (xs, ys))
        extent = max(float(xs.max(initial=0)) - self.x_m, float(ys.max(initial=0)) - self.y_m, 1.0)
        self.side_m = max(run.range_m / SQUARES_ACROSS_A_RANGE, extent / MOST_ACROSS)

    def means(self, x: Floats, y: Floats, values: Floats) -> dict[str, Any]:
        """Return the mean of the values in each square."""
        known = np.isfinite(x) & np.isfinite(y)
        column, row = (
            np.floor((v[known] - o) / self.side_m).astype(np.int64) for v, o in ((x, self.x_m), (y, self.y_m))
        )
        squares, inverse, counts = np.unique(row * 100_000 + column, return_inverse=True, return_counts=True)
        means = np.bincount(inverse, weights=values[known], minlength=len(squares)) / np.maximum(counts, 1)
        return {
            "column": narrow(squares % 100_000), "row": narrow(squares // 100_000),
            "mean": pack_column(means, "f32"), "count": narrow(counts), "total": int(counts.sum()),
        }  # fmt: skip


def _delays(run: Record, grid: Grid) -> dict[str, Any]:
    kinds, host = run.event.number({"broadcast": 0, "deliver": 1}), run.node.number(run.host_of)
    sent = np.flatnonzero((kinds == 0) & (run.message.codes >= 0))
    sent_ns = np.full(len(run.message.words) + 1, -1, dtype=np.int64)
    sent_ns[run.message.codes[sent]] = run.time_ns[sent]
    rows = np.flatnonzero((kinds == 1) & (host >= 0))
    rows = rows[sent_ns[run.message.codes[rows]] >= 0]
    times = run.time_ns[rows]
    x, y = run.places.at(host[rows], times)
    return grid.means(x, y, (times - sent_ns[run.message.codes[rows]]) / 1e9)


def _losses(run: Record, grid: Grid, frames_in: Path) -> dict[str, Any] | None:
    if (frames := read_frames(frames_in)) is None:
        return None
    receiver, time_ns, outcome = frames.column("receiver"), frames.numbers("start_ns"), frames.column("fate")
    host, station = receiver.number(run.host_of), receiver.number(run.station_of)
    x, y = run.places.at(np.maximum(host, 0), time_ns)
    x, y = np.where(host >= 0, x, np.nan), np.where(host >= 0, y, np.nan)
    at_station = station >= 0
    x[at_station], y[at_station] = run.stations_m[station[at_station]].T
    lost: Ints = outcome.number({**dict.fromkeys(outcome.words, 0), **dict.fromkeys(LOST_TO_OTHERS, 1)})
    return grid.means(x, y, lost.astype(np.float64))
