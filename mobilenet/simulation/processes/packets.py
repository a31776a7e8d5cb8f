"""The packet network of the causal paper: an output queue per node, and links with random delays.

Model     A packet takes t_pc of processing (latency only), and waits in its sender's single output queue. It then takes
          t_t and the delay of its link. This delay is drawn for each packet from a normal distribution, cut off at 0,
          or once for each link. Links do not keep order if delays are drawn for each packet. Packets are never lost.
Counts    Packets and bytes are counted, and the time of each reception is recorded. Protocols have no counters. A
          packet has the attributes `messages` and `size_bytes`
Slots     Time is divided into slots of 2^30 ns. Packets that arrive after the current slot stay unsorted until their
          slot begins: hundreds of thousands are in flight at once, and every comparison in such a large heap would
          access main memory. Results do not depend on slots: packets that arrive at the same instant are received in
          the order of sending, after the events that were due at that instant when its slot began
Units     integer nanoseconds
Source    Rodrigues, Duarte, Arantes, "Causal Aggregation Broadcast" on VCube, section 5; ours: docs/protocols/vcube.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from mobilenet.engine.clock import ns
from mobilenet.engine.event_queue import NORMAL
from mobilenet.engine.kernel import Kernel
from mobilenet.engine.random_streams import generator
from mobilenet.engine.timer import Timer
from mobilenet.protocols.vcube.port import MessageId
from mobilenet.scenario.processes import ProcessScenario

BLOCK = 1024
SLOT_BITS = 30  # a slot is 2^30 ns, which is about a time unit
Receive = Callable[[int, Any], None]


class PacketNetwork:
    def __init__(
        self, kernel: Kernel, n: int, seed: int, processing_ns: int, queue_ns: int, delay_mean_ns: int,
        delay_sd_ns: int,
        fixed: bool = False,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.n = n
        self.broadcast_at: dict[MessageId, int] = {}  # filled by the caller that makes processes broadcast
        self._processing_ns = processing_ns
        self._queue_ns = queue_ns
        self._delay_mean_ns = delay_mean_ns
        self._delay_sd_ns = delay_sd_ns
        self._seed = seed
        self._stream = generator(seed, "link delay")
        self._delays: list[int] = []  # delays drawn in advance, including processing
        self._fixed: dict[tuple[int, int], int] | None = {} if fixed else None
        self._free_at = [0] * n
        self._receive: list[Any] = [None] * n
        self._slots: dict[int, list[Any]] = {}  # number -> (arrival, receiver, sender, packet) in the order of sending
        self._by_bytes: dict[int, int] = {}  # size -> number of packets sent
        # number of messages in a packet -> number of packets sent, except for packets with one message
        self._by_messages: dict[int, int] = {}
        # message -> time of its broadcast. The key is hashed by identity, which is faster than hashing its name.
        self._begun: dict[Any, int] = {}
        self._arrived = 0
        self._receptions = 0
        self._waited_ns = 0
        self._last_ns = 0

    def attach(self, i: int, receive: Receive) -> None:
        self._receive[i] = receive

    def timer(self, action: Callable[[], None]) -> Timer:
        return Timer(self.kernel, action)

    @property
    def packets(self) -> int:
        return sum(self._by_bytes.values())

    @property
    def in_flight(self) -> int:
        return self.packets - self._arrived

    # --- sending

    def send(self, i: int, to: int, packet: Any) -> None:
        now = self.kernel.calendar.now
        free_at = self._free_at[i]
        left = (free_at if free_at > now else now) + self._queue_ns
        self._free_at[i] = left
        if self._fixed is not None:
            at = left + self._fixed_delay(i, to)
        else:
            at = left + (self._delays or self._draw()).pop()
        slot = at >> SLOT_BITS
        try:
            self._slots[slot].extend((at, to, i, packet))
        except KeyError:
            self._open(slot).extend((at, to, i, packet))
        size = packet.size_bytes
        try:
            self._by_bytes[size] += 1
        except KeyError:
            self._by_bytes[size] = 1
        count = len(packet.messages)
        if count != 1:
            self._by_messages[count] = self._by_messages.get(count, 0) + 1

    def _fixed_delay(self, i: int, to: int) -> int:
        assert self._fixed is not None
        # each link has a separate stream, so that results do not depend on the order of first use
        if (i, to) not in self._fixed:
            stream = generator(self._seed, "link delay", f"p{i}-p{to}")
            self._fixed[i, to] = self._processing_ns + max(
                0, round(stream.normal(self._delay_mean_ns, self._delay_sd_ns))
            )
        return self._fixed[i, to]

    def _draw(self) -> list[int]:
        drawn = np.rint(self._stream.normal(self._delay_mean_ns, self._delay_sd_ns, BLOCK)).astype(np.int64)
        self._delays = (drawn.clip(0) + self._processing_ns).tolist()
        self._delays.reverse()
        return self._delays

    # --- arrival

    def _open(self, slot: int) -> list[Any]:
        """Return a new list for the packets that arrive in a slot. If the slot has already begun, it receives another
        list.
        """
        arrivals = self._slots[slot] = []
        self.kernel.at(max((slot << SLOT_BITS) - 1, self.kernel.now), partial(self._begin, slot))
        return arrivals

    def _begin(self, slot: int) -> None:
        rest = iter(self._slots.pop(slot))
        coming = list(zip(rest, rest, rest, rest, strict=True))
        coming.reverse()
        # Sort in reverse order, so that the next packet is the last entry. The sort is stable: of packets that arrive
        # together, the first one sent comes next.
        coming.sort(key=itemgetter(0), reverse=True)
        self._arrive(coming, self.kernel.calendar.sequence_number())

    def _arrive(self, coming: list[tuple[int, int, int, Any]], place: int) -> None:
        """Receive packets one after the other. If another event is due first, the remaining packets wait for their
        turn.
        """
        calendar, receive, begun = self.kernel.calendar, self._receive, self._begun
        before, receptions, waited_ns = len(coming), 0, 0
        while coming:
            at = coming[-1][0]
            if not calendar.advance_to(at, place):
                calendar.put(at, NORMAL, place, partial(self._arrive, coming, place))
                break
            _, to, sender, packet = coming.pop()
            self._last_ns = at
            for m in packet.messages:
                if m.source != to:
                    receptions += 1
                    try:
                        waited_ns += at - begun[m]
                    except KeyError:
                        begun[m] = self.broadcast_at[m.id]
                        waited_ns += at - begun[m]
            receive[to](sender, packet)
        self._arrived += before - len(coming)
        self._receptions += receptions
        self._waited_ns += waited_ns

    # --- counts

    def counters(self) -> dict[str, Any]:
        packets = self.packets
        by_messages = Counter({1: packets})
        for count, number in self._by_messages.items():
            by_messages[1] -= number
            by_messages[count] += number
        by_bytes: Counter[int] = Counter()
        for size, number in self._by_bytes.items():
            by_bytes[size // 100 * 100] += number
        return {
            "sent": packets,
            "received": self._arrived,
            "receiver_down": 0,
            "in_flight": self.in_flight,
            "never_left": 0,
            "bytes": sum(size * number for size, number in self._by_bytes.items()),
            "last_reception_ns": self._last_ns,
            "receptions": self._receptions,
            "receptions_waited_ns": self._waited_ns,
            "packets_by_messages": {str(count): number for count, number in sorted(by_messages.items()) if number},
            "packets_by_bytes_from": {str(size): number for size, number in sorted(by_bytes.items())},
        }


class Packets(PacketNetwork):
    """The packet network with the parameters of a scenario."""

    def __init__(self, kernel: Kernel, scenario: ProcessScenario) -> None:
        network: Any = scenario.network
        super().__init__(
            kernel, scenario.processes, scenario.seed, ns(network.processing), ns(network.queue),
            ns(network.delay_mean),
            ns(network.delay_sd), network.fixed_delays,
        )  # fmt: skip
