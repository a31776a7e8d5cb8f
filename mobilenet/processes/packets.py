"""The packet network of the causal paper: an output queue per node, and links with random delays.

Model     a packet pays t_pc of processing (latency only), waits for the sender's one output queue, whose head holds it for t_t,
          and then takes the delay of its link: drawn for each packet from a normal distribution, cut off at 0; or fixed
          for each link, drawn once. Links do not keep order where delays are drawn for each packet. Nothing is lost
Units     integer nanoseconds
Source    Rodrigues, Duarte, Arantes, "Causal Aggregation Broadcast" on VCube, section 5; ours: DESIGN.md §16
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mobilenet.kernel import Kernel, Timer
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
