"""Draw a metric from the distribution of real runs: most values are close together, and a few runs with repairs have
much larger ones.

    python -m validation.real_runs        # repeats the 300 runs and writes real_runs.csv

Model     the 95th percentile of the delay in runs of 10 s of scenarios/first.yaml, one number for each run
Shapes    values: float64 (300,)
Units     s
Source    ours: docs/guide/capacity.md
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mobilenet.lab.package_files import SCENARIOS
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.spark import local_master
from mobilenet.lab.studies.study import run_study
from mobilenet.lab.studies.table_files import values_of_runs

FILE = Path(__file__).with_suffix(".csv")
METRIC = "delivery_delay_p95_s"
RUNS = 300


@cache
def values() -> NDArray[np.float64]:
    return np.array(FILE.read_text().split()[1:], dtype=np.float64)


def draw(stream: np.random.Generator, runs: int) -> NDArray[np.float64]:
    return stream.choice(values(), runs)


def relative(stream: np.random.Generator, runs: int) -> NDArray[np.float64]:
    """Draw from the stored numbers, divided by their mean."""
    return draw(stream, runs) / float(np.mean(values()))


def main() -> None:
    declaration = {"scenario": "first.yaml", "seed": 1, "set": {"duration_s": 10}, "replications": {"min": RUNS}}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        run_study(Study.of(declaration, SCENARIOS, "real runs"), out, local_master(None), lambda standing: None)
        metric_values = values_of_runs(out, [METRIC])[METRIC].dropna().sort_index()
    FILE.write_text("\n".join([METRIC, *(f"{value:.4g}" for value in metric_values)]) + "\n")


if __name__ == "__main__":
    main()
