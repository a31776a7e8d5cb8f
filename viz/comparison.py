"""A study on one page: each compared metric with its intervals, and how far the levels are apart.

    python -m viz.comparison STUDY [-o FILE]

Model     upper row: the mean of each level with its t interval over replications, one place per combination of the other
          factors; lower row: the ratio to the baseline with its interval, and the margin of equivalence as a band. An
          unstable configuration has no mean and no mark
Units     those of the metrics
Errors    one line for a directory that is no finished study
Source    ours: DESIGN.md §14
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from pathlib import Path
from typing import Any

from viz.style import COLOURS, level_label, plain_log

UNITS = {"s": " (s)", "bytes": " (bytes)"}
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")


def draw(study: Path, target: Path) -> None:
    """Write the picture as SVG, PNG or PDF, by the target's suffix."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    comparison = json.loads((study / "comparison.json").read_text(encoding="utf-8"))
    with (study / "tables" / "summary.csv").open(newline="", encoding="utf-8") as file:
        summary = list(csv.DictReader(file))
    factor, findings = comparison["factor"], comparison["findings"]
    metrics = list(dict.fromkeys(finding["metric"] for finding in findings))
    columns = list(summary[0])
    others = [column for column in columns[1 : columns.index("metric")] if column != factor]
    places = list(dict.fromkeys(_place(row, others) for row in summary))
    levels = list(dict.fromkeys(row[factor] for row in summary))
    figure, rows = pyplot.subplots(
        2, len(metrics), figsize=(4.2 * len(metrics), 5.6), sharex=True, squeeze=False, height_ratios=(1.6, 1), layout="constrained"
    )
    for column, metric in enumerate(metrics):
        _means(rows[0][column], [row for row in summary if row["metric"] == metric], factor, levels, places, others)
        rows[0][column].set_ylabel(f"{metric}{UNITS.get(metric.rpartition('_')[2], '')}")
        own = [finding for finding in findings if finding["metric"] == metric]
        _ratios(rows[1][column], own, levels, places, others, comparison)
    handles, names = rows[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=min(4, len(levels)), fontsize=9, frameon=False, title=factor)
    counts = sorted({int(row["n"]) for row in summary})
    figure.suptitle(
        f"{study.resolve().name}: n = {counts[-1]} replications, {comparison['confidence']:.0%} t intervals, paired over the same worlds",
        fontsize=10, color="#444444",
    )  # fmt: skip
    figure.savefig(target, dpi=110)
    pyplot.close(figure)


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
        errors = [float(row["high"]) - float(row["mean"]) if row["high"] else 0.0 for row in own]
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
        if finding.get("ratio") is None:
            continue
        number = levels.index(str(finding["level"]))
        x = places.index(_place(finding, others)) + _shift(number, len(levels))
        spread = [[finding["ratio"] - finding["ratio_low"]], [finding["ratio_high"] - finding["ratio"]]]
        axes.errorbar([x], [finding["ratio"]], spread, fmt=MARKS[number % len(MARKS)], color=COLOURS[number % len(COLOURS)], capsize=3, markersize=5)
    axes.set_yscale("log")
    plain_log(axes.yaxis)
    axes.set_ylabel(f"ratio to {level_label(comparison['baseline'])}")
    axes.set_xticks(range(len(places)), places if len(places) > 1 else [""], fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m viz.comparison", description=str(__doc__).partition("\n")[0])
    parser.add_argument("study", type=Path, metavar="STUDY")
    parser.add_argument("-o", "--out", type=Path, default=None, metavar="FILE", help="by default STUDY/comparison.svg")
    options = parser.parse_args()
    target = options.out or options.study / "comparison.svg"
    try:
        draw(options.study, target)
    except (OSError, ValueError, KeyError) as error:
        print(f"{options.study}: no finished study with a comparison: {error}", file=sys.stderr)
        return 2
    print(f"Next: open {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
