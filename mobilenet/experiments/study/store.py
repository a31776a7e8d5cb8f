"""The directory of a study: whose it is, what is to be run, what has been.

Model     study.yaml                      the study with its defaults; written last, so its presence says that the
          rest is there configurations/c000/            the effective scenario of each configuration, with copies of
          the files it names runs.parquet, runs.csv          one row per planned run and its state: planned, done or
          failed runs/c000-r0001/                run directories; complete or absent
          failed/c000-r0001.json          why a run failed; gone when it succeeds
          tables/, comparison.json, ...   what aggregation and comparison make of it (aggregate.py, report.py)
          What is done is decided by looking at the disk alone, so a killed study goes on where it stood
Errors    StudyError: not a study's directory, another study's, or in use by another process
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import csv
import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mobilenet.api import write_scenario
from mobilenet.experiments.study.configurations import (
    Configuration,
    PlannedRun,
    combinations,
    configurations,
    shown_level,
    table_level,
)
from mobilenet.experiments.study.declaration import Study, effective_study
from mobilenet.parameters import ScenarioError
from mobilenet.rundir.reader import RunError, read_manifest, require_files
from mobilenet.rundir.schema import DERIVED_FILES
from mobilenet.rundir.writer import write_json
from mobilenet.scenario import AnyScenario, load_scenario

MOST_DIFFERENCES = 5


class StudyError(ScenarioError):
    """What is wrong with a study's directory, or with the Spark it is to run on."""


class Store:
    """An opened study directory."""

    def __init__(self, path: Path, study: Study, configurations: list[Configuration]) -> None:
        self.path = path
        self.study = study
        self.configurations = configurations

    @property
    def runs(self) -> Path:
        return self.path / "runs"

    @property
    def tables(self) -> Path:
        return self.path / "tables"

    def scenario_of(self, configuration: int) -> Path:
        return self.path / "configurations" / f"c{configuration:03d}" / "scenario.yaml"

    def state(self, run: PlannedRun) -> tuple[str, str | None]:
        """planned, done or failed, and why."""
        if is_done(self.runs / run.id, run.seed):
            return "done", None
        failure = self.path / "failed" / f"{run.id}.json"
        if failure.exists():
            with failure.open(encoding="utf-8") as file:
                return "failed", str(json.load(file)["error"])
        return "planned", None

    def write_runs(self, runs: list[PlannedRun]) -> list[dict[str, Any]]:
        """runs.parquet and runs.csv, as the disk is now; the rows."""
        rows = []
        for run in sorted(runs, key=lambda run: run.id):
            state, error = self.state(run)
            levels = self.configurations[run.configuration].levels
            rows.append(
                {"run": run.id, "configuration": run.configuration}
                | {factor: table_level(level) for factor, level in levels.items()}
                | {"replication": run.replication, "seed": run.seed, "state": state, "error": error}
            )
        write_rows(self.path, "runs", rows)
        return rows

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Two processes must not work on one study."""
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise StudyError(f"{self.path}: another process is at work on this study; wait for it or stop it") from None
        finally:
            os.close(descriptor)


def is_done(directory: Path, seed: int) -> bool:
    """Whether the whole run is there, as it was written."""
    try:
        manifest = read_manifest(directory)
        require_files(directory, manifest)
        return bool(manifest["seed"] == seed) and all((directory / name).is_file() for name in DERIVED_FILES)
    except RunError:
        return False


def create(study: Study, path: Path, allow_code: bool = False) -> Store:
    """A new directory for a study, or the one that it has begun."""
    found = configurations(study, allow_code)
    text = effective_study(study.model_copy(update={"scenario": "configurations/c000/scenario.yaml"}))
    if (path / "study.yaml").is_file():
        _require_same(path, study, found)
    elif path.exists() and (
        not path.is_dir() or any(child for child in path.iterdir() if child.name != "configurations")
    ):
        raise StudyError(f"{path}: exists and is no study; name another directory with --out")
    store = Store(path, study, found)
    try:
        for configuration in found:
            target = store.scenario_of(configuration.number)
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                write_scenario(target.parent, _scenario(study, configuration))
        store.runs.mkdir(exist_ok=True)
        (path / "failed").mkdir(exist_ok=True)
        write_text(path / "study.yaml", text)
    except OSError as error:
        raise StudyError(f"{path}: cannot be written: {error.strerror}") from None
    return store


def open_store(path: Path) -> Store:
    """The directory of a study that was begun."""
    if not (path / "study.yaml").is_file():
        raise StudyError(f"{path}: no study directory; it has no study.yaml")
    study = Study.load(path / "study.yaml")
    return Store(path, study, [Configuration(n, levels, ()) for n, levels in enumerate(combinations(study))])


def _scenario(study: Study, configuration: Configuration) -> AnyScenario:
    return load_scenario(study.scenario_path, configuration.overrides)


def _require_same(path: Path, study: Study, found: list[Configuration]) -> None:
    """More replications or another comparison go on with what is there; anything else would mix two studies."""
    old = Study.load(path / "study.yaml")
    differences = [
        f"{key} was {shown_level(before)}, is {shown_level(after)}"
        for key, before, after in _differences(_core(old), _core(study))
    ]
    if not differences:
        for configuration in found:
            file = path / "configurations" / f"c{configuration.number:03d}" / "scenario.yaml"
            if file.is_file():
                stored = load_scenario(file)
                new = _scenario(study, configuration)
                before, after = stored.model_dump(), new.model_dump()
                differences += [
                    f"{key} of the scenario was {shown_level(a)}, is {shown_level(b)}"
                    for key, a, b in _differences(before, after) if not key.endswith(".file")
                ]  # fmt: skip
            if differences:
                break
    if differences:
        shown = "; ".join(differences[:MOST_DIFFERENCES]) + ("; ..." if len(differences) > MOST_DIFFERENCES else "")
        raise StudyError(f"{path}: belongs to another study: {shown}; name another directory with --out")


def _core(study: Study) -> dict[str, Any]:
    """What decides which runs there are and what is in them."""
    return {
        "seed": study.seed,
        "first_seed": study.first_seed,
        "factors": {factor: study.levels(factor) for factor in study.factors},
        "set": study.set,
    }


def _differences(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from _differences(old.get(key), new.get(key), f"{path}.{key}" if path else str(key))
    elif old != new:
        yield path, old, new


def write_text(path: Path, text: str) -> None:
    """Whole or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)


def write_rows(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    """NAME.parquet and NAME.csv, each whole or not at all; the columns are those of the rows in order."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    partial = folder / f".{name}.partial"
    mixed = {c for c in columns if _is_mixed({type(row[c]) for row in rows if row.get(c) is not None})}
    pq.write_table(pa.table({c: pa.array([_plain(row.get(c), c in mixed) for row in rows]) for c in columns}), partial)
    os.replace(partial, folder / f"{name}.parquet")
    with partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({c: "" if row.get(c) is None else _plain(row[c], c in mixed) for c in columns} for row in rows)
    os.replace(partial, folder / f"{name}.csv")


def _is_mixed(types: set[type]) -> bool:
    return len(types) > 1 and not types <= {int, float}


def _plain(value: Any, as_text: bool) -> Any:
    return str(value) if as_text and value is not None else value


def record_failure(folder: Path, run: str, error: str) -> None:
    """Said by a worker, read by whoever looks."""
    partial = folder / f".{run}.{os.getpid()}"
    write_json(partial, {"run": run, "error": error})
    os.replace(partial, folder / f"{run}.json")
