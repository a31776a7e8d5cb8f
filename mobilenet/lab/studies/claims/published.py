"""Claims that are numbers or sentences of a paper, which `mobilenet reproduce` compares with its own runs.

Model     the runs and the verdicts are those of `mobilenet reproduce`, kept in OUT/PAPER and not made again. A sentence
          that holds only at some sizes does not hold, and neither does a number that the paper itself contradicts.
          These answers follow the rule of that command, and are not part of the error of the file
Errors    ScenarioError
Source    ours: docs/validation/vcube.md
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from mobilenet.lab.studies.claims.declaration import Answer, Published
from mobilenet.lab.studies.papers import causal, reliable
from mobilenet.lab.studies.papers.agreement import AGREES
from mobilenet.lab.studies.papers.reliable_statements import CHECKS
from mobilenet.lab.workers import nothing
from mobilenet.record.stamp import PLACE

HOLD, FAIL, UNCHECKED = "hold", ("fail", "hold in part"), "not checked"


class Verdict(NamedTuple):
    """What `mobilenet reproduce` has found."""

    answer: Answer
    why: str


def published_ids(paper: str) -> list[str]:
    """Return the ids of all sentences of a paper, or TABLE/SIZE/QUANTITY of its numbers."""
    if paper == "reliable":
        return list(CHECKS)
    with causal.PRINTED.open(newline="", encoding="utf-8") as file:
        return [f"{row['table']}/{row['size']}/{row['quantity']}" for row in csv.DictReader(file)]


class PaperTables:
    """The tables of papers, each made once for each largest size."""

    def __init__(self, out: Path, workers: int | None) -> None:
        self._out, self._workers = out, workers
        self._verdicts: dict[tuple[str, int], dict[str, Verdict]] = {}

    def verdict(self, claim: Published, report: Callable[[str], None], look: Callable[[], None] = nothing) -> Verdict:
        """Run what is missing; `look` is called every second, and may raise to stop."""
        key = claim.paper, claim.largest
        if key not in self._verdicts:
            of_paper = self._sentences if claim.paper == "reliable" else self._numbers
            self._verdicts[key] = of_paper(claim.largest, report, look)
        what = f"not among the values checked with up to {claim.largest} processes"
        return self._verdicts[key].get(claim.id, Verdict(Answer.UNDECIDED, what))

    def command(self, claim: Published) -> str:
        """The command that shows it, in normal form."""
        return f"mobilenet reproduce {claim.paper} --max-n {claim.largest} --out {PLACE}/{claim.paper}"

    def _sentences(self, largest: int, report: Callable[[str], None], look: Callable[[], None]) -> dict[str, Verdict]:
        _, statements = reliable.reproduce(self._out / "reliable", largest, None, self._workers, report, look)
        answers = {HOLD: Answer.HOLDS, UNCHECKED: Answer.UNDECIDED} | dict.fromkeys(FAIL, Answer.FAILS)
        return {one["id"]: Verdict(answers[one["verdict"]], one["answer"]) for one in statements}

    def _numbers(self, largest: int, report: Callable[[str], None], look: Callable[[], None]) -> dict[str, Verdict]:
        verdicts = {}
        for row in causal.reproduce(self._out / "causal", largest, None, self._workers, report, look):
            if row["verdict"]:
                why = f"{row['ours']}, published {row['printed']}: {row['verdict']}"
                verdict = Verdict(Answer.HOLDS if row["verdict"] == AGREES else Answer.FAILS, why)
                for size in (row["size"], "all"):
                    verdicts[f"{row['table']}/{size}/{row['quantity']}"] = verdict
        return verdicts
