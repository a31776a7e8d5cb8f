"""Estimate how long TCP should wait for an acknowledgement.

Model     RFC 6298, section 2, with integers: RTTVAR and SRTT are rounded down to the nanosecond after each sample. The
          caller follows Karn's rule: repeated segments give no sample, and a doubled timeout stays doubled until the
          next sample.
Units     Times are integer nanoseconds.
Source    RFC 6298, 2 and 5.5
"""

from __future__ import annotations

from mobilenet.engine.clock import ns
from mobilenet.network.tcp.parameters import TcpParameters


class Estimator:
    """SRTT, RTTVAR and RTO of one direction of a connection."""

    __slots__ = ("_ceiling_ns", "_floor_ns", "_granularity_ns", "rto_ns", "rttvar_ns", "samples", "srtt_ns")

    def __init__(self, parameters: TcpParameters) -> None:
        self._floor_ns = ns(parameters.rto_min_s)
        self._ceiling_ns = ns(parameters.rto_max_s)
        self._granularity_ns = ns(parameters.clock_granularity_s)
        self.srtt_ns = 0
        self.rttvar_ns = 0
        self.samples = 0
        self.rto_ns = 0
        self.wait(ns(parameters.rto_initial_s))

    def sample(self, rtt_ns: int) -> None:
        """Update the estimate with a measured round trip. RFC 6298, 2.2-2.5"""
        if self.samples:
            self.rttvar_ns = (3 * self.rttvar_ns + abs(self.srtt_ns - rtt_ns)) // 4
            self.srtt_ns = (7 * self.srtt_ns + rtt_ns) // 8
        else:
            self.srtt_ns = rtt_ns
            self.rttvar_ns = rtt_ns // 2
        self.samples += 1
        margin = max(self._granularity_ns, 4 * self.rttvar_ns)
        self.rto_ns = min(max(self.srtt_ns + margin, self._floor_ns), self._ceiling_ns)

    def back_off(self) -> None:
        """Double the timeout, because the timer expired. RFC 6298, 5.5"""
        self.rto_ns = min(2 * self.rto_ns, self._ceiling_ns)

    def wait(self, rto_ns: int) -> None:
        """Use this timeout until there is a sample. RFC 6298, 2.1, 5.7"""
        self.rto_ns = min(rto_ns, self._ceiling_ns)
