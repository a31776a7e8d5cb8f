"""Processes that a test drives by hand: the driver decides about every message, timer and suspicion.

Model     Messages arrive in any order, when the driver delivers them. A message is lost only if its sender or its
          receiver has crashed. There is no failure detector: the driver decides which process suspects which. The
          clock, which all processes share, advances to the deadline of the timer that fires.
Units     integer nanoseconds
Errors    ValueError for a message that is not in transit or may not be lost, and for a timer that is not armed;
          exceptions of the protocol pass through
Source    ours; the interface is mobilenet/protocols/vcube/port.py. Example: a message that overtakes another one

    >>> from mobilenet.lab.hunt.controlled import Processes
    >>> from mobilenet.protocols.vcube.parameters import CausalParameters
    >>> processes = Processes(CausalParameters().create, 2)
    >>> for _ in range(2):
    ...     processes.broadcast(0)
    MessageId(source=0, ts=0)
    MessageId(source=0, ts=1)
    >>> first, second = processes.packets(receiver="p1")
    >>> processes.deliver(second)  # the second message overtakes the first
    >>> processes.deliveries(1)  # and has to wait
    []
    >>> processes.deliver(first)
    >>> [message.ts for message in processes.deliveries(1)]
    [0, 1]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mobilenet.protocols.vcube.port import BroadcastProtocol, MessageId, ProcessPort

from .network import ROUNDS, Event, Packet, matching_packets
from .node import midpoint
from .port import Clock, ControlledProcessPort, Effects, Timer


class Processes:
    """The n processes of a broadcast. `make(port, n)` creates one of them."""

    def __init__(self, make: Callable[[ProcessPort, int], BroadcastProtocol], n: int) -> None:
        self.clock = Clock()
        self.under_way: list[Packet] = []
        self.events: list[Event] = []
        self._sent = 0
        self._effects = [Effects() for _ in range(n)]
        self._ports = [ControlledProcessPort(i, self.clock, midpoint, self._effects[i]) for i in range(n)]
        # None stands for a process that has crashed.
        self.protocols: list[BroadcastProtocol | None] = [make(port, n) for port in self._ports]
        for i in range(n):
            self._take(i)

    # --- what the driver may do to a process

    def broadcast(self, i: int, body: Any = None) -> MessageId:
        """Let process i broadcast, and return the identifier of the message. Deliveries during the call are recorded
        after the broadcast.
        """
        message = self._alive(i).broadcast(body)
        self.events.append(Event(f"p{i}", "broadcast", (message,)))
        self._take(i)
        return message

    def crash(self, i: int) -> None:
        """Crash a process. Messages that it has sent remain in transit, and may arrive or be lost."""
        self._ports[i].die()
        self.protocols[i] = None

    def suspect(self, by: int, about: int) -> None:
        """Let process `by` suspect process `about`, even if `about` has not crashed."""
        self._alive(by).on_crash(about)
        self._take(by)

    def trust(self, by: int, about: int) -> None:
        """Let process `by` withdraw its suspicion of process `about`."""
        self._alive(by).on_up(about)
        self._take(by)

    # --- messages

    def packets(self, kind: str | None = None, sender: str | None = None, receiver: str | None = None) -> list[Packet]:
        """Return the messages in transit, oldest first. `kind` is the name of the message's class."""
        return matching_packets(self.under_way, kind, sender, receiver)

    def deliver(self, packet: Packet) -> None:
        """Let the message arrive at its receiver, unless the receiver has crashed."""
        self._remove(packet)
        i = int(packet.receiver[1:])
        protocol = self.protocols[i]
        if protocol is not None:
            protocol.on_receive(int(packet.sender[1:]), packet.message)
            self._take(i)

    def lose(self, packet: Packet) -> None:
        if all(self.protocols[int(name[1:])] is not None for name in (packet.sender, packet.receiver)):
            raise ValueError(
                f"neither {packet.sender} nor {packet.receiver} has crashed, so this packet cannot be lost: {packet}"
            )
        self._remove(packet)

    def _remove(self, packet: Packet) -> None:
        if packet not in self.under_way:
            raise ValueError(f"not in transit: {packet}")
        self.under_way.remove(packet)

    # --- time

    def timers(self) -> list[tuple[int, Timer]]:
        """Return all running timers, process by process."""
        return [(port.me, timer) for port in self._ports for timer in port.timers if timer.running]

    def fire(self, i: int, number: int) -> None:
        """Fire a timer of a process. `number` is its index among the timers that the protocol has requested."""
        timer = self._ports[i].timers[number]
        if not timer.running:
            raise ValueError(f"p{i}: timer {number} is not running")
        self.clock.now = max(self.clock.now, timer.deadline_ns)
        timer.fire()
        self._take(i)

    # --- shortcuts

    def settle(self) -> None:
        """Deliver all messages, oldest first, and fire timers in turn, until all buffers are empty and no message is in
        transit.
        """
        for _ in range(ROUNDS):
            while self.under_way:
                self.deliver(self.under_way[0])
            if not any(any(protocol.buffer_sizes()) for protocol in self.protocols if protocol is not None):
                return
            for i, timer in self.timers():
                if timer.running:
                    self.fire(i, timer.number)
        raise ValueError(f"not settled after {ROUNDS} rounds of timers")

    def deliveries(self, i: int) -> list[MessageId]:
        return [event.arguments[0] for event in self.events if event.node == f"p{i}" and event.name == "deliver"]

    # --- steps

    def _alive(self, i: int) -> BroadcastProtocol:
        protocol = self.protocols[i]
        if protocol is None:
            raise ValueError(f"p{i} has crashed")
        return protocol

    def _take(self, i: int) -> None:
        effects, self._effects[i] = self._effects[i], Effects()
        self._ports[i].effects = self._effects[i]
        for to, message in effects.radio:
            self.under_way.append(Packet(self._sent, f"p{i}", f"p{to}", message))
            self._sent += 1
        for upcall in effects.upcalls:
            self.events.append(Event(f"p{i}", *upcall))
