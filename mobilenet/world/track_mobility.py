"""Mobility from imported tracks: the positions of hosts over time, as recorded by other programs.

Model     Hosts move straight at a constant speed between samples. They are numbered in the order of their first
          lines. A host appears at its first sample, asks to leave shortly before its last one, and then waits there
          until it has left. A host does not leave if its track lasts until the end of the run, or consists of
          waypoints (ns-2, BonnMotion, ONE). A track that is too short for joining and leaving is skipped and counted.
Units     Times are in seconds, and distances in metres. Legs use integer nanoseconds.
Errors    ScenarioError with file, line and column.
Source    ours: docs/models/world.md, docs/guide/tracks.md; tracks/ reads the files
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from math import hypot
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from mobilenet.engine.clock import ns
from mobilenet.engine.random_streams import generator
from mobilenet.parameters import Parameters, ScenarioError
from mobilenet.world.tracks.projection import Anchor, Floats
from mobilenet.world.tracks.read import Coordinates, Duplicates, Format, read_tracks
from mobilenet.world.tracks.samples import RecordedSamples
from mobilenet.world.tracks.source import short
from mobilenet.world.trajectory import Leg, Trajectory, between, standing_leg

SLOWEST_MPS = 0.1  # moving hosts are rarely slower; in degrees, even an airliner moves only 0.003 per second
MOSTLY = 0.8  # hosts must be slow for this fraction of their total time to cause a warning


class Tracks(Parameters):
    """Hosts follow tracks from a file that another program has recorded or computed."""

    model: Literal["tracks"] = "tracks"
    file: str = Field(
        min_length=1,
        description="track file: a table with columns t,id,x,y or t,id,lon,lat, or another format; may be gzipped",
    )
    format: Format = Field(default="auto", description="file format; auto: recognised by the content of the file")
    coordinates: Coordinates = Field(
        default="auto", description="kind of coordinates; auto: recognised by the format or the column titles"
    )
    id: str | None = Field(
        default=None, min_length=1, description="name of the only host, for a table without a column of names"
    )
    duplicates: Duplicates = Field(
        default="refuse", description="what happens to several samples of a host at the same time"
    )
    start_s: float = Field(default=0.0, ge=0, le=1e9, description="time in the file at which the run begins")
    end_s: float | None = Field(
        default=None,
        gt=0,
        le=1e9,
        description="time in the file at which all tracks are cut off; later than start_s; null: the end of each track",
    )
    max_hosts: int | None = Field(
        default=None, ge=1, le=100_000, description="use only the first usable tracks, up to this number; null: all"
    )
    random_start_s: float = Field(
        default=0.0,
        ge=0,
        le=1e9,
        description="maximum random delay added to start_s; the seed determines the value",
    )
    random_hosts: int | None = Field(
        default=None,
        ge=1,
        le=100_000,
        description="number of usable tracks to choose at random, depending on the seed; null: all",
    )
    random_share: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="probability that each usable track is used (the seed determines which ones are); null: use all",
    )
    leave_before_end_s: float = Field(
        default=5.0, gt=0, le=3600, description="time before the end of its track at which a host asks to leave"
    )
    max_gap_s: float = Field(
        default=10.0,
        gt=0,
        le=1e6,
        description="maximum gap between consecutive samples of a track; a track with a longer gap is refused",
    )
    max_speed_mps: float = Field(
        default=150.0, gt=0, le=1e6, description="maximum speed of a track; a faster track is refused"
    )

    @model_validator(mode="after")
    def _require_order(self) -> Tracks:
        if self.end_s is not None and self.end_s <= self.start_s:
            raise ValueError("end_s: should be after start_s")
        return self

    def read(self, folder: Path) -> RecordedSamples:
        """Return the samples of the file in its own coordinates."""
        return read_tracks(folder / self.file, self.format, self.coordinates, self.id, self.duplicates)

    @property
    def are_worlds_of_their_own(self) -> bool:
        """Whether different seeds lead to different movement."""
        return self.random_start_s > 0 or self.random_hosts is not None or self.random_share is not None


class Track(NamedTuple):
    """The positions of a host at strictly increasing times."""

    t_s: Floats
    x_m: Floats
    y_m: Floats


class ImportedTracks(NamedTuple):
    trajectories: list[Trajectory]
    names: list[str]  # names of the hosts in the file
    too_short: int
    speed_limit_mps: float


def import_tracks(
    parameters: Tracks, folder: Path, duration_s: float, anchor: Anchor | None = None, seed: int = 0
) -> ImportedTracks:
    """Return the hosts of the file that are present during the run. `seed` determines all random choices."""
    start_s = parameters.start_s + parameters.random_start_s * float(generator(seed, "tracks", "start").random())
    run_ends_s = start_s + duration_s
    window_ends_s = run_ends_s if parameters.end_s is None else min(parameters.end_s, run_ends_s)
    trajectories: dict[str, Trajectory] = {}
    too_short = 0
    fastest_mps = 0.0
    recorded = parameters.read(folder).on_plane(anchor)
    require_continuous(recorded, parameters.max_gap_s, parameters.max_speed_mps)
    for name, *columns in recorded.tracks():
        track = cut(
            extend_to(Track(*columns), window_ends_s) if recorded.waypoints else Track(*columns),
            start_s,
            window_ends_s,
        )
        if track is None or not _is_kept(parameters.random_share, seed, name):
            continue
        begins_s, ends_s = float(track.t_s[0]), float(track.t_s[-1])
        if ends_s - begins_s <= parameters.leave_before_end_s:
            too_short += 1
            continue
        stays = ends_s >= run_ends_s
        trajectories[name] = Trajectory(
            legs=partial(legs, track),
            appears_ns=ns(begins_s - start_s),
            disappears_ns=None if stays else ns(ends_s - start_s),
            leaves_ns=None if stays else ns(ends_s - parameters.leave_before_end_s - start_s),
        )
        fastest_mps = max(fastest_mps, *(hypot(leg.vx_mps, leg.vy_mps) for leg in legs(track)))
        if parameters.random_hosts is None and len(trajectories) == parameters.max_hosts:
            break
    trajectories = _some(trajectories, parameters, seed)
    if not trajectories:
        raise ScenarioError(
            f"{Path(parameters.file).name}: no host is present for more than {parameters.leave_before_end_s:g} s"
            f" between {start_s:g} and {window_ends_s:g} s"
        )
    return ImportedTracks(list(trajectories.values()), list(trajectories), too_short, fastest_mps)


def _is_kept(share: float | None, seed: int, name: str) -> bool:
    """Return whether a track is used. The random number depends only on the name of the track, and not on other tracks
    in the file.
    """
    return share is None or float(generator(seed, "tracks, share", name).random()) < share


def _some(trajectories: dict[str, Trajectory], parameters: Tracks, seed: int) -> dict[str, Trajectory]:
    """Return a random subset, in the order of the file. With the same seed, a larger subset contains every smaller
    one.
    """
    if parameters.random_hosts is None:
        return trajectories
    drawn = sorted(trajectories, key=lambda name: (float(generator(seed, "tracks, hosts", name).random()), name))
    chosen_names = set(drawn[: parameters.random_hosts])
    few = [name for name in trajectories if name in chosen_names][: parameters.max_hosts]
    return {name: trajectories[name] for name in few}


def require_continuous(recorded: RecordedSamples, max_gap_s: float, max_speed_mps: float) -> None:
    """Raise ScenarioError if tracks have gaps or jumps."""
    gap_s, speed_mps = steps(recorded)

    def gap_message(i: int) -> str:
        return (
            f"{short(recorded.names[recorded.host[i]])} has no sample for {gap_s[i]:g} s, which is more than max_gap_s"
            f" {max_gap_s:g}"
        )

    def fast(i: int) -> str:
        return (
            f"{short(recorded.names[recorded.host[i]])} moves at {speed_mps[i]:.0f} m/s, above max_speed_mps"
            f" {max_speed_mps:g}"
        )

    with np.errstate(invalid="ignore"):
        checks = [(speed_mps > max_speed_mps, "x", fast)]
        recorded.refuse(*([] if recorded.waypoints else [(gap_s > max_gap_s, "t", gap_message)]), *checks)


def steps(recorded: RecordedSamples) -> tuple[Floats, Floats]:
    """Return the time since the previous sample of the same host, and the speed between the two samples. Both are nan
    for the first sample of each host.
    """
    first = np.r_[True, recorded.host[1:] != recorded.host[:-1]]
    gap_s, dx, dy = (np.diff(v, prepend=v[:1]) for v in (recorded.t_s, recorded.x, recorded.y))
    gap_s[first] = np.nan
    with np.errstate(invalid="ignore", divide="ignore"):
        return gap_s, np.hypot(dx, dy) / gap_s


def doubt_about_metres(recorded: RecordedSamples, cell_m: float) -> str:
    """Return a warning if the coordinates are probably degrees. If they were metres, all hosts would stay in one cell,
    almost motionless. Otherwise return an empty string.
    """
    wide_m, high_m = (float(np.ptp(v)) for v in (recorded.x, recorded.y))
    fits = np.abs(recorded.x).max() <= 180 and np.abs(recorded.y).max() <= 90
    if recorded.lonlat or not fits or max(wide_m, high_m) >= cell_m:
        return ""
    gap_s, speed_mps = steps(recorded)
    is_slow = np.nan_to_num(speed_mps) < SLOWEST_MPS
    # A few steps may be fast, because a wrong position fix causes a short jump.
    if not np.nansum(gap_s * is_slow) >= MOSTLY * np.nansum(gap_s):
        return ""
    can_be_chosen = recorded.format != "ns2"
    return (
        f"{recorded.file}: x and y may be longitude and latitude: as metres, all hosts stay within {wide_m:.3g} by"
        f" {high_m:.3g} m, and are almost always slower than {SLOWEST_MPS:g} m/s; if they are, "
        + (
            "choose --coordinates lonlat (hosts.mobility.coordinates in a scenario)"
            if can_be_chosen
            else "convert them: files of ns-2 are in metres"
        )
    )


def extend_to(track: Track, until_s: float) -> Track:
    """Extend a track to the given time. The host stays at its last position."""
    if track.t_s[-1] >= until_s:
        return track
    return Track(
        np.append(track.t_s, until_s), np.append(track.x_m, track.x_m[-1]), np.append(track.y_m, track.y_m[-1])
    )


def cut(track: Track, begin_s: float, end_s: float) -> Track | None:
    """Return the part of a track within a time window, with interpolated samples at the ends of the window."""
    t_s = track.t_s
    if t_s[-1] <= begin_s or t_s[0] >= end_s:
        return None
    a, b = int(np.searchsorted(t_s, begin_s, side="left")), int(np.searchsorted(t_s, end_s, side="right"))
    if a == 0 and b == len(t_s):
        return track
    parts = [[column[a:b] for column in track]]
    if a > 0 and t_s[a] > begin_s:
        parts.insert(0, _halfway(track, a, begin_s))
    if b < len(t_s) and t_s[b - 1] < end_s:
        parts.append(_halfway(track, b, end_s))
    return Track(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _halfway(track: Track, after: int, t_s: float) -> list[Floats]:
    (ta, xa, ya), (tb, xb, yb) = ([float(column[i]) for column in track] for i in (after - 1, after))
    share = (t_s - ta) / (tb - ta)
    return [np.array([v]) for v in (t_s, xa + share * (xb - xa), ya + share * (yb - ya))]


def legs(track: Track) -> Iterator[Leg]:
    samples = zip(*(column.tolist() for column in track), strict=True)
    start_ns = ns(float(track.t_s[0]))
    for (_, ax, ay), (t_s, bx, by) in pairwise(samples):
        end_ns = ns(t_s)
        if end_ns > start_ns:
            yield between(ax, ay, bx, by, end_ns - start_ns)
        start_ns = end_ns
    yield standing_leg(float(track.x_m[-1]), float(track.y_m[-1]))
