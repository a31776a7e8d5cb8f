"""Read GPX files, the tracks that satellite navigation receivers record.

Model     Each <trk> is a host with the name <name>. Its segments form one track with gaps. Waypoints and routes have no
          times and are ignored. Tracks without times are skipped and counted. Times count from the earliest one in the
          file.
Units     Coordinates are in degrees. Times are ISO 8601 dates, in UTC by default.
Errors    ScenarioError, see xml.py.
Source    GPX 1.1 (topografix.com/GPX/1/1) and 1.0, which define tracks in the same way
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import IO

from mobilenet.parameters import ScenarioError
from mobilenet.world.tracks.samples import EARLIEST_EPOCH_S, LATEST_EPOCH_S, RecordedSamples, Sink
from mobilenet.world.tracks.source import short
from mobilenet.world.tracks.table import as_number, no_number
from mobilenet.world.tracks.xml import Attributes, Xml

NO_TIME = "<trkpt> without <time>; expected the time of the point"


class _Reader:
    def __init__(self, file: str) -> None:
        self.sink = Sink(file)
        self.xml = Xml(file, self.start, self.end)
        self.tracks = self.others = self.skipped = 0
        self.called: str | None = None  # the content of the track's <name> element
        self.name: str | None = None  # the host name for the samples of this track
        self.point: tuple[float, float, int, int] | None = None
        self.time_s: float | None = None
        self.timeless: tuple[int, int] | None = None  # line and column of a point without a time
        self.first_timeless: tuple[int, int] | None = None

    def start(self, name: str, attributes: Attributes) -> None:
        if len(self.xml.open) == 1 and name != "gpx":
            raise self.xml.error(f"<{name[:40]}>, expected <gpx>")
        if name == "trk":
            self.tracks += 1
            self.called = self.name = self.timeless = None
        elif name in ("wpt", "rte"):
            self.others += 1
        elif name == "trkpt":
            self.point = (
                self._degrees("lon", attributes),
                self._degrees("lat", attributes),
                self.xml.line,
                self.xml.column,
            )
            self.time_s = None

    def _degrees(self, key: str, attributes: Attributes) -> float:
        text = attributes.get(key)
        if text is None:
            raise self.xml.error(f'<trkpt> without {key}, expected {key}="..."')
        try:
            return as_number(text)
        except ValueError:
            raise self.xml.error(f"{key}: {no_number(text)}") from None

    def end(self, name: str, text: str) -> None:
        parent = self.xml.open[-2] if len(self.xml.open) > 1 else ""
        if name == "name" and parent == "trk":
            self.called = text
        elif name == "time" and parent == "trkpt":
            try:
                self.time_s = seconds(text)
            except ValueError:
                raise self.xml.error(f"time: {no_date(text)}") from None
        elif name == "trkpt" and self.point is not None:
            lon, lat, line, column = self.point
            if self.time_s is None:
                self.timeless = self.timeless or (line, column)
            if self.timeless and (self.name or self.time_s is not None):
                raise self.sink.error(*self.timeless, NO_TIME)
            if self.time_s is None:
                return
            if self.name is None:
                self.name = self._free(self.called or f"track {self.tracks}")
            self.sink.add(self.time_s, self.name, lon, lat, line, column)
        elif name == "trk" and self.timeless:
            self.skipped += 1
            self.first_timeless = self.first_timeless or self.timeless

    def _free(self, name: str) -> str:
        free, number = name, 2
        while free in self.sink.numbers:
            free, number = f"{name} ({number})", number + 1
        return free


def read(stream: IO[bytes], file: str, lonlat: bool | None) -> RecordedSamples:
    reader = _Reader(file)
    reader.xml.parse(stream)
    if reader.first_timeless and not reader.sink.numbers:
        raise reader.sink.error(*reader.first_timeless, NO_TIME)
    if reader.others and not reader.sink.numbers:
        raise ScenarioError(
            f"{file}: contains no tracks, only waypoints or routes, which are not movement; expected <trk> with times"
        )
    return replace(reader.sink.finish("gpx", True, dates=True), skipped=reader.skipped)


def seconds(text: str) -> float:
    """Return a date as seconds since 1970. Raise ValueError for any other text, and for dates outside the years 1 to
    9999 in UTC.
    """
    date = datetime.fromisoformat(text)
    since_s = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    # The last microseconds of the year 9999, as a float, round to the year 10000.
    if not EARLIEST_EPOCH_S <= since_s < LATEST_EPOCH_S:
        raise ValueError
    return since_s


def no_date(text: str) -> str:
    """Return the error message for a text that seconds() rejects."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return f"{short(text)} is not a date, expected a date such as 2024-05-01T08:00:00Z"
    return f"{short(text)} is not within the years 1 to 9999 in UTC"
