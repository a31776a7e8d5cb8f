"""Two custom metrics: how evenly messages reach the hosts, and how many messages are late."""

from collections import Counter

from mobilenet.metrics import Record, metric


@metric("Jain's fairness index of deliveries over hosts, 1 if all got equally many")
def delivery_fairness(run: Record) -> float | None:
    counts = Counter(delivery.node for delivery in run.deliveries())
    if not counts:
        return None
    return sum(counts.values()) ** 2 / (len(counts) * sum(count**2 for count in counts.values()))


@metric("share of deliveries that took more than half a second")
def deliveries_late_share(run: Record) -> float | None:
    delays = [delivery.delay_s for delivery in run.deliveries()]
    return sum(delay > 0.5 for delay in delays) / len(delays) if delays else None
