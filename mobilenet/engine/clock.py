"""Time is an integer number of nanoseconds.

Source    ours: docs/architecture/time-and-chance.md
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

# called with the seconds that have been simulated, and the total number of seconds
Progress = Callable[[float, float], None]

SECOND: Final = 1_000_000_000
MILLISECOND: Final = 1_000_000
MICROSECOND: Final = 1_000


def ns(seconds: float) -> int:
    """Round seconds to the nearest nanosecond."""
    return round(seconds * SECOND)
