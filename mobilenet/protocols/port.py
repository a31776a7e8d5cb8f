"""What a protocol may do, and what is done to it. It sees nothing else of the world.

Units     integer nanoseconds, bytes
Names     hosts and stations are small integers; h12 and s3 are names given outside
Source    ours: docs/protocols/mobile-causal.md
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

from mobilenet.protocols.fields import Id, Number


class MessageId(NamedTuple):
    """One application message: who broadcast it, and its number there."""

    host: Id
    seq: Number


class Message(Protocol):
    """Anything that travels. Immutable: all receivers share one object."""

    @property
    def size_bytes(self) -> int:
        """Bytes handed to the transport, payload included, headers below not."""

    @property
    def payload_bytes(self) -> int:
        """The part of `size_bytes` that is application payload."""

    def list_sizes(self) -> tuple[tuple[str, int], ...]:
        """(name, length) of each list of variable length it carries; for measuring only."""


class Timer(Protocol):
    """Restartable; starting a running timer moves its deadline; a stopped one never fires."""

    @property
    def running(self) -> bool: ...
    def start(self, delay_ns: int) -> None: ...
    def stop(self) -> None: ...


class Port(Protocol):
    """The radio, the clock and the draws of one node."""

    me: int

    @property
    def now(self) -> int: ...

    def timer(self, action: Callable[[], None]) -> Timer:
        """A timer that dies with the node when it crashes."""

    def uniform(self, low: float, high: float) -> float:
        """A draw from this node's own stream."""

    def between(self, low: int, high: int) -> int:
        """A whole number from this node's own stream, low <= number <= high."""

    def broadcast(self, message: Any) -> None:
        """One radio frame for all nodes in range: stations to hosts. No acknowledgement."""

    def send(self, to: int, message: Any) -> None:
        """One radio frame for one node (a host's frame goes to a station, a station's to a host). No
        acknowledgement.
        """


class StationPort(Port, Protocol):
    """A station's port: the radio, and what it has to report."""

    def expired(self, host: int) -> None:
        """This host was silent for T and is given up: what it was promised is forgotten. The network notes how long
        it was not heard.
        """


class HostPort(Port, Protocol):
    """A host's port: the radio, and the upcalls to its application (which are its trace)."""

    def deliver(self, message: MessageId, body: Any) -> None: ...
    def joined(self, session: int, station: int) -> None: ...
    def left(self, session: int) -> None: ...
    def gap(self, session: int, station: int) -> None: ...

    def session_opened(self, session: int, station: int | None, cause: str) -> None:
        """A new session was begun; cause: 'join', 'cell', 'recovery' or 'reinit'."""

    def session_confirmed(self, session: int, station: int, detail: dict[str, int]) -> None:
        """The station has confirmed it; detail: sizes, for measuring ('recovered', 'skipped')."""


class WiredPort(Protocol):
    """The backbone between stations: reliable, exactly once, causal over both calls.

    What is asked of it: docs/protocols/mobile-causal.md#requirements-on-the-backbone
    """

    def broadcast(self, message: Any) -> None:
        """To all other stations."""

    def send(self, to: int, message: Any) -> None:
        """To one other station."""


class HostProtocol(Protocol):
    """What the network calls on a host. Volatile: discarded at a crash and built again at recovery."""

    BUFFERS: ClassVar[tuple[str, ...]]

    def buffer_sizes(self) -> tuple[int, ...]:
        """How many messages each of BUFFERS holds. It is measured, and a run is at rest only if all are 0."""

    def join(self) -> None: ...
    def leave(self) -> bool:
        """False: refused now, ask again later."""

    def co_broadcast(self, body: Any) -> MessageId | None:
        """The new message's id; None: refused (not a member, or leaving)."""

    def on_cell(self, station: int | None) -> None:
        """The host is now in this cell, or in none."""

    def on_recover(self) -> None: ...
    def on_end(self) -> None:
        """Its life is over: it crashed, or is gone for good. Need not be there; for what lives outside the emulator."""

    def settled(self) -> bool:
        """Either out, or a member with nothing in progress: no handoff, join or leave waits for an answer."""

    def is_out(self) -> bool:
        """Not a member, and with nothing left to send."""

    def on_receive(self, sender: int, message: Any) -> None: ...
    def on_sent(self, message: Any) -> None:
        """The last copy handed to the radio is in the air and done."""

    def on_dropped(self, message: Any) -> None:
        """The radio's queue was full."""


