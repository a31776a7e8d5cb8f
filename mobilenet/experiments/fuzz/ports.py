"""What the adversary's network lets a protocol do, and the trace that it writes of it.

Model     one port for each life of a node: its timers die with it
Units     integer nanoseconds
Errors    NotImplementedError for a host that broadcasts: its frames have one addressee
Source    ours: docs/architecture.md
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mobilenet.engine.kernel import SECOND
from mobilenet.engine.random_streams import Stream
from mobilenet.engine.timer import Timer
from mobilenet.protocols.port import MessageId

if TYPE_CHECKING:
    from mobilenet.experiments.fuzz.adversary import Adversary


class _Port:
    """The air, the clock and the stream of one node, for one of its lives."""

    def __init__(self, network: Adversary, me: int, stream: Stream) -> None:
        self.me = me
        self._network = network
        self._kernel = network.kernel
        self._timers: list[Timer] = []
        self.uniform = stream.uniform

    @property
    def now(self) -> int:
        return self._kernel.now

    def timer(self, action: Callable[[], None]) -> Timer:
        timer = Timer(self._kernel, action)
        self._timers.append(timer)
        return timer

    def die(self) -> None:
        for timer in self._timers:
            timer.stop()


class StationPort(_Port):
    def expired(self, host: int) -> None:
        silent_s = (self.now - self._network.heard_ns(self.me, host)) / SECOND
        self._network.events.add(self.now, f"s{self.me}", "expire", detail={"host": f"h{host}", "silent_s": silent_s})

    def broadcast(self, message: Any) -> None:
        self._network.from_station(self.me, None, message)

    def send(self, to: int, message: Any) -> None:
        self._network.from_station(self.me, to, message)


class Standing:
    """What the trace has told of a host, over all its lives."""

    __slots__ = ("handoff", "member", "session")

    def __init__(self) -> None:
        self.member = False
        self.session: int | None = None  # of the last join or end of a handoff
        self.handoff: int | None = None  # the session of the handoff under way


class HostPort(_Port):
    def __init__(self, network: Adversary, me: int, stream: Stream, standing: Standing) -> None:
        super().__init__(network, me, stream)
        self._name = f"h{me}"
        self._standing = standing

    def broadcast(self, message: Any) -> None:
        raise NotImplementedError("a host's frame has one addressee")

    def send(self, to: int, message: Any) -> None:
        self._network.from_host(self.me, to, message)

    def _add(self, event: str, **columns: Any) -> None:
        self._network.events.add(self.now, self._name, event, **columns)

    def deliver(self, message: MessageId, body: Any) -> None:
        self._add("deliver", message=f"h{message.host}:{message.seq}", session=self._standing.session)

    def joined(self, session: int, station: int) -> None:
        self._standing.member = True
        self._standing.session = session
        self._add("join", session=session, station=f"s{station}")

    def left(self, session: int) -> None:
        self._standing.member = False
        self._add("leave", session=session)

    def gap(self, session: int, station: int) -> None:
        self._add("gap", session=session, station=f"s{station}")

    def session_opened(self, session: int, station: int | None, cause: str) -> None:
        if self._standing.member:
            self._standing.handoff = session
            where = None if station is None else f"s{station}"
            self._add("handoff_start", session=session, station=where, detail={"cause": cause})

    def session_confirmed(self, session: int, station: int, detail: dict[str, int]) -> None:
        standing = self._standing
        if standing.handoff == session:
            standing.handoff, standing.session = None, session
            self._add("handoff_end", session=session, station=f"s{station}", detail=dict(detail))
