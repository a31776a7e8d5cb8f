"""The interface between a protocol and the network. A protocol has no other access to the network.

Units     integer nanoseconds, bytes
Names     hosts and stations are small integers; outside protocols, they have names such as h12 and s3
Page      docs/guide/port.md is generated from these docstrings: python -m tests.write_port_page
Source    ours: docs/protocols/mobile-causal.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Final, NamedTuple, Protocol, TypeVar

from mobilenet.protocols.fields import Id, Number

MOST_BYTES: Final = 2**40  # the maximum size of a message; counters stay exact up to this size
ASSOCIATION = ("on_associated", "on_disassociated")  # the optional hooks of a station


def association_changes(before: int | None, now: int | None) -> Iterator[tuple[int, str]]:
    """Yield each station to notify when a host's association changes, with the name of the hook to call, in the order
    of the calls. `before` is the station that was notified last. If both stations are the same, the host has recovered
    there.
    """
    if before is not None and before != now:
        yield before, "on_disassociated"
    if now is not None:
        yield now, "on_associated"


Act = TypeVar("Act", bound=Callable[..., None])


def timer_name(name: str) -> Callable[[Act], Act]:
    """Name the timer whose action is this method, for explanations of delays. The default is the name of the method."""

    def name_action(action: Act) -> Act:
        action.timer_name = name  # type: ignore[attr-defined]
        return action

    return name_action


class MessageId(NamedTuple):
    """The identifier of one application message, such as h12:0 in the record."""

    host: Id  # The number of the host that broadcast the message.
    seq: Number  # The number of the message: each host counts its messages from 0.


class Message(Protocol):
    """Any message between nodes. It must be immutable, because all receivers share one object."""

    @property
    def size_bytes(self) -> int:
        """Return the number of bytes passed to the transport, including the payload but not the headers of lower
        layers.
        """

    @property
    def payload_bytes(self) -> int:
        """Return how many bytes of `size_bytes` are application payload."""

    def list_sizes(self) -> tuple[tuple[str, int], ...]:
        """Return the pair (name, length) for each list of variable length that the message carries. The lengths are
        sampled when the message is sent, and have no other effect.
        """


class Timer(Protocol):
    """A timer of a node. A node may have any number of timers. A crash stops all timers of the host."""

    @property
    def running(self) -> bool:
        """Return whether the timer is running: it has been started, and has neither expired nor been stopped."""

    def start(self, delay_ns: int) -> None:
        """Call the action after `delay_ns` nanoseconds (an int >= 0). If the timer is running, its deadline moves."""

    def stop(self) -> None:
        """Cancel the timer. Its action is not called."""


class Port(Protocol):
    """The radio, the clock and the random draws of one node."""

    me: int  # The number of this node: 12 for h12, 3 for s3.

    @property
    def now(self) -> int:
        """Return the simulated time in nanoseconds. It does not change within a handler."""

    def timer(self, action: Callable[[], None]) -> Timer:
        """Return a new timer that calls `action()` when it expires. To wait again, restart the same
        timer instead of creating another: a node keeps all its timers until it crashes.
        """

    def uniform(self, low: float, high: float) -> float:
        """Return a random number between `low` and `high`, from the node's own stream."""

    def between(self, low: int, high: int) -> int:
        """Return a random whole number, low <= number <= high, from the node's own stream."""

    def broadcast(self, message: Any) -> None:
        """Queue one radio frame for all nodes in range. The frame is not acknowledged, and it may be lost
        at any receiver. A frame from a station reaches hosts, including those of other stations. A frame from a host
        reaches stations and other hosts.
        """

    def send(self, to: int, message: Any) -> None:
        """Queue one radio frame for one node: `to` is a station if a host sends, and a host if a station
        sends. The frame is not acknowledged, and it is lost if `to` is out of range.
        """


class StationPort(Port, Protocol):
    """Calls that only the port of a station offers."""

    def expired(self, host: int) -> None:
        """Report that this host was silent for too long, and that the station gives up on it. The event `expire`
        is recorded, with the number of seconds since the station last received a frame from the host.
        """


