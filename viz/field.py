"""A run on one page: where hosts walked and changed cells, and what the stations had to keep.

    python -m viz.field RUN [-o FILE]

Model     left: cells and stations, the tracks of all hosts, a mark where a handoff was confirmed;
          right: the SBuffer of each station over time, as steps, with crashes as bands
Units     metres, seconds, messages
Errors    one line for a directory that is no run
Source    after Figures 2, 7 and 8 of Wilhelm, Arantes, Sens (2020); the layout is ours
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mobilenet.rundir import RunError, read_manifest
from viz.style import COLOURS, LINES

SECOND = 1_000_000_000


def draw(directory: Path, target: Path) -> None:
    """Write the picture of a run as SVG, PNG or PDF, by the target's suffix."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    manifest = read_manifest(directory)
    stations, range_m = manifest["station_positions_m"], manifest["range_m"]
    events, samples, positions = (pd.read_parquet(directory / f"{name}.parquet") for name in ("events", "samples", "positions"))
    positions = positions[positions.node.str.startswith("h")]
    figure, (field, buffers) = pyplot.subplots(1, 2, figsize=(11, 4.6), width_ratios=(1, 1.25), layout="constrained")
    _field(field, stations, range_m, events, positions)
    _buffers(buffers, len(stations), events, samples, manifest["duration_s"])
    figure.suptitle(
        f"{directory.resolve().name}: seed {manifest['seed']}, {manifest['duration_s']:g} s, n = 1 run", fontsize=10, color="#444444"
    )
    figure.savefig(target, dpi=110)
    pyplot.close(figure)


def _field(axes: Any, stations: list[list[float]], range_m: float, events: pd.DataFrame, positions: pd.DataFrame) -> None:
    from matplotlib.collections import LineCollection, PatchCollection
    from matplotlib.patches import Circle

    cells = [Circle((x, y), range_m) for x, y in stations]
    axes.add_collection(PatchCollection(cells, facecolor="#56B4E9", alpha=0.13, edgecolor="#0072B2", linewidth=0.8))
    tracks = []
    for _, track in positions.groupby("node"):
        if track.x_m.nunique() > 1:
            tracks.append(track[["x_m", "y_m"]].to_numpy())
    last = positions.groupby("node").last()
    axes.add_collection(LineCollection(tracks, colors="#7A7A7A", linewidths=0.5, alpha=0.6))
    axes.plot(last.x_m, last.y_m, ".", color="#000000", markersize=4, label=f"{len(last)} hosts, where they end")
    ends = _handoffs(events)
    if len(ends):
        marks = _places(ends, positions)
        axes.plot(marks[:, 0], marks[:, 1], "x", color="#D55E00", markersize=4, label=f"{len(ends)} handoffs")
    for i, (x, y) in enumerate(stations):
        axes.annotate(f"s{i}", (x, y), ha="center", va="center", fontsize=8, color="#0072B2", fontweight="bold",
                      bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.8})  # fmt: skip
    axes.set(aspect="equal", xlabel="x (m)", ylabel="y (m)")
    axes.autoscale_view()
    _legend_below(axes, 2)


def _handoffs(events: pd.DataFrame) -> pd.DataFrame:
    """The confirmations of sessions that were opened because the cell changed; those after a crash are no handoffs."""
    starts = events[events.event == "handoff_start"]
    moved = starts[starts.detail.str.contains('"cause":\\s*"cell"', na=False)][["node", "session"]]
    return events[events.event == "handoff_end"].merge(moved, on=["node", "session"])


def _places(events: pd.DataFrame, positions: pd.DataFrame) -> np.ndarray:
    """Where each event's node was: its last known position."""
    merged = pd.merge_asof(
        events.sort_values("time_ns"), positions.sort_values("time_ns"), on="time_ns", by="node", direction="nearest"
    )
    return merged[["x_m", "y_m"]].to_numpy()


def _buffers(axes: Any, stations: int, events: pd.DataFrame, samples: pd.DataFrame, duration_s: float) -> None:
    sizes = samples[samples.quantity == "sbuffer"]
    seconds = np.arange(0, duration_s + 1e-9, max(0.5, duration_s / 400))
    for i in range(stations):
        own = sizes[sizes.node == f"s{i}"]
        index = np.searchsorted(own.time_ns, seconds * SECOND, side="right") - 1
        values = np.where(index >= 0, own.value.to_numpy()[index], 0.0) if len(own) else np.zeros_like(seconds)
        style = LINES[i // len(COLOURS) % len(LINES)]
        axes.plot(seconds, values, style, drawstyle="steps-post", linewidth=0.8, color=COLOURS[i % len(COLOURS)], label=f"s{i}")
    labelled = False
    downs = events[events.event.isin(["crash", "recover"])]
    for _, own in downs.groupby("node"):
        begins, ends = own[own.event == "crash"].time_ns, own[own.event == "recover"].time_ns
        for begin, end in zip(begins, ends, strict=False):
            label = None if labelled else "a host is down"
            axes.axvspan(begin / SECOND, end / SECOND, color="#E69F00", alpha=0.25, linewidth=0, label=label)
            labelled = True
    axes.set(xlabel="simulated time (s)", ylabel="messages in SBuffer", xlim=(0, duration_s))
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    _legend_below(axes, 8 if stations + labelled <= 8 else -(-(stations + labelled) // 2))


def _legend_below(axes: Any, columns: int) -> None:
    """Under the axis label, however flat the axes are."""
    from matplotlib.transforms import ScaledTranslation

    below = axes.transAxes + ScaledTranslation(0, -0.5, axes.figure.dpi_scale_trans)  # inches
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=below, ncols=columns, fontsize=8, frameon=False
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m viz.field", description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, metavar="RUN")
    parser.add_argument("-o", "--out", type=Path, default=None, metavar="FILE", help="by default RUN/field.svg")
    options = parser.parse_args()
    target = options.out or options.run / "field.svg"
    try:
        draw(options.run, target)
    except (RunError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"Next: open {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
