"""Outages of the plan, and crashes by hand at the same instant.

Source    ours
"""

from __future__ import annotations

from pathlib import Path

import pytest

import mobilenet
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import AnyScenario, load_scenario

EXPLICIT = "{schedule: explicit, outages: [{host: h1, at_s: 4, duration_s: 0.001}]}"
ANYBODY = "{schedule: paper, station: s0, first_at_s: 4, every_s: 60, first_duration_s: 0.5}"


def scenario(faults: str, tmp_path: Path) -> AnyScenario:
    path = tmp_path / "scenario.yaml"
    path.write_text(
        "duration_s: 8\nstations: {layout: {shape: points, points_m: [[0, 0]]}}\n"
        "hosts: {count: 2, mobility: {model: static}}\nprotocol: {name: mobile_causal}\nworkload: {interval_s: 2}\n"
        f"faults: {faults}\n"
        "interventions: [{at_s: 4, do: crash, host: h0}, {at_s: 4, do: crash, host: h1},"
        " {at_s: 6, do: recover, host: h0}, {at_s: 6.046, do: recover, host: h1}]\n"
    )
    return load_scenario(path)


def test_a_planned_outage_and_a_crash_by_hand_at_one_instant(tmp_path: Path) -> None:
    """The planned one comes first, and decides how long the host is down."""
    run = mobilenet.run(scenario(ANYBODY, tmp_path), out=tmp_path / "run")
    assert run.verdicts["record"].answer == "valid", run.verdicts["record"].explanation
    assert (run.events.event == "recover").sum() == 2


def test_a_crash_by_hand_in_an_outage_of_that_host_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="h1 is already down, so crash has no effect"):
        scenario(EXPLICIT, tmp_path)
