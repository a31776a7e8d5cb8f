"""Tests of the MAC without carrier sense against traces computed by hand, in nanoseconds.

At 1 Mb/s a datagram of 100 bytes takes 96 + 8 * (100 + 8 + 20 + 16) = 1248 us, and a TCP segment of 100 bytes takes 64
us less. Propagation takes 334 ns over 100 m, 400 ns over 120 m, 167 ns over 50 m, and 100 ns over 30 m. The MAC gives
up on a unicast frame that has not been acknowledged after 100 ms.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobilenet.engine.clock import SECOND
from mobilenet.engine.random_streams import Stream
from mobilenet.network.radio.frame import COLLISION, HALF_DUPLEX, NEVER_ATTEMPTED, OUTCOMES, RECEIVED
from mobilenet.network.radio.framing import Framing
from mobilenet.network.radio.transceiver import NEVER
from mobilenet.network.wireless import WirelessParameters

from .air import AckingAir, Node, acking_air

FRAME = 1_248_000
SEGMENT = 1_184_000
HOP = 334  # 100 m
TIMEOUT = 100_000_000


class Scripted:
    """A RandomNumbers that returns these numbers and counts the draws."""

    def __init__(self, *numbers: float) -> None:
        self._numbers = list(numbers)
        self.thrown = 0

    def random(self) -> float:
        self.thrown += 1
        return self._numbers.pop(0)


# --- air times


@pytest.mark.parametrize(
    ("bitrate_mbps", "phy_header_bits", "mac_header_bytes", "size_bytes", "datagram_ns", "segment_ns"),
    [
        (1, 96, 16, 100, 1_248_000, 1_184_000),
        (12, 96, 16, 100, 104_000, 98_667),  # 1184 bits / 12 Mb/s = 98 666.7 ns
        (12, 96, 16, 0, 37_334, 32_000),
        (24, 0, 0, 1000, 342_667, 340_000),
        (0.3, 192, 34, 30, 3_093_334, 2_880_000),  # 192 + 8 * 92 = 928 bits; the segment has 64 bits fewer
    ],
)
def test_the_acking_mac_computes_air_times_from_the_bitrate(
    bitrate_mbps: float, phy_header_bits: int, mac_header_bytes: int, size_bytes: int, datagram_ns: int, segment_ns: int
) -> None:
    framing = Framing(
        WirelessParameters(
            mac="acking", bitrate_mbps=bitrate_mbps, phy_header_bits=phy_header_bits, mac_header_bytes=mac_header_bytes
        )
    )
    assert framing.datagram(size_bytes) == (size_bytes + 28 + mac_header_bytes, datagram_ns)
    assert framing.segment(size_bytes) == (size_bytes + 20 + mac_header_bytes, segment_ns)


# --- frames without an acknowledgement


def test_an_acking_broadcast_is_sent_at_once_without_an_ack() -> None:
    air, a, b = acking_air(0, 100)
    a.send_at_ns(1000, "A")
    air.run_ns(SECOND)
    assert air.starts_ns == {"A": 1000}
    assert a.reports == [(1000 + FRAME, "sent", "A")]
    assert b.heard == [(1000 + FRAME + HOP, "A")]


def test_queued_broadcasts_are_sent_back_to_back() -> None:
    air, a, b, c = acking_air(0, 100, 30)
    for name in "ABC":
        a.send_at_ns(7, name)
    air.run_ns(SECOND)
    assert air.starts_ns == {"A": 7, "B": 7 + FRAME, "C": 7 + 2 * FRAME}
    assert a.reports == [(7 + FRAME, "sent", "A"), (7 + 2 * FRAME, "sent", "B"), (7 + 3 * FRAME, "sent", "C")]
    assert [name for _, name in b.heard] == [name for _, name in c.heard] == ["A", "B", "C"]


@pytest.mark.parametrize("to_m", [30, 500])
def test_an_unacknowledged_unicast_is_done_once_it_is_sent(to_m: float) -> None:
    air, a, b, c = acking_air(0, to_m, 100)
    a.send_at_ns(0, "A", to=b)
    a.send_at_ns(0, "B", to=b)
    air.run_ns(SECOND)
    assert a.reports == [(FRAME, "sent", "A"), (2 * FRAME, "sent", "B")]
    assert [name for _, name in b.heard] == (["A", "B"] if to_m == 30 else [])
    # C overhears the frame, but its MAC does not pass it up.
    assert air.outcomes("A")["n2"] == "received" and c.heard == []


def test_frames_from_an_approaching_node_arrive_in_order() -> None:
    """The node starts at 60 m and approaches at 100 m/s. The delay is 200.14 ns for the first frame, 199.72 ns for the
    second, and 199.31 ns for the third, which is rounded down.
    """
    air, a, b = acking_air(60, 0)
    a.transceiver.move(0, 60, 0, -100 / SECOND, 0)
    for name in "ABCDE":
        a.send_at_ns(0, name)
    a.send_at_ns(6 * FRAME, "later")
    air.run_ns(SECOND)
    assert [frame.start_ns for frame in air.frames.values()] == [0, FRAME, 2 * FRAME, 3 * FRAME, 4 * FRAME, 6 * FRAME]
    assert [name for _, name in b.heard] == ["A", "B", "C", "D", "E", "later"]
    assert air.frames["C"].delays_ns == [200] and air.frames["later"].delays_ns == [198]  # 59.25 m: 197.64 ns


# --- no carrier sense


def test_the_acking_mac_sends_on_a_busy_medium() -> None:
    air, a, b, c = acking_air(0, 100, 50)
    a.send_at_ns(0, "A")
    b.send_at_ns(700_000, "B")
    c.send_at_ns(700_000, "C", 0)  # The frame ends at 448 us, while A and B are still in transit.
    c.send_at_ns(1_148_001, "C2", 0)
    air.run_ns(SECOND)
    assert air.starts_ns == {"A": 0, "C": 700_000, "C2": 1_148_001, "B": 700_000}
    assert {node.transceiver.busy_until for node in air.nodes} == {NEVER}  # Carrier sense is off.


@pytest.mark.parametrize(
    ("full_duplex", "outcome", "heard"),
    [(True, "received", [(5 + FRAME + HOP, "A"), (5 + FRAME + HOP, "B")]), (False, "half_duplex", [])],
)
def test_only_full_duplex_nodes_receive_while_they_send(
    full_duplex: bool, outcome: str, heard: list[tuple[int, str]]
) -> None:
    air, a, b = acking_air(0, 100, full_duplex=full_duplex)
    a.send_at_ns(5, "A")
    b.send_at_ns(5, "B")
    air.run_ns(SECOND)
    assert air.starts_ns == {"A": 5, "B": 5}
    assert air.outcomes("A") == {"n1": outcome} and air.outcomes("B") == {"n0": outcome}
    assert b.heard + a.heard == heard
    assert a.reports == [(5 + FRAME, "sent", "A")] and b.reports == [(5 + FRAME, "sent", "B")]


@pytest.mark.parametrize(("full_duplex", "between"), [(True, "received"), (False, "half_duplex")])
def test_a_node_between_two_senders_loses_both_frames(full_duplex: bool, between: str) -> None:
    air, a, b, c = acking_air(0, 100, 50, full_duplex=full_duplex)
    a.send_at_ns(0, "A")
    b.send_at_ns(0, "B")
    air.run_ns(SECOND)
    assert air.outcomes("A") == {"n1": between, "n2": "collision"}
    assert air.outcomes("B") == {"n0": between, "n2": "never_attempted"}
    assert c.heard == []


@pytest.mark.parametrize(("full_duplex", "outcome"), [(True, "received"), (False, "half_duplex")])
def test_sending_aborts_a_reception_only_in_half_duplex(full_duplex: bool, outcome: str) -> None:
    air, a, b = acking_air(0, 100, full_duplex=full_duplex)
    a.send_at_ns(0, "A")
    b.send_at_ns(FRAME + HOP - 1, "B")  # The last nanosecond of A has not arrived yet.
    air.run_ns(SECOND)
    assert air.starts_ns["B"] == FRAME + HOP - 1
    assert air.outcomes("A") == {"n1": outcome} and air.outcomes("B") == {"n0": "received"}


def test_a_half_duplex_node_receives_after_it_has_sent() -> None:
    for starts_ns, outcome in ((FRAME - HOP - 1, "half_duplex"), (FRAME - HOP, "received")):
        air, a, b = acking_air(0, 100, full_duplex=False)
        a.send_at_ns(0, "A")
        b.send_at_ns(starts_ns, "B")
        air.run_ns(SECOND)
        assert air.outcomes("B") == {"n0": outcome}


def test_the_tail_of_a_missed_frame_destroys_the_next_frame() -> None:
    air, a, b, c = acking_air(0, 100, -100, full_duplex=False)
    a.send_at_ns(0, "A")
    b.send_at_ns(700_000, "B")
    c.send_at_ns(FRAME - HOP, "C")  # The frame arrives in the nanosecond in which A ends, while B is on the air.
    air.run_ns(SECOND)
    assert air.outcomes("B") == {"n0": "half_duplex"} and air.outcomes("C") == {"n0": "collision"}


def test_two_frames_collide_at_a_node_that_is_sending() -> None:
    air, a, b, c = acking_air(0, 100, 200)
    for node, name in ((a, "A"), (b, "B"), (c, "C")):
        node.send_at_ns(0, name)
    air.run_ns(SECOND)
    assert air.outcomes("A") == {"n1": "collision"} and air.outcomes("C") == {"n1": "never_attempted"}
    assert air.outcomes("B") == {"n0": "received", "n2": "received"}


# --- acknowledged unicast


def test_an_acking_acknowledgement_arrives_with_the_last_bit() -> None:
    air, a, b = acking_air(0, 100)
    a.unicast_at_ns(3, "A", b)
    air.run_ns(SECOND)
    assert a.reports == [(3 + SEGMENT + HOP, "sent", "A")]
    assert b.heard == [(3 + SEGMENT + HOP, "A")]
    assert list(air.frames) == ["A"] and air.medium.acks == air.medium.retries == air.medium.given_up == 0


def test_a_sender_does_not_wait_for_nodes_that_overhear_it() -> None:
    """The addressee is 100 ns away from the sender, and another node is 400 ns away."""
    air, a, b, c = acking_air(0, 30, 120)
    a.unicast_at_ns(0, "A", b)
    a.send_at_ns(0, "B")
    air.run_ns(SECOND)
    assert a.reports == [(SEGMENT + 100, "sent", "A"), (SEGMENT + 100 + FRAME, "sent", "B")]
    assert air.starts_ns == {"A": 0, "B": SEGMENT + 100}
    assert air.outcomes("A") == air.outcomes("B") == {"n1": "received", "n2": "received"}
    assert [name for _, name in b.heard] == ["A", "B"] and [name for _, name in c.heard] == ["B"]


def test_later_frames_wait_until_the_first_is_acknowledged() -> None:
    air, a, b = acking_air(0, 100)
    a.unicast_at_ns(0, "A", b)
    a.unicast_at_ns(1, "B", b)
    a.send_at_ns(SEGMENT + 1, "C")  # A has been sent, but has not arrived yet.
    air.run_ns(SECOND)
    assert air.starts_ns == {"A": 0, "B": SEGMENT + HOP, "C": 2 * (SEGMENT + HOP)}


def test_acknowledgements_of_the_acking_mac_are_never_lost() -> None:
    """When the acknowledgement arrives, the sender is receiving another frame and the addressee is sending. The sender
    receives it nevertheless.
    """
    air, a, b, jammer = acking_air(0, 100, -100, full_duplex=False)
    a.unicast_at_ns(0, "A", b)
    jammer.send_at_ns(SEGMENT, "J")
    b.send_at_ns(SEGMENT + HOP, "B")
    air.run_ns(SECOND)
    assert a.reports == [(SEGMENT + HOP, "sent", "A")]
    assert air.outcomes("J") == {"n0": "collision"} and air.outcomes("B") == {"n0": "never_attempted"}


def given_up_once(air: AckingAir, a: Node, starts_ns: int = 0) -> None:
    """Check that A was lost, and that B is sent exactly when the timeout of A expires."""
    assert a.reports[0] == (starts_ns + TIMEOUT, "dropped", "A")
    assert a.reports[1:] == [(starts_ns + TIMEOUT + FRAME, "sent", "B")]
    assert air.starts_ns["A"] == starts_ns and air.starts_ns["B"] == starts_ns + TIMEOUT
    assert air.medium.given_up == 1 and air.medium.retries == 0


def test_a_frame_to_a_node_out_of_range_times_out() -> None:
    air, a, b, c = acking_air(0, 121, 100)
    a.unicast_at_ns(9, "A", b)
    a.send_at_ns(9, "B")
    air.run_ns(SECOND)
    given_up_once(air, a, 9)
    assert air.outcomes("A") == {"n2": "received"} and b.heard == []
    assert [name for _, name in c.heard] == ["B"]


@pytest.mark.parametrize(
    ("disturber", "a_ns", "x_ns", "outcome"),
    [
        ("hidden", 0, 0, "collision"),
        ("hidden", 0, SEGMENT - 1, "collision"),
        ("hidden", 0, SEGMENT, "received"),
        ("hidden", 2, 0, "never_attempted"),
        ("addressee", 0, 0, "half_duplex"),
        ("addressee", 0, SEGMENT + HOP - 1, "half_duplex"),
        ("addressee", 0, SEGMENT + HOP, "received"),
    ],
)
def test_a_frame_that_collides_times_out(disturber: str, a_ns: int, x_ns: int, outcome: str) -> None:
    """The disturbing frame comes from the addressee, or from a node out of range of the sender at the same distance
    from the addressee. A frame that starts exactly when another one ends does not collide with it.
    """
    air, a, b, hidden = acking_air(0, 100, 200, full_duplex=disturber == "hidden")
    a.unicast_at_ns(a_ns, "A", b)
    a.send_at_ns(a_ns, "B")
    (hidden if disturber == "hidden" else b).send_at_ns(x_ns, "X")
    air.run_ns(SECOND)
    assert air.outcomes("A") == {"n1": outcome}
    if outcome == "received":
        assert a.reports[0] == (SEGMENT + HOP, "sent", "A") and air.medium.given_up == 0
    else:
        given_up_once(air, a, a_ns)


@pytest.mark.parametrize(
    ("down_ns", "up_ns"), [(0, TIMEOUT), (0, 500_000), (700_000, 800_000), (SEGMENT + HOP - 1, TIMEOUT)]
)
def test_a_frame_to_a_node_that_is_down_times_out(down_ns: int, up_ns: int) -> None:
    air, a, b = acking_air(0, 100)
    air.at_ns(down_ns, air.medium.drop_out, b.transceiver)
    air.at_ns(up_ns, setattr, b.transceiver, "up", True)
    a.unicast_at_ns(0, "A", b)
    a.send_at_ns(0, "B")
    air.run_ns(SECOND)
    assert air.outcomes("A") == {"n1": "receiver_down"} and air.outcomes("B") == {"n1": "received"}
    given_up_once(air, a)


def test_a_frame_lost_at_random_times_out() -> None:
    air = AckingAir(loss=0.5)
    a, b = air.acking(0), air.acking(100, loss=Scripted(0.4, 0.6))
    a.unicast_at_ns(0, "A", b)
    a.send_at_ns(0, "B")
    air.run_ns(SECOND)
    assert air.outcomes("A") == {"n1": "random"} and air.outcomes("B") == {"n1": "received"}
    given_up_once(air, a)


def test_frames_to_an_absent_node_time_out_one_after_another() -> None:
    air, a, b, c = acking_air(0, 500, 100)
    for name in "ABC":
        a.unicast_at_ns(0, name, b)
    a.unicast_at_ns(0, "D", c)
    air.run_ns(SECOND)
    assert a.reports == [
        (TIMEOUT, "dropped", "A"),
        (2 * TIMEOUT, "dropped", "B"),
        (3 * TIMEOUT, "dropped", "C"),
        (3 * TIMEOUT + SEGMENT + HOP, "sent", "D"),
    ]
    assert air.medium.given_up == 3


@pytest.mark.parametrize("timeout_ns", [1, SEGMENT - 1, SEGMENT])
def test_a_timeout_shorter_than_a_frame_expires_after_the_frame(timeout_ns: int) -> None:
    air = AckingAir()
    a, b = air.acking(0, timeout_ns=timeout_ns), air.acking(500)
    a.unicast_at_ns(0, "A", b)
    a.send_at_ns(0, "B")
    air.run_ns(SECOND)
    assert a.reports == [(SEGMENT, "dropped", "A"), (SEGMENT + FRAME, "sent", "B")]
    assert air.medium.given_up == 1


@pytest.mark.parametrize("timeout_ns", [1, SEGMENT - 1, SEGMENT, SEGMENT + HOP - 1, SEGMENT + HOP])
def test_the_sender_waits_long_enough_for_a_frame_to_arrive(timeout_ns: int) -> None:
    for lost in (False, True):
        air = AckingAir()
        a, b, hidden = air.acking(0, timeout_ns=timeout_ns), air.acking(100), air.acking(200)
        a.unicast_at_ns(0, "A", b)
        a.send_at_ns(0, "B")
        if lost:
            hidden.send_at_ns(0, "X")
        air.run_ns(SECOND)
        assert a.reports == [(SEGMENT + HOP, "dropped" if lost else "sent", "A"), (SEGMENT + HOP + FRAME, "sent", "B")]
        assert air.medium.given_up == lost


def test_an_ack_a_nanosecond_before_the_timeout_counts() -> None:
    air = AckingAir()
    a, b, hidden = air.acking(0, timeout_ns=SEGMENT + HOP + 1), air.acking(100), air.acking(200)
    a.unicast_at_ns(0, "A", b)
    hidden.send_at_ns(0, "X")
    air.run_ns(SECOND)
    assert a.reports == [(SEGMENT + HOP + 1, "dropped", "A")]


# --- random loss


@pytest.mark.parametrize(("near_m", "far_m"), [(30, 120), (100, 100), (0, 120)])
@pytest.mark.parametrize("to_far", [False, True])
@pytest.mark.parametrize("lost", [False, True])
def test_random_loss_is_drawn_once_for_each_receiver(near_m: float, far_m: float, to_far: bool, lost: bool) -> None:
    """The loss at the addressee is drawn once, when its acknowledgement is due. This may be before the frame has
    reached the other nodes.
    """
    number = 0.4 if lost else 0.6
    air = AckingAir(loss=0.5)
    near, far = Scripted(number), Scripted(number)
    a, b, c = air.acking(0), air.acking(near_m, loss=near), air.acking(-far_m, loss=far)
    a.unicast_at_ns(0, "A", c if to_far else b)
    air.run_ns(SECOND)
    assert near.thrown == far.thrown == 1
    assert set(air.outcomes("A").values()) == {"random" if lost else "received"}
    assert [what for _, what, _ in a.reports] == ["dropped" if lost else "sent"]


def test_random_loss_is_drawn_once_even_if_the_sender_crashes() -> None:
    air = AckingAir(loss=0.5)
    near, far = Scripted(0.6), Scripted(0.4)
    a, b, c = air.acking(0), air.acking(30, loss=near), air.acking(120, loss=far)
    a.unicast_at_ns(0, "A", b)
    air.at_ns(500_000, a.mac.reset)
    air.run_ns(SECOND)
    assert (near.thrown, far.thrown) == (1, 1)
    assert air.outcomes("A") == {"n1": "received", "n2": "random"}
    assert [name for _, name in b.heard] == ["A"] and c.heard == [] and a.reports == []


def test_a_collided_frame_draws_no_random_loss() -> None:
    air = AckingAir(loss=0.5)
    stream = Scripted()
    a, b, hidden = air.acking(0), air.acking(100, loss=stream), air.acking(200)
    a.unicast_at_ns(0, "A", b)
    hidden.send_at_ns(0, "X")
    air.run_ns(SECOND)
    assert stream.thrown == 0 and [what for _, what, _ in a.reports] == ["dropped"]


# --- the queue


def test_a_full_acking_mac_queue_drops_the_newest_frame_at_once() -> None:
    air = AckingAir()
    a, b = air.acking(0, queue_frames=3), air.acking(100)
    air.run_ns(50)
    # A is on the air, but still counts as queued.
    assert [a.send(name) for name in "ABCDE"] == [True, True, True, False, False]
    assert a.reports == [(50, "dropped", "D"), (50, "dropped", "E")]
    a.send_at_ns(50 + FRAME, "F")  # A has been sent
    air.run_ns(SECOND)
    assert [name for _, what, name in a.reports if what == "sent"] == ["A", "B", "C", "F"]
    assert [name for _, name in b.heard] == ["A", "B", "C", "F"]
    assert (air.medium.queue_drops, air.medium.given_up) == (2, 0)


def test_a_frame_awaiting_its_ack_still_occupies_the_queue() -> None:
    air = AckingAir()
    a, b = air.acking(0, queue_frames=1), air.acking(500)
    a.unicast_at_ns(0, "A", b)
    a.send_at_ns(TIMEOUT - 1, "B")
    a.send_at_ns(TIMEOUT + 1, "C")
    air.run_ns(SECOND)
    assert a.reports == [(TIMEOUT - 1, "dropped", "B"), (TIMEOUT, "dropped", "A"), (TIMEOUT + 1 + FRAME, "sent", "C")]


# --- callbacks


def test_a_frame_sent_in_a_callback_leaves_immediately() -> None:
    air, a, b, nobody = acking_air(0, 100, 500)
    a.then = {
        "A": lambda: a.unicast("B", b),
        "B": lambda: a.unicast("C", nobody),
        "C": lambda: a.send("D"),
    }
    a.send_at_ns(0, "A")
    air.run_ns(SECOND)
    b_ns = FRAME
    c_ns = b_ns + SEGMENT + HOP
    d_ns = c_ns + TIMEOUT
    assert air.starts_ns == {"A": 0, "B": b_ns, "C": c_ns, "D": d_ns}
    assert a.reports == [(b_ns, "sent", "A"), (c_ns, "sent", "B"), (d_ns, "dropped", "C"), (d_ns + FRAME, "sent", "D")]


def test_a_frame_sent_in_a_callback_queues_behind_others() -> None:
    air, a, _ = acking_air(0, 100)
    a.then = {"A": lambda: (a.send("C"), a.send("D"))}
    a.send_at_ns(0, "A")
    a.send_at_ns(0, "B")
    air.run_ns(SECOND)
    assert air.starts_ns == {"A": 0, "B": FRAME, "C": 2 * FRAME, "D": 3 * FRAME}
    assert [name for _, _, name in a.reports] == ["A", "B", "C", "D"]


def test_a_frame_rejected_during_a_callback_is_reported_at_once() -> None:
    air = AckingAir()
    a, _ = air.acking(0, queue_frames=2), air.acking(100)
    taken: list[bool] = []
    a.then = {"A": lambda: taken.extend([a.send("C"), a.send("D")])}
    a.send_at_ns(0, "A")
    a.send_at_ns(0, "B")
    air.run_ns(SECOND)
    assert taken == [True, False]
    assert a.reports == [
        (FRAME, "sent", "A"),
        (FRAME, "dropped", "D"),
        (2 * FRAME, "sent", "B"),
        (3 * FRAME, "sent", "C"),
    ]


def test_a_crash_within_a_callback_empties_the_queue() -> None:
    air, a, _ = acking_air(0, 100)
    a.then = {"A": lambda: (a.mac.reset(), a.send("C"))}
    a.send_at_ns(0, "A")
    a.send_at_ns(0, "B")
    air.run_ns(SECOND)
    assert air.starts_ns == {"A": 0, "C": FRAME}
    assert a.reports == [(FRAME, "sent", "A"), (2 * FRAME, "sent", "C")]


# --- crashes


def test_a_crash_empties_the_queue_but_not_the_air() -> None:
    air, a, b = acking_air(0, 100)
    a.send_at_ns(0, "A")
    a.send_at_ns(0, "B")
    air.at_ns(500_000, a.mac.reset)
    air.run_ns(SECOND)
    assert a.mac.queued == 0 and a.reports == []
    assert b.heard == [(FRAME + HOP, "A")]


@pytest.mark.parametrize("back_ns", [500_000, 600_000, FRAME - 1, FRAME, FRAME + 1])
def test_a_recovered_node_waits_until_its_old_frame_is_off_air(back_ns: int) -> None:
    air, a, b = acking_air(0, 100)
    a.send_at_ns(0, "A")
    a.send_at_ns(0, "B")
    air.at_ns(500_000, a.mac.reset)
    a.send_at_ns(back_ns, "C")
    a.send_at_ns(back_ns, "D")
    air.run_ns(SECOND)
    c_ns = max(back_ns, FRAME)
    assert air.starts_ns == {"A": 0, "C": c_ns, "D": c_ns + FRAME}
    assert a.reports == [(c_ns + FRAME, "sent", "C"), (c_ns + 2 * FRAME, "sent", "D")]
    assert [name for _, name in b.heard] == ["A", "C", "D"]


def test_two_crashes_during_one_frame_are_handled() -> None:
    air, a, b = acking_air(0, 100)
    a.unicast_at_ns(0, "A", b)
    air.at_ns(300_000, a.mac.reset)
    a.send_at_ns(400_000, "B")
    air.at_ns(500_000, a.mac.reset)
    a.send_at_ns(600_000, "C")
    air.run_ns(SECOND)
    assert air.starts_ns == {"A": 0, "C": SEGMENT}
    assert a.reports == [(SEGMENT + FRAME, "sent", "C")]
    assert [name for _, name in b.heard] == ["A", "C"]


@pytest.mark.parametrize("again_ns", [2_000_000, 3_000_000])
def test_a_crash_ends_the_wait_for_an_acknowledgement(again_ns: int) -> None:
    air, a, b = acking_air(0, 500)
    a.unicast_at_ns(0, "A", b)
    air.at_ns(2_000_000, a.mac.reset)
    a.unicast_at_ns(again_ns, "B", b)
    air.run_ns(SECOND)
    assert air.starts_ns == {"A": 0, "B": again_ns}
    assert a.reports == [(again_ns + TIMEOUT, "dropped", "B")]
    assert air.medium.given_up == 1  # The sender of A was down.


def test_an_ack_for_a_frame_sent_before_a_crash_is_ignored() -> None:
    """The acknowledgement would arrive while the next frame is on the air."""
    air, a, b, nobody = acking_air(0, 100, 500)
    a.unicast_at_ns(0, "A", b)
    air.at_ns(SEGMENT, a.mac.reset)
    a.unicast_at_ns(SEGMENT, "B", nobody)
    air.run_ns(SECOND)
    assert air.starts_ns == {"A": 0, "B": SEGMENT}
    assert a.reports == [(SEGMENT + TIMEOUT, "dropped", "B")]
    assert [name for _, name in b.heard] == ["A"]


# --- whatever happens


@settings(max_examples=150)
@given(
    seed=st.integers(0, 10**6),
    nodes=st.integers(2, 8),
    frames=st.integers(1, 40),
    full_duplex=st.booleans(),
    loss=st.sampled_from([0.0, 0.3]),
    timeout_ns=st.sampled_from([300_000, 1_500_000, 20_000_000]),
    queue_frames=st.sampled_from([2, 100]),
)
def test_the_acking_mac_agrees_with_a_simple_model(
    seed: int, nodes: int, frames: int, full_duplex: bool, loss: float, timeout_ns: int, queue_frames: int
) -> None:
    """An independent model computes which node sends when, which nodes receive, and what is reported to the senders."""
    stream = Stream(seed, "test")
    air = AckingAir(full_duplex=full_duplex, loss=loss)
    places = [(stream.uniform(0, 250), stream.uniform(0, 250)) for _ in range(nodes)]
    for i, (x, y) in enumerate(places):
        air.acking(x, y, timeout_ns, queue_frames, Stream(seed, "loss", str(i)))
    owners: dict[str, int] = {}
    for i in range(frames):
        me, to = stream.below(nodes), stream.below(nodes)
        target = None if to == me else air.nodes[to]
        name = f"f{i}"
        owners[name] = me
        acknowledged = target is not None and stream.chance(0.7)
        air.at_ns(stream.below(20_000_000), air.nodes[me].send, name, stream.below(300), target, acknowledged)
    air.run_ns(10 * SECOND)

    def delay_ns(a: int, b: int) -> int | None:
        metres = math.dist(places[a], places[b])
        return int(metres / 0.299792458 + 0.5) if metres <= 120 and a != b else None

    reports = [(node.transceiver.index, *entry) for node in air.nodes for entry in node.reports]
    assert sorted(name for *_, name in reports) == sorted(owners)  # Each frame is reported exactly once.
    assert all(owners[name] == me for me, _, _, name in reports)
    ends = {name: frame.start_ns + frame.duration_ns for name, frame in air.frames.items()}
    over = {name: time for _, time, _, name in reports if name in air.frames}

    # A node sends one frame at a time. The next frame starts only after the outcome of the previous one.
    for me in range(nodes):
        mine = sorted((frame.start_ns, name) for name, frame in air.frames.items() if owners[name] == me)
        for (_, before), (start, _) in itertools.pairwise(mine):
            assert ends[before] <= over[before] <= start

    # Compute the outcome of each frame, and the time of this outcome.
    given_up = 0
    for _, time, what, name in reports:
        if name not in air.frames:
            assert what == "dropped"
            continue
        frame = air.frames[name]
        if not frame.acknowledged:
            assert (what, time) == ("sent", ends[name])
            continue
        assert frame.to is not None
        delay = delay_ns(owners[name], frame.to.index)
        arrives = None if delay is None else ends[name] + delay
        outcome = None if arrives is None else frame.outcomes[frame.receivers.index(frame.to)]
        if outcome == RECEIVED:
            assert (what, time) == ("sent", arrives)
        else:
            assert (what, time) == ("dropped", max(frame.start_ns + timeout_ns, arrives or ends[name]))
            given_up += 1
    assert air.medium.given_up == given_up
    assert air.medium.queue_drops == frames - len(air.frames)

    # A frame has one outcome for each pair of nodes in range. Overlapping frames determine this outcome.
    arrivals: dict[int, list[tuple[int, int, str]]] = {i: [] for i in range(nodes)}
    for name, frame in air.frames.items():
        for receiver in range(nodes):
            if (delay := delay_ns(owners[name], receiver)) is not None:
                arrivals[receiver].append((frame.start_ns + delay, ends[name] + delay, name))
    assert sum(air.medium.pairs) == sum(len(each) for each in arrivals.values())
    outcomes = Counter(outcome for frame in air.frames.values() for outcome in frame.outcomes)
    assert [outcomes[outcome] for outcome in range(len(OUTCOMES))] == air.medium.pairs
    for receiver, each in arrivals.items():
        own = [(frame.start_ns, ends[name]) for name, frame in air.frames.items() if owners[name] == receiver]
        for first, last, name in each:
            frame = air.frames[name]
            outcome = frame.outcomes[frame.receivers.index(air.nodes[receiver].transceiver)]
            disturbed = any(begin < last and first < end for begin, end, other in each if other != name)
            deaf = not full_duplex and any(begin < last and first < end for begin, end in own)
            assert (outcome in (COLLISION, NEVER_ATTEMPTED, HALF_DUPLEX)) == (disturbed or deaf)
            if not deaf:
                assert outcome != HALF_DUPLEX
            elif not disturbed:
                assert outcome == HALF_DUPLEX


@settings(max_examples=100)
@given(
    seed=st.integers(0, 10**6),
    frames=st.integers(1, 40),
    crashes=st.integers(1, 8),
    speed_mps=st.sampled_from([0.0, 30.0, 1000.0]),
)
def test_the_acking_mac_handles_random_crashes_of_moving_nodes(
    seed: int, frames: int, crashes: int, speed_mps: float
) -> None:
    """No node sends two frames at the same time, loses a frame because of another of its own frames, or receives two
    reports for one frame.
    """
    stream = Stream(seed, "test")
    air = AckingAir(range_m=500)
    for _ in range(3):
        node = air.acking(stream.uniform(0, 100), stream.uniform(0, 100), 3_000_000)
        speed = stream.uniform(-speed_mps, speed_mps) / SECOND
        node.transceiver.move(0, *node.transceiver.position(0), speed, 0.0)
    sender = air.nodes[0]
    for i in range(frames):
        to = air.nodes[stream.below(3)]
        target = None if to is sender else to
        air.at_ns(
            stream.below(20_000_000),
            sender.send,
            f"f{i}",
            stream.below(300),
            target,
            target is not None and stream.chance(0.5),
        )
    for _ in range(crashes):
        air.at_ns(stream.below(20_000_000), sender.mac.reset)
    air.run_ns(SECOND)
    times = sorted((frame.start_ns, frame.start_ns + frame.duration_ns) for frame in air.frames.values())
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(times))
    assert air.medium.pairs[RECEIVED] == sum(air.medium.pairs) == 2 * len(air.frames)
    assert max(Counter(name for _, _, name in sender.reports).values(), default=1) == 1
    assert sender.mac.queued == 0


def test_air_times_of_acking_use_the_exact_decimal_bitrate() -> None:
    """At 0.7 Mb/s, 7 bits last exactly 10 microseconds, although 0.7 is not a binary fraction."""
    framing = Framing(WirelessParameters(mac="acking", bitrate_mbps=0.7, phy_header_bits=0, mac_header_bytes=0))
    for size in range(2000):
        in_all, airtime_ns = framing.datagram(size)
        assert airtime_ns == -(-8 * in_all * 10_000 // 7)
