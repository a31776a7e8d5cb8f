"""Path loss as a function of the length of a link, precomputed in tables.

Model     log_distance is L0 + 10 n lg d. three_slope is the same in three sections. free_space is 20 lg(4 pi d /
          lambda). umi is 3GPP's street canyon, with a line of sight (21 lg d, or 40 lg d beyond the breakpoint) or
          without one. A link shorter than 1 m has the loss of 1 m. 3GPP only describes links between a station and a
          host, from 10 m on. Its formulas are used here for all links and distances. Between two hosts, the breakpoint
          is therefore at 8 m (2.4 GHz, 1.5 m). A formula with only one height uses the lower one.
Units     Losses are integers in hundredths of a dB (cdb). The index of a table is the distance in whole centimetres.
Same bits Each query looks up an integer in a table. A test compares the digests of the tables with their expected
          values.
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
BREAKPOINT_SPEED_MPS = 3.0e8  # the speed of light as 3GPP rounds it
EFFECTIVE_M = 1.0  # the effective height of streets, cars and people, subtracted from each antenna's height
ALWAYS_IN_SIGHT_M, SIGHT_FADES_M = 18.0, 36.0
SURE = 1 << 32

Floats = NDArray[np.float64]


@lru_cache(16)
def loss_table(
    parameters: PathLossParameters, reach_m: float, stations: int = 1, line_of_sight: bool = True
) -> list[int]:
    """Return a table of losses up to `reach_m`. The loss at distance d is at index int(100 d + 0.5).

    `stations` is the number of ends of the link that are stations. Only umi uses this number and `line_of_sight`.
    """
    d = np.maximum(_distances_m(reach_m), NEAREST_M)
    return _whole(CM * _LOSSES[parameters.model](parameters, d, stations, line_of_sight))


@lru_cache(4)
def sight_table(reach_m: float) -> list[int]:
    """Return the table of the probability of a line of sight with umi, as multiples of 1 / SURE. The value for distance
    d is at index int(100 d + 0.5).
    """
    d = np.maximum(_distances_m(reach_m), ALWAYS_IN_SIGHT_M)
    near = ALWAYS_IN_SIGHT_M / d
    return _whole(SURE * (near + np.exp(-d / SIGHT_FADES_M) * (1 - near)))


def median_reach_m(table: list[int], budget_cdb: int) -> float:
    """Return the greatest distance at which the loss is within the budget, or 0 if there is no such distance."""
    return max(bisect_right(table, budget_cdb) - 1, 0) / CM


def mean_loss_db(parameters: PathLossParameters, distance_m: float, stations: int = 1) -> float:
    """Return the loss at any distance, without rounding, by the same formulas. It is used in messages only and never
    determines reception.
    """
    d = np.array([max(distance_m, NEAREST_M)])
    return float(_LOSSES[parameters.model](parameters, d, stations, True)[0])


def _distances_m(reach_m: float) -> Floats:
    return np.arange(int(reach_m * CM + 0.5) + 1) / CM


def _whole(values: Floats) -> list[int]:
    """Round to six decimals first, and then to integers. A value that lies halfway between two integers is then rounded
    in the same way on every machine, even if the last bits of its logarithm differ. Equal numbers share one object.
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
    lg = np.log10(np.sqrt(d * d + squared))  # logarithm of the distance in three dimensions
    beyond = 40 * lg - 9.5 * np.log10(break_m * break_m + squared)
    in_sight: NDArray[np.float64] = 32.4 + 20 * np.log10(p.frequency_ghz) + np.where(d <= break_m, 21 * lg, beyond)
    if line_of_sight:
        return in_sight
    lowest = min(lower, upper)
    return np.asarray(np.maximum(in_sight, 22.4 + 35.3 * lg + 21.3 * np.log10(p.frequency_ghz) - 0.3 * (lowest - 1.5)))


_LOSSES = {"log_distance": _log_distance, "three_slope": _three_slope, "free_space": _free_space, "umi": _street_canyon}
