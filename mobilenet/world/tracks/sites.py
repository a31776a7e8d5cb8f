"""Read the sites of stations from a table.

Model     The columns are x_m, y_m or lon, lat, and optionally a name: the first one of name, site and id that is not
          empty. Tables of OpenCelliD are recognized by their columns, or, for tables of single countries, by a first
          line without titles. Their cells are named mcc-net-area-cell. Cells at the same position are sectors of one
          mast, and become one station with the name of the first cell.
Units     Coordinates are in metres or degrees.
Shapes    a and b are float64 (n,): x and y, or longitude and latitude.
Errors    ScenarioError, see table.py.
Source    ours; OpenCelliD, "Database format"
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import shapely

from mobilenet.parameters import ScenarioError
from mobilenet.world.tracks.csv import LAT, LON
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
    to_earth,
    to_plane,
)
from mobilenet.world.tracks.samples import FARTHEST_READ_M, RecordedSamples
from mobilenet.world.tracks.source import head, path_text, short
from mobilenet.world.tracks.table import Table, table

MOST_STATIONS = 10_000
FARTHEST_CELL_M = 100_000.0
NEAR = " within whose range a host comes"
ACROSS_SITES = "sites that extend across the 180° meridian are not supported"
OPENCELLID = (
    "radio",
    "mcc",
    "net",
    "area",
    "cell",
    "unit",
    "lon",
    "lat",
    "range",
    "samples",
    "changeable",
    "created",
    "updated",
    "averagesignal",
)
CALLED_BY = ("mcc", "net", "area", "cell")
RADIOS = ("GSM", "UMTS", "LTE", "NR", "CDMA")
NAME, X, Y = ("name", "site", "id"), ("x_m", "x"), ("y_m", "y")


Box = tuple[float, float, float, float]


class Sites(NamedTuple):
    file: str
    lonlat: bool
    names: list[str]
    a: Floats
    b: Floats
    lines: list[int]
    merged: int  # number of cells that have the same position as another cell
    ranges_m: Floats  # ranges of cells according to OpenCelliD; nan if unknown

    def origin(self) -> Origin:
        for i in np.flatnonzero(beyond_the_line(self.a, float(self.a[0])))[:1]:
            raise ScenarioError(
                f"{self.file}:{self.lines[i]}: longitude {self.a[i]:.10g} here, but {self.a[0]:.10g} in line"
                f" {self.lines[0]}: {ACROSS_SITES}"
            )
        return centre(self.a, self.b)

    def on_plane(self, origin: Anchor | None) -> tuple[Floats, Floats]:
        """Return the coordinates of the sites in metres relative to (0, 0)."""
        if not self.lonlat:
            return self._move(origin)
        if not isinstance(origin, Origin):
            raise ScenarioError(
                f"{self.file}: contains longitudes and latitudes, but the position of (0, 0) is not given; expected"
                " origin: {lon, lat}"
            )
        x, y = to_plane(self.a, self.b, origin)
        far = np.flatnonzero(~((np.hypot(x, y) <= FARTHEST_M) & (np.abs(self.a - origin.lon) < 90)))
        if len(far):
            i = int(far[0])
            if abs(self.a[i] - origin.lon) > 270:
                raise ScenarioError(
                    f"{self.file}:{self.lines[i]}: longitude {self.a[i]:.10g}, but that of the origin is"
                    f" {origin.lon:g}:"
                    f" {ACROSS_SITES}"
                )
            raise ScenarioError(
                f"{self.file}:{self.lines[i]}: ({self.a[i]:.10g}, {self.b[i]:.10g}) is more than 1000 km from the"
                f" origin, longitude {origin.lon:g}, latitude {origin.lat:g}"
            )
        return x, y

    @property
    def offset(self) -> Offset | None:
        """The offset that moves coordinates in metres close to (0, 0), or None if they are not far away."""
        return None if self.lonlat else far_offset(self.a, self.b)

    def _move(self, offset: Anchor | None) -> tuple[Floats, Floats]:
        x, y = offset.subtract(self.a, self.b) if isinstance(offset, Offset) else (self.a, self.b)
        for i in np.flatnonzero(is_far(x, y))[:1]:
            raise ScenarioError(
                f"{self.file}:{self.lines[i]}: ({x[i]:.10g}, {y[i]:.10g}) m is more than 1000 km from the origin;"
                f" {Offset.of(self.a, self.b).advice}"
            )
        return x, y

    @property
    def median_range_m(self) -> float | None:
        """The median of the known ranges, or None if all ranges are unknown."""
        known_m = self.ranges_m[~np.isnan(self.ranges_m)]
        return float(np.median(known_m)) if len(known_m) else None

    def as_table(self) -> str:
        """Return the sites as a table that `read_sites` can read."""
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(("name", *(("lon", "lat") if self.lonlat else ("x_m", "y_m"))))
        rows.writerows(zip(self.names, self.a.tolist(), self.b.tolist(), strict=True))
        return text.getvalue()


def read_sites(path: Path, box_of: Callable[[bool], Box] | None = None) -> Sites:
    """Read a table of stations. `box_of(lonlat)` returns (west, south, east, north), in degrees if `lonlat` is true.
    Stations outside this box are ignored.
    """
    untitled = head(path).partition(",")[0].strip() in RADIOS
    with table(path, OPENCELLID if untitled else None) as rows:
        opencellid = set(CALLED_BY) < set(rows.titles)
        lonlat = rows.find(X) is None and rows.find(LON) is not None
        a, b = (rows.need(titles) for titles in ((LON, LAT) if lonlat else (X, Y)))
        if opencellid:
            parts = [rows.need((title,)) for title in CALLED_BY]
        else:
            parts = [column for title in NAME if (column := rows.find((title,))) is not None]
        names: list[str] = []
        places: dict[tuple[float, float], int] = {}
        called_so: dict[str, int] = {}  # station name -> the line that uses it
        lines: list[int] = []
        positions: list[tuple[float, float]] = []
        ranges_m: list[float] = []
        ranged = rows.find(("range",)) if opencellid else None
        box = None if box_of is None else box_of(lonlat)
        merged = 0
        for line, fields in rows.rows():
            place = (_coordinate(rows, line, a, fields, lonlat, 180), _coordinate(rows, line, b, fields, lonlat, 85))
            if box is not None and not (box[0] <= place[0] <= box[2] and box[1] <= place[1] <= box[3]):
                continue
            range_m = math.nan if ranged is None else _range_m(fields[ranged])
            if opencellid and place in places:
                merged += 1
                ranges_m[places[place]] = float(np.fmax(ranges_m[places[place]], range_m))
                continue
            if place in places:
                raise rows.error(
                    line, a, rows.titles[a], f"another station has the same position; see line {lines[places[place]]}"
                )
            called = [fields[column].strip() for column in parts]
            name = "-".join(called) if opencellid else next(filter(None, called), "")
            if name and name in called_so:
                column = parts[0 if opencellid else called.index(name)]
                raise rows.error(
                    line,
                    column,
                    rows.titles[column],
                    f"another station has the name {short(name)}; see line {called_so[name]}",
                )
            places[place] = len(names)
            called_so[name] = line
            positions.append(place)
            names.append(name)
            lines.append(line)
            ranges_m.append(range_m)
            if box is None and len(names) > MOST_STATIONS:
                raise ScenarioError(
                    f"{path_text(path)}:{line}: more than {MOST_STATIONS} stations; expected only those in the area"
                    " (mobilenet inspect-tracks TRACKS --stations FILE --crop SITES.csv)"
                )
    if not names:
        raise ScenarioError(f"{path_text(path)}: contains no stations{'' if box is None else NEAR}")
    at = np.array(positions, float)
    return Sites(path_text(path), lonlat, names, at[:, 0], at[:, 1], lines, merged, np.array(ranges_m))


def sites_near(path: Path, recorded: RecordedSamples, origin: Anchor | None, range_m: float) -> Sites:
    """Read the stations that have a host within range at any time. Use the range in OpenCelliD's table or, if it is
    unknown, range_m.
    """
    tracks = recorded.on_plane(origin)
    reach_m = max(FARTHEST_CELL_M, range_m)
    west, east = float(tracks.x.min()) - reach_m, float(tracks.x.max()) + reach_m
    south, north = float(tracks.y.min()) - reach_m, float(tracks.y.max()) + reach_m

    def box_of(lonlat: bool) -> Box:
        if lonlat and isinstance(origin, Origin):
            lon, lat = to_earth([west, east, west, east], [south, south, north, north], origin)
            return float(lon.min()), float(lat.min()), float(lon.max()), float(lat.max())
        x_m, y_m = (origin.x_m, origin.y_m) if isinstance(origin, Offset) else (0.0, 0.0)
        return (-180.0, -90.0, 180.0, 90.0) if lonlat else (west + x_m, south + y_m, east + x_m, north + y_m)

    sites = read_sites(path, box_of)
    # The index of the same host's next sample, or of the sample itself if it is the last.
    ends = np.append(np.diff(tracks.host) == 0, False) + np.arange(len(tracks.host))
    begin, end = (np.column_stack((tracks.x[rows], tracks.y[rows])) for rows in (slice(None), ends))
    ways = shapely.STRtree(shapely.linestrings(np.stack((begin, end), axis=1)))
    places = shapely.points(np.column_stack(sites.on_plane(origin)))
    _, distances_m = ways.query_nearest(places, return_distance=True, all_matches=False)
    near = np.flatnonzero(distances_m <= np.where(np.isnan(sites.ranges_m), range_m, sites.ranges_m))
    if not len(near) or len(near) > MOST_STATIONS:
        how_many = "no stations" if not len(near) else f"{len(near)} stations"
        raise ScenarioError(f"{sites.file}: contains {how_many}{NEAR}; expected 1 to {MOST_STATIONS}")
    names = [sites.names[place] for place in near.tolist()]
    lines = [sites.lines[place] for place in near.tolist()]
    return sites._replace(names=names, lines=lines, a=sites.a[near], b=sites.b[near], ranges_m=sites.ranges_m[near])


def _range_m(text: str) -> float:
    """Return the range of a cell, or nan if the table does not contain one."""
    try:
        return float(text) if 0 < float(text) < math.inf else math.nan
    except ValueError:
        return math.nan


def _coordinate(rows: Table, line: int, column: int, fields: list[str], lonlat: bool, most: float) -> float:
    name = rows.titles[column][:1] if not lonlat else rows.titles[column]
    value = rows.number(line, column, name, fields[column])
    if lonlat and abs(value) > most:
        raise rows.error(
            line,
            column,
            name,
            f"{value:.10g} is not between -{most:g} and {most:g} degrees"
            + ("; are lon and lat swapped?" if most < 180 else ""),
        )
    if not lonlat and abs(value) > FARTHEST_READ_M:
        raise rows.error(line, column, name, f"{value:.10g} m is more than 100000 km from the origin")
    return value
