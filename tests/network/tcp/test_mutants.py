"""Tests that remove one rule of TCP at a time. A trace or a few hostile schedules detect each removal, and report no
fault if all rules are present.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mobilenet.network.tcp import congestion, connection, endpoint, estimator, receive_stream, send_stream
from mobilenet.network.tcp.parameters import TcpParameters
from mobilenet.network.tcp.segment import SYN, UNKNOWN, Segment

from . import test_congestion, test_endpoint, test_open, test_stream, test_timeout
from .net import PATIENT, check_crashes, check_transfer

Connection, Endpoint, Estimator = connection.Connection, endpoint.Endpoint, estimator.Estimator
Congestion, Incoming, Outgoing = congestion.Congestion, receive_stream.Incoming, send_stream.Outgoing


def hostile() -> None:
    for seed in range(6):
        check_transfer(PATIENT, seed, 0.3, 0.3, 5.0, 200.0, ([100, 3000] * 10, [700] * 20))


def gentle() -> None:
    for seed in range(6):
        check_transfer(TcpParameters(), seed, 0.0, 0.0, 5.0, 0.0, ([100, 3000] * 10, [700] * 20))


def crashes() -> None:
    for seed in range(6):
        check_crashes(True, seed, 0.1, 0.3, 2000, 0.2, [(k % 2, 1.0 + 2 * k, 0.01) for k in range(12)])


def karn_off(self: Any, piece: Any, fresh: bool) -> None:
    timed = self._timed_end, self._timed_at
    transmit(self, piece, fresh)
    if not fresh:
        self._timed_end, self._timed_at = timed


transmit = Connection._transmit


def no_duplicate_filter(self: Any, seq: int, length: int, messages: Any) -> list[Any]:
    ready = take(self, seq, length, messages)
    return ready or ([message for _, message in messages] if seq + length <= self.nxt else [])


take = Incoming.take


def out_of_order(self: Any, seq: int, length: int, messages: Any) -> list[Any]:
    take(self, seq, length, messages)
    return [message for _, message in messages]


def forgets_what_waited(self: Any, seq: int, end: int, messages: Any) -> None:
    keep(self, seq, end, ())


keep = Incoming._keep


def any_connection(self: Any, segment: Segment) -> None:
    on_segment(
        self, segment._replace(source=self.peer_incarnation, target=self.incarnation) if self.is_open else segment
    )


on_segment = Connection.on_segment


def by_peer_alone(self: Any, peer: int, segment: Segment) -> None:
    for link in self.links.values():
        if link.peer == peer and link.connection.is_open and not segment.flags & SYN and segment.target != UNKNOWN:
            any_connection(link.connection, segment)
            return
    find(self, peer, segment)


find = Endpoint.on_segment


def early_forgetting(self: Any, ack: int) -> None:
    acknowledge(self, ack)
    while self._first < self._at and self._messages[self._first][0] < ack:
        del self._messages[self._first]
        self._first += 1


acknowledge = Outgoing.acknowledge


def halves_the_window(self: Any, flight: int, highest: int) -> None:
    """Halve cwnd as if the whole window were in flight."""
    on_timeout(self, self.window, highest)


on_timeout = Congestion.on_timeout


def no_recover(self: Any, flight: int, highest: int) -> None:
    on_timeout(self, flight, highest)
    self.recover = 0


def unbounded_slow_start(self: Any, acked: int, ack: int, flight: int) -> bool:
    if not self.recovering and self.window < self.threshold:
        self.window += max(0, acked - self._mss)
    return on_ack(self, acked, ack, flight)


on_ack = Congestion.on_ack


def partial_is_full(self: Any, acked: int) -> bool:
    self.recovering = False
    self.window = self.threshold
    return False


def lazy(self: Any, segment: Segment) -> None:
    self._ack_delay_ns += 1
    on_data(self, segment)


def never_prompt(self: Any, segment: Segment) -> None:
    """Delay every acknowledgement, even if the segment is out of order."""
    gap, Incoming.gap = Incoming.gap, property(lambda self: False)  # type: ignore[method-assign, assignment]
    try:
        on_data(self, segment)
    finally:
        Incoming.gap = gap  # type: ignore[method-assign]


on_data = Connection._on_data


def replaced_by_any_syn(self: Any, syn: Segment) -> None:
    accept(self, syn)
    self._port._endpoint.replace(self._port)


accept = Connection.accept


def stays_replaced(self: Any, link: Any) -> None:
    """Keep an older connection to the same peer open."""


MUTANTS: list[tuple[Any, str, Any, Callable[[], None]]] = [
    (Connection, "_transmit", karn_off,
    test_timeout.test_timeouts_stay_doubled_until_a_clean_sample),
    (Connection, "_transmit", karn_off,
    test_timeout.test_a_retransmission_invalidates_the_rtt_sample),
    (Estimator, "back_off", lambda self: None,
    test_timeout.test_timeouts_stay_doubled_until_a_clean_sample),
    (Estimator, "back_off", lambda self: None, test_open.test_connecting_to_a_silent_peer_times_out_after_75_s),
    (Estimator, "wait", lambda self, rto_ns: setattr(self, "rto_ns", self.rto_ns or rto_ns),
    test_open.test_a_lost_syn_sets_a_3_s_timeout_and_one_segment_window),
    (Incoming, "take", no_duplicate_filter, hostile),
    (Incoming, "take", out_of_order, hostile),
    (Incoming, "_keep", forgets_what_waited, hostile),
    (Outgoing, "acknowledge", early_forgetting,
     test_stream.test_a_message_is_buffered_until_its_last_byte_is_acked),
    (Outgoing, "go_back", lambda self: None, hostile),
    (Connection, "on_segment", any_connection,
    test_open.test_segments_of_other_connections_are_reset),
    (Endpoint, "on_segment", by_peer_alone, crashes),
    (Endpoint, "replace", stays_replaced, test_endpoint.test_a_rebooted_peer_replaces_its_old_connection),
    (Connection, "accept", replaced_by_any_syn, crashes),
    (Congestion, "on_timeout", halves_the_window, test_timeout.test_a_second_timeout_in_a_row_does_not_change_ssthresh),
    (Congestion, "on_timeout", no_recover, test_congestion.test_duplicate_acks_after_a_timeout_do_not_signal_a_loss),
    (Congestion, "on_ack", unbounded_slow_start,
    test_congestion.test_slow_start_adds_at_most_a_segment_per_acknowledgement),
    (Congestion, "_on_partial_ack", partial_is_full,
    test_congestion.test_newreno_repairs_two_losses_without_a_timeout),
    (Congestion, "on_idle", lambda self: None, test_congestion.test_the_congestion_window_restarts_after_idle_periods),
    (Connection, "_on_data", lazy, test_stream.test_a_lone_segment_is_acknowledged_after_the_delay),
    (Connection, "_on_data", never_prompt, test_stream.test_gaps_and_filled_gaps_are_acknowledged_immediately),
]  # fmt: skip


@pytest.mark.parametrize("check", [hostile, gentle, crashes])
def test_hostile_tcp_schedules_pass_without_mutants(check: Callable[[], None]) -> None:
    check()


@pytest.mark.parametrize(
    ("owner", "name", "mutant", "check"), MUTANTS, ids=lambda value: getattr(value, "__name__", None)
)
def test_tcp_mutants_are_detected_by_the_tests(
    owner: Any, name: str, mutant: Any, check: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, mutant)
    with pytest.raises((AssertionError, KeyError)):
        check()
