"""Measure how often `mobilenet capacity` is wrong, using searches over numbers drawn from known distributions.

    python -m validation.capacity [--searches 1000] [--law NAME]

Model     each search is that of the command, but its runs are numbers drawn from a law whose mean is known at every
          value of the key. Replication r draws from the same stream at all values, as paired worlds do. A search is
          wrong in three cases: it claims that a value holds although the mean is beyond the limit by more than the
          tolerance, it claims that a value fails although the mean is within the limit by more than the tolerance, or
          it claims that a monotone law is not monotone.
          The threshold is drawn for each search. The means of `smooth` laws form a straight line. The means of `worst`
          laws jump at the threshold from one edge of the tolerance to the other, so every value is as hard as a value
          outside of the tolerance can be.
          queue: waiting times of 500 customers in an M/M/1 queue that starts in the stationary distribution.
          aloha: slotted ALOHA with n hosts that transmit with probability p, 2 000 slots.
          ratio, delay: on one side of the limit, all or nearly all runs give nearly the same value. A share of the
          runs is far on the other side.
          real runs: draws from real_runs.csv.
          fixed: bisection with the same number of runs at each value. The number is large enough for the same error
          according to the normal distribution, which requires that the largest standard deviation is known
Units     shares of searches; runs
Source    Kleinrock, Queueing Systems 1 (1975) for M/M/1; Abramson (1977) for slotted ALOHA; ours:
          docs/guide/capacity.md
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from mobilenet.engine.random_streams import generator
from mobilenet.lab.studies.capacity.feasibility import Judge, ValueJudgement
from mobilenet.lab.studies.capacity.requirements import Requirement
from mobilenet.lab.studies.capacity.search import Step, Verdict, claims, first_values, next_step
from validation import real_runs

Values = NDArray[np.float64]
ERROR = 0.05
BUDGET = 4000
LAST = 64  # The values are numbered from 0 to 64.
BLOCK = 60  # number of runs that are drawn at once


@dataclass(frozen=True)
class Law:
    """A law from which runs are drawn. `mean` and `draw` take a value and the threshold of the search."""

    mean: Callable[[int, float], float]
    draw: Callable[[np.random.Generator, int, float, int], Values]  # draws the runs at one value
    deviation: float  # largest standard deviation of runs near the limit, for the fixed design
    requirement: Requirement
    last: int = LAST
    budget: int = BUDGET
    # Distance of the means from the limit, for the fixed design; the default is the tolerance.
    distance: float | None = None


def smooth(value: int, threshold: float) -> float:
    """Return the mean on a straight line that starts at 0.5, reaches 1 at the threshold, and continues beyond."""
    return 0.5 + 0.5 * value / threshold


def worst(value: int, threshold: float) -> float:
    return 1.051 if value >= threshold else 0.949


def normal(spread: float) -> Callable[[np.random.Generator, int], Values]:
    return lambda stream, runs: stream.normal(1.0, spread, runs)


def lognormal(sigma: float) -> Callable[[np.random.Generator, int], Values]:
    return lambda stream, runs: stream.lognormal(-(sigma**2) / 2, sigma, runs)


def autoregressive(stream: np.random.Generator, runs: int) -> Values:
    """Draw means over 200 steps of an AR(1) process with coefficient 0.8."""
    value = stream.normal(0, 1 / math.sqrt(1 - 0.8**2), runs)
    total = np.zeros(runs)
    for _ in range(200):
        total += value
        value = 0.8 * value + stream.normal(0, 1, runs)
    return 1.0 + 0.5 * total / 200


def _scale(
    mean: Callable[[int, float], float],
    unit: Callable[[np.random.Generator, int], Values],
    deviation: float,
    tolerance: float = 0.05,
    budget: int = BUDGET,
) -> Law:
    """Return a law whose runs are its mean multiplied by numbers with mean 1."""

    def draw(stream: np.random.Generator, value: int, threshold: float, runs: int) -> Values:
        return mean(value, threshold) * unit(stream, runs)

    return Law(mean, draw, deviation, Requirement("delivery_delay_mean_s", True, 1.0, tolerance), budget=budget)


def _rate(value: int) -> float:
    return 0.3 + 0.6 * value / LAST


def _waiting(value: int, threshold: float) -> float:
    return _rate(value) / (1 - _rate(value))


def _queue(stream: np.random.Generator, value: int, threshold: float, runs: int) -> Values:
    """Draw waiting times using Lindley's recursion with service rate 1."""
    rho = _rate(value)
    wait = np.where(stream.random(runs) < rho, stream.exponential(1 / (1 - rho), runs), 0.0)
    total = np.zeros(runs)
    for _ in range(500):
        total += wait
        wait = np.maximum(0.0, wait + stream.exponential(1.0, runs) - stream.exponential(1.0, runs) / rho)
    return total / 500


