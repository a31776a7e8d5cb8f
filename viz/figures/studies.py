"""Draw the figures of a study: means, the comparison, the distribution of delays, and buffers over time.

Model     Figures are drawn from the tables of the study. Each configuration has a line, with a band for the interval
          over replications. More than MOST_BANDS bands get separate panels. If there are more than MOST_LINES
          configurations, these figures are omitted for a study of two factors, and a study of more factors gets only
          the figure of effects.
Units     the units of the tables
Errors    StudyError for an unfinished or damaged study, and for unknown metrics and factors
Source    ours: docs/guide/pictures.md
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.effects import is_screening, study_effects
from mobilenet.metrics.buffers import BUFFERS
from mobilenet.record.provenance import stamping_of
from mobilenet.record.stamp import normal_command

from .. import comparison
from ..files import make_folder
from ..log_values import log_values
from ..study_tables import StudyTables, study_tables
from ..style import (
    COLOURS,
    LINES,
    LOOK,
    DrawnFigure,
    Look,
    caption,
    entitle,
    figure_legend,
    in_words,
    log_axis,
    page,
    percent,
    plain,
    save_all,
    wrap_labels,
)
from .effects import drawn_effects
from .means import draw_means, factor_of_axis, means_note, metrics_of_interest, varied_factors
from .stretches import draw_bars, level_bars

MOST_LINES = 8
MOST_BANDS = 3  # the maximum number of bands in one panel
SHORTEST_S = 1e-4  # the shortest delay on a logarithmic axis
EFFECTS, DELAYS, PARTS = "Effects of the settings", "Delivery delay", "Parts of the delay"
NEEDED = {
    "means": "a factor with at least two levels, and a metric",
    "effects": "several factors that vary, with means in all configurations",
    "delays": "deliveries",
}


def study_figures(
    study: Path, folder: Path, look: Look = LOOK, metrics: Sequence[str] = (), x: str | None = None
) -> list[DrawnFigure]:
    """Draw all figures for which the study has data into `folder`. Return the files of the first suffix.

    `metrics` and `x` are the metrics and the factor of the figure of means. By default, the figure shows the compared
    metrics over the factor with the most levels.
    """
    command = normal_command("figures", "STUDY", metric=metrics, x=x, **look.options())
    with stamping_of(study, command):
        return _draw(study, folder, look, metrics, x)


def _draw(study: Path, folder: Path, look: Look, metrics: Sequence[str], x: str | None) -> list[DrawnFigure]:
    tables = study_tables(study)
    make_folder(folder)
    drawn, varied = _effects(tables, folder, look, metrics), varied_factors(tables)
    if is_screening(study):  # The levels of a screening are random, so their means are meaningless.
        return drawn
    has_many = len(varied) > 1 and len({row["configuration"] for row in tables.summary}) > MOST_LINES
    # A picture cannot show all configurations, and showing only the first ones would be arbitrary.
    if has_many and len(varied) > 2:
        drawn = drawn or _no_effects(tables, folder, look)
        return [*drawn, *(_means(tables, folder, look, metrics, x) if x is not None else [])]
    compared = {finding["metric"] for finding in tables.comparison["findings"]} if tables.comparison else set()
    drawn = _means(tables, folder, look, metrics, x) + drawn
    if compared and (not metrics or compared & set(metrics)) and comparison.has_room(tables):
        for suffix in look.suffixes:
            comparison.draw(study, folder / f"comparison{suffix}", look.captions, look, metrics)
        drawn.append(
            DrawnFigure(
                "The levels side by side", folder / f"comparison{look.suffixes[0]}", comparison.method(tables, look)
            )
        )
    if has_many:
        return drawn
    drawn += _delays(tables, folder, look) + _delay_parts(tables, folder, look)
    buffers = tables.frame("tables/buffers")
    for buffer, name, title in _buffers_to_show(buffers):
        drawn += _buffer(
            tables, buffers[buffers.buffer == buffer] if len(buffers) else buffers, name, title, folder, look
        )
    return drawn


def study_figure(
    study: Path,
    metrics: Sequence[str] = (),
    x: str | None = None,
    kind: Literal["means", "comparison", "effects", "delays"] = "means",
    width_in: float | None = None,
) -> Any:
    """Return one figure as a matplotlib figure. For `metrics` and `x`, see `study_figures`."""
    tables, look = study_tables(study), Look(width_in=width_in)
    chosen_metrics = metrics_of_interest(tables, metrics)
    if kind == "comparison":
        if tables.comparison is None:
            raise StudyError(f"{study}: no comparison, since the study has no `compare`")
        if not comparison.has_room(tables):
            raise StudyError(f"{study}: too many combinations of levels for one figure; study.comparison has them all")
        with comparison.compose_figure(tables, metrics, look) as figure:
            wrap_labels(figure)
            return figure
    opened: Any = None
    if kind == "means" and (factor := factor_of_axis(tables, x)) is not None and chosen_metrics:
        opened, title = _drawn_means(tables, factor, chosen_metrics, look), f"Means by {factor}"
    elif kind == "effects" and (
        effects := study_effects(tables.path, tables.factors, chosen_metrics, tables.confidence)
    ):
        opened, title = drawn_effects(effects, tables, look), EFFECTS
    elif kind == "delays":
        opened, title = _drawn_delays(tables, look), DELAYS
    if opened is None:
        raise StudyError(f"{study}: nothing to draw; expected {NEEDED[kind]}")
    with opened as (figure, note):
        _entitle(figure, tables, title, note, look)
        wrap_labels(figure)
        return figure


def _finish(
    figure: Any, tables: StudyTables, title: str, note: str, place: tuple[Path, str], look: Look
) -> DrawnFigure:
    """Add the title and the caption if `look` includes them, and save the figure."""
    _entitle(figure, tables, title, note, look)
    return DrawnFigure(title, save_all(figure, *place, look.suffixes), note)


def _entitle(figure: Any, tables: StudyTables, title: str, note: str, look: Look) -> None:
    if look.titles:
        entitle(figure, title)
    if look.captions:
        caption(figure, note)


def _means(tables: StudyTables, folder: Path, look: Look, metrics: Sequence[str], x: str | None) -> list[DrawnFigure]:
    """Draw the means at the levels of a factor. By default, a factor whose levels are words is left out if the study
    has a comparison, because the figure of the comparison shows it.
    """
    factor, chosen_metrics = factor_of_axis(tables, x), metrics_of_interest(tables, metrics)
    is_asked = bool(metrics) or x is not None or tables.comparison is None
    if factor is None or not chosen_metrics or not (is_asked or tables.are_numbers(factor)):
        return []
    with _drawn_means(tables, factor, chosen_metrics, look) as (figure, note):
        name = "curve" if tables.are_numbers(factor) else "means"
        return [_finish(figure, tables, f"Means by {factor}", note, (folder, name), look)]


def _effects(tables: StudyTables, folder: Path, look: Look, metrics: Sequence[str]) -> list[DrawnFigure]:
    """Draw the effects of a study in which several factors vary."""
    chosen_metrics = metrics_of_interest(tables, metrics)
    effects = study_effects(tables.path, tables.factors, chosen_metrics, tables.confidence)
    if not effects:
        return []
    with drawn_effects(effects, tables, look) as (figure, note):
        return [_finish(figure, tables, EFFECTS, note, (folder, "effects"), look)]


def _no_effects(tables: StudyTables, folder: Path, look: Look) -> list[DrawnFigure]:
    """Draw a note that explains why the figure of effects is missing."""
    with page(*look.size(6.5, 2.4)) as (figure, axes):
        note = f"n = {tables.replications} replications.{tables.unstable_note()}"
        in_words(axes, "No effects: a configuration is unstable,\nor a run or a value is missing.")
        return [_finish(figure, tables, EFFECTS, note, (folder, "effects"), look)]


@contextmanager
def _drawn_means(tables: StudyTables, factor: str, metrics: list[str], look: Look) -> Iterator[tuple[Any, str]]:
    """Yield the figure, which has a panel for each of these metrics, and its note."""
    rows, columns, width, height = look.panels(len(metrics), 4.6 if len(metrics) > 1 else 6, 3.0)
    with page(width, height + 0.3, rows, columns, squeeze=False) as (figure, grid):
        panels = grid.flat
        lines = [draw_means(axes, tables, factor, metric) for axes, metric in zip(panels, metrics, strict=False)]
        if look.log_y:
            for axes in grid.flat[: len(metrics)]:
                log_values(axes)
        for axes in grid.flat[len(metrics) :]:
            axes.set_axis_off()
        if len(tables.factors) > 1:
            figure_legend(figure, *grid[0][0].get_legend_handles_labels())
        yield figure, means_note(tables, metrics, max(lines)) + look.log_y_note


def _buffers_to_show(table: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Return the buffers that have a figure, each with the name and the title of the figure. Plug-ins may add
    buffers.
    """
    figures = [
        ("station_sbuffer", "station_buffers", "Messages stored at stations (SBuffer)"),
        ("host_rbuffer", "host_buffers", "Messages held back at hosts (RBuffer)"),
    ]
    for buffer in sorted(set(table.buffer) - set(BUFFERS)) if len(table) else ():
        kind, _, quantity = buffer.partition("_")
        # A plug-in may choose any string as the name of a buffer, but the stem must be a valid file name.
        stem = "".join(c if c.isalnum() else "_" for c in buffer[:100])
        figures.append((buffer, f"{stem}_buffer", f"What {kind}s keep ({quantity})"))
    return figures


