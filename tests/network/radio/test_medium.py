"""Tests of which nodes hear a frame, and of how losses are counted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobilenet.engine.clock import MILLISECOND, SECOND
from mobilenet.engine.kernel import Kernel
from mobilenet.engine.random_streams import Stream
from mobilenet.network.radio.neighbours import Neighbours
from mobilenet.network.radio.phy import MODES
from mobilenet.network.radio.transceiver import Transceiver

from .air import Air, listening_air


@pytest.mark.parametrize(
    ("mode", "rate", "psdu", "expected_us"),
    [
        ("b", 1, 164, 1504),
        ("g_mixed", 1, 94, 944),
        ("g_mixed", 24, 164, 82),
        ("g_mixed", 24, 94, 62),
        ("b", 11, 1536, 192 + 1536 * 8 / 11),
        ("a", 6, 14, 20 + 4 * math.ceil((16 + 112 + 6) / 24)),
        ("g_erp", 54, 1536, 20 + 4 * math.ceil((16 + 8 * 1536 + 6) / 216) + 6),
    ],
)
def test_air_times_of_the_80211_modes_follow_their_formulas(
    mode: str, rate: float, psdu: int, expected_us: float
) -> None:
    assert MODES[mode].airtime_ns(psdu, rate) == math.ceil(expected_us * 1000)


def test_interframe_spaces_match_the_80211_standard() -> None:
    spaces = {name: (m.slot_ns, m.sifs_ns, m.difs_ns, m.eifs_ns) for name, m in MODES.items()}
    assert spaces["b"] == spaces["g_mixed"] == (20_000, 10_000, 50_000, 10_000 + 304_000 + 50_000)
    assert spaces["g_erp"][:3] == (9_000, 10_000, 28_000)
    assert spaces["a"] == (9_000, 16_000, 34_000, 16_000 + 44_000 + 34_000)


def test_a_rate_that_the_mode_lacks_is_rejected() -> None:
    with pytest.raises(ValueError, match="no rate of 24"):
        MODES["b"].airtime_ns(100, 24)


def test_reception_includes_a_node_exactly_at_the_range() -> None:
    air, a = listening_air(0)
    inside, outside = air.node(120), air.node(120.001)
    a.send("A")
    air.run_us(9000)
    assert [name for _, name in inside.received] == ["A"]
    assert outside.received == [] and air.outcomes("A") == {"n1": "received"}


def test_interference_reaches_farther_than_reception() -> None:
    air, a, b, c = listening_air(0, 100, 300, range_m=120, interference_range_m=250)
    a.send("A")
    c.send_at_us(700, "C")
    air.run_us(9000)
    assert air.outcomes("A") == {"n1": "collision"}
    assert air.outcomes("C") == {}  # There is no node in communication range.
    assert b.received == []


def test_frames_are_detected_farther_away_than_they_are_received() -> None:
    air = Air(range_m=120, detection_range_m=250)
    a, c = air.node(0), air.node(200, 0)
    a.send("A")
    c.send_at_us(700, "C")
    air.run_us(9000)
    assert air.start_us("C") == pytest.approx(1504 + 0.667 + 50, abs=1e-9)


def test_senders_at_the_same_place_do_not_capture_each_other() -> None:
    """All three nodes stand at one point. Neither frame is stronger, so neither survives unless the threshold is 0."""
    for capture_db, outcome in ((6.0, "collision"), (0.0, "received")):
        air, a, b, c = listening_air(0, 0, 0, capture_db=capture_db)
        a.send_at_us(1000, "A")
        b.send_at_us(1000, "B")
        air.run_us(9000)
        assert air.outcomes("A")[c.transceiver.name] == outcome


def test_capture_saves_the_frame_that_is_much_stronger() -> None:
    for capture_db, outcome in ((None, "collision"), (6.0, "received"), (12.1, "collision")):
        air = Air(capture_db=capture_db, interference_range_m=500)
        # The third node is 4 times as far away, so its signal is 12.04 dB weaker.
        a, _, c = air.node(0), air.node(100), air.node(500)
        a.send("A")
        c.send_at_us(700, "C")
        air.run_us(9000)
        assert air.outcomes("A") == {"n1": outcome}


def test_a_receiver_that_crashes_loses_the_frame() -> None:
    air, a, b = listening_air(0, 50)
    a.send("A")
    air.at_us(700, air.medium.drop_out, b.transceiver)
    a.send_at_us(2000, "A2")
    air.run_us(9000)
    assert air.outcomes("A") == air.outcomes("A2") == {"n1": "receiver_down"}
    assert b.received == []


def test_random_loss_is_applied_at_its_rate() -> None:
    air = Air(loss=0.3)
    a, b = air.node(0, stream=Stream(1, "backoff", "a")), air.node(50)
    b.transceiver.loss_draws = Stream(1, "loss", "b")
    for i in range(4000):
        a.send_at_us(2000 * i, str(i))
    air.run_us(2000 * 4000)
    lost = sum(heard.outcome == "random" for heard in air.log)
    assert len(b.received) == 4000 - lost
    assert abs(lost / 4000 - 0.3) < 4 * math.sqrt(0.3 * 0.7 / 4000)


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), nodes=st.integers(2, 12), frames=st.integers(2, 30))
def test_a_frame_is_received_only_if_no_other_frame_overlaps_it(seed: int, nodes: int, frames: int) -> None:
    """The test checks every arrival: a frame is received if and only if it does not overlap another frame, and its
    receiver is neither sending nor locked onto another frame.
    """
    stream = Stream(seed, "test")
    air = Air("g_mixed", 24)
    places = [(stream.uniform(0, 300), stream.uniform(0, 300)) for _ in range(nodes)]
    for i, (x, y) in enumerate(places):
        air.node(x, y_m=y, stream=Stream(seed, "backoff", str(i)))
    for i in range(frames):
        node = air.nodes[stream.below(nodes)]
        node.send_at_us(stream.below(3000), f"f{i}@{node.transceiver.name}")
    air.run_us(100_000)
    assert len(air.starts) == frames
    duration = 82_000
    start_ns = {name: round(start * 1000) for start, name in air.starts}

    def arrival(name: str, receiver: int) -> int | None:
        sender = int(name.rpartition("@n")[2])
        metres = math.dist(places[sender], places[receiver])
        return start_ns[name] + int(metres / 0.299792458 + 0.5) if metres <= 120 and sender != receiver else None

    for heard in air.log:
        receiver = int(heard.receiver[1:])
        first = arrival(heard.frame, receiver)
        assert first is not None
        others = [
            at for name in start_ns if name != heard.frame and (at := arrival(name, receiver)) is not None
            if at < first + duration and first < at + duration
        ]  # fmt: skip
        own = [start for name, start in start_ns.items() if name.endswith(f"@{heard.receiver}")]
        deaf = any(start < first + duration and first < start + duration for start in own)
        assert (heard.outcome == "received") == (not others and not deaf), heard
        if deaf and not others:
            assert heard.outcome == "half_duplex"
        if others and not deaf:
            assert heard.outcome in ("collision", "never_attempted")
    total = sum(air.medium.pairs)
    assert total == len(air.log) == air.medium.pairs[0] + sum(air.medium.pairs[1:])


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), count=st.integers(2, 60), speed=st.sampled_from([0.0, 1.4, 30.0]))
def test_the_neighbour_index_finds_every_node_in_range(seed: int, count: int, speed: float) -> None:
    """Nodes move, and the index is updated on a tick. The candidates always include all nodes in range."""
    stream = Stream(seed, "test")
    kernel = Kernel()
    index = Neighbours(120, speed, 100 * MILLISECOND)
    transceivers = []
    for i in range(count):
        transceiver = Transceiver(i, f"n{i}", i, False)
        angle = stream.uniform(0, 2 * math.pi)
        velocity = speed * math.cos(angle) / SECOND, speed * math.sin(angle) / SECOND
        transceiver.move(0, stream.uniform(-400, 400), stream.uniform(-400, 400), *velocity)
        index.add(transceiver, 0)
        transceivers.append(transceiver)
    now = 0
    for step in range(40):
        now += 100 * MILLISECOND
        for transceiver in transceivers:
            index.rebin(transceiver, *transceiver.position(now))
        if step % 10 == 9:  # One node jumps to another point.
            jumper = transceivers[stream.below(count)]
            jumper.move(now, stream.uniform(-400, 400), stream.uniform(-400, 400), 0.0, 0.0)
            index.add(jumper, now)
        at = now + stream.below(100 * MILLISECOND)
        asker = transceivers[stream.below(count)]
        candidates = index.candidates(asker, at)
        assert [a.index for a in candidates] == sorted(a.index for a in candidates)
        here = np.array(asker.position(at))
        for other in transceivers:
            if other is not asker and np.hypot(*(np.array(other.position(at)) - here)) <= 120:
                assert other in candidates
    del kernel


def test_a_frame_considers_only_neighbours_in_a_large_network() -> None:
    """The number of transceivers that a frame considers does not grow with the network. The test counts them instead of
    measuring time.
    """
    looked_at = []
    for side in (3, 32):
        air = Air()
        for i in range(side):
            for j in range(side):
                air.node(200.0 * i, y_m=200.0 * j)
                air.node(200.0 * i + 50, y_m=200.0 * j)
        centre = air.nodes[2 * (side * (side // 2) + side // 2)]
        looked_at.append(len(air.medium.neighbours.candidates(centre.transceiver, 0)))
    assert looked_at[0] == looked_at[1] <= 4
