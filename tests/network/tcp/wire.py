"""A connection with two ends, and a wire on which a test decides what happens to each segment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

from mobilenet.engine.clock import MILLISECOND
from mobilenet.engine.kernel import Kernel
from mobilenet.engine.timer import Timer
from mobilenet.network.tcp.connection import Connection
from mobilenet.network.tcp.parameters import TcpParameters
from mobilenet.network.tcp.port import Reason
from mobilenet.network.tcp.segment import ACK, RST, SYN, Segment

Delays = list[int]  # A copy of the segment arrives after each delay (in ns). With an empty list, the segment is lost.
Fate = Callable[[str, int, Segment], Delays]  # (sender, number of its earlier segments, segment)


class Note(NamedTuple):
    """A message of the application with a payload of 100 bytes."""

    name: Any
    size_bytes: int = 100
    payload_bytes: int = 100


def tcp(**parameters: Any) -> TcpParameters:
    """Return simple TCP settings for traces: segments of 1000 bytes, immediate acknowledgements, and unlimited
    windows.
    """
    plain: dict[str, Any] = {
        "mss_bytes": 1000,
        "window_bytes": None,
        "messages_in_flight": None,
        "nagle": False,
        "delayed_ack_s": 0.0,
    }
    return TcpParameters(**plain | parameters)


def text(segment: Segment) -> str:
    """Format a segment as `1:1001 ack 1` for data, or as `ack 1001`, `syn`, `syn ack` or `rst`."""
    if segment.flags & RST:
        return "rst"
    if segment.flags & SYN:
        return "syn ack" if segment.flags & ACK else "syn"
    if segment.length:
        return f"{segment.seq}:{segment.seq + segment.length} ack {segment.ack}"
    return f"ack {segment.ack}"


class End:
    """The port of one end of the connection, with a log."""

    def __init__(self, wire: Wire, name: str, parameters: TcpParameters, incarnation: int) -> None:
        self.wire = wire
        self.name = name
        self.sent = 0
        self.got: list[Any] = []
        self.events: list[tuple[int, str]] = []
        self.connection = Connection(self, parameters, incarnation)

    @property
    def now(self) -> int:
        return self.wire.kernel.now

    def timer(self, action: Callable[[], None]) -> Timer:
        return Timer(self.wire.kernel, action)

    def send(self, segment: Segment) -> None:
        self.wire.carry(self, segment)

    def on_open(self) -> None:
        self.events.append((self.now, "open"))

    def on_message(self, message: Any) -> None:
        self.got.append(message.name)

    def on_closed(self, reason: Reason) -> None:
        self.events.append((self.now, reason))

    def say(self, *names: Any, size_bytes: int = 1000) -> None:
        for name in names:
            self.connection.send(Note(name, size_bytes, size_bytes))


class Wire:
    """A wire from `a` to `b` with unlimited bandwidth. Every segment takes 50 ms unless `fate` decides otherwise."""

    def __init__(
        self,
        parameters: TcpParameters | None = None,
        fate: Fate | None = None,
        delay_ns: int = 50 * MILLISECOND,
        server: TcpParameters | None = None,
    ) -> None:
        self.kernel = Kernel()
        self.fate = fate
        self.delay_ns = delay_ns
        self.log: list[tuple[int, str, str]] = []
        parameters = parameters or tcp()
        self.a = End(self, "a", parameters, 7)
        self.b = End(self, "b", server or parameters, 9)
        self.segments: list[Segment] = []

    def carry(self, end: End, segment: Segment) -> None:
        self.log.append((self.kernel.now, end.name, text(segment)))
        self.segments.append(segment)
        delays = [self.delay_ns] if self.fate is None else self.fate(end.name, end.sent, segment)
        end.sent += 1
        other = self.b if end is self.a else self.a
        for delay_ns in delays:
            self.kernel.after(delay_ns, lambda: self.arrive(other, segment))

    def arrive(self, end: End, segment: Segment) -> None:
        if end is self.b and segment.flags == SYN and not end.connection.counts.segments:
            end.connection.accept(segment)
        else:
            end.connection.on_segment(segment)

    def open(self) -> Self:
        """Open the connection and clear the log at 1 s. The SYN is sent at 0. The connection opens at end a at 100 ms
        and at end b at 150 ms.
        """
        self.a.connection.connect()
        self.run_ms(1000)
        assert self.a.connection.is_open and self.b.connection.is_open
        self.log.clear()
        self.segments.clear()
        return self

    def run_ms(self, until_ms: float) -> None:
        self.kernel.run_until(round(until_ms * MILLISECOND))

    def at_ms(self, time_ms: float, action: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        self.kernel.at(round(time_ms * MILLISECOND), lambda: action(*arguments, **named))

    def sends_of(self, end: str) -> list[tuple[float, str]]:
        """Return which segments an end sent and when, in milliseconds. The times are exact because all delays are whole
        microseconds.
        """
        return [(time_ns / MILLISECOND, what) for time_ns, name, what in self.log if name == end]

    def words_of(self, end: str) -> list[str]:
        """Return the segments that an end sent and their times as text, such as `1300 ack 1`."""
        return [f"{time_ms:g} {what}" for time_ms, what in self.sends_of(end)]


def lose(*lost: tuple[str, int], delay_ms: float = 50) -> Fate:
    """Return a fate that loses each of these segments once. A segment is given as (sender, first byte). All other
    segments take `delay_ms`.
    """
    left = list(lost)

    def fate(sender: str, number: int, segment: Segment) -> Delays:
        if segment.length and (sender, segment.seq) in left:
            left.remove((sender, segment.seq))
            return []
        return [round(delay_ms * MILLISECOND)]

    return fate
