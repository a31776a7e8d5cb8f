"""Polygons from GeoJSON.

Model     a FeatureCollection, a Feature or a geometry. Polygon and MultiPolygon are taken, GeometryCollections looked
          into; points and lines are passed over. Where a feature has a property `building`, as OpenStreetMap's have,
          only those are taken that do (other than "no"). A third coordinate is passed over. `crs`, which older files
          have, says whether numbers are degrees; RFC 7946 does not know it, and means degrees always
Units     as the file has them
Errors    ScenarioError, `town.geojson: feature 3 ('Town hall'): ...`, features counted from 1
Source    RFC 7946 (2016); Butler et al.: The GeoJSON Format Specification (2008) for `crs`
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from mobilenet.parameters import ScenarioError
from mobilenet.propagation.shapes import Corners, Shapes
from mobilenet.tracks.source import short

DEEPEST = 32
GEOMETRIES = ("Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon", "GeometryCollection")
DEGREES = re.compile(r"(CRS:?84|EPSG:+4326)$", re.IGNORECASE)


def read(text: str, file: str) -> Shapes:
    top = _parsed(text, file)
    if not isinstance(top, dict) or not isinstance(top.get("type"), str):
        raise ScenarioError(f'{file}: no GeoJSON: expected an object with a type, as {{"type": ...}}')
    lonlat = _says_lonlat(top, file)
    shapes = Shapes(file)
    features = list(_features(top, file))
    only_buildings = any(_is_building(feature) is not None for _, feature in features)
    for where, feature in features:
        if not only_buildings or _is_building(feature):
            for polygon in _polygons(feature.get("geometry"), where):
                shapes.add(where, [_corners(ring, where) for ring in polygon], lonlat)
    return shapes


def _parsed(text: str, file: str) -> Any:
    def refuse(constant: str) -> None:
        raise ScenarioError(f"{file}: {constant} in it, which is no finite number")

    try:
        return json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise ScenarioError(f"{file}:{error.lineno}:{error.colno}: neither GeoJSON nor XML: {error.msg}") from None
    except RecursionError:
        raise ScenarioError(f"{file}: nested without end; expected GeoJSON") from None
    except ValueError:  # thousands of digits
        raise ScenarioError(f"{file}: a number in it has too many digits") from None


def _says_lonlat(top: dict[str, Any], file: str) -> bool | None:
    if top.get("crs") is None:
        return None
    try:
        name = top["crs"]["properties"]["name"]
    except (KeyError, TypeError):
        name = None
    if not isinstance(name, str):
        raise ScenarioError(f'{file}: crs: expected {{"type": "name", "properties": {{"name": ...}}}}')
    return DEGREES.search(name) is not None


def _features(top: dict[str, Any], file: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each with what to call it; a bare geometry is one."""
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
    """None: it does not say."""
    properties = _properties(feature)
    return properties["building"] not in (None, False, "no") if "building" in properties else None


def _polygons(geometry: Any, where: str, depth: int = 0) -> Iterator[list[Any]]:
    """The coordinates of each."""
    if geometry is None:  # a feature without a place
        return
    if depth > DEEPEST:
        raise ScenarioError(f"{where}: more than {DEEPEST} collections inside each other")
    kind = geometry.get("type") if isinstance(geometry, dict) else None
    if kind not in GEOMETRIES:
        raise ScenarioError(f"{where}: no geometry of GeoJSON, expected a Polygon or MultiPolygon")
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
    found = geometry.get(key)
    if not isinstance(found, list):
        raise ScenarioError(f"{where}: {key}: expected a list")
    return found


def _corners(ring: Any, where: str) -> Corners:
    if not isinstance(ring, list):
        raise ScenarioError(f"{where}: coordinates: expected a list of rings, each a list of corners [x, y]")
    corners: Corners = []
    for corner in ring:
        if not (isinstance(corner, list) and len(corner) >= 2 and all(type(v) in (int, float) for v in corner[:2])):
            raise ScenarioError(f"{where}: {short(json.dumps(corner))} is no corner, expected [x, y]")
        try:
            x, y = float(corner[0]), float(corner[1])
        except OverflowError:
            x = y = math.inf
        if not (math.isfinite(x) and math.isfinite(y)):
            raise ScenarioError(f"{where}: {short(json.dumps(corner))}: no finite numbers")
        corners.append((x, y))
    return corners
