"""Draw the TCP connections of real software: throughput with stalls and handoffs, and round-trip times at handoffs.

Model     Each connection has a lane, and all lanes have the same scale. If there are too many connections, only those
          with the longest stalls are drawn.
Units     seconds, bytes per second
Source    ours: docs/guide/real-software.md
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mobilenet.engine.clock import SECOND

from ..connections import ShownConnection
from ..style import COLOURS, QUIET, legend_below, log_axis
from .record import Record, edges_of, time_axis

MOST_LANES = 8
MANY = 5
OF_METRICS = ", which is excluded from the numbers"
FILL = 0.86  # the curve fills at most this fraction of a lane's height
STALL = "#D55E00"


def throughput(axes: Any, record: Record) -> str:
    """Draw a lane for each connection. Return a note."""
    every = record.connections
    longest = sorted(every, key=lambda one: -one.longest_stall_s)[:MOST_LANES]
    lanes = [one for one in every if one in longest]
    edges = edges_of(record)
    rates = [one.rates(edges) for one in lanes]
    most = max((float(each.max()) for each in rates), default=0.0) or 1.0
    words: set[str] = set()

    def once(text: str) -> str | None:
        """Return the label the first time, and None after that, so that the legend lists the label only once."""
        return None if text in words or words.add(text) else text  # type: ignore[func-returns-value]

    for lane, (one, rate) in enumerate(zip(lanes, rates, strict=True)):
        base = len(lanes) - 1 - lane
        for begin_s, end_s in _coverage_gaps(record, one):
            band = {"facecolor": "none", "edgecolor": QUIET, "hatch": "////", "linewidth": 0}
            span = [(begin_s, end_s - begin_s)]
            axes.broken_barh(span, (base, FILL), label=once("out of coverage"), zorder=3, **band)
        for stall in one.stalls:
            bar = {"color": STALL, "alpha": 0.4, "linewidth": 0, "label": once("stall of 0.2 s or more")}
            axes.broken_barh([(stall.since_ns / SECOND, stall.took_ns / SECOND)], (base, FILL), **bar)
        heights = base + FILL * np.append(rate, 0) / most
        label = once("throughput")
        axes.fill_between(edges / SECOND, base, heights, step="post", color=COLOURS[0], linewidth=0, label=label)
        axes.plot([one.begin_ns / SECOND, one.end_ns / SECOND], [base, base], color=COLOURS[0], linewidth=0.8)
        for near in one.near:
            at_s, kind = near.handoff.begin_ns / SECOND, "handoff" if near.survived else "handoff, nothing afterwards"
            line = {"color": "#000000" if near.survived else "#C1272D", "linestyle": "--", "linewidth": 0.9}
            axes.plot([at_s, at_s], [base, base + FILL], label=once(kind), **line)
    axes.set_yticks([len(lanes) - 1 - lane + FILL / 2 for lane in range(len(lanes))], [_name(one) for one in lanes])
    axes.tick_params(axis="y", length=0, labelsize=8 if len(lanes) < MANY else 6.5)
    axes.text(record.end_s, len(lanes) - 1 + FILL, f"▲ {_rate(most)}", fontsize=7, color=QUIET, va="top", ha="right")
    shaded = time_axis(axes, record).replace(OF_METRICS, "")
    axes.set_ylim(-0.05, len(lanes))
    legend_below(axes, 3)
    left = len(every) - len(lanes)
    some = f" Of {len(every)} connections, those with the longest stalls." if left else ""
    return (
        f"Acknowledged bytes per second, both directions together; a lane is {_rate(most)} high.{some} A stall"
        " is a time with unacknowledged bytes and without progress. Handoffs survived:"
        f" {sum(near.survived for one in every for near in one.near)} of {sum(len(one.near) for one in every)}.{shaded}"
    )


def round_trips(axes: Any, record: Record) -> str:
    """Draw a line for each handoff of a connection, from the round-trip time before the handoff to that after it.
    Return a note.
    """
    every = [near for one in record.connections for near in one.near]
    known = [near for near in every if near.before_s is not None and near.after_s is not None]
    shaded = time_axis(axes, record).replace(OF_METRICS, "")
    axes.set_ylabel("mean round-trip time (ms)")
    if not known:
        axes.set_yticks([])
    at_s = [near.handoff.begin_ns / SECOND for near in known]
    before_ms = [1e3 * (near.before_s or 0) for near in known]
    after_ms = [1e3 * (near.after_s or 0) for near in known]
    least, most = (choose([*before_ms, *after_ms], default=1.0) for choose in (min, max))
    if most > 10 * least:
        log_axis(axes.yaxis, least, most)
    axes.set_ylim(least / 1.6 if most > 10 * least else 0, most * 1.3)
    axes.vlines(at_s, before_ms, after_ms, color=QUIET, linewidth=0.8)
    axes.plot(at_s, before_ms, "o", color=COLOURS[0], markerfacecolor="white", markersize=5, label="before a handoff")
    axes.plot(at_s, after_ms, "o", color=STALL, markersize=5, label="after it")
    lost_s = [near.handoff.begin_ns / SECOND for near in every if not near.survived]
    if lost_s:
        axes.plot(lost_s, [least / 1.3] * len(lost_s), "x", color="#C1272D", label="nothing was acknowledged after it")
    legend_below(axes, 3)
    means = ""
    if known:
        before, after = (sum(times) / len(known) for times in (before_ms, after_ms))
        means = f" On average over these handoffs: {before:.3g} ms before, {after:.3g} ms after."
    return (
        f"Handoffs of hosts with an open connection, counted for each connection: {len(every)}. Each time is the mean"
        f" of the 2 s before or after; both are known for {len(known)}.{means}{shaded}"
    )


def _coverage_gaps(record: Record, one: ShownConnection) -> list[tuple[float, float]]:
    """Return the times at which a host of the connection was out of coverage while the connection was open."""
    spans: list[tuple[float, float]] = []
    events = record.events[record.events.event.isin(["in_coverage", "out_of_coverage"])]
    for node in one.nodes:
        begin_ns: int | None = None
        for row in events[events.node == node].itertuples():
            if row.event == "out_of_coverage":
                begin_ns = int(row.time_ns)
            elif begin_ns is not None and one.begin_ns < row.time_ns and begin_ns < one.end_ns:
                spans.append((max(begin_ns, one.begin_ns) / SECOND, int(row.time_ns) / SECOND))
                begin_ns = None
        if begin_ns is not None and begin_ns < one.end_ns:  # the host was out of coverage until the end of the run
            spans.append((max(begin_ns, one.begin_ns) / SECOND, one.end_ns / SECOND))
    return spans


def _name(one: ShownConnection) -> str:
    """Return the label of a connection: its two ends and the percentage of retransmissions."""
    again = one.sent_again_share
    return f"{one.name}\nsent again: {100 * again:.2g} %"


def _rate(per_s: float) -> str:
    for unit, size in (("MB/s", 1e6), ("kB/s", 1e3)):
        if per_s >= size:
            return f"{per_s / size:.3g} {unit}"
    return f"{per_s:.3g} B/s"
