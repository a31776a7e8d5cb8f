"""A station: it forwards every message once over each link, and admits and releases hosts between messages.

Source      Nédelec, Molli, Mostéfaoui: Breaking the scalability barrier of causal broadcast for large and dynamic
            systems (2018), PC-broadcast; Wilhelm, Arantes, Sens (2020), section V.A, "TCP-Flooding", for tree, TCP and
            spacing. What happens when the only link of a host is lost is ours: docs/protocols/tcp-flooding.md
Names       Q -> links, safe -> HostLink.safe, B (buffer) -> HostLink.buffer, received -> _received, ping -> Ping,
            pong -> Return, expected id -> HostLink.ping; keep-alive probe -> Here. Labels `PC ...` name the step of
            PC-broadcast
Assumes     channels are FIFO; those between stations form a tree and never break. A session is never used twice
Causal      a station forwards the first copy of a message over all links at once, and then counts it as delivered. A
            FIFO link therefore carries m after all that its sender delivered before m, and messages that arrive over
            safe links arrive in causal order. A link becomes safe when both ends know the same of each other's past,
            which they reach in one of two ways:
            by ping  s2 sends Ping after all that it has delivered, which therefore has reached s1 and the host. The
                     host sends Return after all that it has broadcast, or delivered from s1, which therefore has
                     reached s2. Each buffers what it delivers meanwhile, and sends it first. (If only s2 buffered: a
                     host that delivers x from s1 just after its Return, and broadcasts y over s2, would send y before x
                     reaches s2 from s1.)
            by gap   s1 sends Closed after all that it passed to the host or received from it, because s1 forwards to
                     stations first. s2 therefore knows the host's past. The host never receives what is older than the
                     link: this is its gap
Rules       each rule is given with what happens without it:
            R9   a Return must name the outstanding Ping. Otherwise: h asks s2, turns back, and asks s2 again. The
                 Return of the first Ping makes the second link safe, although h has not received what s2 forwarded in
                 between
            R10  Welcome waits for Closed. Otherwise: h received m from s1, and its answer m' overtakes m at s2 if the
                 copy of s1 is slow
            R11  Welcome contains the past. Otherwise: h joins at s1 after m, delivers m' that follows m, and changes to
                 s2, where m has not arrived yet. As h has not received m, it would deliver m after m'
            R12  a newer open link makes all stations drop the links of older sessions. Otherwise s3 would
                 fill a buffer for a host that will never acknowledge, and never come to rest
            R13  an Attach of a session older than a known one is refused, because its frame waited in a queue while the
                 host moved on
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ..port import Channel, ChannelStationPort, WiredChannels
from .backbone import Backbone
from .messages import (
    App,
    Attach,
    Close,
    Closed,
    Here,
    Leave,
    Moved,
    Ping,
    Procedure,
    Reenter,
    Return,
    Safe,
    Stay,
    Welcome,
)
from .parameters import TcpFloodingParameters
from .spacing import HostLink, Spacing


class Station:
    BUFFERS: ClassVar[tuple[str, ...]] = ("sbuffer", "rbuffer")

    def __init__(
        self, port: ChannelStationPort, wired: WiredChannels, parameters: TcpFloodingParameters, stations: int
    ) -> None:
        self._me = port.me
        self._p = parameters
        self._received: dict[int, int] = {}  # origin -> the highest number of its messages that were delivered here
        self._links: dict[int, HostLink] = {}  # host -> its link
        self._newest: dict[int, int] = {}  # host -> the highest known session number
        self._number = 0  # the counter of this station's Pings and Closes
        self._spacing = Spacing(port, parameters)
        self._backbone = Backbone(wired, self._on_neighbour)
        self._on_host: dict[type, Callable[[HostLink, Any], None]] = {
            App: self._on_app, Attach: self._on_attach, Reenter: self._on_reenter, Return: self._on_host_return,
            Moved: self._on_moved, Stay: self._on_stay, Leave: self._on_leave, Here: self._on_here,
        }  # fmt: skip
        self._on_wired: dict[type, Callable[[int, Any], None]] = {
            App: self._on_wired_app, Ping: self._on_ping, Return: self._on_return, Close: self._on_close,
            Closed: self._on_closed_id,
        }  # fmt: skip
        port.channels.listen(self)

    def buffer_sizes(self) -> tuple[int, ...]:
        links = self._links.values()
        return sum(link.messages for link in links), sum(link.channel.incoming for link in links)

    def settled(self) -> bool:
        """Return whether every link is safe and the backbone has acknowledged all messages."""
        return all(link.safe for link in self._links.values()) and self._backbone.settled()

    def serves(self, host: int) -> bool:
        link = self._links.get(host)
        return link is not None and link.safe

    # --- flooding

    def _on_app(self, link: HostLink, m: App) -> None:
        """upon receive m from a host                                    PC receive"""
        self._receive(m, None, link)

    def _on_wired_app(self, neighbour: int, m: App) -> None:
        """upon receive m from a neighbour                               PC receive"""
        self._receive(m, neighbour, None)

    def _receive(self, m: App, neighbour: int | None, source: HostLink | None) -> None:
        """Forward the first copy of a message at once over all outgoing links, and drop later copies."""
        if m.seq <= self._received.get(m.origin, -1):  # PC receive (FIFO from each origin: the highest decides)
            return
        self._received[m.origin] = m.seq  # PC deliver
        self._backbone.flood(m, None if self._p.echo else neighbour)  # PC forward
        receivers = [  # all hosts except the one that forwarded the message and the one that broadcast it
            link for link in self._links.values()
            if link.safe and (self._p.echo or (link is not source and link.host != m.origin))
        ]  # fmt: skip
        self._spacing.copies(receivers, m)  # PC forward, V.A (point-to-point, 5 ms apart)
        for link in self._links.values():
            if link.buffer is not None and link.host != m.origin:
                link.buffer.append(m)  # PC buffer

    # --- hosts that come

    def _on_attach(self, link: HostLink, m: Attach) -> None:
        """Handle the first message on a link that has been admitted."""
        self._newest[link.host] = m.ses
        if m.keep and m.via and m.via[-1] != self._me:
            self._ping_old_link(link, m.via[-1])  # PC ping
        else:
            self._enter(link)

    def _ping_old_link(self, link: HostLink, via: int) -> None:
        """Ping over the old link, which is open, and buffer the messages that arrive meanwhile (PC ping)."""
        link.ping, link.buffer = self._new_procedure(), []  # PC buffer, R9
        self._backbone.flood(Ping(link.ping, link.host, link.ses, via))  # PC ping

    def _on_reenter(self, link: HostLink, m: Reenter) -> None:
        """Handle the loss of the old link. If the new link became safe in the meantime, Safe is on its way."""
        if m.ses == link.ses and not link.safe and link.close is None:
            link.ping = link.buffer = None
            self._enter(link)

    def _enter(self, link: HostLink) -> None:
        """Admit a host that has no open old link: close older links, and wait for the stations that know its past."""
        link.closing = {station for station in link.via if station != self._me}
        link.close = self._close_others(link, tuple(sorted(link.closing)))  # R10
        self._try_welcome(link)

    def _try_welcome(self, link: HostLink) -> None:
        """Send Welcome if all that the host may know has arrived here."""
        if not link.closing:  # R10
            link.close, link.safe = None, True
            self._spacing.say(link, Welcome(link.ses, tuple(self._received.items())))  # R11

    def _make_safe(self, link: HostLink) -> None:
        """Make a link safe: both ends know the same except for the buffered messages, which go first (PC safe)."""
        buffer, link.buffer, link.ping, link.safe = link.buffer or [], None, None, True
        self._spacing.say(link, Safe(link.ses))  # PC safe
        for m in buffer:
            self._spacing.say(link, m)  # PC buffer

    def _close_others(self, link: HostLink, via: tuple[int, ...] = ()) -> Procedure:
        procedure = self._new_procedure()
        self._backbone.flood(Close(procedure, link.host, link.ses, via))
        return procedure

    def _new_procedure(self) -> Procedure:
        self._number += 1
        return self._me, self._number

    # --- hosts that go

    def _on_host_return(self, link: HostLink, m: Return) -> None:
        """Forward the host's answer to a ping, which comes after everything that the host sent here."""
        self._on_return(None, m)

    def _on_here(self, link: HostLink, m: Here) -> None:
        """Do nothing, because TCP has already acknowledged the keep-alive probe (R6)."""

    def _on_moved(self, link: HostLink, m: Moved) -> None:
        """Handle the end of a move: no other station needs a link to this host."""
        self._close_others(link)  # R4, R12

    def _on_stay(self, link: HostLink, m: Stay) -> None:
        """Handle a host that turned back before it had left this station."""
        link.ses = self._newest[link.host] = m.ses
        self._close_others(link)  # R5, R12

    def _on_leave(self, link: HostLink, m: Leave) -> None:
        """Handle a host that leaves: the answer is to end the connection."""
        link.ses = self._newest[link.host] = m.ses
        self._close_others(link)
        self._drop(link)
        link.channel.reset()

    def _drop(self, link: HostLink) -> None:
        link.dropped = True
        del self._links[link.host]

    # --- between stations

    def _on_neighbour(self, neighbour: int, m: Any) -> None:
        self._on_wired[type(m)](neighbour, m)

    def _on_ping(self, neighbour: int, m: Ping) -> None:
        """Pass the ping over the old link, after everything that was forwarded before it."""
        self._newest[m.host] = max(m.ses, self._newest.get(m.host, 0))
        if m.via != self._me:
            self._backbone.flood(m, neighbour)
            return
        link = self._links.get(m.host)
        if link is not None and link.safe and link.ses < m.ses:
            self._spacing.say(link, m)  # PC ping

    def _on_return(self, neighbour: int | None, m: Return) -> None:
        """upon receive pong: only the answer to the outstanding ping counts        PC pong"""
        if m.id[0] != self._me:
            self._backbone.flood(m, neighbour)
            return
        for link in self._links.values():
            if link.ping == m.id:  # R9
                self._make_safe(link)

    def _on_close(self, neighbour: int, m: Close) -> None:
        """Drop links that are older than the host's new one. The host has already abandoned them."""
        self._newest[m.host] = max(m.ses, self._newest.get(m.host, 0))
        self._backbone.flood(m, neighbour)
        link = self._links.get(m.host)
        if link is not None and link.ses < m.ses:
            self._drop(link)  # R12
            link.channel.abort()
        if self._me in m.via:
            self._backbone.flood(Closed(m.id, self._me))  # R10

    def _on_closed_id(self, neighbour: int, m: Closed) -> None:
        """Record that another station has closed its link. All messages that it passed to the host are here now."""
        if m.id[0] != self._me:
            self._backbone.flood(m, neighbour)
            return
        for link in self._links.values():
            if link.close == m.id:
                link.closing.discard(m.station)
                self._try_welcome(link)

    # --- from the channels

    def accepts(self, peer: int) -> bool:
        return True

    def on_open(self, channel: Channel) -> None:
        pass

    def on_message(self, channel: Channel, message: Any) -> None:
        """Turn a channel into a link at its first message."""
        link = self._links.get(channel.peer)
        if link is None or link.channel is not channel:
            link = self._admit(channel, message)
            if link is None:
                channel.reset()
                return
        self._on_host[type(message)](link, message)

    def _admit(self, channel: Channel, message: Any) -> HostLink | None:
        """Return the new link, or None if the host has already given up this session."""
        if type(message) not in (Attach, Leave) or message.ses < self._newest.get(channel.peer, 0):
            return None  # R13
        older = self._links.get(channel.peer)
        if older is not None:
            self._drop(older)
            older.channel.abort()
        via = message.via if type(message) is Attach else ()
        link = self._links[channel.peer] = HostLink(channel, channel.peer, message.ses, via)
        return link

    def on_taken(self, channel: Channel) -> None:
        pass

    def on_closed(self, channel: Channel, reason: str) -> None:
        """Drop a link, because TCP has given up on the host or the host has opened another connection. Messages that
        were waiting for the host are lost.
        """
        link = self._links.get(channel.peer)
        if link is not None and link.channel is channel:
            self._drop(link)
