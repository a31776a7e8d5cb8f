"""One direction of a wire: first in, first out.

Model     store and forward; a message waits until those before it are on the wire, takes size / bandwidth
          to get there, and arrives one propagation delay later; nothing is lost, unless the wire is cut by hand. A cut
          link holds what is sent over it, in order, until it is repaired; what was sent before arrives. Or it loses
          both
Units     integer nanoseconds, bytes (headers included), bits per second
Source    ours: docs/models/wires.md
"""

from __future__ import annotations

from collections.abc import Callable

from mobilenet.clock import SECOND
from mobilenet.engine.kernel import Kernel

CUT = 2**62  # nanoseconds: the wire of a cut link is never free
Arrive = Callable[[], None]


class Link:
    """From one station to a neighbour."""

    __slots__ = (
        "_bits_per_s", "_calendar", "_delay_ns", "_free_at", "_held", "_is_lost", "_queued_until", "_wire", "bytes",
        "delivered", "lost", "sent",
    )  # fmt: skip

    def __init__(
        self, kernel: Kernel, bits_per_s: int, delay_ns: int, is_lost: Callable[[Arrive], None] = lambda arrive: None
    ) -> None:
        """`is_lost` is called for what will not arrive."""
        self._calendar = kernel.calendar
        self._bits_per_s = bits_per_s
        self._delay_ns = delay_ns
        self._is_lost = is_lost
        self._free_at = 0
        self._wire = 0  # how often what was on it was lost: it is another wire each time
        self._held: list[tuple[int, Arrive]] | None = None  # of a cut link; None: what is sent is lost
        self._queued_until = 0  # of a cut link: what was sent before it has left by then
        self.sent = 0
        self.delivered = 0
        self.lost = 0
        self.bytes = 0

    def send(self, size_bytes: int, arrive: Arrive) -> None:
        """Put a message on the wire; `arrive` is called when its last bit is there."""
        self.sent += 1
        self.bytes += size_bytes
        begin = self._calendar.now
        if self._free_at > begin:
            begin = self._free_at
            if begin == CUT:
                self._hold(size_bytes, arrive)
                return
        self._free_at = begin + -(-8 * size_bytes * SECOND // self._bits_per_s)
        wire = self._wire

        def there() -> None:
            if wire == self._wire:
                self.delivered += 1
                arrive()
            else:
                self._lose(arrive)

        self._calendar.at(self._free_at + self._delay_ns, there)

    # --- by hand

    @property
    def is_cut(self) -> bool:
        return self._free_at == CUT

    def cut(self, loses: bool) -> None:
        """Hold what is sent from now on; or, if it `loses`, drop that and what is on the wire."""
        self._queued_until = 0 if loses else self._free_at
        self._free_at = CUT
        self._held = None if loses else []
        self._wire += loses

    def mend(self) -> None:
        """What it holds is sent now."""
        held, self._held = self._held, None
        self._free_at = self._queued_until
        for size_bytes, arrive in held or ():
            self.sent -= 1  # it is counted already
            self.bytes -= size_bytes
            self.send(size_bytes, arrive)

    def _hold(self, size_bytes: int, arrive: Arrive) -> None:
        if self._held is None:
            self._lose(arrive)
        else:
            self._held.append((size_bytes, arrive))

    def _lose(self, arrive: Arrive) -> None:
        self.lost += 1
        self._is_lost(arrive)
