"""Read polygons from GeoJSON.

Model     Only Polygons and MultiPolygons are read. If any feature has a property `building`, as in data from
          OpenStreetMap, only features whose `building` has a value other than "no" are read. Third coordinates are
          ignored. RFC 7946 always means degrees. Older files may name a coordinate system in `crs`, which then decides
          between degrees and metres. Degrees of every system are treated as WGS 84. A `crs` of null means a plane
          without a position on Earth.
Units     Coordinates are returned in the units of the file.
Errors    ScenarioError, such as `town.geojson: feature 3 ('Town hall'): ...`. Features are counted from 1.
Source    RFC 7946 (2016); Butler et al.: The GeoJSON Format Specification (2008) for `crs`; EPSG Geodetic Parameter
          Dataset for the codes
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from mobilenet.network.propagation.shapes import Corners, Shapes
from mobilenet.parameters import ScenarioError
from mobilenet.world.tracks.source import short

DEEPEST = 32
GEOMETRIES = ("Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon", "GeometryCollection")
DEGREES = re.compile(
    r"(CRS:?(84h?|83|27)|(^|[:/])(GCS_\w+|WGS[ _]?(19)?84|ETRS[ _]?(19)?89|NAD[ _]?(19)?(83|27)))$", re.I
)
EPSG = re.compile(r"EPSG[:/](?:[0-9.]*[:/])?(\d{4,6})$", re.I)
# fmt: off
GEOGRAPHIC = frozenset((
    3819, 3821, 3824, 3889, 3906, 4121, 4123, 4124, 4148, 4149, 4150, 4151, 4152, 4156, 4159, 4167, 4170, 4171,
    4173, 4190, 4200, 4202, 4203, 4207, 4230, 4231, 4240, 4258, 4265, 4267, 4269, 4272, 4275, 4277, 4283, 4284,
    4289, 4300, 4301, 4312, 4313, 4314, 4322, 4326, 4490, 4555, 4610, 4612, 4617, 4618, 4619, 4659, 4661, 4669,
    4674, 4737, 4740, 4756, 4759, 4761, 4765, 4818, 4937, 4939, 4955, 4957, 4959, 4979, 4989, 5365, 6135, 6318,
    6319, 6322, 6325, 6667, 6668, 6697, 6706, 7683, 7843, 7844, 7912, 8449, 9000, 9057, 9755,
))
# fmt: on
"""EPSG codes in degrees, two and three dimensions: those in wide use."""
PROJECTED = (range(2000, 4000), range(20_000, 33_000))
"""EPSG codes of projected coordinate systems in metres (or feet), other than those above."""


class _Constant(NamedTuple):
    """Represents NaN or Infinity. These values are not part of JSON, but many programs write them."""

    name: str


def read(text: str, file: str) -> Shapes:
    constants: list[_Constant] = []
    top = _parse(text, file, constants)
    if not isinstance(top, dict) or not isinstance(top.get("type"), str):
        raise ScenarioError(f'{file}: not GeoJSON; expected an object with a type, such as {{"type": ...}}')
    lonlat = _says_lonlat(top, file)
    shapes = Shapes(file, is_on_earth="crs" not in top or top["crs"] is not None)
    features = list(_features(top, file))
    if constants:
        _refuse_constants([*features, (file, top)])
    only_buildings = any(_is_building(feature) is not None for _, feature in features)
    for where, feature in features:
        if not only_buildings or _is_building(feature):
            for polygon in _polygons(feature.get("geometry"), where):
                shapes.add(where, [_corners(ring, where) for ring in polygon], lonlat)
    return shapes


def _parse(text: str, file: str, constants: list[_Constant]) -> Any:
    """Parse the text, and append the constants that it contains to `constants`."""

    def keep(name: str) -> _Constant:
        constants.append(_Constant(name))
        return constants[-1]

    try:
        return json.loads(text, parse_constant=keep)
    except json.JSONDecodeError as error:
        raise ScenarioError(f"{file}:{error.lineno}:{error.colno}: neither GeoJSON nor XML: {error.msg}") from None
    except RecursionError:
        raise ScenarioError(f"{file}: nested too deeply; expected GeoJSON") from None
    except ValueError:  # The number has thousands of digits.
        raise ScenarioError(f"{file}: contains a number with too many digits") from None


def _refuse_constants(parts: list[tuple[str, Any]]) -> None:
    """Raise an error if a part contains a constant that is not part of JSON. The error names the first such part."""
    for where, part in parts:
        left = [part]
        while left:
            value = left.pop()
            if isinstance(value, _Constant):
                raise ScenarioError(f"{where}: contains {value.name}, which is not a finite number")
            left += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _says_lonlat(top: dict[str, Any], file: str) -> bool | None:
    """Return whether `crs` means degrees, or None if there is no `crs` or it names an unknown system."""
    if top.get("crs") is None:
        return None
    try:
        name = top["crs"]["properties"]["name"]
    except (KeyError, TypeError):
        name = None
    if not isinstance(name, str):
        raise ScenarioError(f'{file}: crs: expected {{"type": "name", "properties": {{"name": ...}}}}')
    if DEGREES.search(name):
        return True
    if epsg := EPSG.search(name):
        if int(epsg[1]) in GEOGRAPHIC:
            return True
        if any(int(epsg[1]) in codes for codes in PROJECTED):
            return False
    return None


def _features(top: dict[str, Any], file: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each feature with a name for messages. A geometry without a feature counts as one feature."""
    if top["type"] not in ("FeatureCollection", "Feature"):
        yield file, {"geometry": top}
        return
    features = [top] if top["type"] == "Feature" else top.get("features")
    if not isinstance(features, list):
        raise ScenarioError(f"{file}: features: expected a list")
    for number, feature in enumerate(features, 1):
        where = f"{file}: feature {number}"
        if not isinstance(feature, dict) or feature.get("type") != "Feature":
            raise ScenarioError(f'{where}: expected an object with "type": "Feature"')
        properties = _properties(feature)
        names = (feature.get("id"), properties.get("name"), properties.get("id"), properties.get("@id"))
        called = next((name for name in names if isinstance(name, (str, int)) and name != ""), None)
        yield where if called is None else f"{where} ({short(called)})", feature


