"""Limit the bytes in flight: slow start, congestion avoidance, fast retransmit, fast recovery.

Model     RFC 5681 in bytes. In congestion avoidance each acknowledgement adds MSS * MSS / cwnd (equation 3), fractions
          kept; hence delayed acknowledgements halve the growth, as the formula of Mathis with C = 0.87 has it.
          newreno: RFC 6582, the impatient variant; a full acknowledgement sets cwnd by its option 1.
          reno: RFC 5681, 3.2: the first new acknowledgement ends the recovery. none: duplicates are ignored.
Names     cwnd window, ssthresh threshold, SMSS mss, recover recover (one past the highest byte sent, so RFC 6582's + 1)
Deviates  RFC 6582 starts recover at the initial sequence number, and by its letter the very first segment could not be
          repaired by fast retransmit; here, as in BSD and Linux, it can
Left out  byte counting (RFC 3465), validation of a cwnd that is not used (RFC 7661), ECN, SACK
Units     bytes
Source    RFC 5681, 3 and 4.1; RFC 6582, 3.2; RFC 3042
"""

from __future__ import annotations

from mobilenet.network.tcp.parameters import TcpParameters

MAX_WINDOW = 2**30  # RFC 7323, 2.3: what window scaling can express


def initial_window(mss: int) -> int:
    """Return the initial window IW in bytes. RFC 5681, 3.1"""
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
        self._credit = 0  # what congestion avoidance owes the window, in bytes times the window
        self.window = self._initial
        self.threshold = MAX_WINDOW
        self.recover = 0
        self.recovering = False
        self.duplicates = 0  # acknowledgements in a row that repeat the last one
        self.partials = 0  # partial acknowledgements of this recovery

    @property
    def allowance(self) -> int:
        """The number of bytes that may be in flight now. RFC 5681, 3.1; RFC 3042, 2"""
        if self.duplicates and self._limited and not self.recovering:
            return self.window + min(self.duplicates, 2) * self._mss
        return self.window

    def on_ack(self, acked: int, ack: int, flight: int) -> bool:
        """Handle a new acknowledgement of all below `ack`: `acked` bytes more than before, with `flight` left.

        Return True if another segment is lost: send the first unacknowledged segment again. RFC 5681, 3.1; RFC 6582,
        3.2, 3
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
        """Deflate the window by what has left the network; the next byte was lost, too. RFC 6582, 3.2, 3"""
        self.partials += 1
        self.window -= acked
        if acked >= self._mss:
            self.window += self._mss
        self.window = max(self.window, self._mss)
        return True

    def on_duplicate_ack(self, una: int, flight: int, highest: int) -> bool:
        """Handle an acknowledgement of nothing new: a segment arrived out of order. `highest` is one past the highest
        byte sent.

        Return True to send the first unacknowledged segment again. RFC 5681, 3.2; RFC 6582, 3.2
        """
        self.duplicates += 1
        if self.recovering:
            self.window += self._mss
            return False
        if self.duplicates != self._duplicates_for_loss or self._kind == "none":
            return False
        if self._kind == "newreno" and una <= self.recover:
            return False  # the echo of segments that were sent again
        self._halve(min(flight, self.window))  # what is above the window went out by limited transmit
        self.window = self.threshold + self._duplicates_for_loss * self._mss
        self.recover = highest
        self.recovering = True
        self.partials = 0
        return True

    def on_timeout(self, flight: int, highest: int) -> None:
        """React to the expiry of the timer. RFC 5681, 3.1; RFC 6582, 3.2, 4

        If it expires again, ssthresh must stay the same. It does, since FlightSize is the same.
        """
        self._halve(flight)
        self.window = self._mss
        self.recover = highest
        self.recovering = False
        self.duplicates = 0

    def on_idle(self) -> None:
        """Reduce the window after a pause longer than a timeout, because it is out of date. RFC 5681, 4.1"""
        self.window = min(self._initial, self.window)

    def _halve(self, flight: int) -> None:
        """Set ssthresh after a loss (RFC 5681, equation 4)."""
        self.threshold = max(flight // 2, 2 * self._mss)
        self._credit = 0
