"""How far does a radio with SINR reach, and what do its links lose, according to the scenario's keys?

Model     reach: as far as a preamble, or energy that counts, can arrive with the best luck of shadowing and fading.
          Cell: as far as a station's preamble arrives where the path loss is all; half of the places at that distance
          are in its cell when there is shadowing. Fading takes half of the preambles nearer than that: its median is
          less than its mean. Cut-off: where the path loss leaves a hundredth of the noise
Units     metres, hundredths of a dB
Errors    ScenarioError for a file of obstacles that cannot be used
Source    ours: docs/models/sinr.md
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from pathlib import Path

from mobilenet.network.propagation.budget import LinkBudget
from mobilenet.network.propagation.fading import Fading
from mobilenet.network.propagation.obstacles import walls
from mobilenet.network.propagation.path_loss import loss_table, mean_loss_db, median_reach_m
from mobilenet.network.propagation.shadowing import CLIP, ONE
from mobilenet.network.radio.framing import IP_BYTES, UDP_BYTES, link_bytes
from mobilenet.network.radio.keys import FARTHEST_M
from mobilenet.network.radio.phy import MODES
from mobilenet.network.radio.sinr.keys import SinrKeys
from mobilenet.network.radio.sinr.reception import STRONG_CDB, Reception, hundredths, reception_noise_cdbm
from mobilenet.network.radio.sinr.survival import CHANCE
from mobilenet.world.tracks.projection import Anchor

BELOW_NOISE_CDB = 2_000
LINKS = (0, 1, 2)  # stations among both ends
MIDDLE = 1 << 31  # of a draw of fading: half of all are this or more


@lru_cache(maxsize=32)
def cell_m(wireless: SinrKeys) -> float:
    """Return how far a station is received without obstacles in the way."""
    return _distance_m(wireless, station_tx_dbm(wireless), detected_cdbm(wireless))


@lru_cache(maxsize=32)
def reach_m(wireless: SinrKeys) -> float:
    """Return the distance beyond which no node receives a frame or senses it."""
    least = min(hundredths(wireless.preamble_rssi_dbm), hundredths(wireless.ed_threshold_dbm) - STRONG_CDB)
    least -= _luck_cdb(wireless)
    if wireless.fading is not None:
        least -= Fading(wireless.fading).most_cdb
    return max(1.0, _distance_m(wireless, _strongest_dbm(wireless), least, LINKS))


@lru_cache(maxsize=32)
def serving_reach_m(wireless: SinrKeys) -> float:
    """Return the distance beyond which no station serves a host."""
    least = detected_cdbm(wireless) - _luck_cdb(wireless)
    return _distance_m(wireless, station_tx_dbm(wireless), least)


@lru_cache(maxsize=32)
def host_reach_m(wireless: SinrKeys) -> float:
    """Return how far a host is received without obstacles in the way."""
    return _distance_m(wireless, wireless.tx_dbm, detected_cdbm(wireless))


@lru_cache(maxsize=64)
def rate_reach_m(wireless: SinrKeys, rate_mbps: float, payload_bytes: int) -> float:
    """Return the distance at which half of a station's frames with this payload survive the noise; a frame that is not
    detected does not.
    """
    rules = reception_of(wireless, (rate_mbps,))
    duration_ns = MODES[wireless.mode].airtime_ns(
        payload_bytes + UDP_BYTES + IP_BYTES + link_bytes(wireless), rate_mbps
    )
    powers = range(detected_cdbm(wireless), 5_000)
    least = bisect_left(powers, CHANCE // 2, key=lambda power: rules.chance(rate_mbps, power, 0, duration_ns, []))
    return _distance_m(wireless, station_tx_dbm(wireless), powers[min(least, len(powers) - 1)])


@lru_cache(maxsize=32)
def half_heard_m(wireless: SinrKeys) -> float:
    """Return the distance at which half of a station's preambles are detected in silence, without obstacles and with
    shadowing that neither takes nor adds. Without fading it is the radius of its cell.
    """
    fading = fading_of(wireless)
    if fading is None or wireless.fading is None:
        return cell_m(wireless)
    near_m = wireless.fading.near_m
    near, far = (
        _distance_m(wireless, station_tx_dbm(wireless), detected_cdbm(wireless) - fading.gain_cdb(MIDDLE, distance_m))
        for distance_m in (0.0, near_m)
    )
    return near if near < near_m else max(near_m, far)


@lru_cache(maxsize=32)
def between_stations_m(wireless: SinrKeys) -> float:
    """Return the distance at which two stations still receive each other without obstacles, which is longer
    with umi.
    """
    return _distance_m(wireless, station_tx_dbm(wireless), detected_cdbm(wireless), (2,))


def tx_dbm_to_reach(wireless: SinrKeys, distance_m: float) -> float:
    """Return the power with which a node is received at this distance without obstacles in the way."""
    return detected_cdbm(wireless) / 100 + mean_loss_db(wireless.path_loss, distance_m)


def detected_cdbm(wireless: SinrKeys) -> int:
    """Return the least power at which a broadcast's preamble is detected in silence: above threshold and noise."""
    noise_cdbm = reception_noise_cdbm(wireless.broadcast_rate_mbps, wireless.noise_figure_db)
    return max(hundredths(wireless.preamble_rssi_dbm), noise_cdbm + hundredths(wireless.preamble_sinr_db))


