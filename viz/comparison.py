"""A study on one page: each compared metric with its intervals, and how far the levels are apart.

    python -m viz.comparison STUDY [-o FILE]

Model     upper row: the mean of each level with its t interval over replications, one place per combination of the other
          factors; lower row: the ratio to the baseline with its interval, and the margin of equivalence as a band. An
          unstable configuration has no mean and no mark
Units     those of the metrics
Errors    StudyError: no finished study with a comparison, or a damaged one
Source    ours: DESIGN.md §14
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path
from typing import Any

from mobilenet.rundir import RunError
from mobilenet.study.store import StudyError
from viz.study_tables import StudyTables, study_tables
from viz.style import COLOURS, level_label, page, plain, plain_log, save
from viz.words import meaning

MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")


def draw(study: Path, target: Path) -> None:
    """Write the picture as SVG, PNG or PDF, by the target's suffix."""
    tables = study_tables(study)
    if tables.comparison is None:
        raise StudyError(f"{study / 'comparison.json'}: missing; `mobilenet compare` makes it")
    metrics = list(dict.fromkeys(finding["metric"] for finding in tables.comparison["findings"]))
    with page(4.2 * max(1, len(metrics)) + 0.3, 6.2, 2, max(1, len(metrics)), sharex=True, squeeze=False, height_ratios=(1.6, 1)) as (figure, rows):
        _compose(figure, rows, tables, metrics)
        save(figure, target)


def method(tables: StudyTables) -> str:
    """What the picture shows, in words."""
    comparison = tables.comparison or {}
    sure = f"{tables.confidence:.0%}".replace("%", " %")
    counts = sorted({int(row["n"]) for row in tables.summary})
    n = f"{counts[0]} to {counts[-1]}" if counts[0] != counts[-1] else f"{counts[-1]}"
    margin = comparison.get("equivalence_margin")
    band = f" Grey: the margin within which levels count as equivalent, ±{margin:.0%}.".replace("%", " %") if margin is not None else ""
    return (
        f"Above: means over n = {n} replications with {sure} t intervals. Below: ratio to {level_label(comparison['baseline'])}, paired over the same worlds, "
        f"with the {sure} t interval of its logarithm.{band}"
    )


def _compose(figure: Any, rows: Any, tables: StudyTables, metrics: list[str]) -> None:
    from matplotlib.patches import Patch

    comparison = tables.comparison or {}
    factor, findings = comparison["factor"], comparison["findings"]
    others = [name for name in tables.factors if name != factor]
    places = list(dict.fromkeys(_place(row, others) for row in tables.summary))
    levels = list(dict.fromkeys(row[factor] for row in tables.summary))
    for column, metric in enumerate(metrics):
        _means(rows[0][column], [row for row in tables.summary if row["metric"] == metric], factor, levels, places, others)
        rows[0][column].set_ylabel(plain(textwrap.fill(meaning(metric, tables.of_processes), 34)))
        own = [finding for finding in findings if finding["metric"] == metric]
        _ratios(rows[1][column], own, levels, places, others, comparison)
    handles, names = rows[0][0].get_legend_handles_labels()
    if comparison["equivalence_margin"] is not None:
        handles, names = [*handles, Patch(color="#7A7A7A", alpha=0.2)], [*names, "equivalent"]
    note = textwrap.fill(f"{tables.name}. {method(tables)}", int(figure.get_figwidth() * 16))
    legend = figure.legend(handles, [plain(name) for name in names], loc="outside lower left", ncols=max(1, min(len(names), int(figure.get_figwidth() // 2.2))), fontsize=9,
                           frameon=False, title=plain(note), title_fontsize=8, alignment="left")  # fmt: skip
    legend.get_title().set_color("#666666")
    figure.suptitle(plain(f"What {factor} changes, against {level_label(comparison['baseline'])}"), fontsize=11, fontweight="bold", x=0.01, ha="left")


def _place(row: dict[str, Any], others: list[str]) -> str:
    return "\n".join(f"{name.rpartition('.')[2]} {level_label(row[name])}" for name in others) or "all"


def _shift(number: int, count: int) -> float:
    """Beside each other within one place."""
    return (number - (count - 1) / 2) * 0.5 / max(1, count - 1) if count > 1 else 0.0


def _means(axes: Any, rows: list[dict[str, str]], factor: str, levels: list[str], places: list[str], others: list[str]) -> None:
    for number, level in enumerate(levels):
        own = [row for row in rows if row[factor] == level and row["mean"]]
        x = [places.index(_place(row, others)) + _shift(number, len(levels)) for row in own]
        y = [float(row["mean"]) for row in own]
        errors = [max(0.0, float(row["high"]) - float(row["mean"])) if row["high"] else 0.0 for row in own]
        axes.errorbar(x, y, errors, fmt=MARKS[number % len(MARKS)], color=COLOURS[number % len(COLOURS)], capsize=3, markersize=5, label=level_label(level))
    axes.margins(y=0.12)
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlim(-0.6, len(places) - 0.4)


def _ratios(axes: Any, findings: list[Any], levels: list[str], places: list[str], others: list[str], comparison: dict[str, Any]) -> None:
    margin = comparison["equivalence_margin"]
    if margin is not None:
        axes.axhspan(1 - margin, 1 + margin, color="#7A7A7A", alpha=0.2, linewidth=0)
    axes.axhline(1, color="#7A7A7A", linewidth=0.8)
    for finding in findings:
        if any(finding.get(name) is None for name in ("ratio", "ratio_low", "ratio_high")):
            continue
        number = levels.index(str(finding["level"]))
        x = places.index(_place(finding, others)) + _shift(number, len(levels))
        spread = [[finding["ratio"] - finding["ratio_low"]], [finding["ratio_high"] - finding["ratio"]]]
        axes.errorbar([x], [finding["ratio"]], spread, fmt=MARKS[number % len(MARKS)], color=COLOURS[number % len(COLOURS)], capsize=3, markersize=5)
    axes.set_yscale("log")
    plain_log(axes.yaxis)
    axes.set_ylabel(plain(textwrap.fill(f"ratio to {level_label(comparison['baseline'])}", 22)))
    axes.set_xticks(range(len(places)), [plain(place) for place in places] if len(places) > 1 else [""], fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m viz.comparison", description=str(__doc__).partition("\n")[0])
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
