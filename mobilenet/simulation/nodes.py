"""Nodes, which connect protocols with the network through ports.

Model     A node runs handlers to completion, one at a time. A crash erases everything except the stable store:
          handlers, timers and the radio's queue. The protocol's calls are recorded here as events of the run, and
          buffer sizes are sampled whenever a handler has changed them. hosts.py contains the code that only hosts
          use.
Units     integer nanoseconds, bytes
Source    ours: docs/architecture.md
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mobilenet.engine.clock import SECOND
from mobilenet.engine.event_queue import Calendar
from mobilenet.engine.kernel import Kernel
from mobilenet.engine.random_streams import Stream
from mobilenet.engine.timer import Timer
from mobilenet.network.radio.frame import Frame
from mobilenet.network.radio.framing import Framing
from mobilenet.network.radio.mac import Mac
from mobilenet.network.radio.medium import Medium
from mobilenet.network.radio.transceiver import Transceiver
from mobilenet.protocols.port import ASSOCIATION, MOST_BYTES, MessageId
from mobilenet.quoting import there_are
from mobilenet.record.recorder import Recording
from mobilenet.record.schema import LONGEST_NAME


def whole(what: str, value: Any) -> int:
    """Return a protocol's value if it is a whole number that the record can hold. Values that only resemble a whole
    number are rejected, so that the record shows exactly what the protocol passed.
    """
    if type(value) is not int:
        raise TypeError(f"{what} is {value!r}, expected a whole number (int)")
    if not -(2**63) <= value < 2**63:
        raise ValueError(f"{what} has more than 64 bits")
    return value


def byte_count(what: str, value: Any) -> int:
    """Return the number of bytes that a protocol declares for its message, if it is valid."""
    if type(value) is int and 0 <= value <= MOST_BYTES:
        return value
    raise ValueError(f"{what} is {whole(what, value)}, expected 0 to {MOST_BYTES}")


def short_text(what: str, value: Any) -> str:
    """Return a name that a protocol chose, if the record can hold it."""
    if not isinstance(value, str) or len(value) > LONGEST_NAME or not value.isprintable():
        raise TypeError(f"{what} is {value!r}, expected a text of at most {LONGEST_NAME} printable characters")
    return str(value)


def list_sizes(message: Any) -> list[tuple[str, int]]:
    """Return the names and the lengths of the lists in a message."""
    lists = message.list_sizes()
    if type(lists) is tuple and not lists:  # true of most messages
        return []
    return [(short_text("list_sizes: a name", name), whole("list_sizes: a length", length)) for name, length in lists]


def name_of(message: Any) -> str:
    """Return the id in the notation of the record, such as h3:14."""
    if not isinstance(message, MessageId) or type(message.host) is not int or type(message.seq) is not int:
        raise TypeError(f"the message is {message!r}, expected a MessageId of two whole numbers")
    return f"h{message.host}:{message.seq}"


class Context:
    """The parts of a run that its nodes use. All are set when the run begins; only hosts are added later.

    `stations` and `hosts` contain their transceivers by number. `new_host(node)` returns a protocol object for the
    host, which receives the stable store. `associating` contains the stations whose protocols are notified of
    associations, by number. `causes` is the log of causes (causes.py), or None if it is not recorded.
    """

    def __init__(
        self,
        kernel: Kernel,
        recording: Recording,
        framing: Framing,
        medium: Medium,
        seed: int,
        new_host: Callable[[Any], Any],
    ) -> None:
        self.kernel = kernel
        self.recording = recording
        self.framing = framing
        self.medium = medium
        self.seed = seed
        self.new_host = new_host
        self.causes: Any = None
        self.stations: list[Transceiver] = []
        self.hosts: list[Transceiver] = []
        self.associating: dict[int, Any] = {}
        self._names: dict[Any, str] = {}

    def name(self, message: Any) -> str:
        """Return the id in the notation of the record. All hosts share one string for each id, which makes it faster to
        write a long record.
        """
        text = name_of(message)
        return self._names.setdefault(text, text)

    def station(self, number: int) -> Transceiver:
        if not 0 <= number < len(self.stations):
            raise ValueError(f"station {number} does not exist; {there_are(len(self.stations), 'station')}")
        return self.stations[number]

    def host(self, number: int) -> Transceiver:
        if not 0 <= number < len(self.hosts):
            raise ValueError(f"host {number} does not exist; {there_are(len(self.hosts), 'host')}")
        return self.hosts[number]


class Node:
    """The common part of hosts and stations: the port to the radio, the clock and the random stream."""

    def __init__(self, context: Context, number: int, name: str, transceiver: Transceiver, mac: Mac) -> None:
        self.me = number
        self.name = name
        self.transceiver = transceiver
        self.protocol: Any = None  # None while the node is down
        self.buffers: tuple[int, ...] = ()
        self._buffer_names: tuple[str, ...] = ()
        self._context = context
        self._framing = context.framing
        self._calendar: Calendar = context.kernel.calendar
        self._mac = mac
        self._enqueue: Callable[[Frame], bool] = mac.enqueue
        if context.causes is not None:
            self._enqueue = context.causes.queueing(name, mac.enqueue)
        self._random = Stream(context.seed, "protocol", name)
        self._timers: list[Timer] = []
        self._channels: list[Any] = []  # the channels over the radio (connections.py), followed by any others
        self._samples = context.recording.samples
        transceiver.hand_up = self.hand_up

    # --- the port

    @property
    def now(self) -> int:
        return self._calendar.now

    def uniform(self, low: Any, high: Any) -> float:
        return self._random.uniform(float(low), float(high))

    def between(self, low: Any, high: Any) -> int:
        least, most = whole("between: the lower bound", low), whole("between: the upper bound", high)
        if least > most:
            raise ValueError(f"between: the lower bound {least} is more than the upper bound {most}")
        return least + self._random.below(most - least + 1)

    def timer(self, action: Callable[[], None]) -> Any:
        causes = self._context.causes
        noted = None if causes is None else causes.timer(self.name, action)
        timer = NodeTimer(self, self._context.kernel, action if noted is None else noted.fire)
        self._timers.append(timer)
        return timer if noted is None else noted.over(timer)

    def broadcast(self, message: Any) -> None:
        self._transmit(None, message)

    def send(self, to: Any, message: Any) -> None:
        self._transmit(self.counterpart(whole("send: the receiver", to)), message)

    def unicast(self, to: Any, message: Any) -> None:
        framing, node = self._framing, self.counterpart(whole("unicast: the receiver", to))
        byte_count("payload_bytes", message.payload_bytes)
        psdu_bytes, duration_ns = framing.acknowledged_datagram(byte_count("size_bytes", message.size_bytes))
        rate_mbps = framing.unicast_mbps
        self._sample_lists(message)
        self._enqueue(Frame(self.transceiver, node, message, psdu_bytes, duration_ns, rate_mbps, self, True))

    def counterpart(self, to: int) -> Transceiver:
        raise NotImplementedError

    # --- for protocols that talk over connections

    @property
    def channels(self) -> Any:
        """The channels over the radio, for protocols that use connections."""
        return self._channels[0]

    def use_channels(self, radio: Any, *others: Any) -> None:
        """Use these channels. From now on, all frames on the radio are segments."""
        self._channels = [radio, *others]
        self.transceiver.hand_up = radio.hand_up

    def transmit(self, frame: Frame) -> None:
        self._enqueue(frame)

    def _transmit(self, to: Transceiver | None, message: Any) -> None:
        framing = self._framing
        byte_count("payload_bytes", message.payload_bytes)
        psdu_bytes, duration_ns = framing.datagram(byte_count("size_bytes", message.size_bytes))
        self._sample_lists(message)
        self._enqueue(
            Frame(self.transceiver, to, message, psdu_bytes, duration_ns, framing.broadcast_mbps, client=self)
        )

    def _sample_lists(self, message: Any) -> None:
        for quantity, length in list_sizes(message):
            self._samples.add(self._calendar.now, self.name, quantity, length)

    # --- called by the radio

    def hand_up(self, frame: Frame) -> None:
        protocol = self.protocol
        if protocol is not None:
            protocol.on_receive(frame.sender.number, frame.message)
            sizes = protocol.buffer_sizes()  # the body of sample(), inlined for speed
            if sizes != self.buffers:
                self._note_buffers(sizes)

    def on_sent(self, message: Any) -> None:
        if self.protocol is not None:
            self.protocol.on_sent(message)

    def on_dropped(self, message: Any) -> None:
        if self.protocol is not None:
            if self._context.causes is not None:
                self._context.causes.note_drop(self.name, message)
            self.protocol.on_dropped(message)

    # --- for onlookers

    @property
    def timers(self) -> list[Timer]:
        """All timers of the protocol, whether they are running or not."""
        return self._timers

    @property
    def buffer_names(self) -> tuple[str, ...]:
        """The names of `buffers`, or an empty tuple before the first sample."""
        return self._buffer_names

    # --- measuring

    def sample(self) -> None:
        """Record the buffer sizes that have changed since the last sample."""
        if self.protocol is not None:
            sizes = self.protocol.buffer_sizes()
            if sizes != self.buffers:
                self._note_buffers(sizes)

    def _note_buffers(self, sizes: Any) -> None:
        names = self.protocol.BUFFERS
        if not isinstance(sizes, tuple) or not isinstance(names, tuple) or len(sizes) != len(names):
            raise ValueError(
                f"buffer_sizes() returned {sizes!r}, expected a tuple of whole numbers, one for each of BUFFERS, which"
                f" is {names!r}"
            )
        before = self.buffers or (0,) * len(names)
        for i, size in enumerate(sizes):
            if size != before[i]:
                self._samples.add(self._calendar.now, self.name, str(names[i]), whole("buffer_sizes: one", size))
        self.buffers, self._buffer_names = sizes, names

    def sample_at_end(self) -> None:
        """Sample every buffer once more, whether it changed or not, so that a reader knows the final size of each."""
        self.sample()
        for name, size in zip(self._buffer_names, self.buffers, strict=True):
            self._samples.add(self._calendar.now, self.name, name, size)

    def halt(self) -> None:
        """Stop all activity of the node: its timers, its connections, and the frames in the radio's queue."""
        if (on_end := getattr(self.protocol, "on_end", None)) is not None:
            on_end()
        for timer in self._timers:
            timer.stop()
        self._timers.clear()
        for channels in self._channels:
            channels.abort()
        self._mac.reset()


