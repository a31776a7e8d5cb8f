"""The numbered stream of one cell: what a station radios to everybody in it, until all have acknowledged.

Model     numbers are given on arrival and never reset; the first radio frame of a message that came over the wire
          waits U[0, forwarding jitter], order kept: stations at equal depth of the tree receive at the same instant,
          do not hear each other, and would collide at every host between them. What arrives while nobody in the cell
          needs it is numbered, and neither kept nor radioed
Source    Wilhelm, Arantes, Sens (2020), Algorithm 2 lines 44-47 (Disseminate); the jitter is ours: DESIGN.md §3
Names     seq_C -> next_number, SBuffer -> sbuf
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ..port import Port
from .messages import AppSh, Item
from .parameters import MobileCausalParameters
from .resend import Resender, ns

CELL = -1  # in place of a host: a message for the whole cell
Key = tuple[int, int]  # (number, host or CELL): what a station resends, oldest first


class CellStream:
    def __init__(
        self,
        port: Port,
        parameters: MobileCausalParameters,
        resender: Resender[Key],
        delivered: Callable[[int], tuple[int, ...]],
    ) -> None:
        self._port = port
        self._jitter_s = parameters.forwarding_jitter_s
        self._delivered = delivered  # M_d of a number
        self.next_number = 0
        self.sbuf: dict[int, Item] = {}  # contiguous, oldest first
        self._waiting: deque[tuple[int, int]] = deque()  # (when, number) of first frames
        self._timer = port.timer(self._release)
        self._resender = resender

    @property
    def oldest(self) -> int:
        """minSeq(): the oldest number kept."""
        return next(iter(self.sbuf), self.next_number)

    def append(self, item: Item, from_wire: bool, keep: bool) -> None:
        """Number a message and radio it; what nobody needs is numbered and forgotten."""
        number = self.next_number
        self.next_number = number + 1
        if not keep:
            return
        self.sbuf[number] = item
        when = self._port.now
        if from_wire and self._jitter_s:
            when += ns(self._port.uniform(0, self._jitter_s))
        elif not self._waiting:
            self._resender.first((number, CELL), self._make(number, item))
            return
        if self._waiting:
            when = max(when, self._waiting[-1][0])
        else:
            self._timer.start(when - self._port.now)
        self._waiting.append((when, number))

    def trim(self, floor: int) -> None:
        """Forget everything below `floor`."""
        sbuf = self.sbuf
        while sbuf and (number := next(iter(sbuf))) < floor:
            del sbuf[number]
            self._resender.forget((number, CELL))

    def _release(self) -> None:
        now, waiting = self._port.now, self._waiting
        while waiting and waiting[0][0] <= now:
            number = waiting.popleft()[1]
            item = self.sbuf.get(number)
            if item is not None:
                self._resender.first((number, CELL), self._make(number, item))
        if waiting:
            self._timer.start(waiting[0][0] - now)

    def _make(self, number: int, item: Item) -> AppSh:
        return AppSh(number, item.id, item.body, self._delivered(number))

    def copy(self, number: int) -> AppSh:
        return self._make(number, self.sbuf[number])
