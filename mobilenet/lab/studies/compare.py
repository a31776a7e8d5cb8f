"""Compare the levels of one factor with a baseline, metric by metric: effect, size and confidence.

Model     Runs with the same replication number form a pair, because they have the same random world. Within each
          combination of the other factors, the p values of all metrics and levels are adjusted together (Holm). The
          verdict is one of
              different     the difference is not 0 at the confidence of the study
              equivalent    the ratio is within the margin (two one-sided tests), whether or not it is 1
              same          all values are the same in every pair, and no margin is set
              inconclusive  neither can be shown; `more` estimates how many further replications would decide it
              unstable      one of the two configurations has no mean, because its backlog grows
              no data       there are fewer than two pairs
              infinite      a percentile of delays that some run never reaches, because messages are undelivered
              not paired    a delay of levels that delivered different shares and whose hosts planned other broadcasts
              processes use the run  a delay of levels that delivered different shares, where custom processes depend on
                            the run; such levels are compared as two samples that are not paired
              runs not readable  a delay of levels that delivered different shares, where the runs that contain the
                            common deliveries no longer exist
          A delay is judged over the deliveries that both levels made, unless both delivered everything that they owed
          (precedence.py).
Units     Values have the unit of their metric.
Errors    None. A number that cannot be computed is null.
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mobilenet.lab.studies.configurations import Configuration
from mobilenet.lab.studies.declaration import Compare
from mobilenet.lab.studies.level_names import table_level
from mobilenet.lab.studies.precedence import UNPAIRED, USES_RUN, Delivered, Share, judgement, share_columns, shares_for
from mobilenet.lab.studies.statistics import Comparison, compare_means, holm, replications_needed
from mobilenet.metrics.registry import OF_HOSTS, SIGNED, SURVIVAL, Vocabulary

if TYPE_CHECKING:
    import pandas as pd

INFINITE = "infinite"
COMMON = "common_"  # prefix of the columns that cover only the deliveries made by both levels
COMPARED = Comparison._fields[:9]  # names of table columns
OF_COMMON = tuple(f"{COMMON}{name}" for name in COMPARED)


@dataclass(slots=True)
class Finding:
    """One row of the comparison: a level and the baseline in one metric, with the verdict."""

    others: dict[str, Any]  # levels of the other factors
    level: Any
    baseline: Any
    metric: str
    verdict: str
    result: Comparison | None = None  # comparison over all deliveries of each configuration
    p_adjusted: float | None = None
    equivalence_p_adjusted: float | None = None
    more: int | None = None  # estimated number of further replications that would decide the comparison
    shares: tuple[Share, ...] = ()
    # comparison over the deliveries that both levels made, if the verdict is based on it
    common: Comparison | None = None
    common_deliveries: int | None = None
    unpaired: str = ""  # the reason why the runs of the two levels are not paired: one of UNPAIRED
    direction: str = ""  # the better direction, lower or higher; empty if neither is better in general
    # numbers of runs of the level and of the baseline in which the metric is infinite
    infinite: tuple[int, int] = (0, 0)
    finite: Mapping[str, Any] = field(default_factory=dict)  # numbers to report if `result` is missing

    @property
    def judged(self) -> Comparison | None:
        """The comparison on which the verdict is based."""
        return self.result if self.common_deliveries is None else self.common

    def row(self) -> dict[str, Any]:
        """Return the row of a finding in the tables of the study."""
        row = compared_row(self.others, self.level, self.baseline, self.metric)
        row |= dict(zip(COMPARED, self.result, strict=False)) if self.result is not None else self.finite
        if self.metric in SURVIVAL:
            row |= {"infinite_runs": self.infinite[0], "baseline_infinite_runs": self.infinite[1]}
        row |= {"p_adjusted": self.p_adjusted, "equivalence_p_adjusted": self.equivalence_p_adjusted}
        row |= {"verdict": self.verdict, "judgement": self._judgement(), "more_replications": self.more}
        row |= share_columns(self.shares)
        row["common_deliveries"] = self.common_deliveries
        return row | (dict(zip(OF_COMMON, self.common, strict=False)) if self.common is not None else {})

    def _judgement(self) -> str | None:
        """Describe whether the level is better or worse, or why this is not judged. Return None if the levels do not
        differ, or if neither direction of the metric is better.
        """
        if self.verdict != "different" or self.judged is None or not self.direction:
            return None
        if self.unpaired:
            return f"not judged, because {UNPAIRED[self.unpaired]}"
        names = "the level", "the baseline"
        return judgement(self.metric, self.judged.difference, self.direction, self.shares, names)[0]

    def document(self) -> dict[str, Any]:
        """Return the row together with all shares, for comparison.json."""
        return self.row() | {"shares": [share._asdict() for share in self.shares], "unpaired": self.unpaired}


def judged_row(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the row of a finding. If its verdict is based on the common deliveries, their numbers replace the
    others.
    """
    if row.get("common_deliveries") is None:
        return row
    return {**row, **{name.removeprefix(COMMON): row.get(name) for name in OF_COMMON}}


