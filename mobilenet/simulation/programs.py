"""Programs as the parties of a run: the declaration of those that a scenario names by their commands.

Model     one cast for each run. What they measure is known once they have answered their first start. So the scenario
          that a run writes down contains it; the one that it read need not
Errors    ScenarioError: code that is not allowed
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from mobilenet.lab.programs.cast import Cast, Note, Setting
from mobilenet.lab.programs.host import Memory, ProgramHost
from mobilenet.lab.programs.process import ProgramProcess
from mobilenet.lab.programs.station import ProgramStation
from mobilenet.parameters import ScenarioError
from mobilenet.protocols.declaration import Declaration
from mobilenet.record.recorder import Recording
from mobilenet.scenario import AnyScenario
from mobilenet.scenario.programs import Program


def cast_of(
    scenario: AnyScenario, counts: Mapping[str, int], recording: Recording | None, errors_into: Path | None = None
) -> Cast | None:
    """The cast of a run of this scenario; None: no programs. `counts`: what each program learns of the network."""
    protocol: Any = scenario.protocol
    if not isinstance(protocol, Program):
        return None
    commands: Any = protocol.commands_by_role()
    setting = Setting(
        commands, protocol.settings, protocol.answer_within_s, scenario.folder, scenario.seed, dict(counts)
    )
    note: Note = None if recording is None or recording.lines is None else recording.lines.add
    return Cast(setting, errors_into, note)


def declaration_of_programs(cast: Cast) -> type[Declaration]:
    """Hosts and stations of a cast."""
    from mobilenet.scenario.protocol_groups import OwnDeclaration

    class Programs(OwnDeclaration):
        stable = Memory

        @staticmethod
        def host(port: Any, memory: Memory, parameters: Any, stations: int) -> ProgramHost:  # type: ignore[override]
            return ProgramHost(cast, port, memory)

        @staticmethod
        def station(port: Any, wired: Any, parameters: Any, stations: int) -> ProgramStation:  # type: ignore[override]
            return ProgramStation(cast, port, wired, stations)

        @staticmethod
        def expiry_s(p: Any) -> float | None:
            return 0.0  # silences are noted: a program may report that a host expired

    return Programs


def processes_of(cast: Cast) -> Callable[[Any, int], Any]:
    """How to make a process, of its port and their number."""
    return partial(ProgramProcess, cast)


def as_played(scenario: AnyScenario, cast: Cast | None) -> AnyScenario:
    """Fill in the buffers that the scenario's programs have named."""
    if cast is None:
        return scenario
    protocol: Any = scenario.protocol
    buffers = protocol.named_buffers(cast.buffers)
    if protocol.buffers not in (None, buffers):
        raise ScenarioError(
            f"protocol.buffers: the programs named {buffers}, expected those named in the scenario,"
            f" {protocol.buffers}, or null there"
        )
    values = {"protocol": protocol.model_copy(update={"buffers": buffers})}
    return scenario.model_copy(update=values)