PROBABILITY = 0.05  # probability that a host transmits in a slot


def _undisturbed_share(value: int, threshold: float) -> float:
    """Return the share of transmissions that are alone in their slot, if value + 1 hosts transmit."""
    return (1 - PROBABILITY) ** value


def _aloha(stream: np.random.Generator, value: int, threshold: float, runs: int) -> Values:
    sent = stream.binomial(value + 1, PROBABILITY, (runs, 2_000))
    return np.sum(sent == 1, axis=1) / np.maximum(1, np.sum(sent, axis=1))


def _seldom(share: float, jitter: float = 0.0) -> Law:
    """Return a law of a delivery ratio that is 1 or slightly less, except in a fraction `share` of the runs. At the
    threshold, its mean jumps across the limit, and is beyond the tolerance on both sides.
    """

    def mean(value: int, threshold: float) -> float:
        return 0.9498 if value >= threshold else 0.9902

    def draw(stream: np.random.Generator, value: int, threshold: float, runs: int) -> Values:
        lost = (1 - mean(value, threshold) - (1 - share) * jitter / 2) / share
        return 1 - np.where(stream.random(runs) < share, lost, stream.uniform(0, jitter, runs))

    deviation = 0.0502 / share * math.sqrt(share * (1 - share))
    return Law(mean, draw, deviation, Requirement("delivery_ratio", False, 0.97, 0.02), budget=12_000)


def _long(share: float) -> Law:
    """Return a law of a delay that is about 0.5 s, but much longer in a fraction `share` of the runs. Its mean jumps at
    the threshold, like that of `_seldom`.
    """

    def mean(value: int, threshold: float) -> float:
        return 1.202 if value >= threshold else 0.798

    def draw(stream: np.random.Generator, value: int, threshold: float, runs: int) -> Values:
        long = (mean(value, threshold) - (1 - share) * 0.5) / share
        return np.where(stream.random(runs) < share, long, stream.uniform(0.45, 0.55, runs))

    deviation = (1.202 - 0.5) / share * math.sqrt(share * (1 - share))
    return Law(mean, draw, deviation, Requirement("delivery_delay_mean_s", True, 1.0, 0.2), budget=12_000)


def _real(value: int, threshold: float) -> float:
    return float(np.mean(real_runs.values()))


LAWS = {
    "normal, smooth": _scale(smooth, normal(0.2), 0.2),
    "normal, worst": _scale(worst, normal(0.2), 0.2),
    "skewed (lognormal 0.5), smooth": _scale(smooth, lognormal(0.5), 0.53, 0.1),
    "skewed (lognormal 0.5), worst": _scale(
        lambda value, threshold: 1.101 if value >= threshold else 0.899, lognormal(0.5), 0.58, 0.1
    ),
    "very skewed (exponential), smooth": _scale(
        smooth, lambda stream, runs: stream.exponential(1.0, runs), 1.0, 0.2
    ),
    "very skewed (exponential), worst": _scale(
        lambda value, threshold: 1.201 if value >= threshold else 0.799,
        lambda stream, runs: stream.exponential(1.0, runs), 1.2, 0.2,
    ),
    "autocorrelated (AR(1), 0.8), smooth": _scale(smooth, autoregressive, 0.18),
    "queue (M/M/1)": Law(_waiting, _queue, 0.85, Requirement("delivery_delay_mean_s", True, 2.0, 0.1)),
    "ratio of 1 but for 6 %": _seldom(0.06),
    "ratio of 1 but for 10 %": _seldom(0.1),
    "ratio of 1 but for 20 %": _seldom(0.2),
    "ratio of nearly 1 but for 6 %": _seldom(0.06, 0.0002),
    "ratio of nearly 1 but for 10 %": _seldom(0.1, 0.0002),
    "ratio of nearly 1 but for 20 %": _seldom(0.2, 0.0002),
    "delay of 0.5 s but for 7 %": _long(0.07),
    "delay of 0.5 s but for 10 %": _long(0.1),
    "real runs, worst": _scale(
        lambda value, threshold: 1.301 if value >= threshold else 0.699, real_runs.relative, 2.7, 0.3, 12_000
    ),
    "real runs, the same at all values": Law(
        _real, lambda stream, value, threshold, runs: real_runs.draw(stream, runs), 0.175,
        Requirement(real_runs.METRIC, True, 0.05, 0.0025), budget=12_000, distance=0.034,
    ),
    "aloha (slotted)": Law(_undisturbed_share, _aloha, 0.015, Requirement("delivery_ratio", False, 0.5, 0.025)),
}  # fmt: skip


