"""Tests of reception by SINR in small scenes, against values computed by hand."""

from __future__ import annotations

from math import log10

import pytest

from mobilenet.network.propagation.walls import Walls
from mobilenet.network.radio.transceiver import NEVER
from tests.network.radio.air import Script
from tests.network.radio.sinr_air import NOISE_MW, SinrAir, milliwatts, received_dbm, sinr_air

LIGHT_M_PER_NS = 0.299792458
BUSY_FROM_PREAMBLE_NS = 4_000


def delay_ns(distance_m: float) -> int:
    return int(distance_m / LIGHT_M_PER_NS + 0.5)


def reaches(distance_m: float, **wireless: object) -> bool:
    air, a, b = sinr_air(0, distance_m, **wireless)
    a.send_at_us(1000, "A")
    air.run_us(5000)
    return [name for _, name in b.received] == ["A"]


def test_reception_by_power_ends_where_the_formula_says() -> None:
    """The formula gives a range of 10 ** ((20.4 + 82 - 40.05) / 30) = 119.77 m."""
    assert reaches(119.67) and not reaches(119.87)
    assert reaches(100 * 10 ** (-1 / 30) * 1.1977 - 0.1, tx_dbm=19.4)  # one decibel less transmission power
    assert not reaches(100 * 10 ** (-1 / 30) * 1.1977 + 0.1, tx_dbm=19.4)
    near = 10 ** ((20.4 + 70 - 40.05) / 30)
    assert reaches(near - 0.05, preamble_rssi_dbm=-70) and not reaches(near + 0.05, preamble_rssi_dbm=-70)


def test_an_undetected_frame_has_no_effect_on_a_receiver() -> None:
    air, a, b = sinr_air(0, 130)
    a.send_at_us(1000, "A")
    air.run_us(5000)
    assert air.frames["A"].receivers == [] and b.transceiver.lock_until == NEVER and b.transceiver.busy_until == NEVER


def test_interference_from_a_hidden_terminal_is_exact() -> None:
    """A sends to B over 60 m. C is on the far side of B at 150 m, cannot hear A, and starts to send during the payload
    of A.
    """
    air, a, b, c = sinr_air(-60, 0, 150)
    a.send_at_us(1000, "A")
    c.send_at_ns(1_100_000, "C")
    seen: list[tuple[int, int]] = []
    first = 1_000_000 + delay_ns(60)

    def look() -> None:
        frame, others = air.sinr._in_air[1], air.sinr._around.frames
        seen.extend(air.sinr._around.changes(frame, b.transceiver, first, [o for o in others if o is not frame]))

    air.at_us(1150, look)
    air.run_us(5000)
    assert air.frames["C"].start_ns == 1_100_000
    duration = air.frames["A"].duration_ns
    begins, ends = 1_100_000 + delay_ns(150), 1_100_000 + delay_ns(150) + duration
    assert [at for at, _ in seen] == [begins, ends]
    power_mw = milliwatts(received_dbm(150))
    assert seen[0][1] == -seen[1][1] == pytest.approx(power_mw * 1e18, rel=0.0012)  # a tolerance of 0.005 dB
    assert air.power_dbm("A", b) == pytest.approx(received_dbm(60), abs=0.0051)
    expected_db = received_dbm(60) - 10 * log10(NOISE_MW + power_mw)
    assert air.sinr_db("A", b) == pytest.approx(expected_db, abs=0.0151) and 11 < expected_db < 12
    assert air.outcomes("A")["n1"] == "received"


def test_a_retransmitted_frame_interferes_once() -> None:
    """A repeats a frame that is never acknowledged. B receives a frame from C during the third attempt."""
    air, a, b, c, gone = sinr_air(-150, 0, 60, -1000)
    a.send_at_us(1000, "A", 100, gone, True)
    seen: list[tuple[int, int]] = []

    def look() -> None:
        frame = air.frames["C"] = air.sinr._in_air[max(air.sinr._in_air)]
        others = [other for other in air.sinr._around.frames if other is not frame]
        starts = [other.start_ns for other in others if other.sender is a.transceiver]
        assert len(set(starts)) == len(starts)
        seen.extend(air.sinr._around.changes(frame, b.transceiver, frame.start_ns + delay_ns(60), others))

    def with_the_third() -> None:
        if air.sinr._around.frames[-1].retries == 2 and not seen:
            c.send("C")
            air.at_ns(air.kernel.now + 60_000, look)
        elif not seen:
            air.at_ns(air.kernel.now + 10_000, with_the_third)

    air.at_us(1100, with_the_third)
    air.run_us(20_000)
    assert [change > 0 for _, change in seen] == [True, False]
    assert seen[0][1] == pytest.approx(milliwatts(received_dbm(150)) * 1e18, rel=0.0012)


