"""Tests that a killed run leaves all rows up to some moment, and that no command mistakes the tables for those of a
finished run.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from random import Random
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobilenet import api
from mobilenet.engine.clock import SECOND
from mobilenet.lab.programs.supervisor import remove_abandoned
from mobilenet.lab.studies.configurations import plan_runs
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.store import create
from mobilenet.lab.studies.task import perform_runs
from mobilenet.record.batches import SUFFIX, read_batches
from mobilenet.record.killed_runs import facts_of_killed, partial_record
from mobilenet.record.reader import RunError, read_manifest, read_table
from mobilenet.record.writer import recover
from mobilenet.scenario import Scenario
from mobilenet.simulation.mobile import Simulation
from mobilenet.simulation.observer import Event, Observer
from tests.cli.command import mobilenet
from tests.conftest import FIRST, ROOT

TABLES = ("events", "positions", "samples")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return api.run(FIRST, out=tmp_path_factory.mktemp("whole") / "run").path


@pytest.fixture(scope="module")
def batches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run in progress that has written one batch for each simulated second."""
    folder = tmp_path_factory.mktemp("batches")
    simulation = Simulation(Scenario.load(FIRST), run_folder=folder)
    recording = simulation.recording
    for until_ns in simulation.stages():
        while simulation.kernel.now < until_ns:
            simulation.play(min(simulation.kernel.now + SECOND, until_ns))
            for name, table in recording._rows.items():
                recording._batches[name].add(table.columns(), simulation.kernel.now)
                table.clear()
    simulation.close()
    return folder


def require_beginning(table: str, of: Path, whole: Path) -> int:
    """Check that these rows are the first rows of the complete run, and return how many there are."""
    kept = read_table(of, table)
    assert kept.equals(read_table(whole, table).slice(0, kept.num_rows)), table
    return int(kept.num_rows)


@given(data=st.data())
def test_a_record_file_cut_anywhere_keeps_its_first_rows(data: st.DataObject, batches: Path, whole: Path) -> None:
    path = batches / f"events{SUFFIX}"
    cut = path.with_name("events.cut")
    cut.write_bytes(path.read_bytes()[: data.draw(st.integers(1, path.stat().st_size))])
    written = read_batches(cut)
    if written.batches:
        written.table(written.until_ns[-1]).write(cut.with_name("events.parquet"))
        require_beginning("events", batches, whole)


