"""Whether the replications of a study are worlds of their own.

Model     a seed decides who walks where, who broadcasts when, and who fails. Over recorded tracks everybody walks where
          the recording says, whatever the seed, unless the scenario draws a part of it
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

from mobilenet.scenario import AnyScenario, Scenario

SAME_MOVEMENT = "all of which follow the same recorded movement: broadcasts, losses and faults differ, places do not"
ADVICE = (
    "all replications follow the same recorded movement: intervals say nothing of other places. hosts.mobility has"
    " random_start_s, random_hosts and random_share, which draw a part of the recording for each"
)


def has_one_movement(scenario: AnyScenario) -> bool:
    """Whether hosts are at the same places in all replications."""
    if not isinstance(scenario, Scenario):
        return False
    mobility = scenario.hosts.mobility
    return mobility.model == "tracks" and not mobility.are_worlds_of_their_own
