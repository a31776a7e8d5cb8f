"""Manage the directory of a study: its declaration, the planned runs, and the finished runs.

Model     study.yaml                      the study with its defaults; it is written last, so if it exists, the
                                          configurations do as well
          configurations/c000/            the effective scenario of each configuration, with the files it names
          configurations/factors.yaml     the levels from which they were made; without this file, study.yaml counts
                                          as an ordinary study
          runs.parquet, runs.csv          one row per planned run and its state: planned, done or failed
          runs/c000-r0001/                run directories; complete or absent
          measured/                       the measurements of the runs, in parts of many runs (parts.py)
          failed/c000-r0001.json          the reason why a run failed; removed when the run succeeds
          starting/c000-r0001             the number of processes that began the run and did not end it; removed when it
                                          ends
          tables/, comparison.json, ...   results computed from measured/ (tables.py, compare.py)
          Only the files on disk decide which runs to make, so a killed study continues where it stopped. Files on disk
          are not trusted: each configuration is written again, under another name, and compared with the existing one.
          The code of plug-ins and other files are compared byte by byte, and the scenario value by value. A
          configuration that differs is replaced if it has no runs, and refused otherwise. A scenario that is empty,
          truncated or not valid YAML does not count as different, and is replaced.
Errors    StudyError if the directory is not that of a study, belongs to another study, or is used by another process.
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from filecmp import cmpfiles
from functools import lru_cache
from pathlib import Path
from typing import Any

from mobilenet.api import write_scenario
from mobilenet.by_kind import with_declared
from mobilenet.engine.scratch import lock_folder
from mobilenet.lab.studies import OutError, StudyError
from mobilenet.lab.studies.configurations import Configuration, PlannedRun, configurations, planned_configurations
from mobilenet.lab.studies.declaration import KEPT, KEPT_FACTORS, Study
from mobilenet.lab.studies.level_names import format_level
from mobilenet.lab.studies.parts import fault as fault_of_part
from mobilenet.lab.studies.table_files import AGAIN, TABLES, read_rows, read_table, write_table
from mobilenet.parameters import ScenarioError
from mobilenet.record.atomic_files import in_place_of, partial_path, remove_dead, write_whole
from mobilenet.record.reader import RunError, read_manifest, require_files
from mobilenet.record.schema import DERIVED_FILES
from mobilenet.record.soundness import derived_fault
from mobilenet.record.writer import write_json
from mobilenet.scenario import AnyScenario, load_scenario
from mobilenet.scenario.yaml_reader import parse
from mobilenet.scenario.yaml_writer import to_yaml

MOST_DIFFERENCES = 5
FOLDERS = ("configurations", "runs", "measured", "failed", "starting")


@dataclass(frozen=True)
class Store:
    """An open study directory."""

    path: Path
    study: Study
    configurations: list[Configuration]

    @property
    def runs(self) -> Path:
        return self.path / "runs"

    @property
    def tables(self) -> Path:
        return self.path / "tables"

    def scenarios(self) -> Iterator[AnyScenario]:
        """Yield the scenario of each configuration."""
        return (configured_scenario(self.path, number) for number in range(len(self.configurations)))

    def code(self) -> set[str]:
        """Return the plug-ins and programs that the scenarios of the study name."""
        return {name for scenario in self.scenarios() for _, name, _ in scenario.code()}

    def observing(self) -> frozenset[int]:
        """Return the configurations with custom processes that depend on the run."""
        processes = [getattr(scenario, "own_processes", ()) for scenario in self.scenarios()]
        return frozenset(number for number, own in enumerate(processes) if any(one.uses_run for one in own))

    def permission(self) -> str:
        """Return ` --allow-code` if a command that runs the study needs this option, and otherwise an empty string."""
        return " --allow-code" if self.code() else ""

    def scenario_of(self, configuration: int) -> Path:
        return self.path / KEPT.format(configuration)

    @property
    def measured(self) -> Path:
        return self.path / "measured"

    @property
    def failed(self) -> Path:
        return self.path / "failed"

    def clear_notes(self) -> None:
        """Remove all notes about failed runs and runs in progress. These runs are then planned again."""
        for folder in (self.failed, self.path / "starting"):
            for note in folder.iterdir():
                remove(note)

    def failures(self) -> set[str]:
        """Return the names of the failed runs."""
        return {path.stem for path in self.failed.iterdir() if not path.name.startswith(".")}

    def _error(self, run: PlannedRun) -> str | None:
        with suppress(FileNotFoundError):
            return str(json.loads((self.failed / f"{run.id}.json").read_text(encoding="utf-8"))["error"])
        return None

    def write_runs(self, runs: list[PlannedRun], measured: set[str]) -> None:
        """Write runs.parquet and runs.csv, which contain each planned run with its state."""
        rows = []
        for run in sorted(runs, key=lambda run: run.id):
            error = None if run.id in measured else self._error(run)
            state = "done" if run.id in measured else "planned" if error is None else "failed"
            rows.append(
                {"run": run.id, "configuration": run.configuration, **self.configurations[run.configuration].row()}
                | {"replication": run.replication, "seed": run.seed, "state": state, "error": error}
            )
        write_table(self.path, "runs", rows)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold a lock, which ensures that no other process works on this study."""
        try:
            lock = lock_folder(self.path)
        except BlockingIOError:
            raise StudyError(
                f"{self.path}: another process is working on this study; wait until that process ends, or stop it"
            ) from None
        try:
            for folder in (self.path, self.tables, *(self.path / name for name in FOLDERS)):
                remove_dead(folder)
            yield
        finally:
            os.close(lock)

    def failed_runs(self) -> list[str]:
        """Return `run: reason` for each failed run in the table of runs."""
        return [f"{row['run']}: {row['error']}" for row in read_rows(self.path, "runs") if row["state"] == "failed"]

    def violated_runs(self) -> list[str]:
        """Return the runs whose verdict is violated, according to the tables."""
        return [row["run"] for row in read_rows(self.path, "tables/runs") if row["verdict"] == "violated"]


