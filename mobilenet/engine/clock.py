"""Time is an integer number of nanoseconds.

Source    ours: docs/architecture/time-and-chance.md
"""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float, float], None]  # called with the seconds that are simulated, and how many there are

SECOND = 1_000_000_000
MILLISECOND = 1_000_000
MICROSECOND = 1_000


def ns(seconds: float) -> int:
    """Round seconds to the nearest nanosecond."""
    return round(seconds * SECOND)
