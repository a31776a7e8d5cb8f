"""What a step of a live run goes to.

Source    ours: docs/guide/live.md
"""

from __future__ import annotations

STEPS = ("event", "frame", "handoff", "delivery", "violation")


def is_step(what: str, event: str) -> bool:
    """Whether an event of the record is what a step of that kind goes to."""
    kinds = {"delivery": ("deliver",), "handoff": ("handoff_start", "handoff_end")}
    return what not in kinds or event in kinds[what]
