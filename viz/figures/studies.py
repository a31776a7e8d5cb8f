"""The figures of a study: the comparison with its intervals, the distribution of delays, buffers over time.

Model     drawn from the tables that the study wrote, not from its runs; a line for each configuration, a band for the interval
          over replications
Units     those of the tables
Errors    StudyError for a study that is not finished
Source    ours: DESIGN.md §19
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from mobilenet.study.store import StudyError
from viz import comparison
from viz.files import make_folder
from viz.style import COLOURS, LINES, Drawn, caption, level_label, page, save

MOST_LINES = 8
SHORTEST_S = 1e-4  # that a logarithmic axis shows


def study_figures(study: Path, folder: Path, suffixes: tuple[str, ...] = (".svg", ".png"), captions: bool = True) -> list[Drawn]:
    """Draw what there is into `folder`; the files of the first suffix. `captions` as for run_figures."""
    if not (study / "tables" / "summary.csv").is_file():
        raise StudyError(f"{study}: the study is not finished; run `mobilenet study` again")
    make_folder(folder)
    drawn = []
    if (study / "comparison.json").is_file():
        for suffix in suffixes:
            comparison.draw(study, folder / f"comparison{suffix}")
        drawn.append(Drawn("The levels beside each other", folder / f"comparison{suffixes[0]}", "Above: means with their intervals over replications; below: the ratio to the baseline, over the same worlds."))
    summary = pd.read_csv(study / "tables" / "summary.csv")
    factors = list(summary.columns[1 : list(summary.columns).index("metric")])
    replications = int(summary.n.max())
    for name, title, draw in (
        ("delays", "How long messages take", _delays),
        ("station_buffers", "What stations keep (SBuffer)", lambda axes, path, factors: _buffer(axes, path, factors, "station_sbuffer")),
        ("host_buffers", "What hosts keep (RBuffer)", lambda axes, path, factors: _buffer(axes, path, factors, "host_rbuffer")),
    ):
        with page(*((8, 4.2) if captions else (6, 3.6))) as (figure, axes):
            note = draw(axes, study / "tables", factors)
            if note is None:
                continue
            axes.set_title(title)
            handles, _ = axes.get_legend_handles_labels()
            if len(handles) > 1:
                figure.legend(loc="outside upper left", ncols=2, fontsize=8, frameon=False)
            note = f"n = {replications} replications. {note}"
            if captions:
                caption(figure, f"{study.resolve().name}, {note}")
            for suffix in suffixes:
                save(figure, folder / f"{name}{suffix}")
        drawn.append(Drawn(title, folder / f"{name}{suffixes[0]}", note))
    return drawn


def _label(row: dict[str, Any], factors: list[str]) -> str:
    return ", ".join(f"{factor.rpartition('.')[2]} {level_label(row[factor])}" for factor in factors)


def _configurations(table: pd.DataFrame, factors: list[str]) -> list[tuple[str, pd.DataFrame]]:
    groups = []
    for _, own in table.groupby("configuration", sort=True):
        groups.append((_label(own.iloc[0].to_dict(), factors) or "as it is", own))
    return groups


def _delays(axes: Any, tables: Path, factors: list[str]) -> str | None:
    table = pd.read_csv(tables / "delays.csv")
    if table.empty:
        return None
    groups = _configurations(table, factors)
    for number, (label, own) in enumerate(groups[:MOST_LINES]):
        axes.plot(own.delay_s, own.share, LINES[number % 4], color=COLOURS[number % len(COLOURS)], marker=".", label=label)
    if table.delay_s.max() > 50 * table.delay_s.clip(lower=1e-9).min():
        axes.set_xscale("log")
        axes.set_xlim(left=max(table.delay_s.min(), SHORTEST_S) / 1.2)  # own messages are delivered at once
    axes.set(xlabel="delay from broadcast to delivery (s)", ylabel="share of deliveries", ylim=(0, 1.02))
    return f"Quantiles of all deliveries of all replications together.{_rest(groups)}"


def _buffer(axes: Any, tables: Path, factors: list[str], buffer: str) -> str | None:
    table = pd.read_csv(tables / "buffers.csv")
    table = table[table.buffer == buffer] if len(table) else table
    if table.empty:
        return None
    groups = _configurations(table, factors)
    for number, (label, own) in enumerate(groups[:MOST_LINES]):
        x, colour = (own.from_s + own.to_s) / 2, COLOURS[number % len(COLOURS)]
        axes.plot(x, own["mean"], LINES[number % 4], color=colour, label=label)
        axes.fill_between(x, own.low, own.high, color=colour, alpha=0.18, linewidth=0)
    axes.set(xlabel="simulated time (s)", ylabel="messages per node", xlim=(0, table.to_s.max()))
    axes.set_ylim(bottom=0)
    return f"Mean, and its interval over replications.{_rest(groups)}"


def _rest(groups: list[Any]) -> str:
    return f" The first {MOST_LINES} of {len(groups)} configurations." if len(groups) > MOST_LINES else ""
