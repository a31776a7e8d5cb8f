"""Compute main effects (what one factor changes) and interactions (what pairs of factors change together).

Model     A study is a full factorial design. The main effect of a level is its mean difference from the first level of
          the factor, over all combinations of the other factors. The interaction of two levels is half of the amount by
          which one level changes the effect of the other, averaged in the same way. Each replication gives one estimate
          of each effect, and the t interval is computed over these estimates. The p values are adjusted by Holm over
          all effects on one metric. Effects are not computed if a configuration has no mean or lacks a run. Each effect
          also includes the changes that the same levels cause in deliveries and broadcasts (BEFORE_DELAYS).
Units     Effects have the unit of their metric.
Source    Law: Simulation Modeling and Analysis (2015), 12.2; Holm (1979); ours: docs/guide/studies.md
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mobilenet.lab.studies.level_names import table_level
from mobilenet.lab.studies.precedence import DELIVERED
from mobilenet.lab.studies.statistics import Interval, holm, t_interval, t_interval_of, t_test
from mobilenet.lab.studies.table_files import UNSTABLE, read_rows, read_table, values_of_runs, write_table
from mobilenet.record.provenance import stamping_of

if TYPE_CHECKING:
    import pandas as pd

SCREENING = "sensitivity"  # This table of effects exists only in the directory of a screening.
BEFORE_DELAYS = {DELIVERED: "delivery ratio", "broadcasts_refused": "number of refused broadcasts"}


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of one level, or of two levels together. `levels` contains one or two pairs of a factor and a
    level.
    """

    metric: str
    levels: tuple[tuple[str, Any], ...]
    interval: Interval
    p_adjusted: float
    is_size: bool = False  # whether the interval describes the absolute size of the change, as in a screening
    signed: float | None = None  # mean of the changes with their signs; only in a screening
    changes: Mapping[str, Interval] = field(default_factory=dict)  # signed changes in the metrics of BEFORE_DELAYS

    def row(self) -> dict[str, Any]:
        """Return this effect as a row for the tables of the study."""
        row: dict[str, Any] = {"metric": self.metric}
        for number in (0, 1):
            factor, level = self.levels[number] if number < len(self.levels) else ("", "")
            row |= {f"factor_{number + 1}": factor, f"level_{number + 1}": str(table_level(level))}
        i = self.interval
        row |= {"effect": i.mean, "low": i.low, "high": i.high, "p_adjusted": self.p_adjusted, "n": i.n}
        for metric in BEFORE_DELAYS:
            change = self.changes.get(metric)
            row |= {f"{metric}_change": getattr(change, "mean", None)}
            row |= {f"{metric}_change_{end}": getattr(change, end, None) for end in ("low", "high")}
        return row


def effects(levels: pd.DataFrame, values: pd.Series[float], metric: str, confidence: float) -> list[Effect]:
    """Return all effects on a metric, starting with the largest. Return an empty list if fewer than two factors vary or
    if a mean is missing. `levels` has the shape configuration x factor; `values` contains the metric by configuration
    and replication.
    """
    import pandas as pd

    varied = [factor for factor in levels if levels[factor].nunique() > 1]
    if len(varied) < 2:
        return []
    cells = values.unstack().reindex(levels.index).dropna(axis=1, how="all")
    if cells.shape[1] < 2 or not np.isfinite(cells).all(axis=None):
        return []
    codes, uniques = zip(*(pd.factorize(levels[factor]) for factor in varied), strict=True)
    # The array has one axis for each factor, and a last axis for the replications.
    table = np.full((*map(len, uniques), cells.shape[1]), np.nan)
    table[codes] = cells
    contrasts = []
    for count in (1, 2):
        for axes in itertools.combinations(range(len(varied)), count):
            for places in itertools.product(*(range(1, table.shape[axis]) for axis in axes)):
                chosen = dict(zip(axes, places, strict=True))
                pair = tuple((varied[axis], uniques[axis].tolist()[place]) for axis, place in chosen.items())
                contrasts.append((pair, _contrast(table, chosen)))
    adjusted = holm([t_test(estimates) for _, estimates in contrasts])
    all_effects = [
        Effect(metric, pair, t_interval(estimates, confidence), p)
        for (pair, estimates), p in zip(contrasts, adjusted, strict=True)
    ]
    return sorted(all_effects, key=lambda effect: -abs(effect.interval.mean))


