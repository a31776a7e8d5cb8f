"""Judge the claim that no schedule of the swarm violates the properties of a protocol, by playing the schedules.

Model     The claim refers to exactly these schedules, so its answer does not depend on chance. A single violation
          decides it. If no violation occurs but a schedule ends with an error, the claim remains undecided. The
          interval describes the share of violations among all schedules that the swarm may draw (Clopper and Pearson).
Kept      OUT/schedules.jsonl has a line for each schedule that was played with the current code. It is not played
          again.
Errors    OSError if the file cannot be read or written.
Source    ours: docs/guide/claims.md
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from mobilenet.lab.hunt.swarm.campaign import again, run_campaign
from mobilenet.lab.studies.claims.declaration import Answer, NoViolation
from mobilenet.lab.studies.papers.jobs import digest_of_code

FILE = "schedules.jsonl"
SECONDS_EACH = 0.025  # approximate time of one schedule on one core, in seconds


class ScheduleTally(NamedTuple):
    """Counts the outcomes of the schedules of a claim."""

    answer: Answer
    schedules: int
    violated: int
    high: float  # upper end of the interval for the share of violations
    unknown: int
    why: str = ""


def play(
    claim: NoViolation, out: Path, workers: int, error: float, advance: Callable[[int], None] = lambda left: None
) -> ScheduleTally:
    """Play the schedules that are missing. `advance` is called after each schedule, and may raise an exception to stop
    the work.
    """
    answers = _earlier_answers(out / FILE, claim.protocol)
    missing = [seed for seed in range(claim.seed, claim.seed + claim.schedules) if seed not in answers]
    if missing:
        with (out / FILE).open("a", encoding="utf-8") as file:
            file.write("\n")  # The previous line may be incomplete.
            for count, result in enumerate(run_campaign(missing, workers, protocol=claim.protocol), 1):
                answers[result.seed] = result.answer
                row = {"code": digest_of_code(), "protocol": claim.protocol, "seed": result.seed}
                file.write(json.dumps(row | {"answer": result.answer}) + "\n")
                file.flush()
                advance(len(missing) - count)
    own = [answers[seed] for seed in range(claim.seed, claim.seed + claim.schedules)]
    return judge_answers(own, error)


def judge_answers(answers: list[str], error: float) -> ScheduleTally:
    """Count the outcomes of all schedules of a claim."""
    violated, unknown = answers.count("violated"), answers.count("unknown")
    others = len(answers) - violated - unknown - answers.count("valid")
    high = _upper_end(violated, len(answers), error)
    if violated:
        return ScheduleTally(Answer.FAILS, len(answers), violated, high, unknown)
    if others:
        return ScheduleTally(
            Answer.UNDECIDED, len(answers), 0, high, unknown, "at least one schedule ended with an error"
        )
    if unknown == len(answers):
        return ScheduleTally(Answer.UNDECIDED, len(answers), 0, high, unknown, "no schedule could be judged")
    return ScheduleTally(Answer.HOLDS, len(answers), 0, high, unknown)


def command(claim: NoViolation) -> str:
    """Return the command that plays the same schedules."""
    return again(claim.seed, claim.schedules, protocol=claim.protocol)


def _upper_end(violated: int, schedules: int, error: float) -> float:
    from scipy.special import betaincinv

    return 1.0 if violated == schedules else float(betaincinv(violated + 1, schedules - violated, 1 - error))


def _earlier_answers(file: Path, protocol: str) -> dict[int, str]:
    answers = {}
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if file.is_file() else []
    for line in lines:
        try:
            row = json.loads(line)
            if (row["code"], row["protocol"]) == (digest_of_code(), protocol):
                answers[int(row["seed"])] = str(row["answer"])
        except (ValueError, KeyError, TypeError):
            continue
    return answers
