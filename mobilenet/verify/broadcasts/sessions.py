"""Follow the sessions of hosts through the events of a run.

Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mobilenet.record.table import Columns, Table, by_code, rows_where


def turns(events: Columns, *names: str) -> Iterator[tuple[Any, ...]]:
    """Yield each row with its number, except broadcasts and a host's repeated deliveries in the same session at the
    same station.

    What a host may deliver changes only with its other events, so a repeated delivery is valid if the first one is.
    """
    table = Table.of(events)
    event = table.column("event")
    rows = rows_where(event.codes != event.code("broadcast"))
    by_node = rows[by_code(table.column("node").codes[rows])]
    differs = event.codes[by_node] != event.code("deliver")
    for name in ("event", "node", "station", "session"):
        differs[1:] |= np.diff(table.column(name).codes[by_node]) != 0
    differs[:1] = True
    turn_rows = np.sort(by_node[differs])
    return zip(turn_rows.tolist(), *(table.pick(name, turn_rows) for name in names), strict=True)


def unfinished_handoffs(events: Columns) -> list[str]:
    """Return the members whose handoff is unfinished at the end."""
    members: set[str] = set()
    under_way: set[str] = set()
    for _, event, node in turns(events, "event", "node"):
        if event == "handoff_start":
            under_way.add(node)
        elif event == "handoff_end":
            under_way.discard(node)
        elif event == "join":
            members.add(node)
        elif event == "leave":
            members.discard(node)
            under_way.discard(node)
    return sorted(members & under_way)
