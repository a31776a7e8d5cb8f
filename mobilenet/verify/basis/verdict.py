"""What a check answers.

Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mobilenet.quoting import cut

LONGEST, MOST_LINES = 1000, 20  # of an explanation; what it quotes of a record may be of any length
Answer = Literal["valid", "violated", "unknown"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One check's answer; the explanation of a violation, or why it is unknown."""

    answer: Answer
    explanation: str = ""

    def __post_init__(self) -> None:
        lines = cut(self.explanation, LONGEST).split("\n")
        object.__setattr__(self, "explanation", "\n".join(lines[:MOST_LINES]))


VALID = Verdict("valid")
NOT_QUIESCENT = Verdict("unknown", "the run was not quiescent at its end")
NOTHING_DELIVERED = Verdict("unknown", "nothing was delivered")


def early_end(manifest: Mapping[str, Any]) -> str | None:
    """The error that ended the run; None: none did."""
    error = manifest.get("ended_by_error")
    return None if error is None else str(error)


def early_verdicts(
    error: str, manifest: Mapping[str, Any], checks: Iterable[str], violations: Mapping[str, str], damage: str | None
) -> dict[str, Verdict]:
    """A verdict for each of `checks`; `damage`: what makes the record unreadable."""
    at_s = f"{manifest['simulated_s']:g}"
    verdicts = {check: Verdict("unknown", f"the run ended early, at {at_s} s") for check in checks}
    if damage is not None:
        return verdicts | {"record": Verdict("violated", damage)}
    verdicts |= {check: Verdict("violated", what) for check, what in violations.items() if check in verdicts}
    if "record" in violations:
        return verdicts
    return verdicts | {"record": Verdict("unknown", f"the run ended early, at {at_s} s, because of an error: {error}")}
