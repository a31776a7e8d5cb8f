"""Read the native format of BonnMotion, in which one line contains all waypoints of a node.

Model     A line has the form t x y t x y ...: the times and positions of a node. The node moves straight between them,
          and remains at its last waypoint until the end. A file that begins with #3D also contains heights, which are
          ignored. Nodes are named 0, 1, ...
Units     Times are in seconds, and distances in metres.
Errors    ScenarioError with line and column.
Source    BonnMotion, A Mobility Scenario Generation and Analysis Tool, documentation, "Native format"
"""

from __future__ import annotations

import re
from typing import IO

from mobilenet.parameters import ScenarioError
from mobilenet.world.tracks.samples import RecordedSamples, Sink
from mobilenet.world.tracks.source import lines
from mobilenet.world.tracks.table import as_number, no_number

LONGEST_LINE = 50_000_000
WORD = re.compile(r"\S+")


def read(stream: IO[bytes], file: str, lonlat: bool | None) -> RecordedSamples:
    sink = Sink(file)
    width, node = 3, 0
    for line, text in enumerate(lines(stream, file, LONGEST_LINE), 1):
        if text.startswith("#"):
            width = 4 if text[1:].strip().upper() == "3D" else width
            continue
        waypoint: list[float] = []
        column = 1
        for word in WORD.finditer(text):
            try:
                value = as_number(word[0])
            except ValueError:
                raise ScenarioError(
                    f"{file}:{line}:{word.start() + 1}: {no_number(word[0])}, expected t x y t x y ..."
                ) from None
            column = column if waypoint else word.start() + 1
            waypoint.append(value)
            if len(waypoint) == width:
                sink.add(waypoint[0], str(node), waypoint[1], waypoint[2], line, column)
                waypoint.clear()
        if waypoint:
            raise ScenarioError(
                f"{file}:{line}:{column}: the line ends within a waypoint; expected"
                f" {'t x y' if width == 3 else 't x y z'} for each"
            )
        node += bool(text.strip())
    return sink.finish("bonnmotion", bool(lonlat), waypoints=True)
