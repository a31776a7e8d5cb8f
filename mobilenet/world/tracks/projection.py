"""Convert between positions on Earth and positions on the plane.

Model     The plane touches the ellipsoid WGS84 at the origin, with x to the east and y to the north. Positions are
          projected vertically onto the plane (the horizontal part of local east-north-up coordinates). Closed formulas
          make a conversion and its inverse exact to a micrometre. Distances are too short by d^2 / 2R^2: 1 cm in 300 m
          up to 50 km from the origin, 0.01 % at 90 km, and 1.2 % at 1000 km, the maximum distance of tracks.
Units     Coordinates are in degrees or metres.
Shapes    float64 arrays of the same length.
Errors    None. The caller has checked longitudes and latitudes.
Source    WGS84; EPSG Guidance Note 7-2, 4.1.2 (geocentric to topocentric)
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from mobilenet.parameters import Parameters

Floats = NDArray[np.float64]

FARTHEST_M = 1_000_000.0  # maximum distance from (0, 0)
A_M = 6_378_137.0
FLATTENING = 1 / 298.257223563
E2 = FLATTENING * (2 - FLATTENING)
B_M = A_M * (1 - FLATTENING)


class Origin(Parameters):
    """The position of (0, 0) on Earth."""

    lon: float = Field(ge=-180, le=180, description="longitude, positive to the east")
    lat: float = Field(ge=-85, le=85, description="latitude, positive to the north")


class Offset(NamedTuple):
    """The position of (0, 0) in files whose coordinates in metres are far from their origin, such as UTM
    coordinates.
    """

    x_m: float
    y_m: float

    @classmethod
    def of(cls, x: Floats, y: Floats) -> Self:
        """Return the centre of distant positions, rounded to whole kilometres so that all files of a town get the same
        result.
        """
        return cls(*(1000.0 * round(float((v.min() + v.max()) / 2000)) for v in (x, y)))

    def subtract(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return the positions relative to (0, 0), rounded to whole micrometres, like positions on Earth."""
        return np.round(x - self.x_m, 6) + 0.0, np.round(y - self.y_m, 6) + 0.0

    @property
    def advice(self) -> str:
        """Advice on choosing the offset, to append to an error message."""
        return f"expected --offset {self.x_m:.0f},{self.y_m:.0f} (offset_m in a scenario)"


Anchor = Origin | Offset


class _Frame(NamedTuple):
    place: Floats  # geocentric position of the origin
    axes: Floats  # unit vectors as rows: east, north, up


def to_plane(lon: ArrayLike, lat: ArrayLike, origin: Origin) -> tuple[Floats, Floats]:
    """Return x and y of positions on Earth, rounded to whole micrometres. Without rounding, the results of runs would
    differ between machines, because the last bits of a sine do.
    """
    frame = _frame(origin)
    east, north, _ = frame.axes @ (_geocentric(lon, lat) - frame.place[:, None])
    return np.round(east, 6) + 0.0, np.round(north, 6) + 0.0


def to_earth(x: ArrayLike, y: ArrayLike, origin: Origin) -> tuple[Floats, Floats]:
    """Return longitude and latitude of positions on the plane, projected vertically onto the ellipsoid."""
    frame = _frame(origin)
    east, north, up = frame.axes
    flat = (
        frame.place[:, None]
        + east[:, None] * np.atleast_1d(np.asarray(x, float))
        + north[:, None] * np.atleast_1d(np.asarray(y, float))
    )
    scale = np.array([A_M, A_M, B_M])
    # On the unit sphere: solve |p + s u| = 1 and take the nearer of the two solutions.
    p, u = flat / scale[:, None], up / scale
    a, b, c = u @ u, u @ p, (p * p).sum(axis=0) - 1
    s = -c / (b + np.sqrt(np.maximum(b * b - a * c, 0.0)))
    px, py, pz = flat + up[:, None] * s
    return np.degrees(np.arctan2(py, px)), np.degrees(np.arctan2(pz, (1 - E2) * np.hypot(px, py)))


def centre(lon: Floats, lat: Floats) -> Origin:
    """Return the centre of the positions, rounded to millionths of a degree so that it is the same on every machine."""
    middles = [round(float((v.min() + v.max()) / 2), 6) for v in (lon, lat)]
    return Origin(lon=middles[0], lat=middles[1])


def far_offset(x: Floats, y: Floats) -> Offset | None:
    """Return an offset that moves the positions close to (0, 0), or None if they are not far away."""
    return Offset.of(x, y) if is_far(x, y).any() else None


def is_far(x: Floats, y: Floats) -> NDArray[np.bool_]:
    """Return which positions are too far from (0, 0)."""
    return np.maximum(np.abs(x), np.abs(y)) > FARTHEST_M


def beyond_the_line(lon: Floats, seen_from: float) -> NDArray[np.bool_]:
    """Return which positions are on the other side of the 180th meridian, as seen from the longitude `seen_from`.
    Return only False unless the positions lie close together on both sides of this meridian.
    """
    if np.ptp(lon) <= 180 or np.ptp(lon % 360) >= 90:
        return np.zeros(len(lon), dtype=np.bool_)
    return np.not_equal(lon < 0, seen_from < 0)


def _geocentric(lon: ArrayLike, lat: ArrayLike) -> Floats:
    longitude, latitude = (
        np.radians(np.atleast_1d(np.asarray(lon, float))),
        np.radians(np.atleast_1d(np.asarray(lat, float))),
    )
    normal = A_M / np.sqrt(1 - E2 * np.sin(latitude) ** 2)
    ring = normal * np.cos(latitude)
    return np.array([ring * np.cos(longitude), ring * np.sin(longitude), normal * (1 - E2) * np.sin(latitude)])


def _frame(origin: Origin) -> _Frame:
    lon, lat = np.radians(origin.lon), np.radians(origin.lat)
    axes = np.array([
        [-np.sin(lon), np.cos(lon), 0.0],
        [-np.sin(lat) * np.cos(lon), -np.sin(lat) * np.sin(lon), np.cos(lat)],
        [np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)],
    ])  # fmt: skip
    return _Frame(_geocentric(origin.lon, origin.lat)[:, 0], axes)
