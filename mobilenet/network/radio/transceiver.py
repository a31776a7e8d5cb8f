"""The medium's view of one node: where it is, what it is receiving, what it senses.

Model     the medium writes, the MAC reads. A period of sensed energy is kept as three instants, so a
          node that has nothing to send costs no event: [idle_since, busy_from) was idle, [busy_from,
          busy_until) is busy, and it is idle again from busy_until on. Both ends may lie in the
          future, since a frame's end is known when it starts.
Units     integer nanoseconds, metres, metres per nanosecond
Source    ours: docs/models/radio.md
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from mobilenet.engine.random_streams import RandomNumbers

if TYPE_CHECKING:
    from mobilenet.network.radio.frame import Frame
    from mobilenet.network.radio.mac import Mac

NEVER: Final = -(10**18)


class Transceiver:
    """One node on the medium."""

    __slots__ = (
        "air_d2", "air_until", "bin", "busy_from", "busy_until", "candidates", "candidates_until", "contending",
        "free_from", "hand_up", "idle_since", "index", "is_station", "lock_d2", "lock_frame", "lock_until",
        "loss_draws", "mac", "name", "number", "serving", "since_ns", "transmit_until", "up", "vx", "vy", "x_m", "y_m",
    )  # fmt: skip

    def __init__(self, index: int, name: str, number: int, is_station: bool) -> None:
        # Every frame reads these first fourteen fields at every node that it reaches. Compiled they lie in this order,
        # in two lines of the cache (the object takes 256 bytes with its header, and so begins with one): with thousands
        # of nodes they come from memory, and a third line would take its time.

        # Position at since_ns and velocity: exact at any later moment until the next move().
        self.x_m = self.y_m = 0.0
        self.vx = self.vy = 0.0
        self.since_ns = 0

        # Carrier sense.
        self.busy_until = self.busy_from = self.idle_since = NEVER

        # Reception. A frame that arrives from free_from on finds silence and a receiver that does not send.
        self.free_from = NEVER
        self.lock_until = NEVER
        self.lock_frame = 0  # the serial of the frame that it is locked on: no reference, which would be one more line
        self.serving: Transceiver | None = None  # the station of a host, for counting the nodes addressed
        self.up = True
        self.contending = False

        # The parts of free_from; what the node is locked on counts as being in the air, noted or not.
        self.is_station = is_station
        self.air_until = NEVER
        self.transmit_until = NEVER
        # of the locked frame, and the least in the air since it was last silent: kept for capture only
        self.lock_d2 = 0.0
        self.air_d2 = 0.0

        self.hand_up: Callable[[Frame], None] = _ignore
        self.mac: Mac
        self.index = index  # over all nodes; ties between receivers go by it
        self.number = number  # among its kind
        self.name = name
        self.loss_draws: RandomNumbers | None = None  # of the random loss at this receiver
        self.bin: tuple[int, int] | None = None
        self.candidates: tuple[Transceiver, ...] = ()
        self.candidates_until = NEVER

    def position(self, now: int) -> tuple[float, float]:
        elapsed = now - self.since_ns
        return self.x_m + self.vx * elapsed, self.y_m + self.vy * elapsed

    def move(self, now: int, x_m: float, y_m: float, vx: float, vy: float) -> None:
        """Place the node here, with this velocity in metres per nanosecond from now on."""
        self.x_m, self.y_m, self.vx, self.vy, self.since_ns = x_m, y_m, vx, vy, now

    def sense(self, start: int, end: int) -> None:
        """Sense energy from `start` to `end`; calls come in order of sending, not quite in order of time."""
        if self.busy_until < start:
            self.idle_since = self.busy_until
            self.busy_from = start
            self.busy_until = end
            return
        if start < self.busy_from:
            self.busy_from = start
        if end > self.busy_until:
            self.busy_until = end


def _ignore(frame: Frame) -> None:
    """Ignore a frame: no MAC is attached yet."""
