"""Check that intervals cover the true value as often as promised, in synthetic experiments with a known answer.

    python -m validation.statistics [--experiments 2000]

Model     each experiment has 10 replications and one 95 % interval, computed by the same code as in a study. A
          replication is one number: the mean of a simulated series. The series are independent normal values, AR(1)
          with coefficient 0.8, and waiting times of 500 customers in M/M/1 at rho = 0.5, 0.8 and 0.9. They start in
          the stationary distribution, so the mean is known exactly.
          A/A: two configurations with the same distribution on independent streams are compared pair by pair, once,
          and also again and again as pairs are added.
          Power: a difference of 5 %, with a standard deviation of 10 % and a correlation of 0.8 between the two
          configurations
Units     shares of experiments
Source    Law: Simulation Modeling and Analysis (2015), 9.4; ours: docs/guide/studies.md
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mobilenet.engine.random_streams import generator
from mobilenet.lab.studies.claims.declaration import Answer, Difference, Place
from mobilenet.lab.studies.claims.judge import judge
from mobilenet.lab.studies.claims.questions import Cell, Inequality, Question
from mobilenet.lab.studies.statistics import compare_means, look, t_interval

Values = NDArray[np.float64]
REPLICATIONS = 10
CUSTOMERS = 500
PLACE = Place(experiment="aa")


def normal(stream: np.random.Generator, count: int) -> tuple[Values, float]:
    return stream.normal(5.0, 1.0, (count, REPLICATIONS)), 5.0


def autoregressive(stream: np.random.Generator, count: int) -> tuple[Values, float]:
    shape = (count, REPLICATIONS)
    value = stream.normal(0, 1 / np.sqrt(1 - 0.8**2), shape)
    total = np.zeros(shape)
    for _ in range(200):
        total += value
        value = 0.8 * value + stream.normal(0, 1, shape)
    return 5.0 + total / 200, 5.0


def queue(rho: float) -> Callable[[np.random.Generator, int], tuple[Values, float]]:
    def waiting(stream: np.random.Generator, count: int) -> tuple[Values, float]:
        """Draw waiting times using Lindley's recursion with service rate 1."""
        shape = (count, REPLICATIONS)
        wait = np.where(stream.random(shape) < rho, stream.exponential(1 / (1 - rho), shape), 0.0)
        total = np.zeros(shape)
        for _ in range(CUSTOMERS):
            total += wait
            wait = np.maximum(0.0, wait + stream.exponential(1.0, shape) - stream.exponential(1 / rho, shape))
        return total / CUSTOMERS, rho / (1 - rho)

    return waiting


def coverage(series: Callable[[np.random.Generator, int], tuple[Values, float]], experiments: int, name: str) -> float:
    values, truth = series(generator(1, "coverage", name), experiments)
    intervals = [t_interval(row) for row in values]
    return float(np.mean([i.low <= truth <= i.high for i in intervals]))


def sequential_coverage(experiments: int) -> tuple[float, float]:
    """Measure the coverage of a sequential design: rounds of 5 replications, from 10 to 40, until the half width is 15
    % of the mean.
    """
    stream = generator(1, "coverage", "sequential")
    values, truth = queue(0.5)(stream, experiments * 4)
    rows = values.reshape(experiments, 4 * REPLICATIONS)
    hits, used = 0, 0
    for row in rows:
        n = 10
        while (interval := t_interval(row[:n])).half_width > 0.15 * interval.mean and n < 40:
            n += 5
        hits += interval.low <= truth <= interval.high
        used += n
    return hits / experiments, used / experiments


def false_alarms(experiments: int) -> float:
    stream = generator(1, "alarms")
    pairs = np.exp(stream.normal(0, 0.1, (experiments, 2, REPLICATIONS)))
    return float(np.mean([compare_means(a, b).p < 0.05 for a, b in pairs]))


