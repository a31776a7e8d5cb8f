"""The figures of a study: the comparison with its intervals, the distribution of delays, buffers over time.

Model     drawn from the tables that the study wrote, not from its runs; a line for each configuration, a band for the
          interval over replications
Units     those of the tables
Errors    StudyError for a study that is not finished, or damaged
Source    ours: docs/guide/pictures.md
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from mobilenet.metrics.buffers import BUFFERS

from .. import comparison
from ..files import make_folder
from ..study_tables import StudyTables, study_tables
from ..style import (
    COLOURS,
    LINES,
    LOOK,
    Drawn,
    Look,
    caption,
    in_words,
    legend_below,
    level_label,
    log_axis,
    page,
    percent,
    plain,
    save_all,
)
from .factor_curve import curve_note, draw_curve, metrics_of_interest, numeric_factor

MOST_LINES = 8
SHORTEST_S = 1e-4  # that a logarithmic axis shows


def study_figures(study: Path, folder: Path, look: Look = LOOK) -> list[Drawn]:
    """Draw what there is into `folder`; the files of the first suffix."""
    tables = study_tables(study)
    frames = {name: _frame(tables.rows(f"tables/{name}.csv")) for name in ("delays", "buffers")}
    make_folder(folder)
    drawn = _curves(tables, folder, look)
    if tables.comparison is not None and tables.comparison["findings"]:
        for suffix in look.suffixes:
            comparison.draw(study, folder / f"comparison{suffix}", look.captions, look)
        drawn.append(
            Drawn("The levels side by side", folder / f"comparison{look.suffixes[0]}", comparison.method(tables))
        )
    figures: list[tuple[str, str, Callable[[Any], str | None]]] = [
        ("delays", "How long messages take", lambda axes: _delays(axes, frames["delays"], tables))
    ]
    for buffer, name, title in _buffers_shown(frames["buffers"]):
        figures.append((name, title, partial(_buffer, table=frames["buffers"], tables=tables, buffer=buffer)))
    for name, title, draw in figures:
        with page(*look.size(*((8, 4.6) if look.captions else (6, 4)))) as (figure, axes):
            note = draw(axes)
            if note is None:
                continue
            if look.titles:
                axes.set_title(title)
            labels = axes.get_legend_handles_labels()[1]
            legend_below(axes, 1 if max(map(len, labels)) > 36 else 2)
            if look.captions:
                caption(figure, f"{tables.name}. {note}")
            drawn.append(Drawn(title, save_all(figure, folder, name, look.suffixes), note))
    return drawn


def _buffers_shown(table: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Which have a figure: buffer, the figure's name, its title. Those of plug-ins have their own names."""
    shown = [
        ("station_sbuffer", "station_buffers", "What stations keep (SBuffer)"),
        ("host_rbuffer", "host_buffers", "What hosts keep (RBuffer)"),
    ]
    for buffer in sorted(set(table.buffer) - set(BUFFERS)) if len(table) else ():
        kind, _, quantity = buffer.partition("_")
        stem = "".join(c if c.isalnum() else "_" for c in buffer[:100])  # a plug-in's text, in the name of a file
        shown.append((buffer, f"{stem}_buffer", f"What {kind}s keep ({quantity})"))
    return shown


def _curves(tables: StudyTables, folder: Path, look: Look) -> list[Drawn]:
    """What the study is about, where its factor is a number: the first figure."""
    factor, metrics = numeric_factor(tables), metrics_of_interest(tables)
    if factor is None or not metrics:
        return []
    title = f"Means over {factor}"
    size = look.size(6 if len(metrics) == 1 else 4.6 * len(metrics), 4.6)
    with page(*size, 1, len(metrics), squeeze=False) as (figure, rows):
        for axes, metric in zip(rows[0], metrics, strict=True):
            draw_curve(axes, tables, factor, metric)
        if len(tables.factors) > 1:
            legend_below(rows[0][0], 1)
        note = curve_note(tables, metrics)
        if look.captions:
            caption(figure, f"{tables.name}. {note}")
        if look.titles:
            figure.suptitle(plain(title), fontsize=11, fontweight="bold", x=0.01, ha="left")
        return [Drawn(title, save_all(figure, folder, "curve", look.suffixes), note)]


