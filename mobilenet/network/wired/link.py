"""A link: one direction of a wire, first in, first out.

Model     Store and forward. A message waits until the earlier messages are on the wire, takes size / bandwidth to
          transmit, and arrives one propagation delay later. A link loses messages only if it is cut or impaired. A cut
          link either holds new messages until it is repaired, while earlier messages still arrive, or it loses both new
          and earlier messages. An impaired link has a longer delay, and may lose messages at random. Messages never
          overtake each other, not even when the delay becomes shorter again. Lost messages occupy the wire like all
          others.
Units     Times are integer nanoseconds, sizes are bytes (headers included), and bandwidths are bits per second.
Source    ours: docs/models/wires.md
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from mobilenet.engine.clock import SECOND
from mobilenet.engine.event_queue import Action
from mobilenet.engine.kernel import Kernel
from mobilenet.engine.random_streams import RandomNumbers

CUT: Final = 2**62  # a cut link is free again at this time in nanoseconds, which is never reached
Arrive = Callable[[], None]
LINK_CUT, RANDOM = "link_cut", "random"  # reasons why a message does not arrive


class RandomLoss:
    """A message that is lost at random. It replaces the action that handles the arrival of the message."""

    __slots__ = ("arrive",)

    def __init__(self, arrive: Arrive) -> None:
        self.arrive = arrive


class Wire:
    """The messages on their way over a link, in order. A cut that loses messages loses all of them, and the link then
    uses a new wire.
    """

    __slots__ = ("_link", "arrivals", "is_lost", "next_arrives")

    def __init__(self, link: Link) -> None:
        self._link = link
        self.arrivals: deque[Arrive | RandomLoss] = deque()
        self.is_lost = False
        self.next_arrives: Action = self._next_arrives  # the bound method is created once, and not for each message

    def _next_arrives(self) -> None:
        arrive = self.arrivals.popleft()
        link = self._link
        if isinstance(arrive, RandomLoss):
            link.lose(arrive.arrive, LINK_CUT if self.is_lost else RANDOM)
        elif self.is_lost:
            link.lose(arrive, LINK_CUT)
        else:
            link.delivered += 1
            arrive()


class Link:
    """A link from one station to one of its neighbours."""

    __slots__ = (
        "_bits_per_s", "_calendar", "_delay_ns", "_draws", "_free_at", "_held", "_last_ns", "_loss", "_more_ns",
        "_on_lost", "_queued_until", "_wire", "bytes", "delivered", "lost", "sent",
    )  # fmt: skip

    def __init__(
        self,
        kernel: Kernel,
        bits_per_s: int,
        delay_ns: int,
        on_lost: Callable[[Arrive, str], None] | None = None,
    ) -> None:
        """Set up the link. `on_lost` is called for each message that will not arrive, with the reason."""
        self._calendar = kernel.calendar
        self._bits_per_s = bits_per_s
        self._delay_ns = delay_ns
        self._on_lost = on_lost
        self._free_at = 0
        self._wire = Wire(self)
        # Messages that a cut link holds, or None if it loses them.
        self._held: list[tuple[int, Arrive, bool]] | None = None
        self._queued_until = 0  # the time at which a cut link has sent all messages from before the cut
        self._more_ns = 0  # the additional delay of an impaired link
        self._last_ns = 0  # the time at which the previous message arrives
        self._loss = 0.0
        self._draws: RandomNumbers | None = None
        self.sent = 0
        self.delivered = 0
        self.lost = 0
        self.bytes = 0

    def send(self, size_bytes: int, arrive: Arrive, is_spared: bool = False) -> None:
        """Put a message on the wire. `arrive` is called when its last bit has arrived. If `is_spared` is true, the
        message is never lost at random.
        """
        self.sent += 1
        self.bytes += size_bytes
        begin = self._calendar.now
        if self._free_at > begin:
            begin = self._free_at
            if begin == CUT:
                self._hold(size_bytes, arrive, is_spared)
                return
        self._free_at = begin + (8 * size_bytes * SECOND + self._bits_per_s - 1) // self._bits_per_s
        wire = self._wire
        if self._loss > 0 and not is_spared and self._draws is not None and self._draws.random() < self._loss:
            wire.arrivals.append(RandomLoss(arrive))
        else:
            wire.arrivals.append(arrive)
        self._last_ns = max(self._last_ns, self._free_at + self._delay_ns + self._more_ns)
        self._calendar.at(self._last_ns, wire.next_arrives)

    # --- by hand

    def impair(self, loss: float, delay_ns: int, draws: RandomNumbers) -> None:
        """From now on, lose messages with this probability, and delay them by `delay_ns`."""
        self._loss, self._more_ns, self._draws = loss, delay_ns, self._draws or draws

    @property
    def is_cut(self) -> bool:
        return self._free_at == CUT

    def cut(self, loses: bool) -> None:
        """Cut the link. From now on, it holds the messages that are sent. If `loses` is true, it drops them instead,
        together with those on the wire.
        """
        self._queued_until = 0 if loses else self._free_at
        self._free_at = CUT
        self._held = None if loses else []
        if loses:
            self._wire.is_lost = True
            self._wire = Wire(self)
            self._last_ns = 0

    def mend(self) -> None:
        """Repair the link, and send the messages that it holds."""
        held, self._held = self._held, None
        self._free_at = self._queued_until
        for size_bytes, arrive, is_spared in held or ():
            self.sent -= 1  # send() counts the message again
            self.bytes -= size_bytes
            self.send(size_bytes, arrive, is_spared)

    def _hold(self, size_bytes: int, arrive: Arrive, is_spared: bool) -> None:
        if self._held is None:
            self.lose(arrive, LINK_CUT)
        else:
            self._held.append((size_bytes, arrive, is_spared))

    def lose(self, arrive: Arrive, why: str) -> None:
        """Count a message that will not arrive, and report it."""
        self.lost += 1
        if self._on_lost is not None:
            self._on_lost(arrive, why)
