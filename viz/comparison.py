"""Draw a study on one page: each compared metric with its intervals, and the differences between levels.

    python -m mobilenet.viz.comparison STUDY [-o FILE]

Model     There are two metrics in each row. The upper panel shows the mean of each level with its t interval over
          replications, with a group of positions for each combination of the other factors. The lower panel shows the
          ratio to the baseline with its interval, and the margin of equivalence as a band. An unstable configuration
          has no mean and is marked at the upper edge of both panels
Units     the units of the metrics
Errors    StudyError if this is not a finished study with a comparison, or if it is damaged
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.compare import INFINITE, judged_row
from mobilenet.lab.studies.sentences import WHY_NOT, pairing
from mobilenet.lab.studies.table_files import UNSTABLE
from mobilenet.record.provenance import stamping_of
from mobilenet.record.reader import RunError
from mobilenet.record.stamp import normal_command

from .log_values import log_ticks, log_values
from .study_tables import RATIOS, StudyTables, infinite, study_tables
from .style import (
    COLOURS,
    LETTERS_PER_IN,
    LOOK,
    MARKS,
    QUIET,
    WIDE_IN,
    Look,
    caption,
    entitle,
    figure_legend,
    infinite_mark,
    large_numbers,
    numeric_ticks,
    page,
    percent,
    plain,
    save,
    unstable_mark,
)

MOST_PLACES = 8  # the maximum number of combinations of the other factors in a picture


def draw(study: Path, target: Path, captions: bool = True, look: Look = LOOK, only_metrics: Sequence[str] = ()) -> None:
    """Write the picture as SVG, PNG or PDF, according to the suffix of the target. If `only_metrics` is given, draw
    only these of the compared metrics.
    """
    tables = study_tables(study)
    if tables.comparison is None:
        raise StudyError(f"{study / 'comparison.json'}: missing; `mobilenet compare` creates it")
    stamped = stamping_of(study, normal_command("compare", "STUDY", metric=only_metrics))
    with compose_figure(tables, only_metrics, look._replace(captions=captions)) as figure, stamped:
        save(figure, target)


@contextmanager
def compose_figure(tables: StudyTables, only_metrics: Sequence[str], look: Look) -> Iterator[Any]:
    """Yield the figure of a study with a comparison."""
    metrics = list(dict.fromkeys(finding["metric"] for finding in (tables.comparison or {})["findings"]))
    metrics = [metric for metric in metrics if metric in only_metrics or not only_metrics]
    is_long = len(metrics) > 2 and look.width_in is not None and look.width_in < WIDE_IN
    down, across, width, height = look.panels(
        max(1, len(metrics)), 4.2 if len(metrics) > 1 else 6, 2.6 if is_long else 3.6
    )
    with page(width, height + 0.5, 2 * down, across, squeeze=False, height_ratios=(1.6, 1) * down) as (figure, rows):
        _compose(figure, rows, tables, metrics, look)
        yield figure


def has_room(tables: StudyTables) -> bool:
    """Return whether a picture has enough space for all combinations of the other factors."""
    return len(Layout.of(tables, (tables.comparison or {})["factor"]).places) <= MOST_PLACES


def method(tables: StudyTables, look: Look = LOOK) -> str:
    """Return a description of the picture, for its caption."""
    comparison = tables.comparison or {}
    sure = percent(tables.confidence)
    compared = {finding["metric"] for finding in comparison["findings"]}
    counts = sorted({row["n"] for row in tables.summary if row["metric"] in compared})
    n = f"{counts[0]} to {counts[-1]}" if counts[0] != counts[-1] else f"{counts[-1]}"
    margin = comparison.get("equivalence_margin")
    band = (
        f" Grey: the margin within which levels count as equivalent, ±{margin:.0%}.".replace("%", " %")
        if margin is not None
        else ""
    )
    baseline = tables.levels.name(comparison["factor"], comparison["baseline"])
    paired = pairing(finding.get("unpaired", "") for finding in comparison["findings"])
    is_common = any(finding.get("common_deliveries") is not None for finding in comparison["findings"])
    common = "; of a delay, over the deliveries that both levels made" if is_common else ""
    return (
        f"Above: means over n = {n} replications with {sure} t intervals. Below: ratio to"
        f" {baseline}, {paired}, with the {sure} t interval of its"
        f" logarithm{common}.{band}{tables.infinite_note(compared)}{tables.unstable_note()}"
        f"{look.log_y_note}"
    )


class Layout(NamedTuple):
    """Computes the positions of the levels of the compared factor on the horizontal axis."""

    tables: StudyTables
    factor: str
    others: list[str]
    levels: list[str]  # in the notation of the tables
    places: list[str]  # the combinations of the other factors' levels

    @classmethod
    def of(cls, tables: StudyTables, factor: str) -> Layout:
        others = [name for name in tables.factors if name != factor]
        places = list(dict.fromkeys(tables.in_words(row, others, "\n") for row in tables.summary))
        return cls(tables, factor, others, list(dict.fromkeys(row[factor] for row in tables.summary)), places)

    @property
    def values(self) -> list[float] | None:
        """The levels as numbers, or None if another factor varies or a level is not a number."""
        return list(map(float, self.levels)) if not self.others and self.tables.are_numbers(self.factor) else None

    @property
    def is_plain(self) -> bool:
        """Whether the axis shows the levels themselves, because no other factor varies."""
        return not self.others

    def x(self, row: Mapping[str, Any], level: Any) -> float:
        """Return the horizontal position of a level within its combination of the other factors' levels."""
        place, count = self.levels.index(str(level)), len(self.levels)
        if self.is_plain:
            return self.values[place] if self.values is not None else float(place)
        shift = (place - (count - 1) / 2) * 0.5 / max(1, count - 1) if count > 1 else 0.0
        return self.places.index(self.tables.in_words(row, self.others, "\n")) + shift

    def name_axis(self, axes: Any) -> None:
        if self.is_plain:
            axes.set_xlabel(self.factor)
        if self.values is not None:
            numeric_ticks(axes, sorted(self.values))
            return
        names = [self.tables.levels.name(self.factor, level) for level in self.levels] if self.is_plain else self.places
        wide = axes.figure.get_figwidth() / axes.get_gridspec().ncols
        longest = max(7, int(LETTERS_PER_IN * (wide - 0.6) / len(names)))
        labels = ["\n".join(textwrap.fill(line, longest) for line in name.split("\n")) for name in names]
        axes.set_xticks(range(len(names)), [plain(name) for name in labels])
        axes.set_xlim(-0.6, len(names) - 0.4)


