"""The ports of one node that is driven by hand: what the protocol does there is noted, and nothing else happens.

Model     one port for each life of a node. Frames, wired messages and upcalls are appended to what the present step
          has done; a timer is armed or not, with its deadline; the clock stands still within a step
Units     integer nanoseconds
Errors    none
Source    ours; the interface is mobilenet/protocols/port.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..protocols.port import MessageId


class Sent(NamedTuple):
    """A radio frame, or a message for the wire."""

    to: int | None  # None: everybody in range, or all other stations
    message: Any


class Upcall(NamedTuple):
    """What a protocol tells its application: 'deliver', 'joined', 'left', 'gap', ..."""

    name: str
    arguments: tuple[Any, ...]


class Effects:
    """All that a node did in one step."""

    __slots__ = ("answer", "radio", "upcalls", "wired")

    def __init__(self) -> None:
        self.radio: list[Sent] = []
        self.wired: list[Sent] = []
        self.upcalls: list[Upcall] = []
        self.answer: Any = None  # what the called method returned


class Clock:
    """The time of one node, or of several."""

    __slots__ = ("now",)

    def __init__(self, now: int = 0) -> None:
        self.now = now


class Timer:
    """Armed or not. It fires when the driver says so, and only then."""

    __slots__ = ("_clock", "action", "deadline_ns", "number")

    def __init__(self, clock: Clock, number: int, action: Callable[[], None]) -> None:
        self._clock = clock
        self.number = number  # in the order in which the protocol asked for them
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
    """A station's port, and what a host's has in common with it."""

    def __init__(self, me: int, clock: Clock, uniform: Callable[[float, float], float]) -> None:
        self.me = me
        self.uniform = uniform
        self.effects = Effects()
        self.timers: list[Timer] = []
        self._clock = clock

    @property
    def now(self) -> int:
        return self._clock.now

    def timer(self, action: Callable[[], None]) -> Timer:
        timer = Timer(self._clock, len(self.timers), action)
        self.timers.append(timer)
        return timer

    def broadcast(self, message: Any) -> None:
        self.effects.radio.append(Sent(None, message))

    def send(self, to: int, message: Any) -> None:
        self.effects.radio.append(Sent(to, message))

    def expired(self, host: int) -> None:
        self._tell("expired", host)

    def _tell(self, name: str, *arguments: Any) -> None:
        self.effects.upcalls.append(Upcall(name, arguments))


class ControlledHostPort(ControlledPort):
    def deliver(self, message: MessageId, body: Any) -> None:
        self._tell("deliver", message, body)

    def joined(self, session: int, station: int) -> None:
        self._tell("joined", session, station)

    def left(self, session: int) -> None:
        self._tell("left", session)

    def gap(self, session: int, station: int) -> None:
        self._tell("gap", session, station)

    def session_opened(self, session: int, station: int | None, cause: str) -> None:
        self._tell("session_opened", session, station, cause)

    def session_confirmed(self, session: int, station: int, detail: dict[str, int]) -> None:
        self._tell("session_confirmed", session, station, tuple(sorted(detail.items())))


class ControlledWire:
    """A station's port to the others."""

    def __init__(self, port: ControlledPort) -> None:
        self._port = port
        self.me = port.me

    def broadcast(self, message: Any) -> None:
        self._port.effects.wired.append(Sent(None, message))

    def send(self, to: int, message: Any) -> None:
        self._port.effects.wired.append(Sent(to, message))
