"""The second wire of the adversary: VCube between the stations, on links that do not preserve order.

Model     Any two stations have a link. The delay of each message is drawn, up to the delay of the slowest link in the
          schedule's tree, so messages may overtake each other. The reliable broadcast also gets false suspicions, which
          are withdrawn after a while.
Units     integer nanoseconds, bytes
Source    ours: docs/validation/trust.md, docs/models/backbone.md
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mobilenet.engine.clock import MILLISECOND, SECOND
from mobilenet.engine.kernel import Kernel
from mobilenet.engine.random_streams import Stream
from mobilenet.engine.timer import Timer
from mobilenet.lab.hunt.swarm.tally import Tally
from mobilenet.lab.hunt.swarm.wire import Wires
from mobilenet.network.wired.parameters import DETECTING
from mobilenet.protocols.vcube.backbone import new_layer

MAX_DELAY_NS = 20 * MILLISECOND  # longest time that a message waits for its bundle
SUSPICION = 0.01  # probability that a message causes a suspicion


class VCubeWire:
    def __init__(self, kernel: Kernel, stream: Stream, tally: Tally, wires: Wires) -> None:
        self._kernel = kernel
        self._stream = stream
        self._tally = tally
        self._slowest_ns = max(wires.slowest_ns)
        self._suspects = wires.kind in DETECTING
        self._suspected: set[tuple[int, int]] = set()
        self.handle: Callable[[int, int, Any], None] = lambda at, source, message: None
        count = len(wires.parents) + 1
        mtu_bytes = 1 + stream.below(1500)
        self.layers = [
            new_layer(wires.kind, _StationPort(self, s), count, MAX_DELAY_NS, mtu_bytes, wires.layer)
            for s in range(count)
        ]

    @property
    def is_at_rest(self) -> bool:
        return all(layer.is_idle for layer in self.layers)

    def send(self, at: int, to: int | None, message: Any) -> None:
        """Send a message from one station to another, or to all others if `to` is None."""
        layer = self.layers[at]
        if to is None:
            layer.broadcast(message)
        else:
            layer.send(to, message)

    def cross(self, a: int, b: int, message: Any) -> None:
        self._tally.count_wired_message(message)
        self._kernel.after(int(self._stream.random() * self._slowest_ns), lambda: self._arrive(a, b, message))
        if self._suspects and self._stream.random() < SUSPICION:
            self._suspect(self._stream.below(len(self.layers)), self._stream.below(len(self.layers)))

    def _arrive(self, a: int, b: int, message: Any) -> None:
        self._tally.count_wired_arrival()
        self.layers[b].on_receive(a, message)

    def _suspect(self, by: int, about: int) -> None:
        """Let a station suspect another one. The suspicion begins outside of any handler, and is withdrawn later."""
        if by == about or (by, about) in self._suspected:
            return
        self._suspected.add((by, about))
        self._kernel.after(0, lambda: self.layers[by].on_crash(about))
        self._kernel.after(int(self._stream.random() * SECOND), lambda: self._trust(by, about))

    def _trust(self, by: int, about: int) -> None:
        self._suspected.discard((by, about))
        self.layers[by].on_up(about)


class _StationPort:
    def __init__(self, wire: VCubeWire, me: int) -> None:
        self.me = me
        self._wire = wire

    @property
    def now(self) -> int:
        return self._wire._kernel.now

    def timer(self, action: Callable[[], None]) -> Timer:
        return Timer(self._wire._kernel, action)

    def send(self, to: int, message: Any) -> None:
        self._wire.cross(self.me, to, message)

    def receive(self, source: int, message: Any) -> None:
        self._wire.handle(self.me, source, message)