def test_a_nearer_hidden_terminal_destroys_a_frame() -> None:
    air, a, b, c = sinr_air(-100, 0, 100)
    a.send_at_us(1000, "A")
    c.send_at_us(1100, "C")
    air.run_us(5000)
    assert air.outcomes("A") == {"n1": "collision"} and air.outcomes("C") == {"n1": "never_attempted"}
    assert air.sinr_db("A", b) == pytest.approx(-0.18, abs=0.02)
    assert b.received == []


def test_noise_damages_a_frame_whose_rate_is_too_high() -> None:
    """The rate is too high for the distance. The frame is detected but damaged, and this does not count as a
    collision.
    """
    air = SinrAir(preamble_rssi_dbm=-90)
    a, b = air.node(0), air.node(200)  # -88.7 dBm, 5.3 dB above the noise: enough for 6 Mb/s
    air.rate_mbps = 24
    a.send_at_us(1000, "A")
    air.run_us(5000)
    assert air.outcomes("A") == {"n1": "bit_errors"} and b.received == []
    assert air.sinr_db("A", b) == pytest.approx(received_dbm(200) - 10 * log10(NOISE_MW), abs=0.0101)


def test_a_node_keeps_listening_after_it_missed_a_weak_preamble() -> None:
    """B is 115 m away from A, and 125 m away from C. The signal of C is too weak to be received, but only 1 dB weaker
    than that of A, so B misses the preamble of A.
    """
    air = SinrAir()
    a, b, c, d = air.node(-115), air.node(0), air.node(125), air.node(0, y_m=20)
    c.send_at_us(1000, "C")
    a.send_at_us(1050, "A")
    d.send_at_us(1060, "D")  # The frame begins while two others are on the air, and is much stronger.
    air.run_us(5000)
    assert air.outcomes("A")["n1"] == "preamble_missed"
    assert air.outcomes("D")["n1"] == "received" and [name for _, name in b.received] == ["D"]


def test_the_stronger_of_two_nearly_simultaneous_frames_survives() -> None:
    air, far, _, near = sinr_air(-100, 0, 30)
    far.send_at_ns(1_000_000, "far")
    near.send_at_ns(1_002_000, "near")
    air.run_us(5000)
    assert air.outcomes("far")["n1"] == "never_attempted" and air.outcomes("near")["n1"] == "received"


@pytest.mark.parametrize(("later_ns", "outcome"), [(3_000, "received"), (4_500, "never_attempted")])
def test_late_stronger_frames_are_received_only_with_capture(later_ns: int, outcome: str) -> None:
    for capture_db, expected in ((None, outcome), (10, "received"), (30, outcome)):
        air, far, _, near = sinr_air(-100, 0, 30, capture_db=capture_db)
        far.send_at_ns(1_000_000, "far")
        near.send_at_ns(1_000_000 + later_ns, "near")
        air.run_us(5000)
        assert air.outcomes("near")["n1"] == expected
        lost = "never_attempted" if later_ns < 4000 else "collision"
        assert air.outcomes("far")["n1"] == lost  # The bits of the far frame are lost in both cases.


def test_a_node_is_busy_from_the_preamble_to_the_end_of_a_frame() -> None:
    air, a, b = sinr_air(0, 90)
    a.send_at_us(1000, "A")
    air.run_us(1010)
    transceiver = b.transceiver
    assert transceiver.busy_from == 1_000_000 + delay_ns(90) + BUSY_FROM_PREAMBLE_NS
    assert transceiver.busy_until == 1_000_000 + delay_ns(90) + air.size_and_airtime(100, False)[1]


def test_energy_without_a_preamble_makes_a_node_defer() -> None:
    """B was sending when A began, so B missed the preamble of A. B defers to the energy of A at 20 m, but not at 60
    m.
    """
    for distance_m, defers in ((20, True), (60, False)):
        air, a, b = sinr_air(distance_m, 0)
        b.send_at_us(1000, "first", 20)
        airtime = air.size_and_airtime(20, False)[1]
        # Both frames start at the same instant, so neither sender can sense the other.
        a.send_at_ns(1_000_000, "A", 1500)
        b.send_at_ns(1_000_000 + airtime + 1_000, "second", 20)
        air.run_us(9000)
        ends = air.starts_ns["A"] + air.frames["A"].duration_ns
        assert (air.starts_ns["second"] > ends) == defers
        assert air.outcomes("A") == {"n1": "half_duplex"}


