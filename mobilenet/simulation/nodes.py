"""Hosts and stations: where a protocol meets the network, through its port and nothing else.

Model     a node runs handlers to completion, one at a time. A crash takes away everything but the stable
          store: handlers, timers, the radio's queue. What the protocol says through its port is recorded
          here as the run's events; buffer sizes are sampled whenever a handler changed them.
Units     integer nanoseconds, bytes
Source    ours: DESIGN.md §3
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mobilenet.engine.event_queue import Calendar
from mobilenet.engine.kernel import SECOND
from mobilenet.engine.random_streams import Stream
from mobilenet.engine.timer import Timer
from mobilenet.network.radio.antenna import Antenna
from mobilenet.network.radio.frame import Frame
from mobilenet.network.radio.mac import Mac
from mobilenet.protocols.port import MessageId

if TYPE_CHECKING:
    from mobilenet.engine.kernel import Kernel
    from mobilenet.simulation.connections import Channels, RadioChannels
    from mobilenet.simulation.mobile import Simulation


def whole(what: str, value: Any) -> int:
    """A whole number that a protocol handed over; nothing that only looks like one, so that it is recorded as what
    it is.
    """
    if type(value) is not int:
        raise TypeError(f"{what} is {value!r}, expected a whole number (int)")
    return value


def name_of(message: Any) -> str:
    """As it stands in the record: h3:14."""
    if not isinstance(message, MessageId) or type(message.host) is not int or type(message.seq) is not int:
        raise TypeError(f"the message is {message!r}, expected a MessageId of two whole numbers")
    return f"h{message.host}:{message.seq}"


class Node:
    """What hosts and stations share: the port to the air, the clock and the dice."""

    def __init__(self, simulation: Simulation, number: int, name: str, antenna: Antenna, mac: Mac) -> None:
        self.me = number
        self.name = name
        self.antenna = antenna
        self.protocol: Any = None  # None while crashed
        self.buffers: tuple[int, ...] = ()
        self._buffer_names: tuple[str, ...] = ()
        self._simulation = simulation
        self._calendar: Calendar = simulation.kernel.calendar
        self._mac = mac
        self._dice = Stream(simulation.scenario.seed, "protocol", name)
        self._timers: list[Timer] = []
        self._channels: list[Channels] = []
        self._samples = simulation.recording.samples
        antenna.hand_up = self.hand_up

    # --- the port

    @property
    def now(self) -> int:
        return self._calendar.now

    def uniform(self, low: Any, high: Any) -> float:
        return self._dice.uniform(float(low), float(high))

    def timer(self, action: Callable[[], None]) -> Timer:
        timer = NodeTimer(self, self._simulation.kernel, action)
        self._timers.append(timer)
        return timer

    def broadcast(self, message: Any) -> None:
        self._transmit(None, message)

    def send(self, to: Any, message: Any) -> None:
        self._transmit(self.counterpart(whole("send: the receiver", to)), message)

    def counterpart(self, to: int) -> Antenna:
        raise NotImplementedError

    # --- for protocols that talk over connections

    @property
    def channels(self) -> Channels:
        """Those over the radio."""
        return self._channels[0]

    def use_channels(self, radio: RadioChannels, *others: Channels) -> None:
        """From now on the radio's frames are segments."""
        self._channels = [radio, *others]
        self.antenna.hand_up = radio.hand_up

    def transmit(self, frame: Frame) -> None:
        self._mac.enqueue(frame)

    def _transmit(self, to: Antenna | None, message: Any) -> None:
        simulation = self._simulation
        psdu_bytes, duration_ns = simulation.framing.datagram(whole("size_bytes", message.size_bytes))
        for quantity, length in message.list_sizes():
            self._samples.add(self._calendar.now, self.name, str(quantity), whole("list_sizes: a length", length))
        self._mac.enqueue(
            Frame(self.antenna, to, message, psdu_bytes, duration_ns, simulation.framing.broadcast_mbps, client=self)
        )

    # --- called by the radio

    def hand_up(self, frame: Frame) -> None:
        protocol = self.protocol
        if protocol is not None:
            protocol.on_receive(frame.sender.number, frame.message)
            sizes = protocol.buffer_sizes()  # sample(), without its call
            if sizes != self.buffers:
                self._note_buffers(sizes)

    def on_sent(self, message: Any) -> None:
        if self.protocol is not None:
            self.protocol.on_sent(message)

    def on_dropped(self, message: Any) -> None:
        if self.protocol is not None:
            self.protocol.on_dropped(message)

    # --- measuring

    def sample(self) -> None:
        """Note buffer sizes that changed."""
        if self.protocol is not None:
            sizes = self.protocol.buffer_sizes()
            if sizes != self.buffers:
                self._note_buffers(sizes)

    def _note_buffers(self, sizes: Any) -> None:
        names = self.protocol.BUFFERS
        if not isinstance(sizes, tuple) or not isinstance(names, tuple) or len(sizes) != len(names):
            raise ValueError(
                f"buffer_sizes() gives {sizes!r}, expected a tuple of whole numbers, one for each of BUFFERS, which is"
                f" {names!r}"
            )
        before = self.buffers or (0,) * len(names)
        for i, size in enumerate(sizes):
            if size != before[i]:
                self._samples.add(self._calendar.now, self.name, str(names[i]), whole("buffer_sizes: one", size))
        self.buffers, self._buffer_names = sizes, names

    def sample_at_end(self) -> None:
        """Every buffer once more, changed or not: a reader need not guess what was never sampled."""
        self.sample()
        for name, size in zip(self._buffer_names, self.buffers, strict=True):
            self._samples.add(self._calendar.now, self.name, name, size)

    def halt(self) -> None:
        """Nothing of it happens any more: no timer, no connection, nothing from the radio's queue."""
        for timer in self._timers:
            timer.stop()
        self._timers.clear()
        for channels in self._channels:
            channels.abort()
        self._mac.reset()