def _frame(rows: list[dict[str, str]]) -> pd.DataFrame:
    table = pd.DataFrame(rows)
    for column in ("configuration", "share", "delay_s", "deliveries", "from_s", "to_s", "n", "mean", "low", "high"):
        if column in table:
            table[column] = pd.to_numeric(table[column], errors="coerce")
    return table


def _label(row: dict[str, Any], factors: list[str]) -> str:
    return ", ".join(f"{factor.rpartition('.')[2]} {level_label(row[factor])}" for factor in factors)


def _configurations(table: pd.DataFrame, factors: list[str]) -> list[tuple[str, pd.DataFrame]]:
    groups = (own for _, own in table.groupby("configuration", sort=True))
    return [(_label(own.iloc[0].to_dict(), factors) or "as it is", own) for own in groups]


def _delays(axes: Any, table: pd.DataFrame, tables: StudyTables) -> str | None:
    if table.empty or table.delay_s.isna().all():
        return None
    groups, said = _configurations(table, tables.factors), tables.said_of_unstable()
    unit = "t.u." if tables.of_processes else "s"
    for number, (label, own) in enumerate(groups[:MOST_LINES]):
        colour = COLOURS[number % len(COLOURS)]
        if own.configuration.iloc[0] in tables.unstable:  # later messages take longer, so a distribution does not exist
            axes.plot([], [], "x", color=colour, label=label)
        else:
            axes.plot(own.delay_s, own.share, LINES[number % 4], color=colour, marker=".", label=label)
    table = table[~table.configuration.isin(tables.unstable)]
    if table.empty:
        in_words(axes, "Unstable: the backlog grows to the end, and so do delays.")
        return f"Share of deliveries within each time, of n = {tables.replications} replications.{said}"
    least = max(table.delay_s.min(), SHORTEST_S)  # own messages are delivered at once
    if table.delay_s.max() > 50 * least:
        log_axis(axes.xaxis, least, table.delay_s.max())
        axes.set_xlim(left=least / 1.2)
    axes.set(xlabel=f"delay from broadcast to delivery ({unit})", ylabel="share of deliveries", ylim=(0, 1.02))
    return (
        f"Share of deliveries within each time; all deliveries of n = {tables.replications} replications"
        f" together.{_rest(groups)}{said}"
    )


def _buffer(axes: Any, table: pd.DataFrame, tables: StudyTables, buffer: str) -> str | None:
    table = table[table.buffer == buffer] if len(table) else table
    if table.empty:
        return None
    groups = _configurations(table, tables.factors)
    for number, (label, own) in enumerate(groups[:MOST_LINES]):
        x, colour = (own.from_s + own.to_s) / 2, COLOURS[number % len(COLOURS)]
        if own.configuration.iloc[0] in tables.unstable:
            label += ": unstable"
        axes.plot(x, own["mean"], LINES[number % 4], color=colour, label=label)
        axes.fill_between(x, own.low.clip(lower=0), own.high, color=colour, alpha=0.18, linewidth=0)
    axes.set(xlabel="simulated time (s)", ylabel="messages per node", xlim=(0, table.to_s.max()))
    axes.set_ylim(bottom=0)
    sure = percent(tables.confidence)
    return (
        f"Lines: means over n = {tables.replications} replications; bands: {sure} t intervals over replications, for"
        f" each moment by itself.{_rest(groups)}"
    )


def _rest(groups: list[Any]) -> str:
    return f" The first {MOST_LINES} of {len(groups)} configurations." if len(groups) > MOST_LINES else ""
