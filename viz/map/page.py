"""Make the page of a map from Leaflet, a drawing on top of it, and the data. The page makes no requests.

Model     Data from a run never become part of markup, styles or scripts. They are JSON in a separate element, and
          scripts only write them as text.
Units     without an origin the plane itself in metres (L.CRS.Simple), otherwise degrees on Leaflet's sphere
Source    ours: docs/guide/maps.md
"""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

from .. import vendor
from ..style import in_our_colours
from .pack import for_script

SCRIPTS = (
    "data.js",
    "radio.js",
    "state.js",
    "colours.js",
    "pen.js",
    "ground.js",
    "field.js",
    "boxes.js",
    "marks.js",
    "charts.js",
    "playback.js",
    "by_hand.js",
    "timeline.js",
    "parts.js",
    "event_cards.js",
    "cards.js",
    "stories.js",
    "messages.js",
    "connections.js",
    "overview.js",
    "heat.js",
    "layers.js",
    "panel.js",
    "pointer.js",
    "travel.js",
    "address.js",
    "help.js",
    "live_grow.js",
    "live_news.js",
    "live.js",
    "live_panel.js",
    "live_packets.js",
    "live_card.js",
    "live_space.js",
    "start.js",
)
STYLES = ("map.css", "panels.css", "bar.css", "narrow.css", "live.css")
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1.0">
<title>mobilenet</title>
<style>%(leaflet_style)s</style>
<style>%(style)s</style>
</head>
<body>
<main id="map_mobilenet" aria-label="Map"></main>
<script type='application/json' id='mobilenet-data'>%(data)s</script>
<script>%(leaflet)s</script>
<script>%(code)s
(() => {
  const map = L.map("map_mobilenet", %(options)s);
  %(tiles)s
  Mobilenet.start(map, L);
})();</script>
</body>
</html>
"""
TILES = "https://tile.openstreetmap.org/{z}/{x}/{y}.png"
ATTRIBUTION = "© OpenStreetMap contributors (https://www.openstreetmap.org/copyright)"
OPTIONS = {"zoomControl": False, "keyboard": False, "zoomSnap": 0, "zoomDelta": 0.5, "wheelPxPerZoomLevel": 100}


def page(document: dict[str, Any], tiles: bool = False) -> str:
    """Return the whole HTML file."""
    origin = document["origin"]
    options = {"center": [origin["lat"], origin["lon"]] if origin else [0, 0], "zoom": 15 if origin else 0, **OPTIONS}
    crs = "L.CRS.EPSG3857" if origin else "L.CRS.Simple"
    layer = f"L.tileLayer({json.dumps(TILES)}, {json.dumps({'attribution': ATTRIBUTION})}).addTo(map);"
    style = re.sub(r"/\*.*?\*/", "", vendor.text("leaflet.css"), flags=re.DOTALL)
    return PAGE % {
        "leaflet": vendor.text("leaflet.js"),
        "leaflet_style": re.sub(r"url\((?!#)[^)]*\)", "none", style),  # This removes the icons of unused controls.
        "style": "\n".join(_text(name) for name in STYLES),
        "code": "\n".join(_text(name) for name in SCRIPTS),
        "options": f"{{...{json.dumps(options)}, crs: {crs}}}",
        "tiles": layer if tiles and origin else "",
        "data": for_script(document | {"tiles": tiles}),
    }


def _text(name: str) -> str:
    return in_our_colours(files(str(__package__)).joinpath("web", name).read_text(encoding="utf-8"))
