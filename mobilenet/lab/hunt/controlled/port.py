"""The ports of a node on a controlled network, which pass the actions of the protocol to a driver.

Model     Each life of a node has one port, whose driver handles the actions of the protocol (`EffectHandler`).
          `Effects` records them until the step is over, a fuzzer's network carries them out at once, and a test bench
          does what the test needs. A timer is either armed, with a deadline, or not armed. The clock stands still
          within a step, unless the driver has its own clock and timers.
Units     integer nanoseconds
Source    ours; the interface is mobilenet/protocols/port.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from mobilenet.protocols.port import MessageId


class Transmission(NamedTuple):
    """A radio frame, or a message for the wire."""

    to: int | None  # receiver, or None for all nodes in range or all other stations
    message: Any


class Upcall(NamedTuple):
    """A call from a protocol to its application, such as 'deliver', 'joined', 'left' or 'gap'."""

    name: str
    arguments: tuple[Any, ...]


class EffectHandler(Protocol):
    """Handles the actions of a node."""

    def frame(self, to: int | None, message: Any) -> None:
        """Put a radio frame on the air or, among processes, send a message to another process."""

    def wire(self, to: int | None, message: Any) -> None:
        """Send a message of a station to another station, or to all others."""

    def tell(self, name: str, *arguments: Any) -> None:
        """Handle an upcall: deliver, joined, left, gap, session_opened, session_confirmed, expired or complete."""


class Effects:
    """Records the actions of a node in one step."""

    __slots__ = ("answer", "radio", "upcalls", "wired")

    def __init__(self) -> None:
        self.radio: list[Transmission] = []
        self.wired: list[Transmission] = []
        self.upcalls: list[Upcall] = []
        self.answer: Any = None  # The return value of the method that was called.

    def frame(self, to: int | None, message: Any) -> None:
        self.radio.append(Transmission(to, message))

    def wire(self, to: int | None, message: Any) -> None:
        self.wired.append(Transmission(to, message))

    def tell(self, name: str, *arguments: Any) -> None:
        self.upcalls.append(Upcall(name, arguments))


class HasNow(Protocol):
    @property
    def now(self) -> int: ...


class Clock:
    """A clock that belongs to one node or is shared by several nodes."""

    __slots__ = ("now",)

    def __init__(self, now: int = 0) -> None:
        self.now = now


class Timer:
    """A timer that fires only when the driver fires it."""

    __slots__ = ("_clock", "action", "deadline_ns", "number")

    def __init__(self, clock: HasNow, number: int, action: Callable[[], None]) -> None:
        self._clock = clock
        self.number = number  # Timers are numbered in the order in which the protocol requested them.
        self.action = action
        self.deadline_ns: int | None = None

    @property
    def running(self) -> bool:
        return self.deadline_ns is not None

    def start(self, delay_ns: int) -> None:
        self.deadline_ns = self._clock.now + delay_ns

    def stop(self) -> None:
        self.deadline_ns = None

    def fire(self) -> None:
        self.deadline_ns = None
        self.action()


class ControlledPort:
    """The port of a station, and the base class of the ports of hosts and processes."""

    def __init__(
        self,
        me: int,
        clock: HasNow,
        uniform: Callable[[float, float], float],
        effects: EffectHandler,
        new_timer: Callable[[Callable[[], None]], Any] | None = None,
    ) -> None:
        """Set up the port. If `new_timer` is not given, a timer fires only when the driver fires it."""
        self.me = me
        self.uniform = uniform
        self.effects = effects
        self.timers: list[Any] = []
        self.channels: Any = None  # Set only for protocols that need connections: see connections.py.
        self._clock = clock
        self._new_timer = new_timer

    @property
    def now(self) -> int:
        return self._clock.now

    def timer(self, action: Callable[[], None]) -> Any:
        new = self._new_timer
        timer = Timer(self._clock, len(self.timers), action) if new is None else new(action)
        self.timers.append(timer)
        return timer

    def between(self, low: int, high: int) -> int:
        return low + int(self.uniform(0, 1) * (high - low + 1))

    def die(self) -> None:
        """Stop all timers of the node, because it has crashed."""
        for timer in self.timers:
            timer.stop()

    def broadcast(self, message: Any) -> None:
        self.effects.frame(None, message)

    def send(self, to: int, message: Any) -> None:
        self.effects.frame(to, message)

    def unicast(self, to: int, message: Any) -> None:
        self.effects.frame(to, message)

    def expired(self, host: int) -> None:
        self.effects.tell("expired", host)


class ControlledHostPort(ControlledPort):
    def deliver(self, message: MessageId, body: Any) -> None:
        self.effects.tell("deliver", message, body)

    def joined(self, session: int, station: int) -> None:
        self.effects.tell("joined", session, station)

    def left(self, session: int) -> None:
        self.effects.tell("left", session)

    def gap(self, session: int, station: int) -> None:
        self.effects.tell("gap", session, station)

    def session_opened(self, session: int, station: int | None, cause: str) -> None:
        self.effects.tell("session_opened", session, station, cause)

    def session_confirmed(self, session: int, station: int, detail: dict[str, int]) -> None:
        self.effects.tell("session_confirmed", session, station, detail)


class ControlledProcessPort(ControlledPort):
    """The port of a process in a broadcast among processes."""

    def deliver(self, message: Any, body: Any) -> None:
        self.effects.tell("deliver", message, body)

    def complete(self, message: Any) -> None:
        self.effects.tell("complete", message)


class ControlledWire:
    """The port through which a station sends messages to other stations."""

    def __init__(self, port: ControlledPort) -> None:
        self._port = port
        self.me = port.me

    def broadcast(self, message: Any) -> None:
        self._port.effects.wire(None, message)

    def send(self, to: int, message: Any) -> None:
        self._port.effects.wire(to, message)
