"""Run the sweep that led to the shipped radio setting: rate and forwarding jitter in four experiments of the paper.

    python -m validation.calibrate [--workers N] [--seeds N] [--table]

Model     for each setting, static.yaml, static_heavy.yaml, dynamic.yaml and faults.yaml are shortened and run with the
          same seeds. Each run adds its row to data/calibration.csv at once, so a sweep that was killed can be resumed.
          --table prints the means over seeds with 95 % t intervals, as docs/validation/radio-setting.md shows them
Units     seconds and Mb/s, according to the names
Source    Wilhelm, Arantes, Sens (2020), Section V, for the experiments; grid: docs/validation/radio-setting.md
"""

from __future__ import annotations

import argparse
import csv
import itertools
from multiprocessing import Pool
from pathlib import Path
from typing import Any

from mobilenet.metrics import metrics
from mobilenet.scenario import Scenario
from mobilenet.simulation.mobile import Simulation

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "data" / "calibration.csv"
RATES_MBPS = (1, 2, 5.5)
JITTERS_S = (0.005, 0.02, 0.05)
DURATIONS_S = {"static": 60, "static_heavy": 60, "dynamic": 60, "faults": 60}
METRICS = (
    "delivery_delay_mean_s", "collision_loss_ratio", "collision_loss_ratio_addressed", "station_sbuffer_mean",
    "host_rbuffer_mean",
    "host_sbuffer_mean", "station_rbuffer_mean", "frames_per_s", "messages_sent_per_delivery", "frame_bytes_per_s",
)  # fmt: skip
# The values that the paper prints for each experiment (Sections V.A and V.B). They are used only for comparison. The
# paper does not print means for its experiment with faults.
PRINTED = {
    "static": {"delivery_delay_mean_s": 0.20},
    "static_heavy": {
        "delivery_delay_mean_s": 0.31, "station_sbuffer_mean": 35, "host_rbuffer_mean": 6, "frames_per_s": 700,
    },
    "dynamic": {"delivery_delay_mean_s": 0.3, "collision_loss_ratio": 0.08},
}  # fmt: skip
KEYS = ("rate_mbps", "jitter_s", "scenario", "seed")
Job = tuple[float, float, str, int]


def simulate(job: Job) -> dict[str, Any]:
    rate, jitter, name, seed = job
    changes = (
        f"wireless.broadcast_rate_mbps={rate}",
        f"protocol.forwarding_jitter_s={jitter}",
        f"duration_s={DURATIONS_S[name]}",
        f"seed={seed}",
        "drain_s=10",
        "record.positions_interval_s=null",
    )
    scenario = Scenario.load(ROOT / "scenarios" / f"{name}.yaml", changes)
    outcome = Simulation(scenario).run()
    recording = outcome.recording
    tables = recording.tables()
    window = {"warmup_s": scenario.warmup_s, "duration_s": scenario.duration_s}
    row = metrics(tables["events"], tables["samples"], recording.counters, window)
    return dict(zip(KEYS, job, strict=True)) | {"quiescent": outcome.quiescent} | {name: row[name] for name in METRICS}


def known_rows() -> list[dict[str, str]]:
    if not TABLE.exists():
        return []
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def sweep(seeds: int, workers: int) -> None:
    done = {tuple(row[key] for key in KEYS) for row in known_rows()}
    grid = itertools.product(range(1, seeds + 1), (2, 1, 5.5), (0.02, 0.005, 0.05), DURATIONS_S)
    jobs: list[Job] = [(rate, jitter, name, seed) for seed, rate, jitter, name in grid]
    jobs = [job for job in jobs if tuple(str(part) for part in job) not in done]
    new = not TABLE.exists()
    with TABLE.open("a", newline="") as file, Pool(workers) as pool:
        writer = csv.DictWriter(file, (*KEYS, "quiescent", *METRICS))
        if new:
            writer.writeheader()
        for number, row in enumerate(pool.imap_unordered(simulate, jobs), 1):
            writer.writerow(row)
            file.flush()
            print(f"{number} of {len(jobs)}", end="\r", flush=True)
    print("Next: python -m validation.calibrate --table")


def table() -> str:
    """Return a Markdown table with one line for each setting and scenario."""
    import pandas as pd
    from scipy import stats

    rows = pd.read_csv(TABLE)
    columns = (*METRICS[:5], "frames_per_s", "messages_sent_per_delivery")
    lines = ["| rate | jitter | scenario | seeds | drained in 10 s | " + " | ".join(columns) + " |"]
    lines.append("|" + "---|" * (len(columns) + 5))
    for (rate, jitter, name), group in rows.groupby(["rate_mbps", "jitter_s", "scenario"], sort=True):
        cells = []
        for column in columns:
            values = group[column]
            half = stats.t.ppf(0.975, len(values) - 1) * values.sem() if len(values) > 1 else float("nan")
            cells.append(f"{values.mean():.3g} ± {half:.2g}")
        head = f"| {rate:g} | {jitter:g} | {name} | {len(group)} | {int(group['quiescent'].sum())} |"
        lines.append(head + " " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", *distances(rows)])


def distances(rows: Any) -> list[str]:
    """Return the distance of each setting from the printed values: the mean of |ln(ours / printed)|, expressed as a
    factor.
    """
    import numpy as np

    lines = ["| rate | jitter | mean distance | worst |", "|---|---|---|---|"]
    for (rate, jitter), group in rows.groupby(["rate_mbps", "jitter_s"], sort=True):
        logs = {
            f"{name}.{metric}": np.log(group[group["scenario"] == name][metric].mean() / printed)
            for name, figures in PRINTED.items()
            for metric, printed in figures.items()
        }
        worst = max(logs, key=lambda name: abs(logs[name]))
        mean = np.exp(np.mean(np.abs(list(logs.values()))))
        lines.append(f"| {rate:g} | {jitter:g} | factor {mean:.2f} | {worst}: {np.exp(logs[worst]):.2f} times |")
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        print(table())
    else:
        sweep(options.seeds, options.workers)
