"""The figures of the VCube papers, redrawn from our values, with the printed values as hollow marks.

Model     drawn from the tables that `mobilenet reproduce` wrote; lines, bars and filled marks are ours, intervals are
          those of the tables
Units     time units (t.u.), messages, per cent
Source    Figures 3 and 4 and Tables 3 to 5 of Rodrigues et al. (LADC 2018); Figures 3 to 6 of Jeanneau et al. (JBCS
          2017); Tables 1 to 3 and Figures 6 to 11 of Rodrigues, Duarte and Arantes on causal aggregation; the layout
          is ours: docs/guide/pictures.md
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from mobilenet.quoting import pluralize
from mobilenet.record.provenance import stamping_like

from ..style import (
    COLOURS,
    LINES,
    MARKS,
    caption,
    inner_legend,
    log2_processes,
    page,
    plain_log,
    save_all,
    with_intervals,
)

RUNS = "Causal broadcast with aggregation, one message per process in U(0, 500) t.u."
PRINTED = "filled: ours, means with 95 % intervals, hollow: published."


def paper_figures(paper: str, folder: Path) -> list[Path]:
    """Draw what a reproduction measured, next to its tables."""
    drawn = []
    for name, (source, draw) in FIGURES[paper].items():
        table = pd.read_csv(folder / f"{source}.csv")
        with page(11, 4.4, 1, 2) as (figure, axes), stamping_like(folder / f"{source}.parquet"):
            note = draw(axes, table)
            handles, labels = axes[0].get_legend_handles_labels()
            if axes[0].get_legend() is None:  # else each has its own
                figure.legend(
                    handles, labels, loc="outside upper center", ncols=min(6, len(labels)), fontsize=9, frameon=False
                )
            caption(figure, note)
            save_all(figure, folder, f"{paper}_{name}")
        drawn.append(folder / f"{paper}_{name}.png")
    return drawn


def _value(text: Any) -> tuple[float, float]:
    """`12.3 ± 0.4`: mean and half width."""
    match = re.match(r"([-+\d.e]+)(?: ± ([\d.e+-]+))?", str(text))
    return (float(match[1]), float(match[2] or 0)) if match else (float("nan"), 0.0)


def _lines(axes: Any, groups: list[tuple[str, pd.DataFrame]]) -> None:
    """One line for each group, from its columns ours and printed."""
    for number, (label, rows) in enumerate(groups):
        values = [_value(text) for text in rows.ours]
        means, halves = [mean for mean, _ in values], [half for _, half in values]
        with_intervals(axes, rows["size"], means, halves, number, label, linewidth=1.2)
        printed_rows = rows[rows.printed.notna()]
        if len(printed_rows):
            printed = [_value(text)[0] for text in printed_rows.printed]
            colour, mark = COLOURS[number % len(COLOURS)], MARKS[number % len(MARKS)]
            axes.plot(
                printed_rows["size"],
                printed,
                mark,
                color=colour,
                markersize=10,
                markerfacecolor="none",
                linestyle="none",
            )
    log2_processes(axes.xaxis)


def _quantities(axes: Any, rows: pd.DataFrame, names: dict[str, str]) -> None:
    """One line for each of these quantities."""
    _lines(axes, [(name, rows[rows.quantity == quantity]) for quantity, name in names.items()])


def _log(axes: Any) -> None:
    axes.set_yscale("log")
    plain_log(axes.yaxis)


def _bundling(scenario: str, tables: tuple[int, int | None]) -> Callable[[Any, pd.DataFrame], str]:
    def draw(axes: Any, table: pd.DataFrame) -> str:
        for each, number, quantity, label in zip(
            axes, tables, ("latency", "messages"), ("latency (t.u.)", "messages of all processes"), strict=True
        ):
            rows = table[(table.table == number) & (table.scenario == scenario) & (table.quantity == quantity)]
            own = rows.groupby("configuration", sort=False)
            _lines(each, [(str(name), group.sort_values("size")) for name, group in own])
            each.set_ylabel(label)
            _log(each)
        axes[0].set_title("Latency")
        axes[1].set_title("Messages" if tables[1] else "")
        if tables[1] is None:
            axes[1].remove()
            axes[0].set_subplotspec(axes[0].get_gridspec()[:])
        kind = "mean of 10 replications with 95 % intervals" if "random" in scenario else "deterministic"
        return (
            f"Best-effort broadcast over VCube, every process a source, {scenario}; filled: ours ({kind}), hollow:"
            " published."
        )

    return draw


def _reliable(experiment: str, words: str) -> Callable[[Any, pd.DataFrame], str]:
    def draw(axes: Any, table: pd.DataFrame) -> str:
        rows = table[table.experiment == experiment]
        for each, quantity, label in zip(axes, ("latency", "messages"), ("latency (t.u.)", "messages"), strict=True):
            for number, (name, own) in enumerate(rows.groupby("protocol", sort=False)):
                with_intervals(each, own.n, own[quantity], own[f"{quantity}_half_width"].fillna(0), number, name)
            log2_processes(each.xaxis)
            each.set(ylabel=label, title=quantity.capitalize())
            _log(each)
        return f"Reliable broadcast by p0, {words}. Ours; the paper gives no values for these figures."

    return draw


def _packets(axes: Any, table: pd.DataFrame) -> str:
    rows = _sizes(table[table.table == "1"])
    for each, quantities, label in (
        (
            axes[0],
            {"reduction_percent": "packets saved", "aggregated_percent": "packets with several messages"},
            "per cent of packets",
        ),
        (axes[1], {"packets_plain": "without aggregation", "packets": "with aggregation"}, "packets"),
    ):
        _quantities(each, rows, quantities)
        each.set_ylabel(label)
    _log(axes[1])
    inner_legend(axes[1])
    axes[0].set_title("What aggregation saves")
    axes[1].set_title("Packets")
    return f"{RUNS}; {PRINTED}"


def _sizes(rows: pd.DataFrame) -> pd.DataFrame:
    """Without the means over all sizes."""
    return rows[rows["size"] != "all"].astype({"size": int})


def _both_latencies(axes: Any, rows: pd.DataFrame, suffix: str, title: str) -> None:
    """Without and with aggregation."""
    for each, kind in zip(axes, ("reception", "delivery"), strict=True):
        quantity = f"{kind}_latency"
        names = {f"{quantity}_plain{suffix}": "without aggregation", f"{quantity}{suffix}": "with aggregation"}
        _quantities(each, rows, names)
        each.set(ylabel=f"mean {kind} latency (t.u.)", title=f"{kind.capitalize()} {title}")


def _latencies(axes: Any, table: pd.DataFrame) -> str:
    _both_latencies(axes, _sizes(table[table.table == "text"]), "", "latency")
    return f"{RUNS}; ours, means with 95 % intervals."


def _pairs(axes: Any, table: pd.DataFrame) -> str:
    _both_latencies(axes, _sizes(table[table.table == "8"]), "_of_pairs", "of messages in packets of two")
    return (
        "Causal broadcast, one message per process in U(0, 500) t.u.: messages that came in a packet of two, and the"
        " same ones at the same processes without aggregation; ours, means with 95 % intervals. The figure's values are"
        " not printed."
    )


def _company(axes: Any, table: pd.DataFrame) -> str:
    rows = _sizes(table)
    sizes = [
        (f"{k} messages", rows[(rows.table == "2") & (rows.quantity == f"packets_of_{k}_percent")])
        for k in (*range(2, 6), "more")
    ]
    _lines(axes[0], [(name.replace("more messages", "more"), own) for name, own in sizes if len(own)])
    axes[0].set(ylabel="per cent of packets", title="Packets with several messages")
    lines = [
        (f"{name}, {trees}", rows[(rows.table == "11") & (rows.quantity == f"{name}_messages{suffix}")])
        for name in ("aggregated", "delayed")
        for suffix, trees in (("", "a tree for each source"), ("_single_tree", "a single tree"))
    ]
    _lines(axes[1], lines)
    axes[1].set(ylabel="messages", title="Aggregated and delayed messages")
    axes[1].set_yscale("log", base=2, nonpositive="clip")
    axes[1].set_ylim(bottom=0.25)  # an interval of two runs may reach below nothing
    axes[1].yaxis.set_major_formatter(lambda value, place: f"{value:,g}")
    for each in axes:
        inner_legend(each)
    return f"{RUNS}; {PRINTED}"


def _packets_of_p0(axes: Any, table: pd.DataFrame) -> str:
    for each, column, label in zip(
        axes, ("messages", "size_bytes"), ("messages in a packet", "bytes in a packet"), strict=True
    ):
        for number, (name, rows) in enumerate(table.groupby("configuration", sort=False)):
            each.plot(
                rows.time,
                rows[column],
                MARKS[number],
                color=COLOURS[number],
                markersize=4,
                alpha=0.6,
                markeredgewidth=0,
                label=name,
            )
        each.set(xlabel="time at which it was sent (t.u.)", ylabel=label, ylim=(0, None))
    axes[0].set_title("Bundled messages")
    axes[1].set_title("Sizes")
    counted = ", ".join(f"{len(rows):,} of {name}" for name, rows in table.groupby("configuration", sort=False))
    axes[0].yaxis.get_major_locator().set_params(integer=True)
    n = table["size"].iloc[0]
    return (
        f"Best-effort broadcast over VCube, {n:,} processes, every one a source, without faults: each packet of p0"
        f" ({counted}); ours, deterministic. The paper gives no values for this figure."
    )


def _dependencies(axes: Any, table: pd.DataFrame) -> str:
    rows = table[table.figure == 6]
    n = rows["size"].iloc[0]
    axes[0].bar(rows.value, 100 * rows["count"] / n, width=0.85, color=COLOURS[0])
    axes[0].set(
        xlabel="messages of other sources that a message depends on",
        ylabel="per cent of messages",
        title="Dependencies of a message",
    )
    left = 100 * (rows["count"].sum() - rows["count"].cumsum()) / n
    axes[1].step(rows.value, left, where="post", color=COLOURS[0], linewidth=1.5)
    for each in axes:
        each.xaxis.get_major_locator().set_params(integer=True)
    axes[1].set(
        xlabel="messages of other sources",
        ylabel="per cent of messages",
        title="Messages with more than x dependencies",
        ylim=(0, None),
    )
    return (
        f"Causal broadcast with aggregation, {n:,} processes, one message each in U(0, 500) t.u.: entries of a"
        f" message's compressed clock besides its own; ours, mean of {_runs(rows)}."
    )


def _processes(axes: Any, table: pd.DataFrame) -> str:
    n = table[table.figure == 9]["size"].iloc[0]
    for number, (mode, rows) in enumerate(table[table.figure == 9].groupby("mode", sort=False)):
        axes[0].step(
            [0, *rows.value],
            [0, *rows["count"].cumsum()],
            LINES[number],
            where="post",
            color=COLOURS[number],
            linewidth=1.5,
            label={"plain": "without aggregation", "aggregated": "with aggregation"}[str(mode)],
        )
    axes[0].set(
        xlabel="most messages held back at once",
        ylabel="processes that held at most x",
        title="Messages held back",
        ylim=(0, None),
    )
    inner_legend(axes[0], loc="lower right")
    for number, (mode, rows) in enumerate(table[table.figure == 10].groupby("mode", sort=False)):
        axes[1].plot(
            rows.value,
            rows["count"],
            LINES[number] + MARKS[number],
            color=COLOURS[number + 2],
            markersize=5,
            linewidth=1.2,
            label={"aggregated": "messages of 50 bytes", "short messages": "messages of 5 bytes"}[str(mode)],
        )
    for each in (axes[0].xaxis, axes[0].yaxis, axes[1].xaxis):
        each.get_major_locator().set_params(integer=True)
    axes[1].set(
        xlabel="most messages put into one packet",
        ylabel="processes",
        title="Messages in the fullest packet",
        ylim=(0, None),
    )
    inner_legend(axes[1])
    return (
        f"Causal broadcast, {n:,} processes, one message each in U(0, 500) t.u.: the maximum for each process over the"
        f" whole run; ours, mean of {_runs(table[table.figure != 6])}."
    )


def _runs(rows: pd.DataFrame) -> str:
    least, most = rows.runs.min(), rows.runs.max()
    return pluralize(least, "run") if least == most else f"{least} to {most} runs"


def _bytes(axes: Any, table: pd.DataFrame) -> str:
    rows = _sizes(table[table.table == "3"])
    n = 256 if (rows["size"] == 256).any() else rows["size"].max()
    own = rows[rows["size"] == n]
    for each, is_plain, label in zip(axes, (True, False), ("without aggregation", "with aggregation"), strict=True):
        mine = own[own.quantity.str.startswith("plain_") == is_plain]
        names = [
            re.sub(r"plain_|_bytes_percent", "", quantity).replace("_to_", "–").replace("_", " ")
            for quantity in mine.quantity
        ]
        each.bar(
            names,
            [_value(text)[0] for text in mine.ours],
            yerr=[_value(text)[1] for text in mine.ours],
            width=0.7,
            color=COLOURS[0],
            capsize=2,
            label="ours",
        )
        if mine.printed.notna().all():
            each.plot(
                names,
                [_value(text)[0] for text in mine.printed],
                "o",
                color=COLOURS[3],
                markersize=9,
                markerfacecolor="none",
                linestyle="none",
                label="published",
            )
        each.set(xlabel="bytes in a packet", ylabel="per cent of packets", title=f"Packets {label}", ylim=(0, None))
    return (
        f"Causal broadcast, {n:,} processes, one message each in U(0, 500) t.u.; bars: ours, means with 95 % intervals."
    )


Draw = Callable[[Any, pd.DataFrame], str]
FIGURES: dict[str, dict[str, tuple[str, Draw]]] = {  # by paper, each from one of its tables
    "bundling": {
        "fault_free": ("bundling", _bundling("fault-free", (3, 4))),
        "p1_faulty": ("bundling", _bundling("p1 faulty", (3, 4))),
        "random_faults": ("bundling", _bundling("random faults", (5, None))),
        "packets_of_p0": ("bundling_packets", _packets_of_p0),
    },
    "reliable": {
        "fault_free": ("reliable", _reliable("fault-free", "without faults")),
        "crash_at_0": ("reliable", _reliable("crash of p(n/2) at t0", "p(n/2) crashes at 0")),
        "crash_at_t1": ("reliable", _reliable("crash of p(n/2) at t1", "p(n/2) crashes at log2 n")),
        "crash_of_source": ("reliable", _reliable("crash of the source", "which crashes when its last copy has left")),
        "random_crashes": (
            "reliable",
            _reliable("random crashes", "log2(n) - 1 random crashes, 32 replications with 95 % intervals"),
        ),
    },
    "causal": {
        "packets": ("causal", _packets),
        "latencies": ("causal", _latencies),
        "pairs": ("causal", _pairs),
        "company": ("causal", _company),
        "bytes": ("causal", _bytes),
        "dependencies": ("causal_distributions", _dependencies),
        "processes": ("causal_distributions", _processes),
    },
}
