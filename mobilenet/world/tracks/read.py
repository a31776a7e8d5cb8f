"""Tracks of any format, known by what is in the file.

Model     XML by its first element, ns-2 and BonnMotion by their first line with content, everything else is a
          table
Errors    ScenarioError, one line
Source    ours: docs/guide/tracks.md
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, get_args

from mobilenet.parameters import ScenarioError
from mobilenet.world.tracks import bonnmotion, csv, gpx, ns2, sumo
from mobilenet.world.tracks.samples import RecordedSamples
from mobilenet.world.tracks.source import head, open_tracks, path_text

Format = Literal["auto", "csv", "sumo_fcd", "sumo_fcd_csv", "ns2", "bonnmotion", "gpx"]
Coordinates = Literal["auto", "metres", "lonlat"]
FORMATS = get_args(Format)
STREAMED = {"sumo_fcd": sumo.read, "gpx": gpx.read, "ns2": ns2.read, "bonnmotion": bonnmotion.read}
NUMBER = re.compile(r"[-+.\deE_]+|[-+]?(?:nan|inf|infinity)", re.IGNORECASE)
PROLOGUE = re.compile(r"\s*(?:<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>|\s+)*", re.DOTALL)


def read_tracks(path: Path, format: Format = "auto", coordinates: Coordinates = "auto") -> RecordedSamples:
    """As the file has them: in degrees, if it does."""
    kind = recognise_format(path) if format == "auto" else format
    lonlat = None if coordinates == "auto" else coordinates == "lonlat"
    if lonlat is False and kind == "gpx" or lonlat and kind in ("ns2", "bonnmotion"):
        raise ScenarioError(
            f"{path_text(path)}: {kind} is always in {'lonlat' if kind == 'gpx' else 'metres'};"
            " expected coordinates: auto"
        )
    if kind in STREAMED:
        with open_tracks(path) as stream:
            return STREAMED[kind](stream, path_text(path), lonlat)
    return csv.read(path, lonlat)


def is_lonlat(path: Path, format: Format = "auto", coordinates: Coordinates = "auto") -> bool:
    """Whether these are longitudes and latitudes; only the beginning is read."""
    if coordinates != "auto":
        return coordinates == "lonlat"
    kind = recognise_format(path) if format == "auto" else format
    if kind in ("csv", "sumo_fcd_csv"):
        return csv.says_lonlat(head(path))
    return kind == "gpx" or kind == "sumo_fcd" and sumo.says_lonlat(head(path).partition("<fcd-export")[0])


def recognise_format(path: Path) -> Format:
    text = head(path)
    start = PROLOGUE.match(text)
    rest = text[start.end() :] if start else text
    if text.lstrip().startswith("<"):
        element = re.match(r"<(?:[\w.-]+:)?([\w.-]+)", rest)
        name = element[1] if element else ""
        if name == "fcd-export":
            return "sumo_fcd"
        if name == "gpx":
            return "gpx"
        raise ScenarioError(
            f"{path_text(path)}:1: XML that begins with <{name[:40]}>; expected <fcd-export> (SUMO) or <gpx>"
        )
    text_lines = [line.strip() for line in text.splitlines()]
    first = next((line for line in text_lines if line and not line.startswith("#")), "")
    if re.search(r"\$(node|god|ns)_?\b", first) or any(line.startswith("$node_(") for line in text_lines):
        return "ns2"
    if not first:
        raise ScenarioError(f"{path_text(path)}:1: empty, expected tracks")
    words = first.split()
    if len(words) >= 3 and all(re.fullmatch(NUMBER, word) for word in words[:3]):
        return "bonnmotion"
    return "sumo_fcd_csv" if "timestep_time" in first else "csv"
