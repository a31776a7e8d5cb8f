"""Draw the paths of hosts and the positions at which handoffs were confirmed.

Model     The figure shows cells and stations, buildings, the tracks of all hosts, and a mark for each confirmed handoff
Units     metres of the scenario's plane
Source    after Figure 2 of Wilhelm, Arantes, Sens (2020); the layout is ours: docs/guide/pictures.md
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mobilenet.quoting import pluralize

from ..style import COLOURS, QUIET, cut, legend_below, plain, station_colour, thousands

if TYPE_CHECKING:
    from matplotlib.path import Path

    from .record import Record


def field(axes: Any, record: Record) -> str:
    from matplotlib.collections import LineCollection, PatchCollection, PathCollection
    from matplotlib.patches import Circle
    from matplotlib.path import Path

    positions = record.positions[record.positions.node.str.startswith("h")]
    somewhere = np.isfinite(positions.x_m) & np.isfinite(positions.y_m)
    nowhere = int((~somewhere).sum())
    positions = positions[somewhere]
    stations, range_m = record.manifest["station_positions_m"], record.manifest["range_m"]
    cells = [Circle((x, y), range_m) for x, y in stations]
    hues = [station_colour(number) for number in range(len(stations))]
    axes.add_collection(PatchCollection(cells, facecolor=hues, alpha=0.09, edgecolor="none"))
    axes.add_collection(PatchCollection(cells, facecolor="none", edgecolor=hues, alpha=0.8, linewidth=0.8))
    if record.buildings:
        shapes = [Path.make_compound_path(*map(_ring, building)) for building in record.buildings]
        axes.add_collection(PathCollection(shapes, facecolors="#d3cfc4", edgecolors="#6f6b62", linewidths=0.5))
    tracks = [track[["x_m", "y_m"]].to_numpy() for _, track in positions.groupby("node") if track.x_m.nunique() > 1]
    axes.add_collection(LineCollection(tracks, colors=QUIET, linewidths=0.5, alpha=0.6))
    last = positions.groupby("node").last()
    axes.plot(
        last.x_m,
        last.y_m,
        ".",
        color=COLOURS[6],
        markersize=4,
        label=f"{pluralize(len(last), 'host')} at the end",
    )
    ends = _handoffs(record.events)
    if len(ends):
        places = pd.merge_asof(
            ends.sort_values("time_ns"), positions.sort_values("time_ns"), on="time_ns", by="node", direction="nearest"
        )
        axes.plot(
            places.x_m,
            places.y_m,
            "x",
            color="#000000",
            markersize=5,
            label=f"{pluralize(len(ends), 'handoff')}, where confirmed",
        )
    if len(stations) <= 40:
        for number, (x, y) in enumerate(stations):
            name = cut((record.manifest.get("station_names") or {}).get(f"s{number}", ""), 14)
            axes.annotate(f"s{number}" + (f"\n{plain(name)}" if name else ""), (x, y), ha="center", va="center",
                fontsize=8 if not name else 7, color="#222222", fontweight="bold",
                          bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none",
                          "alpha": 0.8})  # fmt: skip
    axes.set(aspect="equal", xlabel="x (m)", ylabel="y (m)")
    axes.autoscale_view()
    if not record.radio.by_distance:  # A circle with the range without obstacles would cover mostly empty space.
        _fit(axes, record, positions, 0.1 * range_m)
    axes.plot([], [], color=QUIET, linewidth=0.8, label="paths of hosts")
    legend_below(axes, 3)
    left_out = f" {thousands(nowhere)} recorded positions are invalid and are left out." if nowhere else ""
    built = f" Grey: {pluralize(len(record.buildings), 'building')}." if record.buildings else ""
    return f"The whole run. Circles: {record.radio.circles}, with a radius of {range_m:.4g} m.{built}{left_out}"


def _fit(axes: Any, record: Record, positions: pd.DataFrame, rim_m: float) -> None:
    """Fit the axes to the stations, hosts and walls."""
    corners = [np.array(building[0]) / 100 for building in record.buildings]
    places = [np.array(record.manifest["station_positions_m"]).reshape(-1, 2), positions[["x_m", "y_m"]].to_numpy()]
    at = np.concatenate([*places, *corners])
    if len(at):
        (west, south), (east, north) = at.min(axis=0) - rim_m, at.max(axis=0) + rim_m
        axes.set(xlim=(west, east), ylim=(south, north))


def _ring(corners_cm: list[tuple[int, int]]) -> Path:
    from matplotlib.path import Path

    return Path(np.array([*corners_cm, corners_cm[0]]) / 100, closed=True)


def _handoffs(events: pd.DataFrame) -> pd.DataFrame:
    """Return the confirmations of sessions that were opened because of a change of cell. A session that was opened
    after a crash is not a handoff.
    """
    starts = events[events.event == "handoff_start"]
    moved = starts[starts.detail.str.contains('"cause":\\s*"cell"', na=False)][["node", "session"]]
    return events[events.event == "handoff_end"].merge(moved, on=["node", "session"])
