"""Tests of the radio against INET 4.5 and ns-3 3.44 under the same load of beacons (scenarios/radio_check.yaml).

In 60 s, INET sent 21 366 frames, with 11.4 to 12.0 receivers in range and 4.0 to 5.0 % of pairs lost; half of the lost
pairs were never attempted. ns-3 sent 21 096 to 21 307 frames, with 11.6 to 12.7 receivers in range and 2.1 to 2.9 % of
pairs lost. Its preamble detection sometimes saves one of two colliding frames.
"""

from __future__ import annotations

from mobilenet.scenario import Scenario
from mobilenet.simulation.mobile import Simulation
from tests.conftest import SCENARIOS

SCENARIO = SCENARIOS / "radio_check.yaml"


SEEDS = (1, 2, 3)


def test_radio_losses_agree_with_inet_and_ns_3() -> None:
    """Frames and losses are compared for each seed. Receivers in range are compared on average, because a different
    placement of 70 hosts changes them by 5 %.
    """
    in_range = []
    for seed in SEEDS:
        radio = Simulation(Scenario.load(SCENARIO, [f"seed={seed}"])).run().recording.counters["radio"]
        lost = radio["lost"]
        collided = lost["collision"] + lost["never_attempted"]
        in_range.append(radio["pairs_in_range"] / radio["frames"])
        print(
            f"seed {seed}: {radio['frames']} frames, {in_range[-1]:.3f} in range,"
            f" {collided / radio['pairs_in_range']:.2%} lost"
        )
        assert 20_500 <= radio["frames"] <= 22_500
        assert 0.035 <= collided / radio["pairs_in_range"] <= 0.055
        assert 0.45 <= lost["never_attempted"] / collided <= 0.55
        assert lost["half_duplex"] <= 10
    assert 11 <= sum(in_range) / len(in_range) <= 13
