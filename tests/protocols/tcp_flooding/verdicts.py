"""Run a scenario in memory and return the verifier's verdicts."""

from __future__ import annotations

from typing import Any

from mobilenet.api import manifest_of
from mobilenet.metrics import metrics
from mobilenet.scenario import Scenario
from mobilenet.simulation.mobile import Simulation
from mobilenet.verify import Evidence, Verdict, verify


def judge(scenario: Scenario) -> dict[str, Verdict]:
    return measure(scenario)[0]


def measure(scenario: Scenario) -> tuple[dict[str, Verdict], dict[str, Any], Simulation]:
    """Run the scenario. Return its verdicts, its metrics, and the simulation itself."""
    simulation = Simulation(scenario)
    outcome = simulation.run()
    facts, recording = manifest_of(scenario, outcome, 0.0, ""), outcome.recording
    tables = recording.events.columns(), recording.samples.lists
    verdicts = verify(Evidence(recording.tables(), recording.document(), facts))
    return verdicts, metrics(*tables, recording.document(), facts), simulation
