"""The report of a study, whatever the number of its runs.

Errors    StudyError for a directory that is no finished study
Source    ours: DESIGN.md §19
"""

from __future__ import annotations

import csv
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from mobilenet.runs import shown
from mobilenet.study.store import StudyError
from viz.figures import study_figures
from viz.report.limits import MOBILE, PROCESSES
from viz.report.page import code, folded, paragraph, pictures, table, text, whole
from viz.style import level_label

FIRST = ("delivery_delay_mean_s", "latency", "messages_sent_per_delivery", "messages", "collision_ratio", "station_sbuffer_mean", "handoff_interruption_mean_s")
MOST_ROWS = 2_000
WORDS = {
    "different": "differs",
    "equivalent": "is equivalent within the margin",
    "inconclusive": "cannot be told apart with these replications",
    "unstable": "has no mean: what waits grows to the end",
    "no data": "has too few runs to say",
}


def study_page(directory: Path) -> str:
    rows, runs = (_rows(directory / name) for name in ("tables/summary.csv", "tables/runs.csv"))
    listed = _rows(directory / "runs.csv")
    of_processes = "latency" in {row["metric"] for row in rows}
    verdicts = Counter(run["verdict"] for run in runs)
    failed = sum(run["state"] == "failed" for run in listed)
    overall = "violated" if verdicts["violated"] else "unknown" if verdicts["unknown"] or failed or not runs else "valid"
    comparison = _comparison(directory)
    columns = list(rows[0]) if rows else ["configuration", "metric"]
    factors = columns[1 : columns.index("metric")]
    with tempfile.TemporaryDirectory(prefix="mobilenet-report-") as folder:
        figures = pictures(study_figures(directory, Path(folder), (".svg",), captions=False))
    main = [row for row in rows if row["metric"] in FIRST]
    sections = [
        ("The numbers", _numbers(main, factors) + folded("all metrics", _numbers(rows[:MOST_ROWS], factors))),
        ("The comparison", _findings(comparison)),
        ("Figures", figures),
        ("The runs", _counts(verdicts, failed) + (code("\n".join(run["run"] for run in runs if run["verdict"] == "violated")[:5000]) if verdicts["violated"] else "")),
        ("The study", code((directory / "study.yaml").read_text(encoding="utf-8"))),
        ("The scenario of the first configuration, all defaults filled in", folded("scenario.yaml", code(_scenario(directory)))),
        ("How to repeat it", paragraph("From the folder that holds the study, into a new one:") + code(f"mobilenet study {directory.resolve().name}/study.yaml --out {directory.resolve().name}-again")),
        ("What the models leave out", "<ul>" + "".join(f"<li>{text(limit)}</li>" for limit in (PROCESSES if of_processes else MOBILE)) + "</ul>"),
    ]  # fmt: skip
    subtitle = text(f"{len(runs)} runs of {len({run['configuration'] for run in runs})} configurations; factors: {', '.join(factors) or 'none'}")
    return whole(directory.resolve().name, overall, subtitle, _answer(comparison, verdicts, failed), sections)


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    except OSError:
        raise StudyError(f"{path}: missing; the study is not finished, run `mobilenet study` again") from None


def _scenario(directory: Path) -> str:
    path = directory / "configurations" / "c000" / "scenario.yaml"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _comparison(directory: Path) -> dict[str, Any] | None:
    path = directory / "comparison.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def _counts(verdicts: Counter[str], failed: int) -> str:
    parts = [f"{count} {verdict}" for verdict, count in sorted(verdicts.items())] + ([f"{failed} failed"] if failed else [])
    return paragraph(text(", ".join(parts) or "none"))


def _number(value: str) -> str:
    return shown(float(value) if value else None)


def _numbers(rows: list[dict[str, str]], factors: list[str]) -> str:
    head = (*(factor.rpartition(".")[2] for factor in factors), "metric", "n", "mean", "interval from", "to", "")
    lines = [
        (*(level_label(row[factor]) for factor in factors), row["metric"], row["n"], _number(row["mean"]), _number(row["low"]), _number(row["high"]), row["label"])
        for row in rows
    ]  # fmt: skip
    return table(head, lines, numbers=len(factors) + 1)


def _answer(comparison: dict[str, Any] | None, verdicts: Counter[str], failed: int) -> str:
    judged = "Every run was judged by the verifier: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())) + "."
    judged += f" {failed} runs failed and are not in the numbers." if failed else ""
    if comparison is None or not comparison["findings"]:
        return paragraph("<b>What do the runs measure?</b>", text("The means below, with intervals over replications."), text(judged))
    asked = f"What does {comparison['factor']} change, against {level_label(comparison['baseline'])}?"
    lines = "".join(f"<li>{text(_in_words(finding, comparison))}</li>" for finding in comparison["findings"][:40])
    more = len(comparison["findings"]) - 40
    return paragraph(f"<b>{text(asked)}</b>") + f"<ul>{lines}</ul>" + (paragraph(text(f"{more} more below.")) if more > 0 else "") + paragraph(text(judged))


def _in_words(finding: dict[str, Any], comparison: dict[str, Any]) -> str:
    fixed = {"level", "baseline", "metric", "pairs", "mean", "baseline_mean", "difference", "difference_low", "difference_high", "ratio",
             "ratio_low", "ratio_high", "p_adjusted", "equivalence_p_adjusted", "verdict", "more_replications"}  # fmt: skip
    where = ", ".join(f"{key.rpartition('.')[2]} {level_label(value)}" for key, value in finding.items() if key not in fixed)
    words = f"{finding['metric']} under {level_label(finding['level'])} {WORDS.get(finding['verdict'], finding['verdict'])}"
    if finding.get("mean") is not None:
        words += f": {shown(finding['mean'])} against {shown(finding['baseline_mean'])}"
    if finding.get("ratio") is not None:
        words += f", {finding['ratio']:.3g} times as much ({comparison['confidence']:.0%} interval {finding['ratio_low']:.3g} to {finding['ratio_high']:.3g}, {finding['pairs']} pairs)"
    if finding.get("verdict") == "inconclusive" and finding.get("more_replications"):
        words += f"; about {finding['more_replications']} more replications would probably tell"
    return (f"{where}: " if where else "") + words + "."


def _findings(comparison: dict[str, Any] | None) -> str:
    if comparison is None or not comparison["findings"]:
        return ""
    head = ("level", "metric", "verdict", "mean", "baseline", "difference", "p, adjusted", "pairs")
    lines = [
        (level_label(f["level"]), f["metric"], f["verdict"], shown(f.get("mean")), shown(f.get("baseline_mean")), _interval(f),
         shown(f.get("p_adjusted")), shown(f.get("pairs")))
        for f in comparison["findings"]
    ]  # fmt: skip
    return table(head, lines, numbers=3)


def _interval(finding: dict[str, Any]) -> str:
    if finding.get("difference") is None:
        return "–"
    return f"{shown(finding['difference'])} ({shown(finding['difference_low'])} to {shown(finding['difference_high'])})"
