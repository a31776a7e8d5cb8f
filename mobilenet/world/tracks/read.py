"""Read tracks in any format, recognized from the content of the file.

Model     XML is recognized by its first element, ns-2 by a line with a node, and a file with lines of numbers by the
          formats that fit all lines. Everything else is a table. If two formats fit, the user has to choose.
Errors    ScenarioError with one line.
Source    ours: docs/guide/tracks.md
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Literal, cast, get_args

from mobilenet.parameters import ScenarioError
from mobilenet.world.tracks import bonnmotion, csv, geojson, gpx, line_formats, ns2, sumo
from mobilenet.world.tracks.samples import RecordedSamples
from mobilenet.world.tracks.source import HEAD_BYTES, head, open_tracks, path_text

Format = Literal[
    "auto", "csv", "sumo_fcd", "sumo_fcd_csv", "ns2", "bonnmotion", "gpx", "one", "cabspotting", "walker", "geojson"
]
Coordinates = Literal["auto", "metres", "lonlat"]
Duplicates = Literal["refuse", "keep-last"]
FORMATS = get_args(Format)
STREAMED = {
    "sumo_fcd": sumo.read, "gpx": gpx.read, "ns2": ns2.read, "bonnmotion": bonnmotion.read, "geojson": geojson.read,
    "one": line_formats.read_one, "cabspotting": line_formats.read_cabspotting, "walker": line_formats.read_walker,
}  # fmt: skip
ON_EARTH, ON_THE_PLANE = ("gpx", "cabspotting", "geojson"), ("ns2",)
# The number of first lines that are examined in a file with lines of numbers. Later wrong lines are reported as format
# errors.
MOST_LOOKED_AT = 10
NUMBER = re.compile(r"[-+.\deE_]+|[-+]?(?:nan|inf|infinity)", re.IGNORECASE)
NO_TRACKS = {
    r"(?:MULTI)?(?:POINT|LINESTRING|POLYGON)\s*(?:[ZM]{1,2}\s*)?\(|GEOMETRYCOLLECTION": "WKT, such as a map of ONE, has"
    " places without times; expected tracks with times",
    r"\S+\s+CONN\s": "contacts, as ONE has them, have no positions; expected tracks",
    r"now=\S+\s+node=": "ns-3's log of changes of course is not read; expected a table with the columns t,id,x,y",
    r"version https://git-lfs": "a pointer of Git LFS; expected the file itself, which git lfs pull fetches",
}  # beginning of the first line in common kinds of files -> the reason why such a file cannot be used
PROLOGUE = re.compile(r"\s*(?:<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>|\s+)*", re.DOTALL)


def read_tracks(
    path: Path, format: Format = "auto", coordinates: Coordinates = "auto", id: str | None = None,
    duplicates: Duplicates = "refuse",
) -> RecordedSamples:  # fmt: skip
    """Read tracks in the coordinates of the file, which may be degrees. `id` names the only host, for a table without
    names. `duplicates` decides which of a host's simultaneous samples is used.
    """
    kind, why = recognise_format(path) if format == "auto" else (format, "")
    lonlat = None if coordinates == "auto" else coordinates == "lonlat"
    if lonlat is False and kind in ON_EARTH or lonlat and kind in ON_THE_PLANE:
        raise ScenarioError(
            f"{path_text(path)}: {kind} is always in {'lonlat' if kind in ON_EARTH else 'metres'};"
            " expected coordinates: auto"
        )
    if id is not None and kind in STREAMED:
        raise ScenarioError(
            f"{path_text(path)}: id: {kind} names its hosts; leave id out, which is for tables without names"
        )
    try:
        if kind in STREAMED:
            with open_tracks(path) as stream:
                recorded = STREAMED[kind](stream, path_text(path), lonlat)
        else:
            recorded = csv.read(path, lonlat, id)
        recorded = recorded.in_order(duplicates == "keep-last")
    except ScenarioError as error:
        raise ScenarioError(f"{error} (read as {kind}: {why})" if why else str(error)) from None
    if coordinates == "auto":
        recorded.require_one_kind_of_coordinates()
    return replace(recorded, why=why)


def is_lonlat(path: Path, format: Format = "auto", coordinates: Coordinates = "auto") -> bool:
    """Return whether the file contains longitudes and latitudes. Only the beginning of the file is read."""
    if coordinates != "auto":
        return coordinates == "lonlat"
    kind = recognise_format(path)[0] if format == "auto" else format
    if kind in ("csv", "sumo_fcd_csv"):
        return csv.says_lonlat(head(path))
    return kind in ON_EARTH or kind == "sumo_fcd" and sumo.says_lonlat(head(path).partition("<fcd-export")[0])


def recognise_format(path: Path) -> tuple[Format, str]:
    """Return the format, and how it was recognized."""
    text = head(path)
    start = PROLOGUE.match(text)
    rest = text[start.end() :] if start else text
    if text.lstrip().startswith("<"):
        element = re.match(r"<(?:[\w.-]+:)?([\w.-]+)", rest)
        name = element[1] if element else ""
        if name == "fcd-export":
            return "sumo_fcd", "the file begins with <fcd-export>"
        if name == "gpx":
            return "gpx", "the file begins with <gpx>"
        raise ScenarioError(
            f"{path_text(path)}:1: XML that begins with <{name[:40]}>; expected <fcd-export> (SUMO) or <gpx>"
        )
    if text.lstrip().startswith(("{", "[")):
        return "geojson", "the file begins as JSON does"
    text_lines = [line.strip() for line in text.splitlines()]
    content = [line for line in text_lines if line and not line.startswith("#")]
    if not content:
        raise ScenarioError(f"{path_text(path)}:1: empty, expected tracks")
    if re.search(r"\$(node|god|ns)_?\b", content[0]) or any(
        line.startswith("$node_(") or ns2.MOVES.search(line) for line in content
    ):
        return "ns2", "the file has commands for nodes, $node_(...) or $ns_"
    rows = [line.split() for line in content[:MOST_LOOKED_AT]]
    if len(rows[0]) >= 3 and all(re.fullmatch(NUMBER, word) for word in rows[0][:3]):
        is_cut = len(content) == len(rows) > 1 and len(text) >= HEAD_BYTES
        return _plain_format(path, rows[:-1] if is_cut else rows, "#3D" in [line.upper() for line in text_lines])
    for begins, what in NO_TRACKS.items():
        if re.match(begins, content[0], re.IGNORECASE):
            raise ScenarioError(f"{path_text(path)}:1: {what}")
    if "timestep_time" in content[0]:
        return "sumo_fcd_csv", "the first line names the column timestep_time"
    return "csv", "the first line is taken for the names of columns"


def _plain_format(path: Path, rows: list[list[str]], is_3d: bool) -> tuple[Format, str]:
    """Return the format of a file with lines of numbers, and how it was recognized."""
    fits = line_formats.formats_that_fit(rows, is_3d)
    if len(fits) > 1:
        both = " and ".join(f"{kind} ({why})" for kind, why in fits.items())
        raise ScenarioError(
            f"{path_text(path)}:1: fits {both}; choose one with --format, or with hosts.mobility.format in a scenario"
        )
    if not fits and len(rows) > 1 and all(len(words) == 4 for words in rows):
        raise ScenarioError(
            f"{path_text(path)}:1: each line has four numbers without names; expected a first line with the names of"
            " the columns, such as t,id,x,y, or with the limits of times and places (ONE)"
        )
    kind, why = next(iter(fits.items()), ("bonnmotion", "the first line begins with three numbers"))
    return cast(Format, kind), why