def _configurations(table: pd.DataFrame, tables: StudyTables) -> list[tuple[str, pd.DataFrame]]:
    """Return the name and the rows of each configuration. An unstable configuration is marked as such in its name."""
    groups = []
    for number, own in table.groupby("configuration", sort=True):
        name = tables.in_words(own.iloc[0].to_dict(), tables.factors) or "unchanged"
        groups.append((f"{name}: unstable" if number in tables.unstable else name, own))
    return groups


def _delays(tables: StudyTables, folder: Path, look: Look) -> list[DrawnFigure]:
    if (opened := _drawn_delays(tables, look)) is None:
        return []
    with opened as (figure, note):
        return [_finish(figure, tables, DELAYS, note, (folder, "delays"), look)]


def _drawn_delays(tables: StudyTables, look: Look) -> AbstractContextManager[tuple[Any, str]] | None:
    """Return a figure of the distribution function of delays, or None if no messages were delivered."""
    is_whole = (tables.path / "tables/distribution.parquet").is_file()
    table = tables.frame(f"tables/{'distribution' if is_whole else 'delays'}")
    return None if table.empty or table.delay_s.isna().all() else _steps(tables, table, is_whole, look)


def _delay_parts(tables: StudyTables, folder: Path, look: Look) -> list[DrawnFigure]:
    """Draw the parts of the delay at each level, if the runs recorded their causes."""
    bars = level_bars(tables)[:MOST_LINES]
    if not bars:
        return []
    with page(*look.size(7, 1.2 + 0.75 * len(bars))) as (figure, axes):
        draw_bars(axes, bars)
        note = (
            f"Means of the shares over n = {tables.replications} replications; on the right, the mean delay."
            f"{tables.unstable_note()}"
        )
        return [_finish(figure, tables, PARTS, note, (folder, "delay_parts"), look)]


