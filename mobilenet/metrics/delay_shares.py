"""Compute how much of the total delay of all deliveries each cause contributes, on each leg of the path.

Model     there is one metric for each kind of cause and each leg, and it may be 0. The shares of a run therefore add up
          to 1, and so do their means over runs. They cover the deliveries of messages that were broadcast in the
          window, as in `delivery_delay_mean_s`. A run without a delay has no shares
Needs     the table `causes`
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from mobilenet.metrics.declaration import Declared, Metric, Row
from mobilenet.why.kinds import KINDS, LEGS, Part

PREFIX = "delay_share_"
HELD = f"{PREFIX}held"
PARTS: tuple[Part, ...] = tuple((kind, leg) for leg in LEGS for kind in KINDS)


def name_of(part: Part) -> str:
    return PREFIX + "_".join(part)


def part_of(name: str) -> Part | None:
    """Return the kind of cause and the leg that a metric of this module covers, or None for another metric."""
    match = re.fullmatch(rf"{PREFIX}(.+)_({'|'.join(LEGS)})", name)
    return (match[1], match[2]) if match and match[1] in KINDS else None


def part_name(part: Part) -> str:
    """Describe a kind of cause and a leg in words, such as `timer (station to host)`."""
    return f"{part[0].replace('_', ' ')} ({LEGS[part[1]]})"


DELAY_SHARES: dict[str, Declared] = {
    HELD: Metric(HELD, "share of the delay spent behind other messages", symbol="delay behind others")
} | {
    name_of(part): Metric(
        name_of(part), f"share of the delay: {KINDS[part[0]]} ({LEGS[part[1]]})", symbol=f"delay: {part_name(part)}"
    )
    for part in PARTS
}


def delay_shares(delay_ns: int, held_ns: int, by_part: Mapping[Part, int]) -> Row:
    """Return one row with the fraction of the delay for each kind and leg. `held_ns`: the time spent waiting for other
    messages.
    """
    if not delay_ns:
        return {}
    row: Row = {HELD: held_ns / delay_ns}
    return row | {name_of(part): by_part.get(part, 0) / delay_ns for part in PARTS}
