"""Tests of the congestion window, step by step. A segment has 1000 bytes and arrives after 50 ms. Its transmission
takes no time.
"""

from __future__ import annotations

from typing import Any

import pytest

from mobilenet.engine.clock import MILLISECOND
from mobilenet.network.tcp.congestion import Congestion, initial_window
from mobilenet.network.tcp.segment import Segment

from .wire import Wire, lose, tcp

Step = tuple[float, str, int, int]  # (time in ms, segment from b, window and ssthresh of a after it)


class WatchedWire(Wire):
    """A wire that records the window of a each time a segment reaches a."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.steps: list[Step] = []

    def arrive(self, end: Any, segment: Segment) -> None:
        super().arrive(end, segment)
        if end is self.a:
            congestion = end.connection.congestion
            self.steps.append(
                (self.kernel.now / MILLISECOND, f"ack {segment.ack}", congestion.window, congestion.threshold)
            )


def test_the_initial_window_follows_rfc_5681() -> None:
    """See RFC 5681, section 3.1."""
    assert [initial_window(mss) for mss in (536, 1095, 1096, 2190, 2191)] == [2144, 4380, 3288, 6570, 4382]
    assert Congestion(tcp(initial_window_segments=10), 500, syn_lost=False).window == 5000
    assert Congestion(tcp(initial_window_segments=10), 500, syn_lost=True).window == 500


def test_slow_start_doubles_the_window_in_each_round_trip() -> None:
    wire = Wire(tcp(initial_window_segments=2)).open()
    wire.a.say(*range(30))
    wire.run_ms(5000)
    times = [time for time, _ in wire.sends_of("a")]
    assert [times.count(time) for time in (1000, 1100, 1200, 1300)] == [2, 4, 8, 16]
    assert wire.a.connection.congestion.window == 32_000


def test_slow_start_adds_at_most_a_segment_per_acknowledgement() -> None:
    """RFC 5681, equation 2: min(N, SMSS). A small segment adds its own bytes, and an acknowledgement of two segments
    adds one segment.
    """
    congestion = Congestion(tcp(initial_window_segments=2), 1000, syn_lost=False)
    congestion.on_ack(100, 101, 0)
    assert congestion.window == 2100
    congestion.on_ack(2000, 2101, 0)
    assert congestion.window == 3100


def test_congestion_avoidance_agrees_with_a_hand_trace() -> None:
    """RFC 5681, equation 3: SMSS * SMSS / cwnd. Fractions are carried over.

    10**6 / 4000 = 250; / 4250 = 235, 1250 over; 1001250 / 4485 = 223, 1095 over; 1001095 / 4708 = 212
    """
    congestion = Congestion(tcp(initial_window_segments=8), 1000, syn_lost=False)
    congestion.on_timeout(8000, 8001)
    for _ in range(3):
        congestion.on_ack(1000, 1001, 0)
    windows = [congestion.window]
    for _ in range(4):
        congestion.on_ack(1000, 1001, 0)
        windows.append(congestion.window)
    assert windows == [4000, 4250, 4485, 4708, 4920]


def test_congestion_avoidance_adds_one_segment_per_round_trip() -> None:
    """The window grows by half a segment if only every second segment is acknowledged."""
    for every, growth in ((1, 1.0), (2, 0.5)):
        congestion = Congestion(tcp(initial_window_segments=100), 1000, syn_lost=False)
        congestion.threshold = congestion.window
        for _ in range(10 * 100 // every):
            congestion.on_ack(1000 * every, 1, 0)
        assert congestion.window == pytest.approx(100_000 + 10_000 * growth, rel=0.005)


def test_newreno_repairs_two_losses_without_a_timeout() -> None:
    """RFC 6582, 3.2: ten segments are sent, the first and the fourth are lost, and four more are sent later.

    1100  For each of the first two duplicates, limited transmit sends a new segment. The third sets ssthresh to 10000
          / 2 (without these two segments) and the window to 5000 + 3000, and the first segment is sent again. Five more
          duplicates increase the window to 13000, which allows one segment in addition to the 12 in flight.
    1200  Two duplicates, caused by limited transmit, increase the window to 15000, and the last segment is sent. Then
          3000 bytes are acknowledged: the window is 15000 - 3000 + 1000, and the fourth segment is sent again. One
          duplicate follows.
    1300  After one more duplicate, everything is acknowledged: the window is min(5000, max(0, 1000) + 1000).
    """
    wire = WatchedWire(tcp(initial_window_segments=10), lose(("a", 1), ("a", 3001))).open()
    wire.steps.clear()
    wire.a.say(*range(14))
    wire.run_ms(5000)
    first = [f"1000 {1000 * k + 1}:{1000 * k + 1001} ack 1" for k in range(10)]
    assert wire.words_of("a") == [
        *first,
        "1100 10001:11001 ack 1",
        "1100 11001:12001 ack 1",
        "1100 1:1001 ack 1",
        "1100 12001:13001 ack 1",
        "1200 13001:14001 ack 1",
        "1200 3001:4001 ack 1",
    ]
    high = 2**30
    assert wire.steps == [
        (1100, "ack 1", 10_000, high), (1100, "ack 1", 10_000, high), (1100, "ack 1", 8000, 5000),
        (1100, "ack 1", 9000, 5000), (1100, "ack 1", 10_000, 5000), (1100, "ack 1", 11_000, 5000),
        (1100, "ack 1", 12_000, 5000), (1100, "ack 1", 13_000, 5000),
        (1200, "ack 1", 14_000, 5000), (1200, "ack 1", 15_000, 5000), (1200, "ack 3001", 13_000, 5000),
        (1200, "ack 3001", 14_000, 5000), (1300, "ack 3001", 15_000, 5000), (1300, "ack 14001", 2000, 5000),
    ]  # fmt: skip
    assert wire.b.got == list(range(14))
    counts = wire.a.connection.counts
    assert (counts.fast_retransmits, counts.retransmissions, counts.timeouts) == (1, 2, 0)


def test_a_full_acknowledgement_deflates_the_window_to_ssthresh() -> None:
    """RFC 6582, 3.2, 3, option 1: the window becomes min(ssthresh, FlightSize + SMSS). Here, ssthresh is smaller."""
    wire = WatchedWire(tcp(initial_window_segments=10), lose(("a", 1))).open()
    wire.steps.clear()
    wire.a.say(*range(40))
    wire.run_ms(1200)
    before = [step for step in wire.steps if step[1] == "ack 1"]
    after = [step for step in wire.steps if step[1] != "ack 1"]
    assert (
        before[-1][2] == 5000 + 3000 + 1000 * (9 - 3) + 2 * 1000
    )  # 9 duplicates for the first ten segments, and 2 for those that limited transmit added
    assert after[0] == (1200, "ack 12001", 5000, 5000)


def test_reno_recovery_stops_at_the_first_new_acknowledgement() -> None:
    """RFC 5681, 3.2, with the same losses as above: recovery ends at 1200 with a window of 5000. Two duplicates do not
    start another recovery, so the timeout at 1500 repairs the second loss.
    """
    wire = WatchedWire(tcp(initial_window_segments=10, recovery="reno"), lose(("a", 1), ("a", 3001))).open()
    wire.steps.clear()
    wire.a.say(*range(14))
    wire.run_ms(5000)
    assert wire.words_of("a")[13:] == ["1100 12001:13001 ack 1", "1200 13001:14001 ack 1", "1500 3001:4001 ack 1"]
    assert wire.steps[-4:] == [
        (1200, "ack 3001", 5000, 5000), (1200, "ack 3001", 5000, 5000), (1300, "ack 3001", 5000, 5000),
        (1600, "ack 14001", 2000, 5500),
    ]  # fmt: skip
    assert wire.b.got == list(range(14))


def test_without_fast_recovery_only_the_timer_retransmits() -> None:
    wire = Wire(tcp(initial_window_segments=10, recovery="none"), lose(("a", 1))).open()
    wire.a.say(*range(14))
    wire.run_ms(1400)
    assert [entry for entry in wire.sends_of("a") if entry[0] > 1000][:1] == [(1300, "1:1001 ack 1")]


def test_the_first_partial_acknowledgement_restarts_the_timer() -> None:
    """RFC 6582, 4, impatient variant. Segments 1, 4 and 7 are lost, and so is the copy of segment 7. The timer restarts
    at 1100 and 1200, but not at 1300, and expires at 1500.
    """
    wire = Wire(tcp(initial_window_segments=10), lose(("a", 1), ("a", 3001), ("a", 6001), ("a", 6001))).open()
    wire.a.say(*range(12))
    wire.run_ms(1600)
    again = [(time, what) for time, what in wire.sends_of("a") if time > 1000 and int(what.split(":")[0]) < 10_000]
    assert again == [
        (1100, "1:1001 ack 1"),
        (1200, "3001:4001 ack 1"),
        (1300, "6001:7001 ack 1"),
        (1500, "6001:7001 ack 1"),
    ]


def test_fast_retransmit_restarts_the_timer() -> None:
    """RFC 6298, 5: the timer then runs for a full timeout. The copy sent at 1290 is lost and sent again at 1590, not at
    1300.
    """
    wire = Wire(tcp(initial_window_segments=5), lose(("a", 1), ("a", 1))).open()
    wire.a.say(0)
    wire.at_ms(1190, wire.a.say, 1, 2, 3)
    wire.run_ms(2000)
    assert [time for time, what in wire.sends_of("a") if what.startswith("1:")] == [1000, 1290, 1590]


def test_duplicate_acks_after_a_timeout_do_not_signal_a_loss() -> None:
    """RFC 6582, 3.2, 2: such duplicates acknowledge segments that were retransmitted without need."""
    congestion = Congestion(tcp(initial_window_segments=10), 1000, syn_lost=False)
    congestion.on_timeout(10_000, 10_001)
    assert not any(congestion.on_duplicate_ack(5001, 5000, 10_001) for _ in range(5))
    congestion.on_ack(5000, 10_001, 0)
    assert not any(congestion.on_duplicate_ack(10_001, 5000, 15_001) for _ in range(5))
    congestion.on_ack(1000, 11_001, 0)
    assert [congestion.on_duplicate_ack(11_001, 4000, 15_001) for _ in range(4)] == [False, False, True, False]


@pytest.mark.parametrize("limited", [True, False])
def test_limited_transmit_sends_a_segment_per_early_duplicate(limited: bool) -> None:
    """RFC 3042: each of the first two duplicates allows one new segment."""
    wire = Wire(tcp(initial_window_segments=3, limited_transmit=limited), lose(("a", 1))).open()
    wire.a.say(*range(9))
    wire.run_ms(1100)
    assert wire.words_of("a")[3:] == (["1100 3001:4001 ack 1", "1100 4001:5001 ack 1"] if limited else [])
    wire.run_ms(1299)
    again = [time for time, what in wire.sends_of("a") if what.startswith("1:")]
    # With limited transmit there are enough duplicates for fast retransmit.
    assert again == ([1000, 1200] if limited else [1000])


def test_the_duplicate_ack_threshold_is_configurable() -> None:
    wire = Wire(tcp(duplicate_acks=1), lose(("a", 1))).open()
    wire.a.say(0, 1)
    wire.run_ms(1100)
    assert wire.words_of("a")[2:] == ["1100 1:1001 ack 1"]


def test_acknowledgements_carried_on_data_are_not_duplicates() -> None:
    """RFC 5681, 2: the first segment of a is lost, so all five segments of b have ack 1."""
    wire = Wire(tcp(initial_window_segments=5), lose(("a", 1))).open()
    wire.a.say(0)
    wire.b.say(*range(5))
    wire.run_ms(1299)
    assert [what for _, what in wire.sends_of("a")] == ["1:1001 ack 1", *(f"ack {1000 * k + 1001}" for k in range(5))]
    assert wire.a.connection.congestion.duplicates == 0


def test_the_congestion_window_restarts_after_idle_periods() -> None:
    """RFC 5681, 4.1: the window is reset after an idle timeout, but not before."""
    wire = Wire(tcp(initial_window_segments=2)).open()
    wire.a.say(*range(30))
    wire.run_ms(1400)
    assert wire.a.connection.congestion.window == 32_000
    wire.a.say(30)
    wire.run_ms(1500)
    rto_ms = wire.a.connection.estimator.rto_ns / MILLISECOND
    assert wire.a.connection.congestion.window == 33_000
    wire.run_ms(1400 + rto_ms)
    wire.a.say(31)
    assert wire.a.connection.congestion.window == 33_000
    wire.run_ms(3000)
    wire.a.say(*range(32, 40))
    assert wire.a.connection.congestion.window == 2000
    assert wire.words_of("a")[-2:] == ["3000 32001:33001 ack 1", "3000 33001:34001 ack 1"]
