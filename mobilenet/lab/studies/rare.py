"""Bounds of a mean that allow for outcomes which no run has had yet.

Model     a verdict, such as "the mean is below the limit", rests on n runs, of which k contradict it: their values lie
          on the other side of the limit. The variance does not show outcomes that no run has had. So bounds from the
          variance are valid only if there were enough runs for contradicting outcomes in a share of RARE of the runs
          to occur more often than k times (the exact binomial bound of Clopper and Pearson). From ENOUGH contradicting
          runs on, the variance shows what these are like; what remains are outcomes farther away than all others, so
          the bound is that for k = 0. The error for this is spent once: for each k, only the first look with enough
          runs matters, so k = 0, 1, 2, ... get 1/2, 1/4, 1/8, ... of it. Until then, contradicting outcomes may have
          any share q that is consistent with k, and any value that the metric allows: the bound is (1 - q) times the
          one from the variance plus q times the end of the metric. A metric without this end has an infinite bound
Shapes    values: float64 (replications,)
Units     those of the values
Errors    ValueError for fewer than three values
Source    Clopper, Pearson, The use of confidence or fiducial limits, Biometrika (1934); ours: docs/guide/capacity.md
"""

from __future__ import annotations

from typing import NamedTuple

from mobilenet.lab.studies.statistics import Bounds, Values, skewed_bounds

RARE = 0.05  # outcomes in a smaller share of the runs may be missed, unless another share is given
LEAST_RARE, MOST_RARE = 0.001, 0.5  # that may be given
ENOUGH = 8  # runs that contradict a verdict, for the variance to show what they are like
OF_RARE = 0.25  # the share of the error for outcomes that are not rare, and yet were not seen


class Error(NamedTuple):
    """The error of each bound at one look, and the one at all looks for what was not seen."""

    at_look: float
    at_all_looks: float
    rare: float = RARE


def unseen(n: int, contradicting: int, error: Error) -> float:
    """Return the share of contradicting outcomes that a verdict from n runs has to allow for, besides the variance; 0:
    the bound neglects rarer ones.
    """
    k = contradicting if contradicting < ENOUGH else 0  # none is like what no run has had
    if is_rare(n, k, error._replace(at_all_looks=error.at_all_looks / 2 ** (k + 1))):
        return 0.0
    return _largest_share(n, k, error.at_look / 2)


def is_rare(n: int, seen: int, error: Error) -> bool:
    """Whether an outcome that n runs have shown so often is a rare one."""
    return _largest_share(n, seen, error.at_all_looks) <= error.rare


def upper(values: Values, end: float, missed: float, error: Error) -> float:
    """Return what the mean exceeds with a probability of `error.at_look`; `end`: the largest possible value."""
    if not missed:
        return skewed_bounds(values, error.at_look).high
    usual = min(skewed_bounds(values, error.at_look / 2).high, end)
    return usual + missed * (end - usual)


def lower(values: Values, end: float, missed: float, error: Error) -> float:
    """Return the same for the other side."""
    return -upper(-values, -end, missed, error)


def clip(bounds: Bounds, least: float, most: float) -> Bounds:
    """Return an interval without the values that no mean can have: those beyond what each run can be."""
    return bounds._replace(low=max(least, bounds.low), high=min(most, bounds.high))


def assumption(rare: float) -> str:
    """Return the sentence for answers that neglect rare outcomes."""
    return f"outcomes in under {rare * 100:g} % of the runs could have been missed"


def _largest_share(n: int, seen: int, error: float) -> float:
    """The largest share of which `seen` or fewer of n runs are seen with a probability of `error`."""
    from scipy.special import betaincinv

    return 1.0 if seen >= n else float(betaincinv(seen + 1, n - seen, 1 - error))