class NodeTimer(Timer):
    """After its action buffers may have changed."""

    __slots__ = ("_node",)

    def __init__(self, node: Node, kernel: Kernel, action: Callable[[], None]) -> None:
        super().__init__(kernel, action)
        self._node = node

    def start(self, delay_ns: Any) -> None:
        self.start_at(self._calendar.now + whole("a timer's delay in nanoseconds", delay_ns))

    def expire(self) -> None:
        self._action()
        self._node.sample()


class StationNode(Node):
    """A support station. It never fails, and what it hears of other stations' cells is not for it.

    Where the protocol gives up silent hosts, the time of the last frame from each is noted here, below the protocol, so
    that the record tells how long a host was not heard, and not what the protocol believes.
    """

    def __init__(self, simulation: Simulation, number: int, name: str, antenna: Antenna, mac: Mac) -> None:
        super().__init__(simulation, number, name, antenna, mac)
        self._heard: dict[int, int] = {}  # host -> when its last frame was handed up here
        if getattr(simulation.scenario.protocol, "expiry_s", None) is not None:
            antenna.hand_up = self._note_and_hand_up

    def counterpart(self, to: int) -> Antenna:
        return self._simulation.hosts[to].antenna

    def hand_up(self, frame: Frame) -> None:
        if not frame.sender.is_station:
            super().hand_up(frame)

    def _note_and_hand_up(self, frame: Frame) -> None:
        if not frame.sender.is_station:
            self._heard[frame.sender.number] = self._calendar.now
            super().hand_up(frame)

    def expired(self, host: Any) -> None:
        whole("expired: the host", host)
        now = self._calendar.now
        silent_s = (now - self._heard.get(host, 0)) / SECOND
        self._simulation.recording.events.add(
            now, self.name, "expire", detail={"host": f"h{host}", "silent_s": silent_s}
        )

    def on_wired(self, source: int, message: Any) -> None:
        self.protocol.on_wired(source, message)
        self.sample()


