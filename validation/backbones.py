"""Check dynamic.yaml and faults.yaml at full length, with many seeds, on each backbone over VCube: is each run valid,
and does it come to rest?

    python -m validation.backbones [--seeds 20] [--processes N] [--only KIND ...]

Model     each run adds one line to runs/backbones.jsonl. If there is already a line for the same code, scenario, kind
          and seed, the run is not repeated, so a validation that was stopped can be resumed
Errors    exit status 1, with a line for each run that is not valid or not at rest
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from statistics import mean

from mobilenet import api
from mobilenet.lab.studies.papers.jobs import digest_of_code
from validation.scenarios import ROOT, Row, digest_of, known_rows, outcome

RESULTS = ROOT / "runs" / "backbones.jsonl"
SCENARIOS = ("dynamic", "faults")
KINDS = ("vcube_best_effort", "vcube_reliable", "vcube_causal")


def run(scenario: str, kind: str, seed: int) -> Row:
    began = time.process_time()
    with tempfile.TemporaryDirectory() as place:
        overrides = [f"stations.backbone.kind={kind}"]
        result = api.run(ROOT / "scenarios" / f"{scenario}.yaml", seed, Path(place, "run"), overrides=overrides)
        return outcome(result) | {
            "suspicions": result.counters["wired"].get("suspicions", 0),
            "cpu_s": round(time.process_time() - began, 2),
        }


def digest() -> str:
    return "-".join([digest_of_code(), *(digest_of(ROOT / "scenarios" / f"{name}.yaml") for name in SCENARIOS)])


def table(rows: list[Row]) -> Iterator[str]:
    yield (
        "scenario  backbone           seeds  valid  quiescent  handoffs min  mean    delay s  wired messages  bytes    "
        " suspicions  CPU s"
    )
    for scenario in SCENARIOS:
        for kind in KINDS:
            own = [row for row in rows if (row["scenario"], row["kind"]) == (scenario, kind)]
            if own:
                figures = [row["metrics"] for row in own]
                handoffs = [row["handoffs"] for row in figures]
                yield (
                    f"{scenario:8}  {kind:17}  {len(own):5}  {sum(row['verdict'] == 'valid' for row in own):5} "
                    f" {sum(row['quiescent'] for row in own):9}  {min(handoffs):12}  {mean(handoffs):<6.1f} "
                    f" {mean(row['delivery_delay_mean_s'] for row in figures):7.3f} "
                    f" {mean(row['wired_messages'] for row in figures):14.0f} "
                    f" {mean(row['wired_bytes'] for row in figures):8.0f}  {sum(row['suspicions'] for row in own):10} "
                    f" {sum(row['cpu_s'] for row in own):5.0f}"
                )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", nargs="*", metavar="KIND", choices=KINDS)
    options = parser.parse_args()
    code = digest()
    keys = [(s, k, seed) for seed in range(1, options.seeds + 1) for s in SCENARIOS for k in options.only or KINDS]
    rows = {(row["scenario"], row["kind"], row["seed"]): row for row in known_rows(RESULTS, code)}
    done = {key: row for key, row in rows.items() if key in keys}
    todo = [key for key in keys if key not in done]
    print(f"{len(done)} runs are known, {len(todo)} to go", flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a", encoding="utf-8") as file, ProcessPoolExecutor(options.processes) as pool:
        jobs = {pool.submit(run, *key): key for key in todo}
        for job in as_completed(jobs):
            scenario, kind, seed = key = jobs[job]
            row = done[key] = {"code": code, "scenario": scenario, "kind": kind, "seed": seed, **job.result()}
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(
                f"{scenario} on {kind}, seed {seed}: {row['verdict']}, {row['cpu_s']:.0f} s",
                file=sys.stderr,
                flush=True,
            )
    rows = [done[key] for key in sorted(done)]
    print("\n".join(table(rows)))
    wrong = [row for row in rows if row["verdict"] != "valid" or not row["quiescent"]]
    for row in wrong:
        print(
            f"{row['scenario']} on {row['kind']}, seed {row['seed']}: {row['verdict']}, quiescent: {row['quiescent']};"
            f" {row['why']}"
        )
    print("" if wrong else "all is as it should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
