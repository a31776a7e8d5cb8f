"""Tests of each rule of station.py and host.py in scenes that are specified by hand. They include the counterexamples
in the headers of these files.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mobilenet.protocols.tcp_flooding import Status
from mobilenet.protocols.tcp_flooding.messages import (
    App,
    Attach,
    Close,
    Closed,
    Moved,
    Ping,
    Reenter,
    Return,
    Safe,
    Welcome,
)

from . import bench as table
from .bench import Bench
from .mutants import MUTANTS


def kinds(messages: list[object]) -> list[type]:
    return [type(message) for message in messages]


def test_a_message_crosses_each_link_once_and_never_returns() -> None:
    bench = Bench([0, 0, 1, 2])
    assert bench.broadcast(0, 100) == (0, 0)
    assert bench.deliveries(0) == [(0, 0)] and bench.deliveries(1) == []
    assert bench.pass_on("h0", "s0") == [App(0, 0, 100)]
    assert bench.pass_on("s0", "h0") == [] and bench.pass_on("s0", "h1") == [App(0, 0, 100)]
    assert bench.pass_on("s0", "s1") == [App(0, 0, 100)]
    assert bench.pass_on("s1", "s0") == []
    bench.settle()
    assert [bench.deliveries(h) for h in range(4)] == [[(0, 0)]] * 4
    assert all(station.settled() for station in bench.stations) and all(host.settled() for host in bench.hosts)


def test_the_echo_setting_also_returns_messages_to_their_sender() -> None:
    bench = Bench([0, 1], echo=True)
    bench.broadcast(0, 7)
    bench.pass_on("h0", "s0")
    assert bench.pass_on("s0", "h0") == [App(0, 0, 7)]
    bench.pass_on("s0", "s1")
    assert bench.pass_on("s1", "s0") == [App(0, 0, 7)]
    bench.settle()
    assert bench.deliveries(0) == bench.deliveries(1) == [(0, 0)]


@pytest.mark.parametrize(
    ("spacing", "arrives_ms"),
    [
        ("per_message", [{0: 0, 1: 5, 2: 10}, {0: 1, 1: 6, 2: 11}]),
        ("per_queue", [{0: 0, 1: 5, 2: 10}, {0: 15, 1: 20, 2: 25}]),
    ],
)
def test_spacing_delays_successive_forwarded_messages(spacing: str, arrives_ms: list[dict[int, int]]) -> None:
    bench = Bench([0, 0, 0, 1, 1], spacing_ms=5.0, spacing=spacing)
    arrivals_ms: list[dict[int, int]] = [{}, {}]
    for ms in range(40):
        if ms in (0, 1):
            bench.broadcast(3 + ms, 1)
            bench.pass_on(f"h{3 + ms}", "s1")
            bench.pass_on("s1", "s0")
        for h in range(3):
            for message in bench.pass_on("s0", f"h{h}"):
                arrivals_ms[message.origin - 3][h] = ms
        bench.wait(0.001)
    assert arrivals_ms == arrives_ms


def test_no_message_overtakes_another_one_on_a_link() -> None:
    """Two hosts leave between the two messages, so the second message waits for fewer links."""
    bench = Bench([0, 0, 0, 1], spacing_ms=5.0)
    bench.broadcast(3, 1)
    bench.settle()
    bench.hosts[0].leave(), bench.hosts[1].leave()
    bench.settle()
    bench.broadcast(3, 1)
    bench.settle()
    assert bench.deliveries(2) == []
    bench.wait(0.011)
    bench.settle()
    assert bench.deliveries(2) == [(3, 0), (3, 1)]


def test_a_lossless_handoff_has_no_gap() -> None:
    bench = Bench([0, 2, 0])
    bench.resets_arrive = False
    bench.move(0, 1)
    assert bench.pass_on("h0", "s1") == [Attach(2, (0,), True)]
    bench.broadcast(1, 1)  # The broadcast reaches s1 after the Ping, and reaches the host through s0.
    bench.settle()
    assert bench.deliveries(0) == [(1, 0)]
    assert bench.stations[1].serves(0) and not bench.stations[0].serves(0)
    assert bench.hosts[0].settled() and bench.stable[0].via == (1,)
    assert bench.upcalls(0)[-2:] == ["session_opened", "session_confirmed"] and "gap" not in bench.upcalls(0)


def test_messages_between_ping_and_return_are_sent_after_safe() -> None:
    bench = Bench([0, 1])
    bench.move(0, 1)
    bench.pass_on("h0", "s1")
    assert kinds(bench.pass_on("s1", "s0")) == [Ping]
    bench.broadcast(1, 1)
    bench.pass_on("h1", "s1")
    assert bench.stations[1].buffer_sizes() == (1, 0)
    assert kinds(bench.pass_on("s0", "h0")) == [Ping]
    assert kinds(bench.pass_on("h0", "s0")) == [Return]
    assert kinds(bench.pass_on("s0", "s1")) == [Return]
    assert kinds(bench.pass_on("s1", "h0")) == [Safe, App]
    bench.settle()
    assert bench.deliveries(0) == [(1, 0)]


def test_messages_that_arrive_after_return_are_sent_again() -> None:
    """Over the wire, message x is slower than the host's next message over the new link."""
    bench = Bench([0, 0, 1])
    bench.move(0, 1)
    # Attach, Ping, Ping, Return, Return
    bench.pass_along("h0", "s1", "s0", "h0", "s0", "s1")
    bench.broadcast(1, 1)
    bench.pass_on("h1", "s0")
    bench.pass_on("s0", "h0")  # x is delivered at the host, but has not reached s1 yet.
    bench.broadcast(0, 2)
    bench.pass_on("h0", "s0")  # The old station has accepted the message, but it is still on the wire.
    assert bench.stable[0].unsent == {} and bench.deliveries(0) == [(1, 0), (0, 0)]
    bench.pass_on("s1", "h0")  # Safe
    assert bench.stable[0].via == (0, 1)
    bench.broadcast(0, 3)
    assert bench.pass_on("h0", "s1") == [Moved(2), App(1, 0, 1), App(0, 0, 2), App(0, 1, 3)]
    assert bench.stable[0].via == (1,)
    bench.settle()
    assert bench.deliveries(2) == bench.deliveries(0) == [(1, 0), (0, 0), (0, 1)]


