"""Carry out a node's actions on the adversary's network: frames, wired messages and upcalls.

Model     The ports are those of lab/hunt/controlled. An action of a node takes effect within the call, so random draws
          and events have the order of the calls. If a protocol delivers messages during a broadcast, the trace shows
          these deliveries after the broadcast.
Units     integer nanoseconds
Errors    TypeError for a value that should be a whole number or a MessageId
Source    ours: docs/architecture.md
"""

from __future__ import annotations

from typing import Any, Protocol

from mobilenet.engine.clock import SECOND
from mobilenet.engine.kernel import Kernel
from mobilenet.protocols.port import MessageId
from mobilenet.record.recorder import Recording
from mobilenet.simulation.nodes import name_of, whole


class Network(Protocol):
    """The interface of the network on which nodes act."""

    kernel: Kernel
    recording: Recording

    def from_station(self, s: int, to: int | None, message: Any) -> None: ...
    def from_host(self, h: int, to: int | None, message: Any) -> None: ...
    def onto_wire(self, s: int, to: int | None, message: Any) -> None: ...
    def heard_ns(self, s: int, host: int) -> int: ...


class StationEffects:
    def __init__(self, network: Network, me: int) -> None:
        self._network = network
        self._me = me

    def frame(self, to: int | None, message: Any) -> None:
        self._network.from_station(self._me, to, message)

    def wire(self, to: int | None, message: Any) -> None:
        self._network.onto_wire(self._me, to, message)

    def tell(self, name: str, *arguments: Any) -> None:
        getattr(self, name)(*arguments)

    def expired(self, host: int) -> None:
        now = self._network.kernel.now
        silent_s = (now - self._network.heard_ns(self._me, host)) / SECOND
        self._network.recording.events.add(
            now, f"s{self._me}", "expire", detail={"host": f"h{host}", "silent_s": silent_s}
        )


class HostEffects:
    """The effects of a host. All lives of the host are recorded in the same trace."""

    def __init__(self, network: Network, me: int) -> None:
        self._network = network
        self._me = me
        self._name = f"h{me}"
        self._member = False
        self._session: int | None = None  # session of the last join or completed handoff
        self._handoff: int | None = None  # the session of the handoff in progress
        self._held: list[str] | None = None  # deliveries that are recorded after the broadcast in progress

    def frame(self, to: int | None, message: Any) -> None:
        self._network.from_host(self._me, to, message)

    def wire(self, to: int | None, message: Any) -> None:
        raise NotImplementedError("hosts have no wires")

    def tell(self, name: str, *arguments: Any) -> None:
        getattr(self, name)(*arguments)

    def _add(self, event: str, **columns: Any) -> None:
        self._network.recording.events.add(self._network.kernel.now, self._name, event, **columns)

    # --- a broadcast

    def hold(self) -> None:
        """Delay the recording of deliveries during a broadcast, because a protocol may deliver its own message
        immediately.
        """
        self._held = []

    def release(self, message: MessageId | None) -> None:
        """Record a broadcast, and then the deliveries that were delayed. None stands for a broadcast that was
        refused.
        """
        if message is not None:
            self._add("broadcast", message=name_of(message))
        held, self._held = self._held, None
        for name in held or ():
            self._add("deliver", message=name, session=self._session)

    # --- upcalls

    def deliver(self, message: MessageId, body: Any) -> None:
        name = name_of(message)
        if self._held is None:
            self._add("deliver", message=name, session=self._session)
        else:
            self._held.append(name)

    def joined(self, session: int, station: int) -> None:
        self._member = True
        self._session = whole("join: the session", session)
        self._add("join", session=session, station=f"s{station}")

    def left(self, session: int) -> None:
        self._member = False
        self._handoff = None
        self._add("leave", session=whole("leave: the session", session))

    def gap(self, session: int, station: int) -> None:
        self._add("gap", session=whole("gap: the session", session), station=f"s{station}")

    def session_opened(self, session: int, station: int | None, cause: str) -> None:
        if self._member:
            self._handoff = whole("handoff_start: the session", session)
            where = None if station is None else f"s{station}"
            self._add("handoff_start", session=session, station=where, detail={"cause": cause})

    def session_confirmed(self, session: int, station: int, detail: dict[str, int]) -> None:
        if self._handoff == session:
            self._handoff, self._session = None, session
            self._add("handoff_end", session=session, station=f"s{station}", detail=dict(detail))
