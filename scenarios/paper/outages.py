"""Metrics for two statements of the paper: s3 recovers after its outages (V.C), and connections fail (V.A)."""

from collections.abc import Callable

from mobilenet.metrics import Record, metric

# The outages of faults.yaml; each of them is 1 s longer than the previous one.
STATION, FIRST_AT_S, EVERY_S = "s3", 15, 30
FIRST_LENGTH_S = 3
LOOK_S = 5  # length of the period before an outage over which the mean is taken
SECOND = 1_000_000_000


def sbuffer_before(run: Record, number: int) -> float:
    """Return the mean number of messages in the SBuffer of s3 in the last seconds before an outage."""
    end_ns = (FIRST_AT_S + number * EVERY_S) * SECOND
    since_ns = begin_ns = end_ns - LOOK_S * SECOND
    level = total = 0.0
    for row in run.samples():
        if row.node == STATION and row.quantity == "sbuffer":
            time_ns = min(max(row.time_ns, begin_ns), end_ns)
            total += level * (time_ns - since_ns)
            level, since_ns = row.value, time_ns
    return (total + level * (end_ns - since_ns)) / (end_ns - begin_ns)


def growth_over(length_s: int) -> Callable[[Record], float | None]:
    number = length_s - FIRST_LENGTH_S

    @metric(f"SBuffer of s3 before the outage after that of {length_s} s, divided by that before it")
    def growth(run: Record) -> float | None:
        before = sbuffer_before(run, number)
        return sbuffer_before(run, number + 1) / before if before else None

    return growth


sbuffer_growth_3 = growth_over(3)
sbuffer_growth_4 = growth_over(4)
sbuffer_growth_5 = growth_over(5)
sbuffer_growth_6 = growth_over(6)
sbuffer_growth_7 = growth_over(7)
sbuffer_growth_8 = growth_over(8)
sbuffer_growth_9 = growth_over(9)


@metric("hosts that never become members")
def hosts_never_members(run: Record) -> int:
    return run.manifest["hosts"] - len({event.node for event in run.events() if event.event == "join"})
