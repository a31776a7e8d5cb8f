"""A mobile host: it has one safe link to a station, and a second link while it changes cells.

Source      Nédelec, Molli, Mostéfaoui: Breaking the scalability barrier of causal broadcast for large and dynamic
            systems (2018), PC-broadcast; the rules R1 to R8 are ours: docs/protocols/tcp-flooding.md
Names       safe link -> _primary, link that is not safe yet -> _next, B (buffer) -> _buffer, received -> _received,
            ping, pong -> Ping, Return; keep-alive probe -> Here. Labels `PC ...` name the step of PC-broadcast
Assumes     channels are FIFO and may end at any time. Stable storage survives crashes, and each handler writes it
            atomically
Rules       each rule is given with its reason. s1 is the old station and s2 the new one:
            R1  all messages that the host delivers or broadcasts between Return and Safe are sent again over the new
                link, before any others. A message that it delivers from s1 in that time may travel more slowly on the
                wires than the host's next message over s2
            R2  `via`: during the transition, s1 and s2 each know a part of the host's past. If the host crashes now and
                comes back at s3, s3 has to ask both
            R3  own messages count as unsent until a station has them. A crash would otherwise lose messages that the
                host itself has delivered
            R4  Moved: only the host knows when it no longer needs s1. If s1 closed the link at Return, the link would
                break before Safe arrives
            R5  Stay: a host that turns back reports this, because s2 would otherwise fill its buffer forever. It also
                sends Stay if its connection to s2 has ended, because the session that it opened there would otherwise
                never be confirmed
            R6  the probe: a station that gave up on the connection while the host was out of reach is silent, and so is
                TCP. Without probes, a host that has nothing to send would wait forever, whether on its safe link, on
                one that is about to become safe, or on one that it is about to leave
            R7  each link has a new session, because frames of an earlier link may arrive late
            R8  the host remembers the highest number of each origin, because copies come over both links. It begins
                with the numbers in Welcome
"""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar

from mobilenet.engine.clock import SECOND

from ..port import Channel, ChannelHostPort, MessageId, timer_name
from .messages import App, Attach, Here, Leave, Moved, Ping, Reenter, Return, Safe, Stay, Welcome
from .parameters import TcpFloodingParameters
from .stable_storage import Stable, Status


