"""What tracks are like, and what cells would see of them, before anything is simulated.

Model     hosts are looked at every step_s (1 s, more where that would be more than MOST_LOOKS), straight between two samples, not
          within gaps. A handoff is expected where a host's cell by the rule of attachment.py is not the last one it had, also
          after a time out of reach. What joins, leaves and ticks cost is not in it, so a run has a few less
Units     seconds, metres
Errors    ScenarioError, see formats
Source    ours: DESIGN.md §21
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mobilenet.formats.projection import Floats
from mobilenet.formats.recorded import Recorded
from mobilenet.world.attachment import Attachment, AttachmentParameters
from mobilenet.world.tracks import steps

MOST_LOOKS = 4_000_000
JUMP_MPS = 70.0  # 250 km/h
LONG_GAP_S = 10.0


class Finding(NamedTuple):
    line: int
    host: str
    value: float


@dataclass
class Cells:
    """What stations would see."""

    stations_m: NDArray[np.float64]
    range_m: float
    moments_s: Floats
    present: NDArray[np.int64]  # hosts at each of these moments
    covered: NDArray[np.int64]  # of them in reach of a station
    handoffs_m: NDArray[np.float64]  # (n, 2): where they are expected
    step_s: float
    busiest: int  # most hosts in one cell at once
    unused: int  # stations that nobody ever is nearest to

    @property
    def covered_share(self) -> float:
        return float(self.covered.sum() / max(1, self.present.sum()))

    @property
    def uncovered_host_s(self) -> float:
        return float((self.present - self.covered).sum() * self.step_s)


@dataclass
class Inspection:
    recorded: Recorded
    host_s: float
    interval_s: tuple[float, float, float]  # 5, 50, 95 %
    speed_mps: tuple[float, float, float, float]  # 5, 50, 95 %, most; each second of a track counts the same
    speeds: tuple[Floats, Floats]  # of all steps, and how long each lasted
    gaps: list[Finding]
    jumps: list[Finding]
    cells: Cells | None = None
    extent_m: tuple[float, float, float, float] = field(init=False)  # west, south, east, north

    def __post_init__(self) -> None:
        x, y = self.recorded.x, self.recorded.y
        self.extent_m = (float(x.min()), float(y.min()), float(x.max()), float(y.max()))

    @property
    def handoffs_per_host_hour(self) -> float | None:
        if self.cells is None:
            return None
        looked_s = float(self.cells.present.sum() * self.cells.step_s)
        return 3600 * len(self.cells.handoffs_m) / looked_s if looked_s else 0.0


def inspect(recorded: Recorded, stations_m: NDArray[np.float64] | None, range_m: float, max_gap_s: float = LONG_GAP_S) -> Inspection:
    """`recorded` is on the plane."""
    gap_s, speed_mps = steps(recorded)
    known = np.isfinite(gap_s)
    long = np.zeros(len(gap_s), dtype=bool) if recorded.waypoints else known & (np.nan_to_num(gap_s) > max_gap_s)
    steady = known & ~long
    speeds, lasted = speed_mps[steady], gap_s[steady]
    spread = _weighted(speeds, lasted, (0.05, 0.5, 0.95))
    return Inspection(
        recorded, float(lasted.sum()), _three(gap_s[known]), (*spread, float(speeds.max(initial=0.0))), (speeds, lasted),  # type: ignore[arg-type]
        _findings(recorded, long, gap_s), _findings(recorded, np.nan_to_num(speed_mps) > JUMP_MPS, speed_mps),
        None if stations_m is None else _cells(recorded, long, stations_m, range_m, float(lasted.sum())),
    )  # fmt: skip


def _findings(recorded: Recorded, wrong: Any, values: Floats) -> list[Finding]:
    """In the order of the file."""
    found = [Finding(int(recorded.line[i]), recorded.names[recorded.host[i]], float(values[i])) for i in np.flatnonzero(wrong)]
    return sorted(found)


def _three(values: Floats) -> tuple[float, float, float]:
    if not len(values):
        return (0.0, 0.0, 0.0)
    a, b, c = (float(v) for v in np.percentile(values, (5, 50, 95)))
    return a, b, c


def _weighted(values: Floats, weights: Floats, shares: tuple[float, ...]) -> tuple[float, ...]:
    if not len(values):
        return tuple(0.0 for _ in shares)
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return tuple(float(values[order][min(len(order) - 1, int(np.searchsorted(total, share * total[-1])))]) for share in shares)


def _cells(recorded: Recorded, long: Any, stations_m: NDArray[np.float64], range_m: float, host_s: float) -> Cells:
    step_s = max(1.0, float(np.ceil(host_s / MOST_LOOKS)))
    tick, host, xy = _looks(recorded, long, step_s)
    rule = AttachmentParameters()
    attachment = Attachment(stations_m, range_m, rule.hysteresis_m)
    cell, last = (np.full(len(recorded.names), -1, dtype=np.int64) for _ in range(2))
    moments, begins = np.unique(tick, return_index=True)
    covered = np.zeros(len(moments), dtype=np.int64)
    handoffs, busiest, used = [], 0, np.zeros(len(stations_m), dtype=bool)
    for k, (a, b) in enumerate(zip(begins, [*begins[1:], len(tick)], strict=True)):
        who = host[a:b]
        found = attachment.update(xy[a:b], cell[who])
        inside = found >= 0
        changed = inside & (last[who] >= 0) & (found != last[who])
        if changed.any():
            handoffs.append(xy[a:b][changed])
        cell[who] = found
        last[who[inside]] = found[inside]
        covered[k] = inside.sum()
        load = np.bincount(found[inside], minlength=len(stations_m))
        busiest = max(busiest, int(load.max(initial=0)))
        used |= load > 0
    places = np.concatenate(handoffs) if handoffs else np.zeros((0, 2))
    present = np.diff([*begins, len(tick)])
    return Cells(stations_m, range_m, moments * step_s, present, covered, places, step_s, busiest, int((~used).sum()))


def _looks(recorded: Recorded, long: Any, step_s: float) -> tuple[Any, Any, Any]:
    """(tick, host, place) of all looks, sorted by tick."""
    ticks, hosts, places = [], [], []
    bounds = recorded.first.tolist()
    for number, (a, b) in enumerate(pairwise(bounds)):
        t_s = recorded.t_s[a:b]
        own = np.arange(int(np.ceil(t_s[0] / step_s)), int(np.floor(t_s[-1] / step_s)) + 1)
        after = np.clip(np.searchsorted(t_s, own * step_s), 0, b - a - 1)
        own = own[~(long[a:b][after] & (t_s[after] > own * step_s))]
        ticks.append(own)
        hosts.append(np.full(len(own), number, dtype=np.int64))
        places.append(np.column_stack([np.interp(own * step_s, t_s, v[a:b]) for v in (recorded.x, recorded.y)]))
    tick, host, xy = np.concatenate(ticks), np.concatenate(hosts), np.concatenate(places)
    order = np.argsort(tick, kind="stable")
    return tick[order], host[order], xy[order]
