"""The stationary parts of a folium map: cells, walls, holes, wires, stations, and a heat map of buffers.

Model     Each part is a named feature group of the map, which is omitted if the run does not contain the part. If the
          radio model uses power, cells are a picture of the best station in each square.
Units     metres; buffers in entries
Source    ours: docs/guide/folium.md
"""

from __future__ import annotations

from math import log2
from typing import Any

import folium
import numpy as np
from folium.plugins import HeatMap
from folium.raster_layers import ImageOverlay

from mobilenet.network.propagation.walls import Building
from mobilenet.record.reader import read_coded
from mobilenet.record.schema import buffers_of

from ..map.data import area, edges
from ..map.places import Grid
from ..map.radio import NOTHING, Ground, Squares
from ..map.record import Floats, Record
from ..style import QUIET, station_colour
from .plane import Plane, collection, feature, inert

INK = "#22303C"
LABEL = (  # The label of a station is a square in its colour with its name on a light background.
    "<div style='display:flex;align-items:center;gap:3px;white-space:nowrap;font:600 12px system-ui,sans-serif'>"
    "<span style='width:12px;height:12px;flex:none;background:{colour};border:2px solid #fff;outline:1px solid"
    " #22303C'></span><span style='background:#ffffffcc;padding:0 2px'>{name}</span></div>"
)
# The smaller side of a typical window. The heat map is drawn for the zoom level at which the run fills such a window.
VIEW_PX = 700
HEAT_PX = 18


def standing_groups(run: Record, plane: Plane, reception: Ground | None) -> list[folium.FeatureGroup]:
    """Return the groups of the stationary parts, from the bottom up."""
    squares = None if reception is None else reception.squares
    groups = [
        _picture(squares, plane) if squares is not None else _cells(run, plane),
        _walls([] if reception is None else reception.buildings, plane),
        _holes(run, plane),
        _heat(run, plane),
        _wires(run, plane),
        _stations(run, plane),
    ]
    return [group for group in groups if group is not None]


def station_label(run: Record, number: int) -> str:
    """Return the name of a station as HTML, beginning with its name in the record."""
    return _label(run, "station_names", f"s{number}")


def host_label(run: Record, number: int) -> str:
    return _label(run, "host_names", run.hosts[number])


def _label(run: Record, names: str, node: str) -> str:
    given = run.manifest.get(names)
    name = given.get(node) if isinstance(given, dict) else None
    return inert(f"{node} ({name})" if name else node)


def _cells(run: Record, plane: Plane) -> folium.FeatureGroup:
    group = folium.FeatureGroup(name="Cells")
    for number, location in enumerate(plane.locations(*run.stations_m.T).tolist()):
        colour = station_colour(number)
        folium.Circle(
            location, radius=run.range_m, color=colour, weight=1, opacity=0.6, fill=True, fill_opacity=0.08,
            interactive=False,
        ).add_to(group)  # fmt: skip
    return group


def _picture(squares: Squares, plane: Plane) -> folium.FeatureGroup:
    colours = np.array([[*_rgb(station_colour(number)), 70] for number in range(NOTHING)] + [[0, 0, 0, 0]])
    image = colours[squares.best].reshape(squares.rows, squares.columns, 4).astype(np.uint8)[::-1]
    corners = plane.locations(*squares.corners_m().T).tolist()
    group = folium.FeatureGroup(name="Cells")
    ImageOverlay(image, corners).add_to(group)
    return group


def _rgb(colour: str) -> list[int]:
    return [int(colour[place : place + 2], 16) for place in (1, 3, 5)]


def _walls(buildings: list[Building], plane: Plane) -> folium.FeatureGroup | None:
    polygons = [[_ring(np.array(ring) / 100, plane) for ring in building] for building in buildings]
    return _polygons("Walls", polygons, {"color": INK, "weight": 1, "fillColor": QUIET, "fillOpacity": 0.5})


def _holes(run: Record, plane: Plane) -> folium.FeatureGroup | None:
    polygons = [[_ring(np.array(ring), plane)] for ring in area(run.scenario)["holes_m"] if ring]
    style = {"color": INK, "weight": 1, "dashArray": "4 4", "fillColor": QUIET, "fillOpacity": 0.25}
    return _polygons("Holes", polygons, style)


