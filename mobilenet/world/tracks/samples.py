"""The samples that every reader of tracks returns as arrays, with the position of each sample in the file.

Model     A reader passes the samples to a Sink in the order of the file. At the end, they are checked and sorted by
          host. A sample takes only 40 bytes, because it is not stored as a Python object. Times of day (beyond 1e9 s,
          or dates) count from the earliest one. `waypoints` is true if the format defines that a host moves straight
          from sample to sample, regardless of their distance, and stays at the last one.
Units     Times are in seconds. Coordinates are in metres, or in degrees until they are projected onto the plane.
Shapes    host, line and column are int32. t_s, x and y are float64. All of them are (n,), sorted by host and then by
          time. The samples of host i are first[i]:first[i + 1].
Errors    ScenarioError, such as `tracks.csv:17:3: ...`.
Source    ours: docs/guide/tracks.md
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mobilenet.parameters import ScenarioError
from mobilenet.world.tracks.projection import (
    FARTHEST_M,
    Anchor,
    Floats,
    Offset,
    Origin,
    beyond_the_line,
    centre,
    far_offset,
    is_far,
    to_plane,
)
from mobilenet.world.tracks.source import short

MOST_SAMPLES = 20_000_000
MOST_HOSTS = 1_000_000
LONGEST_NAME = 1000
EPOCH_S = 1e9  # a later time is a time of day in seconds since 1970
# The range of dates, from year 1 to year 9999.
EARLIEST_EPOCH_S, LATEST_EPOCH_S = -62_135_596_800.0, 253_402_300_800.0
OTHER_UNITS = ("milliseconds", "microseconds", "nanoseconds")  # other units in which programs count time since 1970
LATEST_S = 1e9
FARTHEST_READ_M = 100_000_000.0  # the maximum coordinate in a file with an offset, such as UTM coordinates
FAR_FROM_DEGREES_M = 10_000.0  # a number up to 180 may be in degrees if all other coordinates are beyond this limit
MOST_PLACES = 2**31 - 1
KEEP_LAST = "; --duplicates keep-last (hosts.mobility.duplicates) uses the last of them"
ACROSS = "tracks that extend across the 180° meridian are not supported"

Ints = NDArray[np.int32]
# A mask of the wrong rows, the name of the value, and a function that returns the message for a row.
Check = tuple[Any, str, Callable[[int], str]]


class Sink:
    """Collects samples, whose hosts may appear in any order."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.numbers: dict[str, int] = {}
        self._t, self._x, self._y = array("d"), array("d"), array("d")
        self._host, self._line, self._column = array("i"), array("i"), array("i")

    def add(self, t_s: float, name: str, x: float, y: float, line: int, column: int = 1) -> None:
        number = self.numbers.get(name)
        if number is None:
            number = self._host_called(name, line, column)
        self._t.append(t_s)
        self._x.append(x)
        self._y.append(y)
        self._host.append(number)
        self._line.append(line)
        self._column.append(column if column < MOST_PLACES else MOST_PLACES)
        if len(self._t) > MOST_SAMPLES:
            raise self.error(line, column, f"more than {MOST_SAMPLES} samples")

    def error(self, line: int, column: int, what: str) -> ScenarioError:
        return ScenarioError(f"{self.file}:{line}:{column}: {what}")

    def _host_called(self, name: str, line: int, column: int) -> int:
        if not name:
            raise self.error(line, column, "id: empty, expected a name")
        if len(name) > LONGEST_NAME:
            raise self.error(line, column, f"id: a name of more than {LONGEST_NAME} characters")
        if len(self.numbers) >= MOST_HOSTS:
            raise self.error(line, column, f"more than {MOST_HOSTS} hosts")
        return self.numbers.setdefault(name, len(self.numbers))

    def finish(
        self,
        format: str,
        lonlat: bool,
        columns: dict[str, int] | None = None,
        waypoints: bool = False,
        dates: bool = False,
    ) -> RecordedSamples:
        """Check, sort and return the samples. `columns` contains the column numbers of t, x and y, counted from 1, if
        they are the same in all lines.
        """
        if not self._t:
            raise ScenarioError(f"{self.file}: contains no tracks")
        t_s, x, y = (np.frombuffer(column, dtype=np.float64) for column in (self._t, self._x, self._y))
        host, line, column = (
            np.frombuffer(column, dtype=np.int32) for column in (self._host, self._line, self._column)
        )
        begins_s = float(t_s.min()) if np.isfinite(t_s).all() else 0.0
        if begins_s >= LATEST_EPOCH_S:
            begins_s = 0.0  # the times are invalid; the error message shows the number from the file
        if dates or begins_s > EPOCH_S:
            t_s = np.round(t_s - begins_s, 6)
        else:
            begins_s = 0.0
        names = list(self.numbers)
        tracks = RecordedSamples(
            self.file, format, lonlat, waypoints, names, begins_s, host, t_s, x, y, line, column, columns or {}
        )
        tracks.require_numbers()
        order = np.argsort(host, kind="stable") if (np.diff(host) < 0).any() else np.arange(len(host))
        return tracks.pick(order)


