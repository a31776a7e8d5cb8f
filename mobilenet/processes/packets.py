"""The packet network of the causal paper: an output queue per node, and links with random delays.

Model     a packet pays t_pc of processing (latency only), waits for the sender's one output queue, whose head holds it for t_t,
          and then takes the delay of its link: drawn for each packet from a normal distribution, cut off at 0; or fixed
          for each link, drawn once. Links do not keep order where delays are drawn for each packet. Nothing is lost
Units     integer nanoseconds
Source    Rodrigues, Duarte, Arantes, "Causal Aggregation Broadcast" on VCube, section 5; ours: DESIGN.md §16
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from mobilenet.kernel import Kernel, Timer, ns
from mobilenet.protocols.vcube.port import MessageId
from mobilenet.scenario.processes import ProcessScenario
from mobilenet.streams import generator

BLOCK = 1024
Receive = Callable[[int, Any], None]


class PacketNetwork:
    def __init__(
        self, kernel: Kernel, n: int, seed: int, processing_ns: int, queue_ns: int, delay_mean_ns: int, delay_sd_ns: int,
        fixed: bool = False,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.n = n
        self.packets = 0
        self.bytes = 0
        self._processing_ns = processing_ns
        self._queue_ns = queue_ns
        self._delay_mean_ns = delay_mean_ns
        self._delay_sd_ns = delay_sd_ns
        self._seed = seed
        self._dice = generator(seed, "link delay")
        self._delays: list[int] = []
        self._fixed: dict[tuple[int, int], int] | None = {} if fixed else None
        self._free_at = [0] * n
        self._receive: list[Receive | None] = [None] * n

    def attach(self, i: int, receive: Receive) -> None:
        self._receive[i] = receive

    def timer(self, action: Callable[[], None]) -> Timer:
        return Timer(self.kernel, action)

    def send(self, i: int, to: int, packet: Any) -> None:
        now = self.kernel._now
        free_at = self._free_at[i]
        left = (free_at if free_at > now else now) + self._queue_ns
        self._free_at[i] = left
        self.packets += 1
        self.bytes += packet.size_bytes
        self.kernel.at(left + self._processing_ns + self._delay(i, to), _Arrival(self._receive[to], i, packet))

    def _delay(self, i: int, to: int) -> int:
        fixed = self._fixed
        if fixed is None:
            return self._draw()
        if (i, to) not in fixed:  # a stream of its own: who uses the link first must not matter
            dice = generator(self._seed, "link delay", f"p{i}-p{to}")
            fixed[i, to] = max(0, round(dice.normal(self._delay_mean_ns, self._delay_sd_ns)))
        return fixed[i, to]

    def _draw(self) -> int:
        if not self._delays:
            drawn = self._dice.normal(self._delay_mean_ns, self._delay_sd_ns, BLOCK)
            self._delays = [max(0, round(value)) for value in drawn.tolist()]
            self._delays.reverse()
        return self._delays.pop()


class _Arrival:
    __slots__ = ("_packet", "_receive", "_sender")

    def __init__(self, receive: Any, sender: int, packet: Any) -> None:
        self._receive = receive
        self._sender = sender
        self._packet = packet

    def __call__(self) -> None:
        self._receive(self._sender, self._packet)


class Packets:
    """The packet network, and what it sees of the packets: who received which message when."""

    def __init__(self, kernel: Kernel, scenario: ProcessScenario) -> None:
        network: Any = scenario.network
        self._network = PacketNetwork(
            kernel, scenario.processes, scenario.seed, ns(network.processing), ns(network.queue), ns(network.delay_mean),
            ns(network.delay_sd), network.fixed_delays,
        )  # fmt: skip
        self._kernel = kernel
        self.timer = self._network.timer
        self.broadcast_at: dict[MessageId, int] = {}
        self._arrived = 0
        self._receptions = 0
        self._waited_ns = 0
        self._last_ns = 0
        self._by_messages: Counter[int] = Counter()
        self._by_bytes: Counter[int] = Counter()

    @property
    def in_flight(self) -> int:
        return self._network.packets - self._arrived

    def send(self, i: int, to: int, packet: Any) -> None:
        self._by_messages[len(getattr(packet, "messages", (packet,)))] += 1
        self._by_bytes[packet.size_bytes // 100 * 100] += 1
        self._network.send(i, to, packet)

    def attach(self, i: int, receive: Callable[[int, Any], None]) -> None:
        def arrive(sender: int, packet: Any) -> None:
            now = self._last_ns = self._kernel._now
            self._arrived += 1
            for m in getattr(packet, "messages", ()):
                if m.source != i:
                    self._receptions += 1
                    self._waited_ns += now - self.broadcast_at[m.id]
            receive(sender, packet)

        self._network.attach(i, arrive)

    def counters(self) -> dict[str, Any]:
        return {
            "sent": self._network.packets,
            "received": self._arrived,
            "receiver_down": 0,
            "in_flight": self.in_flight,
            "never_left": 0,
            "bytes": self._network.bytes,
            "last_reception_ns": self._last_ns,
            "receptions": self._receptions,
            "receptions_waited_ns": self._waited_ns,
            "packets_by_messages": {str(count): number for count, number in sorted(self._by_messages.items())},
            "packets_by_bytes_from": {str(size): number for size, number in sorted(self._by_bytes.items())},
        }
