"""Make the map of a run in progress: the usual page, which receives updates from a socket.

Model     The record so far is an ordinary run directory, from which the same document is made. The key `live` names the
          socket, and states how much of the record the document contains.
Units     nanoseconds, as everywhere in the document
Source    ours: docs/guide/live.md
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .data import document
from .messages import DELIVERIES
from .page import page
from .record import harmless_text


def live_page(folder: Path, hosts: int, live: dict[str, Any]) -> str:
    """Return the page for the record so far in `folder`. `live` contains the keys generation, row, now_ns, token, name
    and curves.
    """
    data = document(folder, DELIVERIES, None, hosts, is_live=True)
    data["about"] |= {"name": harmless_text(live["name"]), "verdict": "live", "checks": {}, "metrics": {}}
    return page(data | {"live": live})
