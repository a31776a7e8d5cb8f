"""Draw tracks before a simulation: positions, speeds, times within reach, and expected handoffs.

Model     The left side shows cells, tracks, and expected handoffs. The right side shows the share of time at each
          speed, and the numbers of hosts that exist and that are in reach over time. Lines and areas are interrupted
          if a host has no samples for a long time, so the area under the curve is the host time in the table of the
          inspection. A single sample is a dot.
Units     metres, metres per second, seconds
Source    ours: docs/guide/tracks.md
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mobilenet.quoting import pluralize

from .style import COLOURS, FAULT, QUIET, caption, page, save

BLUE, GREEN, RED = COLOURS[0], COLOURS[2], COLOURS[3]
MOST_POINTS = 400_000
MOST_DOTS = 20_000
MOST_STEPS = 2000


def draw(inspection: Any, target: Path, name: str = "") -> None:
    """Draw an inspection made by world/inspection.py. `name` is the name of the file with the tracks."""
    cells, recorded = inspection.cells, inspection.recorded
    with page(11.5, 5.6, 2, 2, width_ratios=(1.1, 1)) as (figure, axes):
        grid = axes[0, 0].get_gridspec()
        for corner in axes[:, 0]:
            corner.remove()
        _field(figure.add_subplot(grid[:, 0]), inspection)
        _speeds(axes[0, 1], *inspection.speeds)
        _presence(axes[1, 1], inspection)
        text = f"{name}: " if name else ""
        text += f"{pluralize(len(recorded.names), 'host')}, {inspection.host_s / 3600:.2g} host hours"
        if cells is not None:
            text += (
                f"; cells with a radius of {cells.range_m:g} m; handoffs by {cells.rule}, checked every"
                f" {cells.step_s:g} s"
            )
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
    recorded = inspection.recorded
    alone = inspection.begins == inspection.ends
    alpha = float(np.clip(6 / max(1, len(recorded.names)), 0.15, 0.7))
    if not alone.all():
        label = pluralize(len(np.unique(recorded.host[inspection.begins[~alone]])), "track")
        axes.add_collection(
            LineCollection(_lines(inspection), colors="#333333", linewidths=0.8, alpha=alpha, label=label)
        )
    if alone.any():
        _dots(
            axes,
            recorded.x[inspection.begins[alone]],
            recorded.y[inspection.begins[alone]],
            f"{pluralize(int(alone.sum()), 'isolated sample')}",
        )
    if cells is not None:
        x, y = cells.stations_m.T
        axes.plot(
            x,
            y,
            "s",
            color=BLUE,
            markersize=6 if len(x) < 60 else 3,
            markeredgecolor="white",
            label=pluralize(len(x), "station"),
        )
        if len(cells.handoffs_m):
            many = len(cells.handoffs_m)
            axes.plot(
                *cells.handoffs_m.T,
                "x",
                color=RED,
                markersize=5 if many < 300 else 3,
                alpha=1 if many < 300 else 0.6,
                label=f"{pluralize(many, 'handoff')} expected",
            )
    axes.autoscale_view()
    west, south, east, north = inspection.extent_m  # the area in which the hosts are
    room = 0.08 * max(east - west, north - south, 10) + (cells.range_m * 0.5 if cells is not None else 0)
    axes.set(aspect="equal", xlabel="x (m)", ylabel="y (m)", title="Where")
    axes.set_xlim(west - room, east + room)
    axes.set_ylim(south - room, north + room)
    # below the axis label, even in a low figure
    legend = axes.legend(
        loc="upper center", bbox_to_anchor=(0.5, 0), borderaxespad=4.6, ncols=3, fontsize=9, frameon=False
    )
    for handle in legend.legend_handles:
        handle.set_alpha(1)


def _lines(inspection: Any) -> list[Any]:
    """Return the spans of all tracks, with fewer points if there are very many samples."""
    recorded = inspection.recorded
    places = np.column_stack([recorded.x, recorded.y])
    every = max(1, len(places) // MOST_POINTS)
    return [
        np.append(places[a:b:every], places[b : b + 1], axis=0)
        for a, b in zip(inspection.begins, inspection.ends, strict=True)
        if b > a
    ]


def _dots(axes: Any, x: Any, y: Any, label: str) -> None:
    every = max(1, len(x) // MOST_DOTS)
    axes.plot(
        x[::every],
        y[::every],
        "o",
        color="#333333",
        markersize=4 if len(x) < 300 else 2,
        markeredgewidth=0,
        clip_on=False,
        zorder=3,
        label=label,
    )


def _speeds(axes: Any, speeds: Any, lasted: Any) -> None:
    top = float(np.percentile(speeds, 99.5)) if len(speeds) else 1.0
    top = max(1.0, np.ceil(top * 1.1))
    bins = np.linspace(0, top, 41)
    total = max(float(lasted.sum()), 1e-9)
    axes.hist(
        np.minimum(speeds, top), bins=bins, weights=100 * lasted / total, color=GREEN, edgecolor="white", linewidth=0.4
    )
    axes.set(
        xlabel=(
            "speed (m/s)"
            if speeds.max(initial=0.0) <= top
            else f"speed (m/s; speeds above {top:g} are in the last bar)"
        ),
        ylabel="% of the time",
        title="How fast",
        xlim=(0, top),
    )
    if not len(speeds):
        axes.set(ylim=(0, 100))
        axes.text(0.5, 0.5, "no host has two consecutive samples", transform=axes.transAxes, ha="center", color=QUIET)


def _presence(axes: Any, inspection: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    recorded, cells = inspection.recorded, inspection.cells
    begins_s, ends_s = float(recorded.t_s.min()), float(recorded.t_s.max())
    # the times at which the number of hosts changes
    turns_s = np.unique(recorded.t_s[np.r_[inspection.begins, inspection.ends]])
    edges_s = (
        turns_s
        if cells is None and 2 <= len(turns_s) <= MOST_STEPS
        else _edges(begins_s, ends_s, 0.0 if cells is None else cells.step_s)
    )
    present = inspection.present(edges_s)
    if cells is None:
        axes.stairs(present, edges_s, fill=True, color="#56B4E9", linewidth=0, label="there")
    else:
        covered = present * _share_covered(cells, edges_s)
        axes.stairs(
            covered,
            edges_s,
            fill=True,
            color="#56B4E9",
            linewidth=0,
            label="within reach of a station"
            + (f" ({100 * cells.covered_share:.1f} % of the time)" if inspection.host_s else ""),
        )
        axes.stairs(present, edges_s, baseline=covered, fill=True, color=FAULT, linewidth=0, label="out of reach")
    alone = np.unique(recorded.t_s[inspection.begins[inspection.begins == inspection.ends]])
    if len(alone):
        _dots(axes, alone, np.zeros(len(alone)), "for one sample only")
    axes.set(
        xlabel="time (s)",
        ylabel="hosts",
        title="When",
        ylim=(0, 1.3 * max(1, float(present.max()))),
        xlim=(begins_s, edges_s[-1]),
    )
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="upper left", fontsize=8, frameon=False, ncols=2, labelcolor=QUIET)


def _edges(begins_s: float, ends_s: float, step_s: float) -> Any:
    """Return the edges of at most MOST_STEPS intervals in which hosts are counted. With cells, the inner edges are at
    multiples of `step_s`.
    """
    if not step_s or ends_s - begins_s < step_s:
        return np.unique(np.linspace(begins_s, ends_s if ends_s > begins_s else begins_s + 1, MOST_STEPS + 1))
    wide_s = step_s * np.ceil((ends_s - begins_s) / step_s / MOST_STEPS)
    inner = np.arange(np.floor(begins_s / step_s) + 1, np.ceil(ends_s / step_s), wide_s / step_s) * step_s
    return np.r_[begins_s, inner, ends_s]


def _share_covered(cells: Any, edges_s: Any) -> Any:
    """Return the share of covered samples in each interval. An empty interval uses nearby samples."""
    steps = len(edges_s) - 1
    place = np.clip(np.searchsorted(edges_s, cells.moments_s, side="right") - 1, 0, steps - 1)
    seen, covered = (
        np.bincount(place, weights=values, minlength=steps) for values in (cells.looked_s, cells.covered_s)
    )
    known = np.flatnonzero(seen)
    if not len(known):
        return np.zeros(steps)
    return np.interp(np.arange(steps), known, covered[known] / seen[known])