class HostPort(Port, Protocol):
    """Calls that only the port of a host offers: upcalls to the application, which are also recorded as the host's
    trace.
    """

    def deliver(self, message: MessageId, body: Any) -> None:
        """Deliver a message to the application. The event `deliver` is recorded, with the station of the host's
        cell. `body` is ignored.
        """

    def joined(self, session: int, station: int) -> None:
        """Report that the host is a member from now on. The event `join` is recorded."""

    def left(self, session: int) -> None:
        """Report that the host is no longer a member. The event `leave` is recorded."""

    def gap(self, session: int, station: int) -> None:
        """Report that the host has missed messages that it will never receive. The event `gap` is recorded."""

    def session_opened(self, session: int, station: int | None, cause: str) -> None:
        """Report that a handoff begins. The event `handoff_start` is recorded only if the host is a member. `session`
        is a new number; `station` is the new station; `cause` is 'cell' for a change of cell, 'recovery' after a crash,
        'reinit' if the station had given up on the host, or 'join'. Handoff metrics count only handoffs with the cause
        'cell'.
        """

    def session_confirmed(self, session: int, station: int, detail: dict[str, int]) -> None:
        """Report that the handoff of this session has ended: the station serves the host. The event `handoff_end` is
        recorded only if the last `session_opened` since the host joined had the same `session`. `detail` may contain
        'recovered', the number of messages that were sent to the host again, and 'skipped', the number of messages that
        it already had; it may also be {}.
        """


class WiredPort(Protocol):
    """The backbone between stations. It is reliable and delivers each message exactly once, in causal order.

    Requirements: docs/protocols/mobile-causal.md#requirements-on-the-backbone
    """

    def broadcast(self, message: Any) -> None:
        """Send a message to all other stations."""

    def send(self, to: int, message: Any) -> None:
        """Send a message to one other station."""


class HostProtocol(Protocol):
    """Calls that the network makes on a host. The host object is discarded at a crash and built again at recovery, with
    the same `stable`.
    """

    BUFFERS: ClassVar[tuple[str, ...]]  # The names of the host's measured buffers; () for none.

    def buffer_sizes(self) -> tuple[int, ...]:
        """Return how many messages each buffer in BUFFERS holds. Called after every handler and timer. A run is at
        rest only if all sizes are 0.
        """

    def join(self) -> None:
        """Become a member, now or later. Called once for each join in the scenario, as soon as the host is up and
        `is_out()` returns True, even if it is not in a cell.
        """

    def leave(self) -> bool:
        """Stop being a member, or waiting to become one. Called when the scenario makes the host leave, and again every
        100 ms until `is_out()` returns True. Return False to refuse for now.
        """

    def co_broadcast(self, body: Any) -> MessageId | None:
        """Broadcast a message of the application; `body` is its length in bytes. Return its id, or None to refuse
        because the host is not a member. The host may deliver the message within this call.
        """

    def on_cell(self, station: int | None) -> None:
        """Handle a new cell: from now on the host is in the cell of this station, or in none. Called when the simulated
        attachment changes, and before all other calls when a host appears or recovers in a cell. The host does not have
        to receive a frame first.
        """

    def on_recover(self) -> None:
        """Handle the return after a crash. Called after `__init__` and, if the host is in a cell, after `on_cell`."""

    def on_end(self) -> None:
        """Handle the end of this life: the host has crashed or left the run permanently. Optional; useful for releasing
        resources outside the simulator.
        """

    def settled(self) -> bool:
        """Return True if nothing is in progress, that is, if no handoff, join or leave is waiting for an answer.
        A run ends once all nodes are settled and all buffers are empty.
        """

    def is_out(self) -> bool:
        """Return whether the host is not a member and has nothing left to send."""

    def on_receive(self, sender: int, message: Any) -> None:
        """Handle a radio frame that a station in range has broadcast or has sent to this host. `sender` is the number
        of the station (or of a host, if hosts of the protocol broadcast frames).
        """

    def on_sent(self, message: Any) -> None:
        """Handle the end of the transmission of one of the node's frames. Whether the frame arrived is not known."""

    def on_dropped(self, message: Any) -> None:
        """Handle the loss of one of the node's frames because the queue of the radio was full. Called within `send` or
        `broadcast`.
        """


