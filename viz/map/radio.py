"""Compute the radio conditions at each position of a run: walls, the best station and its power, and hosts' links.

Model     This requires `model: sinr`. Power and best station are computed from the scenario in the run directory for
          the centre of each square, with path loss, walls and shadowing, but without fading. Links are the frames that
          hosts received. If there are more than LINKS, only the last one of each host in each `every_s` is shown.
Units     metres, whole centimetres, whole dBm below zero, tenths of a dB; moments in milliseconds, rounded up
Shapes    power: rows from south to north; `below_dbm[i]` and `best[i]` are 255 where no station is received.
          Walls: `corners` of each ring, `rings` of each building; one column of positions, stored as differences
Errors    If the scenario or the file of walls cannot be read, neither power nor walls are shown
Source    ours: docs/guide/maps.md
"""

from __future__ import annotations

from math import ceil, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mobilenet.network.propagation.obstacles import read_buildings
from mobilenet.network.propagation.serving import NOBODY, Serving
from mobilenet.network.propagation.walls import Building
from mobilenet.parameters import ScenarioError
from mobilenet.record.reader import read_coded, read_table
from mobilenet.scenario.mobile import Scenario
from mobilenet.scenario.radio_words import power_of

from .pack import narrow, pack_column
from .record import Record

SIDE_M = 4.0
SQUARES = 250_000
ASKED = 4_000_000  # the maximum product of the number of squares and the number of stations
AROUND_M = 40.0  # the margin around walls, hosts and stations
LINKS = 100_000
NOTHING = 255


class Squares(NamedTuple):
    """The best station in each square, from south to north. `best` and `below_dbm` are NOTHING in squares without
    reception.
    """

    x_m: float
    y_m: float
    side_m: float
    columns: int
    rows: int
    below_dbm: NDArray[np.int64]
    best: NDArray[np.int64]
    least_dbm: float

    def corners_m(self) -> NDArray[np.float64]:
        """Return the south-western and the north-eastern corner of the grid."""
        size = self.side_m * np.array([self.columns, self.rows])
        return np.array([[self.x_m, self.y_m], [self.x_m + size[0], self.y_m + size[1]]])


class Ground(NamedTuple):
    buildings: list[Building]
    squares: Squares | None  # None if there are no stations, or too many


def radio(run: Record, frames_in: Path) -> dict[str, Any] | None:
    """Return the data of a radio model that uses power, or None for one that uses distances."""
    if not is_by_power(run):
        return None
    document: dict[str, Any] = {"walls": None, "power": None, "links": _links(run, frames_in)}
    ground = ground_of(run)
    if ground is not None and ground.buildings:
        document["walls"] = _walls(ground.buildings)
    if ground is not None and ground.squares is not None:
        packed = {name: pack_column(getattr(ground.squares, name), "u8") for name in ("below_dbm", "best")}
        document["power"] = ground.squares._asdict() | packed
    return document


def is_by_power(run: Record) -> bool:
    """Return whether the radio model uses power instead of distances."""
    wireless = run.scenario.get("wireless")
    return isinstance(wireless, dict) and wireless.get("model") == "sinr"


def ground_of(run: Record) -> Ground | None:
    """Return the walls and the reception for a radio model that uses power, or None if its files cannot be read."""
    try:
        scenario = Scenario.load(run.folder / "scenario.yaml")
        service = power_of(scenario, run.stations_m)
        obstacles = scenario.wireless.obstacles
        buildings = [] if obstacles is None else read_buildings(scenario.folder / obstacles.file, scenario.anchor)
    except (ScenarioError, OSError):
        return None
    if not 0 < len(run.stations_m) < NOTHING:
        return Ground(buildings, None)
    around_m = AROUND_M if buildings else 1.05 * run.range_m
    least_dbm = scenario.wireless.preamble_rssi_dbm
    return Ground(buildings, _squares(run, service.serving, buildings, around_m, least_dbm))


