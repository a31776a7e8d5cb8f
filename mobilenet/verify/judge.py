"""Judge one run: a verdict for each property.

Errors    RunError for a directory that is not a whole run
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from pathlib import Path

from mobilenet.verify import hosts, processes
from mobilenet.verify.check import judge
from mobilenet.verify.evidence import Evidence
from mobilenet.verify.verdict import Answer, Verdict

__all__ = ["Answer", "Evidence", "Verdict", "overall", "verify", "verify_run"]


def overall(verdicts: dict[str, Verdict]) -> Answer:
    """Violated if anything is; unknown if the rest is not all known."""
    answers = {verdict.answer for verdict in verdicts.values()}
    return "violated" if "violated" in answers else "unknown" if "unknown" in answers else "valid"


def verify_run(directory: Path) -> dict[str, Verdict]:
    """Judge a run directory."""
    return verify(Evidence.of_directory(directory))


def verify(run: Evidence) -> dict[str, Verdict]:
    """Judge what was recorded of a run."""
    kind = processes if run.is_of_processes else hosts
    asked = {check.property for check in kind.CHECKS if check.applies(run)} | {"record"}
    properties = [name for name in kind.properties_of(run.promises) if name in asked]
    run.checks = frozenset(properties)
    return judge(run, kind.CHECKS, properties)
