"""Measure how often `mobilenet claims` is wrong, using claims files over numbers drawn from known distributions.

    python -m validation.claims [--files 200]

Model     each file has 40 claims, 20 true and 20 false, with all relations that compare means. It is read and answered
          as by the command, but the runs are numbers drawn from laws with known means. The truth is 1.02 to 3 margins
          away from the bound, so no claim lies within its margin. Claims with the same law share their random numbers,
          as paired worlds do. The configurations within one claim do not share them. A file is wrong if any of its
          answers is wrong
Units     files, claims, runs
Source    ours: docs/guide/claims.md
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from mobilenet.engine.random_streams import generator
from mobilenet.lab.package_files import SCENARIOS
from mobilenet.lab.studies.claims.answer import AnsweredClaim, answer_to
from mobilenet.lab.studies.claims.declaration import Answer, Claims
from mobilenet.lab.studies.claims.interim_looks import Looks
from mobilenet.lab.studies.claims.questions import Cell, Plan, questions
from mobilenet.scenario.yaml_reader import parse
from validation.capacity import Values, autoregressive, lognormal, most_wrong, normal
from validation.real_runs import relative

METRIC = "delivery_delay_mean_s"
DISTANCES = (1.02, 1.5, 2.0, 3.0)  # distances of the true value from the bound, in margins
RELATIONS = ("within", "near", "ratio", "difference", "below", "grows", "falls")
COUNT = 40
REPLICATIONS = 4000


class Law(NamedTuple):
    draw: Callable[[np.random.Generator, int], Values]  # draws numbers with mean 1
    margin: float


def seldom(stream: np.random.Generator, runs: int) -> Values:
    """Draw numbers that are equal in about nine of ten runs."""
    return 0.9 + (stream.random(runs) < 0.1) * 1.0


def cluster(stream: np.random.Generator, runs: int) -> Values:
    """Draw numbers that are nearly equal in about nine of ten runs."""
    return seldom(stream, runs) + stream.uniform(-0.001, 0.001, runs)


LAWS = {
    "normal": Law(normal(0.2), 0.05),
    "skewed": Law(lognormal(0.5), 0.1),
    "autocorrelated": Law(autoregressive, 0.05),
    "seldom": Law(seldom, 0.1),
    "cluster": Law(cluster, 0.1),
    "real": Law(relative, 0.25),
}


class Case(NamedTuple):
    """A claim, with the means of the configurations that it compares."""

    law: str
    is_true: bool
    keys: dict[str, Any]
    means: tuple[float, ...]


def cases() -> list[Case]:
    """Return all claims of the file. Each true claim is followed by a false one of the same kind."""
    all_cases = []
    for number in range(COUNT // 2):
        law = tuple(LAWS)[number % len(LAWS)]
        relation, distance = RELATIONS[number % len(RELATIONS)], DISTANCES[number // len(LAWS) % len(DISTANCES)]
        is_upper = number // len(LAWS) % 2 == 0
        for is_true in (True, False):
            keys, means = _case(relation, LAWS[law].margin, -distance if is_true else distance, is_upper)
            all_cases.append(Case(law, is_true, {"relation": relation, **keys}, means))
    return all_cases


def _case(relation: str, margin: float, beyond: float, is_upper: bool) -> tuple[dict[str, Any], tuple[float, ...]]:
    """Return a claim whose true value lies `beyond` margins outside the bound, or inside it if `beyond` is negative."""
    off = beyond * margin * (1 if is_upper else -1)
    end = "at_most" if is_upper else "at_least"
    if relation == "within":
        return {end: 1.0, "margin": margin}, (1 + off,)
    if relation == "near":  # The bounds, 1 ± 0.4, are so far apart that only one of them matters.
        return {"number": 1.0, "percent": 40, "margin": margin}, ((1.4 if is_upper else 0.6) + off,)
    if relation == "ratio":
        return {end: 1.0, "margin": margin}, (1 + off, 1.0)
    if relation == "difference":
        return {end: 0.5, "margin": margin}, (1.5 + off, 1.0)
    ratio = 1 + beyond * margin
    if relation == "below":
        return {"margin": margin}, (ratio, 1.0)
    first, last = (ratio, 1.0) if relation == "grows" else (1.0, ratio)
    return {"margin": margin}, (first, last)


def document() -> dict[str, Any]:
    """Return the claims file. Each configuration is a level of a factor. The level is the position in the table of
    means.
    """
    levels: dict[str, int] = Counter()
    claims: dict[str, Any] = {}
    experiments: dict[str, Any] = {}
    for number, case in enumerate(cases()):
        relation = case.keys["relation"]
        keys = dict(case.keys) | {"metric": METRIC}
        if relation in ("grows", "falls"):  # each of these claims needs its own factor
            name = f"{case.law}-{number}"
            experiments[name] = {"scenario": "first.yaml", "factors": {"hosts.count": [1, 2]}}
            keys |= {"value": {"experiment": name}, "along": "hosts.count"}
        else:
            for key in ("value", {"below": "than"}.get(relation, "to"))[: len(case.means)]:
                levels[case.law] += 1
                keys[key] = {"experiment": case.law, "at": {"hosts.count": levels[case.law]}}
        claims[f"claim-{number}"] = keys
    for law, count in levels.items():
        experiments[law] = {"scenario": "first.yaml", "factors": {"hosts.count": list(range(1, count + 1))}}
    return {"replications": REPLICATIONS, "experiments": experiments, "claims": claims}


@cache
def plan_and_laws() -> tuple[Plan, dict[Cell, tuple[str, int, float]]]:
    """Return the plan and, for each configuration, its law, its number within the claim, and its mean."""
    import json

    root = parse(json.dumps(document()).encode(), "claims.yaml")
    claims = Claims.of_nodes(root, SCENARIOS)
    studies = {name: claims.study(name) for name in claims.experiments}
    plan = Plan(claims, studies, tuple(questions(claims, studies)))
    laws = {}
    for question, case in zip(plan.questions, cases(), strict=True):
        order = _in_order(question.cells, case.keys["relation"])
        for place, (cell, mean) in enumerate(zip(order, case.means, strict=True)):
            laws[cell] = (case.law, place, mean)
    return plan, laws


def _in_order(cells: Sequence[Cell], relation: str) -> list[Cell]:
    """Return the cells in the order of the claim's means. For `grows` and `falls`, this is the order of the levels."""
    return sorted(cells, key=lambda cell: cell.configuration) if relation in ("grows", "falls") else list(cells)