def remove(path: Path) -> None:
    """Remove the file or folder at this path."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def is_done(directory: Path, seed: int) -> bool:
    """Return whether the run is complete and has not changed since it was written."""
    try:
        manifest = read_manifest(directory)
        require_files(directory, manifest)
        is_whole = all((directory / name).is_file() for name in DERIVED_FILES) and derived_fault(directory) is None
        return bool(manifest.get("seed") == seed) and is_whole
    except (RunError, OSError):
        return False


def create(study: Study, path: Path, allow_code: bool = False, say: Callable[[str], None] = lambda line: None) -> Store:
    """Create a directory for a study, or continue in an existing one. `say` is called for each file that is written
    again.
    """
    all_configurations = configurations(study, allow_code)
    text = to_yaml(study.model_copy(update={"scenario": KEPT.format(0)}).model_dump(by_alias=True))
    if (path / "study.yaml").is_file():
        require_same(path, study)
    elif path.exists() and not _was_just_begun(path):
        raise OutError(f"{path}: exists and is not a study")
    store = Store(path, study, all_configurations)
    try:
        for configuration in all_configurations:
            try:
                scenario = study.scenario_of(configuration.number, configuration.overrides)
                write_configuration(path, scenario, configuration.number, allow_code, say)
            except StudyError:
                raise
            except ScenarioError as error:  # The error is in a plug-in whose code is needed.
                what = f"{str(error).splitlines()[0]} (with {configuration.label})"
                raise study.problem(("factors",) if study.factors else ("scenario",), what) from None
        for name in FOLDERS:
            (path / name).mkdir(exist_ok=True)
        write_whole(path / KEPT_FACTORS, study.kept_factors())
        write_whole(path / "study.yaml", text)
    except OSError as error:
        raise StudyError(f"{error.filename or path}: cannot be written: {error.strerror}") from None
    return store


def configured_scenario(study: Path, number: int) -> AnyScenario:
    """Return the scenario of a configuration, which each process reads only once."""
    file = study / KEPT.format(number)
    return _read(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=16)
def _read(file: Path, written_ns: int) -> AnyScenario:
    return load_scenario(file)


def another_study(place: Path, differences: list[str]) -> StudyError:
    summary = "; ".join(differences[:MOST_DIFFERENCES]) + ("; ..." if len(differences) > MOST_DIFFERENCES else "")
    return OutError(f"{place}: belongs to another study: {summary}")


def write_configuration(
    study: Path,
    scenario: AnyScenario,
    number: int,
    allow_code: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Write a configuration. Raise StudyError if its number already belongs to runs of another scenario. `allow_code`
    has the same meaning as in mobilenet.run. `say` is called for a scenario that was damaged.
    """
    target = (study / KEPT.format(number)).parent
    fresh = partial_path(target)
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    try:
        write_scenario(fresh, with_declared(scenario, allow_code))
        names = sorted(str(path.relative_to(fresh)) for path in fresh.rglob("*") if path.is_file())
        same, _, _ = cmpfiles(target, fresh, names, shallow=False)
        changed = [name for name in names if name not in same or (target / name).is_symlink()]
        if target.is_dir() and not target.is_symlink():
            if not changed:
                return
            problem = _contradiction(target, fresh, changed, say)
            if problem is not None and any((study / "runs").glob(f"{target.name}-r*")):
                raise problem
            shutil.rmtree(target)
        os.rename(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _contradiction(target: Path, fresh: Path, changed: list[str], say: Callable[[str], None]) -> StudyError | None:
    """Return an error that states how the existing scenario differs from the requested one, or None if they are the
    same. The code of the scenarios is not run.
    """
    file = target / "scenario.yaml"
    if others := [name for name in changed if name != file.name]:
        return another_study(target / others[0], ["differs from the file that the study names now"])
    if _is_damaged(file, (fresh / file.name).read_bytes()):
        say(f"{file}: was damaged; written again from the study")
        return None
    try:
        different = apart(load_scenario(file), load_scenario(fresh / file.name))
    except ScenarioError as error:
        return OutError(f"{' '.join(str(error).split())}; the study is damaged")
    values = [f"{key} of the scenario was {format_level(a)}, and is now {format_level(b)}" for key, a, b in different]
    return another_study(file, values) if values else None


def _is_damaged(file: Path, expected: bytes) -> bool:
    """Return whether a file is missing, empty, truncated, or not a YAML mapping."""
    content = file.read_bytes() if file.is_file() else b""
    try:
        return expected.startswith(content) or not isinstance(parse(content, file.name).value, dict)
    except ScenarioError:
        return True


def apart(before: AnyScenario, after: AnyScenario) -> list[tuple[str, Any, Any]]:
    """Return all differences between two scenarios, each as a key and its two values."""
    return list(differences(before.model_dump(), after.model_dump()))


def differences(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield all differences between two mappings, each as a key, the old value and the new value."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from differences(old.get(key), new.get(key), f"{path}.{key}" if path else str(key))
    elif old != new:
        yield path, old, new


def _was_just_begun(path: Path) -> bool:
    """Return whether the folder contains only files that `create` writes before study.yaml."""
    if not path.is_dir():
        return False
    remove_dead(path)
    return all(
        child.name == "configurations" or (child.name in FOLDERS and child.is_dir() and not any(child.iterdir()))
        for child in path.iterdir()
    )


def with_replications_so_far(study: Study, path: Path, say: Callable[[str], None] = lambda line: None) -> Study:
    """Return the study with the number of replications in its directory, if this number is larger. The study is
    unchanged if the caller gave a number, if either study has a stopping rule, or if the two studies differ in any
    other respect.
    """
    if study.has_given_replications or not (path / "study.yaml").is_file():
        return study
    old = Study.load(path / "study.yaml")
    before, now = old.replications, study.replications
    if before.until or now.until or before.min <= now.min or differing_study(old, study):
        return study
    say(
        f"{path}: keeps its {before.min} replications, although the study file asks for {now.min}; use --replications"
        f" {now.min} to keep only the first {now.min}"
    )
    return study.model_copy(update={"replications": before})


def open_store(path: Path) -> Store:
    """Open the existing directory of a study."""
    if not (path / "study.yaml").is_file():
        raise StudyError(f"{path}: not a study directory: it has no study.yaml")
    study = Study.load(path / "study.yaml")
    return Store(path, study, planned_configurations(study))


def require_same(path: Path, study: Study) -> None:
    """Raise StudyError unless both studies are the same. More replications or another comparison continue a study, but
    any other change would mix two studies. Scenarios are compared when each configuration is written.
    """
    if differences := differing_study(Study.load(path / "study.yaml"), study):
        raise another_study(path, differences)


def differing_study(old: Study, study: Study) -> list[str]:
    """Return the differences between two studies that affect the number or the content of runs."""
    before, now = (
        one.model_dump(include={"seed", "first_seed"})
        | {"factors": {factor: one.levels(factor) for factor in one.factors}, "set": one.set}
        for one in (old, study)
    )
    return [f"{key} was {format_level(a)} and is now {format_level(b)}" for key, a, b in differences(before, now)]


def record_failure(folder: Path, run: str, error: str) -> None:
    """Record why a run failed. The file is written by a worker and read by any process."""
    with in_place_of(folder / f"{run}.json") as partial:
        write_json(partial, {"run": run, "error": error})


def fault(directory: Path) -> str | None:
    """Read all files of a study. Return one line about the first file that a program could not read correctly, or
    None.
    """
    if not (directory / "study.yaml").is_file():
        return None
    try:
        store = open_store(directory)
        for configuration in store.configurations:
            load_scenario(store.scenario_of(configuration.number))
        for name in TABLES:
            if (directory / f"{name}.parquet").exists():
                read_table(directory, name)
        for path in sorted(store.measured.glob("*.parquet")):
            if (wrong := fault_of_part(path, len(store.configurations))) is not None:
                return f"{path}: {wrong}; {AGAIN}; the study is damaged"
        # This check comes last, because the scenario may be a file elsewhere.
        configurations(store.study, allow_code=True)
    except ScenarioError as error:
        return f"{' '.join(str(error).split())}; the study is damaged"
    except OSError as error:
        return f"{error.filename or directory}: {error.strerror}; the study is damaged"
    return None