def test_a_node_defers_to_a_preamble_below_the_energy_threshold() -> None:
    """At 60 m, the signal of A is far below the energy threshold, but is received."""
    air, a, b = sinr_air(0, 60)
    assert received_dbm(60) < -62
    a.send_at_us(1000, "A", 1500)
    b.send_at_us(1100, "B", 20)
    air.run_us(9000)
    assert air.starts_ns["B"] > air.starts_ns["A"] + air.frames["A"].duration_ns
    # B does not detect the preamble, and therefore sends during the frame of A.
    air = SinrAir(preamble_sinr_db=25)
    a, b = air.node(0), air.node(60)
    a.send_at_us(1000, "A", 1500)
    b.send_at_us(1100, "B", 20)
    air.run_us(9000)
    # The pair is not counted, because the preamble would not have been detected in silence either.
    assert air.starts_ns["B"] == 1_100_000 and air.outcomes("A") == {}


def test_combined_energy_is_sensed_while_both_signals_last() -> None:
    """At B, each signal is 1 dB below the threshold, and both together are 2 dB above it."""
    distance_m = 10 ** ((20.4 + 63 - 40.05) / 30)  # distance at which the signal is received at -63 dBm
    for preamble_sinr_db, nodes in ((60 - 10, 2), (60 - 10, 1)):
        air = SinrAir(preamble_sinr_db=preamble_sinr_db)  # With this setting, B does not detect any preamble.
        b = air.node(0)
        senders = [air.node(distance_m * (1 if k == 0 else -1)) for k in range(nodes)]
        for k, sender in enumerate(senders):
            sender.send_at_us(1000 + 100 * k, f"A{k}", 500)
        air.run_us(1200)
        if nodes == 1:
            assert b.transceiver.busy_until == NEVER
            continue
        duration = air.size_and_airtime(500, False)[1]
        arrives = delay_ns(distance_m)
        assert b.transceiver.busy_from == 1_100_000 + arrives
        # B is busy until the first of the two frames ends.
        assert b.transceiver.busy_until == 1_000_000 + duration + arrives


def test_a_wall_reduces_the_received_power() -> None:
    """Two nodes are 40 m apart. A house 10 m wide stands between them, so the signal crosses two walls and ten metres
    of interior.
    """
    house = [[(1500, -1000), (2500, -1000), (2500, 1000), (1500, 1000), (1500, -1000)]]
    for walls, loss_db in ((None, 0.0), (Walls([house], 900, 40), 2 * 9 + 10 * 0.4)):
        air = SinrAir(walls, preamble_rssi_dbm=-100)
        a, b = air.node(0), air.node(40)
        a.send_at_us(1000, "A")
        air.run_us(5000)
        assert air.power_dbm("A", b) == pytest.approx(received_dbm(40) - loss_db, abs=0.0051)


def test_sending_or_crashing_aborts_a_reception() -> None:
    air, a, b, c = sinr_air(0, 60, -60)
    a.send_at_us(1000, "A", 1500)
    air.at_us(1001, c.transceiver.mac.reset)
    air.at_us(1100, air.medium.drop_out, c.transceiver)
    b.send_at_ns(1_002_000, "B", 20)  # B starts before the preamble of A is over, so it cannot detect that preamble
    air.run_us(9000)
    assert air.outcomes("A") == {"n1": "half_duplex", "n2": "receiver_down"}
    assert air.outcomes("B")["n0"] == "half_duplex"


def test_an_acknowledgement_is_sent_at_its_configured_rate() -> None:
    air = SinrAir()
    air.rate_mbps = 24
    a, b = air.node(0), air.node(30)
    a.send_at_us(1000, "A", 100, b, True)
    air.run_us(9000)
    assert [which for _, which in air.starts] == ["A", "ack of A"] and air.frames["ack of A"].rate_mbps == 24
    assert a.sent and not a.dropped


def test_fading_is_drawn_for_each_frame_and_node() -> None:
    """The value drawn for a node depends neither on the other nodes nor on the order of the queries."""

    def powers(others: int) -> list[float]:
        air, a, b = sinr_air(0, 50, fading={"model": "nakagami"}, preamble_rssi_dbm=-120, ed_threshold_dbm=-30)
        for k in range(others):
            air.node(10 + k, y_m=30)
        for k in range(20):
            a.send_at_us(1000 * (k + 1), f"A{k}")
        air.run_us(40_000)
        return [air.power_dbm(f"A{k}", b) for k in range(20)]

    assert powers(0) == powers(7) and len(set(powers(0))) > 15


def test_the_backoff_does_not_depend_on_the_reception_model() -> None:
    """The MAC counts slots exactly as it does with the unit disk model."""
    air = SinrAir()
    a, b = air.node(0), air.node(60, stream=Script(3))
    a.send_at_us(1000, "A", 1500)
    b.send_at_us(1100, "B", 20)
    air.run_us(9000)
    ends = air.starts_ns["A"] + air.frames["A"].duration_ns + delay_ns(60)
    assert air.starts_ns["B"] == ends + air.mode.difs_ns + 3 * air.mode.slot_ns
