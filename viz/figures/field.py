"""Where hosts went, and where they changed cells.

Model     cells and stations, the tracks of all hosts, a mark where a handoff was confirmed
Units     metres of the scenario's plane
Source    after Figure 2 of Wilhelm, Arantes, Sens (2020); the layout is ours: DESIGN.md §19
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from viz.style import COLOURS, QUIET

if TYPE_CHECKING:
    from viz.figures.runs import Record


def field(axes: Any, record: Record) -> str:
    from matplotlib.collections import LineCollection, PatchCollection
    from matplotlib.patches import Circle

    positions = record.positions[record.positions.node.str.startswith("h")]
    stations, range_m = record.manifest["station_positions_m"], record.manifest["range_m"]
    cells = [Circle((x, y), range_m) for x, y in stations]
    axes.add_collection(PatchCollection(cells, facecolor=COLOURS[4], alpha=0.13, edgecolor=COLOURS[0], linewidth=0.8))
    tracks = [track[["x_m", "y_m"]].to_numpy() for _, track in positions.groupby("node") if track.x_m.nunique() > 1]
    axes.add_collection(LineCollection(tracks, colors=QUIET, linewidths=0.5, alpha=0.6))
    last = positions.groupby("node").last()
    axes.plot(last.x_m, last.y_m, ".", color=COLOURS[6], markersize=4, label=f"{len(last)} hosts, where they end")
    ends = _handoffs(record.events)
    if len(ends):
        places = pd.merge_asof(ends.sort_values("time_ns"), positions.sort_values("time_ns"), on="time_ns", by="node", direction="nearest")
        axes.plot(places.x_m, places.y_m, "x", color=COLOURS[3], markersize=4, label=f"{len(ends)} handoffs")
    if len(stations) <= 40:
        for number, (x, y) in enumerate(stations):
            axes.annotate(f"s{number}", (x, y), ha="center", va="center", fontsize=8, color=COLOURS[0], fontweight="bold",
                          bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.8})  # fmt: skip
    axes.set(aspect="equal", xlabel="x (m)", ylabel="y (m)")
    axes.autoscale_view()
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=8, frameon=False)
    return f"Cells of {range_m:g} m."


def _handoffs(events: pd.DataFrame) -> pd.DataFrame:
    """The confirmations of sessions that were opened because the cell changed; those after a crash are no handoffs."""
    starts = events[events.event == "handoff_start"]
    moved = starts[starts.detail.str.contains('"cause":\\s*"cell"', na=False)][["node", "session"]]
    return events[events.event == "handoff_end"].merge(moved, on=["node", "session"])
