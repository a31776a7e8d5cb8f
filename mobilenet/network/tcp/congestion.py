"""Limit the bytes in flight with slow start, congestion avoidance, fast retransmit and fast recovery.

Model     RFC 5681 in bytes. In congestion avoidance, each acknowledgement adds MSS * MSS / cwnd (equation 3), and
          fractions are kept. Delayed acknowledgements therefore halve the growth, as in Mathis's formula with C = 0.87.
          newreno is the impatient variant of RFC 6582, with option 1 for a full acknowledgement. reno is RFC 5681, 3.2:
          the first new acknowledgement ends the recovery. none ignores duplicates.
Names     The RFCs' cwnd is window, ssthresh is threshold, SMSS is mss, and recover is recover (one past the highest
          byte sent, which is RFC 6582's value + 1).
Deviates  RFC 6582 initializes recover with the initial sequence number, which rules out fast retransmit for the very
          first segment. Here, as in BSD and Linux, fast retransmit can repair this segment.
Left out  Byte counting (RFC 3465), validation of an unused cwnd (RFC 7661), ECN and SACK.
Units     All sizes are in bytes.
Source    RFC 5681, 3 and 4.1; RFC 6582, 3.2; RFC 3042
"""

from __future__ import annotations

from mobilenet.network.tcp.parameters import TcpParameters

MAX_WINDOW = 2**30  # the largest window that window scaling can express, RFC 7323, 2.3


def initial_window(mss: int) -> int:
    """Return the initial window IW in bytes (RFC 5681, 3.1)."""
    if mss > 2190:
        return 2 * mss
    if mss > 1095:
        return 3 * mss
    return 4 * mss


class Congestion:
    """The congestion window of one direction of a connection."""

    __slots__ = (
        "_credit", "_duplicates_for_loss", "_initial", "_kind", "_limited", "_mss",
        "duplicates", "partials", "recover", "recovering", "threshold", "window",
    )  # fmt: skip

    def __init__(self, parameters: TcpParameters, mss: int, syn_lost: bool) -> None:
        segments = parameters.initial_window_segments
        self._kind = parameters.recovery
        self._duplicates_for_loss = parameters.duplicate_acks
        self._limited = parameters.limited_transmit and self._kind != "none"
        self._mss = mss
        self._initial = initial_window(mss) if segments is None else segments * mss
        if syn_lost:
            self._initial = mss  # RFC 5681, 3.1
        self._credit = 0  # growth that congestion avoidance has not yet added to the window, in bytes times the window
        self.window = self._initial
        self.threshold = MAX_WINDOW
        self.recover = 0
        self.recovering = False
        self.duplicates = 0  # number of successive acknowledgements that repeat the previous one
        self.partials = 0  # number of partial acknowledgements during this recovery

    @property
    def allowance(self) -> int:
        """The number of bytes that may be in flight now (RFC 5681, 3.1; RFC 3042, 2)."""
        if self.duplicates and self._limited and not self.recovering:
            return self.window + min(self.duplicates, 2) * self._mss
        return self.window

    def on_ack(self, acked: int, ack: int, flight: int) -> bool:
        """Handle a new acknowledgement of all bytes below `ack`. It acknowledges `acked` more bytes than the previous
        one, and `flight` bytes remain in flight.

        Return True if another segment is lost. The caller then has to send the first unacknowledged segment again. RFC
        5681, 3.1; RFC 6582, 3.2, 3
        """
        self.duplicates = 0
        mss = self._mss
        if self.recovering:
            if self._kind == "newreno" and ack < self.recover:
                return self._on_partial_ack(acked)
            self.recovering = False
            self.window = self.threshold
            if self._kind == "newreno":
                self.window = min(self.threshold, max(flight, mss) + mss)
        elif self.window < self.threshold:
            self.window += min(acked, mss)  # slow start, equation 2
        else:
            more, self._credit = divmod(self._credit + mss * mss, self.window)  # equation 3
            self.window = min(self.window + more, MAX_WINDOW)
        return False

    def _on_partial_ack(self, acked: int) -> bool:
        """Deflate the window by the number of bytes that have left the network. The next byte is lost as well. RFC
        6582, 3.2, 3
        """
        self.partials += 1
        self.window -= acked
        if acked >= self._mss:
            self.window += self._mss
        self.window = max(self.window, self._mss)
        return True

    def on_duplicate_ack(self, una: int, flight: int, highest: int) -> bool:
        """Handle an acknowledgement that does not acknowledge new bytes, which means that a segment arrived out of
        order. `highest` is one past the highest byte sent.

        Return True if the caller has to send the first unacknowledged segment again. RFC 5681, 3.2; RFC 6582, 3.2
        """
        self.duplicates += 1
        if self.recovering:
            self.window += self._mss
            return False
        if self.duplicates != self._duplicates_for_loss or self._kind == "none":
            return False
        if self._kind == "newreno" and una <= self.recover:
            return False  # These duplicates were caused by retransmitted segments.
        self._halve(min(flight, self.window))  # bytes in flight above the window were sent by limited transmit
        self.window = self.threshold + self._duplicates_for_loss * self._mss
        self.recover = highest
        self.recovering = True
        self.partials = 0
        return True

    def on_timeout(self, flight: int, highest: int) -> None:
        """React to the expiry of the retransmission timer. RFC 5681, 3.1; RFC 6582, 3.2, 4

        If the timer expires again, ssthresh must stay the same. This is the case, because FlightSize has not changed.
        """
        self._halve(flight)
        self.window = self._mss
        self.recover = highest
        self.recovering = False
        self.duplicates = 0

    def on_idle(self) -> None:
        """Reduce the window after a pause that is longer than a timeout, because the window is out of date. RFC 5681,
        4.1
        """
        self.window = min(self._initial, self.window)

    def _halve(self, flight: int) -> None:
        """Set ssthresh after a loss. RFC 5681, equation 4"""
        self.threshold = max(flight // 2, 2 * self._mss)
        self._credit = 0
