"""Compute the thresholds of a radio with SINR, and the probability that a frame survives noise and interference.

Model     The noise is thermal noise at 290 K in the band of the frame (22 MHz for DSSS and CCK, 20 MHz for OFDM), plus
          the receiver's noise figure. A frame consists of a PHY header at the lowest rate of its family and a payload
          at its own rate. The preamble matters only for detection.
Units     Ratios are in hundredths of a dB, powers in hundredths of a dBm or zeptowatts, distances in metres, times in
          nanoseconds, and probabilities in 2**-32.
Source    IEEE 802.11-2016, clauses 15 to 18, for headers; ns-3 3.44 for the defaults; ours: docs/models/sinr.md
"""

from __future__ import annotations

from math import log10
from typing import Final

from mobilenet.network.radio.sinr.bit_errors import costs
from mobilenet.network.radio.sinr.decibels import cdbm_of, zeptowatts
from mobilenet.network.radio.sinr.survival import CERTAIN, HIGHEST_CDB, LOWEST_CDB, chance_of, cost_of

THERMAL_DBM_PER_HZ: Final = -173.975
STRONG_CDB: Final = 2_000
DSSS_SYNC_NS: Final = 144_000
DSSS_HEADER_NS: Final = 48_000
OFDM_TRAINING_NS: Final = 16_000
OFDM_SIGNAL_NS: Final = 4_000


class Reception:
    """The thresholds of reception, which are the same at every node."""

    __slots__ = (
        "_clear",
        "_extension_ns",
        "_noise",
        "_noise_cdbm",
        "_tables",
        "_tx_host",
        "_tx_station",
        "capture_cdb",
        "cutoff_m",
        "energy_cdbm",
        "floor_cdbm",
        "lowest_cdb",
        "preamble_rssi_cdbm",
        "preamble_sinr_cdb",
        "reach_m",
        "strong_cdbm",
    )  # fmt: skip

    def __init__(
        self,
        tx_dbm: float,
        station_tx_dbm: float,
        noise_figure_db: float,
        preamble_rssi_dbm: float,
        preamble_sinr_db: float,
        ed_threshold_dbm: float,
        capture_db: float | None,
        signal_extension_ns: int,
        rates_mbps: tuple[float, ...],
        reach_m: float,
        cutoff_m: float,
    ) -> None:
        """Compute the thresholds. `rates_mbps` are all rates in use. Beyond `reach_m`, preambles are not detected and
        energy is not sensed. Beyond `cutoff_m`, a frame does not interfere.
        """
        self._tx_host, self._tx_station = hundredths(tx_dbm), hundredths(station_tx_dbm)
        self.preamble_rssi_cdbm = hundredths(preamble_rssi_dbm)
        self.preamble_sinr_cdb = hundredths(preamble_sinr_db)
        self.energy_cdbm = hundredths(ed_threshold_dbm)
        self.strong_cdbm = self.energy_cdbm - STRONG_CDB
        self.floor_cdbm = min(self.preamble_rssi_cdbm, self.strong_cdbm)
        self.capture_cdb = None if capture_db is None else hundredths(capture_db)
        self.lowest_cdb = 0  # the lowest SINR of the frame for which `chance` was called last
        self.reach_m = reach_m
        self.cutoff_m = cutoff_m
        self._extension_ns = signal_extension_ns
        # The index is False for OFDM and True for DSSS.
        self._noise_cdbm = [reception_noise_cdbm(rate, noise_figure_db) for rate in (6.0, 1.0)]
        self._noise = [zeptowatts(cdbm) for cdbm in self._noise_cdbm]
        self._tables = {rate: costs(rate) for rate in sorted({*rates_mbps, *map(self._header_mbps, rates_mbps)})}
        self._clear = {
            rate: self.noise_cdbm_of(rate) + max(_clear(table), _clear(self._tables[self._header_mbps(rate)]))
            for rate, table in self._tables.items()
        }

    def tx_cdbm(self, is_station: bool) -> int:
        return self._tx_station if is_station else self._tx_host

    def noise_of(self, rate_mbps: float) -> int:
        """Return the noise within the bandwidth of this rate, in zeptowatts."""
        return self._noise[_is_dsss(rate_mbps)]

    def noise_cdbm_of(self, rate_mbps: float) -> int:
        return self._noise_cdbm[_is_dsss(rate_mbps)]

    def detected_cdbm(self, rate_mbps: float) -> int:
        """Return the minimum power at which the preamble of a frame is detected in silence."""
        return max(self.preamble_rssi_cdbm, self.noise_cdbm_of(rate_mbps) + self.preamble_sinr_cdb)

    def clear_cdbm(self, rate_mbps: float) -> int:
        """Return the minimum power at which a frame is certain to survive the noise."""
        return self._clear[rate_mbps]

    def _header_mbps(self, rate_mbps: float) -> float:
        return 1.0 if _is_dsss(rate_mbps) else 6.0

    def chance(
        self, rate_mbps: float, power_cdbm: int, first: int, duration_ns: int, changes: list[tuple[int, int]]
    ) -> int:
        """Return the probability, in 2**-32, that all bits of a frame are right. `changes` contains the times (ns) and
        steps (zeptowatts) of the interference.
        """
        is_dsss = _is_dsss(rate_mbps)
        header = first + (DSSS_SYNC_NS if is_dsss else OFDM_TRAINING_NS)
        payload = header + (DSSS_HEADER_NS if is_dsss else OFDM_SIGNAL_NS)
        end = first + duration_ns - (0 if is_dsss else self._extension_ns)
        header_table, table = self._tables[self._header_mbps(rate_mbps)], self._tables[rate_mbps]
        header_halves, halves = (2 if is_dsss else 12), int(2 * rate_mbps)  # rates in units of 0.5 Mb/s
        noise = self._noise[is_dsss]
        around = 0
        at = header
        cost = 0
        lowest = power_cdbm - self._noise_cdbm[is_dsss]
        for time, change in (*sorted(changes), (end, 0)):
            until = min(time, end)
            if until > at:
                level = cdbm_of(noise + around) if around else self._noise_cdbm[is_dsss]
                sinr = power_cdbm - level
                if sinr < lowest:
                    lowest = sinr
                if at < payload:
                    cost += cost_of(header_table, sinr, header_halves * (min(until, payload) - at) // 2)
                if until > payload:
                    cost += cost_of(table, sinr, halves * (until - max(at, payload)) // 2)
                at = until
            around += change
        self.lowest_cdb = lowest
        return chance_of(cost) if cost < CERTAIN else 0


def _is_dsss(rate_mbps: float) -> bool:
    return rate_mbps in (1.0, 2.0, 5.5, 11.0)


def hundredths(db: float) -> int:
    return round(db * 100)


def reception_noise_cdbm(rate_mbps: float, noise_figure_db: float) -> int:
    """Return the power of the noise for a frame of this rate."""
    return hundredths(noise_dbm(22e6 if _is_dsss(rate_mbps) else 20e6, noise_figure_db))


def noise_dbm(bandwidth_hz: float, noise_figure_db: float) -> float:
    return THERMAL_DBM_PER_HZ + 10 * log10(bandwidth_hz) + noise_figure_db


def _clear(table: list[int]) -> int:
    """Return the SINR from which on the cost of a bit is zero."""
    last = max((i for i, cost in enumerate(table) if cost), default=-1)
    return LOWEST_CDB + last + 1 if last + 1 < len(table) else HIGHEST_CDB