@dataclass(frozen=True)
class RecordedSamples:
    file: str
    format: str
    lonlat: bool
    waypoints: bool
    names: list[str]  # in the order of their first appearance
    begins_s: float  # the offset that was subtracted from times of day, or 0
    host: Ints
    t_s: Floats
    x: Floats
    y: Floats
    line: Ints
    column: Ints
    columns: dict[str, int] = field(default_factory=dict)
    choice: str = ""  # which pair of coordinates was used, if the file has two
    # the number of skipped lines that do not concern movement, or of features and tracks without times
    skipped: int = 0
    why: str = ""  # how the format was recognized, if it was not given

    @property
    def first(self) -> NDArray[np.int64]:
        return np.searchsorted(self.host, np.arange(len(self.names) + 1))

    def tracks(self) -> Iterator[tuple[str, Floats, Floats, Floats]]:
        """Yield (name, t_s, x, y) for each host."""
        bounds = self.first.tolist()
        for name, a, b in zip(self.names, bounds, bounds[1:], strict=False):
            yield name, self.t_s[a:b], self.x[a:b], self.y[a:b]

    def error(self, row: int, name: str, what: str) -> ScenarioError:
        column = self.columns.get(name, int(self.column[row]))
        return ScenarioError(f"{self.file}:{self.line[row]}:{column}: {name}: {what}")

    def refuse(self, *checks: Check) -> None:
        """Raise an error for the first wrong row in the file, if there is one."""
        wrong_rows = [(int(self.line[row]), int(self.column[row]), place, row) for place,
            (wrong, _, _) in enumerate(checks)
                 for row in self._first_in_file(wrong)]  # fmt: skip
        if wrong_rows:
            _, _, place, row = min(wrong_rows)
            _, name, what = checks[place]
            raise self.error(row, name, what(row))

    def _first_in_file(self, wrong: Any) -> list[int]:
        rows = np.flatnonzero(wrong)
        return [] if not len(rows) else [int(rows[np.lexsort((self.column[rows], self.line[rows]))[0]])]

    def require_numbers(self) -> None:
        with np.errstate(invalid="ignore", over="ignore"):
            self.refuse(*self._wrong_times(), *self._wrong_places())

    def _wrong_times(self) -> Iterator[Check]:
        t_s = self.t_s
        stated_s = t_s + self.begins_s if self.begins_s else t_s  # the number in the file
        yield ~np.isfinite(t_s), "t", lambda i: f"{short(f'{t_s[i]:g}')} is not a finite number"
        yield (
            (stated_s >= LATEST_EPOCH_S) & (stated_s < LATEST_EPOCH_S * 1000.0 ** len(OTHER_UNITS)),
            "t",
            lambda i: _in_other_units(float(stated_s[i])),
        )
        yield ~((t_s >= 0) & (t_s <= LATEST_S)), "t", lambda i: f"{t_s[i]:g} s is not between 0 and 1e9"

    def _wrong_places(self) -> Iterator[Check]:
        for name, v, most in (
            (("lon", self.x, 180.0), ("lat", self.y, 90.0))
            if self.lonlat
            else (("x", self.x, FARTHEST_READ_M), ("y", self.y, FARTHEST_READ_M))
        ):
            yield ~np.isfinite(v), name, partial(_infinite, v)
            yield ~(np.abs(v) <= most), name, partial(_far, v, most)

    def pick(self, rows: NDArray[Any]) -> RecordedSamples:
        """Return the samples in these rows, in this order."""
        names = ("host", "t_s", "x", "y", "line", "column")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def in_order(self, keeps_last: bool) -> RecordedSamples:
        """Return the samples if the times of each host increase, or raise an error. With `keeps_last`, use only the
        last of a host's simultaneous samples.
        """
        if keeps_last:
            repeats = (self.host[1:] == self.host[:-1]) & (self.t_s[1:] == self.t_s[:-1])
            return self.pick(np.flatnonzero(~np.r_[repeats, False])).in_order(False)
        self._require_order()
        return self

    def _require_order(self) -> None:
        same = self.host[1:] == self.host[:-1]
        back = np.r_[False, same & (np.diff(self.t_s) <= 0)]
        self.refuse(
            (
                back,
                "t",
                lambda i: (
                    f"{short(self.names[self.host[i]])} has a sample at {self.t_s[i - 1]:.15g} s and then"
                    f" at {self.t_s[i]:.15g} s,"
                    " expected a later time" + (KEEP_LAST if self.t_s[i - 1] == self.t_s[i] else "")
                ),
            )
        )

    def require_one_kind_of_coordinates(self) -> None:
        """Raise an error if some coordinates are certainly metres and others probably degrees, which happens when two
        files are combined. Files of ns-2 and BonnMotion are not checked, because they are always in metres, and (0, 0)
        is common in them.
        """
        if self.lonlat or self.format in ("ns2", "bonnmotion"):
            return
        small = (np.abs(self.x) <= 180) & (np.abs(self.y) <= 90)
        far = np.maximum(np.abs(self.x), np.abs(self.y)) >= FAR_FROM_DEGREES_M
        if not small.any() or not far.any() or not (small | far).all():
            return
        (a, b) = sorted((self._first_in_file(rows)[0] for rows in (small, far)), key=self.line.__getitem__)
        raise self.error(
            b,
            "x",
            f"({self.x[b]:.10g}, {self.y[b]:.10g}) here, but ({self.x[a]:.10g}, {self.y[a]:.10g}) in line"
            f" {self.line[a]}: some may be degrees and others metres; expected one of them",
        )

    def origin(self) -> Origin:
        """Return the centre of tracks in longitude and latitude."""
        first = int(np.argmin(self.line))
        self.refuse(
            (
                beyond_the_line(self.x, float(self.x[first])),
                "lon",
                lambda i: f"{self.x[i]:.10g} here, but {self.x[first]:.10g} in line {self.line[first]}: {ACROSS}",
            ),
            (np.abs(self.y) > 85, "lat", lambda i: f"{self.y[i]:.10g}: the map ends at a latitude of 85 degrees"),
        )
        return centre(self.x, self.y)

    @property
    def offset(self) -> Offset | None:
        """The offset that moves coordinates in metres close to (0, 0), or None if they are not far away."""
        return None if self.lonlat else far_offset(self.x, self.y)

    def on_plane(self, origin: Anchor | None) -> RecordedSamples:
        """Return the samples with coordinates in metres relative to (0, 0)."""
        if not self.lonlat:
            return self._move(origin)
        if not isinstance(origin, Origin):
            raise ScenarioError(
                f"{self.file}: contains longitudes and latitudes, but the position of (0, 0) is not given; expected"
                " origin: {lon, lat}"
            )
        x, y = to_plane(self.x, self.y, origin)

        def what(i: int) -> str:
            if abs(self.x[i] - origin.lon) > 270:
                return f"{self.x[i]:.10g}, but that of the origin is {origin.lon:g}: {ACROSS}"
            turned = (
                "; are lon and lat swapped?" if np.hypot(self.y[i] - origin.lon, self.x[i] - origin.lat) < 5 else ""
            )
            return (
                f"({self.x[i]:.10g}, {self.y[i]:.10g}) is more than 1000 km from the origin, longitude"
                f" {origin.lon:g}, latitude {origin.lat:g}{turned}"
            )

        far = ~((np.hypot(x, y) <= FARTHEST_M) & (np.abs(self.x - origin.lon) < 90))
        self.refuse((far, "lon", what))
        return replace(
            self,
            x=x,
            y=y,
            lonlat=False,
            columns=self.columns | {k: self.columns[o] for k, o in (("x", "lon"), ("y", "lat")) if o in self.columns},
        )

    def _move(self, offset: Anchor | None) -> RecordedSamples:
        moved = self
        if isinstance(offset, Offset):
            x, y = offset.subtract(self.x, self.y)
            moved = replace(self, x=x, y=y)
        far, better = is_far(moved.x, moved.y), Offset.of(self.x, self.y)

        def what(i: int) -> str:
            return f"({moved.x[i]:.10g}, {moved.y[i]:.10g}) m is more than 1000 km from the origin; {better.advice}"

        moved.refuse((far, "x", what))
        return moved


def _in_other_units(number: float) -> str:
    unit = next(unit for power, unit in enumerate(OTHER_UNITS, 1) if number < LATEST_EPOCH_S * 1000.0**power)
    text = f"{number:.0f}" if number.is_integer() else f"{number:.15g}"
    return f"{text} is beyond the year 9999; are these {unit}? expected seconds"


def _infinite(values: Floats, i: int) -> str:
    return f"{short(f'{values[i]:g}')} is not a finite number"


def _far(values: Floats, most: float, i: int) -> str:
    if most == FARTHEST_READ_M:
        return f"{values[i]:.10g} m is more than 100000 km from the origin"
    return (
        f"{values[i]:.10g} is not between -{most:g} and {most:g}"
        f" degrees{'; are lon and lat swapped?' if most == 90 else ''}"
    )
