"""Export tracks, handoffs and stations as GeoJSON, and tracks as trips for kepler.gl.

Model     Each station (Point), each host (LineString, or Point if it has only one position) and each handoff (Point)
          becomes one Feature. A trip is a LineString whose positions are [lon, lat, altitude, seconds since 1970]; the
          run begins at `epoch_s`
Units     degrees on WGS84 with 8 decimals (1 mm), seconds
Errors    NoOrigin, see source.py; RunError if no host has the two positions that a trip needs
Source    RFC 7946; kepler.gl, "Trip layer"
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mobilenet.lab.export.source import Source, on_earth
from mobilenet.record.reader import RunError
from mobilenet.record.stamp import as_member
from mobilenet.record.writer import RecordError

EPOCH_S = 1_704_067_200  # the default start of a trip, 2024-01-01T00:00:00Z


def write_geojson(source: Source, target: Path) -> int:
    """Write stations, tracks and handoffs, and return the number of features."""
    source.require_origin()
    return _write(_features(source), target)


def write_kepler(source: Source, target: Path, epoch_s: float = EPOCH_S) -> int:
    source.require_origin()
    if len(without_trip(source)) == source.tracks.id.nunique():
        hosts = source.manifest.get("hosts", 0)
        raise RunError(
            f"{source.folder}: no tracks to show: "
            + (
                "no hosts"
                if not hosts
                else (
                    "every track has only one position; expected a longer run, or a smaller record.positions_interval_s"
                )
            )
        )
    return _write(_trips(source, epoch_s), target)


def without_trip(source: Source) -> list[str]:
    """Return the hosts that have only one position."""
    counts = source.tracks.groupby("id", sort=False).size()
    return [str(host) for host in counts.index[counts < 2]]


def _features(source: Source) -> Iterator[dict[str, Any]]:
    origin = source.require_origin()
    for s in on_earth(source.stations, origin).itertuples():
        yield _feature(
            {"type": "Point", "coordinates": [s.lon, s.lat]},
            kind="station",
            id=s.id,
            name=s.name,
            range_m=source.manifest["range_m"],
        )
    for host, own in on_earth(source.tracks, origin).groupby("id", sort=False):
        path = own[["lon", "lat"]].to_numpy().tolist()
        shape = (
            {"type": "LineString", "coordinates": path} if len(path) > 1 else {"type": "Point", "coordinates": path[0]}
        )
        yield _feature(shape, kind="track", id=host, name=own["name"].iloc[0], times_s=own.t_s.round(9).tolist())
    for h in on_earth(source.handoffs.dropna(subset=["x_m"]), origin).itertuples():
        yield _feature(
            {"type": "Point", "coordinates": [h.lon, h.lat]}, kind="handoff", host=h.host, name=h.name,
            from_station=h.from_station,
            to_station=h.to_station, start_s=h.start_s, end_s=_finite(h.end_s), duration_s=_finite(h.duration_s),
        )  # fmt: skip


def _trips(source: Source, epoch_s: float) -> Iterator[dict[str, Any]]:
    for host, own in on_earth(source.tracks, source.require_origin()).groupby("id", sort=False):
        if len(own) > 1:
            positions = [
                [lon, lat, 0, round(epoch_s + t_s, 3)] for t_s, lon, lat in zip(own.t_s, own.lon, own.lat, strict=True)
            ]
            yield _feature({"type": "LineString", "coordinates": positions}, id=host, name=own["name"].iloc[0])


def _finite(value: Any) -> float | None:
    return None if value is None or value != value else float(value)


def _feature(geometry: dict[str, Any], **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def _write(features: Iterator[dict[str, Any]], target: Path) -> int:
    """Write the features one by one. In names, escape `<` too, because the file may become part of a web page."""
    count = 0
    try:
        with target.open("w", encoding="utf-8") as file:
            file.write('{"type": "FeatureCollection", "features": [')
            for feature in features:
                text = json.dumps(feature, allow_nan=False).replace("<", "\\u003c")
                file.write(("," if count else "") + "\n" + text)
                count += 1
            file.write(f"\n]{as_member()}}}\n")
    except OSError as error:
        raise RecordError(f"{target}: could not be written completely: {error.strerror}") from error
    return count