class NodeTimer(Timer):
    """A timer whose action may change buffers. The buffers are sampled after the action."""

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
    """A support station. It never fails, and ignores frames that it overhears from the cells of other stations.

    If the protocol gives up on silent hosts, the time of the last frame from each host is stored here, below the
    protocol. The record then states how long a host was really silent, rather than what the protocol believes.
    """

    def __init__(
        self, context: Context, number: int, name: str, transceiver: Transceiver, mac: Mac, notes_silence: bool
    ) -> None:
        super().__init__(context, number, name, transceiver, mac)
        self._last_frame_ns: dict[int, int] = {}  # host -> when its last frame was handed up here
        if notes_silence:
            transceiver.hand_up = self._note_and_hand_up

    def counterpart(self, to: int) -> Transceiver:
        return self._context.host(to)

    def hand_up(self, frame: Frame) -> None:
        if not frame.sender.is_station:
            super().hand_up(frame)

    def _note_and_hand_up(self, frame: Frame) -> None:
        if not frame.sender.is_station:
            self._last_frame_ns[frame.sender.number] = self._calendar.now
            super().hand_up(frame)

    def expired(self, host: Any) -> None:
        whole("expired: the host", host)
        now = self._calendar.now
        silent_s = (now - self._last_frame_ns.get(host, 0)) / SECOND
        self._context.recording.events.add(now, self.name, "expire", detail={"host": f"h{host}", "silent_s": silent_s})

    def boot(self, protocol: Any) -> None:
        """Run this protocol from now on."""
        self.protocol = protocol
        if any(getattr(protocol, hook, None) is not None for hook in ASSOCIATION):
            self._context.associating[self.me] = self

    def note_association(self, host: int, hook: str) -> None:
        """Call the hook with this name for a host, if the protocol has such a hook."""
        called = getattr(self.protocol, hook, None)
        if called is not None:
            called(host)
            self.sample()

    def on_wired(self, source: int, message: Any) -> None:
        self.protocol.on_wired(source, message)
        self.sample()
