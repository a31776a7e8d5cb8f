"""Tests of a node with many connections. They check which connection a segment belongs to, and which connections are
refused or replaced.
"""

from __future__ import annotations

from mobilenet.engine.clock import MILLISECOND
from mobilenet.network.tcp.endpoint import Link
from mobilenet.network.tcp.parameters import TcpParameters
from mobilenet.network.tcp.segment import ACK, SYN, UNKNOWN, Segment

from .net import Net, Node
from .wire import Note


def quiet(count: int, *deaf: int) -> tuple[Net, list[Node]]:
    """Return a lossless network and its nodes. A segment takes 10 ms to arrive."""
    net = Net(1, 0.0, 0.0, 10, 0.0)
    for number in range(count):
        Node(net, TcpParameters(), welcomes=number not in deaf)
    return net, net.nodes


def test_a_station_keeps_one_connection_for_each_host() -> None:
    net, (station, *hosts) = quiet(6)
    for host in hosts:
        host.on_open_hook = lambda link, host=host: host.say(link)  # type: ignore[misc]
        host.endpoint.connect(0)
    net.run_s(1)
    assert sorted(link.peer for link in station.links) == [1, 2, 3, 4, 5]
    for link in list(station.links):
        station.say(link)
    net.run_s(2)
    assert all(len(names) == 1 for names in station.heard.values()) and len(station.heard) == 5
    assert all([name[0] for names in host.heard.values() for name in names] == [0] for host in hosts)
    assert station.counts.syns == 5 and all(host.counts.syns == 1 for host in hosts)


def test_a_node_that_does_not_listen_refuses_connections() -> None:
    net, (a, b) = quiet(2, 1)
    a.endpoint.connect(1)
    net.run_s(1)
    assert a.events == [("refused", 1)] and b.events == [] and not b.endpoint.links and not a.endpoint.links
    assert (b.counts.resets, net.carried) == (1, 2)


def test_a_rebooted_peer_replaces_its_old_connection() -> None:
    net, (a, b) = quiet(2)
    a.endpoint.connect(1)
    net.run_s(1)
    a.crash()
    a.boot()
    a.endpoint.connect(1)
    net.run_s(2)
    assert b.events == [("open", 0), ("replaced", 0), ("open", 0)]
    assert len(b.links) == len(b.endpoint.links) == 1
    b.say(b.links[0])
    net.run_s(3)
    assert [len(names) for names in a.heard.values()] == [1]


def test_an_orphaned_connection_end_is_reset_when_it_sends() -> None:
    net, (a, b) = quiet(2)
    a.endpoint.connect(1)
    net.run_s(1)
    b.crash()
    b.boot()
    net.run_s(10)
    assert a.events == [("open", 1)]  # Neither end has sent data.
    a.say(a.links[0])
    net.run_s(11)
    assert a.events == [("open", 1), ("reset", 1)] and not a.endpoint.links


def test_an_old_syn_does_not_open_a_connection() -> None:
    """RFC 9293, 3.5, figure 9: the node answers the old SYN, the peer rejects the answer, and the application is not
    notified.
    """
    net, (a, b) = quiet(2)
    b.arrive(0, Segment(12345, UNKNOWN, SYN, 0, window=1000, mss=500))
    assert len(b.endpoint.links) == 1
    net.run_s(1)
    assert b.events == [] and not b.endpoint.links
    assert (a.counts.resets, b.counts.syns) == (1, 1)


def test_an_old_syn_does_not_replace_a_connection() -> None:
    net, (a, b) = quiet(2)
    a.endpoint.connect(1)
    net.run_s(1)
    b.arrive(0, Segment(12345, UNKNOWN, SYN, 0, window=1000, mss=500))
    net.run_s(2)
    assert b.events == [("open", 0)] and len(b.endpoint.links) == 1
    b.say(b.links[0])
    net.run_s(3)
    assert [len(names) for names in a.heard.values()] == [1]


def test_segments_for_closed_connections_are_reset_once() -> None:
    net, (a, b) = quiet(2)
    b.arrive(0, Segment(5, 6, ACK, 1, 1, 100, 100, ((101, Note("ghost")),)))
    net.run_s(1)
    assert b.heard == {} and (b.counts.resets, a.counts.resets, net.carried) == (1, 0, 1)


def test_incarnation_numbers_always_increase() -> None:
    net, (a, _) = quiet(2)
    net.run_s(1)
    first, second = a.endpoint.connect(1), a.endpoint.connect(1)
    assert (first.connection.incarnation, second.connection.incarnation) == (1_000_000_000, 1_000_000_001)
    a.crash()
    net.run_s(1 + 1e-6)
    a.boot()
    assert a.endpoint.connect(1).connection.incarnation > second.connection.incarnation


def test_reset_and_abort_release_all_resources() -> None:
    for end in ("reset", "abort"):
        net, (a, b) = quiet(2)
        link = a.endpoint.connect(1)
        net.run_s(1)
        getattr(link, end)()
        assert not a.endpoint.links and not a.endpoint._incoming_links and not a.endpoint._accepted
        net.run_s(2)
        assert b.events == [("open", 0), ("reset", 0)][: 2 if end == "reset" else 1]
        if end == "reset":
            assert not b.endpoint.links and not b.endpoint._incoming_links and not b.endpoint._accepted


def test_two_nodes_can_connect_to_each_other() -> None:
    """This is not a simultaneous open: there are two connections, and each node has opened one of them."""
    net, (a, b) = quiet(2)
    a.endpoint.connect(1)
    b.endpoint.connect(0)
    net.run_s(1)
    assert a.events == [("open", 1), ("open", 1)] and b.events == [("open", 0), ("open", 0)]
    assert {link.passive for link in a.links} == {True, False}


def test_a_run_is_repeatable() -> None:
    def talk(link: Link) -> None:
        for _ in range(40):
            link.say(Note(0, 700, 700))

    def run() -> tuple[object, ...]:
        net = Net(5, 0.2, 0.1, 10, 100)
        a, b = Node(net, TcpParameters()), Node(net, TcpParameters())
        a.on_open_hook = talk
        a.endpoint.connect(1)
        net.run_s(300)
        return net.carried, a.counts, b.counts, b.heard, net.kernel.calendar.handled

    assert run() == run()


def test_a_tcp_link_uses_the_clock_of_its_node() -> None:
    net, (a, _) = quiet(2)
    link = a.endpoint.connect(1)
    net.run_s(0.015)
    assert link.now == 15 * MILLISECOND
