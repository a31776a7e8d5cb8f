"""What readers of a study must know before they trust its numbers.

Model     a seed decides who walks where, who broadcasts when, and who fails. Over recorded tracks all hosts walk as
          recorded, whatever the seed, unless the scenario draws a part of it. A mean may not exist where what
          waits grows in all runs of a configuration, and these are too few to be sure
Source    mobilenet/studies/aggregation.py; ours: docs/guide/studies.md
"""

from __future__ import annotations

from mobilenet.quoting import counted
from mobilenet.scenario import AnyScenario, Scenario
from mobilenet.studies.aggregation import PROBABLY
from mobilenet.studies.csv_tables import Rows

SAME_MOVEMENT = (
    "all of which follow the same recorded movement: broadcasts, losses and faults differ, but positions do not"
)
ADVICE = (
    "all replications follow the same recorded movement, so intervals do not hold for other movements. hosts.mobility"
    " has random_start_s, random_hosts and random_share, which draw a different part of the recording for each"
)


def has_one_movement(scenario: AnyScenario) -> bool:
    """Whether hosts are at the same places in all replications."""
    if not isinstance(scenario, Scenario):
        return False
    mobility = scenario.hosts.mobility
    return mobility.model == "tracks" and not mobility.are_worlds_of_their_own


def doubts(summary: Rows) -> list[str]:
    """A line for each of them, for people; `summary`: the rows of tables/summary.csv."""
    found = []
    for row in summary:
        if row["label"] == PROBABLY and row["metric"] == "backlog_slope":
            columns = list(row)
            factors = columns[columns.index("configuration") + 1 : columns.index("metric")]
            where = ", ".join(f"{factor}={row[factor]}" for factor in factors) or "as it is"
            runs = counted(int(row["n"]), "run")
            found.append(
                f"{PROBABLY}: {where}: the backlog grows in all {runs}; more replications are needed to decide"
            )
    return found
