"""What the adversary's network lets a protocol do, and the trace that it writes of it.

Model     one port for each life of a node: its timers die with it
Units     integer nanoseconds
Errors    NotImplementedError for a host that broadcasts: its frames have one addressee
Source    ours: DESIGN.md §3
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..kernel import Timer
from ..protocols.port import MessageId
from ..streams import Stream

if TYPE_CHECKING:
    from .adversary import Adversary


class _Port:
    """The air, the clock and the dice of one node, for one of its lives."""

    def __init__(self, network: Adversary, me: int, dice: Stream) -> None:
        self.me = me
        self._network = network
        self._kernel = network.kernel
        self._timers: list[Timer] = []
        self.uniform = dice.uniform

    @property
    def now(self) -> int:
        return self._kernel._now

    def timer(self, action: Callable[[], None]) -> Timer:
        timer = Timer(self._kernel, action)
        self._timers.append(timer)
        return timer

    def die(self) -> None:
        for timer in self._timers:
            timer.stop()


class StationPort(_Port):
    def broadcast(self, message: Any) -> None:
        self._network.from_station(self.me, None, message)

    def send(self, to: int, message: Any) -> None:
        self._network.from_station(self.me, to, message)


class HostPort(_Port):
    def __init__(self, network: Adversary, me: int, dice: Stream) -> None:
        super().__init__(network, me, dice)
        self._name = f"h{me}"
        self._handoff = False

    def broadcast(self, message: Any) -> None:
        raise NotImplementedError("a host's frame has one addressee")

    def send(self, to: int, message: Any) -> None:
        self._network.from_host(self.me, to, message)

    def _add(self, event: str, **columns: Any) -> None:
        self._network.events.add(self.now, self._name, event, **columns)

    def deliver(self, message: MessageId, body: Any) -> None:
        self._add("deliver", message=f"h{message.host}:{message.seq}")

    def joined(self, session: int, station: int) -> None:
        self._add("join", session=session, station=f"s{station}")

    def left(self, session: int) -> None:
        self._add("leave", session=session)

    def gap(self, session: int, station: int) -> None:
        self._add("gap", session=session, station=f"s{station}")

    def session_opened(self, session: int, station: int | None, cause: str) -> None:
        if cause == "join":
            return
        self._handoff = True
        where = None if station is None else f"s{station}"
        self._add("handoff_start", session=session, station=where, detail={"cause": cause})

    def session_confirmed(self, session: int, station: int, detail: dict[str, int]) -> None:
        if self._handoff:
            self._handoff = False
            self._add("handoff_end", session=session, station=f"s{station}", detail=dict(detail))
