"""Compute bit errors at each rate and SINR. They determine whether a frame survives.

Model     n bits at a constant SINR survive with probability (1 - p)^n. The tables contain -ln(1 - p) per bit, as an
          integer for each hundredth of a dB. These costs can be added, so a single exponential gives the probability
          for a whole frame. OFDM: the uncoded bit error rate of the modulation in white noise, and the union bound of a
          convolutional code of memory 6 (constraint length 7) with the weights of its free distances. DSSS: DBPSK and
          DQPSK, uncoded, with the gain of the spreading. CCK: symbols of a biorthogonal alphabet of 16 or 256 with
          coherent detection, at half of the SNR of a symbol (8 times the SNR in 22 MHz). A symbol error counts as an
          error of the first bit of the symbol.
Units     SINRs are in hundredths of a dB (`_cdb`). Costs are in 2**-30 nats (survival.py).
Shapes    The costs of a rate are int (HIGHEST_CDB - LOWEST_CDB + 1,).
Source    M. Pursley, D. Taipale: Error Probabilities for Spread-Spectrum Packet Radio with Convolutional Codes and
          Viterbi Decoding (1987), bounds for orthogonal and coded signals; G. Pei, T. Henderson: Validation of OFDM
          error rate model in ns-3 (2010) for the weights; G. Ferrari, G. Corazza: Tight bounds and accurate
          approximations for DQPSK transmission bit error rate (2004); J. Proakis: Digital Communications, biorthogonal
          signals; docs/models/sinr.md
"""

from __future__ import annotations

from functools import cache
from math import exp, sqrt

import numpy as np
from numpy.typing import NDArray

from mobilenet.network.radio.sinr.survival import HIGHEST_CDB, LOWEST_CDB, NAT

HALF = (10, (36, 0, 211, 0, 1404, 0, 11633, 0, 77433, 0, 502690, 0, 3322763, 0, 21292910, 0, 134365911), 0.5)
TWO_THIRDS = (6, (3, 70, 285, 1276, 6160, 27128, 117019, 498860, 2103891, 8784123), 0.25)
THREE_QUARTERS = (
    5, (42, 201, 1492, 10469, 62935, 379644, 2253373, 13073811, 75152755, 428005675), 1 / 6,
)  # fmt: skip
Code = tuple[int, tuple[int, ...], float]
# For each rate, the number of points of the constellation and the code.
OFDM: dict[float, tuple[int, Code]] = {
    6: (2, HALF), 9: (2, THREE_QUARTERS), 12: (4, HALF), 18: (4, THREE_QUARTERS),
    24: (16, HALF), 36: (16, THREE_QUARTERS), 48: (64, TWO_THIRDS), 54: (64, THREE_QUARTERS),
}  # fmt: skip
Floats = NDArray[np.float64]


@cache
def costs(rate_mbps: float) -> list[int]:
    """Return -ln(1 - p) for a bit, in 2**-30 nats. The index of the list is the SINR minus LOWEST_CDB, up to and
    including HIGHEST_CDB.
    """
    snr = 10.0 ** (np.arange(LOWEST_CDB, HIGHEST_CDB + 1) / 1000.0)
    if rate_mbps in OFDM:
        wrong = np.minimum(1.0, _union_bound(*OFDM[rate_mbps], snr))
    elif rate_mbps == 1:
        wrong = 0.5 * np.exp(-22.0 * snr)
    elif rate_mbps == 2:
        energy = 11.0 * snr
        wrong = np.minimum(
            0.75, (sqrt(2) + 1) / sqrt(8 * np.pi * sqrt(2)) / np.sqrt(energy) * np.exp(-(2 - sqrt(2)) * energy)
        )
    else:
        alphabet, bits = {5.5: (16, 4), 11: (256, 8)}[rate_mbps]
        return [cost // bits for cost in _nats(_wrong_symbols(alphabet, snr))]
    return _nats(wrong)


def _nats(wrong: Floats) -> list[int]:
    with np.errstate(divide="ignore"):
        nats = np.minimum(64.0, -np.log1p(-wrong))
    return [int(nat) for nat in np.rint(nats * NAT)]


def _union_bound(points: int, code: Code, snr: Floats) -> Floats:
    """Return the probability that a bit is wrong after decoding. This is a union bound, which may exceed 1."""
    # This import and that of quad below are made here because runs with the unit disk do not need scipy's functions.
    from scipy.special import erfc

    if points == 2:
        uncoded = 0.5 * erfc(np.sqrt(snr))
    elif points == 4:
        uncoded = 0.5 * erfc(np.sqrt(snr / 2))
    else:
        root = sqrt(points)
        uncoded = (root - 1) / (root * np.log2(root)) * erfc(np.sqrt(snr / (2 * (points - 1) / 3)))
    first, weights, factor = code
    d = np.sqrt(4 * uncoded * (1 - uncoded))
    return np.asarray(factor * sum(weight * d ** (first + i) for i, weight in enumerate(weights)))


def _wrong_symbols(alphabet: int, snr: Floats) -> Floats:
    """Return the symbol error rate of a biorthogonal alphabet with coherent detection. Values between whole tenths of a
    dB are interpolated.
    """
    from scipy.integrate import quad
    from scipy.special import erf

    coarse = slice(None, None, 10)

    def wrong(energy: float) -> float:
        bias = sqrt(2 * energy)
        whole, _ = quad(
            lambda x: erf((x + bias) / sqrt(2)) ** (alphabet // 2 - 1) * exp(-x * x / 2), -bias, max(9.0 - bias, 9.0)
        )
        return min(1.0, max(0.0, 1 - float(whole) / sqrt(2 * np.pi)))

    taken = np.array([wrong(8 * s) for s in snr[coarse]])
    grid = np.arange(len(snr), dtype=np.float64)
    return np.asarray(np.interp(grid, grid[coarse], taken))
