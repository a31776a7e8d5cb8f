"""Judge claims of a paper by special rules, which replace the relations of other claims.

Model     Such rules (lab/studies/papers/) exist for claims that refer to single messages and processes, or to all sizes
          at once. The results of the runs are stored in OUT/PAPER.jsonl and are not computed again. A sentence that
          holds only at some sizes does not hold. These answers do not count towards the error of the file.
Errors    ScenarioError for an invalid scenario of a paper.
Source    ours: docs/validation/vcube.md
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from mobilenet.lab.studies.claims.declaration import Answer, Published
from mobilenet.lab.studies.papers import causal, reliable
from mobilenet.lab.studies.papers.jobs import Finding
from mobilenet.lab.studies.papers.reliable_statements import CHECKS
from mobilenet.lab.workers import nothing
from mobilenet.record.stamp import PLACE

JUDGES = {"reliable": reliable.judge, "causal": causal.judge}
ANSWERS = {"hold": Answer.HOLDS, "fail": Answer.FAILS, "hold in part": Answer.FAILS, "not checked": Answer.UNDECIDED}
COMMAND = f"mobilenet claims {PLACE}/claims.yaml"  # normal form of the command that shows the answer


class Verdict(NamedTuple):
    """The verdict that the rule of a paper gives."""

    answer: Answer
    finding: Finding


def published_ids(paper: str) -> list[str]:
    """Return the ids of all sentences of a paper. For a paper with numbers, return their names in the form
    TABLE/SIZE/QUANTITY.
    """
    return list(CHECKS if paper == "reliable" else causal.printed_numbers())


class PaperVerdicts:
    """Computes the verdicts on papers, once for each paper and largest size."""

    def __init__(self, out: Path, workers: int | None) -> None:
        self._out, self._workers = out, workers
        self._verdicts: dict[tuple[str, int], dict[str, Finding]] = {}

    def verdict(self, claim: Published, report: Callable[[str], None], look: Callable[[], None] = nothing) -> Verdict:
        """Make the runs that are missing, and return the verdict. `look` is called every second, and may raise an
        exception to stop the work.
        """
        paper, largest = claim.paper, claim.largest
        if (paper, largest) not in self._verdicts:
            file = self._out / f"{paper}.jsonl"
            self._verdicts[paper, largest] = JUDGES[paper](file, largest, self._workers, report, look)
        what = f"not among the values checked with up to {largest} processes"
        finding = self._verdicts[paper, largest].get(claim.id, Finding("not checked", what))
        return Verdict(ANSWERS[finding.verdict], finding)