def alarms_of_looks(experiments: int) -> tuple[float, float]:
    """Return two shares of A/A comparisons that raise an alarm at any look: with the p value at 10, 15, ... 100 pairs,
    and with a claim that the difference is 0, at 10, 14, 20, ... 219 pairs.
    """
    looks = range(next(number for number in range(100) if look(number) > 200) + 1)
    a, b = Cell("aa", 0), Cell("aa", 1)
    tests = tuple(Inequality(a, b, False, at_most, 0.0, 0.0) for at_most in (True, False))
    claim = Difference(relation="difference", metric="m", value=PLACE, to=PLACE, at_least=0.0, at_most=0.0, margin=1e-9)
    question = Question("aa", claim, "m", tests)
    alarms = claimed = 0
    for number in range(experiments):
        one, other = np.exp(generator(1, "alarms of looks", str(number)).normal(0, 0.1, (2, look(looks[-1]))))
        alarms += any(compare_means(one[:n], other[:n]).p < 0.05 for n in range(10, 101, 5))
        runs = {a: [{"m": float(value)} for value in one], b: [{"m": float(value)} for value in other]}
        claimed += any(
            judge(question, {cell: own[: look(n)] for cell, own in runs.items()}, n, 0.05).answer is Answer.FAILS
            for n in looks
        )
    return alarms / experiments, claimed / experiments


def replications_needed(experiments: int, paired: bool) -> float:
    """Return the smallest number of replications that detects the planted difference in 80 % of the experiments."""
    from scipy import stats

    stream = generator(1, "power")
    common = stream.normal(0, np.sqrt(0.8), (2, experiments, 200))
    if paired:
        common[1] = common[0]  # both configurations have the same worlds
    own = stream.normal(0, np.sqrt(0.2), (2, experiments, 200))
    a, b = 1.05 + 0.1 * (common[0] + own[0]), 1.0 + 0.1 * (common[1] + own[1])
    for n in range(3, 201):
        if paired:
            power = np.mean([compare_means(x[:n], y[:n]).p < 0.05 for x, y in zip(a[:500], b[:500], strict=True)])
        else:
            power = np.mean(stats.ttest_ind(a[:, :n], b[:, :n], axis=1, equal_var=False).pvalue < 0.05)
        if power >= 0.8:
            return n
    return float("inf")


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--experiments", type=int, default=2000)
    count = parser.parse_args().experiments
    failed = False

    def line(what: str, value: float, low: float | None = None, high: float | None = None) -> None:
        nonlocal failed
        bad = low is not None and high is not None and not low <= value <= high
        failed |= bad
        verdict = "reported" if low is None else f"{low:g} to {high:g}: {'MISS' if bad else 'met'}"
        print(f"{what:66} {value:8.4f}  {verdict}", flush=True)

    line("coverage, normal", coverage(normal, count, "normal"), 0.935, 0.965)
    line("coverage, AR(1) with 0.8", coverage(autoregressive, count, "ar1"), 0.935, 0.965)
    line("coverage, M/M/1 at 0.5, 500 customers", coverage(queue(0.5), count, "mm1-0.5"), 0.935, 0.965)
    line("coverage, M/M/1 at 0.8 (skewed: falls short)", coverage(queue(0.8), count, "mm1-0.8"))
    line("coverage, M/M/1 at 0.9 (skewed: falls short)", coverage(queue(0.9), count, "mm1-0.9"))
    covered, used = sequential_coverage(count)
    line(f"coverage, sequential stopping, M/M/1 at 0.5 ({used:.1f} replications on average)", covered)
    line("A/A comparisons that alarm", false_alarms(count), 0.035, 0.065)
    alarms, claimed = alarms_of_looks(min(count, 1000))
    line("A/A comparisons that alarm at any of 19 looks at the p value", alarms)
    line("A/A comparisons that alarm at any look of a claim", claimed, 0, 0.05)
    paired, unpaired = replications_needed(count, True), replications_needed(count, False)
    line("replications to find 5 %, correlation 0.8, unpaired", unpaired)
    line("replications to find 5 %, correlation 0.8, paired", paired, 0, unpaired / 2)
    print("Next: the figures stand in docs/guide/studies.md" if not failed else "a promise was missed")
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
