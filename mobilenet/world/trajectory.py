"""The trajectory of a host, for all mobility models.

Model     a host follows straight legs at constant speed, from the moment it appears. Legs are made one by one, as
          they are needed, and count the host's own moving time: while a host is crashed its legs wait.
Units     integer nanoseconds, metres, metres per second
Errors    none
Source    ours: docs/models/world.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple


class Leg(NamedTuple):
    duration_ns: int | None  # None: for ever
    x_m: float  # the start of the leg
    y_m: float
    vx_mps: float
    vy_mps: float


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A trajectory. Calling `legs` starts again each time, with the same legs."""

    legs: Callable[[], Iterator[Leg]]
    appears_ns: int = 0
    disappears_ns: int | None = None  # the path ends here; after it the host stays at its end and may leave
    leaves_ns: int | None = None  # when the host asks to leave, so as to be out by then


def standing_leg(x_m: float, y_m: float) -> Leg:
    return Leg(None, x_m, y_m, 0.0, 0.0)


def between(x_m: float, y_m: float, to_x_m: float, to_y_m: float, duration_ns: int) -> Leg:
    """Return the leg from here to there within the duration."""
    seconds = duration_ns / 1e9
    return Leg(duration_ns, x_m, y_m, (to_x_m - x_m) / seconds, (to_y_m - y_m) / seconds)


def rest_of(leg: Leg, elapsed_ns: int) -> Leg | None:
    """Return what is left of a leg that ends, after this time, or None if nothing is."""
    assert leg.duration_ns is not None
    if elapsed_ns >= leg.duration_ns:
        return None
    seconds = elapsed_ns / 1e9
    x_m, y_m = leg.x_m + leg.vx_mps * seconds, leg.y_m + leg.vy_mps * seconds
    return Leg(leg.duration_ns - elapsed_ns, x_m, y_m, leg.vx_mps, leg.vy_mps)
