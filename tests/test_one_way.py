"""Tests that both kinds of run pass through the same modules from scenario to verdict, and that few modules depend on
the kind of run.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

MOST_STAYS = 25
MOST_ASKING = 20
LEAST_SHARE = 0.02  # Modules with a smaller share of the calls of a run are left out.
# This program prints the modules that a run enters, in the order of calls and returns.
WALK = """
import json, sys
from mobilenet import api

LOOPS = {("mobilenet.simulation.mobile", "Simulation.run"), ("mobilenet.verify.check", "judge"),
         ("mobilenet.simulation.processes.experiment", "Experiment.run")}
WAY = {("mobilenet.verify.judge", "verify"), *LOOPS}

class Call:
    def __init__(self, module, name):
        self.what, self.inside, self.calls = (module, name), [], 1

def note(frame, event, _):
    if event == "call":
        stack.append(Call(frame.f_globals.get("__name__", ""), frame.f_code.co_qualname))
        stack[-2].inside.append(stack[-1])
    elif event == "return" and len(stack) > 1:
        call = stack.pop()
        call.calls += 0 if call.what in LOOPS else sum(one.calls for one in call.inside)

def walk(call, least):
    is_ours = call.what[0].startswith("mobilenet") and "<" not in call.what[1].rpartition(".")[2]
    if is_ours:
        stays.append(call.what)
    for one in () if call.what in LOOPS else call.inside:
        if one.calls >= least or one.what in WAY:
            walk(one, least)
            if is_ours:
                stays.append(call.what)

scenario, share, first, second = sys.argv[1:]
api.run(scenario, out=first)  # which imports everything
stack = [Call("", "")]
stays = []
sys.setprofile(note)
api.run(scenario, out=second)
sys.setprofile(None)
(run,) = [one for one in stack[0].inside if one.what == ("mobilenet.api", "run")]
walk(run, run.calls * float(share))
print(json.dumps(stays[: stays.index(("mobilenet.verify.check", "judge")) + 1]))
"""
ASKS = re.compile(
    r"isinstance\([^()]*\b(?:ProcessScenario|Scenario|ProcessPlan|Expectations|Simulation|Experiment)\b"
    r"|\bis (?:not )?(?:PROCESSES|MOBILE|OF_PROCESSES|OF_HOSTS)\b|(?:scenario|base\(\)|source)\.kind\b|\bkind\.name\b"
    r"|\"processes\" (?:not )?in\b|(?:kind|network|protocol\)) == \"(?:processes|hosts)\"|\{Scenario: "
)
DECIDE = ("by_kind.py", "record/kinds.py", "scenario/loader.py", "scenario/plans/by_kind.py")


def stays(scenario: str, place: Path) -> list[str]:
    """Return the modules that a run enters until its verdict. Successive calls within a module count as one entry."""
    # The calls of a run also depend on the depth and contents of its folder, so both runs use similar folders.
    for name in ("first", "second"):
        (place / name).mkdir(parents=True)
    words = [ROOT / "scenarios" / scenario, str(LEAST_SHARE), "first/run", "second/run"]
    done = subprocess.run(
        [sys.executable, "-c", WALK, *words], cwd=place, capture_output=True, text=True,
        env=os.environ | {"MOBILENET_COMPILED": "0"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    modules = [module.removeprefix("mobilenet.") for module, _ in json.loads(done.stdout)]
    return [module for place, module in enumerate(modules) if module != modules[place - 1] or place == 0]


def test_a_run_takes_the_steps_on_the_architecture_page(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = re.findall(
        r"^\| `([\w.]+)` \|", page.partition("### Step by step")[2].partition("\n### ")[0], re.MULTILINE
    )
    assert stays("first.yaml", tmp_path) == listed and len(listed) <= MOST_STAYS


def test_process_runs_pass_through_the_same_modules_as_host_runs(tmp_path: Path) -> None:
    """A module with only a small share of the calls is left out, so a run of processes may lack some steps of a run of
    hosts, but may not have any other step.
    """
    names = {"simulation.processes.experiment": "simulation.mobile"}
    left = iter(stays("first.yaml", tmp_path / "hosts"))
    taken = [names.get(module, module) for module in stays("vcube/reliable.yaml", tmp_path / "processes")]
    assert [module for module in taken if module not in left] == []


def test_few_modules_depend_on_whether_nodes_are_processes() -> None:
    asking = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for folder in ("mobilenet", "viz")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not path.as_posix().endswith(DECIDE)
        for line in path.read_text(encoding="utf-8").splitlines()
        if ASKS.search(line)
    ]
    assert len(asking) <= MOST_ASKING, "\n".join(asking)
    assert len(asking) > MOST_ASKING / 2  # If fewer lines match, the pattern no longer fits the code.
