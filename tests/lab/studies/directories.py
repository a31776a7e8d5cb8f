"""Make, kill and compare directories of studies, and copy the plug-in with the queue for searches."""

from __future__ import annotations

import glob
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from mobilenet.lab.studies.claims import evaluation
from mobilenet.lab.studies.spark import local_master
from mobilenet.lab.studies.study import Result, run_study
from tests.cli.command import COMMAND, FIRST

MODELS = Path(__file__).parent / "capacity"


def nothing(*standing: object) -> None:
    """Ignore reports on the progress of a study."""


def advance_clock(monkeypatch: pytest.MonkeyPatch, has_happened: Callable[[], bool]) -> list[float]:
    """Move the clock of claims forward by an hour as soon as something has happened. The returned list contains the
    time at which it happened.
    """
    at_s: list[float] = []

    def monotonic() -> float:
        now_s = time.monotonic()
        if not at_s and has_happened():
            at_s.append(now_s)
        return now_s + 3600 * len(at_s)

    monkeypatch.setattr(evaluation, "time", SimpleNamespace(monotonic=monotonic))
    return at_s


def run(study: Any, out: Path, progress: Any = nothing, workers: int = 2, **how: Any) -> Result:
    return run_study(study, out, local_master(workers), progress, **how)


def study_in(folder: Path, more: str = "", scenario: object = FIRST, duration_s: int = 5) -> Path:
    """Write a study file and return its path. The study has two replications, unless `more` contains another number."""
    file = folder / "study.yaml"
    least = "" if "replications:" in more else "replications: {min: 2}\n"
    file.write_text(f"scenario: {scenario}\nset: {{duration_s: {duration_s}}}\n{least}{more}")
    return file


def of_runs(values: dict[tuple[int, str], dict[int, float]]) -> pd.DataFrame:
    """Return a table with a row for each configuration and replication, and a column for each metric."""
    flat = {(c, r, metric): value for (c, metric), own in values.items() for r, value in own.items()}
    return pd.Series(flat, dtype=float).unstack().rename_axis(["configuration", "replication"])


def tables_of(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in (*path.glob("tables/*"), *path.glob("*.csv"))}


def manifests(place: Path) -> dict[Path, int]:
    """Return the time at which each run below this folder was written."""
    # pathlib raises an error if a folder is removed in the meantime.
    there = glob.glob(f"{place}/**/runs/c*/manifest.json", recursive=True)
    return {path: path.stat().st_mtime_ns for path in map(Path, there)}


def kill(*words: object, place: Path, runs: int) -> dict[Path, int]:
    """Kill a command with one worker, including its Java process, as soon as `runs` runs are complete. Return the
    manifests of these runs.
    """
    process = subprocess.Popen(
        [*COMMAND, *map(str, words), "--workers", "1", "--quiet"],
        cwd=place, start_new_session=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    while process.poll() is None and len(manifests(place)) < runs:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert len(manifests(place)) >= runs
    return manifests(place)


def copy_queue(folder: Path, at_start: str = "") -> Path:
    """Copy the plug-in with the queue into a folder. Each of its hosts first executes the statement `at_start`."""
    shutil.copy(MODELS / "queue.yaml", folder)
    first = "super().__init__(*parts)\n"
    code = (MODELS / "queue.py").read_text()
    assert first in code
    (folder / "queue.py").write_text(code.replace(first, f"{at_start}\n        {first}", 1) if at_start else code)
    return folder
