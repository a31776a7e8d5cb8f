"""Compute intervals, comparisons, bounds for unseen outcomes, warm-up and trends of replications.

Model     All statistics use one value per run, never one per message. Replications are independent. The same
          replication of two configurations has the same random world, so differences are paired, unless custom
          processes depend on the run. A verdict, such as "the mean is below the limit", rests on n runs. k of them
          contradict it because their values lie on the other side of the limit. The variance does not reveal outcomes
          that no run has had. So bounds from the variance are valid only with enough runs: contradicting outcomes in a
          share of RARE of the runs would then have occurred more often than k times (the exact binomial bound of
          Clopper and Pearson). With ENOUGH contradicting runs, the variance shows what they are like. Only outcomes
          farther away than all others remain unseen, so the bound for k = 0 applies. For each k, only the first look
          with enough runs matters. The error of this test is therefore spent only once: k = 0, 1, 2, ... get 1/2, 1/4,
          1/8, ... of it. With too few runs, contradicting outcomes may have any share q that is consistent with k, and
          any value that the metric allows. The bound is then (1 - q) times the bound from the variance plus q times the
          end of the metric's range, or infinite if the range has no such end.
Shapes    values: float64 (replications,). Two samples have the same length and are ordered by replication, even if they
          are not paired.
Units     Results have the unit of the values; a log-ratio is dimensionless.
Errors    ValueError for fewer than two values, or fewer than three for skewed_bounds.
Source    Student's t, Holm (1979), TOST of Schuirmann (1987) from scipy; MSER-5 of White, Cobb and
          Spratt (2000); Law: Simulation Modeling and Analysis (2015), chapters 9 and 10; repeated intervals of
          Jennison and Turnbull (1989), Hall, On the removal of skewness by transformation (1992), for the bounds that
          hold at all looks; Clopper, Pearson, The use of confidence or fiducial limits, Biometrika (1934), for outcomes
          not seen: docs/guide/capacity.md; ours: docs/guide/studies.md
"""

from __future__ import annotations

import math
import warnings
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Samples = tuple[Values, Values | None]  # one sample, or two samples that are compared

# No mean exists if the backlog grows by more than this over half a window, relative to its mean. The value is 2/3 for a
# backlog that grows steadily from zero.
RUNS_AWAY = 0.25
ENOUGH_TO_BE_SURE = 5  # A configuration may be said to have no mean only after this many replications.
MOST_PAIRS = 1_000_000
# The estimated number of further replications detects the current difference with this probability.
POWER = 0.8


class Interval(NamedTuple):
    """A mean and its confidence interval."""

    n: int
    mean: float
    sd: float
    half_width: float

    @property
    def low(self) -> float:
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        return self.mean + self.half_width


def t_interval(values: Values, confidence: float = 0.95) -> Interval:
    """Return Student's t interval of the mean of these values."""
    n = len(values)
    if n < 2:
        raise ValueError("an interval needs at least two replications")
    return t_interval_of(n, float(np.mean(values)), float(np.std(values, ddof=1)), confidence)


def t_interval_of(n: int, mean: float, sd: float, confidence: float) -> Interval:
    """Return Student's t interval of a mean of `n` values with standard deviation `sd`."""
    return Interval(n, mean, sd, _t_quantile((1 + confidence) / 2, n - 1) * sd / math.sqrt(n))


def _t_quantile(share: float, degrees: float) -> float:
    # This is the function behind stats.t.ppf, but importing scipy.stats would take a second.
    from scipy.special import stdtrit

    return float(stdtrit(degrees, share))


class Comparison(NamedTuple):
    """A comparison of a configuration with its baseline in one metric."""

    pairs: int
    mean: float
    baseline_mean: float
    difference: float
    difference_low: float
    difference_high: float
    ratio: float | None  # geometric mean of value / baseline; None if a value is not positive
    ratio_low: float | None
    ratio_high: float | None
    p: float  # p value of the hypothesis that the difference is 0
    # P value of the hypothesis that the ratio lies outside 1 ± margin. None if this hypothesis is not tested.
    equivalence_p: float | None


