"""The wire of the adversary: a tree of FIFO links with random delays.

Model     Broadcasts flood the tree: a station forwards a message before it handles it. Messages for one station use the
          same links, so delivery is causal over broadcasts and sends.
Units     integer nanoseconds, bytes
Source    ours: docs/architecture.md
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mobilenet.engine.kernel import Kernel
from mobilenet.engine.random_streams import Stream
from mobilenet.lab.hunt.swarm.tally import Tally
from mobilenet.network.wired.network import TreeRoutes
from mobilenet.protocols.vcube.backbone import Layer


@dataclass(frozen=True, slots=True)
class Wires:
    """The backbone of a schedule, and the delays of its links."""

    parents: Sequence[int]  # parents[i] is the neighbour of station i+1 towards station 0
    slowest_ns: Sequence[int]  # slowest_ns[i] is the longest delay of the link between station i+1 and parents[i].
    kind: str = "tree"  # "tree", or the name of a broadcast over VCube
    layer: Layer | None = None  # If given, this layer replaces the correct layer above VCube.


class Backbone:
    """A tree of FIFO links."""

    def __init__(self, kernel: Kernel, stream: Stream, tally: Tally, wires: Wires) -> None:
        self._kernel = kernel
        self._stream = stream
        self._tally = tally
        self.handle: Callable[[int, int, Any], None] = lambda at, source, message: None
        self._routes = TreeRoutes.of_parents(wires.parents)
        self._last = dict.fromkeys(self._routes.links, 0)
        self._slowest = {(a, b): wires.slowest_ns[max(a, b) - 1] for a, b in self._last}

    is_at_rest = True  # always True, because the tally counts the messages in transit

    def send(self, at: int, to: int | None, message: Any) -> None:
        """Send a message from one station to another, or to all others if `to` is None."""
        self._pass_on(at, None, at, to, message)

    def _pass_on(self, at: int, before: int | None, source: int, to: int | None, message: Any) -> None:
        for neighbour in self._routes.onward(at, before, to):
            self._cross(at, neighbour, source, to, message)

    def _cross(self, a: int, b: int, source: int, to: int | None, message: Any) -> None:
        when = self._kernel.now + int(self._stream.random() * self._slowest[a, b])
        when = self._last[a, b] = max(when, self._last[a, b])
        self._tally.count_wired_message(message)
        self._kernel.at(when, lambda: self._arrive(a, b, source, to, message))

    def _arrive(self, before: int, at: int, source: int, to: int | None, message: Any) -> None:
        self._tally.count_wired_arrival()
        self._pass_on(at, before, source, to, message)
        if to in (None, at):
            self.handle(at, source, message)
