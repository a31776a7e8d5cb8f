"""Tests of the retransmission timeout, its doubling, Karn's rule and the estimator, to the nanosecond.

After `open` there is one sample of 100 ms, so SRTT is 100 ms, RTTVAR 50 ms, and RTO 300 ms.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mobilenet.engine.clock import MILLISECOND, SECOND
from mobilenet.network.tcp.estimator import Estimator

from .wire import Wire, lose, tcp


def ms(wire: Wire) -> tuple[float, float, float]:
    estimator = wire.a.connection.estimator
    return estimator.srtt_ns / MILLISECOND, estimator.rttvar_ns / MILLISECOND, estimator.rto_ns / MILLISECOND


def test_the_rtt_estimator_agrees_with_hand_computation() -> None:
    estimator = Estimator(tcp())
    assert estimator.rto_ns == SECOND
    estimates = []
    for rtt_ms in (100, 140, 50):
        estimator.sample(rtt_ms * MILLISECOND)
        estimates.append((estimator.rttvar_ns, estimator.srtt_ns, estimator.rto_ns))
    assert estimates == [
        (50_000_000, 100_000_000, 300_000_000),  # R/2, R, R + 4 R/2
        (47_500_000, 105_000_000, 295_000_000),  # 3/4 50 + 1/4 |100 - 140|, 7/8 100 + 1/8 140
        (49_375_000, 98_125_000, 295_625_000),  # 3/4 47.5 + 1/4 55, 7/8 105 + 1/8 50
    ]


def test_the_timeout_has_a_floor_a_ceiling_and_a_granularity() -> None:
    estimator = Estimator(tcp())
    for _ in range(60):
        estimator.sample(10 * MILLISECOND)
    assert estimator.rto_ns == 200 * MILLISECOND
    for _ in range(200):
        estimator.sample(500 * MILLISECOND)
    # SRTT + G, because RTTVAR is only a few nanoseconds
    assert 510 * MILLISECOND - 100 < estimator.rto_ns <= 510 * MILLISECOND
    for _ in range(20):
        estimator.back_off()
    assert estimator.rto_ns == 60 * SECOND
    estimator.sample(100 * SECOND)
    assert estimator.rto_ns == 60 * SECOND


@given(st.lists(st.integers(0, 10 * SECOND), min_size=1, max_size=50))
def test_the_rtt_estimator_agrees_with_exact_arithmetic(samples: list[int]) -> None:
    """The estimator is compared with the formulas of RFC 6298 in exact fractions. Rounding down costs only a few
    nanoseconds.
    """
    estimator = Estimator(tcp())
    srtt = rttvar = 0.0
    for number, rtt in enumerate(samples):
        if number:
            rttvar = 0.75 * rttvar + 0.25 * abs(srtt - rtt)
            srtt = 0.875 * srtt + 0.125 * rtt
        else:
            srtt, rttvar = rtt, rtt / 2
        estimator.sample(rtt)
        assert abs(estimator.srtt_ns - srtt) < 10 and abs(estimator.rttvar_ns - rttvar) < 20
        assert 200 * MILLISECOND <= estimator.rto_ns <= 60 * SECOND


def test_timeouts_stay_doubled_until_a_clean_sample() -> None:
    wire = Wire(fate=lose(("a", 1), ("a", 1), ("a", 1), ("a", 1001), ("a", 3001))).open()
    wire.a.say("lost thrice")
    wire.run_ms(4000)
    assert wire.words_of("a") == [f"{time} 1:1001 ack 1" for time in (1000, 1300, 1900, 3100)]
    assert wire.words_of("b") == ["3150 ack 1001"]
    assert ms(wire) == (100, 50, 2400)  # the acknowledgement at 3200 gave no sample
    wire.log.clear()

    wire.a.say("lost once")  # RFC 6298, 5: the doubled timeout also applies to new data
    wire.run_ms(7000)
    assert wire.words_of("a") == ["4000 1001:2001 ack 1", "6400 1001:2001 ack 1"]
    assert ms(wire) == (100, 50, 4800)
    wire.log.clear()

    wire.a.say("not lost")  # this segment is sampled: RTTVAR = 3/4 50 + 0, and the timeout returns to 100 + 4 * 37.5
    wire.run_ms(8000)
    assert ms(wire) == (100, 37.5, 250)
    wire.a.say("lost again")
    wire.run_ms(8500)
    assert wire.words_of("a") == ["7000 2001:3001 ack 1", "8000 3001:4001 ack 1", "8250 3001:4001 ack 1"]
    assert wire.a.connection.counts.timeouts == 5 and wire.a.connection.estimator.samples == 2
    assert wire.b.got == ["lost thrice", "lost once", "not lost", "lost again"]


def test_a_retransmission_invalidates_the_rtt_sample() -> None:
    """The second segment is new. However, its acknowledgement had to wait for the retransmission of the first
    segment.
    """
    wire = Wire(fate=lose(("a", 1))).open()
    wire.a.say(0, 1)
    wire.run_ms(3000)
    assert [what for _, what in wire.sends_of("b")] == ["ack 1", "ack 2001"]
    assert wire.a.connection.estimator.samples == 1


def test_new_acknowledgements_restart_the_timer() -> None:
    """RFC 6298, 5.3: the second segment is sent at 1090. Its timeout counts from 1100, not from 1000 or 1090."""
    wire = Wire(fate=lose(("a", 1001))).open()
    wire.a.say(0)
    wire.at_ms(1090, wire.a.say, 1)
    wire.run_ms(3000)
    assert wire.words_of("a") == ["1000 1:1001 ack 1", "1090 1001:2001 ack 1", "1350 1001:2001 ack 1"]


def test_the_timer_runs_from_the_oldest_unacknowledged_segment() -> None:
    """RFC 6298, 5.1: sending a segment does not restart a running timer."""
    wire = Wire(fate=lose(("a", 1))).open()
    wire.a.say(0)
    wire.at_ms(1290, wire.a.say, 1)
    wire.run_ms(1310)
    assert wire.words_of("a") == ["1000 1:1001 ack 1", "1290 1001:2001 ack 1", "1300 1:1001 ack 1"]


def test_retransmission_timeouts_are_capped_and_finally_give_up() -> None:
    wire = Wire(
        tcp(rto_max_s=1.0, max_retransmissions=4),
        fate=lambda end, number, segment: [] if segment.length else [50_000_000],
    ).open()
    wire.a.say(0)
    wire.run_ms(100_000)
    assert wire.words_of("a") == [f"{time} 1:1001 ack 1" for time in (1000, 1300, 1900, 2900, 3900)]
    assert wire.a.events[1:] == [(4_900_000_000, "retransmissions")]
    assert [message.name for message in wire.a.connection.backlog] == [0]
    assert wire.b.connection.is_open  # b has received no segment and has not sent any data


def test_progress_resets_the_number_of_retransmission_attempts() -> None:
    lost = [("a", 1000 * k + 1) for k in range(4) for _ in range(2)]
    wire = Wire(tcp(rto_max_s=1.0, max_retransmissions=2), lose(*lost)).open()
    for k in range(4):
        wire.at_ms(1000 + 10_000 * k, wire.a.say, k)
    wire.run_ms(100_000)
    assert wire.b.got == [0, 1, 2, 3] and wire.a.connection.is_open


def test_a_timeout_marks_all_outstanding_data_as_lost() -> None:
    """The sender uses go-back-N in slow start up to ssthresh = 4000/2, and then congestion avoidance. The windows are
    1000, 2000, 2500 and 2900 bytes.
    """
    wire = Wire(fate=lose(*(("a", 1000 * k + 1) for k in range(4)))).open()
    wire.a.say(0, 1, 2, 3)
    congestion = wire.a.connection.congestion
    wire.run_ms(1000)
    assert (len(wire.log), congestion.window) == (4, 4000)
    wire.log.clear()
    wire.run_ms(1300)
    assert (congestion.threshold, congestion.window) == (2000, 1000)
    wire.run_ms(1400)
    assert congestion.window == 2000
    wire.run_ms(1500)
    assert congestion.window == 2900
    wire.run_ms(5000)
    assert wire.words_of("a") == [
        "1300 1:1001 ack 1", "1400 1001:2001 ack 1", "1400 2001:3001 ack 1", "1500 3001:4001 ack 1",
    ]  # fmt: skip
    assert wire.a.connection.counts.retransmissions == 4 and wire.b.connection.counts.duplicates_received == 0


def test_data_already_received_is_not_sent_again() -> None:
    """The first of four segments is lost. The acknowledgement of its copy covers all four segments."""
    wire = Wire(tcp(recovery="none"), lose(("a", 1))).open()
    wire.a.say(0, 1, 2, 3)
    wire.run_ms(1999)
    assert wire.words_of("a")[4:] == ["1300 1:1001 ack 1"]
    assert wire.words_of("b") == ["1050 ack 1"] * 3 + ["1350 ack 4001"]
    wire.a.say(4)
    wire.run_ms(5000)
    assert wire.words_of("a")[5:] == ["1999 4001:5001 ack 1"]


def test_a_second_timeout_in_a_row_does_not_change_ssthresh() -> None:
    """RFC 5681, 3.1: ssthresh is half of FlightSize, not of cwnd. It does not change when a retransmission is lost."""
    wire = Wire(tcp(initial_window_segments=20), lose(*(("a", 1000 * k + 1) for k in range(10)), ("a", 1))).open()
    wire.a.say(*range(10))
    wire.run_ms(1300)
    assert wire.a.connection.congestion.threshold == 5000
    wire.run_ms(1900)
    assert wire.a.connection.counts.timeouts == 2 and wire.a.connection.congestion.threshold == 5000


def test_an_ack_delay_equal_to_the_minimum_timeout_is_handled() -> None:
    """With an acknowledgement delay of 0.2 s, the first segment is retransmitted unnecessarily, and after that the
    estimator has adapted. With 0.1 s, no segment is retransmitted.

    A segment takes 5 ms to arrive. After the handshake SRTT is 10, RTTVAR 5 and RTO 200. The first sample that includes
    the delay is 210, after which the three values are 35, 53.75 and 250.
    """
    wire = Wire(tcp(delayed_ack_s=0.2), delay_ns=5 * MILLISECOND).open()
    for k in range(20):
        wire.at_ms(1000 * (k + 1), wire.a.say, k)
    wire.run_ms(2999)
    assert wire.words_of("a") == ["1000 1:1001 ack 1", "1200 1:1001 ack 1", "2000 1001:2001 ack 1"]
    assert wire.words_of("b") == ["1205 ack 1001", "1205 ack 1001", "2205 ack 2001"]
    assert ms(wire) == (35, 53.75, 250)
    wire.run_ms(100_000)
    assert wire.a.connection.counts.timeouts == wire.b.connection.counts.duplicates_received == 1

    wire = Wire(tcp(delayed_ack_s=0.1), delay_ns=5 * MILLISECOND).open()
    for k in range(20):
        wire.at_ms(1000 * (k + 1), wire.a.say, k)
    wire.run_ms(100_000)
    assert wire.a.connection.counts.timeouts == 0
