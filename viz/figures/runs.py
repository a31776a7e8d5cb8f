"""Draw the figures of one run: buffers, delays, frames on the air, and handoffs.

Model     `run_figures` draws the figures for which the run has data. Each mean of a buffer or rate covers 1/200 of the
          time. The warm-up and the periods in which a node is down are shaded. Figures of delays show the messages that
          were broadcast between warmup_s and duration_s.
Units     seconds, messages, frames; in runs of processes time units instead of seconds
Source    buffers, messages and delays after Figures 6 to 8 of Wilhelm, Arantes, Sens (2020); the layout is ours:
          docs/guide/pictures.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mobilenet.engine.clock import SECOND
from mobilenet.metrics.deliveries import Deliveries
from mobilenet.metrics.network import LOST_TO_OTHERS
from mobilenet.quoting import pluralize
from mobilenet.record.kinds import run_kind
from mobilenet.record.provenance import stamping_of
from mobilenet.record.reader import RunError, read_derived, read_frame, read_table
from mobilenet.record.schema import BUFFERS, buffers_of
from mobilenet.record.stamp import normal_command
from mobilenet.record.table import Table
from mobilenet.why.stories import recorded_stories

from ..connections import connections_in
from ..files import make_folder
from ..log_values import log_values
from ..map.record import read_frames
from ..style import (
    COLOURS,
    LINES,
    LOOK,
    QUIET,
    DrawnFigure,
    Look,
    caption,
    in_words,
    legend_below,
    log_axis,
    page,
    save_all,
    station_colour,
    thousands,
)
from .connections import round_trips, throughput
from .field import field
from .frames import radio_of, reception
from .outcomes import has_outcomes, outcomes
from .record import (
    BUCKETS,
    Record,
    buildings_of,
    edges_of,
    manifest_of,
    mean_level,
    middles_s,
    time_axis,
)
from .stretches import bars_of_run, draw_bars

MOST_LINES = 8
BINS = 60  # the number of time intervals in the figure of delays over time
# the number of points on the curve of a cumulative distribution, which is larger than the height of a picture in pixels
STEPS = 2000
# the figures to which --log-y applies
LOG_Y = {"delays_over_time", "station_buffers", "host_buffers", "pending"}
SHORTEST = 1e-4  # the shortest delay on a logarithmic axis


def run_figures(directory: Path, folder: Path, look: Look = LOOK) -> list[DrawnFigure]:
    """Draw the figures for which the run has data into `folder`. Return the files of the first suffix, in the order in
    which they should be read.
    """
    record = _record(directory)
    make_folder(folder)
    drawn = []
    with stamping_of(directory, normal_command("figures", "RUN", **look.options())):
        for name, _, is_available, _ in FIGURES:
            if is_available(record):
                with _drawing(record, name, look) as (figure, title, note):
                    drawn.append(DrawnFigure(title, save_all(figure, folder, name, look.suffixes), note))
    return drawn


def run_figure(directory: Path, name: str | None = None, look: Look = LOOK) -> Any:
    """Return one figure of a run as a matplotlib figure. The default is the first figure for which the run has data."""
    record = _record(directory)
    there = [figure for figure, _, is_available, _ in FIGURES if is_available(record)]
    if not there:
        raise RunError(f"{directory}: contains nothing to draw")
    if name is not None and name not in there:
        raise RunError(f"figure {name!r}: not available for this run; expected one of {', '.join(there)}")
    with _drawing(record, name or there[0], look) as (figure, _, _):
        return figure


def _record(directory: Path) -> Record:
    events = read_table(directory, "events")
    coded = Table(events)
    others = np.flatnonzero(~coded.column("event").among(("deliver",)))
    samples, positions = (read_frame(directory, name) for name in ("samples", "positions"))
    record = Record(manifest_of(directory), events.take(others).to_pandas(), Deliveries(coded), samples, positions)
    ratio = read_derived(directory, "metrics.json").get("delivery_ratio")
    record.delivery_ratio = 1.0 if ratio is None else ratio
    record.frames, record.radio = read_frames(directory), radio_of(directory)
    record.buildings = buildings_of(directory)
    record.connections = connections_in(directory)
    if (directory / "causes.parquet").is_file():
        record.stories = recorded_stories(directory)
    return record


@contextmanager
def _drawing(record: Record, name: str, look: Look) -> Iterator[tuple[Any, str, str]]:
    """Yield the figure with this name, its title and its note."""
    title, draw = next((title, draw) for figure, title, _, draw in FIGURES if figure == name)
    if name == "pending" and not _is_causal(record.manifest):
        title = "Messages waiting for earlier ones"
    with page(*look.size(*((8, 4.3) if look.captions else (6, 3.7)))) as (figure, axes):
        note = f"n = 1 run. {draw(axes, record)}"
        if look.log_y and name in LOG_Y:
            log_values(axes)
            note += look.log_y_note
        if look.titles:
            axes.set_title(title)
        if look.captions:
            caption(figure, f"Seed {record.manifest['seed']}, {note}")
        yield figure, title, note


def _stations(record: Record) -> list[str]:
    return [f"s{number}" for number in range(record.manifest["stations"])]


def station_buffers(axes: Any, record: Record) -> str:
    edges = edges_of(record)
    names = _buffers(record, "s")
    names = ["sbuffer"] if "sbuffer" in names else names
    sizes = record.samples[record.samples.quantity == names[0]] if len(names) == 1 else _together(record, names)
    stations = _stations(record)
    levels = {station: mean_level(sizes[sizes.node == station], edges) for station in stations}
    x = middles_s(edges)
    if len(stations) > MOST_LINES:
        every = np.array(list(levels.values()))
        axes.fill_between(
            x,
            every.min(axis=0),
            every.max(axis=0),
            color=COLOURS[4],
            alpha=0.35,
            linewidth=0,
            label="minimum to maximum",
        )
        axes.plot(x, every.mean(axis=0), color=COLOURS[0], label=f"mean of all {len(stations)} stations")
    else:
        for number, (station, level) in enumerate(levels.items()):
            axes.plot(x, level, LINES[number // 4 % 4], color=station_colour(number), linewidth=1.2, label=station)
    axes.set_ylabel(f"messages in {' and '.join('SBuffer' if name == 'sbuffer' else name for name in names)}")
    shaded = time_axis(axes, record)
    legend_below(axes, 5)
    return f"Mean over each {record.end_s / BUCKETS:g} s.{shaded}"


def host_buffers(axes: Any, record: Record) -> str:
    edges = edges_of(record)
    x = middles_s(edges)
    members = _members(record, edges)
    words = {"rbuffer": "RBuffer: waiting for earlier ones", "sbuffer": "SBuffer: not acknowledged yet"}
    measured = _buffers(record, "h")
    for number, quantity in enumerate(dict.fromkeys((*(name for name in words if name in measured), *measured))):
        rows = record.samples[(record.samples.quantity == quantity) & record.samples.node.str.startswith("h")]
        level = mean_level(rows, edges)
        mean = np.divide(level, members, out=np.zeros_like(level), where=members > 0)
        axes.plot(x, mean, LINES[number], color=COLOURS[number], linewidth=1.3, label=words.get(quantity, quantity))
    axes.set_ylabel("messages per host")
    shaded = time_axis(axes, record)
    legend_below(axes, 2)
    return f"Mean over members and over each {record.end_s / BUCKETS:g} s.{shaded}"


def _buffers(record: Record, kind: str) -> list[str]:
    """Return the quantities that have samples and are buffers of hosts (h) or stations (s)."""
    own_buffers = buffers_of(record.manifest, record.kind.buffers)[kind]
    sampled = set(record.samples[record.samples.node.str.startswith(kind)].quantity)
    return [name for name in dict.fromkeys((*BUFFERS, *own_buffers)) if name in sampled]


def _together(record: Record, names: list[str]) -> pd.DataFrame:
    """Return the sum of several buffers at each node, in the format of samples."""
    rows = record.samples[record.samples.quantity.isin(names)]
    steps = rows.groupby(["node", "quantity"]).value.diff().fillna(rows.value)
    return rows.assign(value=steps.groupby(rows.node).cumsum())


def _members(record: Record, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    changes = record.events[record.events.event.isin(["join", "leave"])]
    rows = pd.DataFrame(
        {"time_ns": changes.time_ns, "node": changes.node, "value": (changes.event == "join").astype(float)}
    )
    return mean_level(rows, edges)


def delay_distribution(axes: Any, record: Record) -> str:
    delays = np.sort(record.delays_s)
    most = record.delivery_ratio
    drawn = np.unique(np.linspace(0, len(delays) - 1, STEPS).astype(int))
    axes.step(delays[drawn], (drawn + 1) / len(delays) * most, where="post", color=COLOURS[0], linewidth=1.5)
    for share, name, style in ((0.5, "median", "-"), (0.95, "95 %", "--"), (0.99, "99 %", ":")):
        value = float(np.quantile(delays, share))
        axes.plot(
            [value, value],
            [0, share * most],
            style,
            color=QUIET,
            linewidth=1.1,
            label=f"{name}: {value:.3g} {record.unit}",
        )
    least = max(delays[0], SHORTEST)  # a host may deliver its own messages immediately
    if delays[-1] > 50 * least:
        log_axis(axes.xaxis, least, delays[-1])
        axes.set_xlim(left=least / 1.2)
    else:
        axes.set_xlim(left=0)
    axes.set(
        xlabel=f"delay from broadcast to delivery ({record.unit})",
        ylabel="share of what was owed" if most < 1 else "share of deliveries",
        ylim=(0, 1.02),
    )
    legend_below(axes, 3)
    whose = (
        "deliveries at processes other than the source, in the whole run"
        if record.kind.delivers_at_once
        else f"deliveries of messages broadcast {record.window}, whenever they arrived"
    )
    return (
        f"Cumulative distribution over {thousands(len(delays))} {whose}; mean {delays.mean():.4g} {record.unit}".rstrip(
            "."
        )
        + f".{record.lacking}"
        + (" The vertical lines mark percentiles of the deliveries." if most < 1 else "")
    )


def delay_over_time(axes: Any, record: Record) -> str:
    sent, delays = record.deliveries.times_and_delays(at_others=True)
    buckets = np.minimum((sent / (record.end_s * SECOND) * BINS).astype(int), BINS - 1)
    inside = sent < record.end_s * SECOND
    table = pd.DataFrame({"bucket": buckets[inside], "delay": delays[inside]}).groupby("bucket").delay
    x = (np.arange(BINS) + 0.5) * record.end_s / BINS
    for number, (share, label) in enumerate(((0.5, "median"), (0.95, "95 % are below"))):
        # The line is interrupted in intervals without deliveries.
        values = table.quantile(share).reindex(range(BINS)).to_numpy()
        axes.plot(x, values, LINES[number], color=COLOURS[number], label=label, marker=".", markersize=3)
    axes.set_ylabel(f"delay ({record.unit})")
    shaded = time_axis(axes, record)
    legend_below(axes)
    return (
        f"Messages broadcast in each {record.end_s / BINS:.3g} s, at other nodes than the sender; no line where none of"
        f" them was delivered.{shaded}{record.lacking}"
    )


def in_the_air(axes: Any, record: Record) -> str:
    totals = record.samples[record.samples.node == "network"].drop_duplicates(["time_ns", "quantity"])
    frames = totals[totals.quantity == "radio_frames"]
    seconds, rate = _rates(frames.time_ns.to_numpy(), frames.value.to_numpy(), record)
    axes.plot(seconds, rate, color=COLOURS[0], linewidth=1.2, label="frames in the air (left)")
    axes.set_ylabel("frames a second")
    shaded = time_axis(axes, record)
    lost = totals[totals.quantity.isin([f"pairs_{name}" for name in LOST_TO_OTHERS])].groupby("time_ns").value.sum()
    pairs = totals[totals.quantity.str.startswith("pairs_")].groupby("time_ns").value.sum()
    where, lost_rate = _rates(lost.index.to_numpy(), lost.to_numpy(), record)
    _, pair_rate = _rates(pairs.index.to_numpy(), pairs.to_numpy(), record)
    share = np.divide(lost_rate, pair_rate, out=np.zeros_like(lost_rate), where=pair_rate > 0)
    other = axes.twinx()
    other.plot(where, 100 * share, "--", color=COLOURS[3], linewidth=1.2, label="lost to collisions (right)")
    other.set_ylabel("lost to collisions\n(% of receptions)", fontsize=9)
    other.set_ylim(bottom=0)
    other.spines["right"].set_visible(True)
    legend_below(axes, 2, handles=[*axes.get_legend_handles_labels()[0], *other.get_lines()])
    return (
        "From the network's totals, which are sampled every second. A reception is a frame at one receiver"
        f" {record.radio.receivers}.{shaded}"
    )


def _rates(
    times_ns: NDArray[Any], totals: NDArray[Any], record: Record
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the rate at which a running total grows between its samples."""
    times, first = np.unique(times_ns, return_index=True)
    values = totals[first].astype(float)
    keep = times <= record.end_s * SECOND
    times, values = times[keep] / SECOND, values[keep]
    return (times[:-1] + times[1:]) / 2, np.diff(values) / np.diff(times)


