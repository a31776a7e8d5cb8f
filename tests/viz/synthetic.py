"""Write run directories of any size without a simulation. They contain walkers, handoffs, crashes, gaps and messages,
in the documented format.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from mobilenet.viz.map.pack import TYPES

from mobilenet.engine.clock import SECOND
from mobilenet.record.schema import FORMAT_VERSION


def unpack_column(column: dict[str, str]) -> Any:
    return np.frombuffer(base64.b64decode(column["data"]), dtype=TYPES[column["type"]])


def write_run(
    folder: Path, hosts: int, seconds: int, columns: int = 20, rows: int = 10, broadcasts: int = 600, seed: int = 1
) -> Path:
    """Write a run in which all hosts walk at 1.4 m/s over a grid of stations. Each host makes one handoff per
    minute.
    """
    folder.mkdir(parents=True)
    stream = np.random.Generator(np.random.PCG64(seed))
    stations = [[i * 170.0, j * 170.0] for j in range(rows) for i in range(columns)]
    moments = np.arange(seconds + 1)
    turns = np.cumsum(stream.normal(0, 0.15, (hosts, seconds + 1)), axis=1) + stream.uniform(0, 6.28, (hosts, 1))
    box = np.array([(columns - 1) * 170.0, (rows - 1) * 170.0])
    way = (
        np.cumsum(np.stack([np.cos(turns), np.sin(turns)], axis=2) * 1.4, axis=1)
        + stream.uniform(0, 1, (hosts, 1, 2)) * box
    )
    way = np.abs((way + box) % (2 * box) - box)  # Walkers are reflected at the walls.
    names = np.array([f"h{i}" for i in range(hosts)])
    pq.write_table(pa.table({
        "time_ns": pa.array(np.repeat(moments * SECOND, hosts)), "node": pa.array(np.tile(names, seconds + 1)),
        "x_m": pa.array(way[:, :, 0].T.ravel()), "y_m": pa.array(way[:, :, 1].T.ravel()),
    }), folder / "positions.parquet")  # fmt: skip
    parts = [
        _rows(np.zeros(hosts), names, "in_coverage", station="s0"),
        _rows(stream.uniform(0, 2, hosts), names, "join", station="s0", session=1),
    ]
    for k in range(seconds // 60):
        begin = 60 * k + stream.uniform(3, 59, hosts)
        column, row = np.rint(way[np.arange(hosts), begin.astype(int)] / 170).astype(int).T
        station = np.array([f"s{i}" for i in row * columns + column])
        parts.append(_rows(begin, names, "handoff_start", station=station, session=k + 2, detail='{"cause": "cell"}'))
        parts.append(
            _rows(
                begin + 0.05,
                names,
                "handoff_end",
                station=station,
                session=k + 2,
                detail='{"recovered": 3, "skipped": 4}',
            )
        )
    some = names[:: max(1, hosts // 50)]
    for event, at in (("crash", 0.3), ("recover", 0.35), ("gap", 0.5), ("out_of_coverage", 0.6), ("in_coverage", 0.65)):
        parts.append(_rows(np.full(len(some), at * seconds), some, event))
    for m in range(broadcasts):
        sent = 3 + (seconds - 10) * m / broadcasts
        message = f"h{m % hosts}:{m // hosts}"
        parts.append(_rows(np.array([sent]), names[[m % hosts]], "broadcast", message))
        parts.append(_rows(sent + stream.exponential(0.3, hosts), names, "deliver", message))
    events = pa.concat_tables(parts)
    events = events.take(pa.array(np.argsort(events["time_ns"].to_numpy(), kind="stable")))
    pq.write_table(events, folder / "events.parquet")
    nodes = np.concatenate([names, [f"s{i}" for i in range(len(stations))]])
    each = min(seconds, 300)
    pq.write_table(pa.table({
        "time_ns": pa.array(np.repeat(np.arange(each) * (seconds * SECOND // each), len(nodes))),
        "node": pa.array(np.tile(nodes, each)),
        "quantity": pa.array(np.full(each * len(nodes), "sbuffer")),
        "value": pa.array(stream.integers(0, 300, each * len(nodes)).astype(float)),
    }), folder / "samples.parquet")  # fmt: skip
    documents = {
        "manifest.json": {
            "format_version": FORMAT_VERSION, "mobilenet_version": "0", "seed": seed, "simulated_s": float(seconds),
            "duration_s": float(seconds), "protocol": "none",
            "station_positions_m": stations, "range_m": 120.0, "station_names": {}, "host_names": {}, "files": {},
        },
        "counters.json": {}, "verdict.json": {"verdict": "unknown", "checks": {}}, "metrics.json": {},
    }  # fmt: skip
    for name, value in documents.items():
        (folder / name).write_text(json.dumps(value), encoding="utf-8")
    (folder / "scenario.yaml").write_text("seed: 1\nstations: {backbone: {kind: tree}}\n", encoding="utf-8")
    return folder


def _rows(
    seconds: np.ndarray,
    nodes: np.ndarray,
    event: str,
    message: str | None = None,
    station: np.ndarray | str | None = None,
    session: int | None = None,
    detail: str | None = None,
) -> pa.Table:
    n = len(nodes)
    return pa.table({
        "time_ns": pa.array((seconds * SECOND).astype(np.int64)), "node": pa.array(nodes),
        "event": pa.array([event] * n),
        "message": pa.array([message] * n, pa.string()),
        "station": pa.array([station] * n if station is None or isinstance(station, str) else station, pa.string()),
        "session": pa.array([session] * n, pa.int64()), "detail": pa.array([detail] * n, pa.string()),
    })  # fmt: skip
