"""Read SUMO's floating-car data in XML: all vehicles, persons and containers at each timestep.

Model     The form is <fcd-export><timestep time="1.00"><vehicle id="v0" x="5.10" y="498.35" speed="13.9" .../><person
          .../><container .../></timestep>... Other elements inside a timestep are ignored. With --fcd-output.geo, x and
          y are longitude and latitude. Only SUMO's options show this, in a comment before the first element.
Units     Times are in seconds (or h:m:s, with --human-readable-time), and coordinates in metres or degrees.
Errors    ScenarioError, see xml.py.
Source    Eclipse SUMO, Simulation/Output/FCDOutput and data/xsd/fcd_file.xsd (1.8 to 1.24)
"""

from __future__ import annotations

import re
from typing import IO

from mobilenet.world.tracks.samples import RecordedSamples, Sink
from mobilenet.world.tracks.table import as_number, no_number
from mobilenet.world.tracks.xml import Attributes, Xml

WHO = ("vehicle", "person", "container")
GEO = re.compile(r'<fcd-output\.geo\s+value="(true|1|t|yes|on|x)"', re.IGNORECASE)


def read(stream: IO[bytes], file: str, lonlat: bool | None) -> RecordedSamples:
    sink = Sink(file)
    time_s: float | None = None

    def start(name: str, attributes: Attributes) -> None:
        nonlocal time_s
        if name in WHO and time_s is not None:
            try:
                sink.add(
                    time_s,
                    attributes["id"],
                    as_number(attributes["x"]),
                    as_number(attributes["y"]),
                    xml.line,
                    xml.column,
                )
            except (KeyError, ValueError):
                who = attributes.get("id")
                if who is None:
                    raise xml.error(f'<{name}> without id, expected id="..."') from None
                for key in ("x", "y"):
                    _number(xml, name, key, attributes.get(key))
                raise
        elif name == "timestep":
            text = attributes.get("time", "")
            time_s = _clock(text) if ":" in text else _number(xml, name, "time", attributes.get("time"))
            if time_s is None:
                raise xml.error(f"time: {text[:40]!r} is not a time, expected seconds or h:m:s")
        elif name in WHO:
            raise xml.error(f'<{name}> outside <timestep time="...">')
        elif len(xml.open) == 1 and name != "fcd-export":
            raise xml.error(f"<{name[:40]}>, expected <fcd-export>")

    xml = Xml(file, start)
    xml.parse(stream)
    return sink.finish("sumo_fcd", says_lonlat("".join(xml.comments)) if lonlat is None else lonlat)


def says_lonlat(head: str) -> bool:
    return GEO.search(head) is not None


def _number(xml: Xml, element: str, key: str, text: str | None) -> float:
    if text is None:
        raise xml.error(f'<{element}> without {key}, expected {key}="..."')
    try:
        return as_number(text)
    except ValueError:
        raise xml.error(f"{key}: {no_number(text)}") from None


def _clock(text: str) -> float | None:
    """Return a time in SUMO's format, such as 1:02:03:04.50, as seconds, or None for any other text."""
    parts = text.split(":")
    try:
        values = [as_number(part) for part in parts]
    except ValueError:
        return None
    if len(values) > 4:
        return None
    return sum(value * unit for value, unit in zip(reversed(values), (1, 60, 3600, 86_400), strict=False))
