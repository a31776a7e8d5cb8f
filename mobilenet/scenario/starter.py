"""Create a first scenario for a user's tracks.

Model     The run lasts as long as the tracks, but at most LONGEST_S. Without sites, cells cover the area of the tracks.
Errors    ScenarioError if the area needs too many cells
Source    ours: docs/guide/tracks.md
"""

from __future__ import annotations

from math import ceil, sqrt
from typing import Any

from mobilenet.parameters import ScenarioError
from mobilenet.protocols.names import DEFAULT
from mobilenet.scenario.yaml_writer import to_yaml
from mobilenet.world.tracks.projection import Anchor, Offset, Origin

LONGEST_S = 300
MOST_CELLS = 500
HEAD = (
    "# Made by mobilenet inspect-tracks. `mobilenet reference` lists all keys. Edit this file, then run:"
    " mobilenet check THIS_FILE\n"
)


def starter(
    tracks: dict[str, Any], sites: str | None, extent_m: tuple[float, float, float, float],
    times_s: tuple[float, float], range_m: float, anchor: Anchor | None
) -> str:  # fmt: skip
    """Return the text of the scenario. `tracks` contains the keys of hosts.mobility, and `sites` is the file of the
    stations or None. File names are relative to the scenario's folder.
    """
    begins_s, ends_s = times_s
    layout: dict[str, Any] = (
        {"shape": "csv", "file": sites}
        if sites is not None
        else {"shape": "points", "points_m": cover(extent_m, range_m)}
    )
    values: dict[str, Any] = {
        "seed": 1,
        "duration_s": max(1, min(LONGEST_S, ceil(ends_s - begins_s))),
        **({"origin": anchor.model_dump()} if isinstance(anchor, Origin) else {}),
        **({"offset_m": list(anchor)} if isinstance(anchor, Offset) else {}),
        "stations": {"layout": layout},
        "wireless": {"range_m": range_m, "mode": "g_mixed"},
        "hosts": {"mobility": {"model": "tracks", **tracks, **({"start_s": begins_s} if begins_s else {})}},
        "protocol": {"name": DEFAULT},
        "workload": {"interval_s": 5, "payload_bytes": 100},
    }
    return HEAD + to_yaml(values)


def cover(extent_m: tuple[float, float, float, float], range_m: float) -> list[list[float]]:
    """Return stations in rows, with every second row shifted, so that neighbouring cells overlap slightly."""
    west, south, east, north = extent_m
    apart = range_m * sqrt(3) * 0.95
    columns, rows = ceil((east - west) / apart) + 1, ceil((north - south) / (apart * sqrt(3) / 2)) + 1
    if columns * rows > MOST_CELLS:
        raise ScenarioError(
            f"{columns * rows} cells of {range_m:g} m would be needed to cover all tracks, more than {MOST_CELLS};"
            " expected sites (--stations) or a larger --range-m"
        )
    left, low = (west + east - (columns - 0.5) * apart) / 2, (south + north - (rows - 1) * apart * sqrt(3) / 2) / 2
    return [
        [round(left + (i + 0.5 * (j % 2)) * apart, 1), round(low + j * apart * sqrt(3) / 2, 1)]
        for j in range(rows)
        for i in range(columns)
    ]
