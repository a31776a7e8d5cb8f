"""Draw the main effects and interactions of a factorial study, in order of size.

Model     Each metric has a panel. Each effect has a row with its mean and the interval over replications, with the
          largest at the top. Interactions have hollow marks. The right column shows how much the same levels change the
          delivery ratio, if they change it. Effects that may be 0 (adjusted p at or above 1 - confidence) are grey.
Units     the units of the metrics
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mobilenet.lab.studies.effects import Effect, by_metric
from mobilenet.lab.studies.precedence import DELIVERED
from mobilenet.lab.studies.sentences import changed_before, effect_name
from mobilenet.quoting import pluralize

from ..study_tables import StudyTables
from ..style import COLOURS, WIDE_IN, Look, large_numbers, page, percent, plain

MOST_ROWS = 12  # the maximum number of rows in a panel
ROW_IN = 0.22
GREY = "#999999"


@contextmanager
def drawn_effects(effects: Sequence[Effect], tables: StudyTables, look: Look) -> Iterator[tuple[Any, str]]:
    """Yield the figure, which has a panel for each metric, and its note."""
    from matplotlib.ticker import MaxNLocator

    ranked = list(by_metric(effects).values())
    most = MOST_ROWS if len(ranked) == 1 else MOST_ROWS // 2
    rows, width = max(min(most, len(own)) for own in ranked), look.width_in or 6.5
    # The panels share the width of the figure.
    ticks = max(3, int(width * (0.6 if DELIVERED in changed_before(effects) else 1.1)))
    row_in = ROW_IN if width >= WIDE_IN else 1.5 * ROW_IN  # names take two lines in a narrow figure
    with page(width, len(ranked) * (row_in * rows + 0.6) + 0.5, len(ranked), 1, squeeze=False) as (figure, grid):
        for (axes,), own in zip(grid, ranked, strict=True):
            _draw(axes, own[:most], tables, int(width * 5.5))
            axes.xaxis.set_major_locator(MaxNLocator(ticks))
        yield figure, _note(tables, most, max(map(len, ranked)), effects)


def _draw(axes: Any, effects: Sequence[Effect], tables: StudyTables, letters: int) -> None:
    axes.axvline(0, color="#444444", linewidth=0.8)
    for row, effect in enumerate(effects):
        i, is_sure = effect.interval, effect.p_adjusted < 1 - tables.confidence
        colour = COLOURS[len(effect.levels) - 1] if is_sure else GREY
        low = max(0.0, i.low) if effect.is_size else i.low
        axes.errorbar(
            [i.mean], [row], xerr=[[i.mean - low], [i.high - i.mean]], fmt="o" if len(effect.levels) == 1 else "D",
            color=colour, markerfacecolor=colour if len(effect.levels) == 1 else "white", markersize=4, capsize=2,
        )  # fmt: skip
    if DELIVERED in changed_before(effects):
        _write_ratios(axes, effects, "\n" if axes.figure.get_figwidth() < WIDE_IN else " ")
    names = [plain(textwrap.fill(effect_name(effect, tables.levels), letters)) for effect in effects]
    axes.set_yticks(range(len(effects)), names)
    axes.set_ylim(len(effects) - 0.4, -0.6)
    what = "average change" if effects[0].is_size else "change"
    axes.set_xlabel(f"{what} of {tables.words.axis_name(effects[0].metric)}")
    large_numbers(axes.xaxis)


def _write_ratios(axes: Any, effects: Sequence[Effect], between: str) -> None:
    """Write the changes of the delivery ratio to the right of the panel, with the string `between` between a change and
    its interval.
    """
    lines = {-0.6: "delivery ratio"}
    for row, change in enumerate(effect.changes[DELIVERED] for effect in effects):
        lines[row] = f"{change.mean:+.3g}{between}({change.low:+.3g} to {change.high:+.3g})"
    for y, line in lines.items():
        axes.text(
            1.02, y, plain(line), transform=axes.get_yaxis_transform(), fontsize="small",
            va="bottom" if y < 0 else "center",
        )  # fmt: skip


def _note(tables: StudyTables, most: int, count: int, effects: Sequence[Effect]) -> str:
    largest = effects[0]
    of_ratio = ""
    if DELIVERED in changed_before(effects):
        of_ratio = " On the right: the change of the delivery ratio, with its interval."
    first = f"The {most} largest of {pluralize(count, 'effect')}" if count > most else "Effects"
    if largest.is_size:
        return (
            f"{first}: average changes, without their signs, over the range of each key (mu* of Morris), with"
            f" {percent(tables.confidence)} bootstrap intervals over {pluralize(largest.interval.n, 'trajectory')};"
            f" n = {tables.replications} replications at each point. Grey: the effect may be 0 (adjusted p ≥"
            f" {1 - tables.confidence:.2g}).{of_ratio}{tables.unstable_note()}"
        )
    return (
        f"{first} relative to the first level of each factor, with {percent(tables.confidence)} t intervals over"
        f" n = {tables.replications} replications. Circles: one level, over all levels of the other factors. Diamonds:"
        " half the amount by which one level changes the effect of the other. Grey: the effect may be 0"
        f" (adjusted p ≥ {1 - tables.confidence:.2g}).{of_ratio}{tables.unstable_note()}"
    )
