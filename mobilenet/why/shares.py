"""Where the time of many deliveries goes: sums of their stretches by kind and leg.

Model     deliveries of messages broadcast in the window: those that the metric `delivery_delay_mean_s` counts. It
          counts the sender's own delivery on hosts, and does not on processes. The slowest are the 5 % with the largest
          delays; of equal ones, those that come first
Units     integer nanoseconds
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import ceil
from typing import NamedTuple

from mobilenet.why.kinds import Part
from mobilenet.why.record import Delivery
from mobilenet.why.stories import Stories

SLOWEST = 0.05


class Shares(NamedTuple):
    """`by_part`: (kind, leg) -> ns, the largest first; `held_ns`: the part of it spent behind other messages."""

    deliveries: int
    delay_ns: int
    by_part: dict[Part, int]
    held_ns: int

    def share(self, part: Part) -> float:
        return self.by_part.get(part, 0) / self.delay_ns if self.delay_ns else 0.0


def delay_ns(stories: Stories, one: Delivery) -> int:
    return one.time_ns - stories.record.broadcasts[one.message].time_ns


def counted_deliveries(stories: Stories, begin_ns: int, end_ns: int) -> list[Delivery]:
    """The deliveries of messages that were broadcast between these times, of processes without those at the sender."""
    broadcasts = stories.record.broadcasts
    return [
        one
        for one in stories.record.deliveries
        if (sent := broadcasts.get(one.message)) is not None
        and begin_ns <= sent.time_ns < end_ns
        and (sent.node != one.node or one.node[0] == "h")
    ]


def slowest(stories: Stories, deliveries: Sequence[Delivery]) -> list[Delivery]:
    """The slowest first."""
    ranked = sorted(deliveries, key=lambda one: -delay_ns(stories, one))
    return ranked[: ceil(SLOWEST * len(ranked))]


def shares(stories: Stories, deliveries: Iterable[Delivery]) -> Shares:
    """Where their time goes."""
    parts: Counter[Part] = Counter()
    count = total_ns = held_ns = 0
    for one in deliveries:
        count += 1
        total_ns += delay_ns(stories, one)
        for begin_ns, end_ns, kind, leg, _, _, _, held_by in stories.of(one.message, one.node):
            parts[kind, leg] += end_ns - begin_ns
            if held_by:
                held_ns += end_ns - begin_ns
    return Shares(count, total_ns, dict(parts.most_common()), held_ns)
