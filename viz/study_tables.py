"""Read and check the tables of a finished study, for reports and figures.

Model     Only the tables that are shown are read: summary, buffers, delays, runs, comparison
Errors    StudyError with one line that names the file, for a directory that is not a finished study, or for a damaged
          file
Source    mobilenet/lab/studies/tables.py; ours: docs/guide/studies.md
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.compare import COMMON, OF_COMMON
from mobilenet.lab.studies.level_names import LevelNames, short_level, table_level
from mobilenet.lab.studies.precedence import ACCEPTED, DELIVERED, Delivered, as_shares
from mobilenet.lab.studies.sentences import deliveries, doubts
from mobilenet.lab.studies.table_files import AGAIN, UNSTABLE, Rows, missing_runs, read_rows, read_table
from mobilenet.metrics.registry import OF_HOSTS, OF_PROCESSES, Vocabulary
from mobilenet.quoting import pluralize
from mobilenet.record.reader import no_directory

from .claim_bounds import Ends, bounds_of_study
from .words import INFINITE, NO_MEAN

if TYPE_CHECKING:
    import pandas as pd

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
    "common_deliveries",
    *OF_COMMON,
)
RATIOS = ("ratio", "ratio_low", "ratio_high")
WITH = {"ratio": ("ratio_low", "ratio_high", "pairs"), "mean": ("baseline_mean",)}  # columns that must exist together


@dataclass(frozen=True)
class StudyTables:
    path: Path
    summary: Rows
    factors: list[str]
    confidence: float
    comparison: dict[str, Any] | None
    name: str
    levels: LevelNames

    def in_words(self, row: Mapping[str, Any], factors: Iterable[str], between: str = ", ") -> str:
        """Return the levels of a row in words."""
        return between.join(self.levels.in_words(factor, row[factor]) for factor in factors)

    @property
    def unstable(self) -> set[int]:
        """The configurations that have no mean because their backlogs grow."""
        return {row["configuration"] for row in self.summary if row["label"] == UNSTABLE}

    def unstable_note(self) -> str:
        """Return a sentence for captions about configurations that are, or may be, unstable. It begins with a space."""
        return "".join(f" {line}" for line in ([NO_MEAN] if self.unstable else []) + self.doubts())

    @property
    def delivery_ratios(self) -> dict[int, float]:
        """The mean delivery ratio of each configuration."""
        rows = (row for row in self.summary if row["metric"] == DELIVERED and row["mean"] is not None)
        return {row["configuration"]: row["mean"] for row in rows}

    @property
    def lost_deliveries(self) -> bool:
        """Whether some required deliveries are missing in at least one configuration."""
        return any(ratio < 1 for ratio in self.delivery_ratios.values())

    def infinite_note(self, metrics: Iterable[str]) -> str:
        """Return a sentence for captions if the mean of one of these metrics is infinite. It begins with a space."""
        return f" {INFINITE}" if any(infinite(row) for row in self.summary if row["metric"] in metrics) else ""

    def doubts(self) -> list[str]:
        """Return sentences about missing runs, delivery ratios below 1, and each configuration that may be unstable."""
        lines = [line for line in [missing_runs(self.path)] if line is not None]
        lines += deliveries(self.summary, self.levels, self._broadcast) + doubts(self.summary, self.levels, most=2)
        return [f"{line[:1].upper()}{line[1:]}." for line in lines]

    @cached_property
    def _broadcast(self) -> dict[int, float]:
        """The share of the offered broadcasts that were made in each configuration."""
        offers = any(row["metric"] == "broadcasts_offered" for row in self.summary)
        return Delivered.of_study(self.path).means(ACCEPTED) if offers else {}

    def are_numbers(self, factor: str) -> bool:
        """Return whether all levels of a factor are numbers without labels."""
        with suppress(ValueError):
            return not self.levels.has_labels(factor) and all(isfinite(float(row[factor])) for row in self.summary)
        return False

    @property
    def replications(self) -> int:
        return max((row["n"] for row in self.summary), default=0)

    @cached_property
    def words(self) -> Vocabulary:
        return OF_PROCESSES if any(row["metric"] == "latency" for row in self.summary) else OF_HOSTS

    @cached_property
    def claim_bounds(self) -> dict[tuple[int, str], Ends]:
        """The bounds of claims by (configuration, metric), if the study was made to answer claims."""
        return bounds_of_study(self.path)

    def rows(self, name: str) -> Rows:
        """Read one of the tables in table_files.TABLES."""
        return read_rows(self.path, name)

    def frame(self, name: str) -> pd.DataFrame:
        """Read one of the tables in table_files.TABLES. A number without a value becomes NaN."""
        return read_table(self.path, name).to_pandas()


def infinite(row: Mapping[str, Any]) -> str:
    """Return a statement of how many runs have an infinite value of a metric, or an empty string if none has. `row` is
    the row of the metric in the summary.
    """
    return f"∞ (in {row['infinite']} of {pluralize(row['n'], 'run')})" if row["infinite"] else ""


def is_study(directory: Path) -> bool:
    """Return True for a study and False for a run. Raise an error for any other directory."""
    if not directory.is_dir():
        raise no_directory(directory)
    if (directory / "study.yaml").is_file():
        return True
    if (directory / "tables").is_dir() and not (directory / "manifest.json").is_file():
        raise StudyError(f"{directory / 'study.yaml'}: missing; this is not the complete directory of a study")
    return False


def study_tables(directory: Path) -> StudyTables:
    table = read_table(directory, "tables/summary")
    if not len(table):
        raise StudyError(f"{directory}: none of its runs has ended; runs.csv has the reasons")
    columns = table.column_names
    factors = columns[columns.index("configuration") + 1 : columns.index("metric")]
    summary = [row | {factor: str(table_level(row[factor])) for factor in factors} for row in table.to_pylist()]
    comparison, study_keys = _comparison(directory, summary, factors), _study_keys(directory)
    confidence = comparison["confidence"] if comparison else _confidence(directory, study_keys)
    name, levels = study_keys.get("name"), study_keys.get("factors")
    return StudyTables(
        directory,
        summary,
        factors,
        confidence,
        comparison,
        str(name) if name else directory.resolve().name,
        LevelNames(levels if isinstance(levels, dict) else {}),
    )


def words_of(directory: Path, name: str) -> str:
    """Return the content of one of the study's text files."""
    path = directory / name
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StudyError(f"{path}: not readable as text: {error}; {AGAIN}") from None


