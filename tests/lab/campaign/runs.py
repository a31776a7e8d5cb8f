"""Draw, run and judge the scenarios of a campaign in separate processes, with one scenario for each seed.

Model     The scenario of each seed (scenarios.py) is run, and the run is judged from its directory. The result is one
          line of results.jsonl. Seeds that already have a line are skipped, so a stopped campaign can continue, and its
          seeds can be divided among several commands. The directory of a run is kept if its verdict is not valid.
Units     CPU seconds
Source    ours: docs/validation/trust.md
"""

from __future__ import annotations

import json
import shutil
import time
import traceback
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import mobilenet
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import Scenario

from .scenarios import NotDrawn, draw_scenario

MOST_EVENTS = 100_000  # about 2 s of CPU time
OUTCOMES = ("not_drawn", "cut_off", "valid", "unknown", "violated", "failed")


def one(seed: int, place: Path) -> dict[str, Any]:
    folder = place / f"seed{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    begin_s = time.process_time()
    try:
        entry = _judge(seed, folder)
    except NotDrawn as error:
        entry = {"outcome": "not_drawn", "why": str(error)[:300]}
    except Exception:
        entry = {"outcome": "failed", "why": traceback.format_exc()[-3000:]}
    if entry["outcome"] not in ("violated", "failed", "unknown"):
        shutil.rmtree(folder)
    return {"seed": seed, **entry, "cpu_s": round(time.process_time() - begin_s, 2)}


def _judge(seed: int, folder: Path) -> dict[str, Any]:
    scenario = draw_scenario(seed, folder, MOST_EVENTS)
    try:
        limited = scenario.with_changes([f"limits.max_events={4 * MOST_EVENTS}"])
        run = mobilenet.run(limited, out=folder / "run", allow_code=True, check_simulator=True)
    except ScenarioError as error:
        if "limits.max_events" in str(error):
            return {"outcome": "cut_off", "why": str(error)[:200]}
        raise
    why = {name: verdict.explanation for name, verdict in run.verdicts.items() if verdict.answer != "valid"}
    kind = scenario.protocol.name if isinstance(scenario, Scenario) else "processes"
    return {"outcome": run.verdict, "protocol": kind, "why": why}


def campaign(seeds: Iterable[int], place: Path, workers: int) -> Iterator[dict[str, Any]]:
    """Yield the results of seeds that are not yet in results.jsonl, in order of completion."""
    place.mkdir(parents=True, exist_ok=True)
    path = place / "results.jsonl"
    done = {result["seed"] for result in results(place)}
    wanted = [seed for seed in seeds if seed not in done]
    if path.exists() and not path.read_bytes().endswith(b"\n"):
        with path.open("a") as file:
            file.write("\n")  # The last line was cut off.
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool, path.open("a", encoding="utf-8") as file:
        for result in pool.map(one, wanted, [place] * len(wanted)):
            file.write(json.dumps(result) + "\n")
            file.flush()
            yield result


def results(place: Path) -> list[dict[str, Any]]:
    """Return the earlier results, except a last line that is incomplete because the campaign was killed."""
    path, entries = place / "results.jsonl", []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            entries.append(json.loads(line))
        except ValueError:
            continue
    return entries
