"""Tests that no command and no request of the live page imports modules that were planted in the folders of users.

Model     A module for each importable name is planted in the current folder, next to the scenario, and in the
          directories of runs and studies. A planted module leaves a mark when it runs. Tests with `is_marked` show that
          a process without a safe path does leave such a mark.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from mobilenet.api import Run
from mobilenet.engine.safe_path import OURS, VARIABLE, for_children, not_for_programs, python, value
from mobilenet.lab.live.commands import KINDS
from mobilenet.lab.workers import as_done
from tests.conftest import ROOT, SCENARIOS
from tests.lab.live.conftest import Server, Talk
from tests.lab.programs.realtime import own as realtime
from tests.test_layering import Tree

pytestmark = pytest.mark.long

COMMAND = Path(sys.executable).with_name("mobilenet")
INSTALLED = packages_distributions()
NAMES = {*sys.stdlib_module_names, *INSTALLED, "sitecustomize", "usercustomize", "conftest", "viz"}
SCENARIO = "scenarios/first.yaml"
STUDY = """scenario: first.yaml
set: {duration_s: 5}
factors: {wireless.loss: [0, 0.2]}
replications: {min: 2}
compare: {factor: wireless.loss, baseline: 0, metrics: [delivery_delay_mean_s]}
"""
RUN, OF_STUDY, BUG = "runs/first", "studies/loss", "runs/bug"
FLOOD = str(SCENARIOS / "programs" / "flood.yaml")

# The arguments of the commands that start processes: for a simulation, a server, pictures, Spark, Java's files or a
# pool of workers. They are called in this order. `live` has a separate test, and the fixture `place` runs the study.
CALLS = {
    "run": [f"run {SCENARIO} --set duration_s=5 --twice --out runs/other"],
    "serve": ["serve clean/scenario.yaml --allow-code --out runs/served"],
    "figures": [f"figures {RUN} --format svg"],
    "artefact": [f"artefact {OF_STUDY} -o studies.zip", "artefact check studies.zip --workers 1"],
    "shrink": [f"shrink {BUG} --allow-code --trials 2"],
    "swarm": ["swarm --count 2 --workers 2"],
}


def plant(folder: Path, mark: Path) -> None:
    for name in NAMES | {name.partition(".")[0] for name in sys.modules}:  # includes modules imported by compiled code
        (folder / f"{name}.py").write_text(f"open({str(mark)!r}, 'a').write(__file__ + '\\n')\n")


def environment(**more: str) -> dict[str, str]:
    return {name: text for name, text in os.environ.items() if name not in (VARIABLE, "PYTHONPATH")} | more


def call(place: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, *words], cwd=place, env=environment(**more), capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip


def execute(place: Path, words: str) -> None:
    """Run a command and check its exit code. Any other code means that the command was refused or failed before it did
    any work.
    """
    process = call(place, *words.split())
    assert process.returncode in (0, 1, 4), (words, process.stdout, process.stderr)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the working directory of all commands. It contains a run and a study, and planted modules in each folder
    of the user.
    """
    folder = tmp_path_factory.mktemp("planted")
    mark, place = folder / "mark", folder / "place"
    # An installation of Spark contains a folder of this name, so `folder` now looks like one.
    (folder / "jars").mkdir()
    (folder / "bin").mkdir()
    for name in ("spark-submit", "spark-class"):
        (folder / "bin" / name).write_text(f"#!/bin/sh\necho {name} >> {mark}\nexit 1\n")
        (folder / "bin" / name).chmod(0o755)
    (place / "scenarios").mkdir(parents=True)
    shutil.copy(ROOT / SCENARIO, place / "scenarios")
    (place / "scenarios" / "study.yaml").write_text(STUDY)
    (place / "clean").mkdir()  # This folder is for programs, which may import the modules next to them.
    realtime.scenario(place / "clean", "while True: time.sleep(1)", duration_s=2.0)
    for planted in (place, place / "scenarios"):
        plant(planted, mark)
    execute(place, f"run {SCENARIO} --set duration_s=5 --out {RUN}")
    execute(place, f"study scenarios/study.yaml --workers 1 --out {OF_STUDY}")
    bug = "--set duration_s=20 --set protocol.command=[python3,flood.py,--bug]"
    execute(place, f"run {FLOOD} --allow-code {bug} --out {BUG}")
    for planted in (place / RUN, place / OF_STUDY, place / OF_STUDY / "runs" / "c000-r0001"):
        plant(planted, mark)
    return place


@pytest.fixture(autouse=True)
def unmarked(request: pytest.FixtureRequest) -> Iterator[None]:
    """After the test, check that none of the planted modules has run."""
    yield
    if "place" in request.fixturenames:
        assert not is_marked(request.getfixturevalue("place"))