def _ring(corners_m: Floats, plane: Plane) -> list[list[float]]:
    closed = np.vstack([corners_m, corners_m[:1]])
    return plane.coordinates(closed[:, 0], closed[:, 1])


def _polygons(name: str, polygons: list[Any], style: dict[str, Any]) -> folium.FeatureGroup | None:
    if not polygons:
        return None
    group = folium.FeatureGroup(name=name)
    shapes = collection([feature("Polygon", rings, number=number) for number, rings in enumerate(polygons)])
    folium.GeoJson(shapes, style_function=lambda _: style, interactive=False).add_to(group)
    return group


def _wires(run: Record, plane: Plane) -> folium.FeatureGroup | None:
    pairs = edges(run.manifest, len(run.stations_m))
    if not pairs:
        return None
    at = plane.coordinates(*run.stations_m.T)
    group = folium.FeatureGroup(name="Wired tree" if len(pairs) < len(at) else "Wires")
    lines = collection([feature("LineString", [at[one], at[other]], number=n) for n, (one, other) in enumerate(pairs)])
    style = {"color": INK, "weight": 2, "opacity": 0.7}
    folium.GeoJson(lines, style_function=lambda _: style, interactive=False).add_to(group)
    return group


def _stations(run: Record, plane: Plane) -> folium.FeatureGroup:
    group = folium.FeatureGroup(name="Stations")
    for number, location in enumerate(plane.locations(*run.stations_m.T).tolist()):
        label = LABEL.format(colour=station_colour(number), name=f"s{number}")
        icon = folium.DivIcon(html=label, icon_size=(60, 16), icon_anchor=(8, 8), class_name="")
        folium.Marker(location, icon=icon, tooltip=station_label(run, number)).add_to(group)
    return group


def _heat(run: Record, plane: Plane) -> folium.FeatureGroup | None:
    """Draw the mean number of entries in the buffers of the hosts in each square."""
    grid = Grid(run)
    x, y, entries = _entries(run)
    if not entries.any():
        return None
    column, row = (np.floor((v - least) / grid.side_m).astype(np.int64) for v, least in ((x, grid.x_m), (y, grid.y_m)))
    squares, inverse, counts = np.unique(row * 100_000 + column, return_inverse=True, return_counts=True)
    means = np.bincount(inverse, weights=entries) / counts
    middles = [least + (place + 0.5) * grid.side_m
               for least, place in ((grid.x_m, squares % 100_000), (grid.y_m, squares // 100_000))]  # fmt: skip
    weights = np.minimum(1, means / np.quantile(means, 0.95)).round(3)
    extent_m = max(np.ptp(x), np.ptp(y), grid.side_m)
    zoom = log2(VIEW_PX / extent_m) if plane.origin is None else log2(VIEW_PX / extent_m * 156_543)
    group = folium.FeatureGroup(name="Buffers of hosts", show=False)
    data = np.column_stack([plane.locations(*middles), weights]).tolist()
    heat = HeatMap(  # type: ignore[no-untyped-call]
        data, radius=HEAT_PX, blur=HEAT_PX, min_opacity=0.05, max_zoom=round(zoom)
    )
    heat.add_to(group)
    return group


def _entries(run: Record) -> tuple[Floats, Floats, Floats]:
    """Return all recorded positions of hosts, and how many entries the host's buffers contained at each position."""
    samples = read_coded(run.folder, "samples")
    owner, quantity = samples.column("node").number(run.host_of), samples.column("quantity")
    time_ns, value = samples.numbers("time_ns"), samples.numbers("value")
    places = run.places
    entries = np.zeros(len(places.host))
    span = int(max(time_ns.max(initial=0), places.time_ns.max(initial=0))) + 1
    for name in buffers_of(run.manifest)["h"]:
        rows = np.flatnonzero((owner >= 0) & (quantity.codes == quantity.code(name)))
        rows = rows[np.lexsort((time_ns[rows], owner[rows]))]
        last = np.searchsorted(owner[rows] * span + time_ns[rows], places.host * span + places.time_ns, "right") - 1
        is_own = (last >= 0) & (owner[rows][last] == places.host) if len(rows) else np.zeros(len(entries), dtype=bool)
        entries[is_own] += value[rows[last[is_own]]]
    return places.x_m, places.y_m, entries
