"""Tests that the promises of a run are derived from its scenario.yaml. The verifier rejects an edited manifest on both
networks.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import mobilenet
from mobilenet.cli.main import app
from mobilenet.lab.hunt.swarm.campaign import description, record_adversary
from mobilenet.lab.hunt.swarm.schedule import FLAVOURS, draw
from mobilenet.record.reader import RunError
from mobilenet.scenario import Scenario, ScenarioError
from mobilenet.scenario.run_source import read_source
from mobilenet.verify import verify_run

from .damage import SCENARIO, Copy, Runs


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    place = tmp_path_factory.mktemp("runs")
    (place / "adversary").mkdir()
    record_adversary(draw(8, "expiry"), place / "adversary")
    radio = mobilenet.run(
        Scenario.from_text(SCENARIO, ["protocol.expiry_s=4", "duration_s=8", "churn=null"]), out=place / "radio"
    ).path
    return {"radio": radio, "adversary": place / "adversary"}


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
def test_verify_rejects_a_scenario_that_was_replaced(network: str, name: str, runs: Runs, tmp_path: Path) -> None:
    copy = Copy(runs[network], tmp_path / "damaged")
    file = copy.path / "scenario.yaml"
    changed = SCENARIOS[name](file.read_text())
    assert changed != file.read_text()
    file.write_text(changed)
    result = CliRunner().invoke(app, ["verify", str(copy.path)])
    assert result.exit_code == 2 and len(result.output.splitlines()) == 1 and "damaged" in result.output


def test_verify_reports_a_scenario_whose_files_are_missing(tmp_path: Path) -> None:
    streets = Path(mobilenet.__file__).parents[1] / "scenarios" / "streets.yaml"
    path = mobilenet.run(
        streets, out=tmp_path / "run", overrides=["warmup_s=0", "duration_s=10", "hosts.mobility.max_hosts=5"]
    ).path
    # In the manifest, None means one host for each track.
    assert json.loads((path / "manifest.json").read_text())["hosts"] is None
    assert verify_run(path)["record"].answer == "valid"
    for file in path.glob("*.csv*"):
        file.unlink()
    with pytest.raises(RunError, match=r"csv: missing"):
        verify_run(path)


@pytest.mark.parametrize("flavour", sorted(FLAVOURS))
def test_a_saved_schedule_description_can_be_read_back(flavour: str, tmp_path: Path) -> None:
    from mobilenet.scenario.yaml_writer import to_yaml

    for seed in range(20):
        described = description(draw(seed, flavour))
        (tmp_path / "scenario.yaml").write_text(to_yaml(described.model_dump()))
        assert read_source(tmp_path / "scenario.yaml") == described


def test_schedule_errors_state_their_line(tmp_path: Path) -> None:
    (tmp_path / "scenario.yaml").write_text("network: adversary\nseed: -1\n")
    with pytest.raises(ScenarioError) as refusal:
        read_source(tmp_path / "scenario.yaml")
    assert "scenario.yaml:2: seed: should be at least 0, got -1" in str(refusal.value)