class Host:
    BUFFERS: ClassVar[tuple[str, ...]] = ("sbuffer", "rbuffer")
    STABLE_BUFFERS: ClassVar[tuple[str, ...]] = ("sbuffer",)  # these survive a crash

    def __init__(self, port: ChannelHostPort, stable: Stable, parameters: TcpFloodingParameters, stations: int) -> None:
        self._port = port
        self.stable = stable
        self._p = parameters
        self._recovering = stable.status is not Status.OUT  # until on_recover is called
        self._cell: int | None = None
        self._primary: Channel | None = None
        self._next: Channel | None = None
        self._next_is_open = False
        self._unconfirmed = False  # a session was opened and has not been confirmed yet
        self._by_ping = False  # Attach was sent, and the old link stays open until the new one is safe
        # R8: origin -> the highest number that this host delivered or will never receive
        self._received: dict[int, int] = {}
        self._buffer: list[App] | None = None  # B: messages delivered or broadcast since Return
        # (position among all messages sent over the safe link, number among this host's messages)
        self._sent: deque[tuple[int, int]] = deque()
        self._buffer_end: int | None = None  # the position of the last message from the buffer
        self._want_leave = False
        self._wait_timer = port.timer(self._on_wait)
        self._retry_timer = port.timer(self._on_retry)
        self._silence_timer = port.timer(self._on_silence)
        port.channels.listen(self)

    def buffer_sizes(self) -> tuple[int, ...]:
        links = (self._primary, self._next)
        return len(self.stable.unsent), sum(link.incoming for link in links if link is not None)

    def settled(self) -> bool:
        """Return whether the host is out, or has a link to the station of its cell and nothing is in progress."""
        link = self._primary
        if self.is_out():
            return True
        return link is not None and link.peer == self._cell and not (self._next or link.backlog or self._want_leave)

    def is_out(self) -> bool:
        return self.stable.status is Status.OUT

    # --- the application

    def join(self) -> None:
        if self.stable.status is Status.OUT:
            self.stable.status = Status.JOIN
            self._attach("join")

    def leave(self) -> bool:
        """Leave as soon as the stations have all of this host's messages."""
        if self.stable.status is Status.JOIN:
            return False
        if self.stable.status is Status.MEMBER:
            self._want_leave = True
            self._try_leave()
        return True

    def co_broadcast(self, body: int) -> MessageId | None:
        """Send a message over all outgoing safe links, and deliver it at once (PC broadcast)."""
        stable, me = self.stable, self._port.me
        if stable.status is not Status.MEMBER or self._want_leave:
            return None
        m = App(me, stable.seq, body)
        stable.seq, stable.unsent[m.seq] = m.seq + 1, body  # R3
        if self._primary is not None:
            self._send_own(self._primary, m)  # PC broadcast
        if self._buffer is not None:
            self._buffer.append(m)  # PC buffer, R1
        self._port.deliver(MessageId(me, m.seq), body)  # PC deliver
        return MessageId(me, m.seq)

    def _send_own(self, link: Channel, m: App) -> None:
        link.say(m)
        self._sent.append((link.taken + link.backlog, m.seq))

    # --- where the host is

    def on_cell(self, station: int | None) -> None:
        """Look for a link in the new cell. Outside of coverage, do nothing: connections resume later, or have ended."""
        returns = self._cell is None
        self._cell = station
        if station is not None and returns:
            self._on_silence()
        if station is not None and not self._recovering:
            self._look("cell")

    def on_recover(self) -> None:
        """Start again after a crash, in which all links were lost."""
        self._recovering = False
        self._look("recovery")

    def _look(self, cause: str) -> None:
        """Attach to this cell's station, unless it is already at the other end of a link."""
        station, status = self._cell, self.stable.status
        if status is Status.OUT:
            return
        if self._primary is not None and self._primary.peer == station:
            if self._next is not None or self._unconfirmed:
                self._stay()
        elif self._next is None or self._next.peer != station:
            if status is Status.LEAVING:
                self._connect()
            else:
                self._attach("join" if status is Status.JOIN else cause)

    # --- links

    def _attach(self, cause: str) -> None:
        """Request a link from this cell's station."""
        self.stable.ses += 1  # R7
        self._port.session_opened(self.stable.ses, self._cell, cause)
        self._unconfirmed = True
        self._connect()

    def _connect(self) -> None:
        self._forget_next()
        if self._cell is not None:
            self._next = self._port.channels.connect(self._cell)

    def _forget_next(self) -> None:
        if self._next is not None:
            self._next.reset()
        self._next, self._next_is_open, self._by_ping, self._buffer = None, False, False, None
        self._wait_timer.stop()
        self._retry_timer.stop()

    def _forget_primary(self) -> None:
        if self._primary is not None:
            self._primary.reset()
        self._primary, self._buffer_end = None, None
        self._sent.clear()

    def _stay(self) -> None:
        """Keep the old link under a new session, because the host came back before it had left."""
        assert self._primary is not None
        self._forget_next()
        ses, station = self.stable.ses + 1, self._primary.peer
        self.stable.ses = ses
        self._port.session_opened(ses, station, "cell")
        self._primary.say(Stay(ses))  # R5
        self._confirm(station, {})

    def _try_leave(self) -> None:
        if self._want_leave and self._primary is not None and self._next is None and not self.stable.unsent:
            self.stable.status = Status.LEAVING
            self.stable.ses += 1
            self._want_leave = False
            self._next, self._next_is_open, self._primary = self._primary, True, None
            self._port.left(self.stable.ses)
            self._next.say(Leave(self.stable.ses))

    # --- from the station

    def on_message(self, channel: Channel, m: Any) -> None:
        if channel is self._primary:
            self._restart_probe()
            if type(m) is App:
                self._on_app(m)
            elif type(m) is Ping:
                self._on_ping(channel, m)
        elif channel is self._next and self.stable.status is not Status.LEAVING:
            if type(m) is Safe:
                self._on_safe(channel)
            elif type(m) is Welcome:
                self._on_welcome(channel, m)

    def _on_app(self, m: App) -> None:
        """upon receive m: the first copy is delivered                   PC receive"""
        if m.origin != self._port.me and m.seq > self._received.get(m.origin, -1):  # PC receive, R8
            self._received[m.origin] = m.seq
            if self._buffer is not None:
                self._buffer.append(m)  # PC buffer, R1
            self._port.deliver(MessageId(m.origin, m.seq), m.body)  # PC deliver

    def _on_ping(self, channel: Channel, m: Ping) -> None:
        """upon receive ping: all that the new station had forwarded before has arrived     PC pong"""
        if self._by_ping and m.ses == self.stable.ses and self._buffer is None:
            self._buffer = []  # PC buffer, R1
            channel.say(Return(m.id))  # PC pong

    def _on_safe(self, channel: Channel) -> None:
        """Send the buffered messages over the new link, which is safe, and leave the old link (PC safe)."""
        stable, buffer = self.stable, self._buffer or []
        again = {m.seq for m in buffer if m.origin == self._port.me}
        for seq in [seq for seq in stable.unsent if seq not in again]:
            del stable.unsent[seq]  # R3 (the new station has them: they came before Return)
        stable.via = (*stable.via[-1:], channel.peer) if buffer else (channel.peer,)  # R2
        self._forget_primary()
        self._adopt(channel)
        channel.say(Moved(stable.ses))  # R4
        for m in buffer:  # PC buffer, R1
            if m.origin == self._port.me:
                self._send_own(channel, m)
            else:
                channel.say(m)
        self._buffer_end = channel.taken + channel.backlog
        self._confirm(channel.peer, {"relayed": len(buffer)})
        self._try_leave()

    def _on_welcome(self, channel: Channel, m: Welcome) -> None:
        """Start over: the missed messages are lost. Resend this host's messages that may be lost."""
        stable = self.stable
        joins = stable.status is Status.JOIN
        stable.status, stable.via = Status.MEMBER, (channel.peer,)
        self._received = dict(m.past)  # R8, R11 (messages from before this link will never come)
        self._adopt(channel)
        self._confirm(channel.peer, {})
        if joins:
            self._port.joined(stable.ses, channel.peer)
        else:
            self._port.gap(stable.ses, channel.peer)
        for seq, body in stable.unsent.items():  # R3
            self._send_own(channel, App(self._port.me, seq, body))
        self._try_leave()

    def _confirm(self, station: int, detail: dict[str, int]) -> None:
        self._unconfirmed = False
        self._port.session_confirmed(self.stable.ses, station, detail)

    def _adopt(self, channel: Channel) -> None:
        self._primary, self._next, self._next_is_open = channel, None, False
        self._restart_probe()
        self._by_ping, self._buffer = False, None
        self._wait_timer.stop()

    # --- from the channels and timers

    def accepts(self, peer: int) -> bool:
        return False

    def on_open(self, channel: Channel) -> None:
        """Handle the first message of a link."""
        if channel is not self._next:
            return
        self._next_is_open = True
        self._restart_probe()
        if self.stable.status is Status.LEAVING:
            channel.say(Leave(self.stable.ses))
            return
        self._by_ping = self._primary is not None
        channel.say(Attach(self.stable.ses, self.stable.via, self._by_ping))  # R2
        if self._by_ping:
            self._wait_timer.start(round(self._p.handoff_wait_s * SECOND))

    def on_taken(self, channel: Channel) -> None:
        """Forget messages that a station has acknowledged, because it forwards them whatever happens to this host."""
        if channel is not self._primary:
            return
        sent, taken = self._sent, channel.taken
        while sent and sent[0][0] <= taken:
            self.stable.unsent.pop(sent.popleft()[1], None)  # R3
        if self._buffer_end is not None and self._buffer_end <= taken:
            self.stable.via, self._buffer_end = (channel.peer,), None  # R2
        self._try_leave()

    def on_closed(self, channel: Channel, reason: str) -> None:
        if channel is self._primary:
            self._forget_primary()
            if self._by_ping:
                self._reenter()
            elif self._next is None:
                self._attach("reinit")
        elif channel is self._next:
            self._next = None
            self._forget_next()
            if self.stable.status is Status.LEAVING and reason == "reset":
                self.stable.status = Status.OUT
            else:
                self._retry_timer.start(round(self._p.reconnect_s * self._port.uniform(0.5, 1.5) * SECOND))

    @timer_name("handoff wait")
    def _on_wait(self) -> None:
        """Give up the old link, which is useless if the new one does not become safe in time."""
        self._forget_primary()
        self._reenter()

    def _reenter(self) -> None:
        assert self._next is not None
        self._by_ping = False
        self._wait_timer.stop()
        self._next.say(Reenter(self.stable.ses))

    def _restart_probe(self) -> None:
        """Restart the timer of the probe. The random interval keeps hosts that cannot hear each other from staying
        synchronized.
        """
        self._silence_timer.start(round(self._p.silence_s * self._port.uniform(0.7, 1.3) * SECOND))

    @timer_name("keep-alive")
    def _on_silence(self) -> None:
        """Probe the links. A link with unacknowledged data needs no probe, because TCP already repeats the data."""
        links = [link for link in (self._primary, self._next if self._next_is_open else None) if link is not None]
        for link in links:
            if not link.backlog and self._cell is not None:
                link.say(Here())  # R6
        if links:
            self._restart_probe()

    @timer_name("reconnect")
    def _on_retry(self) -> None:
        if self._next is None and self._cell is not None:
            self._look("cell" if self._primary is not None else "reinit")