def compare_means(
    values: Values, baseline: Values, confidence: float = 0.95, margin: float | None = None, is_paired: bool = True
) -> Comparison:
    """Compare two configurations, either paired by replication or as independent samples (Welch)."""
    samples: Samples = (values - baseline, None) if is_paired else (values, baseline)
    ratio = low = high = equivalence_p = None
    if np.all(values > 0) and np.all(baseline > 0):
        logs: Samples = (np.log(values / baseline), None) if is_paired else (np.log(values), np.log(baseline))
        ratio, low, high = map(math.exp, _mean_and_ends(*logs, confidence))
        if margin is not None:  # Two one-sided tests decide about equivalence.
            above = t_test(*logs, math.log1p(-margin), "greater")
            equivalence_p = max(above, t_test(*logs, math.log1p(margin), "less"))
    means, difference = (float(np.mean(values)), float(np.mean(baseline))), _mean_and_ends(*samples, confidence)
    return Comparison(len(values), *means, *difference, ratio, low, high, t_test(*samples), equivalence_p)


def _mean_and_ends(values: Values, other: Values | None, confidence: float) -> tuple[float, float, float]:
    """Return a mean and the ends of its t interval. With `other`, return the difference of the two means and the ends
    of Welch's interval.
    """
    if other is None:
        i = t_interval(values, confidence)
        return i.mean, i.low, i.high
    from scipy import stats

    n, mean = len(values), float(np.mean(values) - np.mean(other))
    variance = float(np.var(values, ddof=1) + np.var(other, ddof=1))
    degrees = float(stats.ttest_ind(values, other, equal_var=False).df) if variance else 1.0
    half_width = _t_quantile((1 + confidence) / 2, degrees) * math.sqrt(variance / n)
    return mean, mean - half_width, mean + half_width


def t_test(values: Values, other: Values | None = None, at: float = 0.0, side: str = "two-sided") -> float:
    """Return the p value of the t test that the mean equals `at`. With `other`, return the p value of Welch's test that
    the difference of the two means equals `at`. If the values do not vary, the p value is 0 or 1.
    """
    from scipy import stats

    if np.ptp(values) == 0 and (other is None or np.ptp(other) == 0):
        mean = float(values[0]) - (0.0 if other is None else float(other[0]))
        return 0.0 if {"two-sided": mean != at, "greater": mean > at, "less": mean < at}[side] else 1.0
    with warnings.catch_warnings():  # SciPy warns about nearly identical values, but the p value is accurate enough.
        warnings.simplefilter("ignore", RuntimeWarning)
        if other is None:
            return float(stats.ttest_1samp(values, at, alternative=side).pvalue)
        return float(stats.ttest_ind(values - at, other, equal_var=False, alternative=side).pvalue)


def holm(p_values: list[float]) -> list[float]:
    """Adjust p values by Holm's method, which bounds the probability of any false rejection among all of them."""
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)), 1.0)
    return [float(p) for p in adjusted]


def replications_needed(values: Values, baseline: Values, alpha: float, margin: float | None) -> int | None:
    """Return how many pairs would probably decide the comparison, either by detecting a difference as large as the
    current one, or by showing equivalence.

    Return None if more than a million pairs are needed. If there are no ratios, for example because a value is 0, only
    a difference can be detected, because the margin applies to ratios.
    """
    differences = values - baseline  # The test uses the differences, while the margin applies to the ratios.
    if np.std(differences, ddof=1) == 0:
        return len(values)
    needed = [_pairs_needed(abs(float(differences.mean())) / float(np.std(differences, ddof=1)), alpha / 2)]
    if margin is not None and bool(np.all(values > 0) and np.all(baseline > 0)):
        ratios = np.log(values / baseline)
        room, sd = math.log1p(margin) - abs(float(ratios.mean())), float(np.std(ratios, ddof=1))
        if room > 0 and sd > 0:
            needed.append(_pairs_needed(room / sd, alpha))
    least = min(needed)
    return max(len(values) + 1, least) if least <= MOST_PAIRS else None


def _pairs_needed(effect: float, level: float) -> int:
    """Return the smallest number of pairs, at least 2, with which a one-sided t test at `level` detects `effect` with
    probability POWER. `effect` is a mean difference in standard deviations. Return MOST_PAIRS + 1 if even MOST_PAIRS
    pairs are not enough.
    """
    from scipy.special import nctdtr

    # The function nctdtr returns no result for larger effects, which two or three pairs always detect.
    effect = min(effect, 1e6)

    def power(pairs: int) -> float:
        critical = _t_quantile(1 - level, pairs - 1)
        return 1.0 - float(nctdtr(pairs - 1, effect * math.sqrt(pairs), critical))

    return bisect_left(range(MOST_PAIRS + 1), POWER, lo=2, key=power)


