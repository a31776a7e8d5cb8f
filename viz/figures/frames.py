"""Draw the reception of frames by distance, for runs that recorded their frames.

Model     The figure counts pairs of a frame and another node that exists when the frame starts, by their distance at
          that time. Nodes are assumed to move in a straight line between recorded positions. Both radio models are
          therefore measured in the same way. Frames that reach no node are not recorded, and are missing here. ACKs of
          the MAC are ignored.
Units     metres, shares
Source    ours: docs/guide/pictures.md
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mobilenet.record.table import Table
from mobilenet.scenario.radio_words import Radio, radio_keys

from ..map.record import scenario_of
from ..style import COLOURS, LINES, in_words, legend_below, thousands

STEP_M = 10.0
FEWEST = 50  # A point is drawn only for at least this many pairs.
FARTHEST_M = 100_000.0  # larger distances are treated as this distance
PAIRS = 4_000_000
LEAST_SHARE = 0.005  # the axis ends soon after the last distance at which more than this share of pairs is received
SENDERS = (("s", "stations"), ("h", "hosts"))

Floats = NDArray[np.float64]


def radio_of(directory: Path) -> type[Radio]:
    """Return the radio model of a run."""
    wireless = scenario_of(directory).get("wireless")
    name = wireless.get("model") if isinstance(wireless, dict) else None
    return radio_keys(name)


def reception(axes: Any, frames: Table, positions: pd.DataFrame, stations_m: list[list[float]]) -> str:
    pairs, received, every = _by_distance(frames, positions, stations_m)
    if not any(row.sum() for row in received.values()):
        return in_words(axes, "Nothing was received between nodes whose positions are known.")
    farthest = 1 + max(
        int(np.flatnonzero(row > LEAST_SHARE * pairs[kind]).max(initial=0)) for kind, row in received.items()
    )  # fmt: skip
    last = min(farthest + max(2, farthest // 8), len(next(iter(pairs.values()))))
    for number, (kind, words) in enumerate(SENDERS):
        known = np.flatnonzero(pairs[kind][:last] >= FEWEST)
        share = received[kind][known] / pairs[kind][known]
        axes.plot(
            (known + 0.5) * STEP_M, share, LINES[number], color=COLOURS[number], label=f"from {words}", linewidth=1.5
        )
    axes.set(xlabel="distance when the frame begins (m)", ylabel="share of pairs received", ylim=(0, 1.02))
    axes.set_xlim(0, last * STEP_M)
    legend_below(axes)
    total = sum(int(row.sum()) for row in pairs.values())
    sample = f" one frame in {every} is counted;" if every > 1 else ""
    return (
        f"A pair is a frame and any other node present at the time, at any distance: {thousands(total)} pairs in"
        f" the whole run;{sample} frames that no node could hear were not recorded. One point every {STEP_M:g} m, where"
        f" there are {FEWEST} pairs or more."
    )


def _by_distance(
    frames: Table, positions: pd.DataFrame, stations_m: list[list[float]]
) -> tuple[dict[str, NDArray[np.int64]], dict[str, NDArray[np.int64]], int]:
    """Return the number of pairs, and of received pairs, in each interval of distance, by kind of sender, and a number
    n: every n-th frame was evaluated.
    """
    nodes = {f"s{i}": i for i in range(len(stations_m))}
    for name in positions.node.unique():
        nodes.setdefault(str(name), len(nodes))
    sender, receiver = (frames.column(name).number(nodes) for name in ("sender", "receiver"))
    start_ns = frames.numbers("start_ns")
    is_first = np.ones(len(sender), dtype=bool)  # the rows of a frame are consecutive
    is_first[1:] = (np.diff(start_ns) != 0) | (np.diff(sender) != 0)
    number = np.cumsum(is_first) - 1
    every = max(1, -(-int(number[-1] + 1) * len(nodes) // PAIRS))
    firsts = np.flatnonzero(is_first)[::every]
    x, y = _places(start_ns[firsts], positions, stations_m, nodes)
    at = np.arange(len(firsts))
    from_x, from_y = x[sender[firsts], at], y[sender[firsts], at]
    is_known, is_station = sender[firsts] >= 0, sender[firsts] < len(stations_m)
    kinds = {"s": is_known & is_station, "h": is_known & ~is_station}
    steps = 1 + int(_longest(x, y) / STEP_M)
    pairs = {kind: np.zeros(steps, dtype=np.int64) for kind in kinds}
    for node in range(len(nodes)):
        distance = np.where(sender[firsts] == node, np.nan, np.hypot(x[node] - from_x, y[node] - from_y))
        for kind, own in kinds.items():
            pairs[kind] += _counts(distance[own], steps)
    rows = np.flatnonzero(frames.column("fate").among(["received"]) & (receiver >= 0) & (number % every == 0))
    column = number[rows] // every
    distance = np.hypot(
        x[receiver[rows], column] - from_x[column], y[receiver[rows], column] - from_y[column]
    )  # fmt: skip
    received = {kind: _counts(distance[own[column]], steps) for kind, own in kinds.items()}
    return pairs, received, every


def _places(
    times_ns: NDArray[np.int64], positions: pd.DataFrame, stations_m: list[list[float]], nodes: dict[str, int]
) -> tuple[Floats, Floats]:
    """Return the position of each node at each of these times, or NaN while the node does not exist."""
    x, y = (np.full((len(nodes), len(times_ns)), np.nan) for _ in range(2))
    for i, place in enumerate(stations_m):
        x[i], y[i] = place
    moments = np.unique(positions.time_ns.to_numpy())
    usual_ns = float(np.median(np.diff(moments))) if len(moments) > 1 else 0.0
    for name, own in positions.groupby("node", sort=False):
        i = nodes[str(name)]
        if i < len(stations_m):
            continue
        own = own.sort_values("time_ns")
        known = own.time_ns.to_numpy()
        after = np.searchsorted(known, times_ns, side="right")
        before_ns, after_ns = known[np.maximum(after - 1, 0)], known[np.minimum(after, len(known) - 1)]
        stays = known[-1] == moments[-1]  # nodes do not move after the last moment
        is_there = (after > 0) & (stays | (times_ns <= known[-1] + usual_ns)) & (after_ns - before_ns <= 3.5 * usual_ns)
        for table, column in ((x, own.x_m), (y, own.y_m)):
            table[i] = np.where(is_there, np.interp(times_ns, known, column.to_numpy()), np.nan)
    return x, y


def _longest(x: Floats, y: Floats) -> float:
    """Return the largest distance between two nodes, limited to FARTHEST_M."""
    known = np.isfinite(x) & np.isfinite(y)
    return min(float(np.hypot(np.ptp(x[known]), np.ptp(y[known]))), FARTHEST_M) if known.any() else 0.0


def _counts(distance: Floats, steps: int) -> NDArray[np.int64]:
    known = distance[np.isfinite(distance)]
    return np.bincount(np.minimum((known / STEP_M).astype(np.int64), steps - 1), minlength=steps)
