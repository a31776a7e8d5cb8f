"""Read three track formats whose lines consist of numbers and names separated by spaces, without column titles.

Model     ONE's external movement has a line with the limits of times and positions, and then lines `time id x y` (and
          z) for all hosts. Cabspotting has a file of lines `latitude longitude occupied time` for each cab, with the
          latest line first. The third format (CRAWDAD's ncsu/mobilitymodels) has a file of lines `t x y` for each
          walker. In the last two formats, the host is named after the file.
Units     Times are in seconds. Coordinates are in metres, or in degrees for Cabspotting.
Errors    ScenarioError with line and column.
Source    Keranen, Ott and Karkkainen, The ONE Simulator for DTN Protocol Evaluation (2009), ExternalMovement;
          Piorkowski, Sarafijanovic-Djukic and Grossglauser, CRAWDAD dataset epfl/mobility (2009); Rhee, Shin, Hong,
          Lee, Kim and Chong, CRAWDAD dataset ncsu/mobilitymodels (2009)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from mobilenet.parameters import ScenarioError
from mobilenet.world.tracks.samples import EPOCH_S, RecordedSamples, Sink
from mobilenet.world.tracks.source import lines, short
from mobilenet.world.tracks.table import as_number, no_number

WORD = re.compile(r"\S+")
LIMITS = (6, 8)  # possible numbers of words in ONE's first line: minimum and maximum of time, x, y (and z)


class _Line(NamedTuple):
    file: str
    number: int
    words: list[re.Match[str]]

    def text(self, place: int) -> str:
        return self.words[place][0]

    def value(self, place: int, name: str) -> float:
        try:
            return as_number(self.text(place))
        except ValueError:
            raise self.error(place, f"{name}: {no_number(self.text(place))}") from None

    def error(self, place: int, what: str) -> ScenarioError:
        return ScenarioError(f"{self.file}:{self.number}:{self.words[place].start() + 1}: {what}")


def _lines(stream: IO[bytes], file: str, columns: str) -> Iterator[_Line]:
    """Yield the lines that are not empty and do not begin with `#`. Each line must have at least these columns."""
    least = len(columns.split())
    for number, text in enumerate(lines(stream, file), 1):
        words = list(WORD.finditer(text))
        if not words or words[0][0].startswith("#"):
            continue
        if len(words) < least:
            raise ScenarioError(f"{file}:{number}:{len(text.rstrip()) + 1}: the line ends too soon; expected {columns}")
        yield _Line(file, number, words)


def read_one(stream: IO[bytes], file: str, lonlat: bool | None) -> RecordedSamples:
    sink = Sink(file)
    each = _lines(stream, file, "time id x y")
    limits = next(each, None)
    if limits is not None and len(limits.words) not in LIMITS:
        raise limits.error(0, "expected minTime maxTime minX maxX minY maxY minZ maxZ in the first line")
    for line in each:
        t_s, x, y = (line.value(place, name) for place, name in ((0, "t"), (2, "x"), (3, "y")))
        sink.add(t_s, line.text(1), x, y, line.number)
    return sink.finish("one", bool(lonlat), waypoints=True)


def read_cabspotting(stream: IO[bytes], file: str, lonlat: bool | None) -> RecordedSamples:
    sink, name = Sink(file), _name(file)
    samples = []
    for line in _lines(stream, file, "latitude longitude occupied time"):
        lat, lon, t_s = (line.value(place, column) for place, column in ((0, "lat"), (1, "lon"), (3, "t")))
        if line.text(2) not in ("0", "1"):
            raise line.error(2, f"occupied: {short(line.text(2))} is neither 0 nor 1")
        samples.append((t_s, lon, lat, line.number))
    for t_s, lon, lat, number in sorted(samples):
        sink.add(t_s, name, lon, lat, number)
    return sink.finish("cabspotting", True)


def read_walker(stream: IO[bytes], file: str, lonlat: bool | None) -> RecordedSamples:
    sink, name = Sink(file), _name(file)
    for line in _lines(stream, file, "t x y"):
        t_s, x, y = (line.value(place, column) for place, column in enumerate("txy"))
        sink.add(t_s, name, x, y, line.number)
    return sink.finish("walker", bool(lonlat))


def _name(file: str) -> str:
    return Path(file).name.partition(".")[0]


def formats_that_fit(rows: Sequence[Sequence[str]], is_3d: bool) -> dict[str, str]:
    """Return the formats that fit these first lines, with the reasons. The result may include BonnMotion."""
    fits: dict[str, str] = {}
    widths, numbers = [len(words) for words in rows], [_numbers(words) for words in rows]
    if None not in numbers and not any(width % (4 if is_3d else 3) for width in widths):
        fits["bonnmotion"] = f"every line has {'t x y z' if is_3d else 't x y'} once or more often"
    if widths[0] in LIMITS and _are_limits(numbers[0]) and max(widths[1:], default=4) <= 5:
        fits["one"] = "the first line has the limits of times and places"
    known = [row for row in numbers if row is not None]
    if len(known) < len(rows):
        return fits
    if widths == [4] * len(widths) and all(
        max(abs(lat), abs(lon)) <= 180 and t_s > EPOCH_S for lat, lon, _, t_s in known
    ):
        fits["cabspotting"] = "every line has two numbers up to 180, one more, and seconds since 1970"
    if widths == [3] * len(widths) and len({row[0] for row in known}) > 1:
        fits["walker"] = "every line has t x y, at different times"
    return fits


def _are_limits(numbers: list[float] | None) -> bool:
    return numbers is not None and all(least <= most for least, most in zip(numbers[::2], numbers[1::2], strict=True))


def _numbers(words: Sequence[str]) -> list[float] | None:
    try:
        return [as_number(word) for word in words]
    except ValueError:
        return None
