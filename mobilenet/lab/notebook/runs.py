"""Runs that draw themselves: what mobilenet.run and mobilenet.load return.

Model     what a run is, api.py knows; here is only what needs the pictures, which lie above it. A figure belongs to the
          caller: pyplot does not keep it
Errors    as for the commands; RunError for a figure that a run does not have
Source    ours: docs/api.md
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from mobilenet import api


class Run(api.Run):
    """A run directory, opened for reading. Tables are pandas frames, read when first asked for."""

    def plot(self, name: str | None = None) -> Any:
        """Return one of the figures of `mobilenet figures` as a matplotlib figure: `delays`, `station_buffers`,
        `radio`, `handoffs`, `field`, ...; by default the delays. RunError if the run does not have it.
        """
        from mobilenet.viz.figures import run_figure

        return run_figure(self.path, name)

    def folium(self, tiles: bool = False) -> Any:
        """Return the run as a folium.Map with a group of layers for stations, cells, wires, tracks, handoffs, hosts,
        holes, walls and buffers; it accepts layers of a user, and shows itself in a notebook. `tiles`: with streets
        from openstreetmap.org. RunError for a run without hosts that move, or for tiles without an origin.
        """
        from mobilenet.viz.folium_map import folium_map

        return folium_map(self.path, tiles)

    def locations(self, x_m: Any, y_m: Any) -> Any:
        """Return where places of the plane lie on a map of folium, as an array with a row for each place: latitude and
        longitude in degrees or, without an origin, y and x in metres. `x_m`, `y_m`: numbers or columns of one length.
        """
        from mobilenet.viz.folium_map.plane import Plane
        from mobilenet.viz.map.record import scenario_of

        return Plane.of(scenario_of(self.path)).locations(x_m, y_m)


@functools.wraps(api.run)
def run(*arguments: Any, **named: Any) -> Run:
    return Run(api.run(*arguments, **named).path)


def load(path: str | Path) -> Run:
    """Open a run directory."""
    return Run(path)
