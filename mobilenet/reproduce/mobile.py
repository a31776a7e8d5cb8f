"""Section V of the mobile paper: every printed figure beside ours, with an interval.

Model     two studies (static_comparison.yaml, dynamic_comparison.yaml), run or taken as they are; ours is the mean over
          replications with its t interval. `fits`: our mean lies in what the printed figure can mean; else the factor
          by which it is off. The recovery of s3 after each fault (Figure 8b) is read from the samples of each run
Units     those of the metrics
Errors    StudyError, ScenarioError
Source    Wilhelm, Arantes, Sens (2020), section V; data/papers/wilhelm2020_mobile.csv; ours: DESIGN.md §10
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mobilenet.study.batch import Progress
from mobilenet.study.statistics import t_interval
from mobilenet.study.store import open_store, write_rows, write_text
from mobilenet.study.study import read_rows, run_study

ROOT = Path(__file__).parents[2]
PRINTED = ROOT / "data" / "papers" / "wilhelm2020_mobile.csv"
STUDIES = {name: ROOT / "scenarios" / "studies" / f"{name}_comparison.yaml" for name in ("static", "dynamic")}
LOOK_S = 5.0  # before each fault, the mean SBuffer of s3 over so long


@dataclass(frozen=True, slots=True)
class Line:
    experiment: str
    protocol: str
    quantity: str
    printed: str
    ours: str
    verdict: str
    place: str


def reproduce(out: Path, master: str, progress: Progress, say: Callable[[str], None]) -> list[Line]:
    """Run what is missing of both studies, and hold them against the paper; writes OUT/mobile.csv, .parquet and .md."""
    for name, file in STUDIES.items():
        say(f"study {name}: {out / name}")
        run_study(file, out / name, master, progress, say)
    lines = [*printed_lines(out), *recovery_lines(out / "dynamic")]
    rows = [{field: getattr(line, field) for field in Line.__slots__} for line in lines]
    write_rows(out, "mobile", rows)
    write_text(out / "mobile.md", markdown(lines))
    return lines


def printed_lines(out: Path) -> Iterator[Line]:
    summaries = {name: read_rows(out / name / "tables" / "summary.csv") for name in STUDIES}
    with PRINTED.open(newline="", encoding="utf-8") as file:
        for printed in csv.DictReader(file):
            experiment = printed["experiment"]
            row = next(
                row for row in summaries[printed["study"]]
                if row["protocol.name"] == printed["protocol"] and row["metric"] == printed["metric"] and _is(row, experiment)
            )  # fmt: skip
            ours, verdict = held_against(row, printed["low"], printed["high"])
            name = f"static, a message each {experiment} s" if printed["study"] == "static" else experiment
            yield Line(name, printed["protocol"], printed["metric"], printed["printed"], ours, verdict, printed["place"])


def _is(row: dict[str, str], experiment: str) -> bool:
    if "workload.interval_s" in row:
        return float(row["workload.interval_s"]) == float(experiment)
    return (row["faults"] == "null") == (experiment == "walking")


def held_against(row: dict[str, str], low: str, high: str) -> tuple[str, str]:
    """Our figure for people, and what it is to the printed one."""
    if row["label"] == "unstable":
        return "unstable", "no mean: the backlog grows" if low else ""
    mean = float(row["mean"])
    ours = f"{mean:.3g} ± {(float(row['high']) - mean):.2g}" if row["high"] else f"{mean:.3g}"
    if not low:
        return ours, ""
    if float(low) <= mean <= float(high):
        return ours, "fits"
    nearest = float(low) if mean < float(low) else float(high)
    return ours, f"{mean / nearest:.2g} times" if nearest else "above"


def recovery_lines(study: Path) -> Iterator[Line]:
    """SBuffer of s3 before each fault, and before the next one."""
    import pandas as pd

    store = open_store(study)
    for configuration in store.configurations:
        faults = configuration.levels["faults"]
        if faults is None:
            continue
        protocol = configuration.levels["protocol.name"]
        before: dict[int, list[float]] = {}
        for directory in sorted(store.runs.glob(f"c{configuration.number:03d}-r*")):
            samples = pd.read_parquet(directory / "samples.parquet")
            rows = samples[(samples["node"] == faults["station"]) & (samples["quantity"] == "sbuffer")]
            times, values = rows["time_ns"].to_numpy() / 1e9, rows["value"].to_numpy()
            at, number = float(faults["first_at_s"]), 0
            while at < times[-1] and at < 250:
                before.setdefault(number, []).append(step_mean(times, values, at - LOOK_S, at))
                at, number = at + faults["every_s"], number + 1
        for number in range(len(before) - 1):
            first, then = (t_interval(np.array(before[n])) for n in (number, number + 1))
            outage_s = faults["first_duration_s"] + number * faults["duration_step_s"]
            yield Line(
                "faults", protocol, f"SBuffer of s3 around an outage of {outage_s:g} s",
                "back a few seconds after, up to 8 s", f"{first.mean:.3g} ± {first.half_width:.2g} before, "
                f"{then.mean:.3g} ± {then.half_width:.2g} before the next", _recovered(first.mean, then.mean), "V.C, Figure 8b",
            )  # fmt: skip


def _recovered(before: float, after: float) -> str:
    return "recovers" if after <= 2 * max(before, 1.0) else f"{after / before:.2g} times"


def step_mean(times: Any, values: Any, begin: float, end: float) -> float:
    """Of a step function that is 0 before its first value."""
    inside = (times > begin) & (times < end)
    start = np.searchsorted(times, begin, side="right") - 1
    edges = np.concatenate([[begin], times[inside], [end]])
    levels = np.concatenate([[values[start] if start >= 0 else 0.0], values[inside]])
    return float((levels * np.diff(edges)).sum() / (end - begin))


def markdown(lines: list[Line]) -> str:
    head = "| experiment | protocol | quantity | in print | ours | | where |\n|---|---|---|---|---|---|---|\n"
    body = "".join(f"| {' | '.join(getattr(line, field) for field in Line.__slots__)} |\n" for line in lines)
    return head + body
