"""The sessions of hosts of the mobile broadcast, as given by the InitAck that confirmed them.

Model     a session is confirmed by an InitAck that its host has just received. It has the position from which the
          host delivers, where the stream of the cell begins, and which numbers of it the host skips. The record cuts
          long lists off
Units     integer nanoseconds
Errors    none
Source    ours: docs/protocols/mobile-causal.md
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from mobilenet.rundir.schema import MOST_LISTED
from mobilenet.rundir.table import Table
from mobilenet.verify.air.messages import Hops
from mobilenet.verify.air.nodes import Nodes
from mobilenet.verify.air.relays import NEVER, latest

CONFIRMS = ("join", "handoff_end", "gap")


class Session(NamedTuple):
    """One that was confirmed."""

    at_ns: int
    row: int  # of events
    station: int  # index of a node
    start: int  # the position from which the host goes on
    base: int  # where the stream of the cell begins; recovery messages come before
    skip: list[int] | None  # numbers that the host skips; None: the record cuts them off
    seq_h: int  # the number of its messages that are acknowledged to the host


Sessions = Mapping[tuple[int, int], Session]  # by host (an index of a node) and number


def sessions_of(events: Table, hops: Hops, nodes: Nodes, delay_ns: int) -> Sessions:
    """Return all sessions that were confirmed; `delay_ns`: the most by which arrivals are handled later."""
    answers: dict[tuple[int, int], list[tuple[int, int, dict[str, Any]]]] = {}
    rows = np.flatnonzero(hops.table.column("kind").among(("InitAck",)) & hops.is_received & ~hops.is_wired)
    numbers, arrived_ns = hops.table.pick("session", rows), hops.receive_ns[rows].tolist()
    for row, host, number, at_ns in zip(rows.tolist(), hops.receiver[rows].tolist(), numbers, arrived_ns, strict=True):
        answers.setdefault((host, number), []).append((at_ns, int(hops.sender[row]), hops.detail_of(row)))
    sessions: dict[tuple[int, int], Session] = {}
    rows = events.column("event").rows(*CONFIRMS)
    columns = (events.pick(name, rows) for name in ("time_ns", "node", "station", "session"))
    for row, now_ns, node, of, number in zip(rows.tolist(), *columns, strict=True):
        key, station = (nodes.index(node), number), nodes.index(str(of))
        known = answers.get(key, [])
        answer = next((s for at_ns, by, s in known if by == station and now_ns - delay_ns <= at_ns <= now_ns), None)
        if answer is not None and key not in sessions:
            skip = sorted(answer["skip"]) if len(answer["skip"]) < MOST_LISTED else None
            sessions[key] = Session(
                now_ns, row, station, answer["start"], answer["base"], skip, whole(answer, "seq_h") or 0
            )
    return sessions


def whole(detail: Mapping[str, Any], name: str) -> int | None:
    """Return a number in a message; None if it has none."""
    value = detail.get(name)
    return value if type(value) is int and abs(value) < 1 << 40 else None


def first_since(keys: np.ndarray, times_ns: np.ndarray, wanted_keys: np.ndarray, since_ns: np.ndarray) -> np.ndarray:
    """Return the first time of each wanted key that is not before `since_ns`; NEVER where there is none."""
    return np.asarray(-latest(keys, -times_ns, wanted_keys, -since_ns))


__all__ = ["NEVER", "Session", "Sessions", "first_since", "latest", "sessions_of", "whole"]
