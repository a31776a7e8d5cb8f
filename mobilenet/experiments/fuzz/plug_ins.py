"""What a swarm makes of a protocol of one's own, `path/to/file.py:Class`: where it plays, and what is drawn for it.

Model     a broadcast among processes plays where those over VCube do; a protocol of hosts and stations where the mobile
          causal broadcast does, on the adversary's network and on the radio, on the same schedules and scenes. One that
          needs connections plays on the radio alone: the adversary's network has none. What a class declares decides
          what is done to it and what it is judged by; its settings are its defaults
Errors    ScenarioError: no such file or class, or one that is no protocol. Whether its code may run was asked before
Source    ours: docs/guide/plug-ins.md, docs/validation/trust.md
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mobilenet.experiments.fuzz import broadcasts, scenes
from mobilenet.protocols.declaration import Declaration
from mobilenet.scenario import OwnProtocol, ProcessScenario, Scenario, effective
from mobilenet.scenario.processes import OwnBroadcast
from mobilenet.scenario.yaml_writer import inline
from mobilenet.simulation.plugins import declaration_for, plays_among_processes, with_declared

Kind = Literal["hosts", "hosts over connections", "processes"]


class Parties(NamedTuple):
    """A protocol of hosts and stations as the adversary's network takes it."""

    reference: str  # path/to/file.py:Class
    file: Path
    group: OwnProtocol  # what scenario.yaml says of it
    declaration: type[Declaration]
    settings: Any


def is_plug_in(protocol: str) -> bool:
    """Whether this names a class in a file."""
    return ".py:" in protocol


def file_of(protocol: str) -> str:
    """As a traceback names it."""
    return str(_split(protocol)[0])


def kind_of(protocol: str) -> Kind:
    """Its code is run, once for each version of the file."""
    path, _ = _split(protocol)
    return _kind_of(protocol, path.stat().st_mtime_ns if path.is_file() else 0)


@cache
def _kind_of(protocol: str, version: int) -> Kind:
    path, name = _split(protocol)
    scene = scene_of(1, protocol)  # tells what is wrong with the file's name
    if plays_among_processes("--protocol", f"{path.name}:{name}", path.parent, True):
        return "processes"
    declaration, _ = declaration_for(scene, True)
    return "hosts over connections" if "connections" in declaration.needs else "hosts"


def scene_of(seed: int, protocol: str, radio: scenes.Radio = "dcf") -> Scenario:
    """The scene of a seed with this protocol; its code is not run yet."""
    path, name = _split(protocol)
    named = inline({"class": f"{path.name}:{name}"})
    drawn = effective(scenes.draw(seed, radio=radio))
    return Scenario.from_text(drawn, [f"protocol={named}"], path.parent, "swarm")


def experiment_of(seed: int, protocol: str) -> ProcessScenario:
    """The experiment of a seed with this broadcast among processes."""
    path, name = _split(protocol)
    named = {"processes": 2, "protocol": {"class": f"{path.name}:{name}"}, "detector": None}
    plain = ProcessScenario.from_text(effective(ProcessScenario.model_validate(named)), (), path.parent, "swarm")
    declared = with_declared(plain, True)
    assert isinstance(declared, ProcessScenario) and isinstance(declared.protocol, OwnBroadcast)
    drawn = broadcasts.draw(seed, "own", declared.protocol)
    return ProcessScenario.from_text(effective(drawn), (), path.parent, "swarm")


def parties_of(protocol: str) -> Parties:
    """What plays on the adversary's network."""
    path, _ = _split(protocol)
    scene = with_declared(scene_of(1, protocol), True)
    assert isinstance(scene, Scenario) and isinstance(scene.protocol, OwnProtocol)
    declaration, settings = declaration_for(scene, True)
    return Parties(protocol, path, scene.protocol, declaration, settings)


def _split(protocol: str) -> tuple[Path, str]:
    file, _, name = protocol.rpartition(":")
    return Path(file), name
