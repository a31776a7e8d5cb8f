"""Compute how long a frame occupies the medium, and how long nodes wait between frames.

Model     DSSS/CCK with the long preamble, and OFDM in 20 MHz. There are no bit errors.
Units     Times are integer nanoseconds, rates are in Mb/s, and sizes are bytes of PSDU (MAC header and FCS included).
Errors    ValueError for a rate that does not exist in the mode.
Source    IEEE 802.11-2016, clauses 15-18 (timing), 10.3 (interframe spaces), 10.7 (rate of control responses)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from mobilenet.engine.clock import MICROSECOND

ACK_BYTES = 14
DSSS_RATES = (1, 2, 5.5, 11)
OFDM_RATES = (6, 9, 12, 18, 24, 36, 48, 54)
DSSS_PREAMBLE_NS = 192 * MICROSECOND
OFDM_PREAMBLE_NS = 20 * MICROSECOND
OFDM_SYMBOL_NS = 4 * MICROSECOND


@dataclass(frozen=True, slots=True)
class Mode:
    """A mode of 802.11 with its rates and contention parameters."""

    name: str
    slot_ns: int
    sifs_ns: int
    cw_min: int
    cw_max: int
    rates_mbps: tuple[float, ...]
    basic_rates_mbps: tuple[float, ...]  # rates for ACKs
    signal_extension_ns: int  # idle time after an OFDM frame in the 2.4 GHz band

    @property
    def difs_ns(self) -> int:
        return self.sifs_ns + 2 * self.slot_ns

    @property
    def eifs_ns(self) -> int:
        """The wait after a frame that arrived broken. It leaves time for an ACK at the slowest basic rate."""
        return self.sifs_ns + self.airtime_ns(ACK_BYTES, self.basic_rates_mbps[0]) + self.difs_ns

    def airtime_ns(self, psdu_bytes: int, rate_mbps: float) -> int:
        """Return the duration of a frame, including its preamble and header."""
        if rate_mbps not in self.rates_mbps:
            raise ValueError(f"802.11 mode {self.name} has no rate of {rate_mbps} Mb/s")
        if rate_mbps in DSSS_RATES:
            return DSSS_PREAMBLE_NS + ceil(8 * psdu_bytes * MICROSECOND / rate_mbps)
        bits_per_symbol = rate_mbps * OFDM_SYMBOL_NS / MICROSECOND
        symbols = ceil((16 + 8 * psdu_bytes + 6) / bits_per_symbol)  # service field, PSDU and tail
        return OFDM_PREAMBLE_NS + symbols * OFDM_SYMBOL_NS + self.signal_extension_ns

    def ack_rate_mbps(self, rate_mbps: float) -> float:
        """Return the fastest basic rate of the same modulation family that does not exceed the rate of the frame."""
        family = DSSS_RATES if rate_mbps in DSSS_RATES else OFDM_RATES
        slower = [rate for rate in self.basic_rates_mbps if rate in family and rate <= rate_mbps]
        return slower[-1] if slower else self.basic_rates_mbps[0]


_US = MICROSECOND
MODES = {
    "b": Mode("b", 20 * _US, 10 * _US, 31, 1023, DSSS_RATES, (1, 2), 0),
    "g_mixed": Mode("g_mixed", 20 * _US, 10 * _US, 31, 1023, DSSS_RATES + OFDM_RATES, (1, 2, 5.5, 11, 6, 12, 24),
    6 * _US),
    "g_erp": Mode("g_erp", 9 * _US, 10 * _US, 15, 1023, DSSS_RATES + OFDM_RATES, (1, 2, 5.5, 11, 6, 12, 24), 6 * _US),
    "a": Mode("a", 9 * _US, 16 * _US, 15, 1023, OFDM_RATES, (6, 12, 24), 0),
}  # fmt: skip
MODES["g"] = MODES["g_erp"]
