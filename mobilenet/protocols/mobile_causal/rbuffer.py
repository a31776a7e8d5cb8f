"""RBuffer: the messages that a host has received and may not deliver yet.

Source      Wilhelm, Arantes, Sens (2020), Algorithm 1 lines 16-22 and 27-32
Names       RBuffer -> recovery and stream: two lanes with one counter. Positions below `base` are recovery messages
            (App_Co), and the cell's stream (App_sh) begins at `base`
Assumes     within a session, a number identifies at most one message of its lane
Deviations  F3a  numbers in `skip` were delivered in another cell. They need not arrive, and are not delivered again.
                 In the paper the M_d of each copy decides (A1:20)
            F5   two lanes: a copy from the stream is never taken for a recovery message
"""

from __future__ import annotations

from .messages import AppCo, AppSh


class RBuffer:
    __slots__ = ("base", "recovery", "skip", "stream")

    def __init__(self) -> None:
        self.base = 0
        self.skip: set[int] = set()
        self.stream: dict[int, AppSh] = {}
        self.recovery: dict[int, AppCo] = {}

    def __len__(self) -> int:
        return len(self.stream) + len(self.recovery)

    def clear(self) -> None:
        self.stream.clear()
        self.recovery.clear()

    def keep_from(self, start: int) -> None:
        """Drop everything that is below `start`, in the wrong lane, or skipped."""
        base, skip = self.base, self.skip
        self.recovery = {n: item for n, item in self.recovery.items() if start <= n < base}  # F5
        self.stream = {n: item for n, item in self.stream.items() if n >= start and n >= base and n not in skip}  # F2b

    def wants(self, number: int) -> bool:
        """Return whether the host still needs this number, not yet delivered, from the stream."""
        return number >= self.base and number not in self.skip  # F3a

    def after_skipped(self, nxt: int) -> int:
        """Return the next position to deliver after the skipped ones."""
        while nxt in self.skip:  # A1:20, F3a
            self.skip.discard(nxt)
            nxt += 1  # A1:19
        return nxt

    def take(self, number: int) -> AppSh | AppCo | None:
        return self.recovery.pop(number, None) if number < self.base else self.stream.pop(number, None)  # F5
