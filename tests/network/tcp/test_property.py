"""Tests that every message arrives once and in order on any network, and that an old connection never affects a new
one.
"""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mobilenet.network.tcp.parameters import TcpParameters

from .net import check_crashes, check_transfer

SIZES = st.lists(st.one_of(st.integers(1, 150), st.integers(1, 4000)), max_size=40)


@st.composite
def parameters(draw: st.DrawFn) -> TcpParameters:
    """Draw TCP parameters that keep a connection from giving up. With the parameters of the paper, it sometimes gives
    up at a loss of 50 %.
    """
    aggregation = draw(st.booleans())
    chosen: dict[str, Any] = {
        "mss_bytes": draw(st.integers(64, 1500)),
        "window_bytes": draw(st.one_of(st.none(), st.integers(64, 5000))),
        "messages_in_flight": draw(st.one_of(st.none(), st.integers(1, 50))),
        "aggregation": aggregation,
        "nagle": aggregation and draw(st.booleans()),
        "initial_window_segments": draw(st.one_of(st.none(), st.integers(1, 12))),
        "recovery": draw(st.sampled_from(["newreno", "reno", "none"])),
        "duplicate_acks": draw(st.integers(1, 4)),
        "limited_transmit": draw(st.booleans()),
        "delayed_ack_s": draw(st.sampled_from([0.0, 0.04, 0.2, 0.5])),
        "ack_every_segments": draw(st.integers(1, 4)),
    }
    return TcpParameters(**chosen, rto_max_s=2.0, max_retransmissions=1000, connect_timeout_s=3600.0)


@settings(max_examples=600)
@given(
    parameters=parameters(),
    seed=st.integers(0, 2**32),
    loss=st.floats(0, 0.5),
    repeat=st.floats(0, 0.3),
    least_ms=st.floats(0.1, 100),
    jitter_ms=st.floats(0, 500),
    sizes=st.tuples(SIZES, SIZES),
)
def test_tcp_delivers_every_message_once_and_in_order(
    parameters: TcpParameters,
    seed: int,
    loss: float,
    repeat: float,
    least_ms: float,
    jitter_ms: float,
    sizes: tuple[list[int], list[int]],
) -> None:
    check_transfer(parameters, seed, loss, repeat, least_ms, jitter_ms, sizes)


OUTAGES = st.lists(st.tuples(st.integers(0, 1), st.floats(0.01, 30), st.floats(0.001, 5)), max_size=8)
OFTEN = [(k % 2, 1.0 + 2 * k, 0.01) for k in range(12)]


@settings(max_examples=300)
@given(
    patient=st.booleans(),
    seed=st.integers(0, 2**32),
    loss=st.floats(0, 0.5),
    repeat=st.floats(0, 0.3),
    jitter_ms=st.floats(1, 3000),
    late=st.floats(0, 1),
    outages=OUTAGES,
)
@example(patient=True, seed=1, loss=0.0, repeat=0.3, jitter_ms=1000, late=0.2, outages=OFTEN)
def test_segments_of_an_old_connection_never_reach_a_new_one(
    patient: bool,
    seed: int,
    loss: float,
    repeat: float,
    jitter_ms: float,
    late: float,
    outages: list[tuple[int, float, float]],
) -> None:
    check_crashes(patient, seed, loss, repeat, jitter_ms, late, outages)