FIRST_LOOK, LOOK_GROWTH = 10, 1.4  # number of runs at the first look, and growth factor from each look to the next
EARLY_LOOKS = 8  # The first looks receive nearly equal shares of the error; the shares of later looks decrease.


class Bounds(NamedTuple):
    """The ends of an interval. The true value is beyond each end with the given probability of error."""

    mean: float
    low: float
    high: float


def look(number: int) -> int:
    """Return the number of runs at look `number`, counted from 0: 10, 14, 20, 28, 40, 56, 79, ..."""
    runs = FIRST_LOOK
    for _ in range(number):
        runs = math.ceil(runs * LOOK_GROWTH)
    return runs


def share_of_look(number: int) -> float:
    """Return the share of the error that look `number` may use. The shares of infinitely many looks add up to 1."""
    return EARLY_LOOKS / ((number + EARLY_LOOKS) * (number + EARLY_LOOKS + 1))


def skewed_bounds(values: Values, error: float) -> Bounds:
    """Return bounds of the mean of independent values. The mean is beyond each bound with a probability of `error`.

    The bounds are Student's t interval, moved by Hall's transformation, which removes the skewness of the t statistic.
    A bound moves outwards by the full skewness of the values, but inwards only by the part that exceeds two standard
    errors of it. If all values are equal, both bounds are equal to them. Raise ValueError for fewer than three values.
    """
    n = len(values)
    if n < 3:
        raise ValueError("the skewness needs at least three replications")
    mean = float(np.mean(values))
    centred = values - mean
    variance = float(np.mean(centred**2))
    # The values are equal up to rounding, or so small that their powers underflow.
    if variance <= (1e-12 * max(abs(mean), 1e-90)) ** 2:
        return Bounds(mean, mean, mean)
    quantile = _t_quantile(1 - error, n - 1)
    skewness = float(np.mean(centred**3)) / variance**1.5 * math.sqrt(n * (n - 1)) / (n - 2)
    error_of_mean = math.sqrt(variance / (n - 1))
    # Even a sample of normal values has some skewness.
    surely = math.copysign(max(0.0, abs(skewness) - 2 * math.sqrt(6 / n)), skewness)
    below, above = (_hall(q, skewness if skewness * q < 0 else surely, n) for q in (quantile, -quantile))
    return Bounds(mean, mean - below * error_of_mean, mean - above * error_of_mean)


def _hall(y: float, skewness: float, n: int) -> float:
    """Return the inverse of Hall's cubic transformation of the t statistic, which removes most of its skewness."""
    a = skewness / math.sqrt(n)
    if abs(a) < 1e-9:
        return y
    return 3 / a * (math.cbrt(1 + a * (y - a / 6)) - 1)


RARE = 0.05  # By default, verdicts may miss outcomes that occur in a smaller share of runs.
LEAST_RARE, MOST_RARE = 0.001, 0.5  # limits of the share that users may choose
ENOUGH = 8  # With at least this many contradicting runs, the variance is reliable.
OF_RARE = 0.25  # fraction of the error probability that is reserved for outcomes that no run has shown


class Error(NamedTuple):
    """Error probabilities: of each bound at one look, and of missed outcomes over all looks together."""

    at_look: float
    at_all_looks: float
    rare: float = RARE


def unseen(n: int, contradicting: int, error: Error) -> float:
    """Return the share of runs with contradicting outcomes that a verdict from n runs must allow for, in addition to
    the variance. If the share is 0, the bound neglects rare outcomes.
    """
    # With ENOUGH contradicting runs, only outcomes that no run has shown are unseen.
    k = contradicting if contradicting < ENOUGH else 0
    if is_rare(n, k, error._replace(at_all_looks=error.at_all_looks / 2 ** (k + 1))):
        return 0.0
    return _largest_share(n, k, error.at_look / 2)


def is_rare(n: int, seen: int, error: Error) -> bool:
    """Return whether an outcome that occurred in `seen` of n runs is rare."""
    return _largest_share(n, seen, error.at_all_looks) <= error.rare


