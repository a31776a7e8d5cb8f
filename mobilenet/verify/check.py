"""The declaration of a check: one property, and a function that returns what is wrong with the evidence.

Model     the verdict on a property is the worst answer of its checks: violated, then unknown, then valid. It contains
          the explanation of the first check that gives this answer
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from mobilenet.verify.evidence import Evidence
from mobilenet.verify.verdict import VALID, Verdict


def always(_: Evidence) -> bool:
    """Return whether there is a record. There always is."""
    return True


class Check(NamedTuple):
    """A check of one property. `answer` returns None if nothing is wrong, and a sentence if the property is
    violated.
    """

    property: str
    asks: str  # the question that the check answers, as it appears in the documents
    answer: Callable[[Evidence], Verdict | str | None]
    applies: Callable[[Evidence], bool] = always  # its docstring appears in the documents: "Whether ..."
    tables: tuple[str, ...] = ("events",)  # the tables that it reads, if the run has them
    # whether the check is skipped if an error ended the run, because the protocol could still have complied later
    waits: bool = False


Function = Callable[[Any], Verdict | str | None]


def promise(words: str) -> Callable[[Function], Function]:
    """Mark a function of a plug-in as the check of a promise, which `words` states."""

    def mark(function: Function) -> Function:
        function.words = words  # type: ignore[attr-defined]
        return function

    return mark


WORST_FIRST = ("violated", "unknown", "valid")


def judge(run: Evidence, checks: Iterable[Check], properties: Iterable[str]) -> dict[str, Verdict]:
    """Return the verdict on each of these properties."""
    verdicts = dict.fromkeys(properties, VALID)
    error = run.ended_by_error
    early = Verdict("unknown", f"the run ended early, at {run.manifest['simulated_s']:g} s")
    if error is not None:
        verdicts = dict.fromkeys(verdicts, early)
        verdicts["record"] = Verdict("unknown", f"{early.explanation}, because of an error: {error}")
    for check in checks:
        before = verdicts.get(check.property)
        skips = error is not None and check.waits
        if before is None or before.answer == "violated" or skips or not check.applies(run):
            continue
        answer = check.answer(run)
        verdict = VALID if answer is None else Verdict("violated", answer) if isinstance(answer, str) else answer
        if WORST_FIRST.index(verdict.answer) < WORST_FIRST.index(before.answer):
            verdicts[check.property] = verdict
    return verdicts
