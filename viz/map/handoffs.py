"""Return the handoffs and the other events of a map as columns.

Model     A handoff lasts from handoff_start to the handoff_end of the same session, unless another session is opened
          before that and supersedes it. It starts at the station of the last confirmed session. Its interruption lasts
          from the last delivery before its beginning to the first delivery after its end, as in metrics.json.
Units     nanoseconds; -1 if there is no such time or number
Errors    Events that do not match are left out, and the verifier reports the reason
Source    mobilenet/metrics/mobile.py; ours: docs/guide/maps.md
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .pack import narrow, pack_column
from .record import Record, harmless_text

KINDS = (
    "join", "leave", "handoff_start", "handoff_end", "out_of_coverage", "in_coverage", "crash", "recover", "gap",
    "expire", "refused",
)  # fmt: skip
CAUSES = ("cell", "recovery", "reinit")


def map_events(run: Record) -> dict[str, Any]:
    """Return every row of events.parquet except broadcasts and deliveries, in order. If a station gave up on a host,
    `host` is that host.
    """
    kind = run.event.number({name: i for i, name in enumerate(KINDS)})
    rows = np.flatnonzero(kind >= 0)
    host, at = run.node.number(run.host_of)[rows], run.node.number(run.station_of)[rows]
    station = np.where(at >= 0, at, run.station[rows])
    about = host.copy()
    for i in np.flatnonzero(kind[rows] == KINDS.index("expire")).tolist():
        about[i] = run.host_of.get(str(run.details(int(rows[i])).get("host")), -1)
    return {
        "kinds": list(KINDS), "time_ns": pack_column(run.time_ns[rows], "f64"), "kind": pack_column(kind[rows], "u8"),
        "host": narrow(about), "station": narrow(station), "session": narrow(run.session[rows]),
    }  # fmt: skip


def handoffs(run: Record) -> dict[str, Any]:
    """Return the rows of `handoff_rows` as columns."""
    rows, causes = handoff_rows(run)
    columns = {
        name: [row[name] for row in rows]
        for name in ("host", "from", "to", "session", "cause", "recovered", "skipped", "next")
    }
    return {
        "causes": [harmless_text(cause) for cause in causes],
        "start_ns": pack_column([row["start"] for row in rows], "f64"),
        "end_ns": pack_column([row["end"] for row in rows], "f64"),
        "last_before_ns": pack_column([row["before"] for row in rows], "f64"),
        "first_after_ns": pack_column([row["after"] for row in rows], "f64"),
        **{name: narrow(values) for name, values in columns.items()},
    }  # fmt: skip


def handoff_rows(run: Record) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Return one row for each handoff_start, and the causes. A row has times in nanoseconds, and the numbers of the
    host, the stations, the cause and the next handoff. -1 means that there is no such value.
    """
    kind = run.event.number({name: i for i, name in enumerate(("join", "handoff_start", "handoff_end"))})
    host = run.node.number(run.host_of)
    confirmed = [-1] * len(run.hosts)
    open_: dict[int, dict[str, Any]] = {}
    rows: list[dict[str, Any]] = []
    others: list[str] = []
    for row in np.flatnonzero((kind >= 0) & (host >= 0)).tolist():
        h, session, station = int(host[row]), int(run.session[row]), int(run.station[row])
        if kind[row] == 1:
            cause = str(run.details(row).get("cause", ""))
            if cause not in (*CAUSES, *others):
                others.append(cause)
            if h in open_:
                open_[h]["next"] = len(rows)
            open_[h] = {
                "start": int(run.time_ns[row]), "host": h, "from": confirmed[h], "to": station, "session": session,
                "end": -1,
                "cause": (*CAUSES, *others).index(cause), "recovered": -1, "skipped": -1, "next": -1,
            }  # fmt: skip
            rows.append(open_[h])
        elif kind[row] == 2:
            confirmed[h] = station
            if h in open_ and open_[h]["session"] == session:
                details = run.details(row)
                open_.pop(h).update(
                    end=int(run.time_ns[row]),
                    recovered=_count(details, "recovered"),
                    skipped=_count(details, "skipped"),
                )
        else:
            confirmed[h] = station
    _interruptions(run, rows)
    return rows, (*CAUSES, *others)


def _count(details: dict[str, Any], key: str) -> int:
    value = details.get(key, 0)
    return value if isinstance(value, int) and 0 <= value < 2**31 else -1


def _interruptions(run: Record, rows: list[dict[str, Any]]) -> None:
    """Add the times of the last delivery before each handoff and the first delivery after it."""
    delivered = run.event.rows("deliver")
    host = run.node.number(run.host_of)[delivered]
    order = np.argsort(host, kind="stable")
    host, times = host[order], run.time_ns[delivered][order]
    for row in rows:
        first, last = np.searchsorted(host, row["host"], side="left"), np.searchsorted(host, row["host"], side="right")
        own = times[first:last]
        before, after = np.searchsorted(own, row["start"]) - 1, np.searchsorted(own, row["end"])
        row["before"] = int(own[before]) if before >= 0 else -1
        row["after"] = int(own[after]) if row["end"] >= 0 and after < len(own) else -1
