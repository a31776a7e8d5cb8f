"""Claims that are sentences of a paper: `mobilenet reproduce` checks each of them at all sizes that it covers.

Model     the runs are those of `mobilenet reproduce`, which are kept in OUT/PAPER-N and not made again. A sentence that
          holds only at some sizes does not hold
Errors    ScenarioError
Source    ours: docs/validation/vcube.md
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mobilenet.claims.answer import Answered, quantity, requirement
from mobilenet.claims.declaration import Statement
from mobilenet.claims.judge import Answer
from mobilenet.claims.questions import Question
from mobilenet.quoting import quoted

ANSWERS = {"hold": Answer.HOLDS, "fail": Answer.FAILS, "hold in part": Answer.FAILS, "not checked": Answer.UNDECIDED}


class PaperStatements:
    """The sentences of papers, checked once for each largest size."""

    def __init__(self, out: Path, workers: int | None) -> None:
        self._out, self._workers = out, workers
        self._found: dict[int, dict[str, dict[str, str]]] = {}

    def answer(self, question: Question, claim: Statement, say: Callable[[str], None]) -> Answered:
        """Run what is missing; `say` is called now and then, and may raise to stop."""
        from mobilenet.papers import reliable

        folder = self._out / f"{claim.paper}-{claim.largest}"
        if claim.largest not in self._found:
            _, statements = reliable.reproduce(folder, claim.largest, None, self._workers, say)
            self._found[claim.largest] = {one["id"]: one for one in statements}
        one = self._found[claim.largest][claim.id]
        command = f"mobilenet reproduce {claim.paper} --max-n {claim.largest} --out {quoted(folder)}"
        return Answered(
            question, ANSWERS[one["verdict"]], quantity(question), "", requirement(question), None, 0, command,
            one["answer"],
        )  # fmt: skip
