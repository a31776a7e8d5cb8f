"""The adversary's wire: a tree of FIFO links with random delays.

Model     broadcasts flood the tree, forwarded before they are handled, and messages for one station use the same links,
          so delivery is causal over both calls
Units     integer nanoseconds, bytes
Errors    none
Source    ours: docs/architecture.md
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mobilenet.engine.kernel import Kernel
from mobilenet.engine.random_streams import Stream
from mobilenet.network.wired.network import next_hops
from mobilenet.swarm.tally import Tally


class Backbone:
    """A tree of FIFO links."""

    def __init__(
        self, kernel: Kernel, stream: Stream, tally: Tally, parents: Sequence[int], slowest_ns: Sequence[int]
    ) -> None:
        """`parents[i]` is the neighbour of station i+1 towards station 0; `slowest_ns[i]` that link's longest delay."""
        self._kernel = kernel
        self._stream = stream
        self._tally = tally
        count = len(parents) + 1
        self.handle: Callable[[int, int, Any], None] = lambda at, source, message: None
        self._neighbours: list[list[int]] = [[] for _ in range(count)]
        self._slowest: dict[tuple[int, int], int] = {}
        self._last: dict[tuple[int, int], int] = {}
        for child, (parent, slowest) in enumerate(zip(parents, slowest_ns, strict=True), 1):
            for a, b in ((child, parent), (parent, child)):
                self._neighbours[a].append(b)
                self._slowest[a, b] = slowest
                self._last[a, b] = 0
        self._next = [next_hops(self._neighbours, at) for at in range(count)]

    is_at_rest = True  # but for what the tally knows to be on its way

    def send(self, at: int, to: int | None, message: Any) -> None:
        """What a station hands over; None: for all others."""
        if to is None:
            self.flood(at, at, at, message)
        else:
            self.forward(at, at, to, message)

    def flood(self, at: int, before: int, source: int, message: Any) -> None:
        for n in self._neighbours[at]:
            if n != before:
                self._cross(at, n, source, None, message)

    def forward(self, at: int, source: int, to: int, message: Any) -> None:
        self._cross(at, self._next[at][to], source, to, message)

    def _cross(self, a: int, b: int, source: int, to: int | None, message: Any) -> None:
        when = self._kernel.now + int(self._stream.random() * self._slowest[a, b])
        when = self._last[a, b] = max(when, self._last[a, b])
        self._tally.wired_sent(message)
        self._kernel.at(when, lambda: self._arrive(a, b, source, to, message))

    def _arrive(self, before: int, at: int, source: int, to: int | None, message: Any) -> None:
        self._tally.wired_arrived()
        if to is None:
            self.flood(at, before, source, message)
        elif to != at:
            self.forward(at, source, to, message)
            return
        self.handle(at, source, message)
