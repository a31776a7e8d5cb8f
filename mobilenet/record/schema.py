"""The schema of a run directory: files, tables, columns, types and versions. Writers, readers and pictures share it.

Model     there are two kinds of runs: `mobile` with hosts and stations, and `processes` with plain processes on an
          abstract network
Units     the suffix of a column's name states its unit: _ns, _m, _bytes
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
# files that are derived from the record and can be recreated
DERIVED_FILES: Final = ("verdict.json", "metrics.json")
MAC_ACK: Final = "mac_ack"  # the kind of a frame that is an acknowledgement by the MAC
LONGEST_NAME: Final = 100  # the maximum number of characters in a name that a protocol chooses
MOST_LISTED: Final = 20  # the maximum number of entries that are stored for a list in the detail of a message
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
        "to": "string",  # the addressee; empty for a message to all nodes in range
        "rate_mbps": "double",
        "attempt": "int64",  # attempt number of the MAC, starting at 1; 0 for a frame that the MAC never repeats
    },
    "links": {  # one row for each row of `frames`, if the radio model is sinr
        "start_ns": "int64",
        "sender": "string",
        "receiver": "string",
        "power_dbm": "double",
        "sinr_db": "double",  # the minimum SINR during header and payload; NaN if the reception ended early
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
        "life": "int64",  # the number of the node's life, starting at 1; a crash ends a life
        "said": "bool",  # true if the program sent the line, and false if the program received it
        "line": "string",
    },
    "causes": {  # causes and effects; rows are numbered from 0
        "time_ns": "int64",
        "node": "string",
        "step": "string",  # queued, sent, acknowledged, given_up, timer, wire or arrived
        "cause": "int64",  # the number of the row that caused this row; -1 if no cause is recorded
        "kind": "string",  # the class of the message, or the name of the timer
        "to": "string",  # the receiver; empty for a message to all nodes in range
        "messages": "string",  # the application messages in the frame or message, separated by spaces
        # If the step is `sent`, the start of the transmission; if it is `timer`, the time at which the timer was
        # started; otherwise -1.
        "start_ns": "int64",
        "end_ns": "int64",  # if the step is `sent`, the end of the transmission; otherwise -1
        "size_bytes": "int64",  # if the step is `wire`, the size with headers; otherwise -1
        "window": "string",  # if the message is a TCP segment, the TCP window or rule that delayed it
        "events": "int64",  # the number of rows in `events` before this row was added
        "heard": "string",  # if the step is `sent`, each node in range, with :OUTCOME if it did not receive the frame
    },
}

BUFFERS: Final = ("sbuffer", "rbuffer")  # the buffers of the built-in protocols
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
    """Return the names of the buffers of hosts (h) and of stations (s). `untold` is the default for a manifest that
    does not name usable buffers.
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
    """Return the possible names of broadcasts in the message of a program. Each pair of whole numbers in its value may
    be a name.
    """
    if isinstance(value, Mapping):
        return [name for item in value.values() for name in names_in(item)]
    if not isinstance(value, (list, tuple)):
        return []
    if len(value) == 2 and all(type(item) is int for item in value):
        return [f"h{value[0]}:{value[1]}"]
    return [name for item in value for name in names_in(item)]
