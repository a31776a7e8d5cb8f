"""What a run promises is derived from its scenario.yaml: a manifest edited by hand is refused, on both networks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import mobilenet
from mobilenet.cli.main import app
from mobilenet.expected.by_kind import declared_manifest
from mobilenet.rundir.reader import RunError
from mobilenet.scenario import Scenario, ScenarioError
from mobilenet.scenario.run_source import read_source
from mobilenet.swarm.campaign import description, record_adversary
from mobilenet.swarm.schedule import FLAVOURS, draw
from mobilenet.verify import verify_run

from .damage import SCENARIO, Copy, Runs

OTHER: dict[str, Callable[[Any], Any]] = {  # each promise, and a weaker or stronger one
    "seed": lambda value: value + 1,
    "protocol": lambda value: "beacon",
    "warmup_s": lambda value: value + 1,
    "duration_s": lambda value: value - 0.5,
    "drain_s": lambda value: value + 60,
    "stations": lambda value: value - 1,
    "hosts": lambda value: None,
    "buffers": lambda value: [],
    "promises.broadcast": lambda value: None,
    "promises.gap_after_s": lambda value: 0.001,
    "promises.duplicating_air": lambda value: not value,
}
BOUNDS: dict[str, Any] = {"heard_every_s": 1e9, "rest_within_s": 1e-3, "no_rest_because": "it was late"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    place = tmp_path_factory.mktemp("runs")
    (place / "adversary").mkdir()
    record_adversary(draw(8, "expiry"), place / "adversary")
    radio = mobilenet.run(
        Scenario.from_text(SCENARIO, ["protocol.expiry_s=4", "duration_s=8", "churn=null"]), out=place / "radio"
    ).path
    return {"radio": radio, "adversary": place / "adversary"}


def leaves(path: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inside in value.items():
            yield from leaves(f"{path}.{key}" if path else key, inside)
    else:
        yield path


def test_every_promise_is_tried(runs: Runs) -> None:
    for path in runs.values():
        promised = set(leaves("", declared_manifest(read_source(path / "scenario.yaml"))))
        assert promised == set(OTHER) | {f"promises.{name}" for name in BOUNDS}
        assert verify_run(path)["record"].answer == "valid"


@pytest.mark.parametrize("key", OTHER)
@pytest.mark.parametrize("network", ["radio", "adversary"])
def test_a_manifest_that_promises_something_else(network: str, key: str, runs: Runs, tmp_path: Path) -> None:
    copy = Copy(runs[network], tmp_path / "damaged")
    *groups, last = key.split(".")
    group = copy.manifest
    for name in groups:
        group = group[name]
    group[last] = OTHER[key](group[last])
    copy.save()
    with pytest.raises(RunError, match=r"manifest\.json: damaged: ") as refusal:
        verify_run(copy.path)
    complaint = str(refusal.value)
    assert (
        f"damaged: {key} is " in complaint
        and "but scenario.yaml gives" in complaint
        and len(complaint.splitlines()) == 1
    )
    result = CliRunner().invoke(app, ["verify", str(copy.path)])
    assert result.exit_code == 2 and len(result.output.splitlines()) == 1


@pytest.mark.parametrize("network", ["radio", "adversary"])
def test_bounds_of_another_version_are_replaced_by_those_of_the_scenario(
    network: str, runs: dict[str, Path], tmp_path: Path
) -> None:
    copy = Copy(runs[network], tmp_path / "edited")
    copy.manifest["promises"] |= BOUNDS
    del copy.manifest["promises"]["no_rest_because"]
    copy.save()
    assert verify_run(copy.path) == verify_run(runs[network])


def test_a_manifest_with_a_promise_that_the_scenario_does_not_make(runs: dict[str, Path], tmp_path: Path) -> None:
    copy = Copy(runs["radio"], tmp_path / "edited")
    copy.manifest["promises"]["delivers_to_all"] = False
    copy.save()
    with pytest.raises(RunError, match=r"damaged: promises\.delivers_to_all is False"):
        verify_run(copy.path)


SCENARIOS: dict[str, Callable[[str], str]] = {
    "a weaker T": lambda text: text.replace("expiry_s: ", "expiry_s: 0.0"),
    "cut in the middle": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "no YAML": lambda text: "\0" + text,
    "an unknown key": lambda text: text + "trust: me\n",
    "another duration": lambda text: text.replace("duration_s: ", "duration_s: 1"),
}


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("network", ["radio", "adversary"])
def test_a_scenario_that_is_not_that_of_the_run(network: str, name: str, runs: Runs, tmp_path: Path) -> None:
    copy = Copy(runs[network], tmp_path / "damaged")
    file = copy.path / "scenario.yaml"
    changed = SCENARIOS[name](file.read_text())
    assert changed != file.read_text()
    file.write_text(changed)
    result = CliRunner().invoke(app, ["verify", str(copy.path)])
    assert result.exit_code == 2 and len(result.output.splitlines()) == 1 and "damaged" in result.output


def test_a_scenario_whose_files_are_gone(tmp_path: Path) -> None:
    streets = Path(mobilenet.__file__).parents[1] / "scenarios" / "streets.yaml"
    path = mobilenet.run(
        streets, out=tmp_path / "run", overrides=["warmup_s=0", "duration_s=10", "hosts.mobility.max_hosts=5"]
    ).path
    assert json.loads((path / "manifest.json").read_text())["hosts"] is None  # as many as there are tracks
    assert verify_run(path)["record"].answer == "valid"
    for file in path.glob("*.csv*"):
        file.unlink()
    with pytest.raises(RunError, match=r"file .* not found .*the run is damaged"):
        verify_run(path)


@pytest.mark.parametrize("flavour", sorted(FLAVOURS))
def test_what_is_said_of_a_schedule_is_read_back(flavour: str, tmp_path: Path) -> None:
    from mobilenet.scenario.yaml_writer import to_yaml

    for seed in range(20):
        described = description(draw(seed, flavour))
        (tmp_path / "scenario.yaml").write_text(to_yaml(described.model_dump()))
        assert read_source(tmp_path / "scenario.yaml") == described


def test_problems_of_a_schedule_have_lines(tmp_path: Path) -> None:
    (tmp_path / "scenario.yaml").write_text("network: adversary\nseed: -1\n")
    with pytest.raises(ScenarioError) as refusal:
        read_source(tmp_path / "scenario.yaml")
    assert "scenario.yaml:2: seed: should be at least 0, got -1" in str(refusal.value)