def upper(values: Values, end: float, missed: float, error: Error) -> float:
    """Return the upper bound of the mean. The mean exceeds the bound with a probability of `error.at_look`. `end` is
    the largest possible value.
    """
    if not missed:
        return skewed_bounds(values, error.at_look).high
    usual = min(skewed_bounds(values, error.at_look / 2).high, end)
    return usual + missed * (end - usual)


def lower(values: Values, end: float, missed: float, error: Error) -> float:
    """Return the lower bound of the mean. The mean is below the bound with a probability of `error.at_look`. `end` is
    the smallest possible value.
    """
    return -upper(-values, -end, missed, error)


def clip(bounds: Bounds, least: float, most: float) -> Bounds:
    """Restrict an interval to the range of possible values, because a mean cannot lie outside this range."""
    return bounds._replace(low=max(least, bounds.low), high=min(most, bounds.high))


def assumption(rare: float) -> str:
    """Return the sentence that accompanies answers which neglect rare outcomes."""
    return f"outcomes in under {rare * 100:g} % of the runs could have been missed"


def _largest_share(n: int, seen: int, error: float) -> float:
    """Return the largest share of an outcome for which the probability of seeing the outcome at most `seen` times in n
    runs is `error`.
    """
    from scipy.special import betaincinv

    return 1.0 if seen >= n else float(betaincinv(seen + 1, n - seen, 1 - error))


def mser5(series: Values) -> int | None:
    """Return how many values at the beginning of a time series belong to the warm-up, or None if no steady part was
    found.

    MSER-5 chooses the cut, in batches of five values, that minimises the squared standard error of the remaining
    values. A minimum in the second half means that the series had not settled.
    """
    batches = len(series) // 5
    if batches < 4:
        return None
    means = series[: batches * 5].reshape(batches, 5).mean(axis=1)
    from_here = np.arange(batches, 0, -1, dtype=np.float64)
    totals = np.cumsum(means[::-1])[::-1]
    squares = np.cumsum((means - means.mean())[::-1] ** 2)[::-1]
    centred = totals - from_here * means.mean()
    error = (squares - centred**2 / from_here) / from_here**2
    candidates = error[: batches - 2]  # The last batches are excluded, because they always seem steady.
    cut = int(np.argmin(candidates))
    return None if cut > batches // 2 else cut * 5


def grows(slopes: Values, alpha: float = 0.01) -> bool:
    """Return whether a quantity grows without end. `slopes` contains the relative_slope of each replication."""
    is_fast = len(slopes) >= ENOUGH_TO_BE_SURE and float(np.mean(slopes)) >= RUNS_AWAY
    return is_fast and t_test(slopes, side="greater") < alpha


def may_grow(slopes: Values) -> bool:
    """Return whether a quantity grows in each run as fast as grows() requires of the mean, but there are too few runs
    to be sure. A few short runs whose buffers are still filling show the same growth.
    """
    return len(slopes) >= 2 and float(np.min(slopes)) >= RUNS_AWAY and not grows(slopes)


def relative_slope(times: Values, levels: Values) -> float:
    """Return the growth of a straight line fitted to a series, over the length of the series. The growth is relative to
    the mean level, unless the mean is 0.
    """
    if len(times) < 3:
        return 0.0
    mean = float(np.mean(levels))
    if mean == 0:
        return 0.0
    # This is a least-squares fit, as in SciPy's linregress.
    of_times, together, _, _ = np.cov(times, levels, bias=True).flat
    return float(together / of_times) * float(times[-1] - times[0]) / mean


def survival_quantiles(values: Values, censored: Values, shares: Sequence[float]) -> list[float | None]:
    """Return the value within which each of these shares of the observations occurred (Kaplan-Meier). For a censored
    observation, only a lower bound is known.

    The result is None for a share that was never reached.
    """
    if not len(values):
        return [None] * len(shares)
    if len(censored):
        from scipy import stats

        curve = stats.ecdf(stats.CensoredData(uncensored=values, right=censored)).cdf
        quantiles, probabilities = curve.quantiles, curve.probabilities
    else:  # This does the same without scipy, whose import takes a quarter of a second.
        quantiles, counts = np.unique(values, return_counts=True)
        probabilities = np.cumsum(counts) / len(values)
    reached = np.searchsorted(probabilities, shares)
    return [float(quantiles[place]) if place < len(quantiles) else None for place in reached]