def _is_number(value: object) -> bool:
    """Return whether a value is a finite number. A string that contains a number does not count."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -inf < value < inf


def _study_keys(directory: Path) -> dict[str, Any]:
    """Return the keys of study.yaml."""
    from mobilenet.parameters import ScenarioError
    from mobilenet.scenario.yaml_reader import parse

    content = words_of(directory, "study.yaml")
    try:
        values = parse(content.encode(), "study.yaml").plain()
    except ScenarioError as error:
        raise StudyError(f"{' '.join(str(error).split())}; the study is damaged: {AGAIN}") from None
    return values if isinstance(values, dict) else {}


def _confidence(directory: Path, study_keys: Mapping[str, Any]) -> float:
    confidence = study_keys.get("confidence", 0.95)
    if not _is_number(confidence) or not 0 < confidence < 1:
        raise StudyError(f"{directory / 'study.yaml'}: damaged: confidence is not a number between 0 and 1; {AGAIN}")
    return float(confidence)


def _comparison(directory: Path, summary: Rows, factors: list[str]) -> dict[str, Any] | None:
    path = directory / "comparison.json"
    if not path.is_file():
        return None

    def damage_error(what: str) -> StudyError:
        return StudyError(f"{path}: damaged: {what}; `mobilenet compare` recreates it")

    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise damage_error(f"not readable as JSON ({error})") from None
    if not isinstance(value, dict):
        raise damage_error("expected a JSON object")
    for key in ("factor", "baseline", "confidence", "equivalence_margin", "findings"):
        if key not in value:
            raise damage_error(f"{key} is missing")
    if value["factor"] not in factors:
        raise damage_error(f"its factor {value['factor']} is not a column of {Path('tables') / 'summary.csv'}")
    margin, confidence = value["equivalence_margin"], value["confidence"]
    if (
        not _is_number(confidence)
        or not 0 < confidence < 1
        or not (margin is None or (_is_number(margin) and 0 < margin < 1))
    ):
        raise damage_error("confidence or equivalence_margin is not a number between 0 and 1")
    if not isinstance(value["findings"], list) or not all(isinstance(finding, dict) for finding in value["findings"]):
        raise damage_error("findings is not a list")
    metrics, levels = {row["metric"] for row in summary}, {row[value["factor"]] for row in summary}
    others_of = [factor for factor in factors if factor != value["factor"]]
    places = {_place(row, others_of) for row in summary}
    for finding in value["findings"]:
        if (wrong := _wrong_finding(finding, others_of)) is not None:
            raise damage_error(wrong)
        if finding.get("mean") is None and finding["verdict"] in ("no data", "unstable"):
            continue  # Perhaps no run of this level has ended yet.
        if finding["metric"] not in metrics or str(finding["level"]) not in levels:
            raise damage_error(
                f"{finding['metric']} of level {finding['level']} is not in {Path('tables') / 'summary.csv'}"
            )
        own = _place(finding, others_of)
        if own not in places:
            raise damage_error(f"a finding about {', '.join(own)}, which is not in {Path('tables') / 'summary.csv'}")
    return value


def _wrong_finding(finding: dict[str, Any], others_of: list[str]) -> str | None:
    """Return a description of the invalid values in a finding, or None if all are valid."""
    more = () if finding.get("verdict") in ("no data", "unstable") else ("pairs",)
    for key in ("level", "metric", "verdict", *more, *others_of):
        if key not in finding:
            return f"a finding without {key}"
    if not all(isinstance(finding[key], str) for key in ("metric", "verdict")):
        return "the metric or verdict of a finding is not a string"
    wrong = [key for key in NUMBERS if finding.get(key) is not None and not _is_number(finding[key])]
    if wrong:
        return f"{wrong[0]} is {str(finding[wrong[0]])[:60]!r}"
    if any(finding.get(key) is not None and finding[key] <= 0 for key in (*RATIOS, *(COMMON + key for key in RATIOS))):
        return "a ratio is not above 0"
    for first, others in WITH.items():
        for prefix in ("", COMMON):
            lost = [prefix + key for key in others if finding.get(prefix + key) is None]
            if finding.get(prefix + first) is not None and lost:
                return f"a finding with {prefix}{first} and without {lost[0]}"
    try:
        as_shares(finding.get("shares", ()))
    except (KeyError, TypeError, ValueError):
        return "the shares of a finding are not numbers"
    return None


def _place(row: dict[str, Any], factors: list[str]) -> tuple[str, ...]:
    """Return the levels of a row in the notation of short_level, which does not distinguish 0 from 0.0."""
    return tuple(short_level(row[factor]) for factor in factors)
