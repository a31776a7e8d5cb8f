"""Tests that commands refuse incomplete runs and files, and that the next process removes what a killed process has
left behind.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from mobilenet import api
from mobilenet.engine.scratch import scratch_folder
from mobilenet.lab.studies.configurations import plan_runs
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.store import Store, create
from mobilenet.lab.studies.task import perform_runs
from mobilenet.record.atomic_files import in_place_of, partial_path, remove_dead, write_whole
from mobilenet.record.writer import recover, run_directory
from tests.lab.studies.test_moved_studies import make

from .command import FIRST, ROOT, everything_below, mobilenet, one_line

LOSS = {
    "scenario": str(FIRST), "set": {"duration_s": 4}, "factors": {"wireless.loss": [0, 0.2]}, "replications": {"min": 2}
}  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("runs")
    api.run(FIRST, overrides=["duration_s=5"], out=place / "run")
    return place


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Store:
    place = tmp_path_factory.mktemp("studies")
    return make(Study.of(LOSS, place, "loss"), place / "loss")


def kill_after(work: Callable[[], object]) -> None:
    """Call `work` in a process, and then kill the process, unless `work` has already killed it."""
    child = os.fork()
    if child == 0:
        work()
        os.kill(os.getpid(), signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL


@pytest.mark.parametrize(
    "words",
    [
        "show run", "report run", "figures run --out new", "map run", "why run --out new.svg", "why run",
        "export run --csv --out new", "export run --shiviz", "export run --omnetpp", "spacetime run", "verify run",
    ],
)  # fmt: skip
def test_a_truncated_file_is_rejected(words: str, runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "run", tmp_path / "run")
    file = tmp_path / "run" / "counters.json"
    file.write_bytes(file.read_bytes()[:200])
    before = everything_below(tmp_path)
    line = one_line(mobilenet(*words.split(), place=tmp_path), 2)
    assert line.startswith("run/counters.json: ")
    assert everything_below(tmp_path) == before


def test_the_next_command_removes_figures_of_a_killed_artefact(
    study: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(figure: Figure, name: Path, **options: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    scratch = tmp_path / "tmp"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    words = ("artefact", study.path, "--out", "new.zip")
    with monkeypatch.context() as patch:
        patch.setattr(Figure, "savefig", kill)
        kill_after(lambda: mobilenet(*words, place=tmp_path))
    assert list(scratch.iterdir()) and not (tmp_path / "new.zip").exists()
    assert mobilenet(*words, place=tmp_path).returncode == 0
    assert everything_below(tmp_path) == ["new.zip", "tmp"]


@pytest.mark.parametrize("there", [{(0, 1), (0, 2)}, {(1, 1), (1, 2)}, {(0, 1)}, {(0, 1), (1, 1)}])
def test_commands_read_the_runs_of_an_unfinished_study(
    there: set[tuple[int, int]], unpainted: None, tmp_path: Path
) -> None:
    keys = LOSS | {"compare": {"factor": "wireless.loss", "baseline": 0, "metrics": ["broadcasts"]}}
    study = Study.of(keys, tmp_path, "loss")
    store, targets = create(study, tmp_path / "loss"), [2, 2]
    runs = plan_runs(study, targets)
    made = [run for run in runs if (run.configuration, run.replication) in there]
    perform_runs(store.path, study.kind, made)
    store.write_runs(runs, {run.id for run in made})
    for words in ("show loss", "compare loss", "report loss", "figures loss --format svg", "export loss --csv"):
        done = mobilenet(*words.split(), place=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), (words, done)
        assert f"loss: unfinished: these numbers cover {len(there)} of 4 runs" in done.stdout


def test_a_folder_with_a_study_file_is_not_necessarily_a_study(study: Store, tmp_path: Path) -> None:
    """The folder contains a study file and an archive, but no study."""
    (tmp_path / "study.yaml").write_text("scenario: first.yaml\n")
    (tmp_path / "new.zip").write_text("")
    line = one_line(mobilenet("explain", "new.zip", place=tmp_path), 2)
    assert line.startswith("new.zip: ")


@pytest.mark.spark
# --- temporary folders


def test_a_scratch_folder_is_removed_with_its_block_or_process(tmp_path: Path) -> None:
    def begin() -> None:
        with scratch_folder("trial", tmp_path) as folder:
            (folder / "x").write_text("x")
            os.kill(os.getpid(), signal.SIGKILL)

    kill_after(begin)
    (abandoned,) = tmp_path.iterdir()
    for name in ("mobilenet-mine", ".trial-mine", "other.scratch"):
        (tmp_path / name).mkdir()
    with scratch_folder("trial", tmp_path) as folder:
        assert not abandoned.exists() and list(folder.iterdir()) == []
    assert everything_below(tmp_path) == [".trial-mine", "mobilenet-mine", "other.scratch"]


def test_the_scratch_folder_of_a_live_process_is_not_removed(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from mobilenet.engine.scratch import scratch_folder\n"
        f"with scratch_folder('trial', Path({str(tmp_path)!r})) as folder: print(folder, flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    with scratch_folder("trial", tmp_path):
        assert folder.is_dir()
    assert folder.is_dir()
    process.communicate("")
    assert list(tmp_path.iterdir()) == []


def test_nested_and_locked_scratch_folders_are_removed(tmp_path: Path) -> None:
    with scratch_folder("a", tmp_path) as outer, scratch_folder("a", tmp_path), scratch_folder("a", outer) as inner:
        # The run locks the folder in which its directory is created.
        api.run(FIRST, overrides=["duration_s=1"], out=outer / "run")
        with create(Study.of(LOSS, tmp_path, "loss"), inner / "loss").alone():
            assert inner.is_dir()
    assert list(tmp_path.iterdir()) == []


# --- files


def test_a_written_file_is_complete_or_unchanged(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    write_whole(file, "old")

    def begin() -> None:
        with in_place_of(file) as partial:
            partial.write_text("ne")
            os.kill(os.getpid(), signal.SIGKILL)

    kill_after(begin)
    assert file.read_text() == "old" and len(list(tmp_path.iterdir())) == 2
    (tmp_path / ".partial-mine").write_text("mine")
    living = partial_path(tmp_path / "b.md")
    living.write_text("in progress")
    write_whole(file, "new")
    assert file.read_text() == "new"
    assert everything_below(tmp_path) == sorted([".partial-mine", living.name, "a.md"])
    with pytest.raises(ZeroDivisionError), in_place_of(file) as partial:
        partial.write_text(str(1 // 0))
    assert file.read_text() == "new" and not list(tmp_path.glob(f"{partial.name}"))
    living.unlink()
    remove_dead(tmp_path)
    assert everything_below(tmp_path) == [".partial-mine", "a.md"]


@pytest.mark.parametrize("words", ["reference --out new.md", "schema --out new"])
def test_a_killed_command_leaves_the_replaced_file_complete(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mobilenet(*words.split(), place=tmp_path).returncode == 0
    whole = {name: (tmp_path / name).read_bytes() for name in everything_below(tmp_path) if (tmp_path / name).is_file()}
    written = Path.write_text

    def write_half(path: Path, text: str, **options: str) -> int:
        written(path, text[: len(text) // 2], encoding="utf-8")
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", write_half)
        kill_after(lambda: mobilenet(*words.split(), place=tmp_path))
    assert {name: (tmp_path / name).read_bytes() for name in whole} == whole
    assert mobilenet(*words.split(), place=tmp_path).returncode == 0
    assert {name for name in everything_below(tmp_path) if (tmp_path / name).is_file()} == whole.keys()


def test_a_study_killed_at_its_start_starts_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study.of(LOSS, tmp_path, "loss")

    def kill(*anything: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with monkeypatch.context() as patch:
        patch.setattr("mobilenet.lab.studies.store.write_whole", kill)
        kill_after(lambda: create(study, tmp_path / "loss"))
    assert (tmp_path / "loss" / "runs").is_dir() and not (tmp_path / "loss" / "study.yaml").exists()
    assert create(study, tmp_path / "loss").path == tmp_path / "loss"


# --- run directories


def test_a_run_is_restored_if_its_replacement_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename, place = os.rename, tmp_path / "run"
    with run_directory(place) as partial:
        (partial / "x").write_text("old")

    def rename_once(old: Path, new: Path) -> None:
        rename(old, new)
        os.kill(os.getpid(), signal.SIGKILL)

    def replace() -> None:
        with run_directory(place, replaces=True) as partial:
            (partial / "x").write_text("new")

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", rename_once)
        kill_after(replace)
    assert not place.exists()
    recover(place)
    assert everything_below(tmp_path) == ["run", "run/x"] and (place / "x").read_text() == "old"
    replace()
    assert everything_below(tmp_path) == ["run", "run/x"] and (place / "x").read_text() == "new"
