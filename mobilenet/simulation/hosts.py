"""A mobile host, which connects its protocol with its environment and records the protocol's upcalls as events.

Model     A host is present or absent, up or crashed, and in a cell or out of coverage. It is a member once its protocol
          has joined. A crash leaves only the stable store and what was recorded. A host that is up is associated with
          the station of its cell. The association survives a crash, because a station does not notice the crash.
Units     integer nanoseconds, bytes
Errors    TypeError where a protocol passes something other than a whole number or a MessageId
Source    ours: docs/architecture.md
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mobilenet.network.radio.mac import Mac
from mobilenet.network.radio.transceiver import Transceiver
from mobilenet.protocols.port import association_changes
from mobilenet.simulation.delay_line import DelayLine
from mobilenet.simulation.nodes import Context, Node, short_text, whole


class HostNode(Node):
    """A mobile host. It is present or absent, up or crashed, in a cell or out of coverage, and a member once it has
    joined.
    """

    def __init__(
        self, context: Context, number: int, name: str, transceiver: Transceiver, mac: Mac, stable: Any
    ) -> None:
        super().__init__(context, number, name, transceiver, mac)
        self.stable = stable
        self.cell: int | None = None
        self.member = False
        self.session: int | None = None  # session of the last join or handoff
        self.covered = False
        self._associated: int | None = None  # the last station with which the host was associated
        self._handoff: int | None = None  # the session of the handoff in progress
        self._held: list[str] | None = None  # messages delivered during the call of co_broadcast, or None outside of it
        self._line: DelayLine | None = None  # created when frames of this host are delayed for the first time
        self._events = context.recording.events
        self.on_delivery: Callable[[str], None] | None = None  # notifies the users' processes of a delivery

    @property
    def up(self) -> bool:
        return self.protocol is not None

    def counterpart(self, to: int) -> Transceiver:
        return self._context.station(to)

    def _record(
        self, event: str, session: Any = None, station: Any = None, detail: dict[str, Any] | None = None
    ) -> None:
        if session is not None and abs(whole(f"{event}: the session", session)) >= 2**63:
            raise TypeError(f"{event}: the session is {session}, expected at most 63 bits")
        name = None if station is None else f"s{whole(f'{event}: the station', station)}"
        self._events.add(self._calendar.now, self.name, event, None, name, session, detail or None)

    # --- upcalls of the protocol: the trace. It may be a plug-in, so its arguments are checked

    def deliver(self, message: Any, body: Any) -> None:
        text = self._context.name(message)
        if self._held is not None:
            self._held.append(text)
        else:
            self._note_delivery(text)

    def _note_delivery(self, text: str) -> None:
        serving = self.transceiver.serving
        cell = None if serving is None else serving.name
        self._events.add(self._calendar.now, self.name, "deliver", text, cell, self.session)
        if self.on_delivery is not None:
            self.on_delivery(text)

    def note_asked(self, wish: str) -> None:
        """Record that the host is asked to join or to leave. This happens only in runs with users' processes, because
        otherwise the plan lists all requests.
        """
        self._record("asked", detail={"wish": wish})

    def joined(self, session: Any, station: Any) -> None:
        self._record("join", session, station)
        self.member = True
        self.session = session

    def left(self, session: Any) -> None:
        self._record("leave", session)
        self.member = False
        self._handoff = None

    def gap(self, session: Any, station: Any) -> None:
        self._record("gap", session, station)

    def session_opened(self, session: Any, station: Any, cause: Any) -> None:
        if self.member:
            self._record("handoff_start", session, station, {"cause": short_text("session_opened: the cause", cause)})
            self._handoff = session

    def session_confirmed(self, session: Any, station: Any, detail: Any) -> None:
        if not isinstance(detail, Mapping):
            raise TypeError(f"session_confirmed: detail is {detail!r}, expected a mapping of names to whole numbers")
        counts = {
            short_text("session_confirmed: a name", name): whole(f"session_confirmed: {name}", count)
            for name, count in detail.items()
        }
        if self._handoff == session:
            self._record("handoff_end", session, station, counts)
            self.session = session
            self._handoff = None

    # --- what the world does to it

    def set_cell(self, cell: int | None) -> None:
        """Set the cell to that of the nearest station in range, or to None if no station is in range."""
        self.cell = cell
        self.transceiver.serving = None if cell is None else self._context.station(cell)
        if cell is None and self.covered:
            self._record("out_of_coverage")
        elif cell is not None and not self.covered:
            self._record("in_coverage", station=cell)
        self.covered = cell is not None
        if self.protocol is not None:
            self._associate(cell)
            self.protocol.on_cell(cell)
            self.sample()

    def boot(self) -> None:
        """Power on for the first time or after a crash. A new protocol object receives the stable store."""
        self.transceiver.up = True
        self.protocol = self._context.new_host(self)
        self._associate(self.cell)
        if self.cell is not None:
            self.protocol.on_cell(self.cell)

    def crash(self) -> None:
        self._record("crash")
        self.end()

    def end(self) -> None:
        """End the current life of the host, because it crashes or disappears for good."""
        self._lose_volatile()
        self.halt()
        if self._line is not None:
            self._line.clear()
        self._context.medium.drop_out(self.transceiver)
        self.protocol = None

    def delay_frames(self, delay_ns: int) -> None:
        """Delay all later frames of the host by this time."""
        if self._line is None:
            if not delay_ns:
                return
            self._line = DelayLine(self._calendar, self._mac.enqueue)
            causes = self._context.causes
            self._enqueue = self._line.enqueue if causes is None else causes.queueing(self.name, self._line.enqueue)
        self._line.delay_ns = delay_ns

    def vanish(self) -> None:
        """Remove the host from the run for good."""
        self.end()
        self._associate(None)

    def _associate(self, cell: int | None) -> None:
        """Notify the stations whose protocols need to know about associations."""
        stations = self._context.associating
        if not stations:
            return
        before, self._associated = self._associated, cell
        for station, hook in association_changes(before, cell):
            if station in stations:
                stations[station].note_association(self.me, hook)

    def _lose_volatile(self) -> None:
        """Empty the buffers that do not survive a crash, and record them as empty."""
        stable_names = getattr(self.protocol, "STABLE_BUFFERS", ())
        left = [
            size if name in stable_names else 0 for name, size in zip(self._buffer_names, self.buffers, strict=True)
        ]
        for name, size, before in zip(self._buffer_names, left, self.buffers, strict=True):
            if size != before:
                self._samples.add(self._calendar.now, self.name, name, size)
        self.buffers = tuple(left)

    def recover(self) -> None:
        self._record("recover")
        self.boot()
        self.protocol.on_recover()
        self.sample()

    def offer(self, payload_bytes: int) -> None:
        """Offer the protocol a message of the application to broadcast."""
        if self.protocol is None:
            self._record("refused", detail={"cause": "down"})
            return
        # A protocol may deliver its own message during the call, but the broadcast must be recorded first.
        self._held = []
        message = self.protocol.co_broadcast(payload_bytes)
        held, self._held = self._held, None
        if message is None:
            self._record("refused", detail={"cause": "not a member"})
        else:
            self._events.add(self._calendar.now, self.name, "broadcast", self._context.name(message))
        for text in held:
            self._note_delivery(text)
        self.sample()
