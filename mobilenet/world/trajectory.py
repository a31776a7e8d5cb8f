"""The trajectory of a host, which every mobility model produces.

Model     A host follows straight legs at constant speeds from the moment at which it appears. Legs are computed when
          they are needed. The time of a leg does not advance while the host is down.
Units     Times are integer nanoseconds, distances are in metres, and speeds in metres per second.
Source    ours: docs/models/world.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple


class Leg(NamedTuple):
    duration_ns: int | None  # None if the leg never ends
    x_m: float  # x_m and y_m are the start of the leg
    y_m: float
    vx_mps: float
    vy_mps: float


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The path of a host. Every call of `legs` yields the same legs from the start."""

    legs: Callable[[], Iterator[Leg]]
    appears_ns: int = 0
    disappears_ns: int | None = None  # the end of the path; afterwards the host stays there, and may leave
    leaves_ns: int | None = None  # when the host asks to leave, so that it has left by the end of the path


def standing_leg(x_m: float, y_m: float) -> Leg:
    return Leg(None, x_m, y_m, 0.0, 0.0)


def between(x_m: float, y_m: float, to_x_m: float, to_y_m: float, duration_ns: int) -> Leg:
    """Return the leg from (x_m, y_m) to (to_x_m, to_y_m) with this duration."""
    seconds = duration_ns / 1e9
    return Leg(duration_ns, x_m, y_m, (to_x_m - x_m) / seconds, (to_y_m - y_m) / seconds)


def rest_of(leg: Leg, elapsed_ns: int) -> Leg | None:
    """Return the rest of a leg of limited duration after the elapsed time, or None if the leg has ended."""
    assert leg.duration_ns is not None
    if elapsed_ns >= leg.duration_ns:
        return None
    seconds = elapsed_ns / 1e9
    x_m, y_m = leg.x_m + leg.vx_mps * seconds, leg.y_m + leg.vy_mps * seconds
    return Leg(leg.duration_ns - elapsed_ns, x_m, y_m, leg.vx_mps, leg.vy_mps)
