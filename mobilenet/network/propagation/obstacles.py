"""Read buildings from a file.

Model     A file that begins like XML contains SUMO's polygons, and any other file GeoJSON. Both may be compressed with
          gzip. SUMO's `geo` and GeoJSON's `crs` can declare the unit. Otherwise, coordinates within the range of
          degrees are taken as degrees in two cases. First, their extent makes no sense in metres: the median polygon is
          less than 0.05 wide and high, or all polygons together measure less than 1, or less than 5 while most numbers
          are finer than a millimetre. Second, `crs` is not null and no corner would be farther than 1000 km from the
          origin. Buildings may overlap or share a wall (walls.py).
Units     Files are in metres or degrees. The result is in whole centimetres.
Errors    ScenarioError with one line: the file, the polygon, the problem, and what was expected.
Source    ours: docs/models/propagation.md
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

import numpy as np
import shapely
from numpy.typing import NDArray

from mobilenet.network.propagation import geojson, sumo_polygons
from mobilenet.network.propagation.parameters import ObstaclesParameters
from mobilenet.network.propagation.shapes import Corners, Shape, Shapes
from mobilenet.network.propagation.walls import Building, Ring, Walls
from mobilenet.parameters import ScenarioError
from mobilenet.world.tracks.projection import FARTHEST_M, Anchor, Offset, Origin, to_plane
from mobilenet.world.tracks.source import head, open_tracks, path_text

MOST_BYTES = 100_000_000
POST = 0.05  # metres; a polygon of this size in degrees would be 5 km wide
CUPBOARD = 1.0
KIOSK = 5.0
DECIMALS = 3
CM = 100


def walls(parameters: ObstaclesParameters, folder: Path, origin: Anchor | None = None) -> Walls:
    """Return the walls of the buildings. The path in `parameters.file` is relative to `folder`."""
    buildings = read_buildings(folder / parameters.file, origin)
    return Walls(buildings, round(100 * parameters.per_wall_db), round(100 * parameters.per_metre_db))


def read_buildings(path: Path, origin: Anchor | None = None) -> list[Building]:
    """Return the buildings with the corners of their outlines in the plane of the scenario."""
    shapes = _read(path)
    if not shapes.all:
        raise ScenarioError(f"{shapes.file}: contains no buildings; expected polygons")
    lonlat = _are_lonlat(shapes, origin)
    return [_building(shape, lonlat if shape.lonlat is None else shape.lonlat, origin) for shape in shapes.all]


def _read(path: Path) -> Shapes:
    file = path_text(path)
    is_xml = head(path).lstrip().startswith("<")
    with open_tracks(path) as stream:
        if is_xml:
            return sumo_polygons.read(stream, file)
        data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ScenarioError(f"{file}: more than {MOST_BYTES // 1_000_000} MB; expected only the buildings in the area")
    try:
        return geojson.read(data.decode("utf-8-sig"), file)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ScenarioError(f"{file}:{line}: not UTF-8 text") from None


def _are_lonlat(shapes: Shapes, origin: Anchor | None) -> bool:
    """Decide whether numbers are degrees if the file does not declare their unit."""
    unsaid = [shape for shape in shapes.all if shape.lonlat is None]
    corners = [[corner for ring in shape.rings for corner in ring] for shape in unsaid]
    everything = np.array([corner for each in corners for corner in each])
    if not len(everything) or (np.abs(everything) > (180, 90)).any():
        return False
    if median(np.ptp(each, axis=0).max() for each in corners if each) < POST:
        return True
    extent = np.ptp(everything, axis=0).max()
    fine = everything != np.round(everything, DECIMALS)
    if extent < CUPBOARD or (extent < KIOSK and fine.mean() > 0.5):
        return True
    if not shapes.is_on_earth:
        return False
    if origin is None:
        raise ScenarioError(
            f"{unsaid[0].where}: is read as longitudes and latitudes, because the file has no crs that mobilenet knows"
            " (RFC 7946), but the position of (0, 0) is not given; expected origin: {lon, lat} or, if the coordinates"
            ' are in metres, "crs": null in the file'
        )
    return isinstance(origin, Origin) and bool(_is_near(everything[:, 0], everything[:, 1], origin).all())


def _building(shape: Shape, lonlat: bool, origin: Anchor | None) -> Building:
    rings = [ring[:-1] if len(ring) > 1 and ring[0] == ring[-1] else ring for ring in shape.rings]
    if not rings or any(len(set(ring)) < 3 for ring in rings):
        raise ScenarioError(f"{shape.where}: has no area; expected rings with at least three corners")
    if lonlat:
        rings = [_on_plane(shape, ring, origin) for ring in rings]
    elif isinstance(origin, Offset):
        rings = [[(x - origin.x_m, y - origin.y_m) for x, y in ring] for ring in rings]
    for x, y in (corner for ring in rings for corner in ring):
        if not (abs(x) <= FARTHEST_M and abs(y) <= FARTHEST_M):
            raise ScenarioError(
                f"{shape.where}: ({x:.10g}, {y:.10g}) m is more than 1000 km from the origin; expected metres in the"
                " plane of the stations"
            )
    building = [_in_cm(ring) for ring in rings]
    if any(shapely.MultiPoint(ring).convex_hull.area == 0 for ring in rings):
        raise ScenarioError(f"{shape.where}: has no area, because its corners lie on a line")
    polygon = shapely.Polygon(rings[0], rings[1:])
    if not polygon.is_valid:
        why, _, where = shapely.is_valid_reason(polygon).rstrip("]").partition("[")
        at = "" if lonlat else f" at ({', '.join(where.split())})"
        raise ScenarioError(f"{shape.where}: its border crosses or touches itself{at}: {why.lower()}")
    if any(_doubled_area(ring) == 0 for ring in building):
        raise ScenarioError(
            f"{shape.where}: has no area when rounded to centimetres; expected metres, or a larger shape"
        )
    return building


def _on_plane(shape: Shape, ring: Corners, origin: Anchor | None) -> Corners:
    lon, lat = np.array(ring).T
    if not isinstance(origin, Origin):
        raise ScenarioError(
            f"{shape.where}: contains longitudes and latitudes, but the position of (0, 0) is not given; expected"
            " origin: {lon, lat}"
        )
    for i in np.flatnonzero((np.abs(lon) > 180) | (np.abs(lat) > 90))[:1]:
        raise ScenarioError(f"{shape.where}: ({lon[i]:.10g}, {lat[i]:.10g}) is not a longitude and latitude")
    for i in np.flatnonzero(~_is_near(lon, lat, origin))[:1]:
        raise ScenarioError(
            f"{shape.where}: ({lon[i]:.10g}, {lat[i]:.10g}) is more than 1000 km from the origin, longitude"
            f" {origin.lon:g}, latitude {origin.lat:g}"
        )
    x, y = to_plane(lon, lat, origin)
    return list(zip(x.tolist(), y.tolist(), strict=True))


def _is_near(lon: NDArray[np.float64], lat: NDArray[np.float64], origin: Origin) -> NDArray[np.bool_]:
    """Return which points are within the maximum distance from the origin."""
    x, y = to_plane(lon, lat, origin)
    return (np.hypot(x, y) <= FARTHEST_M) & (np.abs(lon - origin.lon) < 90)


def _in_cm(ring: Corners) -> Ring:
    return [(round(x * CM), round(y * CM)) for x, y in ring]


def _doubled_area(ring: Ring) -> int:
    return sum(ax * by - ay * bx for (ax, ay), (bx, by) in zip(ring, [*ring[1:], ring[0]], strict=True))
