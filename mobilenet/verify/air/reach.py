"""How strong a frame can arrive at most and at least, so far from its sender; and how far it can be received at all.

Model     unit_disk: up to the range, and always up to there. sinr: the path loss of the distance, with the most that
          shadowing and fading add, or the most that shadowing takes. Fading has no least gain, and walls may take
          anything, so where there are any nothing is sure to be received. With umi a link may be in sight or not
Units     metres; hundredths of a dBm and dB
Shapes    losses: int64 by whole centimetres
Errors    none
Source    ours: docs/models/propagation.md, docs/models/sinr.md
"""

from __future__ import annotations

from math import ceil

import numpy as np

from mobilenet.network.radio.framing import Framing
from mobilenet.network.radio.links import fading_of, reach_m, reception_of
from mobilenet.network.radio.parameters import FARTHEST_M, WirelessParameters
from mobilenet.network.radio.phy import MODES
from mobilenet.network.radio.reception import hundredths
from mobilenet.propagation.path_loss import loss_table
from mobilenet.propagation.shadowing import CLIP, ONE

CM = 100


class Reach:
    """Of the links between two kinds of nodes, one way, where power decides."""

    def __init__(self, wireless: WirelessParameters, from_station: bool, to_station: bool) -> None:
        rules, framing, fading = reception_of(wireless), Framing(wireless), fading_of(wireless)
        self._tx_cdbm = rules.tx_cdbm(from_station)
        path_loss, is_umi = wireless.path_loss, wireless.path_loss.model == "umi"
        stations = from_station + to_station if is_umi else 1
        sights = (False, True) if is_umi else (True,)
        tables = np.array([loss_table(path_loss, FARTHEST_M, stations, in_sight) for in_sight in sights], np.int64)
        shadows = wireless.shadowing
        luck_cdb = 0 if shadows is None else ceil(CLIP / ONE * hundredths(shadows.sigma_db)) + 1
        gain_cdb = luck_cdb + (0 if fading is None else fading.most_cdb)
        self._least_cdb = np.minimum.accumulate(tables.min(axis=0)[::-1])[::-1] - gain_cdb
        self._most_cdb = np.maximum.accumulate(tables.max(axis=0)) + luck_cdb
        self._has_least = fading is None and (wireless.obstacles is None or is_umi)
        rates = {framing.broadcast_mbps, framing.unicast_mbps}
        rates |= {MODES[wireless.mode].ack_rate_mbps(rate) for rate in rates}
        detected = [rules.detected_cdbm(rate) for rate in rates]
        far_m = reach_m(wireless)
        self.far_m = min(far_m, _last_m(self._tx_cdbm - self._least_cdb >= min(detected)))
        near_m = _last_m(self._tx_cdbm - self._most_cdb >= max(detected)) if self._has_least else 0.0
        self.near_m = min(far_m, near_m)

    def most_cdbm(self, least_m: np.ndarray) -> np.ndarray:
        """The most power at a distance of at least so much."""
        place = np.minimum((least_m * CM).astype(np.int64), len(self._least_cdb) - 1)
        return self._tx_cdbm - self._least_cdb[place]

    def least_cdbm(self, most_m: np.ndarray) -> np.ndarray:
        """The least power at a distance of at most so much; -inf where it has no bound."""
        if not self._has_least:
            return np.full(len(most_m), -np.inf)
        is_known = most_m < FARTHEST_M - 1
        place = np.where(is_known, most_m * CM + 1, 0).astype(np.int64)
        return np.where(is_known, self._tx_cdbm - self._most_cdb[place], -np.inf)


class Disc:
    """The same where a distance decides."""

    def __init__(self, wireless: WirelessParameters) -> None:
        self.far_m = self.near_m = wireless.range_m


def reaches(wireless: WirelessParameters) -> dict[tuple[bool, bool], Reach | Disc]:
    """By whether the sender and the receiver are stations."""
    both = [(a, b) for a in (False, True) for b in (False, True)]
    if wireless.model == "unit_disk":
        return {pair: Disc(wireless) for pair in both}
    return {pair: Reach(wireless, *pair) for pair in both}


def _last_m(enough: np.ndarray) -> float:
    """The last distance up to which it is enough; the losses only grow."""
    return float(np.flatnonzero(enough).max(initial=0)) / CM