@contextmanager
def _steps(tables: StudyTables, table: pd.DataFrame, is_whole: bool, look: Look) -> Iterator[tuple[Any, str]]:
    groups = _configurations(table, tables)
    with page(*look.size(6.5, 3.7)) as (figure, axes):
        most = table.delay_s.max() * 1.2
        for number, (label, own) in enumerate(groups[:MOST_LINES]):
            number_of = int(own.configuration.iloc[0])
            own = own.assign(share=own.share * tables.delivery_ratios.get(number_of, 1.0))
            own = pd.DataFrame() if number_of in tables.unstable else own
            _draw_steps(axes, own, number, plain(label), most if is_whole else None)
        note = _delays_note(axes, table, tables, groups)
        figure_legend(figure, *axes.get_legend_handles_labels())
        yield figure, note


def _draw_steps(axes: Any, own: pd.DataFrame, number: int, label: str, most: float | None) -> None:
    """Draw the distribution of one configuration up to the delay `most`, or only its percentiles if `most` is None. An
    unstable configuration appears only in the legend, because its delays grow over time.
    """
    colour = COLOURS[number % len(COLOURS)]
    if own.empty:
        axes.plot([], [], "x", color=colour, label=label)
    elif most is not None:
        x, y = [own.delay_s.iloc[0], *own.delay_s, most], [0.0, *own.share, own.share.iloc[-1]]
        axes.plot(x, y, LINES[number % 4], color=colour, drawstyle="steps-post", label=label, linewidth=1.4)
    else:  # An older version of mobilenet stored only percentiles.
        axes.plot(own.delay_s, own.share, ".", color=colour, label=label)


