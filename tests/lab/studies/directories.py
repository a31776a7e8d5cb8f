"""Make, kill and compare study directories, and copy the plug-in with a queue for searches."""

from __future__ import annotations

import glob
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pandas as pd

from mobilenet.lab.studies.spark import local_master
from mobilenet.lab.studies.study import Result, run_study
from tests.cli.command import COMMAND, FIRST

MODELS = Path(__file__).parent / "capacity"


def nothing(*standing: object) -> None:
    """Ignore the progress of a study."""


def run(study: Any, out: Path, progress: Any = nothing, workers: int = 2, **how: Any) -> Result:
    return run_study(study, out, local_master(workers), progress, **how)


def study_in(folder: Path, more: str = "", scenario: object = FIRST, duration_s: int = 5) -> Path:
    """Write a study file; it has two replications, unless `more` has others."""
    file = folder / "study.yaml"
    least = "" if "replications:" in more else "replications: {min: 2}\n"
    file.write_text(f"scenario: {scenario}\nset: {{duration_s: {duration_s}}}\n{least}{more}")
    return file


def of_runs(values: dict[tuple[int, str], dict[int, float]]) -> pd.DataFrame:
    """Return (configuration, metric) -> replication -> value, the input of findings."""
    flat = {(c, r, metric): value for (c, metric), own in values.items() for r, value in own.items()}
    return pd.Series(flat, dtype=float).unstack().rename_axis(["configuration", "replication"])


def tables_of(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in (*path.glob("tables/*"), *path.glob("*.csv"))}


def manifests(place: Path) -> dict[Path, int]:
    """Return when each run below this folder was written."""
    there = glob.glob(f"{place}/**/runs/c*/manifest.json", recursive=True)  # pathlib raises where a folder goes
    return {path: path.stat().st_mtime_ns for path in map(Path, there)}


def kill(*words: object, place: Path, runs: int) -> dict[Path, int]:
    """Kill a command with one worker and its Java when this many runs are complete; return these runs."""
    process = subprocess.Popen(
        [*COMMAND, *map(str, words), "--workers", "1", "--quiet"],
        cwd=place, start_new_session=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and len(manifests(place)) < runs:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert len(manifests(place)) >= runs
    return manifests(place)


def copy_queue(folder: Path, at_start: str = "") -> Path:
    """Copy the plug-in; each of its hosts begins with the statement `at_start`."""
    shutil.copy(MODELS / "queue.yaml", folder)
    first = "super().__init__(*parts)\n"
    code = (MODELS / "queue.py").read_text()
    assert first in code
    (folder / "queue.py").write_text(code.replace(first, f"{at_start}\n        {first}", 1) if at_start else code)
    return folder
