"""Check coverage, cells and crashes against what hosts deliver and refuse.

Checks    a broadcast names its message and nothing else; a delivery has no detail; only where programs use UDP are
          there datagrams
          hosts come into coverage and leave it in turns
          a delivery names the cell of its host: none out of coverage, and one within, if the network records cells at
          all (an adversary's does not)
          a broadcast was refused either because the host was down, and it was, or because it was not a member
Model     the network sees to all of it, whatever the protocol does. The protocol chooses the cell: see
          broadcasts/conduct.py
Source    ours: docs/run-directory.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json

from mobilenet.rundir.table import Columns, Table
from mobilenet.verify.basis.sessions import turns

DOWN, NO_MEMBER = "down", "not a member"  # why a broadcast is refused


def cells_problem(events: Columns, has_datagrams: bool = True) -> str | None:
    """The first row that does not fit those before it. `has_datagrams`: whether there may be any."""
    if (odd := _odd_row(Table.of(events), has_datagrams)) is not None:
        event = f"event {odd} ({events['event'][odd]}) of {events['node'][odd]}"
        return f"events: {event} has a field that this kind of event cannot have"
    covered: dict[str, bool] = {}  # hosts in coverage -> whether the network records their cells
    down: set[str] = set()
    for row, event, node, station in turns(events, "event", "node", "station"):
        problem = None
        if event == "deliver":
            if (station is not None) != covered.get(node, False):
                named = "no station" if station is None else f"station {station}"
                problem = f"delivers a message, and the row names {named}, {_where(node, covered)}"
        elif event == "in_coverage":
            if node in covered:
                problem = "enters coverage although it is already in coverage"
            covered[node] = station is not None
        elif event == "out_of_coverage":
            if covered.pop(node, None) is None:
                problem = "leaves coverage although it is already out of coverage"
        elif event == "crash":
            down.add(node)
        elif event == "recover":
            down.discard(node)
        elif event == "refused":
            problem = _refusal_problem(events["detail"][row], node in down)
        if problem is not None:
            return f"events: at {events['time_ns'][row] / 1e9:.6f} s (event {row}): {node} {problem}"
    return None


def _odd_row(events: Table, has_datagrams: bool) -> int | None:
    event = events.column("event")
    station, session, detail = (events.column(name).codes >= 0 for name in ("station", "session", "detail"))
    odd = event.among(("broadcast",)) & (station | session | detail) | event.among(("deliver",)) & detail
    if not has_datagrams:
        odd |= event.among(("datagram", "datagram_received"))
    return int(odd.argmax()) if odd.any() else None


def _where(node: str, covered: dict[str, bool]) -> str:
    if node not in covered:
        return "although it is out of coverage"
    return "although it is in coverage" if covered[node] else "although cells are not recorded"


def _refusal_problem(detail: str | None, is_down: bool) -> str | None:
    cause = json.loads(detail or "{}").get("cause")
    if cause not in (DOWN, NO_MEMBER):
        return f"refuses a broadcast because of {cause!r}, expected {DOWN!r} or {NO_MEMBER!r}"
    if (cause == DOWN) != is_down:
        return f"refuses a broadcast because it is {cause}, although it is {'down' if is_down else 'up'}"
    return None
