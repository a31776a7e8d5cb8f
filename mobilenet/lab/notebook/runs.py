"""Runs with methods for figures and maps, as returned by mobilenet.run and mobilenet.load.

Model     api.py defines runs. This module adds only the methods that need pictures, which belong to a higher layer.
          pyplot does not keep a reference to a returned figure.
Errors    The errors of the commands, and RunError for a figure that does not exist for a run.
Source    ours: docs/api.md
"""

from __future__ import annotations

import atexit
import functools
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from mobilenet import api
from mobilenet.engine.scratch import SUFFIX, scratch_folder
from mobilenet.record.writer import run_directory

NOT_SAVED = "removed when Python ends, unless run.save(path) keeps it"


class Run(api.Run):
    """Gives access to a run directory. Tables are pandas frames, which are read on first access."""

    def save(self, path: str | Path) -> Run:
        """Copy the run directory to a path that does not exist yet, and return the copy as a run."""
        with run_directory(Path(path)) as partial:
            shutil.copytree(self.path, partial, dirs_exist_ok=True)
        return Run(path)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}{self._fate}>"

    def _repr_html_(self) -> str:
        return super()._repr_html_() + self._fate

    @property
    def _fate(self) -> str:
        return f"; {NOT_SAVED}" if any(folder.suffix == SUFFIX for folder in self.path.parents) else ""

    def plot(self, name: str | None = None) -> Any:
        """Return one of the figures of `mobilenet figures` as a matplotlib figure, such as `delays` (the default),
        `station_buffers`, `radio`, `handoffs` or `field`. Raise RunError if the figure does not exist for this run.
        """
        from mobilenet.viz.figures import run_figure

        return run_figure(self.path, name)

    def folium(self, tiles: bool = False) -> Any:
        """Return the run as a folium.Map with a group of layers for stations, cells, wires, tracks, handoffs, hosts,
        holes, walls and buffers. The map accepts further layers, and a notebook displays it. With `tiles`, it shows
        streets from openstreetmap.org. Raise RunError for a run without moving hosts, or if tiles are requested without
        an origin.
        """
        from mobilenet.viz.folium_map import folium_map

        return folium_map(self.path, tiles)

    def locations(self, x_m: Any, y_m: Any) -> Any:
        """Return the positions of points of the plane on a folium map, as an array with one row per point. A row
        contains latitude and longitude in degrees or, without an origin, y and x in metres. `x_m` and `y_m` are
        numbers, or columns of the same length.
        """
        from mobilenet.viz.folium_map.plane import Plane
        from mobilenet.viz.map.record import scenario_of

        return Plane.of(scenario_of(self.path)).locations(x_m, y_m)


@functools.cache
def _folder_until_exit() -> Path:
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(scratch_folder("runs"))


@functools.wraps(api.run)
def run(scenario: Any, seed: int | None = None, out: str | Path | None = None, *rest: Any, **named: Any) -> Run:
    if out is None:
        named = {"folder": _folder_until_exit(), **named}
    return Run(api.run(scenario, seed, out, *rest, **named).path)


def load(path: str | Path) -> Run:
    """Open a run directory, and return it as a run."""
    return Run(path)