def _properties(feature: dict[str, Any]) -> dict[str, Any]:
    properties = feature.get("properties")
    return properties if isinstance(properties, dict) else {}


def _is_building(feature: dict[str, Any]) -> bool | None:
    """Return whether the feature is a building, or None if it has no property `building`."""
    properties = _properties(feature)
    return properties["building"] not in (None, False, "no") if "building" in properties else None


def _polygons(geometry: Any, where: str, depth: int = 0) -> Iterator[list[Any]]:
    """Yield the coordinates of each polygon of the geometry."""
    if geometry is None:  # The feature has no geometry.
        return
    if depth > DEEPEST:
        raise ScenarioError(f"{where}: collections nested more than {DEEPEST} levels deep")
    kind = geometry.get("type") if isinstance(geometry, dict) else None
    if kind not in GEOMETRIES:
        raise ScenarioError(f"{where}: not a GeoJSON geometry; expected a Polygon or MultiPolygon")
    if kind == "GeometryCollection":
        for part in _list(geometry, "geometries", where):
            yield from _polygons(part, where, depth + 1)
    elif kind == "Polygon":
        yield _list(geometry, "coordinates", where)
    elif kind == "MultiPolygon":
        for polygon in _list(geometry, "coordinates", where):
            if not isinstance(polygon, list):
                raise ScenarioError(f"{where}: coordinates: expected a list of polygons, each a list of rings")
            yield polygon


def _list(geometry: dict[str, Any], key: str, where: str) -> list[Any]:
    entries = geometry.get(key)
    if not isinstance(entries, list):
        raise ScenarioError(f"{where}: {key}: expected a list")
    return entries


def _corners(ring: Any, where: str) -> Corners:
    if not isinstance(ring, list):
        raise ScenarioError(f"{where}: coordinates: expected a list of rings, each a list of corners [x, y]")
    corners: Corners = []
    for corner in ring:
        if not (isinstance(corner, list) and len(corner) >= 2 and all(type(v) in (int, float) for v in corner[:2])):
            raise ScenarioError(f"{where}: {short(json.dumps(corner))} is not a corner, expected [x, y]")
        try:
            x, y = float(corner[0]), float(corner[1])
        except OverflowError:
            x = y = math.inf
        if not (math.isfinite(x) and math.isfinite(y)):
            raise ScenarioError(f"{where}: {short(json.dumps(corner))}: not finite numbers")
        corners.append((x, y))
    return corners
