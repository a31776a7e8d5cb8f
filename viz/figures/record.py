"""Load the data for the figures of a run, and draw the time axis that most figures share.

Model     The axis goes from 0 to duration_s (for processes, to the end of the run). Each mean covers 1/200 of this
          time.
Units     seconds; in runs of processes time units
Source    ours: docs/guide/pictures.md
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mobilenet.engine.clock import SECOND
from mobilenet.metrics.deliveries import Deliveries
from mobilenet.metrics.over_time import integral_of
from mobilenet.network.propagation.obstacles import read_buildings
from mobilenet.network.propagation.walls import Building
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import percentage
from mobilenet.record.kinds import RunKind, run_kind
from mobilenet.record.reader import RunError, read_manifest
from mobilenet.record.table import Table
from mobilenet.scenario.radio_words import Radio, radio_keys
from mobilenet.scenario.run_source import read_source
from mobilenet.why.stories import Stories

from ..connections import ShownConnection
from ..style import FAULT

BUCKETS = 200


def manifest_of(directory: Path) -> dict[str, Any]:
    """Return manifest.json. Raise RunError if a value that is drawn has the wrong type."""
    manifest = read_manifest(directory)
    kind = run_kind(manifest)
    for name in kind.numbers:
        if not _is_number(manifest.get(name)):
            raise RunError(f"{directory / 'manifest.json'}: damaged: {name} is not a number")
    for name in kind.places:
        places = manifest.get(name)
        if not isinstance(places, list) or not all(
            isinstance(place, list) and len(place) == 2 and all(map(_is_number, place)) for place in places
        ):
            raise RunError(f"{directory / 'manifest.json'}: damaged: {name} is not a list of places")
    return manifest


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and bool(np.isfinite(value))


@dataclass(slots=True)
class Record:
    """The data of a run for figures."""

    manifest: dict[str, Any]
    events: pd.DataFrame  # all events except deliveries
    deliveries: Deliveries
    samples: pd.DataFrame
    positions: pd.DataFrame
    frames: Table | None = None
    radio: type[Radio] = field(default_factory=lambda: radio_keys("unit_disk"))
    buildings: list[Building] = field(default_factory=list)
    stories: Stories | None = None  # available if the run recorded its causes
    connections: list[ShownConnection] = field(default_factory=list)  # the TCP connections of real software
    delivery_ratio: float = 1.0  # the fraction of the required deliveries that were made

    @property
    def kind(self) -> RunKind:
        return run_kind(self.manifest)

    @property
    def unit(self) -> str:
        return self.kind.unit

    @property
    def end_s(self) -> float:
        return self.kind.window(self.manifest)[1]

    @property
    def warmup_s(self) -> float:
        return self.kind.window(self.manifest)[0]

    @property
    def window(self) -> str:
        """Return a description of the measurement period."""
        return f"from {self.warmup_s:g} to {self.end_s:g} {self.unit}"

    @property
    def lacking(self) -> str:
        """A sentence for captions of delays if not all messages were delivered. It begins with a space."""
        if self.delivery_ratio == 1:
            return ""
        return f" Only {percentage(self.delivery_ratio)} of what was owed was delivered."

    @property
    def delays_s(self) -> NDArray[np.float64]:
        """The delays of the messages that were broadcast within the window."""
        sent, delays = self.deliveries.times_and_delays(self.kind.delivers_at_once)
        inside = (sent >= self.warmup_s * SECOND) & (sent < self.end_s * SECOND)
        return np.asarray(delays[inside])


def buildings_of(directory: Path) -> list[Building]:
    """Return the buildings of a run's scenario, in centimetres. The list is empty if the scenario has no buildings, or
    if its files can no longer be read.
    """
    try:
        scenario = read_source(directory / "scenario.yaml")
        if scenario.wireless is None or scenario.wireless.obstacles is None:
            return []
        return read_buildings(scenario.folder / scenario.wireless.obstacles.file, scenario.anchor)
    except (ScenarioError, OSError):
        return []


def edges_of(record: Record) -> NDArray[np.float64]:
    return np.linspace(0, record.end_s * SECOND, BUCKETS + 1)


def middles_s(edges: NDArray[np.float64]) -> NDArray[np.float64]:
    middles: NDArray[np.float64] = (edges[:-1] + edges[1:]) / 2 / SECOND
    return middles


def mean_level(rows: pd.DataFrame, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum the values in `rows` over all nodes, and return the mean of this sum in each time interval."""
    level: NDArray[np.float64] = np.diff(integral_of(rows, edges)) / np.diff(edges)
    return level


def time_axis(axes: Any, record: Record) -> str:
    """Set up the time axis from 0 to the end of the measurement period. Shade the warm-up and the outages of nodes.
    Return a note.
    """
    notes = ""
    if record.warmup_s > 0:
        axes.axvspan(0, record.warmup_s, color="#000000", alpha=0.07, linewidth=0, label="warm-up", zorder=0)
        notes = f" Grey: the warm-up until {record.warmup_s:g} {record.unit}, which is excluded from the numbers."
    axes.set(xlabel=f"simulated time ({record.unit})", xlim=(0, record.end_s))
    axes.set_ylim(bottom=0)
    return notes + _shade_outages(axes, record)


def _shade_outages(axes: Any, record: Record) -> str:
    """Draw a band for each period in which a node is down. Return a note."""
    downs = record.events[record.events.event.isin(["crash", "recover"])]
    count = 0
    for _, own in downs.groupby("node", sort=False):
        begin: int | None = None
        for row in [*own.itertuples(), None]:
            if row is not None and row.event == "crash":
                begin = row.time_ns
            elif begin is not None:
                end = record.end_s * SECOND if row is None else row.time_ns
                axes.axvspan(
                    begin / SECOND,
                    end / SECOND,
                    color=FAULT,
                    alpha=0.22,
                    linewidth=0,
                    label=None if count else "a node is down",
                )
                count, begin = count + 1, None
    often = {1: "once", 2: "twice"}.get(count, f"{count} times")
    return f" Orange: a node is down ({often})." if count else ""
