"""Draw the parts of delays: a bar for each run or level, or a row for each delivery of one message.

Model     Each cause of delay has the same colour in all pictures. The parts of a bar follow the path of a message from
          the sender to the receiver. A hatched part is time spent waiting for another message. A cross marks the end of
          a lost frame.
Units     shares of the delay; milliseconds, for processes time units
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from mobilenet.metrics.delay_shares import part_name, part_of
from mobilenet.quoting import pluralize
from mobilenet.why import kinds
from mobilenet.why.handoffs import Interruption, Interruptions
from mobilenet.why.kinds import Part
from mobilenet.why.shares import Shares, add, counted_deliveries, delay_ns, shares_by, slowest
from mobilenet.why.stories import Stories
from mobilenet.why.stretches import Stretch

from ..study_tables import StudyTables
from ..style import KIND_COLOURS, QUIET, figure_legend, percent, plain

LEAST_NAMED = 0.14  # a part of a bar shows its name if it is at least this fraction of the bar
MOST_ROWS = 40
SECONDS_FROM_NS = 10_000_000_000  # If the delay is at least this long, the axis is in seconds.
DARK = (
    kinds.AIR, kinds.LOST, kinds.NAGLE, kinds.CONGESTION_WINDOW, kinds.RECEIVE_WINDOW, kinds.RETRANSMISSION,
    kinds.WIRE_QUEUE, kinds.CUT, kinds.DOWN, kinds.OFF_AIR,
)  # fmt: skip
BEFORE_HANDOFFS = (kinds.OLD_SESSION, kinds.DETECTION)
MEAN_DELAYS = ("delivery_delay_mean_s", "delivery_latency_mean")
BEHIND = "behind another message"


class Bar(NamedTuple):
    label: str
    parts: Mapping[Part, float]  # the fraction of the delay that each part takes
    mean: str  # the mean delay with its unit


def draw_bars(axes: Any, bars: Sequence[Bar]) -> None:
    """Draw one row for each bar, from top to bottom."""
    for row, bar in enumerate(bars):
        left = 0.0
        for part, share in sorted(bar.parts.items(), key=lambda item: _along_the_way(item[0])):
            axes.barh(row, share, 0.62, left, color=KIND_COLOURS[part[0]], edgecolor="white", linewidth=0.6)
            if share >= LEAST_NAMED:
                words = f"{part_name(part).replace(' (', chr(10) + '(')}\n{percent(share)}"
                colour = "white" if part[0] in DARK else "black"
                axes.text(left + share / 2, row, words, ha="center", va="center", fontsize=6.5, color=colour)
            left += share
        axes.text(1.01, row, bar.mean, va="center", fontsize=8, color=QUIET)
    axes.set_yticks(range(len(bars)), [plain(bar.label) for bar in bars])
    axes.invert_yaxis()
    axes.set(xlabel="share of the delay", xlim=(0, 1))
    axes.xaxis.set_major_formatter(lambda value, place: percent(value))
    kinds_drawn = {kind for bar in bars for (kind, _), share in bar.parts.items() if share > 0.002}
    figure_legend(axes.figure, *_legend(kinds_drawn))


def bars_of_run(stories: Stories, begin_ns: int, end_ns: int) -> list[Bar]:
    """Return two bars: one for all deliveries of the measurement period, and one for the slowest of them."""
    deliveries = counted_deliveries(stories, begin_ns, end_ns)
    if not deliveries:
        return []
    late = {one.event for one in slowest(stories, deliveries)}
    both = shares_by(stories, deliveries, lambda one: one.event in late)
    unit = _unit(deliveries[0].node)
    return [
        bar_of(name, own, unit) for name, own in (("all deliveries", add(both.values())), ("slowest 5 %", both[True]))
    ]


def bar_of(label: str, all_shares: Shares, unit: str) -> Bar:
    parts = {part: all_shares.share(part) for part in all_shares.by_part}
    return Bar(
        f"{label}\n(n = {all_shares.deliveries:,})",
        parts,
        f"{all_shares.delay_ns / all_shares.deliveries / 1e9:.4g} {unit}",
    )


def level_bars(tables: StudyTables) -> list[Bar]:
    """Return a bar for each configuration that has means. It shows the mean delay and the contribution of each part."""
    shares_of: dict[str, dict[Part, float]] = {}
    names, means = {}, {}
    for row in tables.summary:
        number = row["configuration"]
        if row["metric"] in MEAN_DELAYS and row["mean"]:
            means[number] = f"{float(row['mean']):.3g} {tables.words.time_unit}"
        part = part_of(row["metric"])
        if part is not None and row["mean"] and int(number) not in tables.unstable:
            names[number] = tables.in_words(row, tables.factors) or "unchanged"
            shares_of.setdefault(number, {})[part] = float(row["mean"])
    return [Bar(textwrap.fill(names[number], 28), parts, means.get(number, "")) for number, parts in shares_of.items()]


def draw_deliveries(axes: Any, stories: Stories, message: str, at: str | None = None) -> str:
    """Draw the deliveries of a message, with the slowest first. Return a note."""
    deliveries = [one for one in stories.record.deliveries if one.message == message and at in (None, one.node)]
    ranked = sorted(deliveries, key=lambda one: -delay_ns(stories, one))
    sent = stories.record.broadcasts[message]
    rows = [(one.node, stories.of(message, one.node)) for one in ranked[:MOST_ROWS]]
    verb = "sent" if stories.record.of_datagrams else "broadcast"
    cross = draw_waterfall(axes, rows, [sent.time_ns] * len(rows), f"time since {sent.node} {verb} it")
    return (
        f"{_number(len(rows), len(ranked), 'delivery')} of {message}{', the slowest first' * (len(rows) > 1)}.{cross}"
    )


def draw_waterfall(
    axes: Any, rows: Sequence[tuple[str, Sequence[Stretch]]], since_ns: Sequence[int], xlabel: str
) -> str:
    """Draw a row for each delay, in which each part has the colour of its cause. Each row starts at its own time 0.
    Return the explanation of a cross, or an empty string if no frame was lost.
    """
    longest_ns = max((own[-1].end_ns - zero for (_, own), zero in zip(rows, since_ns, strict=True) if own), default=0)
    of_processes = any(name[0] == "p" for name, _ in rows)
    per_unit, unit = (1e9, "t.u.") if of_processes else (1e9, "s") if longest_ns >= SECONDS_FROM_NS else (1e6, "ms")
    drawn: set[str] = set()
    is_held = False
    for row, ((_, own), zero_ns) in enumerate(zip(rows, since_ns, strict=True)):
        for s in own:
            begin = (s.begin_ns - zero_ns) / per_unit
            axes.barh(
                row, s.length_ns / per_unit, 0.7, begin, color=KIND_COLOURS[s.kind], edgecolor="white",
                linewidth=0.2, hatch="////" if s.held_by else None,
            )  # fmt: skip
            drawn.add(s.kind)
            is_held |= bool(s.held_by)
            if s.kind == kinds.LOST:
                axes.plot(begin + s.length_ns / per_unit, row, "x", color="black", markersize=4, zorder=3)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set(xlabel=f"{xlabel} ({unit})")
    handles, labels = _legend(drawn)
    if is_held:
        handles.append(_patch("white", hatch="////", edgecolor=QUIET))
        labels.append(BEHIND)
    figure_legend(axes.figure, handles, labels)
    return " A cross: a frame was lost." if kinds.LOST in drawn else ""


def draw_interruptions(axes: Any, interruptions: Sequence[Interruption], walk: Interruptions) -> str:
    """Draw the interruptions by handoffs, with the longest first. Return a note."""
    ranked = sorted(interruptions, key=lambda one: -one.length_ns)[:MOST_ROWS]
    rows = [(one.name, walk.of(one)) for one in ranked]
    since_ns = [one.last_ns for one in ranked]
    cross = draw_waterfall(axes, rows, since_ns, "time since the last delivery before the handoff")
    return f"{_number(len(rows), len(interruptions), 'interruption')}{', the longest first' * (len(rows) > 1)}.{cross}"


def _number(drawn: int, all_of_them: int, noun: str) -> str:
    return f"{drawn} of {pluralize(all_of_them, noun)}" if drawn < all_of_them else pluralize(drawn, noun)


def _legend(drawn: Iterable[str]) -> tuple[list[Any], list[str]]:
    ordered = sorted(drawn, key=_place)
    return [_patch(KIND_COLOURS[kind]) for kind in ordered], [f"{kind.replace('_', ' ')}" for kind in ordered]


def _patch(colour: str, **look: Any) -> Any:
    from matplotlib.patches import Patch

    return Patch(facecolor=colour, **look)


def _place(kind: str) -> int:
    return [*BEFORE_HANDOFFS, *kinds.KINDS, kinds.IDLE].index(kind)


def _along_the_way(part: Part) -> tuple[bool, int, int]:
    kind, leg = part
    return kind not in BEFORE_HANDOFFS, list(kinds.LEGS).index(leg), _place(kind)


def _unit(node: str) -> str:
    return "t.u." if node[0] == "p" else "s"