def is_marked(place: Path) -> str:
    """Return the files of the planted modules that have run since the last call."""
    mark = place.parent / "mark"
    content = mark.read_text() if mark.exists() else ""
    mark.unlink(missing_ok=True)
    return content


def test_the_safe_path_test_covers_all_dependencies() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    named = {re.split(r"[^\w.-]", one)[0].lower().replace("_", "-") for one in wanted}
    assert named <= {one.lower().replace("_", "-") for name in NAMES for one in INSTALLED.get(name, ())}


@pytest.mark.parametrize("name", CALLS)
def test_no_command_imports_modules_from_the_current_folder(name: str, place: Path) -> None:
    for words in CALLS[name]:
        if name != "serve" or sys.platform == "linux":
            execute(place, words)


def test_live_page_messages_import_no_modules_from_the_folder(place: Path) -> None:
    sent: list[str] = []
    with serve(place, SCENARIO, "--set", "duration_s=8") as talk:

        def ask(command: str, **how: Any) -> dict[str, Any]:
            sent.append(command)
            reply = talk.ask(command, **how)
            assert "error" not in reply, reply
            return reply

        ask("since", generation=0, row=0)
        ask("pace", states_per_s=20)
        ask("watch", node="h1", deliveries=True)
        ask("speed", speed="max")
        ask("step", what="delivery")
        delivered = talk.until_state(lambda one: "stepped" in one)["stepped"]["event"]["message"]
        there = ask("message", message=delivered)["host"][0]
        ask("play", until_s=4)
        talk.until_state(lambda one: one["time_ns"] >= 4 * 10**9)
        ask("hold", on=True)
        ask("hold", on=False)
        ask("pause")
        for what in (
            {"do": "crash", "host": "h1"}, {"do": "recover", "host": "h1"}, {"do": "leave", "host": "h2"},
            {"do": "join", "host": "h2"}, {"do": "broadcast", "host": "h3"}, {"do": "loss", "loss": 0.1},
            {"do": "drag", "host": "h4", "to_m": [20, 0]}, {"do": "interval", "interval_s": 3},
            {"do": "add", "to_m": [20, 0]}, {"do": "cut", "link": ["s0", "s1"]}, {"do": "mend", "link": ["s0", "s1"]},
            {"do": "radio_off", "station": "s0"}, {"do": "radio_on", "station": "s0"},
        ):  # fmt: skip
            ask("do", what=what)
        ask("why", message=delivered, host=f"h{there}")
        ask("rewind", to_s=3)
        ask("switch", branch=0)
        ask("since", generation=ask("since", generation=0, row=0)["generation"], row=0)
        ask("effect", intervention=0, worlds=2)
        ask("save", name="kept")
        # The second request follows the first at once, so the job cannot end before it is cancelled.
        talk.socket.send(json.dumps({"command": "save", "id": 0, "name": "not-kept"}))
        ask("cancel", job=3)
        jobs = talk.until_state(lambda one: len(one.get("jobs", ())) == 4 and not running(one["jobs"]))["jobs"]
    ends = {"why": ["done"], "effect": ["done"], "save": ["done", "failed"]}
    assert {kind: [job["state"] for job in jobs if job["kind"] == kind] for kind in ends} == ends, jobs
    assert set(sent) == set(KINDS)


@contextmanager
def serve(folder: Path, *arguments: str) -> Iterator[Talk]:
    """Start a live run in that folder, and connect a socket to the run."""
    server = Server(folder, *arguments, env=environment())
    try:
        with Talk(server) as talk:
            yield talk
    finally:
        server.end()


def running(jobs: list[dict[str, Any]]) -> bool:
    return any(job["state"] == "running" for job in jobs)


# --- without a safe path they would be imported


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ([sys.executable, "-m", "mobilenet.cli.main"], True),
        ([sys.executable, "-c", "import typer"], True),
        (python("-c", "import typer, numpy, json"), False),
        (python("-m", "mobilenet", "--version"), False),
    ],
)
def test_a_subprocess_without_safe_path_imports_injected_modules(
    command: list[str], expected: bool, place: Path
) -> None:
    subprocess.run(command, cwd=place, env=environment(), capture_output=True, check=False)
    assert bool(is_marked(place)) is expected


SPAWNS = """
from multiprocessing import get_context
from mobilenet.lab.workers import spawning
if __name__ == "__main__":
    process = {context}.Process(target=print)
    process.start()
    process.join()
"""


@pytest.mark.parametrize(("context", "expected"), [('get_context("spawn")', True), ("spawning()", False)])
def test_multiprocessing_children_import_modules_from_the_folder(context: str, expected: bool, place: Path) -> None:
    script = place / "clean" / "spawns.py"
    script.write_text(SPAWNS.format(context=context))
    subprocess.run([sys.executable, script], cwd=place, env=environment(), capture_output=True, check=False)
    assert bool(is_marked(place)) is expected