def test_the_return_of_an_earlier_ping_is_ignored() -> None:
    bench = Bench([0, 1])
    bench.move(0, 1)
    bench.pass_on("h0", "s1")
    (ping,) = bench.pass_on("s1", "s0")
    bench.pass_on("s0", "h0")
    bench.pass_on("h0", "s0")  # the Return that answers the first Ping is in transit
    bench.hosts[0].on_cell(0)  # h0 moves back to the first cell
    bench.hosts[0].on_cell(1)  # h0 moves to the second cell again
    bench.open()
    bench.pass_on("h0", "s1")
    assert bench.pass_on("s0", "s1")[0] == Return(ping.id)
    assert not bench.stations[1].serves(0)
    bench.settle()
    assert bench.stations[1].serves(0) and bench.hosts[0].settled()


def test_a_host_that_returns_to_its_old_cell_stays_connected() -> None:
    bench = Bench([0, 1])
    bench.move(0, 1)
    bench.pass_on("h0", "s1")
    bench.resets_arrive = False
    bench.hosts[0].on_cell(0)
    bench.settle()
    assert bench.hosts[0].settled() and bench.stations[0].serves(0) and not bench.stations[1].serves(0)
    assert bench.stations[1].settled() and bench.stable[0].ses == 3


def test_losing_the_old_link_before_return_causes_a_gap() -> None:
    bench = Bench([0, 1, 0])
    bench.broadcast(2, 1)
    bench.pass_on("h2", "s0")
    bench.pass_on("s0", "h0")  # h0 has delivered the message, which has not reached s1 yet
    bench.move(0, 1)
    bench.pass_on("h0", "s1")
    bench.links["h0", "s0"][0].breaks("retransmissions")
    assert bench.pass_on("h0", "s1") == [Reenter(2)]
    assert kinds(bench.pass_on("s1", "h0")) == [] and not bench.stations[1].serves(0)
    assert kinds(bench.pass_on("s1", "s0")) == [Ping, Close]
    assert kinds(bench.pass_on("s0", "s1")) == [App, Closed]
    assert bench.pass_on("s1", "h0") == [Welcome(2, ((2, 0),))]
    assert "gap" in bench.upcalls(0)
    bench.settle()
    assert not bench.stations[0].serves(0) and bench.deliveries(0) == [(2, 0)]


def test_the_wait_for_a_handoff_is_limited() -> None:
    bench = Bench([0, 1], handoff_wait_s=2.0)
    bench.move(0, 1)
    bench.pass_on("h0", "s1")
    bench.wait(1.9)
    assert bench.pass_on("h0", "s1") == []
    bench.wait(0.2)
    assert bench.pass_on("h0", "s1") == [Reenter(2)]
    bench.settle()
    assert "gap" in bench.upcalls(0) and bench.hosts[0].settled()


def test_a_safe_message_is_accepted_after_the_old_link_is_lost() -> None:
    bench = Bench([0, 1])
    bench.move(0, 1)
    bench.pass_along("h0", "s1", "s0", "h0", "s0", "s1")
    bench.links["h0", "s0"][0].breaks("reset")
    bench.settle()
    assert "gap" not in bench.upcalls(0) and bench.hosts[0].settled()


def test_a_message_sent_before_a_link_opens_is_not_received() -> None:
    """Message m reaches s0 before h2 joins there, and s1 after h2 has asked for a link."""
    bench = Bench([0, 0, 0])
    bench.hosts[2].leave()
    bench.settle()
    bench.broadcast(1, 1)
    bench.pass_on("h1", "s0")  # m stays on the wire to s1 for a long time
    bench.hosts[2].join()
    bench.open()
    bench.pass_along("h2", "s0", "h2")
    assert bench.upcalls(2)[-1] == "joined"
    bench.move(2, 1)
    bench.pass_on("h2", "s1")  # the Ping leaves s1 before m arrives
    bench.settle()
    assert bench.deliveries(2) == [] and bench.hosts[2].settled()


