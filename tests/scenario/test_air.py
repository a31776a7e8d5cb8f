"""What a scenario lets the verifier know of its radio is what the radio itself does.

Source    ours: docs/models/radio.md, docs/models/sinr.md
"""

from __future__ import annotations

from math import hypot
from pathlib import Path

import numpy as np
import pytest

from mobilenet.engine.random_streams import Stream
from mobilenet.expected import air
from mobilenet.expected.air import airtime
from mobilenet.expected.expectations import STRENGTH_STEP_M
from mobilenet.expected.strengths import strengths
from mobilenet.network.radio import interference
from mobilenet.network.radio.framing import Framing
from mobilenet.network.radio.links import budget_of, fading_of, reception_of
from mobilenet.network.radio.parameters import WirelessParameters
from mobilenet.network.radio.phy import MODES

SIZES = (*range(300), 1499, 1500, 2304, 65_535, 1_000_001)


@pytest.mark.parametrize(("mode", "rate_mbps"), [(mode, rate) for mode in MODES for rate in MODES[mode].rates_mbps])
def test_air_times_of_dcf(mode: str, rate_mbps: float) -> None:
    wireless = WirelessParameters(mode=mode, broadcast_rate_mbps=rate_mbps, unicast_rate_mbps=rate_mbps)
    air_time = airtime(wireless, rate_mbps)
    assert [air_time.of(size) for size in SIZES] == [MODES[mode].airtime_ns(size, rate_mbps) for size in SIZES]


@pytest.mark.parametrize("bitrate_mbps", [0.01, 0.05, 0.7, 12.0, 1 / 3, 9_999.0])
def test_air_times_of_acking(bitrate_mbps: float) -> None:
    wireless = WirelessParameters(mac="acking", bitrate_mbps=bitrate_mbps)
    framing, air_time = Framing(wireless), airtime(wireless, bitrate_mbps)
    around = framing.datagram(0)[0]
    assert [air_time.of(size + around) for size in SIZES] == [framing.datagram(size)[1] for size in SIZES]


@pytest.mark.parametrize("fading", [None, {}])
@pytest.mark.parametrize("shadowing", [None, {"sigma_db": 6}])
@pytest.mark.parametrize("model", ["log_distance", "three_slope", "free_space", "umi"])
def test_no_link_is_stronger_or_weaker_than_the_tables_allow(
    model: str, shadowing: dict[str, float] | None, fading: dict[str, float] | None
) -> None:
    wireless = WirelessParameters.model_validate(
        {"model": "sinr", "tx_dbm": 10, "path_loss": {"model": model}, "shadowing": shadowing, "fading": fading}
    )
    budget, rules, draws = budget_of(wireless, 3, Path(), None), reception_of(wireless), Stream(1, "places")
    gains = fading_of(wireless)
    detected_dbm = rules.detected_cdbm(wireless.broadcast_rate_mbps) / 100
    for kinds, strength in strengths(wireless).items():
        assert bool(strength.least_dbm) == (fading is None)
        for _ in range(300):
            a = draws.uniform(0, 500), draws.uniform(0, 500)
            b = a[0] + draws.uniform(-200, 200), a[1] + draws.uniform(-200, 200)
            far_m = hypot(a[0] - b[0], a[1] - b[1])
            power_cdbm = rules.tx_cdbm(kinds[0]) - budget.loss_cdb(*a, kinds[0], *b, kinds[1])
            if gains is not None:
                power_cdbm += gains.gain_cdb(int(draws.uniform(0, 2**32 - 1)), far_m)
            power_dbm = power_cdbm / 100
            assert power_dbm <= strength.most_dbm[int(far_m / STRENGTH_STEP_M)]
            if fading is None:
                assert power_dbm >= strength.least_dbm[int(np.ceil(far_m / STRENGTH_STEP_M)) + 1]
            assert power_dbm < detected_dbm or far_m <= strength.far_m
            assert power_dbm >= detected_dbm or far_m > strength.near_m


@pytest.mark.parametrize("model", ["log_distance", "three_slope", "free_space"])
def test_how_far_frames_reach_is_exact_to_a_centimetre(model: str) -> None:
    """The radio rounds distances to whole centimetres: a frame is received up to half of one beyond the last."""
    wireless = WirelessParameters.model_validate(  # energy is felt farther away than frames are received
        {"model": "sinr", "tx_dbm": 10, "path_loss": {"model": model}, "ed_threshold_dbm": -99}
    )
    budget, rules = budget_of(wireless, 3, Path(), None), reception_of(wireless)
    detected_cdbm = rules.detected_cdbm(wireless.broadcast_rate_mbps)
    strength = strengths(wireless)[False, True]
    received = []
    for far_m in strength.far_m + np.arange(-0.02, 0.02, 0.0005):
        if rules.tx_cdbm(False) - budget.loss_cdb(0, 0, False, float(far_m), 0, True) >= detected_cdbm:
            received.append(float(far_m))
    assert received and strength.far_m - 0.001 <= max(received) <= strength.far_m


def test_the_farthest_interference_is_that_of_the_radio() -> None:
    assert air.FARTHEST_NS == interference.FARTHEST_NS
