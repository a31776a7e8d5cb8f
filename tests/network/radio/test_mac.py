"""Tests of the MAC against traces computed by hand, to the nanosecond.

The radio is 802.11b at 1 Mb/s: a slot is 20 us, SIFS 10 us, DIFS 50 us, and EIFS 364 us. 100 bytes of payload last 1504
us and an ACK 304 us. Propagation takes 0.334 us over 100 m.
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import pytest

from mobilenet.network.radio.frame import Frame

from .air import Air, Datagram, Node, listening_air

FRAME = 1504.0
HOP = 0.334  # 100 m, rounded to a nanosecond
exactly = partial(pytest.approx, abs=1e-9)  # allows for the rounding of sums


def test_a_frame_is_sent_at_once_after_a_long_silence() -> None:
    air, a = listening_air((0, 31))
    a.send_at_us(1000, "A")
    air.run_us(9000)
    assert air.starts == [(1000.0, "A")]
    assert a.sent == [(1000 + FRAME, "A")]


def test_idle_time_before_a_frame_shortens_its_back_off() -> None:
    air, a, b = listening_air(0, (0, 10))
    a.send_at_us(0, "A")
    b.send_at_us(FRAME + 60, "B")  # The medium was idle for 60 of the 250 us for which B must wait.
    air.run_us(9000)
    assert air.start_us("B") == FRAME + 50 + 200


def test_slots_are_frozen_while_the_medium_is_busy() -> None:
    air, a, b, c = listening_air(0, (0, 5), (0, 9))
    a.send_at_us(1000, "A")
    b.send_at_us(1500, "B")
    c.send_at_us(1500, "C")
    air.run_us(9000)
    assert air.start_us("B") == 2504 + 50 + 5 * 20
    assert air.start_us("C") == 2654 + FRAME + 50 + 4 * 20  # C had counted 5 of its 9 slots.


def test_an_interrupted_back_off_slot_is_counted_again() -> None:
    air, a, c, d = listening_air(0, (0, 9), 0)
    a.send_at_us(1000, "A")
    c.send_at_us(1500, "C")  # due at 2504 + 50 + 180 = 2734
    d.send_at_us(2641, "D")  # the DIFS of D is over, so D sends at once, 93 us before C
    air.run_us(9000)
    assert air.start_us("D") == 2641
    assert air.start_us("C") == 2641 + FRAME + 50 + 5 * 20


def test_an_interrupted_difs_consumes_no_back_off_slot() -> None:
    """A node that is interrupted during DIFS keeps all its slots."""
    air, a, c, d = listening_air(0, (0, 9), 0)
    a.send_at_us(1000, "A")
    c.send_at_us(1500, "C")
    d.send_at_us(1500, "D")  # 2504 + 50: the instant at which C starts to count
    air.run_us(9000)
    assert air.start_us("C") == 2554 + FRAME + 50 + 9 * 20


def test_nodes_whose_back_off_ends_together_both_send() -> None:
    air, a, b, c, d = listening_air(0, (0, 3), (100, 3), 50)
    a.send_at_us(0, "A")
    b.send_at_us(700, "B")
    c.send_at_us(700, "C")
    air.run_us(9000)
    assert air.start_us("B") == FRAME + 110
    assert air.start_us("C") == exactly(FRAME + 110 + HOP)  # C is farther away, so it heard the end of A later.
    assert air.outcomes("B") == {"n0": "collision", "n2": "half_duplex", "n3": "collision"}
    assert air.outcomes("C") == {"n0": "never_attempted", "n1": "half_duplex", "n3": "never_attempted"}
    assert d.received == [(pytest.approx(FRAME + HOP), "A")]


def test_a_transmission_is_unnoticed_until_it_has_propagated() -> None:
    air, a, b = listening_air(0, 100)
    a.send_at_us(1000, "A")
    b.send_at_us(1000.3, "B")
    air.run_us(9000)
    assert air.start_us("B") == 1000.3
    assert air.outcomes("A") == {"n1": "half_duplex"}
    assert air.outcomes("B") == {"n0": "half_duplex"}


def test_a_transmission_is_sensed_after_the_propagation_delay() -> None:
    air, a, b = listening_air(0, (100, 2))
    a.send_at_us(1000, "A")
    b.send_at_us(1000.4, "B")
    air.run_us(9000)
    assert air.start_us("B") == exactly(1000 + HOP + FRAME + 50 + 40)


def contender_after_a_collision(eifs: bool, ask_us: float) -> float:
    """Return when C sends. C hears both A and B, whose frames overlap because they do not hear each other."""
    air, a, b, c = listening_air(0, 200, (100, 2), eifs=eifs)
    a.send_at_us(0, "A")
    b.send_at_us(10, "B")
    c.send_at_us(ask_us, "C")
    air.run_us(9000)
    assert air.outcomes("A")["n2"] == "collision"
    assert air.outcomes("B")["n2"] == "never_attempted"
    return air.start_us("C")


def test_a_broken_frame_is_followed_by_eifs() -> None:
    assert contender_after_a_collision(True, 700) == exactly(FRAME + HOP + 364 + 40)


def test_eifs_can_be_switched_off() -> None:
    assert contender_after_a_collision(False, 700) == exactly(FRAME + 10 + HOP + 50 + 40)


def test_eifs_delays_only_nodes_that_are_already_contending() -> None:
    assert contender_after_a_collision(True, FRAME + 20) == exactly(FRAME + 10 + HOP + 50 + 40)


def test_a_frame_received_well_ends_eifs() -> None:
    air = Air("g_mixed", 24)
    a, b, c, d = air.node(0), air.node(200), air.node(100, 5), air.node(100, 0)
    a.send_at_us(0, "A")  # both frames last 82 us
    b.send_at_us(10, "B")
    c.send_at_us(30, "C")
    d.send_at_us(150, "D")  # D does not contend for the medium when the damaged frame ends, so D waits only for DIFS.
    air.run_us(9000)
    assert air.start_us("D") == 150.0
    assert air.start_us("C") == exactly(150 + 82 + 50 + 5 * 20)


def test_hidden_terminals_collide_at_the_receiver_between_them() -> None:
    air, a, b, c = listening_air(0, 100, 200)
    a.send_at_us(0, "A")
    c.send_at_us(1503, "C")
    air.run_us(9000)
    assert air.outcomes("A") == {"n1": "collision"}
    assert air.outcomes("C") == {"n1": "never_attempted"}
    assert b.received == []


def test_adjacent_frames_do_not_collide() -> None:
    air, a, b, c = listening_air(0, 100, 200)
    a.send_at_us(0, "A")
    c.send_at_us(FRAME, "C")
    air.run_us(9000)
    assert [name for _, name in b.received] == ["A", "C"]


def test_the_remainder_of_an_ignored_frame_destroys_the_next() -> None:
    air = Air()
    a, b, c, d = air.node(0), air.node(100), air.node(200), air.node(100, y_m=100)
    del b
    a.send_at_us(0, "A")
    c.send_at_us(1000, "C")  # b cannot receive C, because C is on the air until 2504.
    a.send_at_us(2000, "A2")
    air.run_us(9000)
    assert air.outcomes("C")["n1"] == "never_attempted"
    assert air.outcomes("A2")["n1"] == "collision"
    assert d.received == []


def test_a_receiver_locks_onto_the_first_frame_to_arrive() -> None:
    air, far, near, ear = listening_air(0, 125, 119)
    far.send_at_us(0, "far")  # reaches the listener after 0.397 us
    near.send_at_us(0.2, "near")  # reaches the listener after 0.220 us
    air.run_us(9000)
    assert air.outcomes("near") == {"n2": "collision"}
    assert air.outcomes("far") == {"n2": "never_attempted"}
    assert ear.received == []


def test_a_back_off_slot_stops_at_the_earlier_of_two_arrivals() -> None:
    """Both arrivals stop the count. The frame that was sent later arrives first, and decides at which slot the count
    stops.
    """
    air, first, listener, far, near = listening_air(110, (110, 9), 0, 115, eifs=False)
    first.send_at_us(0, "first")
    listener.send_at_us(700, "L")  # due at 1504 + 50 + 180 = 1734
    # A slot of L ends at 1654. The energy of far arrives at 1654.1 (0.367 us away), and that of near at 1653.9 (0.017
    # us away).
    air.at_us(1653.733, far.mac.enqueue, _bare(far, "far"))
    air.at_us(1653.883, near.mac.enqueue, _bare(near, "near"))
    air.run_us(20000)
    end = max(1653.733 + 0.367, 1653.883 + 0.017) + FRAME
    assert air.start_us("far") == 1653.733 and air.start_us("near") == 1653.883
    # From 1653.9 on, 80.1 us are left. That is five slots, not four.
    assert air.start_us("L") == exactly(end + 50 + 5 * 20)


def _bare(node: Node, name: str) -> Any:
    return Frame(node.transceiver, None, Datagram(name), 164, round(FRAME * 1000), 1, node)


def test_a_unicast_frame_is_acknowledged_after_sifs() -> None:
    air, a, b = listening_air(0, 100)
    a.send_at_us(0, "A", to=b, acknowledged=True)
    air.run_us(9000)
    assert air.starts == [(0.0, "A"), (pytest.approx(FRAME + HOP + 10), "ack of A")]
    assert a.sent == [(pytest.approx(FRAME + HOP + 10 + 304 + HOP), "A")]
    assert b.received == [(pytest.approx(FRAME + HOP), "A")]


def test_each_retry_doubles_the_window_up_to_a_limit() -> None:
    air = Air()
    a, b = air.node(0, stream=Halves()), air.node(500)
    a.send_at_us(0, "A", to=b, acknowledged=True)
    air.run_us(500_000)
    assert [name for _, name in air.starts] == ["A"] * 7
    assert a.dropped == ["A"] and a.sent == [] and a.mac.queued == 0
    starts = [start for start, _ in air.starts]
    # The ACK timeout is SIFS, a slot and a preamble. DIFS ends earlier, so slots count from the timeout.
    timeout = 10 + 20 + 192
    waits = [round(later - sooner - FRAME - timeout, 3) for sooner, later in itertools.pairwise(starts)]
    assert waits == [20 * slots for slots in (32, 64, 128, 256, 512, 512)]
    assert air.medium.retries == 6


class Halves:
    """A RandomNumbers that always draws the middle of the window."""

    def random(self) -> float:
        return 0.5


def test_a_lost_ack_causes_a_duplicate_that_is_discarded() -> None:
    air, a, b, other = listening_air(0, 100, -100)
    a.send_at_us(0, "A", to=b, acknowledged=True)
    # The sender of this frame cannot sense A yet, and B does not hear it. The frame is still on the air during the ACK.
    other.send_at_us(0.2, "long", 400)
    air.run_us(60_000)
    assert [name for _, name in air.starts].count("A") == 2
    assert [name for _, name in air.starts].count("ack of A") == 2
    assert [name for _, name in b.received] == ["A"]
    assert [name for _, name in a.sent] == ["A"]


def test_overheard_unicast_reserves_the_air_for_its_ack() -> None:
    air, a, b, c = listening_air(0, 100, (-100, 0))  # C hears A, but does not hear the ACK of B
    a.send_at_us(0, "A", to=b, acknowledged=True)
    c.send_at_us(700, "C")
    air.run_us(9000)
    assert air.start_us("C") == exactly(FRAME + HOP + 10 + 304 + 50)


def test_a_full_mac_queue_drops_the_newest_frame() -> None:
    air = Air()
    a = air.node(0, queue_frames=3)
    results = [a.send(str(i)) for i in range(5)]
    air.run_us(20_000)
    assert results == [True, True, True, False, False]
    assert a.dropped == ["3", "4"]
    assert [name for _, name in a.sent] == ["0", "1", "2"]
    assert air.medium.queue_drops == 2


def test_a_crash_empties_the_queue_and_stops_timers() -> None:
    air, a, b, c = listening_air(0, (0, 5), 0)
    a.send_at_us(0, "A")
    b.send_at_us(100, "B")
    air.at_us(1530, b.mac.reset)
    air.run_us(50_000)
    assert [name for _, name in air.starts] == ["A"]
    assert b.sent == [] and b.dropped == []
    assert [name for _, name in c.received] == ["A"]


def test_the_medium_is_considered_idle_before_the_run() -> None:
    air, a = listening_air((0, 31))
    a.send("A")
    air.run_us(9000)
    assert air.starts == [(0.0, "A")]
