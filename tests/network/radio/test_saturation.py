"""Tests of saturated 802.11b against analytical models: Bianchi's model for unicast, and a slotted model for broadcast.

Unicast is compared with Bianchi, Performance Analysis of the IEEE 802.11 Distributed Coordination Function (2000), with
W = 32, m = 5 and basic access. Payloads have 1500 bytes, preceded by 8 + 28 bytes of headers. In the model for
broadcast, back-off counters freeze while the medium is busy, frames are not retried, and payloads have 100 bytes. The
tests compare the share of channel time that carries payload, and the share of frames that collide.
"""

from __future__ import annotations

import pytest

from .saturation import broadcast_collisions, unicast_throughput


@pytest.mark.long
@pytest.mark.parametrize(
    ("stations", "rate_mbps", "seconds", "share"),
    [
        (5, 1, 100, 0.842),
        (10, 1, 100, 0.783),
        (20, 1, 80, 0.718),
        (50, 1, 60, 0.627),
        (5, 11, 20, 0.575),
        (50, 11, 10, 0.459),
    ],
)
def test_saturated_unicast_throughput_agrees_with_bianchi(
    stations: int, rate_mbps: float, seconds: float, share: float
) -> None:
    assert unicast_throughput(stations, rate_mbps, seconds) == pytest.approx(share, rel=0.03)


@pytest.mark.parametrize(
    ("stations", "seconds", "share"), [(5, 100, 0.219), (10, 60, 0.427), (20, 30, 0.685), (50, 20, 0.930)]
)
def test_saturated_broadcast_collisions_agree_with_analysis(stations: int, seconds: float, share: float) -> None:
    assert broadcast_collisions(stations, seconds) == pytest.approx(share, rel=0.03)
