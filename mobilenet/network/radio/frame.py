"""A frame in the air, and its possible outcomes at each node in range.

Units     Times are integer nanoseconds, and sizes are in bytes.
Source    ours: docs/models/radio.md
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from mobilenet.network.radio.transceiver import Transceiver

RECEIVED: Final = 0
COLLISION: Final = 1
NEVER_ATTEMPTED: Final = 2
HALF_DUPLEX: Final = 3
RANDOM: Final = 4
RECEIVER_DOWN: Final = 5
OUTCOMES = ("received", "collision", "never_attempted", "half_duplex", "random", "receiver_down")
# The following outcomes occur only with the model sinr.
BIT_ERRORS: Final = 6
PREAMBLE_MISSED: Final = 7
SINR_OUTCOMES = (*OUTCOMES, "bit_errors", "preamble_missed")

DATA: Final = 0
ACK: Final = 1


class Client(Protocol):
    """The sender of a frame, which the MAC notifies of the outcome."""

    def on_sent(self, message: Any) -> None: ...
    def on_dropped(self, message: Any) -> None: ...


class Frame:
    """One transmission. If `to` is None, it is a broadcast. If `acknowledged` is true, it is a unicast that waits for
    an acknowledgement.
    """

    __slots__ = (
        "acknowledged",
        "client",
        "delays_ns",
        "duration_ns",
        "kind",
        "message",
        "number",
        "outcomes",
        "powers_cdbm",
        "psdu_bytes",
        "rate_mbps",
        "receivers",
        "retries",
        "sender",
        "serial",
        "settled",
        "sinrs_cdb",
        "start_ns",
        "to",
        "x_m",
        "y_m",
    )  # fmt: skip

    def __init__(
        self,
        sender: Transceiver,
        to: Transceiver | None,
        message: Any,
        psdu_bytes: int,
        duration_ns: int,
        rate_mbps: float = 1,
        client: Client | None = None,
        acknowledged: bool = False,
        kind: int = DATA,
    ) -> None:
        self.sender = sender
        self.to = to
        self.message = message
        self.psdu_bytes = psdu_bytes
        self.duration_ns = duration_ns
        self.rate_mbps = rate_mbps
        self.client = client
        self.acknowledged = acknowledged
        self.kind = kind
        # The sender's MAC sets this number if it may repeat the frame. Receivers use it to detect duplicates.
        self.number = 0
        self.retries = 0
        self.settled: Transceiver | None = None  # the receiver for which the random loss has already been drawn
        self.serial = 0  # sequence number among all frames on the medium, assigned by the medium
        self.start_ns = 0
        self.x_m = self.y_m = 0.0  # position of the sender at the start of the frame (only with sinr)
        self.receivers: list[Transceiver] = []  # the nodes that the frame reaches, sorted by index
        self.outcomes: list[int] = []  # the outcome at each receiver, in the same order
        self.delays_ns: list[int] = []  # propagation delay to each receiver
        # The lowest SINR at each receiver, or NEVER if the receiver did not receive the frame. The list is filled only
        # if frames are observed.
        self.sinrs_cdb: list[int] = []
        self.powers_cdbm: list[int] = []  # power at each receiver in hundredths of a dBm (only with sinr)