class Draws:
    """The random numbers of one repetition."""

    def __init__(self, repetition: int, laws: dict[Cell, tuple[str, int, float]]) -> None:
        self._repetition, self._laws = repetition, laws
        self._unit: dict[tuple[str, int], Values] = {}

    def rows(self, cell: Cell, count: int) -> list[dict[str, float]]:
        law, place, mean = self._laws[cell]
        if (law, place) not in self._unit:
            stream = generator(1, f"claims {law}", f"{self._repetition} {place}")
            self._unit[law, place] = LAWS[law].draw(stream, REPLICATIONS)
        return [{METRIC: float(value)} for value in mean * self._unit[law, place][:count]]


def answers(repetition: int, error: float | None = None) -> list[AnsweredClaim]:
    """Answer the file with the numbers of a repetition. By default, each claim has the error that the plan assigns to
    it.
    """
    plan, laws = plan_and_laws()
    looks = Looks(plan.questions, plan.error if error is None else error, plan.claims.replications, plan.claims.rare)
    drawn = Draws(repetition, laws)
    while counts := looks.replications():
        looks.take({cell: drawn.rows(cell, count) for cell, count in counts.items()})
    return [answer_to(question, looks.judged[question.name], "", False) for question in plan.questions]


class Count(NamedTuple):
    files: int
    wrong_files: int
    decided: int
    claims: int
    runs: float  # mean number of runs per claim


def repeat(files: int, error: float | None = None) -> Count:
    """Evaluate the claims `files` times with different random numbers. Count decided and wrong answers."""
    wrong = decided = runs = 0
    truths = [case.is_true for case in cases()]
    for repetition in range(files):
        all_answers = answers(repetition, error)
        closed = [(one.answer is Answer.HOLDS, t) for one, t in zip(all_answers, truths, strict=True)
                  if one.answer is not Answer.UNDECIDED]  # fmt: skip
        decided += len(closed)
        runs += sum(one.replications for one in all_answers)
        wrong += any(holds is not is_true for holds, is_true in closed)
    return Count(files, wrong, decided, files * COUNT, runs / (files * COUNT))


def main() -> None:
    parser = argparse.ArgumentParser(description="Claims files over numbers from known laws.")
    parser.add_argument("--files", type=int, default=200)
    result = repeat(parser.parse_args().files)
    print(
        f"{result.files} files of {COUNT} claims: {result.wrong_files} with a wrong answer (allowed:"
        f" {most_wrong(result.files)}); {result.decided} of {result.claims} claims decided;"
        f" {result.runs:.0f} replications on average"
    )


if __name__ == "__main__":
    main()
