"""Determine which runs the open questions need next, and which questions the existing runs answer.

Model     Each question advances independently from one look (interim analysis) to the next, until it is answered or the
          next look needs more replications than the file allows. Its answer depends only on the runs of its own
          configurations, not on the order of the experiments or the number of workers.
Source    ours: docs/guide/claims.md
"""

from __future__ import annotations

from collections.abc import Iterable

from mobilenet.lab.studies.claims.declaration import Answer
from mobilenet.lab.studies.claims.judge import Common, Judgement, Runs, judge
from mobilenet.lab.studies.claims.questions import Cell, Question
from mobilenet.lab.studies.statistics import RARE, look

EXACT_RUNS = 2  # A deterministic experiment is run twice; the second run confirms that it is deterministic.


class Looks:
    """The questions of a claims file that are answered by runs, with the progress of each question."""

    def __init__(
        self, questions: Iterable[Question], error: float, most: int, rare: float = RARE, common: Common | None = None
    ) -> None:
        self._common = common
        self.questions = {question.name: question for question in questions if question.tests}
        self._error, self._most, self._rare = error, most, rare
        self._number = dict.fromkeys(self.questions, 0)
        self.judged: dict[str, Judgement] = {
            name: Judgement(Answer.UNDECIDED, is_final=False) for name in self.questions
        }

    @property
    def open(self) -> list[Question]:
        """The questions that still need runs, in the order of the file."""
        return [question for name, question in self.questions.items() if not self.judged[name].is_final]

    def _runs(self, question: Question) -> int:
        return EXACT_RUNS if question.is_exact else look(self._number[question.name])

    def replications(self) -> dict[Cell, int]:
        """Return the number of replications that the next looks need, for each configuration."""
        needs: dict[Cell, int] = {}
        for question in self.open:
            for cell in question.cells:
                needs[cell] = max(needs.get(cell, 0), self._runs(question))
        return needs

    def take(self, runs: Runs) -> None:
        """Judge each open question at all looks for which there are enough runs."""
        for question in self.open:
            self._take(question, runs)

    def _take(self, question: Question, runs: Runs) -> None:
        while True:
            n = self._runs(question)
            if min(len(runs.get(cell, ())) for cell in question.cells) < n:
                return
            own = {cell: runs[cell][:n] for cell in question.cells}
            outcome = judge(question, own, self._number[question.name], self._error, self._rare, self._common)
            self._number[question.name] += 1
            if not outcome.is_final and self._runs(question) > self._most:
                outcome = outcome._replace(
                    is_final=True, why=outcome.why or "all replications that the file allows have been used"
                )
            self.judged[question.name] = outcome
            if outcome.is_final:
                return

    def give_up(self, question: Question, why: str) -> None:
        """Leave a question undecided for the given reason, for example because runs failed."""
        self.judged[question.name] = self.judged[question.name]._replace(is_final=True, why=why)
