"""Compute the positions of many walkers at given times."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import inf

import numpy as np
from numpy.typing import NDArray

from mobilenet.engine.clock import ns
from mobilenet.world.trajectory import Leg


def place(legs: Iterator[Leg], at_s: tuple[float, ...]) -> list[tuple[float, float, float]]:
    """Return (x, y, speed) at each of these times. The times must be in ascending order."""
    states = []
    begins_ns, leg = 0, next(legs)
    for moment in at_s:
        while begins_ns + (inf if leg.duration_ns is None else leg.duration_ns) <= ns(moment):
            assert leg.duration_ns is not None
            begins_ns, leg = begins_ns + leg.duration_ns, next(legs)
        elapsed = (ns(moment) - begins_ns) / 1e9
        states.append(
            (leg.x_m + leg.vx_mps * elapsed, leg.y_m + leg.vy_mps * elapsed, float(np.hypot(leg.vx_mps, leg.vy_mps)))
        )
    return states


def check_continuous(legs: list[Leg]) -> None:
    """Check that each leg begins within a tenth of a millimetre of the end of the previous leg, and has a positive
    duration.
    """
    for before, after in pairwise(legs):
        assert before.duration_ns is not None and before.duration_ns > 0
        seconds = before.duration_ns / 1e9
        assert abs(before.x_m + before.vx_mps * seconds - after.x_m) < 1e-4
        assert abs(before.y_m + before.vy_mps * seconds - after.y_m) < 1e-4


def table(columns: list[list[tuple[float, float, float]]]) -> NDArray[np.float64]:
    """Return the columns as a float64 array of shape (time, walker, 3)."""
    return np.array(columns).transpose(1, 0, 2)
