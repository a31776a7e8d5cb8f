"""A bulk transfer over two real links, one of which loses segments independently, and its throughput according to
theory.

Mathis    throughput = C / sqrt(p) segments per round trip; C = 1.22, or 0.87 if every second segment is acknowledged
          (Mathis, Semke, Mahdavi, Ott: The macroscopic behavior of the TCP congestion avoidance algorithm, 1997)
PFTK      the full model without a window limit (Padhye, Firoiu, Towsley, Kurose: Modeling TCP throughput, 1998, eq.
          30)
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any, NamedTuple

from mobilenet.engine.clock import SECOND
from mobilenet.engine.kernel import Kernel
from mobilenet.engine.random_streams import Stream
from mobilenet.engine.timer import Timer
from mobilenet.network.tcp.connection import Connection
from mobilenet.network.tcp.estimator import Estimator
from mobilenet.network.tcp.parameters import TcpParameters
from mobilenet.network.tcp.segment import SYN, Segment
from mobilenet.network.wired.link import Link

IP_BYTES = 20


class BigMessage(NamedTuple):
    """A message that is too large to be transferred completely in a test."""

    size_bytes: int = 10**12
    payload_bytes: int = 10**12


class Sender:
    """The port at one end of the transfer."""

    def __init__(
        self, kernel: Kernel, parameters: TcpParameters, link: Link, loss: float, stream: Stream, incarnation: int
    ) -> None:
        self.kernel = kernel
        self.link = link
        self.loss = loss
        self.stream = stream
        self.other: Sender | None = None
        self.offered = 0
        self.lost = 0
        self.connection = Connection(self, parameters, incarnation)

    @property
    def now(self) -> int:
        return self.kernel.now

    def timer(self, action: Callable[[], None]) -> Timer:
        return Timer(self.kernel, action)

    def send(self, segment: Segment) -> None:
        if segment.length:
            self.offered += 1
            if self.stream.random() < self.loss:
                self.lost += 1
                return
        other = self.other
        assert other is not None
        if segment.flags == SYN:
            self.link.send(segment.size_bytes + IP_BYTES, lambda: other.connection.accept(segment))
        else:
            self.link.send(segment.size_bytes + IP_BYTES, lambda: other.connection.on_segment(segment))

    def on_open(self) -> None: ...
    def on_message(self, message: Any) -> None: ...
    def on_closed(self, reason: Any) -> None: ...


class Watch:
    """The estimator of a connection. It records each sample, and the first timeout of each series of timeouts."""

    def __init__(self, estimator: Estimator) -> None:
        self._estimator = estimator
        self.samples: list[int] = []
        self.timeouts: list[int] = []
        self._backed_off = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._estimator, name)

    def sample(self, rtt_ns: int) -> None:
        self.samples.append(rtt_ns)
        self._backed_off = False
        self._estimator.sample(rtt_ns)

    def back_off(self) -> None:
        if not self._backed_off:
            self.timeouts.append(self._estimator.rto_ns)
        self._backed_off = True
        self._estimator.back_off()


class Outcome(NamedTuple):
    segments_per_s: float
    loss: float  # share of lost segments
    rtt_s: float  # mean of the samples
    rto_s: float  # mean timeout before doubling
    timeouts: int
    recoveries: int

    def against_mathis(self, has_delayed_acks: bool) -> float:
        """Return the ratio of the measured throughput to Mathis's formula, which uses the measured loss and round-trip
        time.
        """
        return self.segments_per_s * self.rtt_s / mathis(self.loss, has_delayed_acks)

    def against_pftk(self, has_delayed_acks: bool) -> float:
        return self.segments_per_s / pftk(self.loss, has_delayed_acks, self.rtt_s, self.rto_s)


def transfer(
    loss: float, segments: int, seed: int, rtt_s: float = 0.2, gbps: float = 1.0, **parameters: Any
) -> Outcome:
    """Transfer about `segments` segments. The first tenth of the time is not counted."""
    plain: dict[str, Any] = {"mss_bytes": 1000, "window_bytes": None, "messages_in_flight": None, "rto_initial_s": 3.0}
    tcp = TcpParameters(**plain | parameters)
    kernel = Kernel()
    bits, delay_ns = round(gbps * 1e9), round(rtt_s * SECOND / 2)
    a = Sender(kernel, tcp, Link(kernel, bits, delay_ns), loss, Stream(seed, "loss", "a"), 1)
    b = Sender(kernel, tcp, Link(kernel, bits, delay_ns), 0.0, Stream(seed, "loss", "b"), 2)
    a.other, b.other = b, a
    watch = Watch(a.connection.estimator)
    a.connection.estimator = watch  # type: ignore[assignment]
    a.connection.connect()
    a.connection.send(BigMessage())
    expected = mathis(loss, has_delayed_acks=tcp.delayed_ack_s > 0)
    duration_ns = round(segments / expected * rtt_s * SECOND)
    kernel.run_until(duration_ns // 9)
    begin = a.connection.backlog.una
    kernel.run_until(duration_ns // 9 + duration_ns)
    moved = (a.connection.backlog.una - begin) / tcp.mss_bytes
    counts = a.connection.counts
    mean_rtt_s = sum(watch.samples) / len(watch.samples) / SECOND
    mean_rto_s = sum(watch.timeouts) / len(watch.timeouts) / SECOND if watch.timeouts else watch.rto_ns / SECOND
    return Outcome(
        moved / duration_ns * SECOND,
        a.lost / a.offered,
        mean_rtt_s,
        mean_rto_s,
        counts.timeouts,
        counts.fast_retransmits,
    )


def mathis(p: float, has_delayed_acks: bool) -> float:
    """Return the throughput in segments per round trip according to Mathis and others (1997)."""
    return (0.87 if has_delayed_acks else 1.22) / sqrt(p)


def pftk(p: float, has_delayed_acks: bool, rtt_s: float, rto_s: float) -> float:
    """Return the throughput in segments per second according to Padhye and others (1998)."""
    b = 2 if has_delayed_acks else 1
    per_segment_s = rtt_s * sqrt(2 * b * p / 3) + rto_s * min(1.0, 3 * sqrt(3 * b * p / 8)) * p * (1 + 32 * p * p)
    return 1 / per_segment_s