def _squares(run: Record, serving: Serving, buildings: list[Building], around_m: float, least_dbm: float) -> Squares:
    corners = np.array([corner for building in buildings for ring in building for corner in ring]).reshape(-1, 2) / 100
    at = np.concatenate([np.column_stack([run.places.x_m, run.places.y_m]), run.stations_m, corners])
    (west, south), (east, north) = at.min(axis=0) - around_m, at.max(axis=0) + around_m
    most = min(SQUARES, ASKED // len(run.stations_m))
    side_m = max(SIDE_M, sqrt((east - west) * (north - south) / most))
    while ceil((east - west) / side_m) * ceil((north - south) / side_m) > most:
        side_m *= 1.01
    columns, rows = ceil((east - west) / side_m), ceil((north - south) / side_m)
    best, power = np.array([
        serving.best(west + (column + 0.5) * side_m, south + (row + 0.5) * side_m)
        for row in range(rows) for column in range(columns)
    ]).T  # fmt: skip
    is_silent = (best == NOBODY) | (power < round(100 * least_dbm))
    below = np.where(is_silent, NOTHING, np.clip(np.rint(-power / 100), 0, NOTHING - 1))
    best = np.where(is_silent, NOTHING, best)
    return Squares(float(west), float(south), float(side_m), columns, rows, below, best, least_dbm)


def _walls(buildings: list[Building]) -> dict[str, Any]:
    rings = [ring for building in buildings for ring in building]
    corners = np.array([corner for ring in rings for corner in ring], dtype=np.int64)
    steps = np.diff(corners, axis=0, prepend=0)
    return {
        "rings": narrow([len(building) for building in buildings]), "corners": narrow([len(ring) for ring in rings]),
        "x_cm": narrow(steps[:, 0]), "y_cm": narrow(steps[:, 1]),
    }  # fmt: skip


def _links(run: Record, frames_in: Path) -> dict[str, Any] | None:
    """Return the links, or None if they were not recorded."""
    if not all((frames_in / f"{name}.parquet").exists() for name in ("frames", "links")):
        return None
    frames = read_coded(frames_in, "frames", ("start_ns", "end_ns", "sender", "receiver", "fate"))
    links = read_table(frames_in, "links", ("start_ns", "power_dbm", "sinr_db"))
    if not np.array_equal(frames.numbers("start_ns"), links["start_ns"]):
        return None
    host = frames.column("receiver").number(run.host_of)
    rows = np.flatnonzero((host >= 0) & frames.column("fate").among(["received"]))
    end_ms = -(-frames.numbers("end_ns") // 1_000_000)
    rows = rows[np.lexsort((end_ms[rows], host[rows]))]
    every_ms = 1
    rows_to_draw = rows
    while len(rows_to_draw) > LINKS:
        every_ms *= 2
        last = np.ones(len(rows), dtype=bool)
        place = end_ms[rows] // every_ms
        last[:-1] = (host[rows][1:] != host[rows][:-1]) | (place[1:] != place[:-1])
        rows_to_draw = rows[last]
    senders = run.host_of | {name: len(run.hosts) + i for name, i in run.station_of.items()}
    powers = (links[name].combine_chunks().to_numpy(zero_copy_only=False) for name in ("power_dbm", "sinr_db"))
    tenths = [np.nan_to_num(np.rint(10 * each[rows_to_draw])).astype(np.int64) for each in powers]
    return {
        "every_s": every_ms / 1000 if every_ms > 1 else 0.0,
        "count": narrow(np.bincount(host[rows_to_draw], minlength=len(run.hosts))),
        "time_ms": narrow(end_ms[rows_to_draw]),
        "sender": narrow(frames.column("sender").number(senders)[rows_to_draw]),
        "power_ddbm": narrow(tenths[0]), "sinr_ddb": narrow(tenths[1]),
    }  # fmt: skip
