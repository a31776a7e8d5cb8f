"""Compare a capacity search with a grid that makes at least ten times as many runs.

    python -m validation.capacity_grid [--out studies/capacity_grid] [--duration-s 30] [--rare 0.05] [--workers N]

Model     the search is `mobilenet capacity` with its default tolerance, resolution and error. It looks for the shortest
          interval between broadcasts on dynamic.yaml at which the mean of the runs' p95 of the delay is at most 1.3 s.
          Its runs are shortened from 400 s to 30 s. The grid is a study of all values of the search, with another seed.
          All values have the same number of replications, which is the smallest with which the grid makes at least
          `--times` as many runs as the search. Both are stored in `--out` and can be resumed. The two agree if no
          interval of the grid contradicts the search. At the value that holds, the 95 % t interval of the grid must not
          lie entirely above the limit plus the tolerance. At the value that fails, and at the next values on that side,
          it must not lie entirely below the limit minus the tolerance
Units     s
Source    ours: docs/guide/capacity.md
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import mobilenet
from mobilenet.lab.notebook.capacity import Capacity
from mobilenet.lab.studies.batch import Standing
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.spark import local_master
from mobilenet.lab.studies.statistics import RARE, Interval, t_interval
from mobilenet.lab.studies.study import run_study
from mobilenet.lab.studies.table_files import values_of_runs

SCENARIO = Path(__file__).parents[1] / "scenarios" / "dynamic.yaml"
KEY, METRIC = "workload.interval_s", "delivery_delay_p95_s"
ENDS, LIMIT, TOLERANCE = (2.0, 6.0), 1.3, 0.05
SEED_OF_GRID = 2
CONFIDENCE = 0.95
EVERY_S = 60.0  # time between two lines of progress


class Comparison(NamedTuple):
    """A search, and a grid over the same values."""

    search: Capacity
    grid: dict[float, Interval]  # value of the key -> mean of the metric, with its interval
    runs: int  # number of runs of the grid
    limit: float
    tolerance: float  # tolerance in the unit of the metric


def replications(search_runs: int, values: int, times: float) -> int:
    """Return how many replications at each value the grid needs to make at least `times` as many runs as the search."""
    return max(2, math.ceil(times * search_runs / values))


def compare(
    out: Path, duration_s: float, times: float, rare: float, workers: int | None, scenario: Path = SCENARIO
) -> Comparison:
    """Run the missing parts of the search and the grid, and compare both."""
    search = mobilenet.capacity(
        scenario, KEY, *ENDS, f"{METRIC} <= {LIMIT}", tolerance=TOLERANCE, rare=rare,
        overrides={"duration_s": duration_s}, out=out / "search", workers=workers, progress=ProgressLine(),
    )  # fmt: skip
    values = search.answer.question.values
    count = replications(search.runs, len(values), times)
    print(f"search: {search.runs} runs; grid: {len(values)} values, {count} runs at each", flush=True)
    study = Study.load(search.path / "study.yaml", replications=count, seed=SEED_OF_GRID)
    run_study(study, out / "grid", local_master(workers), ProgressLine())
    known = values_of_runs(out / "grid", [METRIC])[METRIC].dropna()
    grid = {float(value): t_interval(known[number].to_numpy(), CONFIDENCE) for number, value in enumerate(values)}
    return Comparison(search, grid, count * len(values), LIMIT, TOLERANCE * LIMIT)


def crossings(grid: dict[float, Interval], limit: float) -> list[tuple[float, float]]:
    """Return the pairs of adjacent values between which the mean crosses the limit."""
    pairs = pairwise(sorted(grid.items()))
    return [(a, b) for (a, one), (b, other) in pairs if (one.mean <= limit) is not (other.mean <= limit)]


def contradictions(one: Comparison) -> Iterator[str]:
    """Yield the claims of the search that the grid contradicts."""
    holds, fails = one.search.answer.holds_at, one.search.answer.fails_at
    if holds is None or fails is None:
        yield f"the search has no threshold: {one.search.verdict}"
        return
    is_smallest = holds > fails
    for value, interval in sorted(one.grid.items()):
        if (value >= holds if is_smallest else value <= holds) and interval.low > one.limit + one.tolerance:
            yield f"at {value:g} the search claims that it holds; the grid has {_interval_text(interval)}"
        if (value <= fails if is_smallest else value >= fails) and interval.high < one.limit - one.tolerance:
            yield f"at {value:g} the search claims that it fails; the grid has {_interval_text(interval)}"


def lines(one: Comparison) -> Iterator[str]:
    """Yield the results of the search and the grid, and whether they agree."""
    search = one.search
    yield from search.sentences()
    yield f"grid: {one.runs} runs, {one.runs / search.runs:.1f} times as many as the search"
    beside = [value for value in (search.answer.holds_at, search.answer.fails_at) if value is not None]
    yield f"{KEY:>20s}  {METRIC} ({CONFIDENCE:.0%} interval)"
    for value, interval in sorted(one.grid.items()):
        mark = "  <- search" if value in beside else ""
        yield f"{value:20g}  {_interval_text(interval)}{mark}"
    places = ", ".join(f"{a:g} and {b:g}" for a, b in crossings(one.grid, one.limit)) or "nowhere"
    yield f"the grid's mean crosses {one.limit:g} between {places}"
    wrong = list(contradictions(one))
    yield from wrong
    yield f"the answers {'do not agree' if wrong else 'agree'}, with a tolerance of ± {one.tolerance:.3g}"


def _interval_text(interval: Interval) -> str:
    return f"{interval.mean:.4f} ({interval.low:.4f} to {interval.high:.4f}), n = {interval.n}"


class ProgressLine:
    """Prints a line of progress from time to time."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, standing: Standing) -> None:
        if time.monotonic() - self._last > EVERY_S:
            self._last = time.monotonic()
            print(f"{standing.done} done, {standing.left} left {standing.note}", flush=True)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="A capacity search against a grid that is ten times as expensive.")
    parser.add_argument("--out", type=Path, default=Path("studies/capacity_grid"), help="directory for both")
    parser.add_argument("--duration-s", type=float, default=30.0, help="length of each run")
    parser.add_argument("--times", type=float, default=10.0, help="runs of the grid, relative to the search")
    parser.add_argument("--rare", type=float, default=RARE, help="as for `mobilenet capacity`")
    parser.add_argument("--workers", type=int, default=None, help="number of cores")
    arguments = parser.parse_args(words)
    one = compare(arguments.out, arguments.duration_s, arguments.times, arguments.rare, arguments.workers)
    for line in lines(one):
        print(line, flush=True)
    sys.exit(1 if any(True for _ in contradictions(one)) else 0)


if __name__ == "__main__":
    main()
