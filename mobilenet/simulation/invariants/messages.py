"""Check that each message between processes was sent, and arrives once, not too soon, and in order on ordered links.

Units     integer nanoseconds, bytes
Source    ours: docs/protocols/vcube.md
"""

from __future__ import annotations

from collections import deque
from typing import Any

from mobilenet.engine.clock import SECOND, ns
from mobilenet.scenario.process_parameters import AbstractNetwork, PacketNetwork
from mobilenet.scenario.processes import ProcessScenario
from mobilenet.simulation.invariants.fault import Faults


class Messages:
    """Checks the messages of a run's protocol. Messages of a failure detector are not checked."""

    def __init__(self, scenario: ProcessScenario, faults: Faults) -> None:
        self._faults = faults
        network = scenario.network
        self._loses, self._bits_per_s = scenario.loses, 0
        if isinstance(network, AbstractNetwork):
            self._keeps_order = not network.jitter
            self._least_ns = ns(network.send) + ns(network.link) + ns(network.reception) + ns(network.hand_over)
        elif isinstance(network, PacketNetwork):
            self._keeps_order = network.fixed_delays
            self._least_ns = ns(network.queue) + ns(network.processing)
        else:
            self._keeps_order = True
            self._least_ns, self._bits_per_s = ns(network.delay_ms / 1000), round(network.bandwidth_mbps * 1_000_000)
        self._waiting: dict[tuple[int, int], deque[tuple[int, Any]]] = {}
        self._sent = self._received = self._bytes = 0
        self.processes: list[Any] = []  # the processes of the experiment, once it has been built

    def on_send(self, now_ns: int, sender: int, receiver: int, message: Any) -> None:
        self._sent += 1
        self._bytes += message.size_bytes
        self._waiting.setdefault((sender, receiver), deque()).append((now_ns, message))

    def on_receive(self, now_ns: int, sender: int, receiver: int, message: Any) -> None:
        self._received += 1
        waiting = self._waiting.get((sender, receiver), deque())
        place = next((at for at, (_, other) in enumerate(waiting) if other is message), None)
        if place is None:
            self._faults.note(now_ns, f"p{receiver}", f"receives from p{sender} what is not on its way")
            return
        if place and self._keeps_order and not self._loses:
            self._faults.note(now_ns, f"p{receiver}", f"receives a message of p{sender} before an earlier one")
        sent_ns = waiting[place][0]
        del waiting[place]
        takes_ns = self._least_ns
        if self._bits_per_s:
            takes_ns += 8 * message.size_bytes * SECOND // self._bits_per_s
        if now_ns - sent_ns < takes_ns:
            self._faults.note(now_ns, f"p{receiver}", f"receives a message of p{sender} after {now_ns - sent_ns} ns")
        if not self.processes[receiver].up:
            self._faults.note(now_ns, f"p{receiver}", "receives a message, and is down")

    def end(self, now_ns: int, counts: dict[str, Any]) -> None:
        """Compare the messages with the counters of the run, and raise SimulatorFault if there was a fault."""
        fates = ("received", "receiver_down", "in_flight", "lost")
        expected = {
            "received": self._received,
            "sent": sum(counts.get(fate, 0) for fate in fates),
            "bytes": self._bytes,
        }
        for name, count in expected.items():
            if counts[name] != count:
                self._faults.note(now_ns, "network", f"{name} is counted as {counts[name]}, expected {count}")
        if counts["sent"] + counts["never_left"] != self._sent:
            self._faults.note(now_ns, "network", f"{self._sent} messages were sent, and others are counted")
        self._faults.require_none()