class HostNode(Node):
    """A mobile host: present or not, up or crashed, in a cell or in none; member when it says so."""

    def __init__(self, simulation: Simulation, number: int, name: str, antenna: Antenna, mac: Mac, stable: Any) -> None:
        super().__init__(simulation, number, name, antenna, mac)
        self.stable = stable
        self.cell: int | None = None
        self.member = False
        self.session: int | None = None  # of the last join or end of a handoff
        self.covered = False
        self._handoff: int | None = None  # the session of the handoff under way
        self._held: list[str] | None = None  # deliveries during a broadcast
        self._events = simulation.recording.events

    @property
    def up(self) -> bool:
        return self.protocol is not None

    def counterpart(self, to: int) -> Antenna:
        return self._simulation.stations[to].antenna

    def _record(self, event: str, session: Any = None, station: Any = None, **detail: Any) -> None:
        if session is not None and abs(whole(f"{event}: the session", session)) >= 2**63:
            raise TypeError(f"{event}: the session is {session}, more than 63 bits")
        name = None if station is None else f"s{whole(f'{event}: the station', station)}"
        self._events.add(self._calendar.now, self.name, event, None, name, session, detail or None)

    # --- upcalls of the protocol: the trace. It may be anybody's, so what it says is looked at

    def deliver(self, message: Any, body: Any) -> None:
        text = name_of(message)
        if self._held is not None:
            self._held.append(text)
        else:
            self._note_delivery(text)

    def _note_delivery(self, text: str) -> None:
        cell = None if self.cell is None else f"s{self.cell}"
        self._events.add(self._calendar.now, self.name, "deliver", text, cell, self.session)

    def joined(self, session: Any, station: Any) -> None:
        self._record("join", session, station)
        self.member = True
        self.session = session

    def left(self, session: Any) -> None:
        self._record("leave", session)
        self.member = False

    def gap(self, session: Any, station: Any) -> None:
        self._record("gap", session, station)

    def session_opened(self, session: Any, station: Any, cause: Any) -> None:
        if self.member:
            self._record("handoff_start", session, station, cause=cause)
            self._handoff = session

    def session_confirmed(self, session: Any, station: Any, detail: Any) -> None:
        if self._handoff == session:
            self._record("handoff_end", session, station, **detail)
            self.session = session
            self._handoff = None

    # --- what the world does to it

    def set_cell(self, cell: int | None) -> None:
        """The nearest station in range is now this one, or none is."""
        self.cell = cell
        self.antenna.serving = None if cell is None else self._simulation.stations[cell].antenna
        if cell is None and self.covered:
            self._record("out_of_coverage")
        elif cell is not None and not self.covered:
            self._record("in_coverage", station=cell)
        self.covered = cell is not None
        if self.protocol is not None:
            self.protocol.on_cell(cell)
            self.sample()

    def boot(self) -> None:
        """Power on, at the first time or after a crash: a new protocol object on the stable store."""
        self.antenna.up = True
        self.protocol = self._simulation.new_host(self)
        if self.cell is not None:
            self.protocol.on_cell(self.cell)

    def crash(self) -> None:
        self._record("crash")
        self._lose_volatile()
        self.halt()
        self._simulation.medium.drop_out(self.antenna)
        self.protocol = None

    def _lose_volatile(self) -> None:
        """Buffers that do not survive are empty from now on, and are seen to be."""
        kept = getattr(self.protocol, "STABLE_BUFFERS", ())
        left = [size if name in kept else 0 for name, size in zip(self._buffer_names, self.buffers, strict=True)]
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
        """The application wants to broadcast."""
        if self.protocol is None:
            self._record("refused", cause="down")
            return
        self._held = []  # a protocol may deliver its own message at once: the broadcast comes first
        message = self.protocol.co_broadcast(payload_bytes)
        held, self._held = self._held, None
        if message is None:
            self._record("refused", cause="not a member")
        else:
            self._events.add(self._calendar.now, self.name, "broadcast", name_of(message))
        for text in held:
            self._note_delivery(text)
        self.sample()
