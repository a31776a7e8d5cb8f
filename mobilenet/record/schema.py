"""The contents of a run directory: files, tables, columns, types, versions. Writer, readers and pictures use only this.

Model     two kinds of runs: `mobile`, hosts and stations, and `processes`, plain processes on an abstract network
Units     the last part of a column's name: _ns, _m, _bytes
Shapes    a table is columns of equal length; types are Arrow's names; those of NULLABLE may be null
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

FORMAT_VERSION: Final = 4
REQUIRED_FILES: Final = (
    "scenario.yaml",
    "manifest.json",
    "events.parquet",
    "samples.parquet",
    "positions.parquet",
    "counters.json",
)
DERIVED_FILES: Final = ("verdict.json", "metrics.json")  # files that follow from the others, and can be made again
MAC_ACK: Final = "mac_ack"  # the kind of a frame that is an acknowledgement of the MAC
LONGEST_NAME: Final = 100  # characters in a name that a protocol chooses
MOST_LISTED: Final = 20  # entries of a list, in the detail of a message
OPTIONAL_TABLES: Final = ("frames", "messages", "links", "lines", "causes")

COLUMNS: Final[dict[str, dict[str, str]]] = {  # table -> column -> type
    "events": {
        "time_ns": "int64",
        "node": "string",
        "event": "string",
        "message": "string",
        "station": "string",
        "session": "int64",
        "detail": "string",  # JSON
    },
    "samples": {"time_ns": "int64", "node": "string", "quantity": "string", "value": "double"},
    "positions": {"time_ns": "int64", "node": "string", "x_m": "double", "y_m": "double"},
    "frames": {
        "start_ns": "int64",
        "end_ns": "int64",
        "sender": "string",
        "receiver": "string",
        "kind": "string",
        "psdu_bytes": "int64",
        "addressed": "bool",
        "fate": "string",
        "to": "string",  # the addressee; empty: all nodes within reach
        "rate_mbps": "double",
        "attempt": "int64",  # of the MAC to send it, from 1; 0: it would not send the frame again
    },
    "links": {  # with the radio model sinr, a row for each of frames
        "start_ns": "int64",
        "sender": "string",
        "receiver": "string",
        "power_dbm": "double",
        "sinr_db": "double",  # the lowest while header and payload arrived; NaN if it was not received to its end
    },
    "messages": {
        "send_ns": "int64",
        "receive_ns": "int64",
        "sender": "string",
        "receiver": "string",
        "medium": "string",
        "kind": "string",
        "size_bytes": "int64",
        "fate": "string",
        "host": "string",
        "session": "int64",
        "message": "string",
        "detail": "string",  # JSON
    },
    "lines": {  # lines to and from programs
        "time_ns": "int64",
        "node": "string",
        "life": "int64",  # life of the node, from 1
        "said": "bool",  # true: sent by the program; false: sent to it
        "line": "string",
    },
    "causes": {  # causes and effects; a row is identified by its number, from 0
        "time_ns": "int64",
        "node": "string",
        "step": "string",  # queued, sent, acknowledged, given_up, timer, wire or arrived
        "cause": "int64",  # the row that led to it; -1: none that is recorded
        "kind": "string",  # class of the message, or the timer's name
        "to": "string",  # the receiver; empty: all within reach
        "messages": "string",  # the application messages in it, separated by spaces
        "start_ns": "int64",  # of sent: on the air from here; of timer: started then; otherwise -1
        "end_ns": "int64",  # of `sent`: the end of the transmission; otherwise -1
        "size_bytes": "int64",  # of wire: with headers; otherwise -1
        "window": "string",  # for a segment of TCP: the window, or rule, that had held it back
        "events": "int64",  # number of rows in `events`
        "heard": "string",  # of sent: each node within reach, with :OUTCOME if it did not receive it
    },
}

BUFFERS: Final = ("sbuffer", "rbuffer")  # buffers of built-in protocols
NULLABLE: Final = ("message", "station", "session", "detail", "host", "receive_ns")


class Event(NamedTuple):
    """One row of events.parquet."""

    time_ns: int
    node: str
    event: str
    message: str | None
    station: str | None
    session: int | None
    detail: str | None  # JSON


def buffers_of(manifest: Mapping[str, Any], untold: tuple[str, ...] = BUFFERS) -> dict[str, tuple[str, ...]]:
    """Return the quantities that are buffers of each host (h) and of each station (s). `untold`: those to use if the
    manifest has no usable ones.
    """
    buffers = manifest.get("buffers")
    if isinstance(buffers, Mapping):
        named = {"h": buffers.get("hosts"), "s": buffers.get("stations")}
    else:
        named = dict.fromkeys("hs", buffers)
    return {
        kind: tuple(map(str, names)) if isinstance(names, (list, tuple)) else untold for kind, names in named.items()
    }


def names_in(value: Any) -> list[str]:
    """Return each pair of whole numbers in the value of a program's message as the name of a broadcast."""
    if isinstance(value, Mapping):
        return [name for item in value.values() for name in names_in(item)]
    if not isinstance(value, (list, tuple)):
        return []
    if len(value) == 2 and all(type(item) is int for item in value):
        return [f"h{value[0]}:{value[1]}"]
    return [name for item in value for name in names_in(item)]
