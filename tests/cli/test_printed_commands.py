"""Tests that each suggested command runs as printed in another folder, and that the chain of suggestions ends."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from zlib import crc32

import pytest

from mobilenet.cli.console import Exit
from mobilenet.protocols.names import REAL_TIME
from mobilenet.scenario import AnyScenario, Scenario, load_scenario
from tests.cli.command import mobilenet
from tests.conftest import SCENARIOS

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("unpainted")]

# Scenarios in paper/ are left out, because they print the same commands as the others.
SHIPPED = sorted(path for path in SCENARIOS.rglob("*.yaml") if path.parent.name not in ("studies", "claims", "paper"))
# These studies are left out, because they print the same commands as repair_against_tcp and static_comparison.
ALIKE = re.compile("repair_(?!against_tcp)|dynamic_comparison|fading|backbones")
STUDIES = [file for file in sorted((SCENARIOS / "studies").glob("*.yaml")) if not ALIKE.match(file.stem)]
FEW_HOSTS, FEW_PROCESSES = 8, 8  # The commands do not depend on the number of nodes.
LONGEST_S = 4  # Simulated seconds. Other tests cover the later parts of a scenario.
DRAWN = 2  # One scenario in two is run. `--repetitions 2` runs all of them.


Known = dict[tuple[str, ...], list[str]]  # command -> the next command that it printed


def follow(place: Path, *words: str | Path, known: Known | None = None) -> list[list[str]]:
    """Follow the printed commands one by one, and return them. A command with a known result is not run again."""
    known = {} if known is None else known
    commands: list[list[str]] = []
    command = list(map(str, words))
    while True:
        if tuple(command) not in known:
            known[tuple(command)] = next_after(command, place)
        command = known[tuple(command)]
        if not command:
            return commands
        assert command not in commands, f"a circle: {[*commands, command]}"
        commands.append(command)


def next_after(command: list[str], place: Path) -> list[str]:
    """Return the command that is printed after this one, or an empty list after the last command."""
    done = mobilenet(*command, place=place)
    # The scenario in scenarios/own_promise/ is expected to violate this promise.
    is_broken = "prompt_delivery violated: " in done.stdout
    assert done.returncode in (Exit.FINE, Exit.UNKNOWN) or is_broken, (command, done.stdout, done.stderr)
    printed = re.findall(r"Next: mobilenet (.*)$", done.stdout, re.MULTILINE)
    assert printed or "Next: " in done.stdout, (command, done.stdout)
    return shlex.split(printed[-1]) if printed else []


def with_few_hosts(scenario: AnyScenario) -> list[str]:
    is_large = isinstance(scenario, Scenario) and (scenario.hosts.count or 0) > FEW_HOSTS
    return ["--set", f"hosts.count={FEW_HOSTS}"] if is_large else []


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: str(file.relative_to(SCENARIOS)))
def test_printed_commands_for_a_scenario_run_as_printed(file: Path, tmp_path: Path, repetitions: int) -> None:
    if repetitions == 1 and crc32(str(file.relative_to(SCENARIOS)).encode()) % DRAWN:
        pytest.skip("on demand: pytest tests/cli/test_printed_commands.py --repetitions 2")
    scenario = load_scenario(file)
    changes = with_few_hosts(scenario)
    if isinstance(scenario, Scenario) and scenario.duration_s > LONGEST_S and not scenario.interventions:
        changes += ["--set", f"duration_s={max(LONGEST_S, scenario.warmup_s + 2):g}"]
    if scenario.protocol.name in REAL_TIME:
        assert mobilenet("check", file, place=tmp_path).stdout.splitlines()[-1].startswith("Next: mobilenet serve ")
        return
    known: Known = {}
    commands = follow(tmp_path, "check", file, *changes, known=known)
    assert [words[0] for words in commands[:2]] == ["run", "show"] and commands[2][0] in ("map", "figures")
    (run,) = (tmp_path / "runs").iterdir()
    assert [words[0] for words in follow(tmp_path, "verify", run.relative_to(tmp_path), known=known)] == ["report"]
    allowed = ["--allow-code"] if any(scenario.code()) else []
    explained = follow(tmp_path, "why", run.relative_to(tmp_path), *allowed, known=known)
    assert explained[0][0] in ("why", "show")


@pytest.mark.spark
@pytest.mark.parametrize("file", STUDIES, ids=lambda file: file.stem)
def test_printed_commands_for_a_study_run_as_printed(file: Path, tmp_path: Path) -> None:
    scenario = file.parent / re.search(r"^scenario: *(\S+)", file.read_text(), re.MULTILINE)[1]  # type: ignore[index]
    loaded = load_scenario(scenario)
    changes = ["--replications", "2"]
    if "hosts.count" not in file.read_text():
        changes += with_few_hosts(loaded)
    if isinstance(loaded, Scenario):
        lasts_s = 4 if loaded.hosts.count else 8  # A run of 8 s excludes hosts whose tracks cover at most 5 s.
        changes += ["--set", "warmup_s=0", "--set", f"duration_s={lasts_s}"]
    else:
        changes += ["--set", f"processes={FEW_PROCESSES}"]
    if any(loaded.code()) or "own_protocol" in file.stem:
        changes += ["--allow-code"]
    known: Known = {}
    commands = follow(tmp_path, "study", file, "--dry-run", *changes, known=known)
    assert commands[0][0] == "study" and commands[-1][0] == "report"
    (study,) = (tmp_path / "studies").iterdir()
    for start in ("show", "verify", "figures", "export"):
        words = ["--csv"] if start == "export" else []
        follow(tmp_path, start, study.relative_to(tmp_path), *words, known=known)
