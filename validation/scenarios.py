"""Run every scenario at full length with many seeds: is each run valid, does it come to rest, and do enough events
happen in it?

    python -m validation.scenarios [--seeds 20] [--processes 2] [--only NAME ...]

Model     each run adds one line to runs/validation.jsonl. If there is already a line for the same code, scenario and
          seed, the run is not repeated, so a validation that was stopped can be resumed. "The same code" means the
          same digest of all sources and of the scenario with the files that it names
Asserts   all runs are valid and quiescent. dynamic: there are at least 100 handoffs in every seed; over all seeds, some
          are superseded, some have recovered messages and some have skipped messages. faults: after outages of up to 8
          s, the mean SBuffer of s3 in the last 5 s before the next crash is at most twice its mean in the 5 s before
          the crash, averaged over all seeds
Writes    docs/validation/scenarios.md, unless --only leaves some scenarios out
Errors    exit status 1, with a line for each assertion that failed
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

from mobilenet import api
from mobilenet.engine.clock import SECOND
from mobilenet.lab.studies.papers.jobs import digest_of_code
from mobilenet.metrics.buffers import steps, time_weighted_mean
from mobilenet.record.reader import read_columns
from mobilenet.scenario import Scenario

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "runs" / "validation.jsonl"
PAGE = ROOT / "docs" / "validation" / "scenarios.md"
HEAD = """\
# All shipped scenarios

    make validate-scenarios

This command generates the page. It runs every scenario of `scenarios/` at full length with {seeds}
seeds and judges each run; `validation/scenarios.py` defines what else must hold.
{runs} runs, {seconds:.0f} s of processor time.

**{verdict}**