def reception_by_distance(axes: Any, record: Record) -> str:
    assert record.frames is not None
    return reception(axes, record.frames, record.positions, record.manifest["station_positions_m"])


def outcomes_of_frames(axes: Any, record: Record) -> str:
    return outcomes(axes, record.frames, record.samples, record.radio)


def handoffs(axes: Any, record: Record) -> str:
    own = record.events[record.events.event.isin(["handoff_start", "handoff_end"])]
    starts = (
        own[(own.event == "handoff_start") & own.detail.str.contains('"cell"', na=False)]
        .set_index(["node", "session"])
        .time_ns
    )
    ends = own[own.event == "handoff_end"].set_index(["node", "session"]).time_ns
    both = pd.concat([starts.rename("begin"), ends.rename("end")], axis=1, join="inner")
    more = len(starts) - len(both)
    rest = f"; {more} more {'was' if more == 1 else 'were'} superseded or not confirmed" if more else ""
    if both.empty:
        return in_words(axes, "No handoff was confirmed.") + rest + "."
    durations_ms = np.sort((both.end - both.begin).to_numpy() / 1e6)
    axes.step(
        durations_ms,
        np.arange(1, len(durations_ms) + 1) / len(durations_ms),
        where="post",
        color=COLOURS[0],
        linewidth=1.5,
    )
    if durations_ms[-1] > 20 * durations_ms[0]:
        log_axis(axes.xaxis, durations_ms[0], durations_ms[-1])
    axes.set(xlabel="from the new session to its confirmation (ms)", ylabel="share of handoffs", ylim=(0, 1.02))
    inside = int(both.begin.between(record.warmup_s * SECOND, record.end_s * SECOND, inclusive="left").sum())
    window = "all" if inside == len(both) else thousands(inside)
    return (
        f"Cumulative distribution over all {pluralize(len(both), 'handoff')} of the whole run ({window} of them"
        f" began {record.window}); median {np.median(durations_ms):.1f} ms{rest}."
    )


