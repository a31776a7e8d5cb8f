"""A layer that turns a broadcast over VCube into a backbone: it orders broadcasts and directed sends causally.

Promises    exactly-once delivery. For a broadcast b and any message x, broadcast or directed: if b was sent or
            delivered at the sender of x before x, then b is delivered at the destination of x before x, whoever sent b.
            FIFO order for each source is not enough: a message of a third station could reach a host's new station
            before the old one, and the handoff would lose it
Source      Birman, Schiper, Stephenson: Lightweight causal and atomic group multicast (1991), CBCAST; compression as in
            Singhal, Kshemkalyani: An efficient implementation of vector clocks (1992), for broadcasts; the stamped
            sends are ours: docs/protocols/vcube.md
Names       clock[l]: how many broadcasts of station l this station has handed up, or has made if it is station l
Assumes     the broadcast below delivers each message once and numbers a source's messages from 0 in the order of the
            calls. The network is reliable, in any order, and stations never fail (for processes that fail, see
            causal_reliable.py)
Broadcasts  increment the clock and are stamped at the call, even if the broadcast below delays them (line 7 of the
            reliable one). All later messages therefore depend on them. A stamp holds the clock entries that changed
            since the source's last broadcast, and the source's own entry. It is read when all earlier stamps of the
            source are known
Directed    sends carry the whole clock and do not increment it. They wait at the destination until its clock has caught
            up
Upcalls     are made one at a time, after the handlers of the broadcast below have run to completion
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from ..port import Timer
from .port import BroadcastProtocol, Carrier, MessageId, ProcessPort, size_of

ENTRY_BYTES = 4


class _Stamped(NamedTuple):
    changed: tuple[tuple[int, int], ...]  # (station, entry of the clock)
    body: Any


class Stamped(_Stamped, Carrier):
    """A broadcast message with a stamp that determines its causal order."""

    __slots__ = ()

    @property
    def size_bytes(self) -> int:
        return ENTRY_BYTES * len(self.changed) + size_of(self.body)


class _Directed(NamedTuple):
    clock: tuple[int, ...]
    body: Any


class Directed(_Directed, Carrier):
    """A message for one station."""

    __slots__ = ()

    @property
    def size_bytes(self) -> int:
        return ENTRY_BYTES * len(self.clock) + size_of(self.body)


class Arrival(NamedTuple):
    """A received message that may have to wait before it is handed up."""

    source: int
    body: Any
    after: tuple[int, ...]  # the clock that this station must reach first
    is_broadcast: bool


class LayerPort(Protocol):
    """The links of one station, and its upcalls."""

    me: int

    @property
    def now(self) -> int: ...
    def timer(self, action: Callable[[], None]) -> Timer: ...
    def send(self, to: int, message: Any) -> None:
        """Send a message reliably to one other station. It is never delivered within the call."""

    def receive(self, source: int, message: Any) -> None:
        """Hand the message up to the station."""


class Beneath:
    """The port of the broadcast below the layer."""

    def __init__(self, port: LayerPort, deliver: Callable[[MessageId, Any], None]) -> None:
        self.me = port.me
        self.timer = port.timer
        self.send = port.send
        self.deliver = deliver
        self._port = port

    @property
    def now(self) -> int:
        return self._port.now

    def complete(self, message: MessageId) -> None:
        """Do nothing, because the layer does not use completion."""


class StampedSends:
    """Adds causally ordered directed sends to a broadcast that is causal already. The station sees a WiredPort."""

    def __init__(self, port: LayerPort, n: int, make: Callable[[ProcessPort], BroadcastProtocol]) -> None:
        self.me = port.me
        self._port = port
        self.clock = [0] * n
        self._ready: deque[Arrival] = deque()
        # (station, entry) -> messages that wait for this entry of the clock
        self._waiting: dict[tuple[int, int], list[Arrival]] = {}
        self._hands_up = False
        self.beneath = make(Beneath(port, self.deliver))

    @property
    def is_idle(self) -> bool:
        """Whether no message is waiting here and everything that was sent is acknowledged."""
        return not (self._ready or self._waiting or any(self.beneath.buffer_sizes()))

    @property
    def held(self) -> int:
        """The number of messages that wait here for earlier messages."""
        return sum(map(len, self._waiting.values()))

    # --- for the station

    def broadcast(self, message: Any) -> None:
        self.clock[self.me] += 1
        self.beneath.broadcast(message)

    def send(self, to: int, message: Any) -> None:
        self._port.send(to, Directed(tuple(self.clock), message))

    # --- for the network and the detector

    def on_receive(self, sender: int, message: Any) -> None:
        if type(message) is Directed:
            self._admit(Arrival(sender, message.body, message.clock, False))
        else:
            self.beneath.on_receive(sender, message)
        self._hand_up()

    def on_crash(self, process: int) -> None:
        """Report a suspicion to the broadcast. Between stations it is always wrong, because stations never fail."""
        self.beneath.on_crash(process)

    def on_up(self, process: int) -> None:
        self.beneath.on_up(process)

    def deliver(self, message: MessageId, body: Any) -> None:
        """Accept a message from the broadcast below, and ignore this station's own messages."""
        if message.source != self.me:
            self._ready.append(Arrival(message.source, body, (), True))

    # --- waiting

    def _admit(self, arrival: Arrival) -> None:
        """Hand up a message, or let it wait for one missing entry at a time."""
        for station, (entry, due) in enumerate(zip(self.clock, arrival.after, strict=True)):
            if entry < due:
                self._waiting.setdefault((station, due), []).append(arrival)
                return
        self._ready.append(arrival)

    def _hand_up(self) -> None:
        if self._hands_up:
            return
        self._hands_up = True
        while self._ready:
            arrival = self._ready.popleft()
            source = arrival.source
            if arrival.is_broadcast:
                self.clock[source] += 1
            self._port.receive(source, arrival.body)
            if arrival.is_broadcast:
                for waiter in self._waiting.pop((source, self.clock[source]), ()):
                    self._admit(waiter)
        self._hands_up = False


class CausalLayer(StampedSends):
    """A layer that makes broadcasts causal, above a broadcast that delivers in any order."""

    def __init__(self, port: LayerPort, n: int, make: Callable[[ProcessPort], BroadcastProtocol]) -> None:
        self._last_clock = [0] * n  # the clock at this station's last broadcast
        self._read = [[0] * n for _ in range(n)]  # the last stamp that was read from each source
        # for each source: ts -> message whose predecessor has not arrived
        self._unread: list[dict[int, Stamped]] = [{} for _ in range(n)]
        super().__init__(port, n, make)

    @property
    def is_idle(self) -> bool:
        return super().is_idle and not any(self._unread)

    def broadcast(self, message: Any) -> None:
        self.clock[self.me] += 1
        both = enumerate(zip(self._last_clock, self.clock, strict=True))
        changed = tuple((station, new) for station, (old, new) in both if old != new)
        self._last_clock = self.clock.copy()
        self.beneath.broadcast(Stamped(changed, message))

    def deliver(self, message: MessageId, body: Any) -> None:
        source = message.source
        if source == self.me:
            return
        stamp, unread = self._read[source], self._unread[source]
        unread[message.ts] = body
        # the source's own entry counts the stamps that were read
        while (next_one := unread.pop(stamp[source], None)) is not None:
            for station, entry in next_one.changed:
                stamp[station] = entry
            after = (*stamp[:source], stamp[source] - 1, *stamp[source + 1 :])
            self._admit(Arrival(source, next_one.body, after, True))
