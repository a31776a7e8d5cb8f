"""Transform positions of a run into positions on a folium map, and escape strings for its page.

Units     metres in the plane; on the map degrees of WGS84 or, without an origin, also metres
Shapes    `locations` has one row for each position, in folium's order: latitude and longitude, or y and x
Source    ours: docs/guide/folium.md
"""

from __future__ import annotations

import html
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mobilenet.world.tracks.projection import Origin, to_earth

from ..map.data import origin
from ..map.record import Floats, harmless_text

METRES, DEGREES = 2, 7  # decimal places; both correspond to about a centimetre


class Plane(NamedTuple):
    origin: Origin | None

    @classmethod
    def of(cls, scenario: dict[str, Any]) -> Plane:
        place = origin(scenario)
        return cls(None if place is None else Origin(**place))

    def locations(self, x_m: ArrayLike, y_m: ArrayLike) -> Floats:
        """Return the positions of these points on the map."""
        x, y = (np.atleast_1d(np.asarray(values, dtype=np.float64)) for values in (x_m, y_m))
        if self.origin is None:
            return np.column_stack([y, x]).round(METRES) + 0.0
        lon, lat = to_earth(x, y, self.origin)
        return np.column_stack([lat, lon]).round(DEGREES) + 0.0

    def coordinates(self, x_m: ArrayLike, y_m: ArrayLike) -> list[list[float]]:
        """Return the positions of these points in the order of GeoJSON."""
        pairs: list[list[float]] = self.locations(x_m, y_m)[:, ::-1].tolist()
        return pairs


def inert(text: object) -> str:
    """Return an external string as HTML that folium does not interpret as a template."""
    return html.escape(harmless_text(text)).replace("{", "&#123;").replace("}", "&#125;")


def feature(kind: str, coordinates: Any, **properties: Any) -> dict[str, Any]:
    """Return a GeoJSON feature with this geometry."""
    return {"type": "Feature", "geometry": {"type": kind, "coordinates": coordinates}, "properties": properties}


def collection(features: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "FeatureCollection", "features": features}
