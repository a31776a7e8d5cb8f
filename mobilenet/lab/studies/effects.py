"""What each factor of a study does by itself, and which two act together: main effects and interactions.

Model     a study has every combination of levels (a full factorial design). The main effect of a level is the mean
          difference to the first level of its factor, over all combinations of the other factors. The interaction of
          two levels is half of what one adds to the effect of the other, averaged in the same way. Replications are
          worlds, so each gives one estimate of each effect, and the t interval is over them; p values are adjusted by
          Holm over the effects on one metric. No effect is given where a configuration has no mean, or lacks a run.
          Each effect knows what the same levels change in what is delivered and broadcast (BEFORE_DELAYS)
Units     those of the metrics
Source    Law: Simulation Modeling and Analysis (2015), 12.2; Holm (1979); ours: docs/guide/studies.md
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.aggregation import UNSTABLE
from mobilenet.lab.studies.configurations import Configuration
from mobilenet.lab.studies.csv_tables import AGAIN, table_rows, values_of_runs
from mobilenet.lab.studies.delivered import DELIVERED
from mobilenet.lab.studies.level_names import table_level
from mobilenet.lab.studies.rows import write_rows
from mobilenet.lab.studies.statistics import Interval, holm, p_of_zero, t_interval, t_interval_of
from mobilenet.record.provenance import stamping_of

SCREENING = "sensitivity"  # a study that has this table is a screening, and its effects are there
Replicated = Mapping[int, float]  # replication -> the value of a metric
BEFORE_DELAYS = {DELIVERED: "delivery ratio", "broadcasts_refused": "number of refused broadcasts"}


@dataclass(frozen=True, slots=True)
class Effect:
    """What one level does, or two together: (factor, level) once or twice."""

    metric: str
    levels: tuple[tuple[str, Any], ...]
    interval: Interval
    p_adjusted: float
    is_size: bool = False  # of changes in either direction: a screening's
    signed: float | None = None  # of a size: the mean of the changes with their signs
    changes: Mapping[str, Interval] = field(default_factory=dict)  # with signs, in other metrics: of BEFORE_DELAYS

    def row(self) -> dict[str, Any]:
        """Flat, for tables."""
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


def effects(
    configurations: Sequence[Configuration],
    values: Mapping[tuple[int, str], Replicated],
    metric: str,
    confidence: float,
) -> list[Effect]:
    """All effects on a metric, the largest first; none for fewer than two factors that vary, or where a mean is
    missing.
    """
    factors = {factor: _levels(configurations, factor) for factor in configurations[0].levels} if configurations else {}
    factors = {factor: levels for factor, levels in factors.items() if len(levels) > 1}
    table = _table(configurations, values, metric, factors)
    if len(factors) < 2 or table is None:
        return []
    contrasts = []
    for count in (1, 2):
        for chosen in itertools.combinations(range(len(factors)), count):
            names = [list(factors)[axis] for axis in chosen]
            for places in itertools.product(*(range(1, len(factors[name])) for name in names)):
                estimates = _contrast(table, dict(zip(chosen, places, strict=True)))
                levels = tuple((name, factors[name][place]) for name, place in zip(names, places, strict=True))
                contrasts.append((levels, estimates))
    adjusted = holm([p_of_zero(estimates) for _, estimates in contrasts])
    all_effects = [
        Effect(metric, levels, t_interval(estimates, confidence), p)
        for (levels, estimates), p in zip(contrasts, adjusted, strict=True)
    ]
    return sorted(all_effects, key=lambda effect: -abs(effect.interval.mean))


def study_effects(path: Path, factors: Sequence[str], metrics: Sequence[str], confidence: float) -> list[Effect]:
    """All effects on these metrics, from the tables of a study. Raises StudyError."""
    if is_screening(path):
        return _read_screening(path, metrics, confidence)
    if any(row["label"] == UNSTABLE for row in table_rows(path, "tables/summary.csv")):
        return []
    rows = table_rows(path, "tables/runs.csv")
    if rows and (missing := [factor for factor in factors if factor not in rows[0]]):
        raise StudyError(f"{path / 'tables/runs.csv'}: damaged: column {missing[0]} is missing; {AGAIN}")
    levels = {int(row["configuration"]): {factor: row[factor] for factor in factors} for row in rows}
    configurations = [Configuration(number, own, ()) for number, own in sorted(levels.items())]
    values = values_of_runs(path, [*metrics, *BEFORE_DELAYS])
    return _with_changes(metrics, lambda metric: effects(configurations, values, metric, confidence), confidence)


def is_screening(path: Path) -> bool:
    """Whether the study is one of `mobilenet sensitivity`."""
    return (path / f"{SCREENING}.csv").is_file()


def _with_changes(metrics: Sequence[str], effects_on: Callable[[str], list[Effect]], confidence: float) -> list[Effect]:
    """Return the effects on these metrics, each with what its levels change in BEFORE_DELAYS."""
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
    """The interval of the change itself; of a size, that of the changes with their signs, over trajectories."""
    i = effect.interval
    return i if effect.signed is None else t_interval_of(i.n, effect.signed, i.sd, confidence)


def _read_screening(path: Path, metrics: Sequence[str], confidence: float) -> list[Effect]:
    """The sizes that a screening wrote, the largest first."""
    sizes = []
    try:
        for row in table_rows(path, f"{SCREENING}.csv"):
            size, high = float(row["size"]), float(row["high"])
            interval = Interval(int(row["trajectories"]), size, float(row["spread"]), high - size)
            levels, signed = ((row["key"], row["range"]),), float(row["mean"])
            sizes.append(Effect(row["metric"], levels, interval, float(row["p_adjusted"]), True, signed))
    except (KeyError, ValueError):
        raise StudyError(f"{path / SCREENING}.csv: damaged; run `mobilenet sensitivity` again") from None
    return _with_changes(metrics, lambda metric: [one for one in sizes if one.metric == metric], confidence)


def by_metric(all_effects: Sequence[Effect]) -> dict[str, list[Effect]]:
    """The effects on each metric, in the given order."""
    grouped: dict[str, list[Effect]] = {}
    for effect in all_effects:
        grouped.setdefault(effect.metric, []).append(effect)
    return grouped


def write_effects(path: Path, all_effects: Sequence[Effect]) -> None:
    """effects.csv and effects.parquet, if there are any."""
    if all_effects:
        with stamping_of(path, "mobilenet compare STUDY"):
            write_rows(path, "effects", [effect.row() for effect in all_effects])


def _levels(configurations: Sequence[Configuration], factor: str) -> list[Any]:
    levels: list[Any] = []
    for configuration in configurations:
        if configuration.levels[factor] not in levels:
            levels.append(configuration.levels[factor])
    return levels


def _table(
    configurations: Sequence[Configuration],
    values: Mapping[tuple[int, str], Replicated],
    metric: str,
    factors: Mapping[str, list[Any]],
) -> NDArray[np.float64] | None:
    """The metric, an axis for each factor and the last one for replications; None if a value is missing or infinite."""
    replications = [values.get((c.number, metric), {}) for c in configurations]
    common = sorted(set.intersection(*(set(own) for own in replications))) if replications else []
    if len(common) < 2 or any(len(own) != len(common) or math.inf in own.values() for own in replications):
        return None
    table = np.full((*map(len, factors.values()), len(common)), np.nan)
    for configuration, own in zip(configurations, replications, strict=True):
        place = tuple(levels.index(configuration.levels[factor]) for factor, levels in factors.items())
        table[place] = [own[replication] for replication in common]
    return table


def _contrast(table: NDArray[np.float64], places: Mapping[int, int]) -> NDArray[np.float64]:
    """For each replication: the difference between a place and the first one, along each of these axes."""
    for axis, place in sorted(places.items(), reverse=True):
        table = np.take(table, place, axis=axis) - np.take(table, 0, axis=axis)
    estimates: NDArray[np.float64] = table.reshape(-1, table.shape[-1]).mean(axis=0)
    return estimates / 2 if len(places) == 2 else estimates
