"""Whether joins, handoffs and deliveries fit together: a record from which some of them were cut out does not.

Checks    a handoff that ends was begun, in the same session, and has not ended yet
          a delivery names the session that was confirmed last, by a join or the end of a handoff; it has none only if
          that had none
Model     both are seen to by the network that records them, whatever the protocol does; so a row that does not fit is
          damage, and no fault of a protocol. What a host that never joined, or left, delivers is for the property of
          members to judge. Which numbers sessions have is the protocol's: see broadcasts/conduct.py
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mobilenet.rundir.table import Columns, Table, by_code


def turns(events: Columns, *names: str) -> Iterator[tuple[Any, ...]]:
    """Each row with its number, without broadcasts, and without deliveries like the host's event before.

    What a host may deliver changes only with its other events, so a repeated delivery fits if the first one does.
    """
    table = Table.of(events)
    event = table.column("event")
    rows = np.flatnonzero(event.codes != event.code("broadcast"))
    by_node = rows[by_code(table.column("node").codes[rows])]
    differs = event.codes[by_node] != event.code("deliver")
    for name in ("event", "node", "station", "session"):
        differs[1:] |= np.diff(table.column(name).codes[by_node]) != 0
    differs[:1] = True
    turn_rows = np.sort(by_node[differs])
    return zip(turn_rows.tolist(), *(table.pick(name, turn_rows) for name in names), strict=True)


def sessions_problem(events: Columns) -> str | None:
    """The first row that does not fit those before it."""
    under_way: dict[str, int | None] = {}  # host -> session of the handoff
    confirmed: dict[str, int | None] = {}
    for row, event, node, session in turns(events, "event", "node", "session"):
        if event == "deliver":
            if session != confirmed.get(node, session):
                return (
                    f"events: {node} delivers in session {session} at event {row}, but its last confirmed session"
                    f" is {confirmed[node]}"
                )
        elif event == "handoff_start":
            under_way[node] = session
        elif event == "handoff_end":
            if node not in under_way or under_way[node] != session:
                return (
                    f"events: {node} ends a handoff in session {session} at event {row}, but has not begun that handoff"
                )
            del under_way[node]
            confirmed[node] = session
        elif event == "join":
            confirmed[node] = session
        elif event == "leave":
            under_way.pop(node, None)
            confirmed.pop(node, None)
    return None


def unfinished_handoffs(events: Columns) -> list[str]:
    """The members that are in a handoff at the end."""
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
