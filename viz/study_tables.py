"""A finished study as its tables say: read once, and checked, for reports and figures alike.

Model     what is read is what is shown: summary, buffers, delays, runs, comparison
Errors    StudyError, one line with the file: no directory of a study, not finished, or a file that is damaged
Source    mobilenet/study/aggregate.py; ours: docs/guide/studies.md
"""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mobilenet.experiments.study.store import StudyError
from mobilenet.rundir.reader import RunError

Rows = list[dict[str, str]]
COLUMNS = {  # name: texts, numbers that may be missing
    "tables/summary.csv": (("configuration", "metric", "n", "label"), ("mean", "low", "high")),
    "tables/runs.csv": (("run", "configuration", "verdict"), ()),
    "tables/buffers.csv": (("configuration", "buffer"), ("from_s", "to_s", "mean", "low", "high")),
    "tables/delays.csv": (("configuration",), ("share", "delay_s", "deliveries")),
    "runs.csv": (("run", "state"), ()),
}
AGAIN = "run `mobilenet study` again"
NUMBERS = (
    "mean",
    "baseline_mean",
    "difference",
    "difference_low",
    "difference_high",
    "ratio",
    "ratio_low",
    "ratio_high",
    "p_adjusted",
    "pairs",
    "more_replications",
)
WITH = {"ratio": ("ratio_low", "ratio_high", "pairs"), "mean": ("baseline_mean",)}  # where one is, the others are too


@dataclass(frozen=True)
class StudyTables:
    path: Path
    summary: Rows
    factors: list[str]
    confidence: float
    comparison: dict[str, Any] | None

    @property
    def name(self) -> str:
        return self.path.resolve().name

    @property
    def replications(self) -> int:
        return max((int(row["n"]) for row in self.summary), default=0)

    @property
    def of_processes(self) -> bool:
        return any(row["metric"] == "latency" for row in self.summary)

    def rows(self, name: str) -> Rows:
        """One of COLUMNS."""
        return _rows(self.path, name)


def is_study(directory: Path) -> bool:
    """Whether to look for a study here; says so if there is neither a study nor a run."""
    if not directory.is_dir():
        raise RunError(f"{directory}: no such run directory")
    if (directory / "study.yaml").is_file():
        return True
    if (directory / "tables").is_dir() and not (directory / "manifest.json").is_file():
        raise StudyError(f"{directory / 'study.yaml'}: missing; this is not the complete directory of a study")
    return False


def study_tables(directory: Path) -> StudyTables:
    summary = _rows(directory, "tables/summary.csv")
    columns = list(summary[0]) if summary else ["configuration", "metric"]
    for row in summary:
        if not row["n"].isdecimal():
            raise StudyError(f"{directory / 'tables' / 'summary.csv'}: damaged: n is {row['n']!r}; {AGAIN}")
    factors = columns[columns.index("configuration") + 1 : columns.index("metric")]
    comparison = _comparison(directory, summary, factors)
    return StudyTables(
        directory, summary, factors, comparison["confidence"] if comparison else _confidence(directory), comparison
    )


def words_of(directory: Path, name: str) -> str:
    """One of the study's texts."""
    path = directory / name
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StudyError(f"{path}: not readable as text: {error}; {AGAIN}") from None


def _rows(directory: Path, name: str) -> Rows:
    path = directory / name
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file, strict=True)
            rows, columns = list(reader), list(reader.fieldnames or ())
    except FileNotFoundError:
        raise StudyError(f"{path}: missing; the study is not finished, {AGAIN}") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise StudyError(f"{path}: not readable as CSV: {error}; {AGAIN}") from None
    texts, numbers = COLUMNS[name]
    missing = [column for column in (*texts, *numbers) if columns and column not in columns]
    if missing:
        raise StudyError(f"{path}: damaged: column {missing[0]} is missing; {AGAIN}")
    for number, row in enumerate(rows):
        if None in row or None in row.values():
            raise StudyError(f"{path}: damaged: row {number + 1} is not whole; {AGAIN}")
        for column in numbers:
            if row[column] and _number(row[column]) is None:
                raise StudyError(f"{path}: damaged: row {number + 1}, {column} is {row[column]!r}; {AGAIN}")
    return rows


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _is_number(value: object) -> bool:
    """Of JSON: no number in quotes."""
    return not isinstance(value, str) and _number(value) is not None


def _confidence(directory: Path) -> float:
    from mobilenet.parameters import ScenarioError
    from mobilenet.scenario.base import parse

    content = words_of(directory, "study.yaml")
    try:
        values = parse(content.encode(), "study.yaml").plain()
    except ScenarioError as error:
        raise StudyError(f"{directory / 'study.yaml'}: damaged: {' '.join(str(error).split())}; {AGAIN}") from None
    confidence = _number(values.get("confidence", 0.95)) if isinstance(values, dict) else None
    if confidence is None or not 0 < confidence < 1:
        raise StudyError(f"{directory / 'study.yaml'}: damaged: confidence is no number between 0 and 1; {AGAIN}")
    return confidence


def _comparison(directory: Path, summary: Rows, factors: list[str]) -> dict[str, Any] | None:
    path = directory / "comparison.json"
    if not path.is_file():
        return None

    def damaged(what: str) -> StudyError:
        return StudyError(f"{path}: damaged: {what}; `mobilenet compare` makes it anew")

    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise damaged(f"not readable as JSON ({error})") from None
    if not isinstance(value, dict):
        raise damaged("expected a JSON object")
    for key in ("factor", "baseline", "confidence", "equivalence_margin", "findings"):
        if key not in value:
            raise damaged(f"{key} is missing")
    if value["factor"] not in factors:
        raise damaged(f"its factor {value['factor']} is no column of {Path('tables') / 'summary.csv'}")
    margin, confidence = value["equivalence_margin"], value["confidence"]
    if not _is_number(confidence) or not 0 < confidence < 1 or not (margin is None or _is_number(margin)):
        raise damaged("confidence or equivalence_margin is no number")
    if not isinstance(value["findings"], list) or not all(isinstance(finding, dict) for finding in value["findings"]):
        raise damaged("findings is no list")
    metrics, levels = {row["metric"] for row in summary}, {row[value["factor"]] for row in summary}
    for finding in value["findings"]:
        more = () if finding.get("verdict") == "no data" else ("pairs",)
        for key in ("level", "metric", "verdict", *more, *(factor for factor in factors if factor != value["factor"])):
            if key not in finding:
                raise damaged(f"a finding without {key}")
        wrong = [key for key in NUMBERS if finding.get(key) is not None and not _is_number(finding[key])]
        if wrong:
            raise damaged(f"{wrong[0]} is {finding[wrong[0]]!r}")
        for first, others in WITH.items():
            lost = [key for key in others if finding.get(first) is not None and finding.get(key) is None]
            if lost:
                raise damaged(f"a finding with {first} and without {lost[0]}")
        if finding["metric"] not in metrics or str(finding["level"]) not in levels:
            raise damaged(f"{finding['metric']} of level {finding['level']} is not in {Path('tables') / 'summary.csv'}")
    return value
