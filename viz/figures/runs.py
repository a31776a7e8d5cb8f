"""The figures of one run: what waits where, how long messages take, what is in the air, how handoffs go.

Model     each figure is a function of the record that gets axes and draws; `run_figures` draws those that the run has
          something for. Buffers and rates are means over 1/200 of the time each; what happens while hosts are down is shaded;
          delays are those of messages broadcast between warmup_s and duration_s
Units     seconds, messages, frames; in runs of processes time units instead of seconds
Source    buffers, messages and delays after Figures 6 to 8 of Wilhelm, Arantes, Sens (2020); the layout is ours: DESIGN.md §19
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mobilenet.rundir import read_frame, read_manifest
from mobilenet.study.measure import delays_of, integral
from viz.figures.field import field
from viz.files import make_folder
from viz.style import COLOURS, FAULT, LINES, QUIET, Drawn, caption, page, save

SECOND = 1_000_000_000
BUCKETS = 200
MOST_LINES = 8
SHORTEST = 1e-4  # that a logarithmic axis shows


@dataclass(slots=True)
class Record:
    """What figures are drawn from."""

    name: str
    manifest: dict[str, Any]
    events: pd.DataFrame
    samples: pd.DataFrame
    positions: pd.DataFrame

    @property
    def of_processes(self) -> bool:
        return "processes" in self.manifest

    @property
    def unit(self) -> str:
        return "t.u." if self.of_processes else "s"

    @property
    def end_s(self) -> float:
        return float(self.manifest["simulated_s"] if self.of_processes else self.manifest["duration_s"])

    @property
    def delays_s(self) -> NDArray[np.float64]:
        """Of messages broadcast within the window."""
        if self.of_processes:  # of others: a process delivers its own message at once
            own = (self.events.event == "deliver") & (self.events.message.str.rpartition(":")[0] == self.events.node)
            return delays_of(self.events[~own])[1]
        sent, delays = delays_of(self.events)
        inside = (sent >= self.manifest["warmup_s"] * SECOND) & (sent < self.manifest["duration_s"] * SECOND)
        return delays[inside]


def run_figures(directory: Path, folder: Path, suffixes: tuple[str, ...] = (".svg", ".png"), captions: bool = True) -> list[Drawn]:
    """Draw what there is into `folder`; the files of the first suffix, in the order of reading. Without captions the figures are
    smaller, for a page that sets them itself."""
    manifest = read_manifest(directory)
    tables = (read_frame(directory, name) for name in ("events", "samples", "positions"))
    record = Record(directory.resolve().name, manifest, *tables)
    make_folder(folder)
    drawn = []
    for name, title, wanted, draw in FIGURES:
        if not wanted(record):
            continue
        with page(*((8, 3.8) if captions else (6, 3.3))) as (figure, axes):
            note = f"n = 1 run. {draw(axes, record)}"
            axes.set_title(title)
            if captions:
                caption(figure, f"{record.name}, seed {manifest['seed']}, {note}")
            for suffix in suffixes:
                save(figure, folder / f"{name}{suffix}")
        drawn.append(Drawn(title, folder / f"{name}{suffixes[0]}", note))
    return drawn



def _edges(record: Record) -> NDArray[np.float64]:
    return np.linspace(0, record.end_s * SECOND, BUCKETS + 1)


def _middles_s(edges: NDArray[np.float64]) -> NDArray[np.float64]:
    middles: NDArray[np.float64] = (edges[:-1] + edges[1:]) / 2 / SECOND
    return middles


def _mean_level(rows: pd.DataFrame, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of the sum over the nodes in `rows`, in each bucket."""
    level: NDArray[np.float64] = np.diff(integral(rows, edges)) / np.diff(edges)
    return level


def _time_axis(axes: Any, record: Record) -> None:
    axes.set(xlabel=f"simulated time ({record.unit})", xlim=(0, record.end_s))
    axes.set_ylim(bottom=0)


def shade_outages(axes: Any, record: Record) -> str:
    """A band for each time that a node is down; says so."""
    downs = record.events[record.events.event.isin(["crash", "recover"])]
    count = 0
    for _, own in downs.groupby("node", sort=False):
        begin: int | None = None
        for row in [*own.itertuples(), None]:
            if row is not None and row.event == "crash":
                begin = row.time_ns
            elif begin is not None:
                end = record.end_s * SECOND if row is None else row.time_ns
                axes.axvspan(begin / SECOND, end / SECOND, color=FAULT, alpha=0.22, linewidth=0, label=None if count else "a node is down")
                count, begin = count + 1, None
    return f" Shaded: {count} outages." if count else ""


def _stations(record: Record) -> list[str]:
    return [f"s{number}" for number in range(record.manifest["stations"])]


