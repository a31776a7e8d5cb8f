"""Describe imported tracks, and how cells would serve their hosts, before a simulation.

Model     A host is present between two samples, unless there is a gap. Each uninterrupted presence is a span, and
          host time is the total length of all spans. For cell statistics, the position of each host is interpolated
          every step_s (1 s, or more if this would exceed MOST_LOOKS evaluations). A handoff is expected if the cell
          of a host differs from its previous cell, even after a time out of range. The cell is determined by the rule
          in attachment.py, or by the attachment rule of the given scenario. Joins, leaves and ticks are not modelled,
          so a run has slightly fewer handoffs. Position errors are not modelled either.
Units     Times are in seconds, and distances in metres.
Errors    ScenarioError, see tracks/.
Source    ours: docs/guide/tracks.md
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mobilenet.world.attachment import Attachment, AttachmentParameters
from mobilenet.world.track_mobility import Tracks, steps
from mobilenet.world.tracks.projection import Floats
from mobilenet.world.tracks.samples import RecordedSamples
from mobilenet.world.tracks.source import short

MOST_LOOKS = 4_000_000
JUMP_MPS = 70.0  # 250 km/h
LONG_GAP_S = 10.0
LONGEST_GAP_S = 1e6  # the upper limit of the parameter max_gap_s
# Hosts that are present for at most this time do not take part in a run.
LEAST_S = float(Tracks.model_fields["leave_before_end_s"].default)


class Finding(NamedTuple):
    line: int
    host: str
    value: float


@dataclass
class Cells:
    """Statistics of cells that would serve the hosts of the tracks."""

    stations_m: NDArray[np.float64]
    range_m: float
    moments_s: Floats
    # The number of host seconds that each sample represents: until the next sample, or until the end of the span.
    looked_s: Floats
    covered_s: Floats  # the part of looked_s within range of a station
    handoffs_m: NDArray[np.float64]  # (n, 2): positions of expected handoffs
    step_s: float
    busiest: int  # maximum number of hosts in one cell at once
    unused: int  # number of stations that never serve a host
    rule: str  # description of how the serving station is chosen

    @property
    def covered_share(self) -> float:
        return float(self.covered_s.sum() / max(1e-9, self.looked_s.sum()))

    @property
    def uncovered_host_s(self) -> float:
        return float((self.looked_s - self.covered_s).sum())


@dataclass
class Inspection:
    recorded: RecordedSamples
    host_s: float
    interval_s: tuple[float, float, float]  # 5, 50 and 95 % quantiles
    speed_mps: tuple[float, float, float, float]  # 5, 50 and 95 % quantiles and the maximum, weighted by time
    speeds: tuple[Floats, Floats]  # speed and duration of each step
    gaps: list[Finding]
    jumps: list[Finding]
    begins: NDArray[np.int64]  # indices of the first samples of spans; a span ends before the next one begins
    cells: Cells | None = None
    extent_m: tuple[float, float, float, float] = field(init=False)  # west, south, east, north

    def __post_init__(self) -> None:
        x, y = self.recorded.x, self.recorded.y
        self.extent_m = (float(x.min()), float(y.min()), float(x.max()), float(y.max()))

    @property
    def ends(self) -> NDArray[np.int64]:
        """The index of the last sample in each span."""
        return np.append(self.begins[1:], len(self.recorded.t_s)) - 1

    def present(self, edges_s: Floats) -> Floats:
        """Return the average number of hosts in each interval between consecutive times: host seconds divided by
        seconds.
        """
        t_s = self.recorded.t_s - edges_s[0]  # smaller numbers make the sums more precise
        gone_s = _since(t_s[self.begins], edges_s - edges_s[0]) - _since(t_s[self.ends], edges_s - edges_s[0])
        return np.maximum(0.0, np.round(np.diff(gone_s) / np.diff(edges_s), 9))

    def longest_s(self) -> float:
        """Return the longest time between the first and the last sample of a host, including gaps."""
        first = self.recorded.first
        return float((self.recorded.t_s[first[1:] - 1] - self.recorded.t_s[first[:-1]]).max())

    def window_s(self, limit_s: float) -> tuple[float, float] | None:
        """Return the start of the earliest run of at most limit_s in which a host is present for more than LEAST_S, and
        the end of the tracks. Return None if there is no such run.
        """
        t_s, first = self.recorded.t_s, self.recorded.first
        begins_s, ends_s = t_s[first[:-1]], t_s[first[1:] - 1]
        since_s, until_s = float(begins_s.min()), float(ends_s.max())
        if self.recorded.waypoints:  # a host remains at its last waypoint
            return since_s, until_s if until_s - since_s > LEAST_S else since_s + limit_s
        if (np.minimum(ends_s, since_s + limit_s) - begins_s > LEAST_S).any():
            return since_s, until_s
        long = ends_s - begins_s > LEAST_S
        return (float(begins_s[long].min()), until_s) if long.any() else None

    @property
    def handoffs_per_host_hour(self) -> float | None:
        if self.cells is None:
            return None
        return 3600 * len(self.cells.handoffs_m) / self.host_s if self.host_s else 0.0


class AttachmentRule(NamedTuple):
    """A rule by which hosts attach to stations, and its description for a caption."""

    attachment: Attachment
    words: str


def nearest(stations_m: NDArray[np.float64], range_m: float) -> AttachmentRule:
    """Return the default rule of a scenario, which chooses the nearest station."""
    hysteresis_m = AttachmentParameters().nearer_m
    words = f"the nearest station, with a hysteresis of {hysteresis_m:g} m"
    return AttachmentRule(Attachment(stations_m, range_m, hysteresis_m), words)


def inspect(
    recorded: RecordedSamples,
    stations_m: NDArray[np.float64] | None,
    range_m: float,
    max_gap_s: float = LONG_GAP_S,
    attached: AttachmentRule | None = None,
) -> Inspection:
    """Inspect tracks that are `recorded` on the plane. `attached` is the rule by which hosts attach to stations. By
    default, they attach to the nearest station in range.
    """
    gap_s, speed_mps = steps(recorded)
    known = np.isfinite(gap_s)
    long = np.zeros(len(gap_s), dtype=bool) if recorded.waypoints else known & (np.nan_to_num(gap_s) > max_gap_s)
    steady = known & ~long
    speeds, lasted = speed_mps[steady], gap_s[steady]
    slow, middle, fast = _weighted_quantiles(speeds, lasted, (0.05, 0.5, 0.95))
    return Inspection(
        recorded, float(lasted.sum()), _three(gap_s[known]), (slow, middle, fast, float(speeds.max(initial=0.0))),
        (speeds, lasted),
        _findings(recorded, long, gap_s), _findings(recorded, np.nan_to_num(speed_mps) > JUMP_MPS, speed_mps),
        np.flatnonzero(~steady),
        None if stations_m is None else _cells(
            recorded, long, stations_m, range_m, float(lasted.sum()), attached or nearest(stations_m, range_m)
        ),
    )  # fmt: skip


def no_run(inspection: Inspection, limit_s: float) -> tuple[str, str] | None:
    """Return why these tracks cannot be used for a run of at most limit_s, and advice for the user. Return None if they
    can be used.
    """
    gap = max(inspection.gaps, key=lambda gap: gap.value, default=None)
    if gap is not None and gap.value + 1 > LONGEST_GAP_S:
        return (
            (
                f"line {gap.line}: {short(gap.host)} has no sample for {gap.value:.0f} s, but at most"
                f" {LONGEST_GAP_S:.0f} s can be bridged"
            ),
            "split the file there",
        )
    if inspection.window_s(limit_s) is not None:
        return None
    why = f"no host is present for more than {LEAST_S:g} s"
    if len(inspection.recorded.t_s) == len(inspection.recorded.names):
        return f"{why}, since each has only one sample", "provide at least two samples of each host, under the same id"
    return (
        f"{why} (the longest stay is {inspection.longest_s():g} s)",
        "provide longer tracks, or check whether the times are in seconds",
    )


def _since(moments_s: Floats, until_s: Floats) -> Floats:
    """For each time in `until_s`, return the total time that has passed since all earlier times in `moments_s`."""
    ordered = np.sort(moments_s)
    past = np.searchsorted(ordered, until_s, side="right")
    return np.asarray(past * until_s - np.append(0.0, np.cumsum(ordered))[past])


def _findings(recorded: RecordedSamples, wrong: Any, values: Floats) -> list[Finding]:
    """Return the findings in the order in which they appear in the file."""
    findings = [
        Finding(int(recorded.line[i]), recorded.names[recorded.host[i]], float(values[i]))
        for i in np.flatnonzero(wrong)
    ]
    return sorted(findings)


def _three(values: Floats) -> tuple[float, float, float]:
    if not len(values):
        return (0.0, 0.0, 0.0)
    a, b, c = (float(v) for v in np.percentile(values, (5, 50, 95)))
    return a, b, c


def _weighted_quantiles(values: Floats, weights: Floats, shares: tuple[float, ...]) -> tuple[float, ...]:
    if not len(values):
        return tuple(0.0 for _ in shares)
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return tuple(
        float(values[order][min(len(order) - 1, int(np.searchsorted(total, share * total[-1])))]) for share in shares
    )


def _cells(
    recorded: RecordedSamples, long: Any, stations_m: NDArray[np.float64], range_m: float, host_s: float,
    attached: AttachmentRule,
) -> Cells:  # fmt: skip
    step_s = max(1.0, float(np.ceil(host_s / MOST_LOOKS)))
    tick, host, xy, lasts_s = _looks(recorded, long, step_s)
    cell, last = (np.full(len(recorded.names), -1, dtype=np.int64) for _ in range(2))
    moments, begins = np.unique(tick, return_index=True)
    covered_s = np.zeros(len(moments))
    handoffs, busiest, used = [], 0, np.zeros(len(stations_m), dtype=bool)
    for k, (a, b) in enumerate(pairwise([*begins, len(tick)])):
        who = host[a:b]
        new_cell = attached.attachment.update(xy[a:b], cell[who])
        inside = new_cell >= 0
        changed = inside & (last[who] >= 0) & (new_cell != last[who])
        if changed.any():
            handoffs.append(xy[a:b][changed])
        cell[who] = new_cell
        last[who[inside]] = new_cell[inside]
        covered_s[k] = lasts_s[a:b][inside].sum()
        load = np.bincount(new_cell[inside], minlength=len(stations_m))
        busiest = max(busiest, int(load.max(initial=0)))
        used |= load > 0
    places = np.concatenate(handoffs) if handoffs else np.zeros((0, 2))
    looked_s = np.add.reduceat(lasts_s, begins) if len(tick) else np.zeros(0)
    return Cells(
        stations_m,
        range_m,
        moments * step_s,
        looked_s,
        covered_s,
        places,
        step_s,
        busiest,
        int((~used).sum()),
        attached.words,
    )


def _looks(recorded: RecordedSamples, long: Any, step_s: float) -> tuple[Any, Any, Any, Any]:
    """Return (tick, host, position, seconds represented by the sample) for all samples, sorted by tick."""
    ticks, hosts, places, lasting = [], [], [], []
    bounds = recorded.first.tolist()
    for number, (a, b) in enumerate(pairwise(bounds)):
        t_s = recorded.t_s[a:b]
        own = np.arange(int(np.ceil(t_s[0] / step_s)), int(np.floor(t_s[-1] / step_s)) + 1)
        after = np.clip(np.searchsorted(t_s, own * step_s), 0, b - a - 1)
        within = ~(long[a:b][after] & (t_s[after] > own * step_s))
        own, after = own[within], after[within]
        ends = np.append(np.flatnonzero(long[a:b]) - 1, b - a - 1)
        lasting.append(np.minimum(step_s, t_s[ends[np.searchsorted(ends, after)]] - own * step_s))
        ticks.append(own)
        hosts.append(np.full(len(own), number, dtype=np.int64))
        places.append(np.column_stack([np.interp(own * step_s, t_s, v[a:b]) for v in (recorded.x, recorded.y)]))
    tick, host, xy, lasts_s = (np.concatenate(parts) for parts in (ticks, hosts, places, lasting))
    order = np.argsort(tick, kind="stable")
    return tick[order], host[order], xy[order], lasts_s[order]
