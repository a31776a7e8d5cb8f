"""Parameters of a TCP connection: segments, windows, timers, and optional mechanisms against losses.

Defaults  Defaults follow the paper's baseline where the paper states them, and otherwise the RFCs. The paper
          used the transport of INET, whose defaults are noted where they differ. Two defaults need an
          explanation:
          - delayed_ack_s is 0.2 with a minimum timeout of 0.2 s, as in the paper. The estimator learns a short round
            trip from the handshake, so the first single segment of a connection is sent again although it was not lost.
            The next sample contains the delay, and the timeout stays above it as long as most segments arrive singly.
            If most arrive in pairs, the timeout falls back to the minimum, and a single segment is sometimes repeated
            (with 25 messages a second without Nagle, one in 300). With 0.1 s, there are no unnecessary repetitions.
          - nagle is on (RFC 9293: should; INET: on), because it puts several messages into one segment while the
            window is open. It holds back a short segment until all earlier bytes are acknowledged, which may take up to
            delayed_ack_s. With nagle off, messages share a segment only if a window has held them back.
Units     The last part of a field's name is its unit. Fields may also count segments or messages.
Errors    pydantic.ValidationError, only at construction.
Source    "paper" is Wilhelm, Arantes, Sens: A scalable causal broadcast that tolerates dynamics of mobile networks
          (2020), section V; "INET" is INET 4.5's Tcp.ned and TcpBaseAlg; "ours" is docs/models/tcp.md
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from mobilenet.parameters import Parameters

# minimum number of times that the MAC should try each frame; its back-offs are random, but the timeouts of TCP are not
FEWEST_ATTEMPTS = 4
FEWEST_RETRANSMISSIONS = 4


class TcpParameters(Parameters):
    """Parameters of TCP connections: segments, windows and timers."""

    # fmt: off
    mss_bytes: int = Field(
        default=536, ge=64, le=65_495,
        description="maximum payload of a segment, without headers (RFC 9293, 3.7.1 and INET: 536)",
    )
    window_bytes: int | None = Field(
        default=65_535, ge=64, le=2**30,
        description="receive window; null: 2**30 (RFC 9293: 65535 unscaled; INET: 14 segments)",
    )
    messages_in_flight: int | None = Field(
        default=46, ge=1, le=1_000_000,
        description="maximum number of messages sent but not fully acknowledged; null: no limit (paper: 46)",
    )
    aggregation: bool = Field(
        default=True,
        description="whether several messages may share a segment (paper: yes)",
    )
    nagle: bool = Field(
        default=True,
        description="whether partial segments wait until all earlier data is acknowledged (RFC 9293, 3.7.4; INET: on)",
    )
    initial_window_segments: int | None = Field(
        default=None, ge=1, le=100,
        description="initial window; null: 2 to 4, depending on the segment size (RFC 5681, 3.1; INET: 1)",
    )
    recovery: Literal["newreno", "reno", "none"] = Field(
        default="newreno",
        description="fast retransmit and recovery of RFC 6582 or RFC 5681; none: timeouts only (INET: reno)",
    )
    duplicate_acks: int = Field(
        default=3, ge=1, le=100,
        description="number of duplicate acknowledgements that indicate a loss (RFC 5681, 3.2: 3)",
    )
    limited_transmit: bool = Field(
        default=True,
        description="whether each of the first two duplicate acknowledgements releases a segment (RFC 3042; INET: off)",
    )
    delayed_ack_s: float = Field(
        default=0.2, ge=0, le=0.5,
        description="longest delay of an acknowledgement; 0: none (paper: 0.2; INET: off)",
    )
    ack_every_segments: int = Field(
        default=2, ge=1, le=100,
        description="number of segments after which an acknowledgement is sent at once (RFC 5681, 4.2: 2)",
    )
    rto_initial_s: float = Field(
        default=1.0, gt=0, le=60,
        description="timeout before the first sample (RFC 6298, 2.1: 1; INET: 3)",
    )
    rto_min_s: float = Field(
        default=0.2, gt=0, le=60,
        description="minimum timeout, at most rto_max_s (paper: 0.2; RFC 6298, 2.4 and INET: 1)",
    )
    rto_max_s: float = Field(
        default=60.0, gt=0, le=600,
        description="maximum timeout (RFC 6298, 2.5; INET: 240)",
    )
    rto_after_lost_syn_s: float = Field(
        default=3.0, gt=0, le=60,
        description="timeout of the first data segment if a SYN was retransmitted (RFC 6298, 5.7)",
    )
    clock_granularity_s: float = Field(
        default=0.01, gt=0, le=0.5,
        description="G, the minimum margin of the timeout over the smoothed round-trip time (RFC 6298, 2.3)",
    )
    max_retransmissions: int = Field(
        default=12, ge=0, le=1000,
        description="consecutive timeouts that a host's connection survives; wired connections never end (INET: 12)",
    )
    connect_timeout_s: float = Field(
        default=75.0, gt=0, le=3600,
        description="time limit for setting up a connection with a host (paper: 75)",
    )
    # fmt: on

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.rto_min_s > self.rto_max_s:
            raise ValueError("rto_min_s: must not be above rto_max_s")
        if self.nagle and not self.aggregation:
            raise ValueError(
                "nagle: without aggregation, every message would wait for the previous one; change one of the two"
                " settings"
            )
        return self

    def may_not_connect(self, attempts: int) -> str | None:
        """Return why connections over the radio may fail although both ends keep trying, or None. `attempts` is the
        number of times that the MAC sends each frame.
        """
        if attempts < FEWEST_ATTEMPTS:
            return (
                f"the MAC tries each frame {attempts} times at most, so two nodes that do not hear each other may"
                " collide at each timeout of TCP"
            )
        if self.max_retransmissions < FEWEST_RETRANSMISSIONS:
            return f"tcp.max_retransmissions is {self.max_retransmissions}, so connections may be closed unnecessarily"
        if self.connect_timeout_s < self.rto_initial_s:
            return (
                f"tcp.connect_timeout_s is {self.connect_timeout_s:g} s, less than tcp.rto_initial_s,"
                f" {self.rto_initial_s:g} s, so a connection whose first segment is lost is not set up"
            )
        return None
