"""Multipath fading: the power that a frame gains or loses at a receiver because its waves take many paths.

Model     Nakagami fading: the power is gamma distributed with shape m and mean 1. A different m applies from the
          distance `near_m` on. The distribution is divided into 2^14 equally likely intervals, each represented by the
          gain at its middle.
Units     Gains are integers in hundredths of a dB (cdb), distances are in metres, and random draws are integers below
          2^32.
Same bits Each query looks up an integer in a table. A test compares the digests of the tables with their expected
          values.
Source    Nakagami: The m-Distribution (1960); ns-3's NakagamiPropagationLossModel for the shapes
"""

from __future__ import annotations

from functools import cache

import numpy as np

from mobilenet.network.propagation.parameters import FadingParameters

PIECES = 1 << 14


class Fading:
    """Contains the fading gains of one scenario."""

    def __init__(self, parameters: FadingParameters) -> None:
        self._near = gains_cdb(parameters.m_near)
        self._far = gains_cdb(parameters.m_far)
        self._near_m = parameters.near_m
        self.most_cdb: int = max(self._near[-1], self._far[-1])

    def gain_cdb(self, u: int, distance_m: float) -> int:
        """Return the gain for `u`, a uniform integer from 0 to 2^32 - 1 that was drawn for this frame and this
        receiver.
        """
        # The index of the interval is u divided by 2^32 / PIECES.
        return (self._near if distance_m < self._near_m else self._far)[u >> 18]


@cache
def gains_cdb(m: float) -> list[int]:
    """Return the gains of the equally likely intervals in increasing order."""
    # This import takes a tenth of a second, and runs without fading do not need it.
    from scipy.special import gammaincinv

    powers = gammaincinv(m, (np.arange(PIECES) + 0.5) / PIECES) / m
    known: dict[int, int] = {}
    return [known.setdefault(gain, gain) for gain in np.round(1000 * np.log10(powers)).astype(np.int64).tolist()]
