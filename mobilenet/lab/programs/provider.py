"""Provide programs as the nodes of a run: hosts and stations, or processes, for which a scenario names commands.

Model     Each run has one object that starts its programs (Cast). In its answer to the first start event, a program
          names the buffers that it measures. The scenario that a run writes therefore contains these names, while the
          scenario that it reads may omit them
Errors    ScenarioError: programs that name other buffers than the scenario
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mobilenet.lab.programs.host import Memory, ProgramHost
from mobilenet.lab.programs.process import ProgramProcess
from mobilenet.lab.programs.run_programs import Cast, Setting
from mobilenet.lab.programs.station import ProgramStation
from mobilenet.parameters import ScenarioError
from mobilenet.protocols.declaration import Declaration
from mobilenet.record.recorder import Recording
from mobilenet.scenario import AnyScenario
from mobilenet.scenario.protocol_groups import OwnDeclaration


class Programs(Cast):
    """The programs that act as the nodes of a run."""

    def declaration(self, protocol: Any) -> type[Declaration]:
        cast = self

        class ProgramDeclaration(OwnDeclaration):
            stable = Memory

            @staticmethod
            def host(port: Any, memory: Memory, parameters: Any, stations: int) -> Any:  # type: ignore[override]
                return ProgramHost(cast, port, memory)

            @staticmethod
            def station(port: Any, wired: Any, parameters: Any, stations: int) -> Any:  # type: ignore[override]
                return ProgramStation(cast, port, wired, stations)

            @staticmethod
            def expiry_s(p: Any) -> float | None:
                return 0.0  # Every silence is recorded, because a program may report that a host expired.

        return ProgramDeclaration

    def new_process(self, port: Any, n: int) -> ProgramProcess:
        return ProgramProcess(self, port, n)

    def as_played(self, scenario: AnyScenario) -> AnyScenario:
        """Return the scenario with the buffers that its programs have named."""
        protocol: Any = scenario.protocol
        buffers = protocol.named_buffers(self.buffers)
        if protocol.buffers not in (None, buffers):
            raise ScenarioError(
                f"protocol.buffers: the programs declared {buffers}, but the scenario has {protocol.buffers};"
                " expected the same names in both, or null in the scenario"
            )
        return scenario.model_copy(update={"protocol": protocol.model_copy(update={"buffers": buffers})})


def provide(
    scenario: AnyScenario, counts: Mapping[str, int], recording: Recording | None, errors_into: Path | None, *_: Any
) -> Programs:
    """Return the programs for a run of this scenario."""
    protocol: Any = scenario.protocol
    setting = Setting(
        protocol.commands_by_role(), protocol.settings, protocol.answer_within_s, scenario.folder, scenario.seed,
        dict(counts),
    )  # fmt: skip
    return Programs(setting, errors_into, None if recording is None or recording.lines is None else recording.lines.add)
