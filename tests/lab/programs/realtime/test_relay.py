"""Tests that the relay of datagrams never forwards a datagram in a loop, in whatever order stations learn of visits."""

from collections import deque
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mobilenet.protocols.datagram_relay import Datagram, Here, Known, Memory, Moved, RelayHost, RelayStation
from mobilenet.protocols.packet_relay import PacketHost, PacketMemory, packet

STATIONS = 4


class Port:
    """A port of a host or a station that records its calls."""

    now = 0

    def __init__(self, me: int) -> None:
        self.me = me
        self.sent: list[tuple[int, Any]] = []
        self.wired: list[tuple[int | None, Any]] = []
        self.upcalls: list[tuple[Any, ...]] = []
        self.timers: list[Timer] = []

    def timer(self, action: Any) -> "Timer":
        self.timers.append(Timer(action))
        return self.timers[-1]

    def between(self, low: int, high: int) -> int:
        return low

    def send(self, to: int, message: Any) -> None:
        self.sent.append((to, message))

    unicast = send

    def joined(self, *arguments: Any) -> None:
        self.upcalls.append(("joined", *arguments))

    def left(self, *arguments: Any) -> None:
        self.upcalls.append(("left", *arguments))


class Wire:
    def __init__(self, port: Port) -> None:
        self.port = port

    def broadcast(self, message: Any) -> None:
        self.port.wired.append((None, message))

    def send(self, to: int, message: Any) -> None:
        self.port.wired.append((to, message))


class Timer:
    def __init__(self, action: Any) -> None:
        self.action, self.running = action, False

    def start(self, delay_ns: int) -> None:
        self.running = True

    def stop(self) -> None:
        self.running = False


def test_a_relay_host_repeats_its_position_until_acknowledged() -> None:
    port, memory = Port(3), Memory()
    host = RelayHost(port, memory, lambda datagram: None)
    assert host.settled()
    host.on_cell(1)
    port.timers[0].action()
    assert port.sent == [(1, Here(1)), (1, Here(1))] and not host.settled()
    host.on_receive(1, Known(0))  # This message acknowledges an earlier visit.
    assert not host.settled()
    host.on_receive(1, Known(1))
    assert host.settled()
    host.on_cell(None)
    assert host.send(5, b"lost") == 0 and len(port.sent) == 2
    RelayHost(port, memory, lambda datagram: None).on_cell(2)  # The host starts again after a crash.
    assert port.sent[-1] == (2, Here(2)) and memory.datagrams == 1


def test_a_relay_host_joins_and_leaves_as_last_requested() -> None:
    port = Port(0)
    host = RelayHost(port, Memory(), lambda datagram: None)
    host.join()
    assert host.is_out()
    host.on_cell(2)
    for wish in (host.join, host.join, host.leave, host.leave, host.join):
        wish()
    assert port.upcalls == [("joined", 1, 2), ("left", 1), ("joined", 2, 2)]


def test_the_size_of_a_datagram_includes_header_and_payload() -> None:
    assert Datagram(1, 2, 3, 100, b"x" * 100).size_bytes == 116
    assert Datagram(1, 2, 3, 100, b"x" * 100).payload_bytes == 100


@settings(max_examples=300)
@given(
    st.lists(st.integers(0, STATIONS - 1), min_size=1, max_size=6),
    st.lists(st.integers(0, 10**6), max_size=60),
    st.integers(0, STATIONS - 1),
)
def test_the_relay_never_routes_a_datagram_in_a_loop(visits: list[int], order: list[int], entry: int) -> None:
    """A station may learn of a visit at any time, but receives the messages of each sender in order. A datagram passes
    each station at most once. Once all stations know all visits, the datagram arrives.
    """
    ports = [Port(number) for number in range(STATIONS)]
    stations = [RelayStation(port, Wire(port)) for port in ports]  # type: ignore[arg-type]
    wires: dict[tuple[int, int], deque[Any]] = {}
    choices = iter(order)

    def collect() -> None:
        for source, port in enumerate(ports):
            for to, message in port.wired:
                for other in range(STATIONS) if to is None else (to,):
                    if other != source:
                        wires.setdefault((source, other), deque()).append(message)
            port.wired.clear()

    def one_arrives(choice: int) -> Any:
        full = sorted(wire for wire, messages in wires.items() if messages)
        if not full:
            return None
        source, to = full[choice % len(full)]
        message = wires[source, to].popleft()
        stations[to].on_wired(source, message)
        collect()
        return (to, message)

    for visit, station in enumerate(visits, 1):
        stations[station].on_receive(7, Here(visit))
        collect()
        for _ in range(3):
            if (choice := next(choices, None)) is not None:
                one_arrives(choice)
    datagram = Datagram(0, 0, 7, 1, b"x")
    stations[entry].on_receive(0, datagram)
    collect()
    path = [entry]
    while (arrived := one_arrives(next(choices, 0))) is not None:
        if isinstance(arrived[1], Datagram):
            path.append(arrived[0])
    assert len(path) == len(set(path))
    for port in ports:
        port.sent.clear()
    stations[entry].on_receive(0, datagram)  # All stations now know all visits.
    collect()
    while one_arrives(0) is not None:
        pass
    assert [(port.me, to) for port in ports for to, message in port.sent if message is datagram] == [(visits[-1], 7)]
    assert [station.serves(7) for station in stations] == [number == visits[-1] for number in range(STATIONS)]
    assert Moved(7, 1).size_bytes == 12


def test_a_duplicate_packet_is_handed_over_only_once() -> None:
    packet_names: list[str] = []
    port: Any = Port(0)
    host = PacketHost(
        port, PacketMemory(), lambda node, arrival: packet_names.append(f"{arrival.source}:{arrival.number}"), True
    )
    for number in (0, 1, 0, 2, 1):
        host.on_receive(1, packet("s0", number, "h0", bytes(28)))
    host.on_receive(1, packet("h1", 0, "h0", bytes(28)))
    assert packet_names == ["s0:0", "s0:1", "s0:2", "h1:0"]


@given(st.lists(st.tuples(st.sampled_from(("h0", "h1", "s0")), st.integers(0, 200))))
def test_only_the_first_copy_of_a_packet_is_new(sent: list[tuple[str, int]]) -> None:
    memory, seen = PacketMemory(), set[tuple[str, int]]()
    for source, number in sent:
        assert memory.is_first(packet(source, number, "h9", b"")) == ((source, number) not in seen)
        seen.add((source, number))
