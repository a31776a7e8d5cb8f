"""Define the views of the records of many runs, and create them.

Model     A view of a recorded table has the columns of the table, with times in seconds. Spark reads only the columns
          and runs that a query needs: the files are partitioned by run, and the columns that identify a run come from a
          small separate table. `deliveries` joins each delivery with its broadcast. `buffers` and `handoffs` are
          computed for each run, like the metrics.
Units     The names of the columns show the units. Times are in seconds of simulated time.
Shapes    VIEWS contains the names, columns and types of all views.
Source    ours: docs/guide/query.md
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from mobilenet.engine.clock import SECOND
from mobilenet.metrics.fold import EventFold
from mobilenet.metrics.mobile import interruptions
from mobilenet.record.kinds import run_kind
from mobilenet.record.reader import read_coded, read_json, read_table
from mobilenet.record.schema import COLUMNS, buffers_of

TEXT, WHOLE, NUMBER, TRUTH = pa.string(), pa.int64(), pa.float64(), pa.bool_()
TYPES = {"string": TEXT, "int64": WHOLE, "double": NUMBER, "bool": TRUTH}


class Column(NamedTuple):
    name: str
    kind: pa.DataType
    description: str = ""  # empty for recorded columns, which are described in docs/run-directory.md
    source: str = ""  # name of the column in the recorded table, where times are in nanoseconds


class View(NamedTuple):
    name: str
    description: str
    columns: tuple[Column, ...]
    table: str | None  # the recorded table to read, or None if the view needs several tables
    # a function that computes the view without the columns that identify the run
    of_run: Callable[[Path], pa.Table] | None = None
    needs: str = ""  # scenario key that must be set for the view to exist

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(column.name, column.kind) for column in self.columns])


def _of_table(table: str, description: str, needs: str = "") -> View:
    """Return a view of one table, with the columns in their original order and times in seconds."""
    columns = []
    for source, kind in COLUMNS[table].items():
        is_time = source.endswith("_ns")
        name = f"{source.removesuffix('_ns')}_s" if is_time else source
        columns.append(Column(name, NUMBER if is_time else TYPES[kind], source=source))
    return View(table, description, tuple(columns), table, needs=needs)


def rows_of_run(view: View, run: Path) -> pa.Table:
    """Return the rows of one run with the schema of the view, without using Spark."""
    if view.of_run is not None:
        return view.of_run(run)
    assert view.table is not None
    table = read_table(run, view.table)
    return pa.table([_in_seconds(table[c.source], c) for c in view.columns], schema=view.schema)


def _in_seconds(values: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    """Convert times to seconds. A time is never negative; -1 represents a missing time."""
    if not column.source.endswith("_ns"):
        return values.cast(column.kind)
    times = pc.if_else(pc.less(values, 0), pa.scalar(None, WHOLE), values)
    return pc.divide(times.cast(NUMBER), float(SECOND))


def _deliveries(run: Path) -> pa.Table:
    events = read_table(run, "events", [*EVENTS_OF_DELIVERIES])
    sent = events.filter(pc.equal(events["event"], "broadcast")).select(["message", "node", "time_ns"])
    delivered = events.filter(pc.equal(events["event"], "deliver")).drop_columns("event")
    joined = delivered.join(sent.rename_columns(["message", "sender", "sent_ns"]), "message", join_type="inner")
    joined = joined.sort_by([("time_ns", "ascending"), ("node", "ascending"), ("message", "ascending")])
    delay_ns = pc.subtract(joined["time_ns"], joined["sent_ns"])
    seconds = [pc.divide(ns.cast(NUMBER), float(SECOND)) for ns in (joined["sent_ns"], joined["time_ns"], delay_ns)]
    names = (joined["message"], joined["sender"], joined["node"])
    return pa.table([*names, *seconds, joined["station"].cast(TEXT), joined["session"].cast(WHOLE)], DELIVERIES.schema)


def _buffers(run: Path) -> pa.Table:
    """Return the number of messages in each buffer. Each row covers the time from one change to the next; the last row
    ends with the run.
    """
    manifest = read_json(run, "manifest.json")
    declared = buffers_of(manifest, run_kind(manifest).buffers)
    samples = read_table(run, "samples").to_pandas()
    pairs = zip(samples.node, samples.quantity, strict=True)
    # For processes, only buffers are sampled.
    kept = samples[[node[0] == "p" or quantity in declared.get(node[0], ()) for node, quantity in pairs]]
    kept = kept.sort_values(["node", "quantity", "time_ns"], kind="stable")
    following = kept.groupby(["node", "quantity"], sort=False)["time_ns"].shift(-1)
    end_ns = max(manifest["duration_s"] * SECOND, samples.time_ns.max() if len(samples) else 0)
    columns = [kept.node, kept.quantity, kept.time_ns / SECOND, following.fillna(end_ns) / SECOND, kept.value]
    return pa.table(
        [pa.array(column, c.kind) for column, c in zip(columns, BUFFERS.columns, strict=True)], BUFFERS.schema
    )


def _handoffs(run: Path) -> pa.Table:
    fold = EventFold(read_coded(run, "events"), 0, 2**62)
    return pa.Table.from_pylist([one.row() for one in interruptions(fold)], HANDOFFS.schema)


EVENTS_OF_DELIVERIES = ("time_ns", "node", "event", "message", "station", "session")
_NODE, _MESSAGE = "host, station or process", "name of the broadcast message"
DELIVERIES = View(
    "deliveries",
    "each delivery of a message to an application, including those at the sender",
    (
        Column("message", TEXT, _MESSAGE),
        Column("sender", TEXT, "the node that broadcast it"),
        Column("receiver", TEXT, "the node that delivered it"),
        Column("broadcast_s", NUMBER, "time of the broadcast"),
        Column("delivery_s", NUMBER, "time of the delivery"),
        Column("delay_s", NUMBER, "time from the broadcast to the delivery"),
        Column("station", TEXT, "the receiver's station, if it has one"),
        Column("session", WHOLE, "the receiver's session there"),
    ),
    None,
    _deliveries,
)
BUFFERS = View(
    "buffers",
    "the number of messages in a buffer, for each interval in which it stays the same",
    (
        Column("node", TEXT, _NODE),
        Column("buffer", TEXT, "sbuffer, rbuffer, or the name that a plug-in gives it"),
        Column("from_s", NUMBER, "beginning of the interval"),
        Column("to_s", NUMBER, "end of the interval"),
        Column("size", NUMBER, "number of messages in the buffer"),
    ),
    None,
    _buffers,
)
HANDOFFS = View(
    "handoffs",
    "each confirmed handoff, including new sessions for other reasons than a change of cell",
    (
        Column("host", TEXT, "the host that changed its session"),
        Column("begin_s", NUMBER, "beginning of the handoff"),
        Column("duration_s", NUMBER, "time until the new session was confirmed"),
        Column("interruption_s", NUMBER, "time from the last delivery before it to the first one after it"),
        Column("cause", TEXT, "`cell`, or why the session was renewed"),
    ),
    None,
    _handoffs,
)
VIEWS = {
    view.name: view
    for view in (
        _of_table("events", "the events at the nodes: broadcasts, deliveries, handoffs, crashes, outages, ..."),
        DELIVERIES,
        BUFFERS,
        HANDOFFS,
        _of_table("positions", "the sampled positions of hosts, and the position of each station"),
        _of_table("frames", "each frame on the air, for each receiver within reach", "record.frames"),
        _of_table("links", "power and interference of each frame, with the radio model `sinr`", "record.frames"),
        _of_table("messages", "each message of the protocol, by radio or wire", "record.messages"),
        _of_table("lines", "the lines that programs read and wrote", "record.programs"),
        _of_table("causes", "causes and effects", "record.causes"),
    )
}
RUNS = "runs"  # This view has one row for each run; runs.results() creates it.
NAMES = (RUNS, *VIEWS)
