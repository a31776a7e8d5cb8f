"""Compare levels of one factor with the baseline, metric by metric: effect, size and confidence.

Model     pairs of runs with the same replication number, so the same world. Within each combination of the other
          factors the p values of all metrics and levels are adjusted together (Holm). A verdict is one of
              different     the difference is not 0 at the study's confidence
              equivalent    the ratio is within the margin (two one-sided tests), whether or not it is 1
              inconclusive  neither; `more` estimates how many replications would settle it
              unstable      one of the two has no mean: its backlog grows
              no data       fewer than two pairs
Units     those of the metrics
Errors    none; what cannot be computed is null
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mobilenet.studies.configurations import Configuration
from mobilenet.studies.declaration import Compare
from mobilenet.studies.level_names import format_level, table_level
from mobilenet.studies.statistics import Comparison, compare_pairs, holm, replications_needed

Replicated = dict[int, float]  # replication -> the value of a metric


@dataclass(slots=True)
class Finding:
    """One line of the comparison."""

    others: dict[str, Any]  # the levels of the other factors
    level: Any
    baseline: Any
    metric: str
    verdict: str
    result: Comparison | None = None
    p_adjusted: float | None = None
    equivalence_p_adjusted: float | None = None
    more: int | None = None  # replications

    @property
    def where(self) -> str:
        """The levels of the other factors, for people."""
        return ", ".join(f"{factor}={format_level(level)}" for factor, level in self.others.items())

    def row(self) -> dict[str, Any]:
        """Flat, for tables."""
        r = self.result
        row = compared_row(self.others, self.level, self.baseline, self.metric)
        if r is not None:
            row |= {
                "pairs": r.pairs, "mean": r.mean, "baseline_mean": r.baseline_mean, "difference": r.difference.mean,
                "difference_low": r.difference.low, "difference_high": r.difference.high,
            } | {key: value for key, value in r._asdict().items() if key.startswith("ratio")}  # fmt: skip
        row |= {"p_adjusted": self.p_adjusted, "equivalence_p_adjusted": self.equivalence_p_adjusted}
        return row | {"verdict": self.verdict, "more_replications": self.more}


def compared_row(others: dict[str, Any], level: Any, baseline: Any, metric: str) -> dict[str, Any]:
    """What a row of a table compares."""
    row = {factor: table_level(other) for factor, other in others.items()}
    return row | {"level": table_level(level), "baseline": table_level(baseline), "metric": metric}


def findings(
    comparison: Compare,
    configurations: list[Configuration],
    values: dict[tuple[int, str], Replicated],
    unstable: set[int],
    confidence: float,
) -> list[Finding]:
    """`values` holds each metric of each configuration; `unstable` names configurations without a mean."""
    all_findings: list[Finding] = []
    for base in configurations:
        if base.levels[comparison.factor] != comparison.baseline:
            continue
        others = {factor: level for factor, level in base.levels.items() if factor != comparison.factor}
        family: list[tuple[Finding, np.ndarray[Any, Any], np.ndarray[Any, Any]]] = []
        for other in configurations:
            if other is base or {f: v for f, v in other.levels.items() if f != comparison.factor} != others:
                continue
            for metric in comparison.metrics:
                a, b = values.get((other.number, metric), {}), values.get((base.number, metric), {})
                both = sorted(a.keys() & b.keys())
                finding = Finding(others, other.levels[comparison.factor], comparison.baseline, metric, "no data")
                all_findings.append(finding)
                if {other.number, base.number} & unstable:
                    finding.verdict = "unstable"
                elif len(both) >= 2:
                    x, y = np.array([a[r] for r in both]), np.array([b[r] for r in both])
                    finding.result = compare_pairs(x, y, confidence, comparison.equivalence_margin)
                    family.append((finding, x, y))
        _judge(family, 1 - confidence, comparison.equivalence_margin)
    return all_findings


def _judge(family: list[tuple[Finding, Any, Any]], alpha: float, margin: float | None) -> None:
    results = [finding.result for finding, _, _ in family if finding.result is not None]
    adjusted = holm([r.p for r in results])
    tested = [r.equivalence_p for r in results if r.equivalence_p is not None]
    equivalent = iter(holm(tested))
    for (finding, x, y), result, p in zip(family, results, adjusted, strict=True):
        finding.p_adjusted = p
        if result.equivalence_p is not None:
            finding.equivalence_p_adjusted = next(equivalent)
        if finding.equivalence_p_adjusted is not None and finding.equivalence_p_adjusted < alpha:
            finding.verdict = "equivalent"
        elif p < alpha:
            finding.verdict = "different"
        else:
            finding.verdict = "inconclusive"
            needed = replications_needed(x, y, alpha / max(1, len(results)), margin)
            finding.more = None if needed is None else max(1, needed - result.pairs)
