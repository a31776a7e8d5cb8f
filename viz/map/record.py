"""Read everything that a map needs from a run directory into arrays, and check it.

Model     Hosts are numbered in the order of their names (h0, h1, ...), and so are stations; -1 means no station
Units     integer nanoseconds, metres
Shapes    events: int arrays of one length; positions sorted by host, then time
Errors    RunError for a directory that is damaged, or is not a run of hosts and stations
Source    ours: docs/guide/maps.md
"""

from __future__ import annotations

import json
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from mobilenet.parameters import ScenarioError
from mobilenet.record.kinds import run_kind
from mobilenet.record.reader import RunError, read_coded, read_manifest, read_table
from mobilenet.record.schema import MAC_ACK
from mobilenet.record.table import NOTHING, CodedColumn, Table, Values
from mobilenet.scenario.yaml_reader import read

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
LONGEST_TEXT = 200  # the maximum length of an external name; a longer name is cut and ends with "…"
# A position farther away than half the Earth's circumference is invalid. Centimetres then fit into 32 bits.
FARTHEST_M = 20_000_000.0


@dataclass(frozen=True)
class Places:
    """The positions of each host, sorted by host and time."""

    host: Ints
    time_ns: Ints
    x_m: Floats
    y_m: Floats

    def at(self, host: Ints, time_ns: Ints) -> tuple[Floats, Floats]:
        """Return positions by linear interpolation. A host is at its first recorded position before that time, and at
        its last one afterwards. Hosts without positions have NaN.
        """
        unit = (
            1_000
            if (int(self.time_ns.max(initial=1)) // 1_000 + 1) * (int(host.max(initial=0)) + 2) < 2**62
            else 1_000_000
        )
        span = int(max(self.time_ns.max(initial=0), time_ns.max(initial=0))) // unit + 1
        keys = self.host * span + self.time_ns // unit
        after = np.searchsorted(keys, host * span + time_ns // unit, side="right")
        first = np.searchsorted(self.host, host, side="left")
        last = np.searchsorted(self.host, host, side="right") - 1
        known = last >= first
        before, after = np.clip(after - 1, first, last), np.clip(after, first, last)
        if not len(keys):
            return np.full(len(host), np.nan), np.full(len(host), np.nan)
        apart = self.time_ns[after] - self.time_ns[before]
        share = np.clip(np.where(apart > 0, (time_ns - self.time_ns[before]) / np.maximum(apart, 1), 0.0), 0.0, 1.0)
        coordinates = [
            np.where(known, v[before] + (v[after] - v[before]) * share, np.nan) for v in (self.x_m, self.y_m)
        ]
        return coordinates[0], coordinates[1]


@dataclass(frozen=True)
class Record:
    folder: Path
    manifest: dict[str, Any]
    scenario: dict[str, Any]
    hosts: list[str]
    host_of: dict[str, int]
    station_of: dict[str, int]
    stations_m: Floats
    range_m: float
    time_ns: Ints
    event: CodedColumn
    node: CodedColumn
    message: CodedColumn
    station: Ints
    session: Ints
    detail: Values
    places: Places

    def details(self, row: int) -> dict[str, Any]:
        """Return the details of an event that have no column, or an empty object if they cannot be read."""
        try:
            value = json.loads(self.detail[row] or "{}")
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}


def record(folder: Path, hosts_there: int = 0) -> Record:
    """Open a run directory. The record contains at least `hosts_there` hosts."""
    manifest = read_manifest(folder)
    run_kind(manifest).require_hosts(folder, "it has no places to show on a map; `mobilenet show` has its numbers")
    stations_m, range_m = _stations(folder, manifest)
    events, positions = (read_coded(folder, table) for table in ("events", "positions"))
    node, placed = events.column("node"), positions.column("node")
    hosts = sorted(
        {word for word in (*node.words, *placed.words) if word[:1] == "h" and word[1:].isdecimal()}
        | {f"h{number}" for number in range(hosts_there)},
        key=lambda h: int(h[1:]),
    )
    host_of = {name: i for i, name in enumerate(hosts)}
    station_of = {f"s{i}": i for i in range(len(stations_m))}
    return Record(
        folder=folder, manifest=manifest, scenario=scenario_of(folder), hosts=hosts, host_of=host_of,
        station_of=station_of, stations_m=stations_m, range_m=range_m,
        time_ns=events.numbers("time_ns"), event=events.column("event"), node=node,
        message=events.column("message"), station=events.column("station").number(station_of),
        session=events.numbers_or("session", NOTHING),
        detail=events["detail"], places=_places(folder, positions, placed.number(host_of)),
    )  # fmt: skip


def read_frames(folder: Path) -> Table | None:
    """Read the frames without the ACKs of the MAC, or return None if frames were not recorded."""
    if not (folder / "frames.parquet").exists():
        return None
    frames = read_table(folder, "frames", ("start_ns", "sender", "receiver", "fate", "kind"))
    frames = frames.filter(pc.not_equal(frames["kind"], MAC_ACK))
    return Table(frames) if frames.num_rows else None


def harmless_text(text: object) -> str:
    """Return an external string as one short line without control characters and without characters that change the
    writing direction.
    """
    line = "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") else c
        for c in str(text)[: LONGEST_TEXT + 1]
    )
    return line if len(line) <= LONGEST_TEXT else line[: LONGEST_TEXT - 1] + "…"


def _places(folder: Path, data: Table, host: Ints) -> Places:
    x, y, time_ns = (data.numbers(name) for name in ("x_m", "y_m", "time_ns"))
    if not (np.abs(x) <= FARTHEST_M).all() or not (np.abs(y) <= FARTHEST_M).all():
        raise RunError(f"{folder / 'positions.parquet'}: a position is outside the plane or not a number")
    if len(time_ns) and time_ns.min() < 0:
        raise RunError(f"{folder / 'positions.parquet'}: a time is negative")
    own = np.flatnonzero(host >= 0)
    order = own[np.lexsort((time_ns[own], host[own]))]
    last = np.ones(len(order), dtype=bool)  # Keep the later one of two positions at the same time.
    last[:-1] = (host[order][1:] != host[order][:-1]) | (time_ns[order][1:] != time_ns[order][:-1])
    order = order[last]
    return Places(host[order], time_ns[order], x[order], y[order])


def _stations(folder: Path, manifest: dict[str, Any]) -> tuple[Floats, float]:
    try:
        stations_m = np.array(manifest["station_positions_m"], dtype=np.float64).reshape(-1, 2)
        range_m = float(manifest["range_m"])
    except (KeyError, TypeError, ValueError):
        raise RunError(
            f"{folder / 'manifest.json'}: lacks the positions and range of the stations (station_positions_m, range_m)"
        ) from None
    if not (np.abs(stations_m) <= FARTHEST_M).all() or not 0 < range_m <= FARTHEST_M:
        raise RunError(f"{folder / 'manifest.json'}: a station is outside the plane, or range_m is not valid")
    return stations_m, range_m


def name_of_run(folder: Path, scenario: dict[str, Any]) -> str:
    """Return the name of a run for its map and its report: the scenario's name, or else the name of the folder."""
    return harmless_text(scenario.get("name") or folder.resolve().name)


def scenario_of(folder: Path) -> dict[str, Any]:
    try:
        values = read(folder / "scenario.yaml").plain()
    except ScenarioError as error:
        raise RunError(str(error).splitlines()[0]) from None
    return values if isinstance(values, dict) else {}
