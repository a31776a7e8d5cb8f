"""What one host and its stations said to each other in the last seconds: the arrows of its space-time diagram.

Model     while a host is followed, every frame that it sends or that arrives at it is kept, and every message between
          two stations that is about it; for KEPT_S, and of each the outcome at the other end. A run is the same
          whether somebody is followed or not
Units     integer nanoseconds
Source    ours: docs/guide/live.md
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from mobilenet.network.radio.frame import DATA, SINR_OUTCOMES, Frame
from mobilenet.simulation.message_fields import contents
from mobilenet.simulation.mobile import Simulation

KEPT_NS = 10_000_000_000
MOST = 5_000


class Arrow(NamedTuple):
    """From one line of the diagram to another. `arrives_ns`: -1 on a wire, where it is not known yet."""

    sent_ns: int
    arrives_ns: int
    sender: str
    receiver: str
    kind: str
    message: str | None  # the application message that it carries
    outcome: str


class Followed:
    """The arrows of one host. `serial` of the last one counts from 1."""

    def __init__(self, simulation: Simulation, host: str) -> None:
        self.host = host
        self.serial = 0
        self._arrows: deque[Arrow] = deque(maxlen=MOST)
        self.of = simulation
        self._kernel = simulation.kernel
        simulation.listen(self._frame, self._hop)

    def since(self, serial: int) -> list[Arrow]:
        """Those after that one, as far as they are kept."""
        new = min(self.serial - serial, len(self._arrows))
        return [self._arrows[i] for i in range(len(self._arrows) - new, len(self._arrows))]

    def _add(self, arrow: Arrow) -> None:
        self.serial += 1
        self._arrows.append(arrow)
        oldest_ns = self._kernel.now - KEPT_NS
        while self._arrows[0].sent_ns < oldest_ns:
            self._arrows.popleft()

    def _frame(self, frame: Frame) -> None:
        host, sender = self.host, frame.sender
        is_own = sender.name == host
        if not is_own and all(node.name != host for node in frame.receivers):
            return
        is_data = frame.kind == DATA
        kind = type(frame.message).__name__ if is_data else "mac_ack"
        about = contents(frame.message) if is_data else None
        end_ns = frame.start_ns + frame.duration_ns
        for node, outcome, delay_ns in zip(frame.receivers, frame.outcomes, frame.delays_ns, strict=True):
            to_it = frame.to is node or frame.to is None and (not sender.is_station or node.serving is sender)
            if to_it and (is_own or node.name == host):
                message = None if about is None else about.message
                told = SINR_OUTCOMES[outcome]
                self._add(Arrow(frame.start_ns, end_ns + delay_ns, sender.name, node.name, kind, message, told))

    def _hop(self, a: int, b: int, message: Any) -> None:
        about = contents(message)
        if about.host == self.host:
            name = type(message).__name__
            self._add(Arrow(self._kernel.now, -1, f"s{a}", f"s{b}", name, about.message, "received"))
