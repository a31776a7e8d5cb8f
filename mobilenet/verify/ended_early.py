"""Verdicts on a record that an error in a plug-in ended early.

Model     nothing of it is valid: what must never happen is violated where it happened, and all else is unknown. Only
          properties are asked for that a longer run could not mend
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mobilenet.verify.verdict import Verdict


def ended_early(manifest: Mapping[str, Any]) -> str | None:
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
    return verdicts | {"record": Verdict("unknown", f"the run ended early, at {at_s} s, by an error: {error}")}
