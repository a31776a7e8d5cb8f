"""The verdict of a check.

Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from mobilenet.quoting import cut

LONGEST, MOST_LINES = 1000, 20  # the maximum length of an explanation, because strings in a record may have any length
Answer = Literal["valid", "violated", "unknown"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one property, with the explanation of a violation, or the reason why it is unknown."""

    answer: Answer
    explanation: str = ""

    def __post_init__(self) -> None:
        if self.answer not in get_args(Answer):
            raise ValueError(f"answer: got {cut(repr(self.answer), 80)}, expected valid, violated or unknown")
        explanation = "\n".join(cut(str(self.explanation), LONGEST).split("\n")[:MOST_LINES])
        if not isinstance(self.explanation, str) or not (explanation or self.answer == "valid"):
            raise ValueError(f"explanation: got {cut(repr(self.explanation), 80)}, expected a sentence")
        object.__setattr__(self, "explanation", explanation)


VALID = Verdict("valid")
NOT_QUIESCENT = Verdict("unknown", "the run was not quiescent at its end")
NOTHING_DELIVERED = Verdict("unknown", "nothing was delivered")