def test_a_crash_preserves_unsent_messages_and_the_seen_set() -> None:
    bench = Bench([0, 2])
    bench.broadcast(1, 1)
    bench.settle()
    bench.broadcast(0, 1)
    bench.crash(0)
    bench.recover(0, 2)
    bench.settle()
    assert bench.deliveries(0) == [(1, 0), (0, 0)] and bench.deliveries(1) == [(1, 0), (0, 0)]
    assert bench.upcalls(0)[-1] == "gap" and bench.stable[0].unsent == {}
    assert not bench.stations[0].serves(0) and bench.stations[2].serves(0)


def test_both_stations_know_a_host_that_moved_and_crashed() -> None:
    bench = Bench([0, 0, 2])
    bench.move(0, 1)
    bench.pass_along("h0", "s1", "s0", "h0", "s0", "s1")
    bench.broadcast(1, 1)
    bench.pass_on("h1", "s0")
    bench.pass_on("s0", "h0")  # x is still on the wire.
    bench.pass_on("s1", "h0")  # After Safe, x is sent again and lost in the crash.
    bench.crash(0)
    bench.recover(0, 2)
    bench.open()
    assert bench.pass_on("h0", "s2") == [Attach(3, (0, 1), False)]
    bench.settle()
    assert bench.stations[2].serves(0) and bench.deliveries(0) == [(1, 0)] == bench.deliveries(2)


def test_an_attach_for_an_outdated_session_is_rejected() -> None:
    bench = Bench([0, 1])
    bench.move(0, 1)
    late = bench.links["h0", "s1"]
    del bench.links["h0", "s1"], bench.links["s1", "h0"]
    attach = late[0].sent.popleft()
    bench.hosts[0].on_cell(2)
    bench.settle()
    assert bench.stations[2].serves(0)
    late[1].closed = False
    bench.stations[1].on_message(late[1], attach)
    assert not bench.stations[1].serves(0) and bench.stations[1].settled() and late[1].closed


def test_leaving_waits_for_unsent_messages_and_then_disconnects() -> None:
    bench = Bench([0, 1])
    bench.broadcast(0, 1)
    assert bench.hosts[0].leave() and bench.stable[0].status is Status.MEMBER
    assert bench.broadcast(0, 1) is None
    bench.pass_on("h0", "s0")
    assert bench.stable[0].status is Status.LEAVING and bench.upcalls(0)[-1] == "left"
    bench.settle()
    assert bench.hosts[0].is_out() and not bench.stations[0].serves(0)
    bench.hosts[0].on_cell(2)
    bench.hosts[0].join()
    bench.settle()
    assert bench.upcalls(0)[-1] == "joined" and bench.stations[2].serves(0)


def test_a_host_probes_a_silent_station() -> None:
    bench = Bench([0, 1], silence_s=3.0)
    bench.stations[0].on_closed(bench.links["h0", "s0"][1], "retransmissions")
    bench.links["h0", "s0"][1].abort()
    bench.wait(3.1)
    assert len(bench.links["h0", "s0"][0].sent) == 1
    bench.links["h0", "s0"][0].breaks("reset")
    bench.settle()
    assert bench.upcalls(0)[-1] == "gap" and bench.stations[0].serves(0)


def test_a_refused_connection_is_retried() -> None:
    bench = Bench([0, 1], reconnect_s=0.25)
    bench.hosts[0].on_cell(1)
    here, _ = bench.links["h0", "s1"]
    here.breaks("refused")
    bench.opening.clear()
    assert not bench.hosts[0].settled()
    bench.wait(0.3)
    bench.settle()
    assert bench.hosts[0].settled() and bench.stations[1].serves(0)


@pytest.mark.parametrize(
    ("mutant", "scene"),
    [
        ("stale_return", test_the_return_of_an_earlier_ping_is_ignored),
        ("only_own_again", test_messages_that_arrive_after_return_are_sent_again),
        ("only_unacknowledged_again", test_messages_that_arrive_after_return_are_sent_again),
        ("one_via", test_both_stations_know_a_host_that_moved_and_crashed),
        ("past_ignored", test_a_message_sent_before_a_link_opens_is_not_received),
        ("closed_before_done", test_losing_the_old_link_before_return_causes_a_gap),
        ("no_moved", test_a_lossless_handoff_has_no_gap),
        ("no_stay", test_a_host_that_returns_to_its_old_cell_stays_connected),
        ("old_admitted", test_an_attach_for_an_outdated_session_is_rejected),
        ("leaves_at_once", test_leaving_waits_for_unsent_messages_and_then_disconnects),
    ],
)
def test_each_hand_picked_tcp_flooding_mutant_fails_its_scene(
    mutant: str, scene: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random scenarios take long to catch these mutants, or the verifier cannot see their fault."""
    monkeypatch.setattr(table, "Host", MUTANTS[mutant].host)
    monkeypatch.setattr(table, "Station", MUTANTS[mutant].station)
    with pytest.raises(AssertionError):
        scene()
