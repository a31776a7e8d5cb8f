"""Compute how far a radio with SINR reaches, and how much its links lose.

Model     The reach is the longest distance at which a preamble can be detected, or energy sensed, with the most
          favourable shadowing and fading. A cell extends as far as a station's preamble arrives with path loss only.
          With shadowing, half of the points at this distance belong to the cell. With fading, half of the preambles are
          already lost at a shorter distance, because the median of fading is less than its mean. At the cut-off
          distance, path loss leaves a hundredth of the noise.
Units     Distances are in metres, and losses in hundredths of a dB.
Errors    ScenarioError for an unusable file of obstacles.
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
LINKS = (0, 1, 2)  # possible numbers of stations among the two ends of a link
MIDDLE = 1 << 31  # the median of the random draws for fading


@lru_cache(maxsize=32)
def cell_m(wireless: SinrKeys) -> float:
    """Return the distance up to which a station is received if there are no obstacles."""
    return _distance_m(wireless, station_tx_dbm(wireless), detected_cdbm(wireless))


@lru_cache(maxsize=32)
def reach_m(wireless: SinrKeys) -> float:
    """Return the distance beyond which a frame is neither received nor sensed."""
    least = min(hundredths(wireless.preamble_rssi_dbm), hundredths(wireless.ed_threshold_dbm) - STRONG_CDB)
    least -= _luck_cdb(wireless)
    if wireless.fading is not None:
        least -= Fading(wireless.fading).most_cdb
    return max(1.0, _distance_m(wireless, _strongest_dbm(wireless), least, LINKS))


@lru_cache(maxsize=32)
def serving_reach_m(wireless: SinrKeys) -> float:
    """Return the distance beyond which hosts are not served by a station."""
    least = detected_cdbm(wireless) - _luck_cdb(wireless)
    return _distance_m(wireless, station_tx_dbm(wireless), least)


@lru_cache(maxsize=32)
def host_reach_m(wireless: SinrKeys) -> float:
    """Return the distance up to which a host is received if there are no obstacles."""
    return _distance_m(wireless, wireless.tx_dbm, detected_cdbm(wireless))


@lru_cache(maxsize=64)
def rate_reach_m(wireless: SinrKeys, rate_mbps: float, payload_bytes: int) -> float:
    """Return the distance at which half of a station's frames with this payload survive the noise. A frame that is not
    detected does not survive.
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
    """Return the distance at which half of a station's preambles are detected if the medium is silent, there are no
    obstacles, and shadowing is 0 dB. Without fading, this is the radius of the station's cell.
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
    """Return the distance up to which two stations receive each other without obstacles. With umi, it is longer than
    the distance between a station and a host.
    """
    return _distance_m(wireless, station_tx_dbm(wireless), detected_cdbm(wireless), (2,))


def tx_dbm_to_reach(wireless: SinrKeys, distance_m: float) -> float:
    """Return the transmission power with which a node is received at this distance if there are no obstacles."""
    return detected_cdbm(wireless) / 100 + mean_loss_db(wireless.path_loss, distance_m)


def detected_cdbm(wireless: SinrKeys) -> int:
    """Return the minimum power at which the preamble of a broadcast is detected in silence. It depends on the threshold
    and on the noise.
    """
    noise_cdbm = reception_noise_cdbm(wireless.broadcast_rate_mbps, wireless.noise_figure_db)
    return max(hundredths(wireless.preamble_rssi_dbm), noise_cdbm + hundredths(wireless.preamble_sinr_db))


def _luck_cdb(wireless: SinrKeys) -> int:
    """Return the maximum gain from shadowing."""
    return 0 if wireless.shadowing is None else hundredths(CLIP / ONE * wireless.shadowing.sigma_db)


@lru_cache(maxsize=32)
def cutoff_m(wireless: SinrKeys) -> float:
    # The noise in the band of OFDM, which is narrower than the band of DSSS.
    noise_cdbm = reception_noise_cdbm(6, wireless.noise_figure_db)
    return _distance_m(wireless, _strongest_dbm(wireless), noise_cdbm - BELOW_NOISE_CDB, LINKS)


def station_tx_dbm(wireless: SinrKeys) -> float:
    return wireless.tx_dbm if wireless.station_tx_dbm is None else wireless.station_tx_dbm


def reception_of(wireless: SinrKeys, rates_mbps: tuple[float, ...] = ()) -> Reception:
    """Return the thresholds of reception. `rates_mbps` are rates that are needed in addition to the scenario's
    rates.
    """
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
    """Return the losses of all links. The scenario's `folder` and `anchor` are used to read its file of obstacles."""
    town = None if wireless.obstacles is None else walls(wireless.obstacles, folder, anchor)
    return LinkBudget(wireless.path_loss, wireless.shadowing, town, seed, FARTHEST_M)


def fading_of(wireless: SinrKeys) -> Fading | None:
    return None if wireless.fading is None else Fading(wireless.fading)


def _strongest_dbm(wireless: SinrKeys) -> float:
    return max(wireless.tx_dbm, station_tx_dbm(wireless))


def _distance_m(wireless: SinrKeys, tx_dbm: float, left_cdbm: int, links: tuple[int, ...] = (1,)) -> float:
    """Return the distance at which the mean received power is `left_cdbm`. `links` contains the possible numbers of
    stations among both ends of a link, which matter only with umi.
    """
    kinds = links if wireless.path_loss.model == "umi" else (1,)
    most_cdb = hundredths(tx_dbm) - left_cdbm
    return max(median_reach_m(loss_table(wireless.path_loss, FARTHEST_M, stations), most_cdb) for stations in kinds)
