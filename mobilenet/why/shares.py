"""Sum up the time of each kind of stretch (an interval with one cause) and each leg over many deliveries.

Model     the sums cover the deliveries of messages that were broadcast in the window, as in the metric
          `delivery_delay_mean_s`. On hosts, this includes the sender's own delivery; on processes, it does not. The
          slowest deliveries are the 5 % with the largest delays. Among equal delays, earlier deliveries are selected
          first
Units     integer nanoseconds
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from mobilenet.engine.gc_pause import no_collections
from mobilenet.why.kinds import Part
from mobilenet.why.record import NONE, Deliveries, Delivery
from mobilenet.why.stories import Stories

SLOWEST = 0.05


class Shares(NamedTuple):
    """How the total delay of several deliveries is divided into parts. `by_part`: (kind, leg) -> ns, in descending
    order; `held_ns`: the time spent waiting for other messages.
    """

    deliveries: int
    delay_ns: int
    by_part: dict[Part, int]
    held_ns: int

    def share(self, part: Part) -> float:
        return self.by_part.get(part, 0) / self.delay_ns if self.delay_ns else 0.0


def delay_ns(stories: Stories, one: Delivery) -> int:
    return one.time_ns - stories.record.broadcasts[one.message].time_ns


def _delays_ns(stories: Stories, deliveries: Deliveries) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for each delivery its delay, the time of the broadcast (-1: never), and whether the node is the sender."""
    (codes, words), (nodes, names) = deliveries.column("message"), deliveries.column("node")
    broadcasts = [stories.record.broadcasts.get(word) for word in words]
    at = {name: code for code, name in enumerate(names)}
    sent_ns = np.array([NONE if one is None else one.time_ns for one in broadcasts])[codes]
    senders = np.array([NONE if one is None else at.get(one.node, NONE) for one in broadcasts])[codes]
    return deliveries.column("time_ns") - sent_ns, sent_ns, senders == nodes


def counted_deliveries(stories: Stories, begin_ns: int, end_ns: int) -> Deliveries:
    """Return the deliveries of the messages that were broadcast between these times. For processes, deliveries at the
    sender are left out.
    """
    deliveries = stories.record.deliveries
    if not deliveries:
        return deliveries
    _, sent_ns, is_own = _delays_ns(stories, deliveries)
    nodes, names = deliveries.column("node")
    is_host = np.array([name[0] == "h" for name in names])[nodes]
    is_counted = (sent_ns >= max(begin_ns, 0)) & (sent_ns < end_ns) & (~is_own | is_host)
    return deliveries.pick(np.flatnonzero(is_counted))


def slowest(stories: Stories, deliveries: Deliveries) -> Deliveries:
    """Return the slowest of these deliveries, in descending order of their delays."""
    if not deliveries:
        return deliveries
    ranked = np.argsort(-_delays_ns(stories, deliveries)[0], kind="stable")
    return deliveries.pick(ranked[: ceil(SLOWEST * len(ranked))])


def shares_by(
    stories: Stories, deliveries: Iterable[Delivery], group_of: Callable[[Delivery], Hashable]
) -> dict[Any, Shares]:
    """Divide the delay of each group of deliveries by kind and leg. Each delivery is traced once, which is fastest in
    the order of the record.
    """
    groups: dict[Any, tuple[list[int], dict[Part, int]]] = defaultdict(lambda: ([0, 0, 0], {}))
    with no_collections():
        for one in deliveries:
            sums, held_ns = stories.story(one).totals()
            total, own = groups[group_of(one)]
            for part, length_ns in sums.items():
                own[part] = own.get(part, 0) + length_ns
            total[0] += 1
            total[1] += delay_ns(stories, one)
            total[2] += held_ns
    return {
        group: Shares(count, total_ns, dict(Counter(own).most_common()), held_ns)
        for group, ((count, total_ns, held_ns), own) in groups.items()
    }


def add(several: Iterable[Shares]) -> Shares:
    """Add up the shares of several groups of deliveries."""
    parts: Counter[Part] = Counter()
    count = total_ns = held_ns = 0
    for one in several:
        count, total_ns, held_ns = count + one.deliveries, total_ns + one.delay_ns, held_ns + one.held_ns
        parts.update(one.by_part)
    return Shares(count, total_ns, dict(parts.most_common()), held_ns)


def shares(stories: Stories, deliveries: Iterable[Delivery]) -> Shares:
    """Divide the total delay of these deliveries by kind of stretch and leg."""
    return add(shares_by(stories, deliveries, lambda one: None).values())