def _delays_note(axes: Any, table: pd.DataFrame, tables: StudyTables, groups: list[Any]) -> str:
    """Label the axes. Return a description of the picture."""
    remark = tables.unstable_note()
    table = table[~table.configuration.isin(tables.unstable)]
    if table.empty:
        in_words(axes, "Unstable: the backlog and the delays grow until the end.")
        return (
            f"Share of deliveries that took at most the given time, for n = {tables.replications} replications.{remark}"
        )
    least = table.delay_s[table.delay_s >= SHORTEST_S].min()  # A host may deliver its own messages immediately.
    least = SHORTEST_S if pd.isna(least) else least
    what = "deliveries owed" if tables.lost_deliveries else "deliveries"
    if table.delay_s.max() > 50 * least:
        log_axis(axes.xaxis, least, table.delay_s.max())
        axes.set_xlim(left=least / 1.2)
    axes.set_xlim(right=table.delay_s.max() * 1.2)
    axes.set(xlabel=f"delay ({tables.words.time_unit})", ylabel=f"share of {what}")
    axes.set_ylim(-0.02, 1.02)
    return (
        f"Share of {what} that took at most the given time; all deliveries of"
        f" n = {tables.replications} replications together.{_rest(groups)}{remark}"
    )


def _buffer(
    tables: StudyTables, table: pd.DataFrame, name: str, title: str, folder: Path, look: Look
) -> list[DrawnFigure]:
    """Draw the mean over time with its band. A few configurations share one panel. Otherwise, each configuration has
    its own panel, which shows the other means in grey.
    """
    from matplotlib.ticker import MaxNLocator

    if table.empty:
        return []
    groups = _configurations(table, tables)
    first_groups = groups[:MOST_LINES]
    is_split = len(first_groups) > MOST_BANDS
    sure = percent(tables.confidence)
    note = (
        f"Lines: means over n = {tables.replications} replications; bands: pointwise {sure} t intervals over"
        f" replications.{' Grey: the means of the other panels.' if is_split else ''}{_rest(groups)}"
        f"{tables.unstable_note()}{look.log_y_note}"
    )
    rows, columns, width, height = _small_panels(len(first_groups), look) if is_split else (1, 1, *look.size(6.5, 3.3))
    with page(width, height, rows, columns, squeeze=False, sharex=True, sharey=True) as (figure, grid):
        for number, (label, own) in enumerate(first_groups):
            axes = grid.flat[number] if is_split else grid[0][0]
            if is_split:
                axes.set_title(plain(label), fontsize="small", fontweight="normal")
                for _, other in first_groups:
                    axes.plot((other.from_s + other.to_s) / 2, other["mean"], color="#CCCCCC", linewidth=0.6)
            _draw_band(axes, own, number, plain(label))
        for axes in grid.flat[len(first_groups) if is_split else 1 :]:
            axes.set_axis_off()
        grid[0][0].set(xlim=(0, table.to_s.max()), ylim=(0, None))
        grid[0][0].yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        if look.log_y:
            log_values(*grid.flat[: len(first_groups) if is_split else 1])
        for axes in grid.flat[: len(first_groups)]:
            axes.tick_params(labelbottom=True, labelleft=True)
        for axes in grid.flat[: len(first_groups)][-columns:] if is_split else grid.flat:
            axes.set_xlabel("time (s)")
        for row in grid:
            row[0].set_ylabel("messages / node")
        if not is_split:
            figure_legend(figure, *grid[0][0].get_legend_handles_labels())
        return [_finish(figure, tables, title, note, (folder, name), look)]


def _small_panels(count: int, look: Look) -> tuple[int, int, float, float]:
    """Return the number of rows and columns of small panels, and the width and height of the figure."""
    width = look.width_in or 8.0
    columns = min(count, max(2, int(width / 2.2)))
    rows = -(-count // columns)
    return rows, columns, width, 1.65 * rows + 0.7


def _draw_band(axes: Any, own: pd.DataFrame, number: int, label: str) -> None:
    x, colour = (own.from_s + own.to_s) / 2, COLOURS[number % len(COLOURS)]
    axes.fill_between(x, own.low.clip(lower=0), own.high, color=colour, alpha=0.2, linewidth=0)
    axes.plot(x, own["mean"], LINES[number % 4], color=colour, label=label, linewidth=1.4)


def _rest(groups: list[Any]) -> str:
    return f" The first {MOST_LINES} of {len(groups)} configurations." if len(groups) > MOST_LINES else ""
