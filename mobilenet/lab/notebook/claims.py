"""Evaluate claims files from Python: equivalent to `mobilenet claims`, with the answers as a pandas frame.

    claims = mobilenet.claims("claims.yaml")
    claims["faster"], claims.answers, claims.unexpected

Model     The call and the command use the same directory. Another call with this directory resumes the work.
Shapes    `answers` has one row for each claim, with the columns of claims.csv.
Errors    ScenarioError for an invalid file. StudyError if the directory cannot be used, or if Spark fails.
Source    ours: docs/guide/claims.md
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from mobilenet.lab.notebook.studies import StudyFrames
from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.batch import Standing
from mobilenet.lab.studies.claims import evaluation
from mobilenet.lab.studies.claims.answer import Outcome
from mobilenet.lab.studies.claims.declaration import Claims
from mobilenet.lab.studies.claims.questions import plan
from mobilenet.lab.studies.claims.words import closing_lines, sentence, summary
from mobilenet.lab.studies.own_process import chosen_spark, on_spark
from mobilenet.lab.studies.spark import Spark
from mobilenet.quoting import spell_out, unknown

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession


class ClaimAnswers:
    """The answers to the claims of a file, and the studies on which they are based."""

    def __init__(self, outcome: Outcome) -> None:
        self.path = outcome.path
        self.outcome = outcome

    def __getitem__(self, claim: str) -> str:
        """Return the answer to a claim: `holds`, `does not hold` or `undecided`."""
        answers = {one.question.name: one.answer.value for one in self.outcome.answers}
        if claim not in answers:
            raise KeyError(unknown("claim", claim, list(answers)))
        return answers[claim]

    @cached_property
    def answers(self) -> pd.DataFrame:
        """The answers as a table with the columns answer, value, low, high, required, replications, command, ..."""
        import pandas as pd

        return pd.DataFrame(self.outcome.rows())

    @property
    def unexpected(self) -> list[str]:
        """The names of the claims whose answer differs from the one expected in the file."""
        return [one.question.name for one in self.outcome.unexpected]

    @property
    def left(self) -> list[str]:
        """The names of the claims that were not evaluated within the time limit of `quick`."""
        return [one.question.name for one in self.outcome.left]

    @property
    def failed(self) -> tuple[str, ...]:
        """The failed runs, with the reasons. Another call tries these runs again."""
        return self.outcome.failed

    @property
    def runs(self) -> int:
        """The number of runs on which the answers are based."""
        return self.outcome.runs

    def study(self, experiment: str) -> StudyFrames:
        """Return the study of one of the file's experiments."""
        names = {cell.experiment for one in self.outcome.answers for cell in one.question.cells}
        if experiment not in names:
            raise StudyError(unknown("experiment", experiment, sorted(names)))
        return StudyFrames(self.path / experiment)

    def sentences(self) -> list[str]:
        """Return the answers as sentences, followed by a summary and the assumptions of the answers."""
        return [*(sentence(one, self.path) for one in self.outcome.answers), *closing_lines(self.outcome)]

    def __repr__(self) -> str:
        return f"<ClaimAnswers {self.path}: {summary(self.outcome)}>"

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{escape(spell_out(line))}</li>" for line in self.sentences())
        return f"<b>{escape(spell_out(str(self.path)))}</b><ul>{lines}</ul>"


def claims(
    file: str | Path,
    *,
    quick: bool = False,
    seed: int | None = None,
    out: str | Path | None = None,
    workers: int | None = None,
    master: str | None = None,
    allow_code: bool = False,
    progress: Callable[[Standing], None] = lambda standing: None,
    spark: SparkSession | None = None,
) -> ClaimAnswers:
    """Answer the claims of a file.

    With `quick`, stop after ten minutes. `seed` replaces the seed of the file. `workers`, `master`, `spark` and
    `allow_code` have the same meaning as in `study`.
    """
    where, file = chosen_spark(workers, master, spark), Path(file)
    planned = plan(Claims.load(file, seed), allow_code)
    place = evaluation.default_directory(file) if out is None else Path(out)
    limit_s = evaluation.QUICK_S if quick else None
    means = evaluation.Means(place, workers, allow_code=allow_code, limit_s=limit_s)

    def work(spark: Spark, report: Callable[[Standing], None]) -> Outcome:
        return evaluation.answer(planned, replace(means, progress=report), spark)

    return ClaimAnswers(on_spark(where, work, progress))