def pending(axes: Any, record: Record) -> str:
    """Draw the number of messages that wait at processes for causally earlier messages. Return a note."""
    edges = edges_of(record)
    rows = record.samples[record.samples.quantity == "pending"]
    count = record.manifest["processes"]
    most = rows.groupby("node").value.max()
    if most.max() == 0:
        return in_words(axes, "Nothing waited: each of the processes could deliver every message when it arrived.")
    axes.plot(middles_s(edges), mean_level(rows, edges) / count, color=COLOURS[0], linewidth=1.3)
    axes.set_ylabel("messages held back per process")
    shaded = time_axis(axes, record)
    legend_below(axes)
    return (
        f"Mean over {count} processes and over each {record.end_s / BUCKETS:g} t.u.; maximum at one process:"
        f" {most.max():g}; median over the maxima of all processes: {most.median():g}.{shaded}"
    )


def delay_parts(axes: Any, record: Record) -> str:
    """Draw the parts of the delay, which docs/models/causes.md defines. Return a note."""
    assert record.stories is not None
    bars = bars_of_run(record.stories, *run_kind(record.manifest).window_ns(record.manifest))
    if not bars:
        return in_words(axes, "No message broadcast during the measurement period was delivered.")
    draw_bars(axes, bars)
    return f"From left to right: uplink, backbone, cell and receiver; on the right, the mean delay.{record.lacking}"


