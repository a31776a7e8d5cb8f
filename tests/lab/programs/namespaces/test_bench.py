"""Tests that the results of `bench` with real software are within the limits of the model.

Source    docs/performance.md
"""

from __future__ import annotations

import pytest

from mobilenet.lab.bench import packets
from tests.lab.programs.namespaces.own import USUAL, skip_without

pytestmark = USUAL


def test_packet_benchmark_rows_are_complete_and_plausible(monkeypatch: pytest.MonkeyPatch) -> None:
    skip_without("ping", "iperf3")
    monkeypatch.setattr(packets, "COMMANDS", {case: packets.COMMANDS[case] for case in ("udp", "ping")})
    monkeypatch.setattr(packets, "HOSTS", 5)
    udp, ping, crowd = packets.measure()
    assert udp.share is not None and 0 < udp.share <= 1.02  # The share may exceed 1, because backoffs are random.
    # A round trip takes at least 0.6 ms, even without any backoff.
    assert ping.rtt_ms is not None and ping.model_rtt_ms is not None and ping.rtt_ms > 0.6
    for row in (udp, ping, crowd):
        assert row.packets_per_cpu_s > 0 and 0 <= row.lateness_p50_ms <= row.lateness_p99_ms and row.target
