"""The map of a run in progress: the same page, with the socket to which it listens.

Model     what was recorded so far is a run directory like any other, and becomes the same document; `live` in it names
          the socket and how much of the record is in the document
Units     nanoseconds, as everywhere in it
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
    """Return the page. `folder`: a run directory of the record so far; `live`: generation, row, now_ns, token, name and
    curves.
    """
    data = document(folder, DELIVERIES, None, hosts, is_live=True)
    data["about"] |= {"name": harmless_text(live["name"]), "verdict": "live", "checks": {}, "metrics": {}}
    return page(data | {"live": live})