def _is_causal(manifest: dict[str, Any]) -> bool:
    """Return whether the protocol holds messages back to preserve causal order."""
    promises = manifest.get("promises")
    return isinstance(promises, dict) and promises.get("broadcast") == "causal"


def _has(event: str) -> Callable[[Record], bool]:
    return lambda record: bool((record.events.event == event).any())


def _has_moved(record: Record) -> bool:
    return any(one.near for one in record.connections)


def _has_frames(record: Record) -> bool:
    return record.frames is not None


def _has_outcomes(record: Record) -> bool:
    return has_outcomes(record.frames, record.samples)


def _samples(quantity: str, kind: str) -> Callable[[Record], bool]:
    return lambda record: bool(((record.samples.quantity == quantity) & record.samples.node.str.startswith(kind)).any())


FIGURES: tuple[tuple[str, str, Callable[[Record], bool], Callable[[Any, Record], str]], ...] = (
    ("delays", "Delivery delay", lambda record: len(record.delays_s) > 0, delay_distribution),
    ("delay_parts", "Parts of the delay", lambda record: record.stories is not None, delay_parts),
    (
        "delays_over_time",
        "Delay over time",
        lambda record: len(record.deliveries.node) > 0 and not record.kind.delivers_at_once,
        delay_over_time,
    ),
    ("station_buffers", "Messages stored at stations", lambda record: bool(_buffers(record, "s")), station_buffers),
    ("host_buffers", "Messages stored at hosts", lambda record: bool(_buffers(record, "h")), host_buffers),
    ("radio", "Frames in the air", _samples("radio_frames", "network"), in_the_air),
    ("reception", "Reception as a function of distance", _has_frames, reception_by_distance),
    ("fates", "Causes of lost frames", _has_outcomes, outcomes_of_frames),
    ("handoffs", "Duration of handoffs", _has("handoff_end"), handoffs),
    ("connections", "Throughput of TCP connections", lambda record: bool(record.connections), throughput),
    ("round_trips", "Round-trip times at handoffs", _has_moved, round_trips),
    ("field", "Paths of hosts", lambda record: bool(record.positions.node.str.startswith("h").any()), field),
    ("pending", "Messages waiting for their causal past", _samples("pending", "p"), pending),
)
