"""Check that each message on a wire arrives once, in order, and not too soon.

Model     Each message is recorded when it is put on a link, and again when it arrives or is lost.
Units     integer nanoseconds, bytes
Source    ours: docs/models/wires.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from mobilenet.engine.clock import SECOND, ns
from mobilenet.network.wired.network import RECEIVED, Edge, WiredNetwork
from mobilenet.network.wired.parameters import LinkParameters
from mobilenet.simulation.invariants.fault import Faults
from mobilenet.simulation.observer import Observer


class Links(Observer):
    """Checks the messages on the links of a run."""

    def __init__(self, wires: WiredNetwork, parameters: LinkParameters, faults: Faults) -> None:
        self._wires, self._faults = wires, faults
        self._bits_per_s = round(parameters.bandwidth_mbps * 1_000_000)
        self._delay_ns = ns(parameters.delay_ms / 1000)
        self._sent, self._over = Counter[Edge](), Counter[Edge]()
        self._arrived: dict[Edge, int] = {}  # number of the last message that arrived
        self._bytes = 0
        # Protocols sent these messages while they were being created.
        self._before = {edge: link.sent for edge, link in wires.links.items()}
        self._bytes_before = sum(link.bytes for link in wires.links.values())
        wires.watch(self._on_hop)

    def _on_hop(self, a: int, b: int, message: object, size_bytes: int) -> Callable[[str], None]:
        edge, number = (a, b), self._sent[a, b]
        self._sent[edge] += 1
        self._bytes += size_bytes
        kernel = self._wires.kernel
        least_ns = kernel.now - (-8 * size_bytes * SECOND // self._bits_per_s) + self._delay_ns
        pending = [True]

        def note(fate: str) -> None:
            if not pending:
                self._faults.note(kernel.now, f"link {a}-{b}", "a message has two fates")
            pending.clear()
            self._over[edge] += 1
            if fate != RECEIVED:
                return
            if kernel.now < least_ns:
                self._faults.note(kernel.now, f"link {a}-{b}", f"a message is {least_ns - kernel.now} ns too early")
            if self._arrived.get(edge, -1) > number:
                self._faults.note(kernel.now, f"link {a}-{b}", "a message was overtaken")
            self._arrived[edge] = number

        return note

    def on_slice(self, now_ns: int) -> None:
        links = self._wires.links
        for edge, link in links.items():
            before = self._before.get(edge, 0)
            over_before = link.delivered + link.lost - self._over[edge]
            if link.sent != self._sent[edge] + before or not 0 <= over_before <= before:
                self._faults.note(now_ns, f"link {edge[0]}-{edge[1]}", "its counts are not those of its messages")
        if sum(link.bytes for link in links.values()) != self._bytes + self._bytes_before:
            self._faults.note(now_ns, "wires", f"{self._bytes} bytes were put on links, and others are counted")
        self._faults.require_none()

    def on_end(self, now_ns: int) -> None:
        self.on_slice(now_ns)