def _compose(figure: Any, rows: Any, tables: StudyTables, metrics: list[str], look: Look) -> None:
    from matplotlib.patches import Patch

    comparison = tables.comparison or {}
    layout = Layout.of(tables, comparison["factor"])
    for number in range(rows.size // 2):
        row, column = divmod(number, rows.shape[1])
        above, below = rows[2 * row][column], rows[2 * row + 1][column]
        if number >= len(metrics):
            above.set_axis_off()
            below.set_axis_off()
            continue
        metric = metrics[number]
        _means(above, [row for row in tables.summary if row["metric"] == metric], layout)
        above.set_ylabel(plain(tables.words.axis_name(metric)))
        above.tick_params(bottom=False, labelbottom=False)
        own = [finding for finding in comparison["findings"] if finding["metric"] == metric]
        _ratios(below, [finding for finding in own if str(finding["level"]) in layout.levels], layout)
        below.set_xlim(above.get_xlim())
        if look.log_y:
            log_values(above)
    handles, names = ([], []) if layout.is_plain else rows[0][0].get_legend_handles_labels()
    if comparison["equivalence_margin"] is not None:
        handles, names = [*handles, Patch(color="#7A7A7A", alpha=0.2)], [*names, "equivalent"]
    figure_legend(figure, handles, names)
    if look.titles:
        baseline = tables.levels.name(layout.factor, comparison["baseline"])
        entitle(figure, f"Effect of {layout.factor}, relative to {baseline}")
    if look.captions:
        caption(figure, method(tables, look))


def _marks(axes: Any, x: Any, y: Any, errors: Any, number: int, label: str | None = None) -> None:
    """Draw the marks and intervals of level `number`."""
    colour = COLOURS[number % len(COLOURS)]
    axes.errorbar(x, y, errors, fmt=MARKS[number % len(MARKS)], color=colour, capsize=3, markersize=5, label=label)


def _means(axes: Any, rows: list[dict[str, Any]], layout: Layout) -> None:
    for number, level in enumerate(layout.levels):
        own = [row for row in rows if row[layout.factor] == level]
        label = layout.tables.levels.in_words(layout.factor, level)
        for row in own:
            if row["label"] == UNSTABLE:
                unstable_mark(axes, layout.x(row, level), COLOURS[number % len(COLOURS)])
            if infinite(row):
                infinite_mark(axes, layout.x(row, level), COLOURS[number % len(COLOURS)])
        if any(row["label"] == UNSTABLE for row in own):
            label += ": unstable" if all(row["label"] == UNSTABLE for row in own) else " (×: unstable)"
        own = [row for row in own if row["mean"] is not None]
        errors = [max(0.0, row["high"] - row["mean"]) if row["high"] is not None else 0.0 for row in own]
        _marks(axes, [layout.x(row, level) for row in own], [row["mean"] for row in own], errors, number, label)
    axes.margins(y=0.12)
    axes.set_ylim(bottom=0)
    large_numbers(axes.yaxis)
    layout.name_axis(axes)
    axes.set_xlabel("")


def _ratios(axes: Any, findings: list[Any], layout: Layout) -> None:
    comparison = layout.tables.comparison or {}
    margin = comparison["equivalence_margin"]
    if margin is not None:
        axes.axhspan(1 - margin, 1 + margin, color="#7A7A7A", alpha=0.2, linewidth=0)
    axes.axhline(1, color="#7A7A7A", linewidth=0.8)
    drawn = False
    for row in findings:
        finding = judged_row(row)
        number = layout.levels.index(str(finding["level"]))
        x = layout.x(finding, finding["level"])
        if finding["verdict"] == "unstable":
            unstable_mark(axes, x, COLOURS[number % len(COLOURS)])
        if any(finding.get(name) is None for name in RATIOS):
            continue
        spread = [[finding["ratio"] - finding["ratio_low"]], [finding["ratio_high"] - finding["ratio"]]]
        _marks(axes, [x], [finding["ratio"]], spread, number)
        drawn = True
    baseline = layout.tables.levels.name(layout.factor, comparison["baseline"])
    axes.set_ylabel(plain(textwrap.fill(f"ratio to {baseline}", 14)))
    layout.name_axis(axes)
    if drawn:
        axes.set_yscale("log")
        log_ticks(axes)
    else:
        axes.set_yticks([])
        axes.text(
            0.5,
            0.75,
            textwrap.fill(_why_none(findings), 40),
            transform=axes.transAxes,
            ha="center",
            va="center",
            fontsize=8,
            color=QUIET,
        )


def _why_none(findings: list[Any]) -> str:
    if any(finding["verdict"] == INFINITE for finding in findings):
        return "No ratio: in some runs, the value is infinite."
    if any(finding["verdict"] in WHY_NOT and finding.get("common_deliveries") is not None for finding in findings):
        return "No ratio: the levels delivered different messages."
    if all(finding["verdict"] == "no data" for finding in findings):
        return "No ratio: fewer than two pairs of runs."
    if all(finding["verdict"] == "unstable" for finding in findings):
        return "No ratio: the level is unstable and has no mean."
    if any(finding.get("difference") is not None for finding in findings):
        return "No ratio: in some runs, a value is not positive."
    return "No ratio: the means are missing."


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m mobilenet.viz.comparison", description=str(__doc__).partition("\n")[0]
    )
    parser.add_argument("study", type=Path, metavar="STUDY")
    parser.add_argument("-o", "--out", type=Path, default=None, metavar="FILE", help="by default STUDY/comparison.svg")
    options = parser.parse_args()
    target = options.out or options.study / "comparison.svg"
    try:
        draw(options.study, target)
    except (OSError, RunError, StudyError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"Next: open {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