def station_buffers(axes: Any, record: Record) -> str:
    edges = _edges(record)
    sizes = record.samples[record.samples.quantity == "sbuffer"]
    stations = _stations(record)
    levels = {station: _mean_level(sizes[sizes.node == station], edges) for station in stations}
    x = _middles_s(edges)
    outages = shade_outages(axes, record)
    if len(stations) > MOST_LINES:
        every = np.array(list(levels.values()))
        axes.fill_between(x, every.min(axis=0), every.max(axis=0), color=COLOURS[4], alpha=0.35, linewidth=0, label="least to most")
        axes.plot(x, every.mean(axis=0), color=COLOURS[0], label="mean of all stations")
    else:
        for number, (station, level) in enumerate(levels.items()):
            axes.plot(x, level, LINES[number // 4 % 4], color=COLOURS[number], linewidth=1.2, label=station)
    axes.set_ylabel("messages in SBuffer")
    _time_axis(axes, record)
    axes.legend(ncols=4, fontsize=8, frameon=False, loc="upper left")
    return f"Mean over each {record.end_s / BUCKETS:g} s.{outages}"


def host_buffers(axes: Any, record: Record) -> str:
    edges = _edges(record)
    x = _middles_s(edges)
    members = _members(record, edges)
    for number, (quantity, label) in enumerate((("rbuffer", "RBuffer: waits for earlier ones"), ("sbuffer", "SBuffer: not acknowledged yet"))):
        rows = record.samples[(record.samples.quantity == quantity) & record.samples.node.str.startswith("h")]
        level = _mean_level(rows, edges)
        mean = np.divide(level, members, out=np.zeros_like(level), where=members > 0)
        axes.plot(x, mean, LINES[number], color=COLOURS[number], linewidth=1.3, label=label)
    outages = shade_outages(axes, record)
    axes.set_ylabel("messages per host")
    _time_axis(axes, record)
    axes.legend(fontsize=8, frameon=False, loc="upper left")
    return f"Mean over members and over each {record.end_s / BUCKETS:g} s.{outages}"


def _members(record: Record, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    changes = record.events[record.events.event.isin(["join", "leave"])]
    rows = pd.DataFrame({"time_ns": changes.time_ns, "node": changes.node, "value": (changes.event == "join").astype(float)})
    return _mean_level(rows, edges)


def delay_distribution(axes: Any, record: Record) -> str:
    delays = np.sort(record.delays_s)
    axes.step(delays, np.arange(1, len(delays) + 1) / len(delays), where="post", color=COLOURS[0], linewidth=1.5)
    for share, style in ((0.5, "-"), (0.95, "--"), (0.99, ":")):
        value = float(np.quantile(delays, share))
        axes.plot([value, value], [0, share], style, color=QUIET, linewidth=0.9)
        axes.annotate(f"{share:.0%}: {value:.3g} {record.unit}", (value, share), textcoords="offset points", xytext=(-6, 3), fontsize=8, ha="right")
    if delays[-1] > 50 * max(delays[0], SHORTEST):
        axes.set_xscale("log")
        axes.set_xlim(left=max(delays[0], SHORTEST) / 1.2)  # own messages may be delivered at once
    axes.set(xlabel=f"delay from broadcast to delivery ({record.unit})", ylabel="share of deliveries", ylim=(0, 1.02))
    whose = "deliveries at others"
    if not record.of_processes:
        whose = f"deliveries of messages broadcast from {record.manifest['warmup_s']:g} to {record.manifest['duration_s']:g} s"
    return f"{len(delays):,}".replace(",", " ") + f" {whose}, mean {delays.mean():.4g} {record.unit.rstrip('.')}."


def delay_over_time(axes: Any, record: Record) -> str:
    sent, delays = delays_of(record.events)
    buckets = np.minimum((sent / (record.end_s * SECOND) * 60).astype(int), 59)
    table = pd.DataFrame({"bucket": buckets, "delay": delays})[sent < record.end_s * SECOND].groupby("bucket").delay
    x = (np.array(sorted(table.groups)) + 0.5) * record.end_s / 60
    for number, (share, label) in enumerate(((0.5, "median"), (0.95, "95 %"))):
        axes.plot(x, table.quantile(share).to_numpy(), LINES[number], color=COLOURS[number], label=label)
    outages = shade_outages(axes, record)
    axes.set_ylabel(f"delay ({record.unit})")
    _time_axis(axes, record)
    axes.legend(fontsize=8, frameon=False, loc="upper left")
    return f"By the time of the broadcast, {record.end_s / 60:.3g} s each.{outages}"


def in_the_air(axes: Any, record: Record) -> str:
    totals = record.samples[record.samples.node == "network"].drop_duplicates(["time_ns", "quantity"])
    frames = totals[totals.quantity == "radio_frames"]
    seconds, rate = _rates(frames.time_ns.to_numpy(), frames.value.to_numpy(), record)
    axes.plot(seconds, rate, color=COLOURS[0], linewidth=1.2, label="frames in the air")
    axes.set_ylabel("frames a second")
    _time_axis(axes, record)
    lost = totals[totals.quantity.isin(["pairs_collision", "pairs_never_attempted"])].groupby("time_ns").value.sum()
    pairs = totals[totals.quantity.str.startswith("pairs_")].groupby("time_ns").value.sum()
    where, lost_rate = _rates(lost.index.to_numpy(), lost.to_numpy(), record)
    _, pair_rate = _rates(pairs.index.to_numpy(), pairs.to_numpy(), record)
    share = np.divide(lost_rate, pair_rate, out=np.zeros_like(lost_rate), where=pair_rate > 0)
    other = axes.twinx()
    other.plot(where, 100 * share, "--", color=COLOURS[3], linewidth=1.2, label="lost to collisions")
    other.set_ylabel("lost to collisions (% of receivers in range)", fontsize=8)
    other.set_ylim(bottom=0)
    other.spines["right"].set_visible(True)
    handles = [*axes.get_lines(), *other.get_lines()]
    axes.legend(handles=handles, fontsize=8, frameon=False, loc="lower right")
    return "Per second of simulated time."


def _rates(times_ns: NDArray[Any], totals: NDArray[Any], record: Record) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of a running total, between samples."""
    times, first = np.unique(times_ns, return_index=True)
    values = totals[first].astype(float)
    keep = times <= record.end_s * SECOND
    times, values = times[keep] / SECOND, values[keep]
    return (times[:-1] + times[1:]) / 2, np.diff(values) / np.diff(times)


def handoffs(axes: Any, record: Record) -> str:
    own = record.events[record.events.event.isin(["handoff_start", "handoff_end"])]
    starts = own[(own.event == "handoff_start") & own.detail.str.contains('"cell"', na=False)].set_index(["node", "session"]).time_ns
    ends = own[own.event == "handoff_end"].set_index(["node", "session"]).time_ns
    both = pd.concat([starts.rename("begin"), ends.rename("end")], axis=1, join="inner")
    durations_ms = np.sort((both.end - both.begin).to_numpy() / 1e6)
    axes.step(durations_ms, np.arange(1, len(durations_ms) + 1) / len(durations_ms), where="post", color=COLOURS[0], linewidth=1.5)
    if durations_ms[-1] > 20 * durations_ms[0]:
        axes.set_xscale("log")
    axes.set(xlabel="from the new session to its confirmation (ms)", ylabel="share of handoffs", ylim=(0, 1.02))
    superseded = len(starts) - len(both)
    return f"In the whole run {len(both)} handoffs, median {np.median(durations_ms):.1f} ms; {superseded} more were superseded or not confirmed."


def pending(axes: Any, record: Record) -> str:
    """What processes of a causal broadcast hold back."""
    edges = _edges(record)
    rows = record.samples[record.samples.quantity == "pending"]
    count = record.manifest["processes"]
    axes.plot(_middles_s(edges), _mean_level(rows, edges) / count, color=COLOURS[0], linewidth=1.3)
    axes.set_ylabel("messages held back per process")
    _time_axis(axes, record)
    most = rows.groupby("node").value.max()
    return f"Mean over {count} processes; the most that one held back: {most.max():g}, {most.median():g} in the median."


def _has(event: str) -> Callable[[Record], bool]:
    return lambda record: bool((record.events.event == event).any())


def _samples(quantity: str, kind: str) -> Callable[[Record], bool]:
    return lambda record: bool(((record.samples.quantity == quantity) & record.samples.node.str.startswith(kind)).any())


FIGURES: tuple[tuple[str, str, Callable[[Record], bool], Callable[[Any, Record], str]], ...] = (
    ("delays", "How long messages take", lambda record: len(record.delays_s) > 0, delay_distribution),
    ("delays_over_time", "Delay over time", lambda record: _has("deliver")(record) and not record.of_processes, delay_over_time),
    ("station_buffers", "What stations keep", _samples("sbuffer", "s"), station_buffers),
    ("host_buffers", "What hosts keep", _samples("rbuffer", "h"), host_buffers),
    ("radio", "What is in the air", _samples("radio_frames", "network"), in_the_air),
    ("handoffs", "How long handoffs take", _has("handoff_end"), handoffs),
    ("field", "Where hosts went", lambda record: bool(record.positions.node.str.startswith("h").any()), field),
    ("pending", "What waits for its causal past", _samples("pending", "p"), pending),
)  # fmt: skip