def _luck_cdb(wireless: SinrKeys) -> int:
    """Return the most that shadowing can add."""
    return 0 if wireless.shadowing is None else hundredths(CLIP / ONE * wireless.shadowing.sigma_db)


@lru_cache(maxsize=32)
def cutoff_m(wireless: SinrKeys) -> float:
    noise_cdbm = reception_noise_cdbm(6, wireless.noise_figure_db)  # the noise in the band of OFDM, which is narrower
    return _distance_m(wireless, _strongest_dbm(wireless), noise_cdbm - BELOW_NOISE_CDB, LINKS)


def station_tx_dbm(wireless: SinrKeys) -> float:
    return wireless.tx_dbm if wireless.station_tx_dbm is None else wireless.station_tx_dbm


def reception_of(wireless: SinrKeys, rates_mbps: tuple[float, ...] = ()) -> Reception:
    """Return the thresholds of reception. `rates_mbps`: further rates that are needed."""
    mode = MODES[wireless.mode]
    sent_at = {*rates_mbps, wireless.broadcast_rate_mbps, wireless.unicast_mbps}
    sent_at |= {mode.ack_rate_mbps(rate) for rate in sent_at}
    return Reception(
        wireless.tx_dbm,
        station_tx_dbm(wireless),
        wireless.noise_figure_db,
        wireless.preamble_rssi_dbm,
        wireless.preamble_sinr_db,
        wireless.ed_threshold_dbm,
        wireless.capture_db,
        mode.signal_extension_ns,
        tuple(sorted({float(rate) for rate in sent_at})),
        reach_m(wireless),
        cutoff_m(wireless),
    )


def budget_of(wireless: SinrKeys, seed: int, folder: Path, anchor: Anchor | None) -> LinkBudget:
    """Return the losses of all links. `folder`, `anchor`: of the scenario, for its file of obstacles."""
    town = None if wireless.obstacles is None else walls(wireless.obstacles, folder, anchor)
    return LinkBudget(wireless.path_loss, wireless.shadowing, town, seed, FARTHEST_M)


def fading_of(wireless: SinrKeys) -> Fading | None:
    return None if wireless.fading is None else Fading(wireless.fading)


def _strongest_dbm(wireless: SinrKeys) -> float:
    return max(wireless.tx_dbm, station_tx_dbm(wireless))


def _distance_m(wireless: SinrKeys, tx_dbm: float, left_cdbm: int, links: tuple[int, ...] = (1,)) -> float:
    """Return the distance at which this power is left on average. `links`: how many ends are stations, which only umi
    distinguishes.
    """
    kinds = links if wireless.path_loss.model == "umi" else (1,)
    most_cdb = hundredths(tx_dbm) - left_cdbm
    return max(median_reach_m(loss_table(wireless.path_loss, FARTHEST_M, stations), most_cdb) for stations in kinds)
