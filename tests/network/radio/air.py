"""A simple medium for tests. It has transceivers and MACs at given coordinates, and a log of their events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mobilenet.engine.clock import MICROSECOND, MILLISECOND
from mobilenet.engine.kernel import Kernel
from mobilenet.network.radio.acking_mac import Acking
from mobilenet.network.radio.dcf import Dcf, Rules
from mobilenet.network.radio.frame import OUTCOMES, Frame
from mobilenet.network.radio.framing import IP_BYTES, LLC_MAC_FCS_BYTES, UDP_BYTES, Framing
from mobilenet.network.radio.mac import Mac
from mobilenet.network.radio.neighbours import Neighbours
from mobilenet.network.radio.phy import MODES, Mode
from mobilenet.network.radio.transceiver import Transceiver
from mobilenet.network.radio.unit_disk.medium import UnitDisk
from mobilenet.network.wireless import WirelessParameters

RULES = {"queue_frames": 100, "retry_limit": 7}


class Datagram(NamedTuple):
    name: str
    size_bytes: int = 100
    payload_bytes: int = 100


class Script:
    """A RandomNumbers that returns the back-offs in `slots` in order, and 0 after the last one."""

    def __init__(self, *slots: int) -> None:
        self._slots = list(slots)
        self.cw = 31

    def random(self) -> float:
        slots = self._slots.pop(0) if self._slots else 0
        return (slots + 0.5) / (self.cw + 1) if slots else 0.0


class Reception(NamedTuple):
    frame: str
    start_us: float
    receiver: str
    outcome: str


@dataclass
class Node:
    """A node at fixed coordinates on the medium, with a MAC and a log."""

    air: Air
    transceiver: Transceiver
    mac: Mac
    received: list[tuple[float, str]] = field(default_factory=list)
    sent: list[tuple[float, str]] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    reports: list[tuple[int, str, str]] = field(default_factory=list)  # (time in ns, "sent" or "dropped", frame)
    heard: list[tuple[int, str]] = field(default_factory=list)  # (time in ns, frame)
    then: dict[str, Callable[[], Any]] = field(default_factory=dict)  # frame -> the action to run in its callback

    def on_sent(self, message: Any) -> None:
        self.sent.append((self.air.now_us, message.name))
        self._note("sent", message.name)

    def on_dropped(self, message: Any) -> None:
        self.dropped.append(message.name)
        self._note("dropped", message.name)

    def _note(self, what: str, name: str) -> None:
        self.reports.append((self.air.kernel.now, what, name))
        if name in self.then:
            self.then[name]()

    def hand_up(self, frame: Frame) -> None:
        self.received.append((self.air.now_us, frame.message.name))
        self.heard.append((self.air.kernel.now, frame.message.name))

    def send(self, name: str, size_bytes: int = 100, to: Node | None = None, acknowledged: bool = False) -> bool:
        air = self.air
        psdu, duration = air.size_and_airtime(size_bytes, acknowledged)
        target = None if to is None else to.transceiver
        message = Datagram(name, size_bytes, size_bytes)
        frame = Frame(self.transceiver, target, message, psdu, duration, air.rate_mbps, self, acknowledged)
        return self.mac.enqueue(frame)

    def unicast(self, name: str, to: Node) -> bool:
        return self.send(name, to=to, acknowledged=True)

    def unicast_at_ns(self, time_ns: int, name: str, to: Node) -> None:
        self.air.at_ns(time_ns, self.unicast, name, to)

    def send_at_ns(self, time_ns: int, *frame: Any, **named: Any) -> None:
        self.air.at_ns(time_ns, self.send, *frame, **named)

    def send_at_us(self, time_us: float, *frame: Any, **named: Any) -> None:
        self.air.at_us(time_us, self.send, *frame, **named)


class Air:
    """A medium that records all events."""

    def __init__(
        self,
        mode: str = "b",
        rate_mbps: float = 1,
        range_m: float = 120,
        interference_range_m: float = 0,
        detection_range_m: float | None = 0,
        eifs: bool = True,
        **medium: Any,
    ) -> None:
        self.kernel = Kernel()
        self.mode: Mode = MODES[mode]
        self.rate_mbps = rate_mbps
        self.eifs = eifs
        self.log: list[Reception] = []
        self.starts: list[tuple[float, str]] = []
        self.frames: dict[str, Frame] = {}  # frames that have reached every receiver completely
        reach = max(range_m, interference_range_m, detection_range_m or 0)
        self.medium = UnitDisk(
            self.kernel,
            Neighbours(reach, 0.0, 100_000_000),
            range_m,
            interference_range_m,
            detection_range_m,
            observer=self._observe,
            **medium,
        )
        self.nodes: list[Node] = []

    @property
    def now_us(self) -> float:
        return self.kernel.now / MICROSECOND

    def node(self, x_m: float, *slots: int, y_m: float = 0.0, stream: Any = None, **rules: Any) -> Node:
        """Add a node at (x_m, y_m). Its back-offs are either given or drawn from `stream`."""
        transceiver = self._transceiver(x_m, y_m)
        script = stream or Script(*slots)
        mac = Dcf(self.kernel, self.medium, transceiver, Rules(self.mode, self.eifs, **(RULES | rules)), script)
        if isinstance(script, Script):
            script.cw = self.mode.cw_min
        return self._place(transceiver, mac)

    def _transceiver(self, x_m: float, y_m: float) -> Transceiver:
        index = len(self.nodes)
        transceiver = Transceiver(index, f"n{index}", index, False)
        transceiver.move(self.kernel.now, x_m, y_m, 0.0, 0.0)
        return transceiver

    def _place(self, transceiver: Transceiver, mac: Mac) -> Node:
        node = Node(self, transceiver, mac)
        transceiver.hand_up = node.hand_up
        self.medium.neighbours.add(transceiver, self.kernel.now)
        self.nodes.append(node)
        return node

    def size_and_airtime(self, size_bytes: int, acknowledged: bool) -> tuple[int, int]:
        psdu = size_bytes + UDP_BYTES + IP_BYTES + LLC_MAC_FCS_BYTES
        return psdu, self.mode.airtime_ns(psdu, self.rate_mbps)

    def at_ns(self, time_ns: int, action: Any, *arguments: Any, **named: Any) -> None:
        self.kernel.at(time_ns, lambda: action(*arguments, **named))

    def run_ns(self, time_ns: int) -> None:
        self.kernel.run_until(time_ns)

    def at_us(self, time_us: float, action: Any, *arguments: Any, **named: Any) -> None:
        self.kernel.at(round(time_us * MICROSECOND), lambda: action(*arguments, **named))

    def run_us(self, time_us: float) -> None:
        self.kernel.run_until(round(time_us * MICROSECOND))

    def _observe(self, frame: Frame) -> None:
        start_us = frame.start_ns / MICROSECOND
        name = frame.message.name if frame.kind == 0 else f"ack of {frame.message.message.name}"
        self.starts.append((start_us, name))
        self.frames[name] = frame
        for receiver, outcome in zip(frame.receivers, frame.outcomes, strict=True):
            self.log.append(Reception(name, start_us, receiver.name, OUTCOMES[outcome]))

    def start_us(self, name: str) -> float:
        return next(start for start, which in self.starts if which == name)

    def outcomes(self, name: str) -> dict[str, str]:
        return {heard.receiver: heard.outcome for heard in self.log if heard.frame == name}

    @property
    def starts_ns(self) -> dict[str, int]:
        return {name: frame.start_ns for name, frame in self.frames.items()}


class AckingAir(Air):
    """An Air at 1 Mb/s whose MACs do not sense the carrier. Acknowledged frames contain TCP segments, all other frames
    contain datagrams.
    """

    def __init__(self, full_duplex: bool = True, **air: Any) -> None:
        super().__init__(detection_range_m=None, full_duplex=full_duplex, **air)
        self.framing = Framing(WirelessParameters(mac="acking", bitrate_mbps=1))

    def acking(
        self,
        x_m: float,
        y_m: float = 0.0,
        timeout_ns: int = 100 * MILLISECOND,
        queue_frames: int = 100,
        loss: Any = None,
    ) -> Node:
        """Add a node at (x_m, y_m). `loss` is the random stream that decides which frames it loses."""
        transceiver = self._transceiver(x_m, y_m)
        transceiver.loss_draws = loss
        return self._place(transceiver, Acking(self.kernel, self.medium, transceiver, queue_frames, timeout_ns))

    def size_and_airtime(self, size_bytes: int, acknowledged: bool) -> tuple[int, int]:
        return self.framing.segment(size_bytes) if acknowledged else self.framing.datagram(size_bytes)


def listening_air(*places: float | tuple[float, int], **air: Any) -> list[Any]:
    """Return an Air and one node for each argument. An argument is x in metres, or a pair of x and the first
    back-off.
    """
    made = Air(**air)
    return [made, *(made.node(*place) if isinstance(place, tuple) else made.node(place) for place in places)]


def acking_air(*places_m: float, **air: Any) -> list[Any]:
    """Return an AckingAir, followed by one node for each of these coordinates."""
    made = AckingAir(**air)
    return [made, *(made.acking(x_m) for x_m in places_m)]
