"""Read tracks from a table with one line for each host and time.

Model     The columns are t, id, and x, y or lon, lat. If both pairs exist, x and y are used, unless longitudes are
          requested. The lines of each host are in chronological order. SUMO's tables have the columns vehicle_id,
          vehicle_x, ... and person_id, person_x, ...; each line fills one of these groups. Times may be ISO 8601
          dates or seconds since 1970, and then count from the earliest one.
Units     Times are in seconds, and coordinates in metres or degrees.
Errors    ScenarioError, see table.py.
Source    ours; Eclipse SUMO, TabularOutputs and tools/xml/xml2csv
"""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

from mobilenet.parameters import ScenarioError
from mobilenet.world.tracks.gpx import no_date, seconds
from mobilenet.world.tracks.samples import RecordedSamples, Sink
from mobilenet.world.tracks.source import path_text
from mobilenet.world.tracks.table import Table, as_number, table

TIME = ("t", "time", "t_s", "timestep_time", "timestamp")
ID = ("id", "host", "node")
# Alternative titles, which are tried after TIME and ID.
TIME_TOO, ID_TOO = ("time_s",), ("host_id", "node_id", "vehicle", "person")
X, Y = ("x", "x_m"), ("y", "y_m")
LON, LAT = ("lon", "longitude", "lng"), ("lat", "latitude")
SUMO = ("vehicle", "person", "container")

CHOSEN_XY = "x and y are used, as metres; the columns lon and lat are ignored (--coordinates lonlat uses them)"
CHOSEN_LONLAT = "lon and lat are used, as requested; the columns x and y are ignored"

Columns = tuple[int, int, int]  # the indices of the columns with the id and the two coordinates


def read(path: Path, lonlat: bool | None, id: str | None = None) -> RecordedSamples:
    """Read the tracks. `id` names the only host, for a table without a column of names."""
    sink = Sink(path_text(path))
    with table(path) as rows:
        time = rows.need(TIME, TIME_TOO)
        both = _both(rows)
        is_lonlat = both and bool(lonlat) or _lonlat(rows)
        choices = _columns(rows, is_lonlat, id)
        lonlat = is_lonlat if lonlat is None else lonlat
        dates: bool | None = None
        for line, fields in rows.rows():
            who, a, b = choices[0]
            if len(choices) > 1 and not fields[who].strip():
                filled = [choice for choice in choices if fields[choice[0]].strip()]
                if not filled:
                    continue  # SUMO writes such a line for a time without hosts
                who, a, b = filled[0]
            text = fields[time]
            if dates is None:
                dates = text[4:5] == "-" and "T" in text.upper() or text[4:5] == text[7:8] == "-"
            try:
                t_s = seconds(text.strip()) if dates else as_number(text)
                x, y = as_number(fields[a]), as_number(fields[b])
            except ValueError:
                raise _wrong(rows, line, fields, time, a, b, dates) from None
            name = fields[who].strip() if id is None else id
            if not name:
                raise rows.error(line, who, "id", "empty, expected a name")
            sink.add(t_s, name, x, y, line, who + 1)
        who, a, b = choices[0]
        columns = {"t": time + 1, "id": who + 1, "x": a + 1, "y": b + 1, "lon": a + 1, "lat": b + 1}
    tracks = sink.finish(
        "sumo_fcd_csv" if "timestep_time" in rows.titles else "csv", lonlat, columns, dates=bool(dates)
    )
    return replace(tracks, choice=(CHOSEN_LONLAT if is_lonlat else CHOSEN_XY) if both else "")


def _wrong(rows: Table, line: int, fields: list[str], time: int, a: int, b: int, dates: bool) -> ScenarioError:
    if dates:
        try:
            seconds(fields[time].strip())
        except ValueError:
            return rows.error(line, time, "t", no_date(fields[time].strip()))
    else:
        rows.number(line, time, "t", fields[time])
    for column in (a, b):
        rows.number(line, column, rows.titles[column], fields[column])
    raise AssertionError("one of these was not a number")


def says_lonlat(head: str) -> bool:
    """Return whether the column titles show that the table contains longitudes and latitudes."""
    try:
        return _lonlat(Table("", iter(head.splitlines(keepends=True)[:1])))
    except (ScenarioError, csv.Error):
        return False


def _lonlat(rows: Table) -> bool:
    titles = set(rows.titles)
    on_plane = not titles.isdisjoint((*X, *(f"{kind}_x" for kind in SUMO)))
    return not on_plane and not titles.isdisjoint(LON)


def _both(rows: Table) -> bool:
    """Return whether the table contains both kinds of coordinates: metres, and longitudes and latitudes."""
    return all(not set(rows.titles).isdisjoint(titles) for titles in (X, Y, LON, LAT))


def _columns(rows: Table, lonlat: bool, id: str | None) -> list[Columns]:
    """Return the columns with the name and the position for each kind of host. The first of several matching titles has
    priority. With `id`, the names are not read.
    """
    a, b = (LON, LAT) if lonlat else (X, Y)
    choices: list[Columns] = []
    if rows.find(ID) is None:
        for kind in SUMO:
            who = rows.find((f"{kind}_id",))
            if who is not None:
                x, y = (rows.need((f"{kind}_{t[0]}" if rows.find(t) is None else t[0], *t)) for t in (a, b))
                choices.append((who, x, y))
    if id is not None:
        if choices or rows.find(ID) is not None or rows.find(ID_TOO) is not None:
            raise ScenarioError(f"{rows.file}:1: the table names its hosts; leave out --id (hosts.mobility.id)")
        return [(0, rows.need(a), rows.need(b))]
    one_host = "; if all lines are one host, name it with --id NAME (hosts.mobility.id)"
    return choices or [(rows.need(ID, ID_TOO, one_host), rows.need(a), rows.need(b))]
