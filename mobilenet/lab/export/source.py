"""Read the tables of a run on which all exports are based.

Model     A handoff begins with a handoff_start whose reason is a change of cell, and ends with the handoff_end of the
          same session, if there is one. It starts at the station of the host's last confirmed session. Its position is
          interpolated linearly between recorded positions
Units     nanoseconds in the input, seconds and metres in the output
Shapes    tracks: t_s, id, name, x_m, y_m; handoffs: see HANDOFF; stations: id, name, x_m, y_m
Errors    RunError for a directory that is not a run of hosts and stations; NoOrigin if positions on Earth are
          requested but not known
Source    ours: docs/guide/tracks.md
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mobilenet.parameters import ScenarioError
from mobilenet.record.kinds import run_kind
from mobilenet.record.reader import RunError, read_columns, read_manifest
from mobilenet.world.tracks.projection import Origin, to_earth

if TYPE_CHECKING:
    import pandas as pd

HANDOFF = (
    "id",
    "host",
    "name",
    "from_station",
    "to_station",
    "session",
    "start_s",
    "end_s",
    "duration_s",
    "x_m",
    "y_m",
)
SECOND = 1e9


class NoOrigin(RunError):
    """Raised if the position of the run on Earth is unknown."""


@dataclass(frozen=True)
class Source:
    folder: Path
    manifest: dict[str, Any]
    origin: Origin | None
    stations: pd.DataFrame
    tracks: pd.DataFrame
    handoffs: pd.DataFrame
    events: pd.DataFrame

    def require_origin(self) -> Origin:
        if self.origin is None:
            raise NoOrigin(
                f"{self.folder}: the position of this run on Earth is unknown; expected the position of"
                " (0, 0), as --origin LON,LAT or as origin: {lon, lat} in its scenario"
            )
        return self.origin


def source(folder: Path, origin: Origin | None = None) -> Source:
    """Read the tables of a run. `origin` replaces the origin in the scenario."""
    import pandas as pd

    from mobilenet.scenario import load_scenario

    manifest = read_manifest(folder)
    run_kind(manifest).require_hosts(folder, "it has no positions; export its tables with --csv")
    if "station_positions_m" not in manifest:
        raise RunError(f"{folder}: the run has no positions; export its tables with --csv")
    if origin is None:
        try:
            scenario = load_scenario(folder / "scenario.yaml")
        except ScenarioError:
            scenario = None  # the record can be read without the scenario
        origin = getattr(scenario, "origin", None)
    names: dict[str, str] = manifest.get("host_names") or {}
    places = pd.DataFrame(read_columns(folder, "positions"))
    places = places[[node.startswith("h") for node in places.node]]
    order = np.lexsort((places.time_ns, [int(node[1:]) for node in places.node]))
    places = places.iloc[order].reset_index(drop=True)
    tracks = pd.DataFrame(
        {
            "t_s": places.time_ns / SECOND,
            "id": places.node,
            "name": places.node.map(names).fillna(""),
            "x_m": places.x_m,
            "y_m": places.y_m,
        }
    )
    stations = pd.DataFrame(
        [(f"s{i}", (manifest.get("station_names") or {}).get(f"s{i}", ""), x, y) for i,
        (x, y) in enumerate(manifest["station_positions_m"])],
        columns=["id", "name", "x_m", "y_m"],
    )  # fmt: skip
    events = pd.DataFrame(read_columns(folder, "events"))
    return Source(folder, manifest, origin, stations, tracks, _handoffs(events, tracks, names), events)


def on_earth(table: pd.DataFrame, origin: Origin) -> pd.DataFrame:
    """Add columns lon and lat, in degrees rounded to 8 decimals (1 mm)."""
    lon, lat = (
        to_earth(table.x_m.to_numpy(), table.y_m.to_numpy(), origin) if len(table) else (np.zeros(0), np.zeros(0))
    )
    return table.assign(lon=np.round(lon, 8), lat=np.round(lat, 8))


def _handoffs(events: pd.DataFrame, tracks: pd.DataFrame, names: dict[str, str]) -> pd.DataFrame:
    import pandas as pd

    at: dict[str, Any] = {
        name: (own.t_s.to_numpy(), own.x_m.to_numpy(), own.y_m.to_numpy()) for name, own in tracks.groupby("id")
    }
    rows: list[list[Any]] = []
    open_: dict[tuple[str, int], int] = {}
    confirmed: dict[str, str] = {}
    host_events = events[
        events.event.isin(["join", "handoff_start", "handoff_end"])
        & np.array([node.startswith("h") for node in events.node], dtype=bool)
    ]
    for event in host_events.itertuples():
        t_s = event.time_ns / SECOND
        if event.event == "handoff_start":
            if _cause(event.detail) == "cell":
                open_[event.node, event.session] = len(rows)
                x, y = (
                    float(np.interp(t_s, at[event.node][0], column)) if event.node in at else None
                    for column in at.get(event.node, (0, 0, 0))[1:]
                )
                rows.append(
                    [
                        len(rows),
                        event.node,
                        names.get(event.node, ""),
                        confirmed.get(event.node),
                        event.station,
                        event.session,
                        t_s,
                        None,
                        None,
                        x,
                        y,
                    ]
                )
            continue
        confirmed[event.node] = event.station
        row = open_.pop((event.node, event.session), None)
        if row is not None:
            rows[row][7:9] = t_s, round(t_s - rows[row][6], 9)
    return pd.DataFrame(rows, columns=list(HANDOFF))


def _cause(detail: str | None) -> str | None:
    try:
        value = json.loads(detail or "{}")
    except ValueError:
        return None
    return value.get("cause") if isinstance(value, dict) else None