class StationProtocol(Protocol):
    """Calls that the network makes on a station. A station never crashes."""

    BUFFERS: ClassVar[tuple[str, ...]]  # The names of the station's measured buffers; () for none.

    def buffer_sizes(self) -> tuple[int, ...]:
        """Return how many messages each buffer in BUFFERS holds, as for hosts."""

    def settled(self) -> bool:
        """Return False while the station is waiting for an answer, and otherwise True."""

    def serves(self, host: int) -> bool:
        """Return whether this station has accepted this member of its cell and has sent it all messages that it should
        have received so far. Called only at the end of a run, to find out whether the run is at rest.
        """

    def on_associated(self, host: int) -> None:
        """Handle a new association: from now on this host is up and in this station's cell. Called when a host appears
        in the cell, enters it or recovers in it, just before the host's `on_cell`. Optional.
        """

    def on_disassociated(self, host: int) -> None:
        """Handle the end of an association: this host is now in another cell or in none, or has left the run
        permanently. Called before the other station's `on_associated`. A crash does not end an association, since a
        station does not notice the crash. Optional.
        """

    def on_receive(self, sender: int, message: Any) -> None:
        """Handle a radio frame that a host has broadcast or has sent to this station."""

    def on_wired(self, source: int, message: Any) -> None:
        """Handle a message from the station `source`."""

    def on_sent(self, message: Any) -> None:
        """Handle the end of the transmission of one of the station's frames, as for hosts."""

    def on_dropped(self, message: Any) -> None:
        """Handle the loss of one of the station's frames, as for hosts."""


class Channel(Protocol):
    """One end of a connection between two nodes: each message arrives once and in order, or the channel closes."""

    @property
    def peer(self) -> int:
        """Return the number of the node at the other end: a station if this node is a host, a host if this node is a
        station, and a neighbour on a wire.
        """

    @property
    def backlog(self) -> int:
        """Return the number of messages sent from this end that the other end has not acknowledged yet."""

    @property
    def incoming(self) -> int:
        """Return how many messages from the other end are waiting for earlier bytes."""

    @property
    def taken(self) -> int:
        """Return how many messages sent from this end the other end has acknowledged. It acknowledges them in order."""

    def say(self, message: Any) -> None:
        """Send a message after all earlier ones. Messages may be sent before the channel opens, and until it ends."""

    def abort(self) -> None:
        """End the channel at this node without notifying the other end, and without an upcall."""

    def reset(self) -> None:
        """Close the channel, and notify the other end once, if the network delivers the notification."""


class ChannelClient(Protocol):
    """Calls that the network makes on the listener of a node's channels."""

    def accepts(self, peer: int) -> bool:
        """Return whether to accept a channel that the node `peer` requests."""

    def on_open(self, channel: Any) -> None:
        """Handle a channel that has opened, at the request of this node or of the other end."""

    def on_message(self, channel: Any, message: Any) -> None:
        """Handle the next message from the other end."""

    def on_taken(self, channel: Any) -> None:
        """Handle an acknowledgement of further messages that this node sent on the channel."""

    def on_closed(self, channel: Any, reason: str) -> None:
        """Handle the end of a channel. Messages that were not acknowledged may or may not have arrived."""


class Channels(Protocol):
    """All channels of a node over one network. No message is delivered at any node during a call."""

    def listen(self, client: ChannelClient) -> None:
        """Set the object that receives the upcalls from now on."""

    def connect(self, peer: int) -> Channel:
        """Return a new channel to a node. It is not open yet."""


class WiredChannels(Channels, Protocol):
    """A station's channels to the stations next to it on the backbone, which is a tree."""

    me: int  # The number of this station.

    @property
    def neighbours(self) -> Sequence[int]:
        """Return the numbers of the stations next to this one."""


class UnicastPort(Protocol):
    """A port that can also send unicast frames over the radio, for the datagrams of programs and for repairs of the
    mobile broadcast.
    """

    def unicast(self, to: int, message: Any) -> None:
        """Send one radio frame to one node. The MAC acknowledges the frame, and repeats it if the acknowledgement is
        missing.
        """


class UnicastHostPort(HostPort, UnicastPort, Protocol):
    """The port of a host for a protocol that sends unicast frames."""


class UnicastStationPort(StationPort, UnicastPort, Protocol):
    """The port of a station for a protocol that sends unicast frames."""


class ChannelHostPort(HostPort, Protocol):
    """The port of a host for a protocol that uses connections."""

    channels: Channels  # The channels to stations, over the radio.


class ChannelStationPort(StationPort, Protocol):
    """The port of a station for a protocol that uses connections; the station's wired port is a WiredChannels."""

    channels: Channels  # The channels to hosts, over the radio.
