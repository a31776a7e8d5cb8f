"""Perform Morris screening: choose the points to examine, and compute the effect of each key.

Model     A trajectory starts at a random point of the grid and moves one key after another by half of the levels. Each
          step shows the elementary effect of one key: the change of the metric, scaled to the whole range of the key.
          The mean of the absolute effects over the trajectories, mu*, ranks the keys. mu is the mean of the signed
          effects. sigma is their spread, which is large if a key interacts with others or acts nonlinearly. Each point
          is run in the same random worlds, and a step compares the means over these worlds. The interval of mu* is a
          bootstrap over trajectories. An F test decides whether a key has an effect at all: it compares the squares of
          its steps with their spread over worlds, Holm-adjusted over the keys of a metric. A trajectory is omitted if
          one of its points has no mean or lacks a run.
Shapes    points: trajectories x (keys + 1) x keys, containing levels; values: trajectories x (keys + 1) x worlds
Units     Elementary effects have the unit of the metric.
Source    Morris, Factorial sampling plans for preliminary computational experiments, Technometrics 33 (1991);
          Campolongo, Cariboni, Saltelli, Env. Modelling & Software 22 (2007), for mu*; SALib for both;
          ours: docs/guide/sensitivity.md
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.sensitivity.ranges import LEVELS
from mobilenet.lab.studies.statistics import Interval, holm

LEAST_TRAJECTORIES = 4
RESAMPLES = 1000
STEP = LEVELS // 2

Levels = NDArray[np.int64]
Values = NDArray[np.float64]


class KeyEffect(NamedTuple):
    """The effect of one key on one metric."""

    key: int
    size: Interval  # mu*, with its interval over the trajectories
    mean: float  # mu, the mean of the signed effects
    spread: float  # sigma, the spread of the signed effects
    p_adjusted: float


def trajectories(keys: int, count: int, seed: int) -> Levels:
    """Return the points of `count` trajectories as levels of each key, with the shape count x (keys + 1) x keys."""
    sample, _ = _salib()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SALib warns about changes in its future versions.
        points = sample(_problem(keys), count, num_levels=LEVELS, seed=seed)
    levels: Levels = np.rint(points * (LEVELS - 1)).astype(np.int64).reshape(count, keys + 1, keys)
    return levels


def screen(points: Levels, values: Values, confidence: float, seed: int) -> list[KeyEffect]:
    """Return the effects of all keys, starting with the largest. `values` contains the results of one metric, without
    missing values.
    """
    _, analyze = _salib()
    count, _, keys = points.shape
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        analysis = analyze(
            _problem(keys), points.reshape(-1, keys) / (LEVELS - 1), values.mean(axis=2).reshape(-1),
            num_resamples=RESAMPLES, conf_level=confidence, num_levels=LEVELS, seed=seed,
        )  # fmt: skip
    adjusted = holm([p_of_no_effect(points, values, key) for key in range(keys)])
    sizes = (np.asarray(analysis[name], float) for name in ("mu_star", "mu_star_conf", "mu", "sigma"))
    rows = [
        KeyEffect(key, Interval(count, float(size), float(spread), float(half)), float(mean), float(spread), p)
        for key, (size, half, mean, spread, p) in enumerate(zip(*sizes, adjusted, strict=True))
    ]
    return sorted(rows, key=lambda row: -row.size.mean)


def p_of_no_effect(points: Levels, values: Values, key: int) -> float:
    """Return the probability that steps would be at least this large if the key had no effect and only the worlds
    differed. Return 1 if all values are equal, or if there is only one world.
    """
    from scipy import stats

    moved = points[:, 1:, key] != points[:, :-1, key]  # True for the step of each trajectory that changes this key.
    steps = np.diff(values, axis=1)[moved]  # shape: trajectories x worlds
    worlds, count = steps.shape[1], len(steps)
    if worlds < 2 or not steps.any():
        return 1.0
    between = worlds * float(np.mean(steps.mean(axis=1) ** 2))
    within = float(np.mean(steps.var(axis=1, ddof=1)))
    return 0.0 if within == 0 else float(stats.f.sf(between / within, count, count * (worlds - 1)))


def complete(points: Levels, values: Values) -> tuple[Levels, Values]:
    """Return the trajectories without missing values. Raise StudyError if too few remain."""
    whole = np.logical_not(np.isnan(values).reshape(len(values), -1).any(axis=1))
    if whole.sum() < LEAST_TRAJECTORIES:
        raise StudyError(
            f"only {whole.sum()} of {len(values)} trajectories have a mean at each point, expected at least"
            f" {LEAST_TRAJECTORIES}; choose narrower ranges, or more trajectories"
        )
    return points[whole], values[whole]


def _problem(keys: int) -> dict[str, Any]:
    return {"num_vars": keys, "names": [f"k{key}" for key in range(keys)], "bounds": [[0.0, 1.0]] * keys}


def _salib() -> tuple[Any, Any]:
    try:
        from SALib.analyze.morris import analyze
        from SALib.sample.morris import sample
    except ImportError:
        raise StudyError("this command needs SALib: pip install 'mobilenet[sensitivity]'") from None
    return sample, analyze
