"""The schema of a run directory: files, tables, columns, types and versions. Writers, readers and pictures share it.

Model     there are two kinds of runs: `mobile` with hosts and stations, and `processes` with plain processes on an
          abstract network
Units     the last part of a column's name: _ns, _m, _bytes
Shapes    a table consists of columns of equal length. Types have Arrow's names, and columns in NULLABLE may be null
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
DERIVED_FILES: Final = ("verdict.json", "metrics.json")  # files that are derived from the others and can be recreated
MAC_ACK: Final = "mac_ack"  # the kind of a frame that is an acknowledgement by the MAC
LONGEST_NAME: Final = 100  # the maximum number of characters in a name that a protocol chooses
MOST_LISTED: Final = 20  # the maximum number of list entries in the detail of a message
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
        "to": "string",  # the addressee; empty for all nodes within reach
        "rate_mbps": "double",
        "attempt": "int64",  # the number of the MAC's attempt, from 1; 0 for a frame that would not be sent again
    },
    "links": {  # with the radio model sinr, one row for each row of `frames`
        "start_ns": "int64",
        "sender": "string",
        "receiver": "string",
        "power_dbm": "double",
        "sinr_db": "double",  # the minimum during header and payload; NaN if the frame was not received to its end
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
    "lines": {  # the lines that programs send and receive
        "time_ns": "int64",
        "node": "string",
        "life": "int64",  # the number of the node's life, from 1
        "said": "bool",  # true if the program sent the line, false if it received it
        "line": "string",
    },
    "causes": {  # causes and effects; a row is identified by its number from 0
        "time_ns": "int64",
        "node": "string",
        "step": "string",  # queued, sent, acknowledged, given_up, timer, wire or arrived
        "cause": "int64",  # the row that caused this one; -1 if none is recorded
        "kind": "string",  # the class of the message, or the name of the timer
        "to": "string",  # the receiver; empty for all nodes within reach
        "messages": "string",  # the application messages that it contains, separated by spaces
        # for `sent`: the beginning of the transmission; for `timer`: when it was started; otherwise -1
        "start_ns": "int64",
        "end_ns": "int64",  # for `sent`: the end of the transmission; otherwise -1
        "size_bytes": "int64",  # for `wire`: the size with headers; otherwise -1
        "window": "string",  # for a segment of TCP: the window or rule that had held it back
        "events": "int64",  # the number of rows in `events` before it
        "heard": "string",  # for `sent`: each node within reach, with :OUTCOME if it did not receive the frame
    },
}

BUFFERS: Final = ("sbuffer", "rbuffer")  # the buffers of built-in protocols
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
    """Return the quantities that are buffers of hosts (h) and of stations (s). `untold`: the default if the manifest
    does not name usable ones.
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
    """Return the names of possible broadcasts in a program's message: each pair of whole numbers in its value."""
    if isinstance(value, Mapping):
        return [name for item in value.values() for name in names_in(item)]
    if not isinstance(value, (list, tuple)):
        return []
    if len(value) == 2 and all(type(item) is int for item in value):
        return [f"h{value[0]}:{value[1]}"]
    return [name for item in value for name in names_in(item)]
