"""Configurations with means that may be none: what waits grows in all their runs, which are too few to be sure.

Errors    none
Source    mobilenet/studies/aggregation.py; ours: docs/guide/studies.md
"""

from __future__ import annotations

from mobilenet.quoting import counted
from mobilenet.studies.aggregation import PROBABLY
from mobilenet.studies.csv_tables import Rows


def doubts(summary: Rows) -> list[str]:
    """A line for each of them, for people; `summary`: the rows of tables/summary.csv."""
    found = []
    for row in summary:
        if row["label"] == PROBABLY and row["metric"] == "backlog_slope":
            columns = list(row)
            factors = columns[columns.index("configuration") + 1 : columns.index("metric")]
            where = ", ".join(f"{factor}={row[factor]}" for factor in factors) or "as it is"
            runs = counted(int(row["n"]), "run")
            found.append(f"{PROBABLY}: {where}: what waits grows in all {runs}; more replications would tell")
    return found
