"""Which stations a wire joins, from what the manifest says.

Model     a full mesh is drawn only while it is no black knot
Errors    none: what cannot be understood is not drawn
Source    ours: docs/guide/maps.md
"""

from __future__ import annotations

from typing import Any

Edge = tuple[int, int]
MOST_IN_A_MESH = 16


def edges(manifest: dict[str, Any], stations: int) -> list[Edge]:
    links = manifest.get("station_links", [])
    if links is None:  # all with all
        return [(a, b) for a in range(stations) for b in range(a)] if stations <= MOST_IN_A_MESH else []
    pairs = links if isinstance(links, list) else []
    return [(pair[0], pair[1]) for pair in pairs if _is_pair(pair, stations)]


def _is_pair(pair: Any, stations: int) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(isinstance(s, int) and 0 <= s < stations for s in pair)
