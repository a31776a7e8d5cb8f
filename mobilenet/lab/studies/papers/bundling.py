"""Tables 2 to 5 of the bundling paper: every printed figure with ours.

Model     full simulations of scenarios/vcube/bundling.yaml with the configurations of
          scenarios/studies/vcube_bundling.yaml. Tables 2 to 4 are deterministic. Table 5: log2(n)-1 random crashes at
          whole times in [0, log2 n] (the paper does not give the times), ten replications, mean with its t interval
Units     time units; messages
Errors    ScenarioError, StudyError
Source    Rodrigues et al. (LADC 2018), section 6; data/papers/rodrigues2018_bundling.csv; ours: docs/protocols/vcube.md
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mobilenet.engine.clock import SECOND
from mobilenet.lab import shipped
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.papers.agreement import document, percent, verdict_against
from mobilenet.lab.studies.papers.jobs import (
    Job,
    Result,
    in_markdown,
    perform_all,
    prepare,
    say_what_is_not_valid,
    sizes,
    stamping_of_jobs,
)
from mobilenet.lab.studies.rows import write_rows
from mobilenet.lab.studies.statistics import t_interval
from mobilenet.record.whole import write_whole
from mobilenet.scenario.yaml_writer import inline

PRINTED = shipped.PAPERS / "rodrigues2018_bundling.csv"
STUDY = shipped.SCENARIOS / "studies" / "vcube_bundling.yaml"
SHARED = 16  # processes, and messages, of Table 2
REPLICATIONS = 10
WATCHED = ("SMALL2", "BIG2")  # of which Figure 4 shows the packets of p0
HEAD = (
    "table",
    "size",
    "configuration",
    "scenario",
    "quantity",
    "printed",
    "ours",
    "difference",
    "percent",
    "verdict",
    "model",
    "note",
)
Key = tuple[Any, ...]


def reproduce(
    out: Path, max_n: int, processes: int | None, workers: int | None, say: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Run everything, hold it against print, write OUT/bundling.csv, .parquet and .md, and what p0 sent to
    OUT/bundling_packets.csv.
    """
    run_sizes = sizes(max_n, processes)
    jobs = list(_jobs(run_sizes))
    with stamping_of_jobs("bundling", jobs, max_n, processes):
        prepare(out, jobs, "bundling.results.jsonl")
        results = perform_all(jobs, workers, say, out / "bundling.results.jsonl")
        say_what_is_not_valid(results, say)
        rows = list(_rows(results, run_sizes))
        write_rows(out, "bundling", rows)
        write_rows(out, "bundling_packets", list(_packets(results, max(run_sizes))))
        title = "Rodrigues et al. (LADC 2018), tables 2 to 5"
        write_whole(out / "bundling.md", in_markdown(document(title, HEAD, rows)))
    return rows


def configurations() -> dict[str, tuple[str, ...]]:
    """Name -> changes of the scenario."""
    levels: Any = Study.load(STUDY).levels("bundles")
    return {level["name"]: tuple(f"{key}={inline(value)}" for key, value in level.items()) for level in levels}


def _jobs(run_sizes: list[int]) -> Iterator[Job]:
    for name, changes in configurations().items():
        for trees in (1 << k for k in range(SHARED.bit_length())) if SHARED in run_sizes else ():
            shared = (f"processes={SHARED}", f"workload.sources={trees}", f"workload.messages={SHARED // trees}")
            yield Job((2, trees, name, "fault-free"), "bundling.yaml", (*changes, *shared))
        for n in run_sizes:
            size = (*changes, f"processes={n}")
            d = (n - 1).bit_length()
            yield Job(
                (3, n, name, "fault-free"), "bundling.yaml", size, is_watched=n == max(run_sizes) and name in WATCHED
            )
            yield Job((3, n, name, "p1 faulty"), "bundling.yaml", (*size, "faults=[{process: p1, at: 0}]"))
            for seed in range(1, REPLICATIONS + 1) if d > 1 else ():
                crashes = f"random_faults={{count: {d - 1}, latest: {d}}}"
                yield Job((5, n, name, "random faults"), "bundling.yaml", (*size, crashes, f"seed={seed}"))


def _rows(results: dict[Key, list[Result]], run_sizes: list[int]) -> Iterator[dict[str, Any]]:
    printed = _printed_values()
    for key, group in results.items():
        table, size, name, scenario = key
        for quantity in ("latency",) if table == 5 else ("latency", "messages"):
            number = 4 if table == 3 and quantity == "messages" else table
            paper = printed.get((number, size, name, scenario, quantity))
            values = np.array([result.metrics[quantity] for result in group], dtype=np.float64)
            yield _row((number, size, name, scenario, quantity), paper, values)


def _packets(results: dict[Key, list[Result]], n: int) -> Iterator[dict[str, Any]]:
    """What p0 sent, packet by packet."""
    for name in WATCHED:
        (result,) = results[3, n, name, "fault-free"]
        assert result.watched is not None
        for number, (time_ns, messages, size_bytes) in enumerate(result.watched["packets"], 1):
            yield {
                "size": n,
                "configuration": name,
                "packet": number,
                "time": time_ns / SECOND,
                "messages": messages,
                "size_bytes": size_bytes,
            }


def _printed_values() -> dict[Key, dict[str, str]]:
    with PRINTED.open(newline="", encoding="utf-8") as file:
        return {
            (int(r["table"]), int(r["size"]), r["configuration"], r["scenario"], r["quantity"]): r
            for r in csv.DictReader(file)
        }


def _row(key: Key, paper: dict[str, str] | None, values: Any) -> dict[str, Any]:
    mean, half = float(values.mean()), None
    model = "deterministic"
    if len(values) > 1:
        half = t_interval(values).half_width
        model = f"mean of {len(values)} runs, 95 % interval"
    in_print = float(paper["printed"]) if paper is not None else None
    difference = None if in_print is None else round(mean - in_print, 2)
    row: dict[str, Any] = dict(zip(HEAD[:5], key, strict=True))
    row["printed"] = (
        "" if paper is None else paper["printed"] + (f" ± {paper['half_width']}" if paper["half_width"] else "")
    )
    row["ours"] = f"{mean:.10g}" if half is None else f"{mean:.1f} ± {half:.1f}"
    row["difference"] = difference
    row |= {"percent": percent(difference, paper), "verdict": verdict_against(mean, half, paper)}
    return row | {"model": model, "note": "" if paper is None else paper["note"]}
