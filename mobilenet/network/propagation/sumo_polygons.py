"""Read buildings from the polygons of a SUMO file.

Model     An example is <additional><poly id="1" type="building" shape="5.1,4.0 9.5,4.0 9.5,8.3" .../></additional>.
          Only polygons of the type `building`, or of a subtype such as `building.house`, are read. The tool polyconvert
          writes such types. With geo="true", a shape is in longitudes and latitudes. Third coordinates are ignored.
Units     Coordinates are in metres or degrees.
Errors    ScenarioError, such as `town.poly.xml:17:5: poly '1': ...`, see world/tracks/xml.py.
Source    Eclipse SUMO, Simulation/Shapes and data/xsd/additional_file.xsd
"""

from __future__ import annotations

import math
from typing import IO

from mobilenet.network.propagation.shapes import Corners, Shapes
from mobilenet.world.tracks.source import short
from mobilenet.world.tracks.table import as_number
from mobilenet.world.tracks.xml import Attributes, Xml

ROOTS = ("additional", "shapes")
YES = ("true", "1", "t", "yes", "on", "x")


def read(stream: IO[bytes], file: str) -> Shapes:
    shapes = Shapes(file)

    def start(name: str, attributes: Attributes) -> None:
        if len(xml.open) == 1 and name not in ROOTS:
            raise xml.error(f"<{name[:40]}>, expected <additional>, as SUMO's polyconvert writes it")
        kind = attributes.get("type", "").lower()
        if name == "poly" and (kind == "building" or kind.startswith("building.")):
            where = f"{file}:{xml.line}:{xml.column}: poly {short(attributes.get('id', ''))}"
            lonlat = attributes.get("geo", "").lower() in YES
            shapes.add(where, [_corners(xml, attributes)], lonlat)

    xml = Xml(file, start)
    xml.parse(stream)
    return shapes


def _corners(xml: Xml, attributes: Attributes) -> Corners:
    corners: Corners = []
    called = short(attributes.get("id", ""))
    for corner in attributes.get("shape", "").split():
        try:
            x, y = (as_number(text) for text in corner.split(",", 2)[:2])
        except ValueError:
            raise xml.error(f"poly {called}: shape: {short(corner)} is not a corner, expected x,y") from None
        if not (math.isfinite(x) and math.isfinite(y)):
            raise xml.error(f"poly {called}: shape: {short(corner)}: not finite numbers")
        corners.append((x, y))
    return corners
