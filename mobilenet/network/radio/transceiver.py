"""The state of one node on the medium: its position, what it is receiving, and what it senses.

Model     The medium writes the state, and the MAC reads it. Three instants describe sensed energy: the medium was idle
          in [idle_since, busy_from), is busy in [busy_from, busy_until), and is idle again afterwards. A node without a
          frame to send therefore causes no events. Both ends of the busy period may be in the future, because the end
          of a frame is known when it starts.
Units     Times are integer nanoseconds, distances are in metres, and speeds in metres per nanosecond.
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
    """The state of one node on the medium."""

    __slots__ = (
        "air_d2", "air_until", "bin", "busy_from", "busy_until", "candidates", "candidates_until", "contending",
        "free_from", "hand_up", "idle_since", "index", "is_station", "lock_d2", "lock_frame", "lock_until",
        "loss_draws", "mac", "name", "number", "serving", "since_ns", "transmit_until", "up", "vx", "vy", "x_m", "y_m",
    )  # fmt: skip

    def __init__(self, index: int, name: str, number: int, is_station: bool) -> None:
        # These first fourteen fields are read for every frame at every node that it reaches. In the compiled class,
        # they are stored in this order, in two cache lines. (The object takes 256 bytes with its header, and therefore
        # begins at a cache line.) With thousands of nodes, the fields have to be loaded from memory, and a third cache
        # line would take additional time.

        # The position at since_ns, and the velocity. They determine the exact position at any later time until the next
        # move().
        self.x_m = self.y_m = 0.0
        self.vx = self.vy = 0.0
        self.since_ns = 0

        # Carrier sense.
        self.busy_until = self.busy_from = self.idle_since = NEVER

        # Reception. A frame that arrives at free_from or later finds a silent medium and a receiver that is not
        # sending.
        self.free_from = NEVER
        self.lock_until = NEVER
        # The serial of the frame that the node is locked onto; a reference to the frame would need another cache line.
        self.lock_frame = 0
        self.serving: Transceiver | None = None  # the station that serves this host, for counting the addressed nodes
        self.up = True
        self.contending = False

        # The components of free_from. The frame that the node is locked onto counts as being in the air, even if
        # air_until does not include it yet.
        self.is_station = is_station
        self.air_until = NEVER
        self.transmit_until = NEVER
        # The squared distances of the locked frame, and of the nearest frame in the air since the medium was last
        # silent. They are maintained for capture only.
        self.lock_d2 = 0.0
        self.air_d2 = 0.0

        self.hand_up: Callable[[Frame], None] = _ignore
        self.mac: Mac
        self.index = index  # number among all nodes, which breaks ties between receivers
        self.number = number  # number among the hosts or among the stations
        self.name = name
        self.loss_draws: RandomNumbers | None = None  # random numbers for the loss at this receiver
        self.bin: tuple[int, int] | None = None
        self.candidates: tuple[Transceiver, ...] = ()
        self.candidates_until = NEVER

    def position(self, now: int) -> tuple[float, float]:
        elapsed = now - self.since_ns
        return self.x_m + self.vx * elapsed, self.y_m + self.vy * elapsed

    def move(self, now: int, x_m: float, y_m: float, vx: float, vy: float) -> None:
        """Place the node at this position. From now on, it moves with this velocity in metres per nanosecond."""
        self.x_m, self.y_m, self.vx, self.vy, self.since_ns = x_m, y_m, vx, vy, now

    def sense(self, start: int, end: int) -> None:
        """Record that energy is sensed from `start` to `end`. Calls come in the order of sending, which may differ
        slightly from the order of arrival.
        """
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
    """Ignore a frame, because no MAC is attached yet."""
