"""Draw a run as a folium map, to which users can add layers.

Model     run directory → arrays (viz/map/record.py) → feature groups (ground.py, motion.py) on a folium.Map whose page
          needs no network (offline.py). The same run always gives the same bytes
Errors    RunError for a directory that is not a run of hosts and stations, RecordError for a file that cannot be
          written
Source    ours: docs/guide/folium.md
"""

from __future__ import annotations

from pathlib import Path

import folium
import numpy as np
from branca.element import Element

from mobilenet.record.provenance import stamping_of
from mobilenet.record.stamp import in_page, normal_command

from ..files import whole_file
from ..map.data import origin, require_origin
from ..map.page import ATTRIBUTION, TILES
from ..map.radio import Ground, ground_of, is_by_power
from ..map.record import Record, name_of_run, record
from .ground import standing_groups
from .motion import moving_groups
from .offline import OfflineFigure, elements_in
from .plane import Plane, inert

MARGIN = 1.05  # The bounds of the map are larger than the cells and tracks by this factor.
SLIDER_PX = 85  # the height of the time slider at the bottom of the map
STYLE = """<style>
.folium-map.leaflet-container { background: #f8f7f3; }
.folium-map .leaflet-timeline-control { margin: 0 1% 6px; width: 98%; padding: 6px; }
.folium-map .leaflet-timeline-control .sldr-ctrl-container { width: 130px; }
.folium-map .leaflet-timeline-control input[type="range"] { width: calc(100% - 150px); margin-top: 10px; }
.folium-map .leaflet-timeline-control .button-container button { width: 34px; }
.folium-map .leaflet-control-scale-line + .leaflet-control-scale-line { display: none; }
.folium-map .leaflet-heatmap-layer { pointer-events: none; }
</style>"""  # the style leaves space for the map, shows the scale only in metres, and lets clicks through the heat map
LEAST_ZOOM = -12  # without geographic coordinates, a metre is a pixel at zoom 0


def folium_map(folder: Path, tiles: bool = False) -> folium.Map:
    """Return the map of a run. With `tiles`, the map shows streets, which the browser loads from openstreetmap.org."""
    run = record(folder)
    if tiles:
        require_origin(folder, origin(run.scenario))
    plane = Plane.of(run.scenario)
    map_ = folium.Map(
        location=plane.locations(0, 0)[0].tolist(), crs="Simple" if plane.origin is None else "EPSG3857",
        tiles=TILES if tiles else None, attr=ATTRIBUTION, prefer_canvas=True, control_scale=True, zoom_snap=0.25,
        zoom_delta=0.5, font_size="0.8rem",
    )  # fmt: skip
    if plane.origin is None:
        map_.options["min_zoom"] = LEAST_ZOOM
    reception = ground_of(run) if is_by_power(run) else None
    moving, slider = moving_groups(run, plane)
    for group in (*standing_groups(run, plane, reception), *moving):
        group.add_to(map_)
    slider.add_to(map_)
    folium.LayerControl(collapsed=False).add_to(map_)
    map_.fit_bounds(_bounds(run, plane, reception), padding_bottom_right=(0, SLIDER_PX))
    figure = OfflineFigure(title=inert(f"{name_of_run(folder, run.scenario)} – mobilenet"))
    figure.header.add_child(Element(STYLE))
    map_.add_to(figure)
    _number(figure)
    return map_


def draw(folder: Path, out: Path, tiles: bool = False) -> int:
    """Write the map of a run. Return its size in bytes. An existing file is replaced when the new one is complete."""
    with whole_file(out, (".html", ".htm")) as partial:
        map_ = folium_map(folder, tiles)
        with stamping_of(folder, normal_command("map", "RUN", folium=True, tiles=tiles)):
            content = in_page(map_.get_root().render()).encode("utf-8")
        partial.write_bytes(content)
    return len(content)


def _bounds(run: Record, plane: Plane, reception: Ground | None) -> list[list[float]]:
    """Return the bounds of all cells and tracks."""
    squares = None if reception is None else reception.squares
    # The range without obstacles is usually larger than the actual range.
    reach_m = MARGIN * run.range_m if squares is None else 0.0
    rims = [] if squares is None else [squares.corners_m()]
    x, y = np.vstack([
        np.column_stack([run.places.x_m, run.places.y_m]), run.stations_m - reach_m, run.stations_m + reach_m, *rims,
    ]).T  # fmt: skip
    corners: list[list[float]] = plane.locations([x.min(), x.max()], [y.min(), y.max()]).tolist()
    return corners


def _number(root: Element) -> None:
    """Replace the random names that folium gives to elements, so that every drawing of a run has the same names."""
    for number, element in enumerate(elements_in(root)):
        element._id = f"mobilenet_{number}"