def study_effects(path: Path, factors: Sequence[str], metrics: Sequence[str], confidence: float) -> list[Effect]:
    """Return all effects on these metrics from the tables of a study. Raise StudyError if the tables are damaged."""
    if is_screening(path):
        return _read_screening(path, metrics, confidence)
    summary = read_table(path, "tables/summary").to_pandas()
    if UNSTABLE in summary["label"].to_list():
        return []
    levels = summary.drop_duplicates("configuration").set_index("configuration")[[*factors]]
    values = values_of_runs(path, [*metrics, *BEFORE_DELAYS])
    return _with_changes(metrics, lambda metric: effects(levels, values[metric], metric, confidence), confidence)


def is_screening(path: Path) -> bool:
    """Return whether the study was created by `mobilenet sensitivity`."""
    return (path / f"{SCREENING}.parquet").is_file()


def _with_changes(metrics: Sequence[str], effects_on: Callable[[str], list[Effect]], confidence: float) -> list[Effect]:
    """Return the effects on these metrics. Add to each effect how its levels change the metrics of BEFORE_DELAYS."""
    before = {
        metric: {one.levels: _with_sign(one, confidence) for one in effects_on(metric)} for metric in BEFORE_DELAYS
    }
    return [
        replace(
            effect,
            changes={
                other: own[effect.levels]
                for other, own in before.items()
                if other != metric and effect.levels in own
            },
        )
        for metric in metrics
        for effect in effects_on(metric)
    ]  # fmt: skip


def _with_sign(effect: Effect, confidence: float) -> Interval:
    """Return the interval of the signed change. If the effect is an absolute size, compute the interval from the signed
    changes of all trajectories.
    """
    i = effect.interval
    return i if effect.signed is None else t_interval_of(i.n, effect.signed, i.sd, confidence)


def _read_screening(path: Path, metrics: Sequence[str], confidence: float) -> list[Effect]:
    """Return the effect sizes on these metrics from the table of a screening, starting with the largest."""
    sizes = [
        Effect(
            row["metric"], ((row["key"], row["range"]),),
            Interval(row["trajectories"], row["size"], row["spread"], row["high"] - row["size"]),
            row["p_adjusted"], is_size=True, signed=row["mean"],
        )
        for row in read_rows(path, SCREENING)
    ]  # fmt: skip
    return _with_changes(metrics, lambda metric: [one for one in sizes if one.metric == metric], confidence)


def by_metric(all_effects: Sequence[Effect]) -> dict[str, list[Effect]]:
    """Group the effects by metric. Effects on the same metric must be adjacent."""
    return {metric: list(own) for metric, own in itertools.groupby(all_effects, lambda effect: effect.metric)}


def write_effects(path: Path, all_effects: Sequence[Effect]) -> None:
    """Write effects.csv and effects.parquet, if there are any."""
    if all_effects:
        with stamping_of(path, "mobilenet compare STUDY"):
            write_table(path, "effects", [effect.row() for effect in all_effects])


def _contrast(table: NDArray[np.float64], places: Mapping[int, int]) -> NDArray[np.float64]:
    """Return, for each replication, the difference between the given level and the first level of each factor in
    `places`.
    """
    for axis, place in sorted(places.items(), reverse=True):
        table = np.take(table, place, axis=axis) - np.take(table, 0, axis=axis)
    estimates: NDArray[np.float64] = table.reshape(-1, table.shape[-1]).mean(axis=0)
    return estimates / 2 if len(places) == 2 else estimates
