"""Play scenarios of processes in memory, and judge them in the same way as a run directory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mobilenet.engine.clock import ns
from mobilenet.metrics import metrics
from mobilenet.protocols.vcube import parameters
from mobilenet.record.manifest import manifest
from mobilenet.scenario import ProcessScenario
from mobilenet.simulation.processes.experiment import Experiment
from mobilenet.verify import Evidence, verify


class PlayedRun:
    def __init__(
        self, text: str | ProcessScenario, overrides: Sequence[str] = (), broadcasts: Sequence[tuple[float, int]] = ()
    ) -> None:
        """Play a scenario. `broadcasts` contains additional broadcasts, given as (time in t.u., process)."""
        scenario = text if isinstance(text, ProcessScenario) else ProcessScenario.from_text(text, overrides)
        self.experiment = Experiment(scenario)
        for time, i in broadcasts:
            self.experiment._at(ns(time), self.experiment.processes[i].broadcast)
        outcome = self.experiment.run()
        recording = outcome.recording
        facts = manifest(recording, scenario, outcome.simulated_ns, outcome.quiescent, 0.0, "")
        tables = recording.events.columns(), recording.samples.lists
        self.metrics: Any = metrics(*tables, recording.document(), facts)
        self.verdicts = verify(Evidence(recording.tables(), recording.document(), facts))

    @property
    def violated(self) -> dict[str, str]:
        return {name: v.explanation for name, v in self.verdicts.items() if v.answer == "violated"}

    @property
    def wrong(self) -> dict[str, str]:
        """Return the properties whose verdict is not valid. A run without deliveries is accepted."""
        return {
            name: v.explanation or v.answer for name, v in self.verdicts.items()
            if v.answer != "valid" and v.explanation != "nothing was delivered"
        }  # fmt: skip


def play(n: int, protocol: str, *more: str, broadcasts: Sequence[tuple[float, int]] = ()) -> PlayedRun:
    return PlayedRun(f"processes: {n}\nprotocol: {{name: {protocol}}}\n", more, broadcasts)


def instead(monkeypatch: pytest.MonkeyPatch, of: type, kind: type) -> None:
    """Replace a protocol by another class."""
    monkeypatch.setattr(parameters, of.__name__, kind)
