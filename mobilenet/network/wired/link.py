"""One direction of a wire: first in, first out.

Model     store and forward; a message waits until those before it are on the wire, takes size / bandwidth
          to get there, and arrives one propagation delay later; nothing is lost
Units     integer nanoseconds, bytes (headers included), bits per second
Source    ours: docs/models/wires.md
"""

from __future__ import annotations

from collections.abc import Callable

from mobilenet.engine.kernel import SECOND, Kernel


class Link:
    """From one station to a neighbour."""

    __slots__ = ("_bits_per_s", "_calendar", "_delay_ns", "_free_at", "bytes", "delivered", "sent")

    def __init__(self, kernel: Kernel, bits_per_s: int, delay_ns: int) -> None:
        self._calendar = kernel.calendar
        self._bits_per_s = bits_per_s
        self._delay_ns = delay_ns
        self._free_at = 0
        self.sent = 0
        self.delivered = 0
        self.bytes = 0

    def send(self, size_bytes: int, arrive: Callable[[], None]) -> None:
        """Put a message on the wire; `arrive` is called when its last bit is there."""
        begin = max(self._calendar.now, self._free_at)
        self._free_at = begin + -(-8 * size_bytes * SECOND // self._bits_per_s)
        self.sent += 1
        self.bytes += size_bytes

        def there() -> None:
            self.delivered += 1
            arrive()

        self._calendar.at(self._free_at + self._delay_ns, there)
