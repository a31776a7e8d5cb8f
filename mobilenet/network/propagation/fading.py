"""Multipath fading: how much a frame gains or loses at a receiver because its waves take many paths.

Model     Nakagami: the power is gamma distributed with shape m and mean 1, with another m from `near_m` on. The
          distribution is cut into 2^14 equally likely pieces, each with the gain in its middle
Units     hundredths of a dB, whole (cdb); metres; draws are whole numbers below 2^32
Same bits every query looks up a whole number; a test holds the tables against their digests
Source    Nakagami: The m-Distribution (1960); ns-3's NakagamiPropagationLossModel for the shapes
"""

from __future__ import annotations

from functools import cache

import numpy as np

from mobilenet.network.propagation.parameters import FadingParameters

PIECES = 1 << 14


class Fading:
    """The gains of one scenario."""

    def __init__(self, parameters: FadingParameters) -> None:
        self._near = gains_cdb(parameters.m_near)
        self._far = gains_cdb(parameters.m_far)
        self._near_m = parameters.near_m
        self.most_cdb: int = max(self._near[-1], self._far[-1])

    def gain_cdb(self, u: int, distance_m: float) -> int:
        """Return the gain for `u`, a uniform number from 0 to 2^32 - 1 drawn for the frame and the receiver."""
        return (self._near if distance_m < self._near_m else self._far)[u >> 18]  # 2^32 / PIECES


@cache
def gains_cdb(m: float) -> list[int]:
    """Return the gains of equally likely pieces, in rising order."""
    from scipy.special import gammaincinv  # a tenth of a second, which a run without fading need not wait for

    powers = gammaincinv(m, (np.arange(PIECES) + 0.5) / PIECES) / m
    known: dict[int, int] = {}
    return [known.setdefault(gain, gain) for gain in np.round(1000 * np.log10(powers)).astype(np.int64).tolist()]
