"""Imported movement: who was where when, as other programs write it down.

Model     straight at constant speed from sample to sample. Hosts are numbered in the order of their first line.
          One appears at its first sample and leaves shortly before its last one, where it then stands until it is
          out. A track that is cut by the end of the run does not leave. One too short for joining and leaving
          is skipped, and counted.
Units     file: seconds and metres, `t,id,x,y`; more columns do no harm. Legs: integer nanoseconds
Errors    ScenarioError with file, line and column
Source    the columns are those of SUMO's floating-car data as CSV; ours: DESIGN.md, "World"
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from math import hypot
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field, model_validator

from mobilenet.kernel import ns
from mobilenet.parameters import Parameters, ScenarioError
from mobilenet.world.table import coordinate, rows
from mobilenet.world.trajectory import Leg, Trajectory, between, standing

MOST_SAMPLES = 20_000_000


class Tracks(Parameters):
    model: Literal["tracks"] = "tracks"
    file: str = Field(min_length=1, description="a table with the columns t, id, x, y; .gz is unpacked")
    start_s: float = Field(default=0.0, ge=0, le=1e9, description="the file's time at which the run begins")
    end_s: float | None = Field(default=None, gt=0, le=1e9, description="tracks end here at the latest; null: where they end")
    max_hosts: int | None = Field(default=None, ge=1, le=100_000, description="the first so many; null: all")
    leave_before_end_s: float = Field(default=5.0, gt=0, le=3600, description="a host asks to leave so long before its end")
    max_gap_s: float = Field(default=10.0, gt=0, le=1e6, description="a track that is silent for longer is refused")
    max_speed_mps: float = Field(default=150.0, gt=0, le=1e6, description="a track that is faster is refused")

    @model_validator(mode="after")
    def _ordered(self) -> Tracks:
        if self.end_s is not None and self.end_s <= self.start_s:
            raise ValueError("end_s: should be after start_s")
        return self


class Sample(NamedTuple):
    t_s: float
    x_m: float
    y_m: float


class Imported(NamedTuple):
    trajectories: list[Trajectory]
    names: list[str]  # what the file calls them
    too_short: int
    speed_limit_mps: float


def imported(parameters: Tracks, folder: Path, duration_s: float) -> Imported:
    """The hosts of the file, as far as they are there during the run."""
    run_ends_s = parameters.start_s + duration_s
    window_ends_s = run_ends_s if parameters.end_s is None else min(parameters.end_s, run_ends_s)
    found: dict[str, Trajectory] = {}
    too_short = 0
    fastest_mps = 0.0
    for name, track in read(folder / parameters.file, parameters.max_gap_s, parameters.max_speed_mps).items():
        samples = cut(track, parameters.start_s, window_ends_s)
        if not samples:
            continue
        if samples[-1].t_s - samples[0].t_s <= parameters.leave_before_end_s:
            too_short += 1
            continue
        ends_s = samples[-1].t_s
        stays = ends_s >= run_ends_s
        found[name] = Trajectory(
            legs=partial(legs, samples),
            appears_ns=ns(samples[0].t_s - parameters.start_s),
            disappears_ns=None if stays else ns(ends_s - parameters.start_s),
            leaves_ns=None if stays else ns(ends_s - parameters.leave_before_end_s - parameters.start_s),
        )
        fastest_mps = max(fastest_mps, *(hypot(leg.vx_mps, leg.vy_mps) for leg in legs(samples)))
        if len(found) == parameters.max_hosts:
            break
    if not found:
        raise ScenarioError(
            f"{Path(parameters.file).name}: nobody is there for more than {parameters.leave_before_end_s:g} s "
            f"between {parameters.start_s:g} and {window_ends_s:g} s"
        )
    return Imported(list(found.values()), list(found), too_short, fastest_mps)


def read(path: Path, max_gap_s: float, max_speed_mps: float) -> dict[str, list[Sample]]:
    """The samples of each id, in the order in which the ids appear."""
    tracks: dict[str, list[Sample]] = {}
    columns: dict[str, tuple[str, ...]] = {"t": ("t", "time", "t_s", "timestep_time"), "id": ("id", "host", "person_id", "vehicle_id")}
    columns |= {"x": ("x", "x_m"), "y": ("y", "y_m")}
    for count, row in enumerate(rows(path, columns)):
        sample = Sample(row.number("t"), coordinate(row, "x"), coordinate(row, "y"))
        if not 0 <= sample.t_s <= 1e9:
            raise row.error("t", f"{sample.t_s:g} s is not between 0 and 1e9")
        name = row.text("id")
        if not name:
            raise row.error("id", "empty, expected a name")
        track = tracks.setdefault(name, [])
        if track:
            before = track[-1]
            gap_s = sample.t_s - before.t_s
            if gap_s <= 0:
                raise row.error("t", f"{name[:40]!r} goes from {before.t_s:g} to {sample.t_s:g} s, expected a later time")
            if gap_s > max_gap_s:
                raise row.error("t", f"{name[:40]!r} is silent for {gap_s:g} s, which is more than max_gap_s {max_gap_s:g}")
            speed_mps = hypot(sample.x_m - before.x_m, sample.y_m - before.y_m) / gap_s
            if speed_mps > max_speed_mps:
                raise row.error("x", f"{name[:40]!r} moves at {speed_mps:.0f} m/s, above max_speed_mps {max_speed_mps:g}")
        if count >= MOST_SAMPLES:
            raise row.error("t", f"more than {MOST_SAMPLES} samples")
        track.append(sample)
    if not tracks:
        raise ScenarioError(f"{path.name}: no track in it")
    return tracks


def cut(track: list[Sample], begin_s: float, end_s: float) -> list[Sample]:
    """The part of a track within a window, with samples where it crosses the window's ends."""
    if track[-1].t_s <= begin_s or track[0].t_s >= end_s:
        return []
    inside = [sample for sample in track if begin_s <= sample.t_s <= end_s]
    for t_s, place in ((begin_s, 0), (end_s, len(inside) + 1)):
        after = next((i for i, sample in enumerate(track) if sample.t_s > t_s), 0)
        if after and track[after - 1].t_s < t_s:
            inside.insert(place, _halfway(track[after - 1], track[after], t_s))
    return inside


def _halfway(a: Sample, b: Sample, t_s: float) -> Sample:
    share = (t_s - a.t_s) / (b.t_s - a.t_s)
    return Sample(t_s, a.x_m + share * (b.x_m - a.x_m), a.y_m + share * (b.y_m - a.y_m))


def legs(samples: list[Sample]) -> Iterator[Leg]:
    start_ns = ns(samples[0].t_s)
    for a, b in pairwise(samples):
        end_ns = ns(b.t_s)
        if end_ns > start_ns:
            yield between(a.x_m, a.y_m, b.x_m, b.y_m, end_ns - start_ns)
        start_ns = end_ns
    yield standing(samples[-1].x_m, samples[-1].y_m)
