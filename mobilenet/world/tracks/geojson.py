"""Read GeoJSON with times: single points with one time each, or whole tracks as lines.

Model     A Point has its time as a property of its Feature (`t`, `time`, `timestamp`, ...). A LineString has one time
          for each position: either in a list (`times`, `times_s`, `coordTimes`, also within `coordinateProperties`), or
          as a fourth number in each position, like the trips of kepler.gl. A MultiLineString has a list of times for
          each line. The host's name is a property (`id`, `host`, `name`, ...) or the id of the feature. Features
          without times are skipped and counted.
Units     Coordinates are in degrees. Times are in seconds, seconds since 1970, or ISO 8601 dates.
Errors    ScenarioError with the numbers of the feature and the position instead of line and column.
Source    RFC 7946; mapbox/togeojson (coordTimes); kepler.gl, "Trip layer"
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import IO, Any

from mobilenet.parameters import ScenarioError
from mobilenet.quoting import pluralize
from mobilenet.world.tracks.gpx import no_date, seconds
from mobilenet.world.tracks.samples import RecordedSamples, Sink
from mobilenet.world.tracks.source import short

TIME = ("t", "t_s", "time", "time_s", "timestamp", "date")
TIMES = ("times", "times_s", "coordTimes")
# Names of WGS 84 in the member `crs`, which RFC 7946 no longer contains.
DEGREES = re.compile(r"CRS:?:?84$|EPSG:+(?:[\d.]*:)?4326$", re.IGNORECASE)
NO_PLACES = (None, "Polygon", "MultiPolygon")  # kinds of geometry that cannot describe the position of a host
ID = ("id", "host", "host_id", "node", "vehicle", "name")


def read(stream: IO[bytes], file: str, lonlat: bool | None) -> RecordedSamples:
    sink = Sink(file)
    skipped, has_dates = 0, False
    for number, feature in enumerate(_features(stream, file), 1):
        properties, geometry = (_group(feature, key) for key in ("properties", "geometry"))
        kind, coordinates = geometry.get("type"), geometry.get("coordinates")
        positions: list[Any] = [coordinates] if kind == "Point" or not isinstance(coordinates, list) else coordinates
        times = None if kind in NO_PLACES else _times(properties, positions)
        if kind == "MultiLineString" and times and all(isinstance(part, list) for part in (*times, *positions)):
            if [*map(len, times)] != [*map(len, positions)]:
                raise sink.error(number, 1, "not as many times as positions in each line")
            times, positions = [*chain(*times)], [*chain(*positions)]
        elif times is not None and kind not in ("Point", "LineString"):
            raise sink.error(number, 1, f"{short(kind)}: expected a Point or a LineString")
        if times is None:
            skipped += 1
            continue
        if len(times) != len(positions):
            raise sink.error(number, 1, f"{len(times)} times for {len(positions)} positions")
        name = next((properties[key] for key in ID if properties.get(key) is not None), feature.get("id", number))
        for place, (time, position) in enumerate(zip(times, positions, strict=True), 1):
            has_dates |= isinstance(time, str)
            try:
                t_s = seconds(time) if isinstance(time, str) else _number(time)
                lon, lat = map(_number, position[:2])
            except (TypeError, ValueError):
                what = f"t: {no_date(time)}" if isinstance(time, str) else f"{short([time, position])}: not numbers"
                raise sink.error(number, place, what) from None
            sink.add(t_s, str(name), lon, lat, number, place)
    if skipped and not sink.numbers:
        raise ScenarioError(f"{file}: contains no tracks: {pluralize(skipped, 'feature')} without times")
    return replace(sink.finish("geojson", True, dates=has_dates), skipped=skipped)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError
    return float(value)


def _features(stream: IO[bytes], file: str) -> Iterator[dict[str, Any]]:
    try:
        content = json.load(stream)
    except UnicodeDecodeError:
        raise ScenarioError(f"{file}: not UTF-8 text") from None
    except RecursionError:
        raise ScenarioError(f"{file}: nested too deeply") from None
    except ValueError as error:
        raise ScenarioError(f"{file}: not JSON: {error}") from None
    features = content.get("features", [content]) if isinstance(content, dict) else None
    if not isinstance(features, list):
        raise ScenarioError(f"{file}: JSON, but not GeoJSON; expected a FeatureCollection")
    named = _group(_group(content, "crs"), "properties").get("name")
    if named is not None and not DEGREES.search(str(named)):
        raise ScenarioError(f"{file}: crs: {short(named)}; expected longitudes and latitudes (CRS84 or EPSG:4326)")
    for number, one in enumerate(features, 1):
        if not isinstance(one, dict) or one.get("type") != "Feature":
            kind = one.get("type") if isinstance(one, dict) else one
            raise ScenarioError(f"{file}:{number}:1: {short(kind)}: expected a Feature")
        yield one


def _group(feature: dict[str, Any], key: str) -> dict[str, Any]:
    value = feature.get(key)
    return value if isinstance(value, dict) else {}


def _times(properties: dict[str, Any], positions: list[Any]) -> list[Any] | None:
    """Return the times of the positions, or None if there are none."""
    within = {**_group(properties, "coordinateProperties"), **properties}
    times: list[Any] | None = next((within[key] for key in TIMES if isinstance(within.get(key), list)), None)
    if times is not None:
        return times
    if len(positions) == 1 and (time := next((properties[k] for k in TIME if k in properties), None)) is not None:
        return [time]
    if positions and all(isinstance(position, list) and len(position) > 3 for position in positions):
        return [position[3] for position in positions]
    return None
