"""Make a folium figure whose page needs no network, by including the scripts and styles that folium links to.

Model     When folium renders the page, links to files in viz/vendor are replaced by the contents of the files. Other
          links remain, because plug-ins that a user adds may need a network. The layer control also lists layers that
          are added after it.
Source    ours: docs/guide/folium.md
"""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from branca.element import CssLink, Element, Figure, Link
from folium import LayerControl, Map
from folium.plugins import TimelineSlider

from .. import vendor

IN_FOLIUM = "leaflet_heat.min.js"  # a file of the folium package
ROTATIONS = "leaflet.awesome.rotate.min.css"
PICTURES = {  # Icons of Leaflet's markers, which its script would otherwise look for next to its style sheet.
    "iconUrl": "marker-icon.png",
    "iconRetinaUrl": "marker-icon-2x.png",
    "shadowUrl": "marker-shadow.png",
}


class OfflineFigure(Figure):
    def render(self, **kwargs: Any) -> str:
        """Return the page. Each call returns the same page, because elements that folium adds during rendering are
        removed afterwards.
        """
        elements = [element for part in (self, self.header, self.html, self.script) for element in elements_in(part)]
        before = [element._children.copy() for element in elements]
        try:
            for child in self._children.values():
                child.render(**kwargs)
            for name, link in self.header._children.items():
                if isinstance(link, Link) and (code := code_of(link.url)) is not None:
                    self.header._children[name] = _Inside(code, "style" if isinstance(link, CssLink) else "script")
            for control in self._controls():
                self.script._children.move_to_end(control.get_name())
            page: str = self._template.render(this=self, kwargs=kwargs)
            return page.replace("<html>", "<html lang=en>", 1)
        finally:
            for element, children in zip(elements, before, strict=True):
                element._children = children

    def _controls(self) -> list[Element]:
        """Return the controls whose scripts must come last: one uses the variables of all layers, and one is drawn on
        top of them.
        """
        maps = [child for child in self._children.values() if isinstance(child, Map)]
        children = [child for map_ in maps for child in map_._children.values()]
        return [child for child in children if isinstance(child, LayerControl | TimelineSlider)]


def elements_in(root: Element) -> list[Element]:
    """Return an element and everything that it contains, outermost elements first."""
    elements = [root]
    for element in elements:
        elements += element._children.values()
    return elements


class _Inside(Element):
    """A script or a style. Its text is not used as a template, because it may contain braces."""

    def __init__(self, code: str, tag: str) -> None:
        super().__init__()
        self._html = f"<{tag}>{code}</{tag}>"

    def render(self, **kwargs: Any) -> str:
        return self._html


def code_of(url: str) -> str | None:
    """Return the script or the style at a URL, including everything that it would load, or None if it is not in
    viz/vendor. The host and the version in the URL are ignored.
    """
    name = re.sub(r"-\d[\d.]*\d(?=\.)", "", PurePosixPath(urlsplit(url).path).name)
    if name == IN_FOLIUM:
        return files("folium.templates").joinpath(name).read_text(encoding="utf-8")
    if name == ROTATIONS:
        return "".join(f".fa-rotate-{degrees}{{transform:rotate({degrees}deg)}}" for degrees in range(1, 360))
    if not vendor.is_vendored(name):
        return None
    if name.endswith(".css"):
        return vendor.style(name)
    return vendor.text(name) + (_pictures() if name == "leaflet.js" else "")


def _pictures() -> str:
    urls = {option: vendor.data_url(name) for option, name in PICTURES.items()}
    return f"\nL.Icon.Default.imagePath = ''; L.Icon.Default.mergeOptions({json.dumps(urls)});"
