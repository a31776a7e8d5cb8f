"""Compare the tables of a study of ten million deliveries with tables that pandas computes from the same files.

    python -m validation.aggregation [--rows 10000000] [--runs 100]

Model     the run directories are synthetic: 70 hosts, gamma-distributed delays, and buffers that follow a random walk.
          The tables are computed on local[2] and compared with an aggregation by pandas over the same files. The
          reported memory is the peak of this process and of its Java processes
Units     seconds, bytes
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import stats

from mobilenet.engine.random_streams import generator
from mobilenet.lab.studies.configurations import PlannedRun, plan_runs
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.spark import local_master, spark_session
from mobilenet.lab.studies.store import Store, create
from mobilenet.lab.studies.tables import write_tables
from mobilenet.lab.studies.task import perform_runs
from mobilenet.record.schema import COLUMNS, FORMAT_VERSION, REQUIRED_FILES
from mobilenet.record.writer import file_digests

HOSTS, DURATION_S = 70, 400.0


def synthetic(directory: Path, run: PlannedRun, deliveries: int) -> None:
    stream = generator(run.seed, "synthetic", run.id)
    messages = deliveries // HOSTS
    sent = np.sort(stream.integers(0, int(DURATION_S * 1e9), messages))
    names = np.array([f"h{i % HOSTS}:{i // HOSTS}" for i in range(messages)])
    delays = (stream.gamma(2.0, 0.1 * (1 + run.configuration), (messages, HOSTS)) * 1e9).astype(np.int64) + 1
    events = pd.DataFrame(
        {
            "time_ns": np.concatenate([np.zeros(HOSTS, np.int64), sent, (sent[:, None] + delays).ravel()]),
            "node": (
                [f"h{i}" for i in range(HOSTS)]
                + [name.partition(":")[0] for name in names]
                + [f"h{i}" for i in range(HOSTS)] * messages
            ),
            "event": ["join"] * HOSTS + ["broadcast"] * messages + ["deliver"] * (messages * HOSTS),
            "message": np.concatenate([np.array([None] * HOSTS), names, np.repeat(names, HOSTS)]),
        }
    )
    table = pa.Table.from_pandas(events.sort_values("time_ns", kind="stable"), preserve_index=False)
    for name in ("station", "session", "detail"):  # columns that studies do not use
        table = table.append_column(name, pa.nulls(table.num_rows, COLUMNS["events"][name]))
    pq.write_table(table, directory / "events.parquet")
    count = 20_000
    times = np.sort(stream.integers(0, int(DURATION_S * 1e9), count))
    node = stream.integers(0, 7, count)
    samples = pd.DataFrame({
        "time_ns": times, "node": [f"s{i}" for i in node], "quantity": "sbuffer",
        "value": stream.integers(0, 60, count).astype(float),
    })  # fmt: skip
    samples.to_parquet(directory / "samples.parquet")
    inside = delays / 1e9
    (directory / "metrics.json").write_text(json.dumps({
        "deliveries": int(delays.size), "delivery_delay_mean_s": float(inside.mean()), "broadcasts_undelivered": 0,
        "delivery_delay_p95_s": float(np.percentile(inside, 95)),
    }))  # fmt: skip
    (directory / "verdict.json").write_text(json.dumps({"verdict": "valid", "checks": {}}))
    for name in REQUIRED_FILES:
        if name != "manifest.json" and not (directory / name).exists():
            (directory / name).write_text("{}")
    window = {"format_version": FORMAT_VERSION, "seed": run.seed, "warmup_s": 0.0, "duration_s": DURATION_S}
    (directory / "manifest.json").write_text(
        json.dumps({**window, "fingerprint": "0" * 64, "files": file_digests(directory)})
    )


def build(folder: Path, runs: int, rows: int) -> tuple[Store, list[PlannedRun]]:
    study = folder / "synthetic.yaml"
    first = Path(__file__).parents[1] / "scenarios" / "first.yaml"
    study.write_text(
        f"scenario: {first}\nfactors: {{workload.interval_s: [1, 2]}}\nreplications: {{min: {runs // 2}}}\n"
    )
    store = create(Study.load(study), folder / "study")
    planned_runs = plan_runs(store.study, [runs // 2] * 2)
    for run in planned_runs:
        (store.runs / run.id).mkdir()
        synthetic(store.runs / run.id, run, rows // runs)
    return store, planned_runs


def measure_all(store: Store, runs: list[PlannedRun]) -> None:
    """Measure the runs in the same way as the tasks of a study."""
    perform_runs(store.path.absolute(), store.study.kind, runs)


def oracle(store: Store, runs: list[PlannedRun]) -> tuple[float, float, int]:
    """Return the largest relative difference in the exact tables, the largest difference in the percentiles of all
    deliveries, and the number of rows.
    """
    exact, approximate, rows = 0.0, 0.0, 0
    summary = pd.read_csv(store.tables / "summary.csv")
    buffers = pd.read_csv(store.tables / "buffers.csv")
    delays = pd.read_csv(store.tables / "delays.csv")
    for configuration in (0, 1):
        own = [run for run in runs if run.configuration == configuration]
        means, pooled, levels = [], [], []
        for run in own:
            events = pq.read_table(store.runs / run.id / "events.parquet").to_pandas()
            sent = events[events["event"] == "broadcast"].set_index("message")["time_ns"]
            deliveries = events[events["event"] == "deliver"]
            delays_s = ((deliveries["time_ns"] - deliveries["message"].map(sent)) / 1e9).to_numpy()
            means.append(delays_s.mean())
            pooled.append(delays_s)
            samples = pq.read_table(store.runs / run.id / "samples.parquet").to_pandas()
            levels.append(_bucket_mean(samples, 10))
        half = stats.t.ppf(0.975, len(own) - 1) * np.std(means, ddof=1) / np.sqrt(len(own))
        row = summary[
            (summary["configuration"] == configuration) & (summary["metric"] == "delivery_delay_mean_s")
        ].iloc[0]
        bucket = buffers[(buffers["configuration"] == configuration) & (buffers["buffer"] == "station_sbuffer")]
        level = bucket[np.isclose(bucket["from_s"], 10 * DURATION_S / 60)].iloc[0]["mean"]
        for ours, theirs in (
            (row["mean"], np.mean(means)),
            (row["low"], np.mean(means) - half),
            (level, np.mean(levels)),
        ):
            exact = max(exact, abs(ours / theirs - 1))
        together = np.concatenate(pooled)
        rows += len(together)
        table = delays[delays["configuration"] == configuration]
        assert set(table["deliveries"]) == {len(together)}
        truth = np.quantile(together, table["share"], method="inverted_cdf")
        approximate = max(approximate, float(np.max(np.abs(table["delay_s"] / truth - 1))))
    return exact, approximate, rows


def _bucket_mean(samples: pd.DataFrame, bucket: int) -> float:
    begin, end = bucket * DURATION_S / 60 * 1e9, (bucket + 1) * DURATION_S / 60 * 1e9
    area = 0.0
    for _, own in samples.groupby("node"):
        edges = np.clip(np.append(own["time_ns"].to_numpy(), np.inf), begin, end)
        area += float((own["value"].to_numpy() * np.diff(edges)).sum())
    return area / (end - begin) / samples["node"].nunique()


class Java(threading.Thread):
    """Records the peak of the resident memory of the Java processes that this script started."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.highest = 0
        self.stop = False

    def run(self) -> None:
        while not self.stop:
            for status in Path("/proc").glob("[0-9]*/status"):
                try:
                    text = status.read_text()
                except OSError:
                    continue
                if text.startswith("Name:\tjava"):
                    self.highest = max(
                        self.highest,
                        *(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("VmHWM")),
                    )
            time.sleep(0.2)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mobilenet-aggregation-") as folder:
        store, runs = build(Path(folder), options.runs, options.rows)
        measure_all(store, runs)
        java = Java()
        java.start()
        started = time.perf_counter()
        with spark_session(local_master(2)) as spark:
            write_tables(store, [options.runs // 2] * 2, spark)
        wall_s = time.perf_counter() - started
        java.stop = True
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        exact, approximate, rows = oracle(store, runs)
    print(f"{rows} deliveries of {options.runs} runs in {wall_s:.0f} s")
    print(
        f"largest relative difference from pandas: {exact:.1e} (1e-9 allowed), of pooled percentiles {approximate:.1e}"
        " (1e-3 allowed)"
    )
    print(
        f"highest memory: {java.highest / 1e6:.0f} MB in Java, {own / 1e6:.0f} MB in Python before the aggregation by"
        " pandas"
    )
    fine = exact <= 1e-9 and approximate <= 1e-3
    print("Next: the figures stand in docs/guide/studies.md" if fine else "MISS")
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
