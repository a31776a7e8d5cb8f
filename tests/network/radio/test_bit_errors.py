"""Tests of frame survival by SINR, against values measured with the error models of ns-3 3.44 and against exact
results.
"""

from __future__ import annotations

import hashlib
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobilenet.engine.keyed_draws import RANGE, KeyedDraws, mix
from mobilenet.network.radio.phy import MODES
from mobilenet.network.radio.sinr.bit_errors import costs
from mobilenet.network.radio.sinr.decibels import cdbm_of, times, zeptowatts
from mobilenet.network.radio.sinr.links import reception_of
from mobilenet.network.radio.sinr.reception import noise_dbm
from mobilenet.network.radio.sinr.survival import CHANCE, NAT, chance_of, cost_of
from mobilenet.network.wireless import WirelessParameters

TOLERANCE = 0.005


@pytest.mark.parametrize(
    ("rate_mbps", "sinr_db", "survive"),
    [
        (6, 3, 0.020), (6, 4, 0.885), (9, 7, 0.918), (12, 7, 0.881), (18, 9.5, 0.623), (24, 13, 0.495), (24, 14, 0.974),
        (36, 16.5, 0.818),
    ],
)  # fmt: skip
def test_error_rates_of_ofdm_frames_agree_with_ns_3(rate_mbps: float, sinr_db: float, survive: float) -> None:
    chance = chance_of(cost_of(costs(rate_mbps), round(100 * sinr_db), 8 * 2000 * 1000))
    assert chance / CHANCE == pytest.approx(survive, abs=TOLERANCE)


@pytest.mark.parametrize(
    ("rate_mbps", "power_dbm", "survive"),
    [(1, -98, 0.202), (1, -97, 0.813), (1, -96, 0.984), (2, -94, 0.036), (2, -93, 0.519), (2, -92, 0.915)],
)
def test_error_rates_of_dsss_frames_agree_with_ns_3(rate_mbps: float, power_dbm: float, survive: float) -> None:
    sinr_cdb = 100 * power_dbm - round(100 * noise_dbm(22e6, 7))
    chance = chance_of(cost_of(costs(rate_mbps), sinr_cdb, 8 * 1078 * 1000))
    assert chance / CHANCE == pytest.approx(survive, abs=TOLERANCE)


def test_faster_dsss_rates_need_a_higher_sinr() -> None:
    def half(rate_mbps: float) -> int:
        return next(s for s in range(-2000, 5000) if chance_of(cost_of(costs(rate_mbps), s, 8_624_000)) > CHANCE // 2)

    assert half(1) < half(2) < half(5.5) < half(11) < 1000


@pytest.mark.parametrize("rate_mbps", [1, 2, 5.5, 11, 6, 9, 12, 18, 24, 36, 48, 54])
def test_a_stronger_signal_never_has_more_bit_errors(rate_mbps: float) -> None:
    table = costs(rate_mbps)
    assert len(table) == 7001 and table[-1] == 0 and table[0] > 0
    assert all(a >= b for a, b in pairwise(table))


def test_error_tables_have_the_same_bits_on_every_machine() -> None:
    rates = (1, 2, 5.5, 11, 6, 9, 12, 18, 24, 36, 48, 54)
    text = repr([costs(rate) for rate in rates] + [[zeptowatts(cdbm) for cdbm in range(-19_000, 6_001)]])
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "fcb6c8d5cf2f41bf"


@given(st.floats(0, 40))
def test_the_integer_exponential_function_is_accurate(nats: float) -> None:
    assert chance_of(round(nats * NAT)) / CHANCE == pytest.approx(math.exp(-nats), abs=2e-6)


@given(st.integers(-15_000, 3_000))
def test_power_and_decibel_conversions_are_inverse(cdbm: int) -> None:
    assert abs(cdbm_of(zeptowatts(cdbm)) - cdbm) <= 1


@given(st.integers(1, 10**22))
def test_any_power_can_be_converted_to_decibels(power: int) -> None:
    assert abs(cdbm_of(power) - 1000 * math.log10(power / 1e18)) <= 1.0


def test_adding_equal_powers_depends_only_on_their_number() -> None:
    assert [times(count) for count in (1, 2, 10, 256)] == [0, 301, 1000, 2408]
    assert times(10**6) >= 6000


def test_error_probabilities_of_header_and_payload_combine() -> None:
    """At 6 Mb/s, the 24 bits of the header have one SINR and the payload has another one. The expected result is
    computed by hand.
    """
    rules = reception_of(WirelessParameters(model="sinr", mode="g", broadcast_rate_mbps=6))
    noise_mw = 10 ** (round(100 * noise_dbm(20e6, 7)) / 1000)
    power_dbm, bits = -88.0, 1336
    duration_ns = MODES["g"].airtime_ns(164, 6)
    interference_mw = 10**-9.3
    from_ns, until_ns = 100_000, 163_457  # whole nanoseconds within the payload
    table = costs(6)

    def sinr_cdb(other_mw: float) -> int:
        return round(1000 * math.log10(10 ** (power_dbm / 10) / (noise_mw + other_mw)))

    disturbed = 6 * (until_ns - from_ns) / 1000
    payload_ns = duration_ns - 20_000 - 6_000
    assert 6 * payload_ns / 1000 == bits + 8  # The last symbol is padded.
    cost = cost_of(table, sinr_cdb(0), 24_000) + cost_of(table, sinr_cdb(0), round(1000 * (bits + 8 - disturbed)))
    cost += cost_of(table, sinr_cdb(interference_mw), round(1000 * disturbed))
    power = zeptowatts(-9300)
    changes = [(from_ns + 7, power), (until_ns + 7, -power)]
    chance = rules.chance(6, -8800, 7, duration_ns, changes)
    assert 0.05 * CHANCE < chance < 0.95 * CHANCE
    assert chance / CHANCE == pytest.approx(math.exp(-cost / NAT), abs=1e-5)
    assert rules.lowest_cdb == pytest.approx(sinr_cdb(interference_mw), abs=1)


def test_a_reception_draw_depends_only_on_its_frame_and_node() -> None:
    draws, others = KeyedDraws(7, "reception"), KeyedDraws(8, "reception")
    assert draws.draw(5, 9) == draws.draw(5, 9) != others.draw(5, 9)
    values = [draws.draw(frame, node) for frame in range(300) for node in range(100)]
    assert len(set(values)) > 0.999 * len(values) and all(0 <= value < RANGE for value in values)
    tenths = [sum(value * 10 // RANGE == tenth for value in values) for tenth in range(10)]
    assert all(abs(count - 3000) < 5 * math.sqrt(3000 * 0.9) for count in tenths)
    for step in (1, 100):  # Neighbouring draws are independent.
        pairs = list(zip(values, values[step:], strict=False))
        mean = sum((a / RANGE - 0.5) * (b / RANGE - 0.5) for a, b in pairs) / len(pairs)
        assert abs(mean * 12) < 5 / math.sqrt(len(pairs))


@given(st.integers(0, RANGE - 1), st.integers(0, 31))
def test_the_hash_of_draws_changes_with_each_input_bit(x: int, bit: int) -> None:
    assert bin(mix(x) ^ mix(x ^ 1 << bit)).count("1") >= 2
