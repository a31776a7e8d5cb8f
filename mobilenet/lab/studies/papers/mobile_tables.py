"""The tables that go with the printed figures: other definitions, lengths of runs, verdicts, values over time.

Model     each row is worked out from the tables or the run directories of the studies (mobile_plan.py)
Units     those of the metrics
Source    Wilhelm, Arantes, Sens (2020), section V; ours: docs/validation/paper.md
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from mobilenet.lab.studies.csv_tables import read_rows
from mobilenet.lab.studies.papers import mobile_series as series
from mobilenet.lab.studies.papers.mobile_plan import EXPERIMENTS, LENGTHS_S, WORDS, Experiment
from mobilenet.lab.studies.statistics import Interval, Values, t_interval

Rows = list[dict[str, str]]  # of the runs of an experiment
Runs = dict[str, Rows]  # by experiment
DEFINITIONS = (
    "collision_loss_ratio",
    "collision_loss_ratio_addressed",
    "collision_loss_ratio_addressed_begun",
    "messages_sent_per_delivery",
    "copies_and_acks_per_delivery",
)


def rows_of(experiments: tuple[Experiment, ...], out: Path) -> Runs:
    """Experiment -> a row for each of its runs."""
    return {experiment.name: read_rows(out / experiment.name / "tables" / "runs.csv") for experiment in experiments}


def values_of(rows: Rows, metric: str) -> Values:
    """One value for each replication, in their order."""
    return np.array([float(row[metric]) for row in rows if row[metric]])


def interval_in_words(i: Interval) -> str:
    return f"{i.mean:.3g} ± {i.half_width:.2g}"


def directories(out: Path, runs: Runs, name: str) -> list[Path]:
    """The runs of an experiment, in the order of the replications."""
    return [out / name / "runs" / row["run"] for row in sorted(runs[name], key=lambda row: int(row["replication"]))]


def definition_rows(runs: Runs) -> list[dict[str, Any]]:
    """Each definition of a collision and of a message per delivery, in each experiment that has a figure in print."""
    printed = {"static": ("10 %", "0.4"), "dynamic": ("7.5-8.5 %", ""), "tcp_static": ("5 %", "1.58")}
    return [
        {"experiment": WORDS[name], "collisions, published": collisions, "messages, published": messages}
        | {metric: interval_in_words(t_interval(values_of(runs[name], metric))) for metric in DEFINITIONS}
        for name, (collisions, messages) in printed.items()
    ]


def length_rows(out: Path, runs: Runs) -> list[dict[str, Any]]:
    """The delay of flooding over TCP for each length that a reader might assume."""
    run_delays = [series.delays_by_length(directory, LENGTHS_S) for directory in directories(out, runs, "tcp_long")]
    rows = []
    for length_s in LENGTHS_S:
        seen, all_of_them = (t_interval(np.array([delays[length_s][kind] for delays in run_delays])) for kind in (0, 1))
        rows.append(
            {
                "length_s": f"{length_s:g}",
                "n": seen.n,
                "delivered by then, s": interval_in_words(seen),
                "all that was broadcast by then, s": interval_in_words(all_of_them),
                "mean_delivered_s": seen.mean,
                "low_delivered_s": seen.low,
                "high_delivered_s": seen.high,
                "mean_all_s": all_of_them.mean,
                "low_all_s": all_of_them.low,
                "high_all_s": all_of_them.high,
            }
        )
    return rows


def verdict_rows(out: Path, runs: Runs) -> list[dict[str, Any]]:
    """The verdicts on all runs, and why some are unknown."""
    rows = []
    for experiment in EXPERIMENTS:
        verdicts = [row["verdict"] for row in runs[experiment.name]]
        counts = {answer: verdicts.count(answer) for answer in ("valid", "unknown", "violated")}
        reasons = (
            Counter(filter(None, (series.unrest(run) for run in directories(out, runs, experiment.name))))
            if counts["unknown"]
            else {}
        )
        why = ", ".join(f"{count} with {reason}" for reason, count in sorted(reasons.items()))
        rows.append({"experiment": experiment.words, "runs": len(verdicts), **counts, "not at rest at the end": why})
    return rows


def over_time(out: Path, runs: Runs) -> list[dict[str, Any]]:
    """What Figures 6 to 8 show: a row for each experiment, quantity and bucket of time."""

    def rows(name: str, step_s: float, **courses: series.Course) -> list[dict[str, Any]]:
        runs_of_it = directories(out, runs, name)
        at = series.edges(series.duration_s(runs_of_it[0]), step_s)
        return [
            row
            for quantity, course in courses.items()
            for row in series.over_replications(runs_of_it, at, course, name, quantity)
        ]

    def of(station: str | None, name: str = "sbuffer") -> series.Course:
        return lambda directory, at: series.buffer(directory, at, name, station)

    return [
        *rows("static", 2.0, sbuffer=of(None), sent_per_delivery=series.sent_per_delivery),
        *rows("tcp_static", 2.0, sbuffer=of(None), sent_per_delivery=series.sent_per_delivery),
        *rows("tcp_heavy", 2.0, sbuffer=of(None)),
        *rows(
            "dynamic", 2.0, sbuffer=of(None), host_rbuffer=series.host_rbuffer, delivery_delay_s=series.delivery_delay
        ),
        *rows("faults", 1.0, sbuffer=of(None), sbuffer_of_s3=of("s3")),
    ]
