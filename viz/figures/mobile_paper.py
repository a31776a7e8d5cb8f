"""Figures 6, 7 and 8 of the mobile paper, redrawn from our runs, and its statements on flooding over TCP.

Model     drawn from the tables that `mobilenet reproduce mobile` wrote. Lines are means over replications, bands
          their t intervals for each moment separately, thin lines only the first replication: a paper shows one run
Units     seconds, messages
Errors    OSError, pandas.errors.ParserError where a table is damaged
Source    Wilhelm, Arantes, Sens (2020), section V; the layout is ours: docs/guide/pictures.md
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from mobilenet.record.provenance import stamping_like

from ..style import COLOURS, FAULT, LINES, caption, inner_legend, page, plain_log, save_all, with_intervals

PROTOCOLS = {"static": "mobile broadcast", "tcp_static": "flooding over TCP"}
METHOD = "Lines: means over n = {n} replications, bands: 95 % t intervals; thin: one run."


def mobile_figures(folder: Path) -> list[Path]:
    """Draw them next to the tables; return the PNG files."""
    over_time = pd.read_csv(folder / "mobile_over_time.csv")
    lengths = pd.read_csv(folder / "mobile_lengths.csv")
    drawn = []
    figures: dict[str, Callable[[Any], str]] = {
        "figure_6": lambda axes: _figure_6(axes, over_time),
        "figure_7": lambda axes: _figure_7(axes, over_time),
        "figure_8": lambda axes: _figure_8(axes, over_time),
        "tcp": lambda axes: _tcp(axes, over_time, lengths),
    }
    for name, draw in figures.items():
        with page(11, 4.4, 1, 2) as (figure, axes), stamping_like(folder / "mobile.parquet"):
            caption(figure, draw(axes))
            save_all(figure, folder, f"mobile_{name}")
        drawn.append(folder / f"mobile_{name}.png")
    return drawn


def _course(
    axes: Any, table: pd.DataFrame, experiment: str, quantity: str, number: int, label: str, alone: bool = True
) -> int:
    """One line with its band; how many replications it has."""
    rows = table[(table.experiment == experiment) & (table.quantity == quantity)]
    x, colour = (rows.from_s + rows.to_s) / 2, COLOURS[number]
    if alone:
        axes.plot(x, rows["first"], LINES[number], color=colour, linewidth=0.6, alpha=0.6)
    axes.plot(x, rows["mean"], LINES[number], color=colour, label=label)
    axes.fill_between(x, rows.low.clip(lower=0), rows.high, color=colour, alpha=0.18, linewidth=0)
    axes.set(xlabel="simulated time (s)", xlim=(0, rows.to_s.max()))
    return int(rows.n.max())


def _range(counts: list[int]) -> str:
    return f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def _log(axes: Any, bottom: float) -> None:
    axes.set_yscale("log")
    axes.set_ylim(bottom=bottom)
    plain_log(axes.yaxis)


def _figure_6(axes: Any, table: pd.DataFrame) -> str:
    counts: list[int] = []
    for number, (experiment, words) in enumerate(PROTOCOLS.items()):
        counts.append(_course(axes[0], table, experiment, "sbuffer", number, words))
        _course(axes[1], table, experiment, "sent_per_delivery", number, words)
    _log(axes[0], 1)
    axes[0].set(title="Figure 6a: messages stored at a station", ylabel="messages in SBuffer, mean of all stations")
    axes[1].set(title="Figure 6b: messages sent per delivery", ylabel="messages per delivery, so far", ylim=(0, 4))
    for height, number in ((0.4, 0), (1.58, 1)):
        axes[1].axhline(height, color=COLOURS[number], linewidth=0.8, linestyle=":")
        axes[1].annotate(
            f"{height:g} published",
            (1, height),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="top",
            fontsize=8,
            color=COLOURS[number],
        )
    inner_legend(axes[0], loc="lower right")
    return f"Stationary hosts, 5.6 messages a second. {METHOD.format(n=_range(counts))}"


def _figure_7(axes: Any, table: pd.DataFrame) -> str:
    n = _course(axes[0], table, "dynamic", "sbuffer", 0, "SBuffer of a station")
    _course(axes[0], table, "dynamic", "host_rbuffer", 1, "RBuffer of a host")
    axes[0].set(title="Figure 7a: messages stored at stations and hosts", ylabel="messages, mean of all nodes")
    axes[0].set_ylim(bottom=0)
    inner_legend(axes[0], loc="upper right", bbox_to_anchor=(1, 0.45))
    _course(axes[1], table, "dynamic", "delivery_delay_s", 2, "delivery delay")
    axes[1].set(
        title='Delivery delay, which "keeps stable"', ylabel=("mean delay of messages broadcast at this time (s)")
    )
    axes[1].set_ylim(bottom=0)
    axes[1].axhline(0.3, color=COLOURS[6], linewidth=0.8, linestyle=":", label="about 0.3 s published")
    inner_legend(axes[1], loc="lower right")
    return f"Walking hosts, 25 messages a second. {METHOD.format(n=n)}"


def _figure_8(axes: Any, table: pd.DataFrame) -> str:
    for each, quantity, title in (
        (axes[0], "sbuffer", "Figure 8a: messages stored at a station"),
        (axes[1], "sbuffer_of_s3", "Figure 8b: messages stored at s3"),
    ):  # fmt: skip
        n = _course(each, table, "faults", quantity, 0, "SBuffer")
        end_s = each.get_xlim()[1]
        for number in range(int((end_s - 15) // 30) + 1):
            each.axvspan(15 + 30 * number, min(end_s, 18 + 31 * number), color=FAULT, alpha=0.25, linewidth=0)
        each.set(
            title=title, ylabel="messages in SBuffer" + (", mean of all stations" if quantity == "sbuffer" else "")
        )
        each.set_ylim(bottom=0)
    return (
        "Walking hosts, 25 messages a second; shaded: a host in the cell of s3 is down, at first for 3 s,"
        " then 1 s longer"
        f" each time. {METHOD.format(n=n)}"
    )


def _tcp(axes: Any, table: pd.DataFrame, lengths: pd.DataFrame) -> str:
    for number, (kind, label) in enumerate(
        (("delivered", "of what was delivered by then"), ("all", "of all that was broadcast by then"))
    ):
        mean = lengths[f"mean_{kind}_s"]
        half = lengths[f"high_{kind}_s"] - mean
        with_intervals(axes[0], lengths.length_s, mean, half, number, label)
    axes[0].axhline(2, color=COLOURS[6], linewidth=0.8, linestyle=":")
    axes[0].annotate("2 s published", (1, 2), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8)
    axes[0].set(title="Delay, 5.6 messages a second", xlabel="length of the run (s)", ylabel="mean delivery delay (s)")
    axes[0].set_ylim(bottom=0)
    inner_legend(axes[0], loc="upper left")
    counts = [
        _course(axes[1], table, "tcp_heavy", "sbuffer", 3, "35 messages a second"),
        _course(axes[1], table, "tcp_static", "sbuffer", 1, "5.6 messages a second"),
    ]  # fmt: skip
    _log(axes[1], 1)
    axes[1].set(title="What a station keeps", ylabel="messages in SBuffer, mean of all stations")
    inner_legend(axes[1], loc="lower right")
    return (
        f"Flooding over TCP, stationary hosts. Left: means over n = {lengths.n.max()} runs of the longest length,"
        " with 95 % t intervals. On the right:"
        f" {METHOD.format(n=_range(counts))[0].lower()}{METHOD.format(n=_range(counts))[1:]}"
    )