class StationProtocol(Protocol):
    """What the network calls on a station."""

    BUFFERS: ClassVar[tuple[str, ...]]

    def buffer_sizes(self) -> tuple[int, ...]: ...
    def settled(self) -> bool:
        """Whether nothing waits for an answer."""

    def serves(self, host: int) -> bool:
        """This member, in this station's cell, is known here, and nothing of its past is owed to it."""

    def on_receive(self, sender: int, message: Any) -> None:
        """A radio frame from a host, addressed to this station."""

    def on_wired(self, source: int, message: Any) -> None:
        """Something from another station."""

    def on_sent(self, message: Any) -> None: ...
    def on_dropped(self, message: Any) -> None: ...


class Channel(Protocol):
    """One end of a connection between two nodes: messages arrive once each and in order, or the channel closes."""

    @property
    def peer(self) -> int:
        """The number of the node at the other end: a station's for a host, a host's for a station, a neighbour's on
        the wire.
        """

    @property
    def backlog(self) -> int:
        """Messages sent here that the other end has not acknowledged."""

    @property
    def incoming(self) -> int:
        """Messages from the other end that wait for bytes before them."""

    @property
    def taken(self) -> int:
        """How many of the messages sent here the other end has acknowledged: always the first ones."""

    def say(self, message: Any) -> None:
        """Send after earlier ones. Allowed as soon as there is a channel, open or not; never after its end."""

    def abort(self) -> None:
        """End it here without a word, and without an upcall."""

    def reset(self) -> None:
        """Close it, and notify the other end once, if the network lets it."""


class ChannelClient(Protocol):
    """What becomes of the channels of a node."""

    def accepts(self, peer: int) -> bool:
        """Whether a channel that this node asks for is welcome."""

    def on_open(self, channel: Any) -> None:
        """The channel is open: one that was asked for here, or by the other end."""

    def on_message(self, channel: Any, message: Any) -> None: ...
    def on_taken(self, channel: Any) -> None:
        """More of what was sent here is acknowledged."""

    def on_closed(self, channel: Any, reason: str) -> None:
        """It is no more. What was not acknowledged may or may not have arrived."""


class Channels(Protocol):
    """All channels of a node over one network. Nothing arrives anywhere within a call."""

    def listen(self, client: ChannelClient) -> None:
        """Set the receiver of the upcalls from now on."""

    def connect(self, peer: int) -> Channel:
        """Ask a node for a channel."""


class WiredChannels(Channels, Protocol):
    """A station's channels to the stations next to it on the backbone, which is a tree."""

    me: int

    @property
    def neighbours(self) -> Sequence[int]: ...


class UnicastPort(Protocol):
    """What a port has besides for datagrams of programs, which do not belong to a protocol."""

    def unicast(self, to: int, message: Any) -> None:
        """One radio frame for one node, which the MAC acknowledges, and repeats where no acknowledgement comes."""


class UnicastHostPort(HostPort, UnicastPort, Protocol):
    """A host's."""


class UnicastStationPort(StationPort, UnicastPort, Protocol):
    """A station's."""


class ChannelHostPort(HostPort, Protocol):
    """A host's port for a protocol that talks over connections."""

    channels: Channels


class ChannelStationPort(StationPort, Protocol):
    """The same for a station; its wired port is a WiredChannels."""

    channels: Channels
