"""The recorded frames of a radio: one row per transmission, in chronological order.

Model     frames.parquet has a row for each node in range of a transmission, and the rows of one transmission follow
          each other. The file is read in parts, and only the transmissions are kept in memory
Shapes    FRAME; a node is represented by a number (`address`), and a class of messages by its index in `kinds`
Errors    RunError if the frames were not recorded, or the table is damaged
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mobilenet.record.kinds import run_kind
from mobilenet.record.reader import RunError, glance_at_tables, read_coded, read_manifest, read_parts
from mobilenet.record.schema import COLUMNS, MAC_ACK
from mobilenet.record.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

ALL = 0xFFFFFFFF  # the address for all nodes in range
OUTCOMES = (  # an outcome's index in this tuple is its code in the capture
    "received", "collision", "never_attempted", "half_duplex", "random", "receiver_down", "bit_errors",
    "preamble_missed", "out_of_range",
)  # fmt: skip
# This outcome does not occur in the table. It applies to a frame for a single node that was not in range.
OUT_OF_RANGE = OUTCOMES.index("out_of_range")
NO_OUTCOME = 255  # for frames to all nodes in range, whose outcomes are counted instead
NODE = re.compile("[hs][0-9]{1,7}")
LINKS = ("power_dbm", "sinr_db")
FRAME = np.dtype(
    [
        ("start_ns", np.int64), ("airtime_ns", np.int64), ("sender", np.uint32), ("to", np.uint32),
        ("kind", np.uint16), ("psdu_bytes", np.uint32), ("rate_mbps", np.float64), ("attempt", np.uint8),
        ("sequence", np.uint16), ("outcome", np.uint8), ("counts", np.uint16, OUT_OF_RANGE),
        ("heard", np.bool_), ("power_dbm", np.float32), ("sinr_db", np.float32),
    ]
)  # fmt: skip


class Frames(NamedTuple):
    """All transmissions of a run. If a node is given, `heard`, `power_dbm`, `sinr_db` and `outcome` describe the
    reception at this node; otherwise, `outcome` describes the reception at the addressee. `counts` holds the number of
    nodes in range for each outcome.
    """

    rows: np.ndarray
    kinds: list[str]
    has_power: bool


def address(name: str) -> int:
    """Return the number that represents a node: the letter of its kind, combined with the number in its name."""
    return ord(name[0]) << 24 | int(name[1:])


def read_frames(run: Path, node: str | None = None) -> Frames:
    """Read the transmissions of a run and, if a node is given, their reception at this node."""
    manifest = read_manifest(run)
    run_kind(manifest).require_hosts(run, "only hosts and stations have a radio")
    path = run / "frames.parquet"
    if not path.is_file():
        raise RunError(f"{run}: did not record its frames; expected a run with --set record.frames=true")
    glance_at_tables(run, manifest)
    nodes = read_coded(run, "positions", ("node",)).column("node").words
    if node is not None and node not in nodes:
        raise RunError(f"{run}: has no node {node}; expected a host or a station of the run, such as {nodes[0]}")
    has_power = node is not None and (run / "links.parquet").is_file()
    kinds: dict[str, int] = {}
    at = None if node is None else address(node)
    parts = [_transmissions(Table(part), path, kinds, at) for part in _whole(run, has_power)]
    rows = np.concatenate([np.empty(0, FRAME), *parts])
    rows = rows[np.argsort(rows["start_ns"], kind="stable")]
    rows["sequence"] = _number(rows, kinds.get(MAC_ACK, -1))
    return Frames(rows, list(kinds), has_power)


def _whole(run: Path, has_power: bool) -> Iterator[pa.Table]:
    """Yield the table in parts. No transmission is split between two parts."""
    import pyarrow as pa

    rest = None
    for part in _with_power(run) if has_power else read_parts(run, "frames", [*COLUMNS["frames"]]):
        rows = part if rest is None else pa.concat_tables((rest, part))
        last = int(_firsts_of(Table(rows))[-1])
        yield rows.slice(0, last)
        rest = rows.slice(last)
    if rest is not None:
        yield rest


def _with_power(run: Path) -> Iterator[pa.Table]:
    links = read_parts(run, "links", ("start_ns", *LINKS))
    for part in read_parts(run, "frames", [*COLUMNS["frames"]]):
        strengths = next(links, None)
        if strengths is None or not strengths["start_ns"].equals(part["start_ns"]):
            raise RunError(f"{run / 'links.parquet'}: its rows are not those of frames.parquet; the run is damaged")
        for name in LINKS:
            part = part.append_column(name, strengths[name])
        yield part


def firsts(start_ns: np.ndarray, sender: np.ndarray) -> np.ndarray:
    """Return the first row of each transmission, which is identified by its sender and start, because a node sends only
    one frame at a time.
    """
    is_first = np.ones(len(start_ns), bool)
    is_first[1:] = (start_ns[1:] != start_ns[:-1]) | (sender[1:] != sender[:-1])
    return np.flatnonzero(is_first)


def _firsts_of(table: Table) -> np.ndarray:
    return firsts(table.numbers("start_ns"), table.column("sender").codes)


def addresses(table: Table, name: str, path: Path) -> np.ndarray:
    """Return the node number for each row of a column, or ALL for an empty cell. `path` is the file named in errors."""
    column = table.column(name)
    if wrong := [word for word in column.words if word and not NODE.fullmatch(word)]:
        raise RunError(f"{path}: {name} has {wrong[0][:40]!r}, expected a node; the run is damaged")
    return column.map([address(word) if word else ALL for word in column.words], ALL)


def _transmissions(table: Table, path: Path, kinds: dict[str, int], at: int | None) -> np.ndarray:
    begins = _firsts_of(table)
    rows = np.zeros(len(begins), FRAME)
    if not len(rows):
        return rows
    for name in ("start_ns", "psdu_bytes", "rate_mbps"):
        rows[name] = table.numbers(name)[begins]
    rows["attempt"] = np.minimum(table.numbers("attempt")[begins], 255)
    rows["airtime_ns"] = table.numbers("end_ns")[begins] - rows["start_ns"]
    rows["sender"] = addresses(table, "sender", path)[begins]
    to, receiver, column = addresses(table, "to", path), addresses(table, "receiver", path), table.column("kind")
    rows["to"] = to[begins]
    rows["kind"] = column.map([kinds.setdefault(word, len(kinds)) for word in column.words], 0)[begins]
    fate = table.column("fate").number({word: code for code, word in enumerate(OUTCOMES[:OUT_OF_RANGE])})
    if (fate < 0).any():
        raise RunError(f"{path}: fate has an outcome that no radio has; the run is damaged")
    for code in range(OUT_OF_RANGE):
        rows["counts"][:, code] = np.add.reduceat(fate == code, begins)
    rows["outcome"] = np.where(rows["to"] == ALL, NO_OUTCOME, OUT_OF_RANGE)
    for where in (receiver == to, receiver == at):
        pairs = np.flatnonzero(where)
        ones = np.searchsorted(begins, pairs, side="right") - 1
        rows["outcome"][ones] = fate[pairs]
    if at is not None:
        rows["heard"][ones] = True
        for name in LINKS if "power_dbm" in table else ():
            rows[name][ones] = table.numbers(name)[pairs]
    return rows


def _number(rows: np.ndarray, ack: int) -> np.ndarray:
    """Number the frames of each sender as in 802.11: a frame that the MAC retransmits keeps its number."""
    numbers = np.zeros(len(rows), np.uint16)
    order = np.flatnonzero(rows["kind"] != ack)
    order = order[np.argsort(rows["sender"][order], kind="stable")]
    own, before = rows[order][1:], rows[order][:-1]
    again = own["attempt"] == before["attempt"] + 1
    again &= own["attempt"] > 1
    for name in ("sender", "to", "kind", "psdu_bytes"):
        again &= own[name] == before[name]
    count = np.concatenate([np.zeros(min(len(order), 1), np.int64), np.cumsum(~again)])
    begins = np.searchsorted(rows["sender"][order], rows["sender"][order])
    numbers[order] = (count - count[begins]) % 4096
    return numbers
