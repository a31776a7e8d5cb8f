"""Collect recent messages between hosts and their stations, which space-time diagrams show as arrows.

Model     While a host is followed, this module stores every frame that the host sends or that arrives at it, and
          every message between two stations about this host. Each is stored for KEPT_NS, with its outcome at the
          receiver. Following hosts does not change the run
Units     integer nanoseconds
Source    ours: docs/guide/live.md
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import takewhile
from typing import Any, NamedTuple

from mobilenet.network.radio.frame import DATA, SINR_OUTCOMES, Frame
from mobilenet.protocols.packet_relay import Packet
from mobilenet.record.packets.labels import label_of, only_acknowledges
from mobilenet.record.schema import MAC_ACK
from mobilenet.simulation.message_fields import contents
from mobilenet.simulation.mobile import Simulation

KEPT_NS = 10_000_000_000
MOST = 5_000
# The time at which an arrow was added, and its number among the arrows of that nanosecond. A mark is the same in every
# repetition of a run.
Mark = tuple[int, int]
MOST_HOSTS = 40  # maximum number of hosts that are followed at the same time
BEGIN: Mark = (-1, 0)


class Arrow(NamedTuple):
    """An arrow between two lines of the diagram. `arrives_ns` is -1 for a message on a wire that has not arrived
    yet.
    """

    sent_ns: int
    arrives_ns: int
    sender: str
    receiver: str
    kind: str
    message: str | None  # the application message in the frame
    outcome: str
    label: str | None = None  # protocol and ports of an IP packet


class Arrows:
    """The arrows of one host since `from_ns`."""

    def __init__(self, from_ns: int) -> None:
        self.from_ns = from_ns
        self.last = BEGIN
        self._entries: deque[tuple[Mark, Arrow]] = deque(maxlen=MOST)

    def add(self, arrow: Arrow, now_ns: int) -> None:
        time_ns, number = self.last
        self.last = (now_ns, number + 1 if now_ns == time_ns else 1)
        self._entries.append((self.last, arrow))
        while self._entries[0][1].sent_ns < now_ns - KEPT_NS:
            self._entries.popleft()

    def since(self, mark: Mark) -> list[Arrow]:
        """Return the stored arrows that were added after this mark."""
        new = takewhile(lambda entry: entry[0] > mark, reversed(self._entries))
        return [arrow for _, arrow in new][::-1]


class FollowedHosts:
    """The hosts of one simulation whose messages are recorded for listeners."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.arrows: dict[str, Arrows] = {}

    def attend(self, hosts: Iterable[str]) -> None:
        """Follow these hosts. Keep following earlier ones, because listeners may return after a reload."""
        now_ns = self.simulation.kernel.now
        # Move watched hosts to the end, so that the least recently watched hosts are dropped first.
        for host in hosts:
            self.arrows[host] = self.arrows.pop(host) if host in self.arrows else Arrows(now_ns)
        for host in [*self.arrows][:-MOST_HOSTS]:
            del self.arrows[host]
        self.simulation.listen(*((self._frame, self._hop) if self.arrows else (None, None)))

    def again_in(self, simulation: Simulation) -> FollowedHosts:
        """Follow the same hosts in a new simulation. Listeners already have the earlier arrows."""
        followed = FollowedHosts(simulation)
        followed.attend(self.arrows)
        for host, arrows in followed.arrows.items():
            arrows.from_ns = self.arrows[host].from_ns
        return followed

    def _add(self, host: str, arrow: Arrow) -> None:
        self.arrows[host].add(arrow, self.simulation.kernel.now)

    def _frame(self, frame: Frame) -> None:
        sender = frame.sender
        is_own = sender.name in self.arrows
        if not is_own and all(node.name not in self.arrows for node in frame.receivers):
            return
        is_data = frame.kind == DATA
        kind = type(frame.message).__name__ if is_data else MAC_ACK
        message = contents(frame.message).message if is_data else None
        label = None
        if is_data and isinstance(frame.message, Packet):
            kind, label = _of_packet(frame.message)
        end_ns = frame.start_ns + frame.duration_ns
        for node, outcome, delay_ns in zip(frame.receivers, frame.outcomes, frame.delays_ns, strict=True):
            to_it = frame.to is node or frame.to is None and (not sender.is_station or node.serving is sender)
            if not to_it:
                continue
            fate = SINR_OUTCOMES[outcome]
            arrow = Arrow(frame.start_ns, end_ns + delay_ns, sender.name, node.name, kind, message, fate, label)
            if is_own:
                self._add(sender.name, arrow)
            if node.name in self.arrows:
                self._add(node.name, arrow)

    def _hop(self, a: int, b: int, message: Any) -> None:
        if isinstance(message, Packet):
            kind, label = _of_packet(message)
            for host in {message.source, message.to} & self.arrows.keys():
                now_ns = self.simulation.kernel.now
                self._add(host, Arrow(now_ns, -1, f"s{a}", f"s{b}", kind, None, "received", label))
            return
        about = contents(message)
        if about.host in self.arrows and about.host is not None:
            name = type(message).__name__
            self._add(
                about.host, Arrow(self.simulation.kernel.now, -1, f"s{a}", f"s{b}", name, about.message, "received")
            )


def _of_packet(packet: Packet) -> tuple[str, str]:
    """Return the kind of a packet, which determines the colour of its arrow, and the arrow's label."""
    return "packet_ack" if only_acknowledges(packet.data) else "packet", label_of(packet.data)
