"""What the verdict on a run warns of: assumptions of its protocol that somebody has broken by hand.

Model     the properties are judged as ever. What a protocol promises it promises under its assumptions; where one does
          not hold, a violation says nothing against it. Computed from the scenario alone
Source    ours: docs/models/world.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Iterable

from mobilenet.expected.expectations import LossyCut


def warnings_on(cuts: Iterable[LossyCut]) -> list[str]:
    """A sentence for each."""
    return [_sentence(cut) for cut in cuts]


def _sentence(cut: LossyCut) -> str:
    return (
        f"from {cut.since_ns / 1e9:g} to {cut.until_ns / 1e9:g} s the link {cut.station}-{cut.other} was cut by hand"
        f" and lost what was sent over it, but {cut.protocol} assumes that wires lose nothing: a violation from then on"
        " says nothing against it"
    )
