"""The page: folium's map, Leaflet inside it, our drawing on top; nothing in it asks for anything.

Model     folium writes the page with marks of ours, which are replaced by Leaflet's text and ours afterwards: folium
          takes what its elements render for templates once more, so a host called {{...}} would be computed. Nothing
          that comes from a run is part of a template, of HTML or of a script: it is JSON in an element of its own,
          and the scripts write text only
Units     without an origin the plane itself in metres (L.CRS.Simple), else degrees on Leaflet's sphere
Errors    none
Source    ours: docs/guide/maps.md
"""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

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
LEAFLET_JS, LEAFLET_CSS = "leaflet-inside.js", "leaflet-inside.css"
STYLE, CODE, DATA = "/* the style */", "/* the code */", "/* the data */"
TILES = "https://tile.openstreetmap.org/{z}/{x}/{y}.png"


def page(document: dict[str, Any], tiles: bool = False) -> str:
    """The whole HTML file."""
    import folium
    from branca.element import MacroElement
    from jinja2 import Template
    from xstatic.pkg import leaflet

    class Playback(MacroElement):
        _template = Template(
            f"{{% macro header(this, kwargs) %}}<style>{STYLE}</style>{{% endmacro %}}{{% macro html(this, kwargs)"
            f" %}}<script type='application/json' id='mobilenet-data'>{DATA}</script>{{% endmacro %}}{{% macro"
            f" script(this, kwargs) %}}{CODE}\nMobilenet.start({{{{ this._parent.get_name() }}}}, L);{{% endmacro %}}"
        )

        def __init__(self) -> None:
            super().__init__()  # type: ignore[no-untyped-call]
            self._name, self._id = "playback", "mobilenet"

    origin = document["origin"]
    map_ = folium.Map(
        location=[origin["lat"], origin["lon"]] if origin else [0, 0], zoom_start=15 if origin else 0,
        crs="EPSG3857" if origin else "Simple",
        tiles=TILES if tiles and origin else None,
        attr="© OpenStreetMap contributors (https://www.openstreetmap.org/copyright)",
        zoom_control=False, keyboard=False, zoom_snap=0, zoom_delta=0.5, min_zoom=-12, max_zoom=22,
        wheel_px_per_zoom_level=100,
    )  # fmt: skip
    map_._id = "mobilenet"
    for child in map_._children.values():
        child._id = "tiles"
    map_.default_js, map_.default_css = [("leaflet", LEAFLET_JS)], [("leaflet_css", LEAFLET_CSS)]
    map_.add_child(Playback())
    figure = map_.get_root()
    figure.title, figure._id = "mobilenet", "figure"  # type: ignore[attr-defined]
    html = figure.render()
    folder = Path(leaflet.BASE_DIR)
    script, style = ((folder / f"leaflet.{kind}").read_text(encoding="utf-8") for kind in ("js", "css"))
    script = re.sub(r"//# sourceMappingURL=\S+", "", script)
    style = re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)
    style = re.sub(r"url\((?!\s*['\"]?(?:#|data:))[^)]*\)", "none", style)  # pictures of controls that are not used
    html = _instead(html, rf'<script src="{LEAFLET_JS}"></script>', f"<script>{script}</script>")
    html = _instead(html, rf'<link rel="stylesheet" href="{LEAFLET_CSS}"/>', f"<style>{style}</style>")
    html = _instead(html, STYLE, "\n".join(_text(name) for name in STYLES))
    html = _instead(html, CODE, "\n".join(_text(name) for name in SCRIPTS))
    return _instead(html, DATA, for_script(document | {"tiles": tiles}))  # last: nothing is looked for in it


def _instead(html: str, tag: str, text: str) -> str:
    assert html.count(tag) == 1, f"folium writes {tag} {html.count(tag)} times"
    return html.replace(tag, text)


def _text(name: str) -> str:
    return in_our_colours(files(str(__package__)).joinpath("web", name).read_text(encoding="utf-8"))
