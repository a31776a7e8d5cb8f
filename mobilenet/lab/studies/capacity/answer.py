"""The result of a capacity search, for reports, tables and figures.

Shapes    `points` has one entry for each value that was run, in ascending order. The table has one row for each point
          and requirement.
Units     Values have the unit of the key; means and limits have the unit of their metric.
Source    ours: docs/guide/capacity.md
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from mobilenet.lab.studies.capacity.feasibility import State, ValueJudgement
from mobilenet.lab.studies.capacity.requirements import Requirement
from mobilenet.lab.studies.capacity.search import Verdict
from mobilenet.lab.studies.statistics import RARE
from mobilenet.metrics.registry import Vocabulary

Number = float | int


def format_value(value: Number | None) -> str:
    """Return a value of the key with all its digits, as in a command."""
    return "–" if value is None else f"{value:.12g}"


class SearchQuestion(NamedTuple):
    """The parts of a capacity search's question that are needed to present the result."""

    key: str
    values: tuple[Number, ...]  # values of the key, in ascending order
    requirements: tuple[Requirement, ...]
    error: float
    budget: int
    seed: int
    words: Vocabulary
    rare: float = RARE


@dataclass(frozen=True)
class SearchResult:
    """The result of a search. `holds_at` and `fails_at` are the values on the two sides of the threshold, or None if
    they were not found.
    """

    question: SearchQuestion
    verdict: Verdict
    holds_at: Number | None
    fails_at: Number | None
    points: dict[Number, ValueJudgement]
    runs: int
    # True also if the time limit was reached. The budget is then the number of completed runs.
    is_over_budget: bool = False
    failed: int = 0  # number of runs that failed

    @property
    def value(self) -> Number | None:
        """The largest or smallest value at which all requirements hold, or None if the search did not find one."""
        return self.holds_at if self.verdict in (Verdict.LARGEST, Verdict.SMALLEST) else None

    @property
    def interval(self) -> tuple[Number, Number] | None:
        """The two values between which the threshold lies, in ascending order, or None if either value was not
        found.
        """
        if self.holds_at is None or self.fails_at is None:
            return None
        return min(self.holds_at, self.fails_at), max(self.holds_at, self.fails_at)

    @property
    def is_undecided(self) -> bool:
        return self.verdict is Verdict.UNDECIDED

    @property
    def open_points(self) -> list[Number]:
        """The values that must still be decided before the search has an answer."""
        judged = {value: one.state for value, one in self.points.items()}
        inside = self.interval or (self.question.values[0], self.question.values[-1])
        return [value for value, state in judged.items() if state is State.OPEN and inside[0] <= value <= inside[1]]

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of the table capacity.csv."""
        return [
            {
                self.question.key: value,
                "requirement": str(estimate.requirement),
                "metric": estimate.requirement.metric,
                "limit": estimate.requirement.limit,
                "tolerance": estimate.requirement.tolerance,
                "n": estimate.n,
                "infinite_runs": estimate.infinite,
                "mean": getattr(estimate.bounds, "mean", None),
                "low": getattr(estimate.bounds, "low", None),
                "high": getattr(estimate.bounds, "high", None),
                "state": judged.of(estimate)[0].value,
                "all_requirements": judged.state.value,
                "backlog": "runs away" if judged.runs_away else "",
                "delivery_ratio": judged.delivery_ratio,
                "broadcast_ratio": judged.broadcast_ratio,
            }
            for value, judged in self.points.items()
            for estimate in judged.estimates
        ]

    def json(self) -> dict[str, Any]:
        """Return the content of capacity.json. Infinite numbers are written as strings, because JSON cannot represent
        them.
        """
        return {
            "vary": self.question.key,
            "from": self.question.values[0],
            "to": self.question.values[-1],
            "requirements": [str(one) for one in self.question.requirements],
            "tolerances": [one.tolerance for one in self.question.requirements],
            "error": self.question.error,
            "rare": self.question.rare,
            "verdict": self.verdict.value,
            "value": self.value,
            "interval": list(self.interval) if self.interval is not None else None,
            "holds_at": self.holds_at,
            "fails_at": self.fails_at,
            "runs": self.runs,
            "budget": self.question.budget,
            "points": [{name: _plain(value) for name, value in row.items()} for row in self.rows()],
        }


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, float) and value in (float("inf"), float("-inf")) else value
