"""Tests of explained delays in small worlds: their parts do not overlap, have no gaps, and add up to the delay."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mobilenet.why import kinds
from tests.cli.command import FIRST
from tests.why.test_stories import parts, replay

WORLDS = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "hosts.count": st.integers(1, 8),
        "hosts.mobility.speed_mps": st.sampled_from(["[1, 2]", "[20, 40]"]),
        "protocol": st.sampled_from(["{name: mobile_causal}", "{name: tcp_flooding}"]),
        "stations.backbone.bandwidth_mbps": st.sampled_from([0.02, 1, 100]),
        "stations.backbone.delay_ms": st.integers(0, 500),
        "wireless.loss": st.floats(0, 0.4),
        "wireless.queue_frames": st.sampled_from([2, 100]),
        "workload.interval_s": st.sampled_from([0.3, 1, 3]),
        "faults": st.sampled_from(["null", "{schedule: random, rate_per_host_per_min: 6, mean_duration_s: 2}"]),
    }
)


def test_delays_in_small_random_scenarios_are_fully_explained() -> None:
    sums: dict[str, Counter[str]] = defaultdict(Counter)  # protocol -> kind -> nanoseconds

    @settings(max_examples=40, deadline=None)
    @given(world=WORLDS)
    def stories_are_whole(world: dict[str, Any]) -> None:
        run_stories, _ = replay(
            FIRST, "duration_s=8", "warmup_s=0", *(f"{key}={value}" for key, value in world.items())
        )
        sums[world["protocol"]] += parts(run_stories)

    stories_are_whole()
    for protocol, kinds_of in sums.items():
        assert kinds_of[kinds.UNEXPLAINED] <= 0.01 * kinds_of.total() > 0, protocol