| scenario | valid and at rest | handoffs a seed: least, mean | superseded | with recovered | with skipped \
| mean delay |
|---|---|---|---|---|---|---|
"""
LOOK_S = 5.0  # length of the period before a crash in which the buffer is observed
LONGEST_OUTAGE_S = 8.0
Row = dict[str, Any]


def scenarios() -> list[Path]:
    return sorted((ROOT / "scenarios").glob("*.yaml"))


def digest_of(path: Path) -> str:
    digest = hashlib.sha256(path.read_bytes())
    for _, file in Scenario.load(path).files():
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def outcome(result: api.Run) -> Row:
    return {
        "verdict": result.verdict,
        "why": next((f"{name}: {v.explanation}" for name, v in result.verdicts.items() if v.answer != "valid"), ""),
        "quiescent": result.manifest["quiescent"],
        "fingerprint": result.manifest["fingerprint"],
        "metrics": result.metrics,
    }


def known_rows(results: Path, code: str) -> Iterator[Row]:
    """Return the rows of earlier runs with the same code."""
    for line in results.read_text(encoding="utf-8").splitlines() if results.exists() else []:
        try:
            row = json.loads(line)
        except ValueError:  # this row was cut off when the process was killed
            continue
        if row["code"] == code:
            yield row


def run(path: Path, seed: int) -> Row:
    """Run a scenario, judge the run, and remove its directory. Return the row for the table and the assertions."""
    began = time.process_time()
    with tempfile.TemporaryDirectory() as place:
        result = api.run(path, seed, Path(place, "run"))
        row = outcome(result)
        if path.stem == "faults":
            row["sbuffer_before_crashes"] = sbuffer_before_crashes(
                read_columns(result.path, "samples"), Scenario.load(path)
            )
    row["cpu_s"] = round(time.process_time() - began, 2)
    return row


def sbuffer_before_crashes(samples: dict[str, list[Any]], scenario: Scenario) -> list[tuple[float, float]]:
    """For each planned outage, return its duration and the mean SBuffer of its station in the last seconds before
    it.
    """
    faults: Any = scenario.faults
    times, values = steps(samples, "s", "sbuffer")[faults.station]
    means = []
    at_s, lasts_s = faults.first_at_s, faults.first_duration_s
    while at_s < scenario.duration_s:
        begin, end = round((at_s - LOOK_S) * SECOND), round(at_s * SECOND)
        means.append((lasts_s, time_weighted_mean(times, values, begin, end)))
        at_s, lasts_s = at_s + faults.every_s, lasts_s + faults.duration_step_s
    return means


def missing(paths: list[Path], seeds: int, code: str) -> tuple[dict[tuple[str, int], Row], list[tuple[Path, int, str]]]:
    """Return the rows that already exist, and the runs that are missing."""
    there = {(row["scenario"], row["digest"], row["seed"]): row for row in known_rows(RESULTS, code)}
    done: dict[tuple[str, int], Row] = {}
    todo = []
    for path in paths:
        digest = digest_of(path)
        for seed in range(1, seeds + 1):
            row = there.get((path.stem, digest, seed))
            if row is None:
                todo.append((path, seed, digest))
            else:
                done[path.stem, seed] = row
    return done, todo


def compute(todo: list[tuple[Path, int, str]], processes: int, code: str) -> Iterator[Row]:
    with ProcessPoolExecutor(processes) as pool:
        jobs = {pool.submit(run, path, seed): (path.stem, seed, digest) for path, seed, digest in todo}
        for job in as_completed(jobs):
            scenario, seed, digest = jobs[job]
            yield {"code": code, "scenario": scenario, "digest": digest, "seed": seed, **job.result()}


def table(rows: list[Row]) -> Iterator[str]:
    head = (
        "scenario      seeds  valid  quiescent  handoffs min  mean    superseded  with recovered  with skipped  delay s"
        "  CPU s"
    )
    yield head
    for name in sorted({row["scenario"] for row in rows}):
        own = [row for row in rows if row["scenario"] == name]
        figures = [row["metrics"] for row in own]
        handoffs = [row["handoffs"] for row in figures]
        delays = [row["delivery_delay_mean_s"] for row in figures if row["delivery_delay_mean_s"] is not None]
        yield (
            f"{name:12}  {len(own):5}  {sum(row['verdict'] == 'valid' for row in own):5} "
            f" {sum(row['quiescent'] for row in own):9}  {min(handoffs):12}  {mean(handoffs):<6.1f} "
            f" {sum(row.get('handoffs_superseded', 0) for row in figures):10} "
            f" {sum(row.get('handoffs_with_recovered', 0) for row in figures):14} "
            f" {sum(row.get('handoffs_with_skipped', 0) for row in figures):12} "
            f" {format(mean(delays), '7.3f') if delays else '      –'}  {sum(row['cpu_s'] for row in own):5.0f}"
        )


def page(rows: list[Row]) -> str:
    """Return the text of docs/validation/scenarios.md. Scenarios whose hosts cannot change cells do not have
    handoffs.
    """
    all_objections = list(objections(rows))
    verdict = "All is as it should be." if not all_objections else f"{len(all_objections)} objections, below."
    seeds = len({row["seed"] for row in rows})
    text = HEAD.format(seeds=seeds, runs=len(rows), seconds=sum(row["cpu_s"] for row in rows), verdict=verdict)
    for name in sorted({row["scenario"] for row in rows}):
        own = [row for row in rows if row["scenario"] == name]
        figures = [row["metrics"] for row in own]
        good = sum(row["verdict"] == "valid" and row["quiescent"] for row in own)
        handoffs = [row["handoffs"] for row in figures]
        cells = [name, f"{good} of {len(own)}", "–", "", "", ""]
        if None not in handoffs and any(handoffs):
            sums = (
                sum(row.get(quantity) or 0 for row in figures) if any(quantity in row for row in figures) else "–"
                for quantity in ("handoffs_superseded", "handoffs_with_recovered", "handoffs_with_skipped")
            )
            cells = [*cells[:2], f"{min(handoffs)}, {mean(handoffs):.1f}", *map(str, sums)]
        delays = [row["delivery_delay_mean_s"] for row in figures if row["delivery_delay_mean_s"] is not None]
        text += f"| {' | '.join([*cells, f'{mean(delays):.3g} s' if delays else '']).rstrip()} |\n"
    if any(row["scenario"] == "faults" for row in rows):
        text += "\n## The buffer of a station whose host is down\n\n"
        text += "`faults.yaml`, SBuffer of s3 in the 5 s before a crash and before the next one, means over seeds.\n\n"
        text += "| outage | before it | before the next one |\n|---|---|---|\n"
        text += "".join(f"| {lasts:g} s | {before:.1f} | {after:.1f} |\n" for lasts, before, after in outages(rows))
    if all_objections:
        text += "\n## Objections\n\n" + "".join(f"- {each}\n" for each in all_objections)
    return text


def outages(rows: list[Row]) -> list[tuple[float, float, float]]:
    """Return (duration, mean SBuffer before the crash, mean SBuffer before the next crash) for each outage, averaged
    over all runs of faults.yaml.
    """
    runs = [row["sbuffer_before_crashes"] for row in rows if row["scenario"] == "faults"]
    means = [(column[0][0], mean(value for _, value in column)) for column in zip(*runs, strict=True)]
    return [(lasts_s, before, after) for (lasts_s, before), (_, after) in pairwise(means)]


def objections(rows: list[Row]) -> Iterator[str]:
    for row in rows:
        if row["verdict"] != "valid" or not row["quiescent"]:
            yield (
                f"{row['scenario']} with seed {row['seed']} is {row['verdict']}, quiescent: {row['quiescent']};"
                f" {row['why']}"
            )
    dynamic = [row for row in rows if row["scenario"] == "dynamic"]
    for row in dynamic:
        if row["metrics"]["handoffs"] < 100:
            yield f"dynamic with seed {row['seed']} has {row['metrics']['handoffs']} handoffs, expected 100 or more"
    for quantity in ("handoffs_superseded", "handoffs_with_recovered", "handoffs_with_skipped"):
        if dynamic and not sum(row["metrics"][quantity] for row in dynamic):
            yield f"dynamic: no {quantity} with any seed"
    for lasts_s, before, after in outages(rows):
        if lasts_s <= LONGEST_OUTAGE_S and after > 2 * before:
            yield (
                f"faults: SBuffer of the station is {after:.1f} before the crash after an outage of {lasts_s:g} s,"
                f" {before:.1f} before it"
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", nargs="*", metavar="NAME", choices=[path.stem for path in scenarios()])
    options = parser.parse_args()
    paths = [path for path in scenarios() if not options.only or path.stem in options.only]
    code = digest_of_code()
    done, todo = missing(paths, options.seeds, code)
    print(f"{len(done)} runs are known, {len(todo)} to go", flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a", encoding="utf-8") as file:
        for row in compute(todo, options.processes, code):
            file.write(json.dumps(row) + "\n")
            file.flush()
            done[row["scenario"], row["seed"]] = row
            print(
                f"{row['scenario']} seed {row['seed']}: {row['verdict']}, {row['cpu_s']:.0f} s",
                file=sys.stderr,
                flush=True,
            )
    rows = [done[key] for key in sorted(done)]
    print("\n".join(table(rows)))
    for lasts_s, before, after in outages(rows):
        print(
            f"faults: outage of {lasts_s:4g} s: SBuffer of the station {before:6.1f} before, {after:6.1f} before the"
            " next one"
        )
    all_objections = list(objections(rows))
    print("\n".join(all_objections) if all_objections else "all is as it should be")
    if not options.only:
        PAGE.write_text(page(rows), encoding="utf-8")
        print(f"Next: read {PAGE.relative_to(ROOT)}")
    return 1 if all_objections else 0


if __name__ == "__main__":
    sys.exit(main())
