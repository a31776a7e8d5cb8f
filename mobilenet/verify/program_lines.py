"""Check that the lines exchanged with programs are possible and agree with the rest of the record.

Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

from mobilenet.verify.check import Check
from mobilenet.verify.evidence import Evidence
from mobilenet.verify.lines.judge import lines_problem


def _agreement(run: Evidence) -> str | None:
    return lines_problem(run.tables, run.counters, run.manifest, run.of_hosts, run.plan)


def _has_lines(run: Evidence) -> bool:
    """Return whether programs ran in virtual time."""
    return "lines" in run.tables


CHECK = Check(
    "record",
    "The lines of programs are possible, and agree with the events and the counters.",
    _agreement,
    _has_lines,
    ("events", "samples", "lines"),
)
