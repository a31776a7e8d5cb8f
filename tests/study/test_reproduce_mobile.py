"""What is held against the paper's figures, without running its experiments (that takes ten minutes)."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from mobilenet.reproduce.mobile import PRINTED, STUDIES, held_against, step_mean
from mobilenet.study.configurations import configurations
from mobilenet.study.declaration import Study
from mobilenet.study.study import known_metrics


def test_each_printed_figure_has_an_experiment_and_a_metric() -> None:
    studies = {name: Study.load(file) for name, file in STUDIES.items()}
    levels = {name: [c.levels for c in configurations(study)] for name, study in studies.items()}
    with PRINTED.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 20
    for row in rows:
        assert row["metric"] in known_metrics()
        found = [
            level for level in levels[row["study"]]
            if level["protocol.name"] == row["protocol"]
            and (row["experiment"] in ("walking", "faults") or float(row["experiment"]) == level["workload.interval_s"])
        ]  # fmt: skip
        assert found, row
        assert bool(row["low"]) == bool(row["high"])


@pytest.mark.parametrize(
    ("mean", "low", "high", "said"),
    [("0.2", "0.195", "0.205", "fits"), ("0.1", "0.195", "0.205", "0.51 times"), ("0.41", "0.195", "0.205", "2 times"), ("3", "", "", "")],
)
def test_fits_or_by_how_much_not(mean: str, low: str, high: str, said: str) -> None:
    row = {"mean": mean, "high": "5", "label": ""}
    assert held_against(row, low, high)[1] == said


def test_an_unstable_one_has_no_mean() -> None:
    assert held_against({"mean": "", "high": "", "label": "unstable"}, "1", "2") == ("unstable", "no mean: the backlog grows")


def test_step_mean() -> None:
    times, values = np.array([1.0, 3.0]), np.array([4.0, 0.0])
    assert step_mean(times, values, 0, 4) == 2.0 and step_mean(times, values, 2, 3) == 4.0 and step_mean(times, values, 5, 6) == 0.0