def compared_row(others: dict[str, Any], level: Any, baseline: Any, metric: str) -> dict[str, Any]:
    """Return the columns of a row that identify what is compared."""
    row = {factor: table_level(other) for factor, other in others.items()}
    return row | {"level": table_level(level), "baseline": table_level(baseline), "metric": metric}


def findings(
    comparison: Compare,
    configurations: list[Configuration],
    values: pd.DataFrame,
    unstable: set[int],
    confidence: float,
    delivered: Delivered,
    words: Vocabulary = OF_HOSTS,
) -> list[Finding]:
    """Return all findings. `values` contains the metrics by configuration and replication. `unstable` contains the
    configurations without a mean.
    """
    by_metric = {metric: values[metric].unstack(0) for metric in values}
    all_findings: list[Finding] = []
    delays = {name: one for name in comparison.metrics if (one := words.of_delays(name)) is not None}
    is_judged = any(words.better(name) for name in comparison.metrics)
    for base in configurations:
        if base.levels[comparison.factor] != comparison.baseline:
            continue
        others = {factor: level for factor, level in base.levels.items() if factor != comparison.factor}
        family: list[tuple[Finding, np.ndarray[Any, Any], np.ndarray[Any, Any]]] = []
        for other in configurations:
            if other is base or {f: v for f, v in other.levels.items() if f != comparison.factor} != others:
                continue
            shares = delivered.shares(other.number, base.number, confidence)
            over_common, lack = delivered.delays(other.number, base.number, delays) if is_judged else ({}, "")
            unpaired = lack if lack in UNPAIRED else USES_RUN if delivered.uses_run(other.number, base.number) else ""
            is_owing = lack in UNPAIRED and not delivered.is_complete(other.number, base.number)
            for metric in comparison.metrics:
                x, y = by_metric[metric].reindex(columns=[other.number, base.number]).dropna().to_numpy().T
                finding = Finding(others, other.levels[comparison.factor], comparison.baseline, metric, "no data")
                finding.shares, finding.unpaired = tuple(shares_for(metric, shares)), unpaired
                finding.direction = words.better(metric) if metric not in SIGNED else ""
                all_findings.append(finding)
                if {other.number, base.number} & unstable:
                    finding.verdict = "unstable"
                    continue
                if len(x) < 2:
                    continue
                finding.infinite = int(np.isinf(x).sum()), int(np.isinf(y).sum())
                if any(finding.infinite):
                    finding.verdict = INFINITE
                    own, its = (None if np.isinf(values).any() else float(values.mean()) for values in (x, y))
                    finding.finite = {"pairs": len(x), "mean": own, "baseline_mean": its}
                    continue
                finding.result = compare_means(x, y, confidence, comparison.equivalence_margin, unpaired != USES_RUN)
                common = over_common.get(metric)
                if is_owing and metric in SURVIVAL:
                    finding.verdict, finding.common_deliveries = lack, 0
                    continue
                if common is not None:
                    finding.verdict, finding.common_deliveries = common.lack or "no data", common.deliveries
                    if len(common.values) < 2:
                        continue
                    x, y = np.array([common.values[r] for r in sorted(common.values)]).T
                    finding.common = compare_means(x, y, confidence, comparison.equivalence_margin)
                family.append((finding, x, y))
        _judge(family, 1 - confidence, comparison.equivalence_margin)
    return all_findings


def _judge(family: list[tuple[Finding, Any, Any]], alpha: float, margin: float | None) -> None:
    results = [finding.judged for finding, _, _ in family if finding.judged is not None]
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
        elif np.array_equal(x, y):
            finding.verdict = "same"
        else:
            finding.verdict = "inconclusive"
            needed = replications_needed(x, y, alpha / max(1, len(results)), margin)
            finding.more = None if needed is None else max(1, needed - result.pairs)
