"""What a check answers.

Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Answer = Literal["valid", "violated", "unknown"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One check's answer; the explanation of a violation, or why it is unknown."""

    answer: Answer
    explanation: str = ""


VALID = Verdict("valid")
NOT_QUIESCENT = Verdict("unknown", "the run was not quiescent at its end")
NOTHING_DELIVERED = Verdict("unknown", "nothing was delivered")
