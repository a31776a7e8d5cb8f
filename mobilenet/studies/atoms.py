"""Bounds of a mean where most runs give the same value, such as a delivery ratio of 1.

Model     n runs of which k differ from the most frequent value. With few of them, the variance contains little: what
          was not seen yet may be what moves the mean. So bounds from the variance are valid only if k is at least
          ENOUGH, or if there were enough runs for an outcome in a share of RARE of the runs to occur more often (the
          exact binomial bound of Clopper and Pearson; the error for this is split over the ENOUGH numbers k, and each
          of them matters at one look only). Until then the bounds are those that hold for any distribution: at most a
          share q of the runs differs from the most frequent value, by no more than the metric allows. A metric without
          known limits then has no bounds
Shapes    values: float64 (replications,)
Units     those of the values
Errors    ValueError for fewer than three values
Source    Clopper, Pearson, The use of confidence or fiducial limits, Biometrika (1934); ours: docs/guide/capacity.md
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mobilenet.metrics.registry import limits
from mobilenet.studies.statistics import Bounds, Values, skewed_bounds

RARE = 0.05  # an outcome in a smaller share of the runs can go unnoticed
ENOUGH = 8  # runs that differ from the most frequent value, for bounds from their variance
OF_RARE = 0.05  # the share of the error for outcomes that occur more often, and yet were not seen
ASSUMED = f"where nearly all runs gave the same value, outcomes in under {RARE * 100:g} % of runs can be missed"


class Error(NamedTuple):
    """The error of each bound at one look, and the one at all looks for what was not seen."""

    at_look: float
    rare: float


def most_frequent(values: Values, scale: float = 0.0) -> tuple[float, int]:
    """Return the most frequent value, and how many runs differ from it by more than rounding of numbers of `scale`."""
    unit = max(scale, float(np.max(np.abs(values)))) * 1e-12 or 1.0
    found, counts = np.unique(np.round(values / unit), return_counts=True)
    place = int(np.argmax(counts))
    return float(found[place]) * unit, len(values) - int(counts[place])


def is_settled(values: Values, rare_error: float, scale: float = 0.0) -> bool:
    """Whether bounds from the variance are valid."""
    k = most_frequent(values, scale)[1]
    return k >= ENOUGH or _most(len(values), k, rare_error / ENOUGH) <= RARE


def assumes(values: Values, scale: float = 0.0) -> bool:
    """Whether bounds from the variance would rest on the assumption about rare outcomes."""
    return most_frequent(values, scale)[1] < ENOUGH


def bounds(values: Values, error: Error, metric: str) -> Bounds:
    """Return bounds of the mean of independent values, each exceeded with a probability of `error.at_look`, and both,
    at any look, with one of `error.rare`.
    """
    if is_settled(values, error.rare):
        return skewed_bounds(values, error.at_look)
    if len(values) < 3:
        raise ValueError("bounds need at least three replications")
    low, high = limits(metric)
    usual, k = most_frequent(values)
    other = _most(len(values), k, error.at_look)
    return Bounds(float(np.mean(values)), usual - other * (usual - low), usual + other * (high - usual))


def clipped(found: Bounds, least: float, most: float) -> Bounds:
    """Return an interval without the values that no mean can have: those beyond what each run can be."""
    return found._replace(low=max(found.low, least), high=min(found.high, most))


def _most(n: int, k: int, error: float) -> float:
    """The largest share of which k or fewer of n runs are seen with a probability of `error`."""
    from scipy.special import betaincinv

    return float(betaincinv(k + 1, n - k, 1 - error))
