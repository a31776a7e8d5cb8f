"""Custom protocols in a swarm: a class, `path/to/file.py:Class`, or programs, named by the group
`protocol` of a scenario as JSON. Decides where it plays and what is drawn for it.

Model     a broadcast among processes plays where those over VCube do; a protocol of hosts and stations where the mobile
          causal broadcast does, on the adversary's network and on the radio, on the same schedules and scenes. One that
          needs connections plays only on the radio: the adversary's network has none. A class's declarations decide how
          it is exercised and what it is judged by; its settings are its defaults
Errors    ScenarioError: no such file or class, or one that is not a protocol. Whether its code may run was asked before
Source    ours: docs/guide/plug-ins.md, docs/validation/trust.md
"""

from __future__ import annotations

import json
import shlex
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from mobilenet.by_kind import with_declared
from mobilenet.judgement import own_checks
from mobilenet.lab.hunt.swarm import broadcasts, scenes
from mobilenet.protocols.declaration import Declaration
from mobilenet.scenario import OwnProtocol, ProcessScenario, Scenario, effective
from mobilenet.scenario.processes import OwnBroadcast
from mobilenet.scenario.protocol_groups import OwnProgram
from mobilenet.scenario.yaml_writer import inline
from mobilenet.simulation.parties import Parties, parties_of
from mobilenet.simulation.plugins import declaration_for
from mobilenet.simulation.processes.plugins import plays_among_processes
from mobilenet.verify.check import Check

Kind = Literal["hosts", "hosts over connections", "processes"]


class PlugIn(NamedTuple):
    """A protocol of hosts and stations, for one schedule on the adversary's network."""

    reference: str  # path/to/file.py:Class, or the group of programs
    scene: Scenario  # a scene with the protocol, for the files that it names
    declaration: type[Declaration]
    settings: Any
    parties: Parties

    @property
    def group(self) -> OwnProtocol | OwnProgram:
        """The protocol in scenario.yaml, with the values that became known only during the run."""
        return self.parties.as_played(self.scene).protocol  # type: ignore[return-value]

    def end(self) -> None:
        """End the schedule of a plug-in."""
        self.parties.end(0)


def is_plug_in(protocol: str) -> bool:
    """Return whether this names a class in a file, or programs."""
    return ".py:" in protocol or are_programs(protocol)


def are_programs(protocol: str) -> bool:
    return protocol.startswith("{")


def options_of(protocol: str) -> str:
    """Return the options with which the command line of a swarm names the protocol."""
    if not are_programs(protocol):
        return f" --protocol {protocol} --allow-code"
    group = json.loads(protocol)
    words = [f" --command {shlex.quote(shlex.join(group['command']['host']))}"]
    if group["command"]["station"] != group["command"]["host"]:
        words.append(f"--station-command {shlex.quote(shlex.join(group['command']['station']))}")
    return " ".join([*words, f"--promises {group['promises']}", "--allow-code"])


def plug_in_kind(protocol: str) -> Kind:
    """Return the kind of a plug-in. Its code is run, once for each version of the file."""
    if are_programs(protocol):
        scene_of(1, protocol)  # raises an error if something is wrong with it
        return "hosts"
    path, _ = _split(protocol)
    return _kind_by_version(protocol, path.stat().st_mtime_ns if path.is_file() else 0)


@cache
def _kind_by_version(protocol: str, version: int) -> Kind:
    path, name = _split(protocol)
    scene = scene_of(1, protocol)  # raises an error for a wrong file name
    if plays_among_processes("--protocol", f"{path.name}:{name}", path.parent, True):
        return "processes"
    declaration, _ = declaration_for(scene, True)
    return "hosts over connections" if "connections" in declaration.needs else "hosts"


def scene_of(seed: int, protocol: str, radio: scenes.Radio = "dcf") -> Scenario:
    """Return the scene of a seed with this protocol, without running its code."""
    if are_programs(protocol):
        return _scene(seed, protocol, Path(), radio)
    path, name = _split(protocol)
    return _scene(seed, inline({"class": f"{path.name}:{name}"}), path.parent, radio)


def kept_scene(protocol: OwnProtocol | OwnProgram, directory: Path) -> Scenario:
    """Return the scene of a plug-in in the run of a schedule, with the copies in its directory."""
    if isinstance(protocol, OwnProtocol):
        return _scene(1, inline({"class": protocol.reference}), directory)
    return _scene(1, inline(protocol.model_dump(include={"command", "promises"})), directory)


def _scene(seed: int, named: str, folder: Path, radio: scenes.Radio = "dcf") -> Scenario:
    drawn = effective(scenes.draw(seed, radio=radio))
    return Scenario.from_text(drawn, [f"protocol={named}"], folder, "swarm")


def experiment_of(seed: int, protocol: str) -> ProcessScenario:
    """Return the experiment of a seed with this broadcast among processes."""
    path, name = _split(protocol)
    named = {"processes": 2, "protocol": {"class": f"{path.name}:{name}"}, "detector": None}
    plain = ProcessScenario.from_text(effective(ProcessScenario.model_validate(named)), (), path.parent, "swarm")
    declared = with_declared(plain, True)
    drawn = broadcasts.draw(seed, "own", cast("OwnBroadcast", declared.protocol))
    return ProcessScenario.from_text(effective(drawn), (), path.parent, "swarm")


def plug_in_of(protocol: str, scene: Scenario, seed: int, stations: int, hosts: int) -> PlugIn:
    """Return the plug-in for the schedule of a seed on the adversary's network. `scene`: one that has the protocol."""
    scene = cast("Scenario", with_declared(scene, True))
    named = scene.model_copy(update={"seed": seed})
    parties = parties_of(named, {"stations": stations, "hosts": hosts}, None)
    declaration, settings = declaration_for(scene, True, parties)
    return PlugIn(protocol, scene, declaration, settings, parties)


def checks_of(protocol: str) -> list[Check]:
    """Return the checks of the promises that the class makes itself."""
    if not is_plug_in(protocol):
        return []
    scene = scene_of(1, protocol)
    return own_checks(scene.protocol, scene.folder, True)


def _split(protocol: str) -> tuple[Path, str]:
    file, _, name = protocol.rpartition(":")
    return Path(file), name
