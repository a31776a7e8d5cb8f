"""Tests of fading: it follows a gamma distribution with mean 1 and is identical, bit for bit, on every machine."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammainc

from mobilenet.network.propagation.fading import PIECES, Fading, gains_cdb
from mobilenet.network.propagation.parameters import FadingParameters
from tests.network.propagation.digest import digest

SHAPES = [0.5, 0.75, 1.0, 1.5, 5.0, 50.0]


@pytest.mark.parametrize("m", SHAPES)
def test_fading_has_a_mean_power_of_one(m: float) -> None:
    powers = 10 ** (np.array(gains_cdb(m)) / 1000)
    assert powers.mean() == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("m", SHAPES)
def test_fading_outage_follows_the_gamma_distribution(m: float) -> None:
    gains = np.array(gains_cdb(m))
    assert len(gains) == PIECES and (np.diff(gains) >= 0).all()
    for level_db in (-30, -20, -10, -5, 0, 3, 6):
        share = (gains < 100 * level_db).mean()
        # Gains are rounded to 0.01 dB, so all gains within 0.005 dB of this level are rounded to it.
        low, high = (gammainc(m, m * 10 ** ((level_db + e) / 10)) for e in (-0.005, 0.005))
        assert low - 1 / PIECES <= share <= high + 1 / PIECES


def test_fading_depends_on_near_or_far_distance() -> None:
    fading = Fading(FadingParameters())
    near, far = gains_cdb(1.5), gains_cdb(0.75)
    for u in (0, 1 << 18, (1 << 18) - 1, 1 << 31, (1 << 32) - 1):
        assert fading.gain_cdb(u, 79.99) == near[u * PIECES >> 32]
        assert fading.gain_cdb(u, 80.0) == far[u * PIECES >> 32]
    assert fading.most_cdb == far[-1] > near[-1]
    assert Fading(FadingParameters(near_m=0.0)).gain_cdb(5, 0.0) == far[0]


def test_fading_gains_have_the_same_bits_on_every_machine() -> None:
    assert [digest(gains_cdb(m)) for m in (1.5, 0.75, 1.0)] == [
        "c33b9f4739fe8b8c",
        "582a1cfa2440babc",
        "9c103cdde7dc4f91",
    ]
