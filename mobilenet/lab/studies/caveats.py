"""What readers of a study must know before they trust its numbers.

Model     a seed decides who walks where, who broadcasts when, and who fails. Over recorded tracks all hosts walk as
          recorded, whatever the seed, unless the scenario draws a part of it. A mean may not exist where what
          waits grows in all runs of a configuration, and there are too few runs to be sure
Source    mobilenet/lab/studies/tables.py; ours: docs/guide/studies.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from mobilenet.lab.studies.delivered import DELIVERED, shares_in_words
from mobilenet.lab.studies.level_names import LevelNames
from mobilenet.lab.studies.table_files import Rows
from mobilenet.lab.studies.tables import PROBABLY, UNSTABLE
from mobilenet.quoting import pluralize
from mobilenet.scenario import AnyScenario, Scenario

SAME_MOVEMENT = (
    "all of which follow the same recorded movement: broadcasts, losses and faults differ, but positions do not"
)
ADVICE = (
    "all replications follow the same recorded movement, so intervals do not hold for other movements. The keys"
    " random_start_s, random_hosts and random_share of hosts.mobility select a different part of the recording for"
    " each replication"
)

ENDS = {
    PROBABLY: "; more replications or longer runs are needed to settle this",
    UNSTABLE: "; no means are reported for unstable configurations",
}


def has_one_movement(scenario: AnyScenario) -> bool:
    """Whether hosts are at the same places in all replications."""
    if not isinstance(scenario, Scenario):
        return False
    mobility = scenario.hosts.mobility
    return mobility.model == "tracks" and not mobility.are_worlds_of_their_own


def doubts(summary: Rows, names: LevelNames, labels: Sequence[str] = (PROBABLY,), most: int = 5) -> list[str]:
    """A line for each configuration with one of these labels, for people; `summary`: the rows of tables/summary.
    More than `most` are counted.
    """
    rows = [row for row in summary if row["label"] in labels and row["metric"] == "backlog_slope"]
    if len(rows) > most:
        counts, every = Counter(row["label"] for row in rows), {row["configuration"] for row in summary}
        return [
            f"{label}: {counts[label]} of {pluralize(len(every), 'configuration')}{ENDS[label]}"
            for label in labels
            if counts[label]
        ]
    return [f"{row['label']}: {_where(row, names)}: {_growth(row)}{ENDS[row['label']]}" for row in rows]


def deliveries(summary: Rows, names: LevelNames, broadcast: Mapping[int, float]) -> list[str]:
    """Return a line on what the configurations delivered and broadcast, unless there is nothing to remark. `broadcast`:
    the share of what was offered, by configuration.
    """
    delivered = {
        _where(row, names): row["mean"] for row in summary if row["metric"] == DELIVERED and row["mean"] is not None
    }
    accepted = {
        _where(row, names): broadcast[number]
        for row in summary
        if (number := row["configuration"]) in broadcast and row["metric"] == "broadcasts_offered" and row["mean"]
    }
    lines = shares_in_words(delivered, accepted)
    return ["; ".join([*lines, "delays are those of delivered messages"])] if lines else []


def _where(row: Mapping[str, Any], names: LevelNames) -> str:
    columns = list(row)
    factors = columns[columns.index("configuration") + 1 : columns.index("metric")]
    return ", ".join(names.in_words(factor, row[factor]) for factor in factors) or "unchanged"


def _growth(row: Mapping[str, Any]) -> str:
    every = "on average over" if row["label"] == UNSTABLE else "and grew in all"
    percent, runs = f"{row['mean'] * 100:.0f} %", pluralize(row["n"], "run")
    return f"the backlog grew by {percent} of its mean over the second half of the window, {every} {runs}"
