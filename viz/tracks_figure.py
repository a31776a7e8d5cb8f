"""Tracks before any simulation: where hosts go, how fast, who is in reach when, and where handoffs are to be expected.

Model     left: cells, tracks, a mark for each expected handoff; right: how much of the time hosts have which speed, and how many
          are there and in reach over time
Units     metres, metres per second, seconds
Source    ours: DESIGN.md §21
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from viz.style import COLOURS, FAULT, QUIET, caption, page, save, thousands

BLUE, GREEN, RED = COLOURS[0], COLOURS[2], COLOURS[3]
MOST_POINTS = 400_000


def draw(inspection: Any, target: Path, name: str = "") -> None:
    """An inspection of world/inspection.py; `name`: that of the file."""
    cells, recorded = inspection.cells, inspection.recorded
    with page(11.5, 5.6, 2, 2, width_ratios=(1.1, 1)) as (figure, axes):
        grid = axes[0, 0].get_gridspec()
        for corner in axes[:, 0]:
            corner.remove()
        _field(figure.add_subplot(grid[:, 0]), inspection)
        _speeds(axes[0, 1], *inspection.speeds)
        _presence(axes[1, 1], inspection)
        text = f"{name}: " if name else ""
        text += f"{_counted(len(recorded.names), 'host')}, {inspection.host_s / 3600:.2g} host hours"
        if cells is not None:
            text += f"; cells with a radius of {cells.range_m:g} m; handoffs by the nearest station with 5 m of hysteresis, looked at every {cells.step_s:g} s"
        caption(figure, text)
        save(figure, target)


def _field(axes: Any, inspection: Any) -> None:
    from matplotlib.collections import LineCollection, PatchCollection
    from matplotlib.patches import Circle

    cells = inspection.cells
    if cells is not None:
        circles = [Circle((x, y), cells.range_m) for x, y in cells.stations_m]
        axes.add_collection(PatchCollection(circles, facecolor="#56B4E9", alpha=0.12, edgecolor="none"))
        axes.add_collection(PatchCollection(circles, facecolor="none", edgecolor=BLUE, linewidth=0.6, alpha=0.6))
    every = max(1, len(inspection.recorded.t_s) // MOST_POINTS)
    tracks = [np.column_stack([x, y])[::every] for _, _, x, y in inspection.recorded.tracks()]
    alpha = float(np.clip(6 / max(1, len(tracks)), 0.15, 0.7))
    axes.add_collection(LineCollection(tracks, colors="#333333", linewidths=0.8, alpha=alpha, label=_counted(len(tracks), "track")))
    if cells is not None:
        x, y = cells.stations_m.T
        axes.plot(x, y, "s", color=BLUE, markersize=6 if len(x) < 60 else 3, markeredgecolor="white", label=_counted(len(x), "station"))
        if len(cells.handoffs_m):
            many = len(cells.handoffs_m)
            axes.plot(*cells.handoffs_m.T, "x", color=RED, markersize=5 if many < 300 else 3, alpha=1 if many < 300 else 0.6, label=f"{_counted(many, 'handoff')} expected")
    axes.autoscale_view()
    west, south, east, north = inspection.extent_m  # what matters is where the hosts are
    room = 0.08 * max(east - west, north - south, 10) + (cells.range_m * 0.5 if cells is not None else 0)
    axes.set(aspect="equal", xlabel="x (m)", ylabel="y (m)", title="Where")
    axes.set_xlim(west - room, east + room)
    axes.set_ylim(south - room, north + room)
    legend = axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0), borderaxespad=4.6, ncols=3, fontsize=9, frameon=False)  # below the axis' name, however flat
    for handle in legend.legend_handles:
        handle.set_alpha(1)


def _counted(number: int, what: str) -> str:
    return f"{thousands(number)} {what}{'' if number == 1 else 's'}"


def _speeds(axes: Any, speeds: Any, lasted: Any) -> None:
    top = float(np.percentile(speeds, 99.5)) if len(speeds) else 1.0
    top = max(1.0, np.ceil(top * 1.1))
    bins = np.linspace(0, top, 41)
    total = max(float(lasted.sum()), 1e-9)
    axes.hist(np.minimum(speeds, top), bins=bins, weights=100 * lasted / total, color=GREEN, edgecolor="white", linewidth=0.4)
    axes.set(xlabel="speed (m/s)" if speeds.max(initial=0.0) <= top else f"speed (m/s; what is faster than {top:g} is in the last bar)", ylabel="% of the time", title="How fast", xlim=(0, top))


def _presence(axes: Any, inspection: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    cells = inspection.cells
    if cells is None:
        moments = np.unique(np.r_[inspection.recorded.t_s[[0, -1]], np.linspace(inspection.recorded.t_s.min(), inspection.recorded.t_s.max(), 400)])
        begins, ends = (np.sort([t[i] for _, t, _, _ in inspection.recorded.tracks()]) for i in (0, -1))
        present = np.searchsorted(begins, moments, side="right") - np.searchsorted(ends, moments, side="left")
        axes.fill_between(moments, present, step="post", color="#56B4E9", linewidth=0, label="there")
    else:
        moments, present = _thinned(cells.moments_s, cells.present)
        _, covered = _thinned(cells.moments_s, cells.covered)
        axes.fill_between(moments, covered, step="post", color="#56B4E9", linewidth=0, label=f"in reach of a station ({100 * cells.covered_share:.1f} % of the time)")
        axes.fill_between(moments, covered, present, step="post", color=FAULT, linewidth=0, label="out of reach")
    axes.set(xlabel="time (s)", ylabel="hosts", title="When", ylim=(0, 1.3 * max(1, float(np.max(present)))))
    if moments[-1] > moments[0]:
        axes.set_xlim(moments[0], moments[-1])
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="upper left", fontsize=8, frameon=False, ncols=2, labelcolor=QUIET)


def _thinned(moments: Any, values: Any, most: int = 2000) -> tuple[Any, Any]:
    every = max(1, len(moments) // most)
    return moments[::every], values[::every]
