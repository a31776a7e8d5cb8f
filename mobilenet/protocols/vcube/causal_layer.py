"""Causal delivery across broadcasts and directed sends: what makes a broadcast over VCube a backbone between stations.

Promises    exactly once; and for a broadcast b and any message x, broadcast or directed: if b was sent or delivered at
            x's sender before x, b is delivered at x's destination before x, from any sender of b. FIFO per source is
            not enough: with three stations a message of the third reaches the new station of a host but not yet the
            previous one, and the handoff loses it
Source      Birman, Schiper, Stephenson: Lightweight causal and atomic group multicast (1991), CBCAST; compression as in
            Singhal, Kshemkalyani: An efficient implementation of vector clocks (1992), for broadcasts; the stamped
            sends are ours: docs/protocols/vcube.md
Names       clock[l]: how many broadcasts of station l this one has handed up, or made if l is itself
Assumes     a reliable broadcast beneath that delivers each message once and counts a source's messages from 0 in the
            order of the calls; a reliable network, in any order; stations never fail (what becomes of broadcasts where
            processes do: causal_reliable.py)
Broadcasts  tick and are stamped when they are called for, however long the broadcast beneath makes them wait (line 7 of
            the reliable one): whatever is sent later names them. A stamp holds the entries that changed since the
            source's last broadcast, its own included; it is read when all earlier stamps of the source are known
Directed    sends carry the whole clock, do not tick, and wait at the destination until its clock is not behind
Upcalls     after the handlers beneath have run to completion, one at a time
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
    """A broadcast message with its stamp for causal order."""

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
    """A message that may have to wait before it is handed up."""

    source: int
    body: Any
    after: tuple[int, ...]  # the clock that this station must have reached
    is_broadcast: bool


class LayerPort(Protocol):
    """The links of one station, and the station itself."""

    me: int

    @property
    def now(self) -> int: ...
    def timer(self, action: Callable[[], None]) -> Timer: ...
    def send(self, to: int, message: Any) -> None:
        """Send to one other station, reliably; never deliver within the call."""

    def receive(self, source: int, message: Any) -> None:
        """Hand the message up to the station."""


class Beneath:
    """The port of the broadcast beneath."""

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
        """Do nothing: completion is not used."""


class StampedSends:
    """Directed sends that respect a broadcast that is causal by itself. To the station it is a WiredPort."""

    def __init__(self, port: LayerPort, n: int, make: Callable[[ProcessPort], BroadcastProtocol]) -> None:
        self.me = port.me
        self._port = port
        self.clock = [0] * n
        self._ready: deque[Arrival] = deque()
        self._waiting: dict[tuple[int, int], list[Arrival]] = {}  # (station, entry) -> what waits for it
        self._hands_up = False
        self.beneath = make(Beneath(port, self.deliver))

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits here, and everything that was sent is acknowledged."""
        return not (self._ready or self._waiting or any(self.beneath.buffer_sizes()))

    @property
    def held(self) -> int:
        """The number of messages that wait here for an earlier one."""
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
        """Pass on a suspicion, which is wrong because no station fails."""
        self.beneath.on_crash(process)

    def on_up(self, process: int) -> None:
        self.beneath.on_up(process)

    def deliver(self, message: MessageId, body: Any) -> None:
        """Accept a message from the broadcast beneath; own messages are known."""
        if message.source != self.me:
            self._ready.append(Arrival(message.source, body, (), True))

    # --- waiting

    def _admit(self, arrival: Arrival) -> None:
        """Admit a message, or let it wait for one missing entry at a time."""
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
    """A causal layer above a broadcast that delivers in any order."""

    def __init__(self, port: LayerPort, n: int, make: Callable[[ProcessPort], BroadcastProtocol]) -> None:
        self._last_clock = [0] * n  # the clock at the own last broadcast
        self._read = [[0] * n for _ in range(n)]  # of each source the last stamp that was read
        self._unread: list[dict[int, Stamped]] = [{} for _ in range(n)]  # source: ts -> one with a hole before it
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
        while (next_one := unread.pop(stamp[source], None)) is not None:  # its own entry counts those read
            for station, entry in next_one.changed:
                stamp[station] = entry
            after = (*stamp[:source], stamp[source] - 1, *stamp[source + 1 :])
            self._admit(Arrival(source, next_one.body, after, True))
