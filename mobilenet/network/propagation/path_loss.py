"""Path loss, from the length of a link only: tables, made once.

Model     log_distance L0 + 10 n lg d; three_slope the same in three pieces; free_space 20 lg(4 pi d / lambda); umi the
          street canyon of 3GPP, with line of sight (21 lg d, beyond the breakpoint 40 lg d) and without. Nearer than
          1 m it is as at 1 m. 3GPP has a station and a host; between two hosts, or two stations, we take the same
          formulas with both heights the same, so that the breakpoint between hosts is at 8 m (2.4 GHz, 1.5 m), and
          where one height counts it is the lower one. 3GPP has 10 m and more; nearer the formulas go on
Units     hundredths of a dB, whole (cdb); distances in whole centimetres are the places in a table
Same bits every query looks up a whole number; a test holds the tables against their digests
Source    3GPP TR 38.901 (2017), tables 7.4.1-1 and 7.4.2-1; ns-3's LogDistancePropagationLossModel and
          ThreeLogDistancePropagationLossModel; Friis: A Note on a Simple Transmission Formula (1946)
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mobilenet.network.propagation.parameters import PathLossParameters

SPEED_OF_LIGHT_MPS = 299_792_458.0
CM = 100
NEAREST_M = 1.0
BREAKPOINT_SPEED_MPS = 3.0e8  # the speed of light in 3GPP
EFFECTIVE_M = 1.0  # street, cars and people: taken off each antenna's height
ALWAYS_IN_SIGHT_M, SIGHT_FADES_M = 18.0, 36.0
SURE = 1 << 32

Floats = NDArray[np.float64]


@lru_cache(16)
def loss_table(
    parameters: PathLossParameters, reach_m: float, stations: int = 1, line_of_sight: bool = True
) -> list[int]:
    """Return the loss at distance d in place int(100 d + 0.5), as far as `reach_m`.

    `stations` is the number of ends that are stations. Only umi uses it, and whether there is a line of sight.
    """
    d = np.maximum(_distances_m(reach_m), NEAREST_M)
    return _whole(CM * _LOSSES[parameters.model](parameters, d, stations, line_of_sight))


@lru_cache(4)
def sight_table(reach_m: float) -> list[int]:
    """Return how likely a line of sight is at distance d with umi, in place int(100 d + 0.5), as a part of SURE."""
    d = np.maximum(_distances_m(reach_m), ALWAYS_IN_SIGHT_M)
    near = ALWAYS_IN_SIGHT_M / d
    return _whole(SURE * (near + np.exp(-d / SIGHT_FADES_M) * (1 - near)))


def median_reach_m(table: list[int], budget_cdb: int) -> float:
    """Return the greatest distance at which the loss is at most the budget; 0 if there is none."""
    return max(bisect_right(table, budget_cdb) - 1, 0) / CM


def mean_loss_db(parameters: PathLossParameters, distance_m: float, stations: int = 1) -> float:
    """Return the loss by the same formula at any distance, not rounded. It is for messages and decides no reception."""
    d = np.array([max(distance_m, NEAREST_M)])
    return float(_LOSSES[parameters.model](parameters, d, stations, True)[0])


def _distances_m(reach_m: float) -> Floats:
    return np.arange(int(reach_m * CM + 0.5) + 1) / CM


def _whole(values: Floats) -> list[int]:
    """Round twice, so that what is half a number by its formula is half a number on every machine, whatever the last
    bits of its logarithms are. Equal numbers share one object.
    """
    known: dict[int, int] = {}
    return [known.setdefault(value, value) for value in np.rint(np.round(values, 6)).astype(np.int64).tolist()]


def _log_distance(p: PathLossParameters, d: Floats, stations: int, line_of_sight: bool) -> Floats:
    return p.reference_loss_db + 10 * p.exponent * np.log10(d)


def _three_slope(p: PathLossParameters, d: Floats, stations: int, line_of_sight: bool) -> Floats:
    loss = np.full(len(d), p.reference_loss_db)
    for exponent, start, end in zip(p.exponents, p.breaks_m, (*p.breaks_m[1:], np.inf), strict=True):
        loss += 10 * exponent * np.log10(np.clip(d, start, end) / start)
    return loss


def _free_space(p: PathLossParameters, d: Floats, stations: int, line_of_sight: bool) -> Floats:
    return 20 * np.log10(4 * np.pi * d * p.frequency_ghz * 1e9 / SPEED_OF_LIGHT_MPS)


def _street_canyon(p: PathLossParameters, d: Floats, stations: int, line_of_sight: bool) -> Floats:
    lower = p.station_height_m if stations == 2 else p.host_height_m
    upper = p.host_height_m if stations == 0 else p.station_height_m
    squared = (upper - lower) ** 2
    break_m = 4 * (upper - EFFECTIVE_M) * (lower - EFFECTIVE_M) * p.frequency_ghz * 1e9 / BREAKPOINT_SPEED_MPS
    lg = np.log10(np.sqrt(d * d + squared))  # logarithm of the distance in space
    beyond = 40 * lg - 9.5 * np.log10(break_m * break_m + squared)
    in_sight: NDArray[np.float64] = 32.4 + 20 * np.log10(p.frequency_ghz) + np.where(d <= break_m, 21 * lg, beyond)
    if line_of_sight:
        return in_sight
    lowest = min(lower, upper)
    return np.asarray(np.maximum(in_sight, 22.4 + 35.3 * lg + 21.3 * np.log10(p.frequency_ghz) - 0.3 * (lowest - 1.5)))


_LOSSES = {"log_distance": _log_distance, "three_slope": _three_slope, "free_space": _free_space, "umi": _street_canyon}
