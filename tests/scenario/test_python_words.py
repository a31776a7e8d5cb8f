"""Tests that errors of the Python API refer to the arguments of its functions, and never to command-line options or to
lines of a file that does not exist.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mobilenet
from mobilenet.parameters import ScenarioError
from mobilenet.record.writer import RecordError
from mobilenet.scenario.loader import as_options, given_scenario
from mobilenet.scenario.yaml_reader import Change
from tests.conftest import SCENARIOS
from tests.tools import invoke

FIRST = SCENARIOS / "first.yaml"
KEYS: dict[str, Any] = {
    "duration_s": 3,
    "stations": {"layout": {"shape": "points", "points_m": [[0, 0]]}},
    "hosts": {"count": 2, "mobility": {"model": "random_waypoint", "speed_mps": 1}},
    "protocol": {"name": "mobile_causal"},
    "workload": {"interval_s": 2},
}
STUDY: dict[str, Any] = {"scenario": str(FIRST), "factors": {"hosts.count": [1, 2]}, "replications": {"min": 2}}
COUT = "hosts.cout: unknown key; did you mean 'count'?"


def refusal(action: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    with pytest.raises((ScenarioError, RecordError)) as caught:
        action(*arguments, **named)
    message = str(caught.value)
    assert "--" not in message and "\n" not in message
    return message


@pytest.mark.parametrize("action", [mobilenet.run, mobilenet.live])
@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ({"overrides": ["hosts.cout=20"]}, f"overrides: hosts.cout=20: {COUT}"),
        ({"overrides": ["hosts.count"]}, "overrides: hosts.count: expected key=value, such as wireless.range_m=100"),
        ({"overrides": ["hosts.count=[1"]}, "overrides: hosts.count=[1: not YAML: "),
        ({"overrides": [20]}, "overrides[0]: got 20 (int), expected text, such as 'hosts.count=20'"),
        ({"overrides": "hosts.count=20"}, "overrides: got 'hosts.count=20' (str), expected a dictionary, such as {"),
        ({"overrides": {"hosts.cout": 20}}, f"overrides['hosts.cout']: {COUT}"),
        ({"overrides": {"hosts.count": -1}}, "overrides['hosts.count']: hosts.count: should be at least 0, got -1"),
        ({"overrides": {"hosts.count": {1}}}, "overrides['hosts.count']: got {1} (set), expected numbers, text, lists"),
        ({"seed": -1}, "seed=-1: seed: should be at least 0, got -1"),
        ({"seed": "x"}, "seed=x: seed: expected a whole number, got x"),
    ],
)
def test_errors_from_python_calls_mention_the_argument(action: Any, named: dict[str, Any], expected: str) -> None:
    assert refusal(action, FIRST, **named).startswith(expected)
    assert refusal(action, KEYS, **named).startswith(expected)
    assert refusal(action, mobilenet.Scenario.load(FIRST), **named).startswith(expected)


def test_errors_in_a_scenario_dictionary_mention_no_lines() -> None:
    assert refusal(mobilenet.run, KEYS | {"hosts": {**KEYS["hosts"], "cout": 3}}) == f"scenario: {COUT}"
    assert refusal(mobilenet.run, KEYS | {"hosts": {"count": {3}}}).startswith("scenario['hosts']['count']: got {3} ")
    assert refusal(mobilenet.run, 3).startswith("scenario: got 3 (int), expected the name of a file, a dictionary or")


def test_errors_of_scenario_load_mention_its_arguments() -> None:
    assert refusal(mobilenet.Scenario.load, FIRST, ["hosts.cout=3"]) == f"overrides: hosts.cout=3: {COUT}"


def test_errors_in_a_file_state_its_line_when_loaded_from_python(tmp_path: Path) -> None:
    text = FIRST.read_text(encoding="utf-8").replace("count:", "cout:")
    (tmp_path / "own.yaml").write_text(text, encoding="utf-8")
    line = next(n for n, line in enumerate(text.splitlines(), 1) if "cout:" in line)
    with pytest.raises(ScenarioError, match=rf"own.yaml:{line}: hosts.cout: unknown key"):
        mobilenet.run(tmp_path / "own.yaml")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"factors": {"hosts.cout": [1, 2]}}, f"study: factors.hosts.cout: level 1: {COUT}"),
        ({"set": {"hosts.cout": 1}}, f"study: set.hosts.cout: hosts.cout=1: {COUT}"),
        ({"replications": -2}, "study: replications: expected keys with values in { }, got -2"),
        ({"factors": {"hosts.count": [{1}]}}, "study['factors']['hosts.count'][0]: got {1} (set), expected numbers"),
        ({"scenario": KEYS | {"seeds": 3}}, "study: factors: scenario: seeds: unknown key; did you mean 'seed'?"),
    ],
)
@pytest.mark.lab
def test_errors_of_studies_in_python_mention_the_argument(
    changes: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    changed = {**STUDY, **changes}
    assert refusal(mobilenet.study, changed, out=tmp_path / "out").startswith(expected)


def test_a_study_in_python_requires_an_output_directory() -> None:
    assert refusal(mobilenet.study, STUDY) == "out: missing; a study that is given as a dictionary needs a directory"


@pytest.mark.lab
def test_runs_in_python_reject_an_existing_directory(tmp_path: Path) -> None:
    out = tmp_path / "run"
    first = mobilenet.run(KEYS, out=out)
    assert refusal(mobilenet.run, KEYS, out=out) == (
        f"{out}: already exists; pass another `out`, or replace=True to replace this run"
    )
    again = mobilenet.run(KEYS, out=out, seed=7, replace=True)
    assert again.manifest["fingerprint"] != first.manifest["fingerprint"]
    (tmp_path / "other").mkdir()
    assert refusal(mobilenet.run, KEYS, out=tmp_path / "other").endswith("other: already exists; pass another `out`")
    assert refusal(mobilenet.run, KEYS, out=tmp_path / "other", replace=True).endswith(
        "only run directories can be replaced"
    )
    assert refusal(mobilenet.study, STUDY, out=out) == (
        f"{out}: exists and is not a study; choose another directory for out"
    )


@pytest.mark.lab
def test_errors_on_the_command_line_mention_the_option(tmp_path: Path) -> None:
    for verb in ("run", "live"):
        done = invoke(verb, FIRST, "--set", "hosts.cout=3")
        assert done.exit_code == 2 and f"--set hosts.cout=3: {COUT}" in done.output
        done = invoke(verb, FIRST, "--seed", "-1")
        assert done.exit_code == 2 and "--seed -1: seed: should be at least 0, got -1" in done.output
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "x").touch()
    done = invoke("study", SCENARIOS / "studies" / "own_protocol.yaml", "--allow-code", "--out", tmp_path / "study")
    assert done.exit_code == 2 and "exists and is not a study; name another directory with --out" in done.output


def test_the_source_of_an_override_survives_pickling() -> None:
    one = pickle.loads(pickle.dumps(as_options(["hosts.cout=3"])[0]))
    assert isinstance(one, Change) and one == "hosts.cout=3"
    with pytest.raises(ScenarioError, match=r"^--set hosts\.cout=3: hosts\.cout"):
        given_scenario(FIRST, overrides=[one])
