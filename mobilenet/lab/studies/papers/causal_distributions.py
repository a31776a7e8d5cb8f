"""How things are spread over messages and processes in the paper on causal aggregation: its Figures 6, 9 and 10, and
its text's statements on them.

Model     from the runs that were watched; counts are means over them. Figure 6: messages by what they depend on.
          Figure 9: processes by the most messages they held back at once. Figure 10: processes by the most messages
          they put into one packet
Units     messages; processes; per cent of either
Source    Rodrigues, Duarte, Arantes, causal aggregation broadcast on VCube, section 5; ours: docs/protocols/vcube.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mobilenet.lab.studies.papers.jobs import Result

Counts = Counter[int]  # a value -> how many messages, or processes, have it
Statement = tuple[str, str, Callable[[Counts], float]]  # figure, quantity, what is counted


def dependencies(result: Result) -> Counts:
    return Counter(dict(map(tuple, _watch_of(result)["dependencies"])))


def pending(result: Result) -> Counts:
    return Counter(_watch_of(result)["pending"])


def company(result: Result) -> Counts:
    return Counter(_watch_of(result)["company"])


def _watch_of(result: Result) -> dict[str, Any]:
    assert result.watched is not None
    return result.watched


def _percent(low: int, high: float) -> Callable[[Counts], float]:
    return lambda counts: 100 * _within(counts, low, high) / counts.total()


def _number(low: int, high: float) -> Callable[[Counts], float]:
    return lambda counts: _within(counts, low, high)


def _within(counts: Counts, low: int, high: float) -> int:
    return sum(number for value, number in counts.items() if low <= value <= high)


def _most(counts: Counts) -> float:
    return max(counts)


DEPENDENCIES: tuple[Statement, ...] = (
    ("6", "messages_of_0_dependencies_percent", _percent(0, 0)),
    ("6", "messages_of_1_to_4_dependencies_percent", _percent(1, 4)),
    ("6", "messages_of_5_to_9_dependencies_percent", _percent(5, 9)),
    ("6", "messages_of_13_and_more_dependencies_percent", _percent(13, float("inf"))),
    ("6", "most_dependencies", _most),
)
PENDING: tuple[Statement, ...] = (
    ("9", "processes_holding_at_most_50", _number(0, 50)),
    ("9", "processes_holding_above_250", _number(251, float("inf"))),
)
COMPANY: dict[int, tuple[Statement, ...]] = {  # by the bytes of a message
    50: (("10", "processes_sending_7_to_11_percent", _percent(7, 11)), ("10", "most_in_a_packet", _most)),
    5: (
        ("10", "processes_sending_8_to_12_percent_5_bytes", _percent(8, 12)),
        ("10", "most_in_a_packet_5_bytes", _most),
    ),
}


def stated_values(
    results: list[Result], counted: Callable[[Result], Counts], statements: tuple[Statement, ...], suffix: str = ""
) -> Iterator[tuple[str, str, Any]]:
    """Figure, quantity and a value for each run."""
    for figure, quantity, measure in statements:
        yield figure, quantity + suffix, np.array([measure(counted(result)) for result in results], dtype=np.float64)


def spread(
    results: list[Result], counted: Callable[[Result], Counts], figure: str, n: int, mode: str
) -> Iterator[dict[str, Any]]:
    """Rows for a figure: each value that occurs, and how many have it, on average over the runs."""
    total: Counts = Counter()
    for result in results:
        total.update(counted(result))
    for value, number in sorted(total.items()):
        yield {
            "figure": figure,
            "size": n,
            "mode": mode,
            "value": value,
            "count": number / len(results),
            "runs": len(results),
        }
