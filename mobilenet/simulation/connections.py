"""Provide connections to protocols: TCP over acknowledged unicast on the radio, or over the backbone.

Model     A node has one endpoint on each of its networks. On the radio, a segment is one acknowledged unicast frame.
          On a wire, a segment crosses one link. A crash discards all connections without notice.
Units     integer nanoseconds; bytes of the headers below TCP (TCP's own 20 are part of the segment)
Source    ours: docs/models/tcp.md
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from mobilenet.engine.timer import Timer
from mobilenet.network.radio.frame import Frame
from mobilenet.network.radio.transceiver import Transceiver
from mobilenet.network.tcp.endpoint import Endpoint, Link
from mobilenet.network.tcp.parameters import TcpParameters
from mobilenet.network.tcp.port import Counts, Reason
from mobilenet.network.tcp.segment import HEADER_BYTES, Segment
from mobilenet.network.wired.network import WiredNetwork
from mobilenet.network.wired.tree import Tree
from mobilenet.protocols.port import ChannelClient
from mobilenet.simulation.nodes import Context, Node

ENDLESS = {"max_retransmissions": 10**9, "connect_timeout_s": 1e9}


class Channels:
    """The connections of a node over one network, together with their endpoint."""

    def __init__(self, context: Context, node: Node, parameters: TcpParameters) -> None:
        self.me = node.me
        self._node = node
        self._kernel = context.kernel
        self._client: ChannelClient | None = None
        self._causes = context.causes
        self._endpoint = Endpoint(self, parameters)

    @property
    def counts(self) -> Counts:
        return self._endpoint.counts

    # --- for the protocol

    def listen(self, client: ChannelClient) -> None:
        self._client = client

    def connect(self, peer: int) -> Link:
        return self._endpoint.connect(peer)

    # --- for the node

    def abort(self) -> None:
        """Drop all connections because the node crashed."""
        self._endpoint.abort()
        self._client = None

    def on_segment(self, peer: int, segment: Segment) -> None:
        """Handle a segment that arrived. Messages that the segment completes are handed up before this method
        returns.
        """
        endpoint = self._endpoint
        link = endpoint.links.get((peer, segment.target))
        taken = 0 if link is None else link.taken
        endpoint.on_segment(peer, segment)
        if link is not None and link.taken != taken and link.connection.is_open and self._client is not None:
            self._client.on_taken(link)
        self._node.sample()

    # --- for the endpoint

    @property
    def now(self) -> int:
        return self._kernel.now

    def timer(self, action: Callable[[], None]) -> Any:
        """Return a timer for a connection. The connection stops it, so the node does not have to track it."""

        def fire() -> None:
            action()
            self._node.sample()

        noted = None if self._causes is None else self._causes.timer(self._node.name, fire, action)
        return Timer(self._kernel, fire) if noted is None else noted.over(Timer(self._kernel, noted.fire))

    def send(self, to: int, message: Any) -> None:
        raise NotImplementedError

    def _note_window(self, to: int, segment: Segment) -> None:
        """Record in the log of causes which window held this segment back."""
        if self._causes is not None:
            link = self._endpoint.links.get((to, segment.source))
            self._causes.window = "" if link is None else link.connection.blocked_by

    def accepts(self, peer: int) -> bool:
        return self._client is not None and self._client.accepts(peer)

    def on_open(self, link: Link) -> None:
        if self._client is not None:
            self._client.on_open(link)

    def on_message(self, link: Link, message: Any) -> None:
        if self._client is not None:
            self._client.on_message(link, message)

    def on_closed(self, link: Link, reason: Reason) -> None:
        if self._client is not None:
            self._client.on_closed(link, reason)


class RadioChannels(Channels):
    """The connections between hosts and stations over the radio."""

    def __init__(self, context: Context, node: Node, parameters: TcpParameters) -> None:
        super().__init__(context, node, parameters)
        self._framing = context.framing
        self._samples = context.recording.samples

    def send(self, to: int, message: Any) -> None:
        self._note_window(to, message)
        node = self._node
        framing = self._framing
        psdu_bytes, duration_ns = framing.segment(message.size_bytes)
        for quantity, length in message.list_sizes():
            self._samples.add(self._kernel.now, node.name, quantity, length)
        frame = Frame(
            node.transceiver,
            self._transceiver_of(to),
            message,
            psdu_bytes,
            duration_ns,
            framing.unicast_mbps,
            acknowledged=True,
        )
        node.transmit(frame)

    def _transceiver_of(self, to: int) -> Transceiver:
        return self._node.counterpart(to)

    def hand_up(self, frame: Frame) -> None:
        """Hand up a segment that arrived by radio. Its frame is always addressed to this node."""
        self.on_segment(frame.sender.number, frame.message)


class WiredChannels(Channels):
    """The connections between a station and its neighbours. These connections never time out, so they last for the
    whole run.
    """

    def __init__(
        self,
        context: Context,
        node: Node,
        parameters: TcpParameters,
        wires: WiredNetwork,
        header_bytes: int,
        at: Callable[[int], WiredChannels],
    ) -> None:
        """Set up the channels. `header_bytes` is the size of the headers of a wired message, including that of TCP.
        `at(station)` returns the channels at the other end of the wire.
        """
        super().__init__(context, node, parameters.model_copy(update=ENDLESS))
        if not isinstance(wires, Tree):
            raise TypeError("connections between stations need the tree backbone")
        self._tree = wires
        self._header_bytes = max(0, header_bytes - HEADER_BYTES)
        self._at = at

    @property
    def neighbours(self) -> Sequence[int]:
        return self._tree.routes.near[self.me]

    def send(self, to: int, message: Any) -> None:
        self._note_window(to, message)
        self._tree.hop(self.me, to, message, self._header_bytes, partial(self._arrive, to, message))

    def _arrive(self, at: int, segment: Segment) -> None:
        self._at(at).on_segment(self.me, segment)