def test_python_m_mobilenet_imports_nothing_from_the_cwd(tmp_path: Path) -> None:
    """The test cannot control the modules that Python and the package import before the safe path is set."""
    for name in INSTALLED.keys() - {"mobilenet"}:
        (tmp_path / f"{name}.py").write_text("open('mark', 'a').write(__file__)\n")
    command = [sys.executable, "-m", "mobilenet", "run", str(ROOT / SCENARIO), "--set", "duration_s=5", "--out", "run"]
    subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, check=True)
    assert not (tmp_path / "mark").exists()


def test_all_child_processes_are_started_with_a_safe_path() -> None:
    """No other module may name the interpreter or start processes in another way."""
    tree = Tree(ROOT, "mobilenet", "viz")
    named = r"sys\.executable|get_context|SpawnContext|os\.(system|exec|spawn|posix_spawn)"
    modules = {name for name, path in tree.modules.items() if re.search(named, path.read_text(encoding="utf-8"))}
    assert modules == {
        "mobilenet.engine.safe_path",
        "mobilenet.lab.workers",  # starts processes through `for_children`
        "mobilenet.lab.programs.children",  # starts Python with -I
        "mobilenet.lab.programs.namespaces.machines",  # starts Python with -I
        "mobilenet.lab.programs.namespaces.init_process",  # runs programs of users
        "mobilenet.lab.studies.spark",  # starts Spark's workers through `for_children`
        "mobilenet.lab.studies.cluster",  # uses `for_children`, and takes its environment from spark.py
        "mobilenet.lab.bench.programs",  # runs programs of users
        "mobilenet.lab.bench.packets",  # runs programs of users
    }


# --- programs of users still import modules next to them


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a scenario whose program imports the module next to it."""
    folder = tmp_path_factory.mktemp("beside")
    shutil.copy(SCENARIOS / "programs" / "flood.py", folder / "beside_it.py")
    # Files named on the command line are copied into the run, and so is beside_it.py.
    (folder / "own.py").write_text("import beside_it\n")
    text = (SCENARIOS / "programs" / "flood.yaml").read_text()
    (folder / "scenario.yaml").write_text(text.replace("python3, flood.py", f"{sys.executable}, own.py, beside_it.py"))
    (folder / "study.yaml").write_text("scenario: scenario.yaml\nset: {duration_s: 4}\nreplications: {min: 2}\n")
    return folder


PROGRAM = f"{sys.executable} own.py beside_it.py"


@pytest.mark.parametrize(
    "words",
    [
        ["run", "scenario.yaml", "--set", "duration_s=4", "--out", "run"],
        ["study", "study.yaml", "--workers", "1", "--out", "study"],
        ["swarm", "--count", "2", "--workers", "2", "--promises", "fifo", "--command", PROGRAM],
    ],
)
def test_a_program_can_import_a_module_from_its_own_folder(words: list[str], beside: Path) -> None:
    process = call(beside, *words, "--allow-code")
    assert process.returncode == 0, (process.stdout, process.stderr)


def test_a_program_of_a_saved_live_run_can_import_its_module(beside: Path) -> None:
    with serve(beside, "scenario.yaml", "--set", "duration_s=4", "--allow-code") as talk:
        talk.ask("since", generation=0, row=0)
        talk.ask("save", name="kept")
        (job,) = talk.until_state(lambda one: one.get("jobs") and not running(one["jobs"]))["jobs"]
    assert job["state"] == "done", job
    assert Run(beside / "runs" / "kept").metrics["deliveries"]


def test_a_safe_path_set_by_the_user_prevents_local_imports(beside: Path) -> None:
    process = call(beside, "run", "scenario.yaml", "--allow-code", "--out", "refused", **{VARIABLE: "1"})
    assert process.returncode == 2 and "beside_it" in process.stderr


SAFE = f"__import__('sys').flags.safe_path, __import__('os').environ.get({VARIABLE!r})"  # evaluated in a child process


@pytest.mark.parametrize(("of_the_user", "within"), [(None, OURS), ("", OURS), ("1", "1"), ("yes", "yes")])
def test_the_safe_path_variable_is_restored(
    of_the_user: str | None, within: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if of_the_user is not None:
        monkeypatch.setenv(VARIABLE, of_the_user)
    with for_children(), for_children():
        assert os.environ[VARIABLE] == value() == within
    assert os.environ.get(VARIABLE) == of_the_user
    ((_, there),) = as_done(eval, [SAFE], 1)
    assert there == (True, of_the_user or None)
    with for_children():
        not_for_programs()
        assert os.environ.get(VARIABLE) == (of_the_user or None)
        os.environ[VARIABLE] = within