class Runs:
    """The runs of one search, which are drawn on demand."""

    def __init__(self, law: Law, name: str, number: int, threshold: float) -> None:
        self._law, self._key, self._threshold = law, (name, str(number)), threshold
        self._rows: dict[int, list[dict[str, float]]] = {}

    def of(self, value: int, runs: int) -> list[dict[str, float]]:
        rows = self._rows.setdefault(value, [])
        while len(rows) < runs:  # all values draw their blocks from the same stream, so they are paired
            stream = generator(1, f"{self._key[0]} {self._key[1]}", str(len(rows)))
            drawn = self._law.draw(stream, value, self._threshold, BLOCK)
            rows += [{self._law.requirement.metric: float(one)} for one in drawn]
        return rows[:runs]


def search(law: Law, name: str, number: int) -> tuple[Step, int, float]:
    """Return the state in which search `number` ended, the number of its runs, and its threshold."""
    threshold = float(generator(1, f"threshold {name}", str(number)).uniform(0.1, 0.9)) * law.last
    runs, judge = Runs(law, name, number, threshold), Judge([law.requirement], ERROR / claims(law.last))
    targets: dict[int, int] = {}
    judged: dict[int, ValueJudgement] = {}
    while True:
        step = next_step(law.last, judged)
        total = sum((targets | step.run_counts).values())
        if not step.run_counts or total > law.budget:
            return step, sum(targets.values()), threshold
        targets |= step.run_counts
        for value in step.run_counts:
            judged[value] = judge.judge(runs.of(value, targets[value]), judged.get(value))


def is_wrong(law: Law, step: Step, threshold: float) -> bool:
    """Return whether a claim is wrong by more than the tolerance. This includes claims that follow from
    monotonicity.
    """
    means = [law.requirement.lacks(law.mean(value, threshold)) for value in range(law.last + 1)]
    rising = means[-1] > means[0]
    tolerance = law.requirement.tolerance
    if step.verdict is Verdict.EVERYWHERE:
        return max(means) > tolerance
    if step.verdict is Verdict.NOWHERE:
        return min(means) < -tolerance
    if step.verdict in (Verdict.LARGEST, Verdict.SMALLEST):
        assert step.holds_at is not None and step.fails_at is not None
        is_other = (step.verdict is Verdict.LARGEST) is not rising
        return is_other or means[step.holds_at] > tolerance or means[step.fails_at] < -tolerance
    return step.verdict is Verdict.NOT_MONOTONE


def fixed_runs(law: Law) -> int:
    """Return how many runs a bisection with the same number of runs at each value needs to achieve the same error."""
    values = len(first_values(law.last)) + math.ceil(math.log2(law.last / 4))
    quantile = NormalDist().inv_cdf(1 - ERROR / claims(law.last))
    return values * math.ceil((quantile * law.deviation / (law.distance or law.requirement.tolerance)) ** 2)


def experiments(name: str, searches: int) -> tuple[Counter[str], float]:
    """Count wrong, undecided and correct searches, and compute the mean number of runs."""
    law, counts, runs = LAWS[name], Counter[str](), 0
    for number in range(searches):
        step, used, threshold = search(law, name, number)
        runs += used
        wrong = is_wrong(law, step, threshold)
        counts["wrong" if wrong else "undecided" if step.verdict is Verdict.UNDECIDED else "right"] += 1
    return counts, runs / searches


def most_wrong(searches: int, confidence: float = 0.99) -> int:
    """Return the number of wrong results that is exceeded with a probability of at most 1 % if the procedure has the
    stated error.
    """
    total, wrong = 0.0, -1
    while total < confidence:
        wrong += 1
        total += math.comb(searches, wrong) * ERROR**wrong * (1 - ERROR) ** (searches - wrong)
    return wrong


def lines(searches: int, law: str | None) -> Iterator[str]:
    yield f"{searches} searches for each law; allowed: {most_wrong(searches)} wrong, {searches // 10} undecided"
    yield f"{'law':38s} {'wrong':>6s} {'undecided':>10s} {'runs':>7s} {'fixed design':>13s}"
    for name in LAWS:
        if law is None or law in name:
            counts, runs = experiments(name, searches)
            fixed = fixed_runs(LAWS[name])
            yield f"{name:38s} {counts['wrong']:6d} {counts['undecided']:10d} {runs:7.0f} {fixed:13d}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Searches over numbers from known laws.")
    parser.add_argument("--searches", type=int, default=1000)
    parser.add_argument("--law", default=None, help="only laws whose name contains this")
    arguments = parser.parse_args()
    for line in lines(arguments.searches, arguments.law):
        print(line, flush=True)


if __name__ == "__main__":
    main()
