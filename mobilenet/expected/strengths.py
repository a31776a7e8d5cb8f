"""How strong a frame can arrive at most and at least, so far from its sender; and how far it is received at all.

Model     unit_disk: up to the range, and always up to there. sinr: the path loss of the distance, with the most that
          shadowing and fading add, or the most that shadowing takes. Fading has no least gain, and walls may take
          anything, so where there are any nothing is sure to be received. With umi a link may be in sight or not
Units     metres, dBm; inside hundredths of a dBm and dB
Shapes    losses: int64 by whole centimetres
Errors    none
Source    ours: docs/models/propagation.md, docs/models/sinr.md
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil

import numpy as np

from mobilenet.expected.expectations import STRENGTH_STEP_M, Strength
from mobilenet.network.radio.links import fading_of, reach_m, reception_of
from mobilenet.network.radio.parameters import FARTHEST_M, WirelessParameters
from mobilenet.network.radio.phy import MODES
from mobilenet.network.radio.reception import hundredths
from mobilenet.propagation.path_loss import loss_table
from mobilenet.propagation.shadowing import CLIP, ONE

CM = 100
KINDS = [(a, b) for a in (False, True) for b in (False, True)]
STEP_CM = int(STRENGTH_STEP_M * CM)
ROUNDING_M = 0.5 / CM  # by which a distance is rounded down for the table of losses (propagation/budget.py)


@lru_cache(maxsize=8)
def strengths(wireless: WirelessParameters) -> dict[tuple[bool, bool], Strength]:
    """By whether the sender and the receiver are stations."""
    if wireless.model == "unit_disk":
        return dict.fromkeys(KINDS, Strength(wireless.range_m, wireless.range_m))
    return {kinds: _strength(wireless, *kinds) for kinds in KINDS}


def rates_mbps(wireless: WirelessParameters) -> set[float]:
    """All that dcf sends at."""
    data = {float(wireless.broadcast_rate_mbps), float(wireless.unicast_mbps)}
    return data | {float(MODES[wireless.mode].ack_rate_mbps(rate)) for rate in data}


def _strength(wireless: WirelessParameters, from_station: bool, to_station: bool) -> Strength:
    rules, fading, shadows = reception_of(wireless), fading_of(wireless), wireless.shadowing
    is_umi = wireless.path_loss.model == "umi"
    stations = from_station + to_station if is_umi else 1
    sights = (False, True) if is_umi else (True,)
    tables = np.array([loss_table(wireless.path_loss, FARTHEST_M, stations, sight) for sight in sights], np.int64)
    luck_cdb = 0 if shadows is None else ceil(CLIP / ONE * hundredths(shadows.sigma_db)) + 1
    gain_cdb = luck_cdb + (0 if fading is None else fading.most_cdb)
    tx_cdbm = rules.tx_cdbm(from_station)
    most = tx_cdbm + gain_cdb - np.minimum.accumulate(tables.min(axis=0)[::-1])[::-1]
    least = tx_cdbm - luck_cdb - np.maximum.accumulate(tables.max(axis=0))
    detected = [rules.detected_cdbm(rate) for rate in rates_mbps(wireless)]
    far_m = reach_m(wireless)
    has_least = fading is None and (wireless.obstacles is None or is_umi)
    return Strength(
        min(far_m, _last_m(most >= min(detected)) + ROUNDING_M),
        min(far_m, _last_m(least >= max(detected))) if has_least else 0.0,
        (most[::STEP_CM] / CM).tolist(),
        (least[::STEP_CM] / CM).tolist() if has_least else (),
    )


def _last_m(enough: np.ndarray) -> float:
    """The last distance at which it is enough, and at all nearer ones."""
    return float(np.flatnonzero(enough).max(initial=0)) / CM