@pytest.mark.parametrize("behind", TABLES)
def test_recovery_drops_rows_newer_than_the_shortest_table(
    behind: str, batches: Path, whole: Path, tmp_path: Path
) -> None:
    left = tmp_path / ".run.partial-0"
    shutil.copytree(batches, left)
    os.truncate(left / f"{behind}{SUFFIX}", (left / f"{behind}{SUFFIX}").stat().st_size // 2)
    recover(tmp_path / "run")
    kept = partial_record(tmp_path / "run")
    facts = facts_of_killed(kept)
    assert facts is not None and 0 < facts["whole_until_s"] < 30
    assert facts["rows"] == {table: require_beginning(table, kept, whole) for table in TABLES}
    for table in ("events", "samples"):
        times = read_table(whole, table)["time_ns"].to_pylist()
        before = sum(time_ns < facts["whole_until_s"] * SECOND for time_ns in times)
        assert before <= facts["rows"][table] <= sum(time_ns <= facts["whole_until_s"] * SECOND for time_ns in times)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.partial"]
    with pytest.raises(RunError, match="the incomplete record of a run that was killed"):
        read_manifest(kept)


def test_a_run_killed_during_verification_has_no_verdict(batches: Path, whole: Path, tmp_path: Path) -> None:
    left = tmp_path / ".run.partial-0"
    shutil.copytree(whole, left)
    shutil.copytree(batches, left, dirs_exist_ok=True)
    recover(tmp_path / "run")
    kept = partial_record(tmp_path / "run")
    names = {path.name for path in kept.iterdir()}
    assert names >= {f"{table}.parquet" for table in TABLES}
    assert names.isdisjoint({"manifest.json", "verdict.json", "metrics.json", "counters.json"})
    assert require_beginning("events", kept, whole) > 0


def test_the_supervisor_of_programs_keeps_an_abandoned_record(batches: Path, tmp_path: Path) -> None:
    shutil.copytree(batches, tmp_path / ".run.partial-0")
    (tmp_path / ".other.partial-0").mkdir()
    for name in ("run", "other"):
        remove_abandoned(str(tmp_path / f".{name}.partial-0"), emulator=0)
    assert [path.name for path in tmp_path.iterdir()] == [".run.partial-0"]


def test_observers_receive_every_row_even_if_rows_are_batched() -> None:
    class Counting(Observer):
        events = 0

        def on_event(self, event: Event) -> None:
            self.events += 1

    counting = Counting()
    scenario = Scenario.load(ROOT / "scenarios" / "dynamic.yaml", ["duration_s=60"])
    recording = Simulation(scenario).run(observers=[counting]).recording
    assert recording.events.waiting < len(recording.events) == counting.events


def test_a_run_killed_before_it_recorded_anything_leaves_nothing(batches: Path, tmp_path: Path) -> None:
    for number, cut in enumerate((0, 1, 100)):
        left = tmp_path / f".run.partial-{number}"
        shutil.copytree(batches, left)
        os.truncate(left / f"samples{SUFFIX}", cut)
    recover(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_run_killed_while_it_first_writes_leaves_nothing(tmp_path: Path) -> None:
    left = tmp_path / ".run.partial-0"
    left.mkdir()
    simulation = Simulation(Scenario.load(FIRST), run_folder=left)
    recording = simulation.recording
    with (
        mock.patch("mobilenet.record.recorder.LONGEST_S", 0.0),
        mock.patch.object(recording._batches["positions"], "add", side_effect=InterruptedError),
        pytest.raises(InterruptedError),
    ):
        recording.settle(0)
    simulation.close()
    assert (left / f"events{SUFFIX}").stat().st_size > 0
    recover(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_study_repeats_a_killed_run_from_the_beginning(batches: Path, tmp_path: Path) -> None:
    keys = {"scenario": str(FIRST), "set": {"duration_s": 4}, "replications": {"min": 2}}
    study = Study.of(keys, tmp_path, "one")
    store, planned = create(study, tmp_path / "one"), plan_runs(study, [2])[0]
    shutil.copytree(batches, store.runs / f".{planned.id}.partial-0")
    (store.path / "starting" / planned.id).write_text("x")
    perform_runs(store.path, study.kind, [planned])
    assert [path.name for path in store.runs.iterdir()] == [planned.id]


def test_a_run_reports_what_a_killed_predecessor_recorded(batches: Path, tmp_path: Path) -> None:
    shutil.copytree(batches, tmp_path / ".run.partial-0")
    done = mobilenet("run", FIRST, "--set", "duration_s=4", "--out", "run", place=tmp_path)
    assert done.returncode == 0 and "run.partial: what a killed run of this name had recorded" in done.stdout
    summary = mobilenet("show", "run.partial", place=tmp_path)
    assert summary.returncode == 3 and "the run was killed; its tables hold every row up to" in summary.stdout


def test_records_of_two_killed_runs_with_one_name_are_preserved(batches: Path, tmp_path: Path) -> None:
    for number in (1, 2):
        shutil.copytree(batches, tmp_path / f".run.partial-{number}")
    recover(tmp_path / "run")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.partial", "run.partial-2"]


def recorded_until_ns(run: Path) -> int:
    """Return the simulated time that the batches of this unfinished run have reached, or 0 if there are none."""
    for file in run.parent.glob(f".{run.name}.partial-*/events{SUFFIX}"):
        with suppress(FileNotFoundError, ValueError):  # The file may be empty still, and a run that ends removes it.
            return max(read_batches(file).until_ns, default=0)
    return 0


@pytest.mark.long
def test_a_run_killed_at_any_moment_leaves_a_readable_record(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "mobilenet", "run", str(ROOT / "scenarios" / "dynamic.yaml")]
    words += ["--set", "duration_s=100", "--out"]
    whole = tmp_path / "whole"
    subprocess.run([*words, str(whole)], check=True, capture_output=True, cwd=tmp_path)
    moments, kept_some = Random(1), 0
    for number in range(5):
        name = tmp_path / f"killed-{number}"
        process = subprocess.Popen([*words, str(name)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until_ns = moments.randint(1, 70 * SECOND) if number else 0
        while process.poll() is None and recorded_until_ns(name) < until_ns:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if name.exists():  # The run may have ended before the test could kill it.
            continue
        show = [sys.executable, "-m", "mobilenet", "show", str(name)]
        first = subprocess.run(show, capture_output=True, text=True, cwd=tmp_path)
        kept = partial_record(name)
        facts = facts_of_killed(kept)
        assert first.returncode == 2 and not name.exists() and ("was killed" in first.stderr) == (facts is not None)
        if facts is None:
            continue
        kept_some += 1
        assert not any((kept / file).exists() for file in ("manifest.json", "verdict.json", "metrics.json"))
        assert facts["rows"] == {table: require_beginning(table, kept, whole) for table in TABLES}
        second = subprocess.run([*show[:-1], str(kept)], capture_output=True, text=True, cwd=tmp_path)
        assert second.returncode == 3 and f"up to {facts['whole_until_s']:g} s" in second.stdout
    assert kept_some >= 2
