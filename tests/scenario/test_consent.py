"""Tests that the code of a scenario runs only if the user has allowed it, for every command and API call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mobilenet
from mobilenet import api
from mobilenet.by_kind import with_declared
from mobilenet.judgement import own_metrics
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import load_scenario
from mobilenet.simulation.mobile import Simulation
from mobilenet.simulation.plugins import declaration_for, mobility_for
from mobilenet.simulation.processes.experiment import Experiment
from mobilenet.simulation.processes.plugins import broadcast_for
from tests.conftest import SCENARIOS

GOSSIP, RING = "own_protocol/gossip", "own_protocol/ring"
PATROL, FAIRNESS = "own_mobility/patrol", "own_metric/fairness"


@pytest.mark.parametrize(
    ("example", "reach"),
    [
        (GOSSIP, Simulation),
        (PATROL, Simulation),
        (FAIRNESS, Simulation),
        ("own_process/bus", Simulation),
        (RING, Experiment),
        (GOSSIP, api.simulate),
        (RING, api.simulate),
        (GOSSIP, declaration_for),
        (GOSSIP, with_declared),
        (RING, with_declared),
        (RING, broadcast_for),
        (PATROL, mobility_for),
        (FAIRNESS, own_metrics),
    ],
)
def test_scenario_code_runs_only_if_the_user_allowed_it(
    example: str, reach: Callable[[Any], object], tmp_path: Path
) -> None:
    for file in (SCENARIOS / example).parent.glob("*.*"):
        mark = f"open({str(tmp_path / 'ran')!r}, 'w').close()\n" if file.suffix == ".py" else ""
        text = file.read_text(encoding="utf-8").replace('"""\n\n', f'"""\n\n{mark}', 1)
        (tmp_path / file.name).write_text(text, encoding="utf-8")
    scenario = load_scenario(tmp_path / f"{Path(example).name}.yaml")
    with pytest.raises(ScenarioError, match=r"runs Python code.*if you trust it, pass --allow-code"):
        reach(scenario)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("example", [GOSSIP, RING, FAIRNESS])
def test_a_code_file_is_read_and_executed_once_per_run(example: str, tmp_path: Path) -> None:
    """The run uses the code that was read at its start, even if the file changes meanwhile."""
    own = SCENARIOS / f"{example}.py"
    for file in own.parent.glob("*.*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    mark = f"\nwith open({str(tmp_path / 'ran')!r}, 'a') as file:\n    file.write('x')\n"
    changed = f"with open({str(tmp_path / own.name)!r}, 'a') as file:\n    file.write('# later')\n"
    source = own.read_text(encoding="utf-8") + mark + changed
    (tmp_path / own.name).write_text(source, encoding="utf-8")
    scenario = tmp_path / f"{own.stem}.yaml"
    changes = [] if example == RING else ["duration_s=3", "hosts.count=3"]
    for runs in (1, 2):
        run = mobilenet.run(scenario, out=tmp_path / str(runs), overrides=changes, allow_code=True)
        assert (tmp_path / "ran").read_text() == "x" * runs
        assert (run.path / own.name).read_text(encoding="utf-8") == source + "# later" * (runs - 1)
    assert not (tmp_path / "__pycache__").exists()
