"""Choose the networks and the experiments for each custom protocol in a swarm.

Model     A custom protocol is a class, named as `path/to/file.py:Class`, or a set of programs, given as the group
          `protocol` of a scenario in JSON. Custom broadcasts among processes are run in the same experiments as the
          broadcasts over VCube. Custom protocols of hosts and stations are run in the schedules and scenes of the
          mobile causal broadcast, on the adversary's network and on the radio. A protocol that needs connections is run
          only on the radio, because the adversary's network lacks them. The declarations of the class determine how it
          is exercised and judged. Settings have their default values.
Errors    ScenarioError for an unknown file or class, or a class that is not a protocol. The caller has already asked
          whether the code may run
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
    """A plug-in for hosts and stations that plays one schedule on the adversary's network."""

    reference: str  # path/to/file.py:Class, or the group that declares the programs
    scene: Scenario  # a scenario with this protocol, whose folder contains the files of the protocol
    declaration: type[Declaration]
    settings: Any
    parties: Parties

    @property
    def group(self) -> OwnProtocol | OwnProgram:
        """The group `protocol` of scenario.yaml, including the values that only the run has determined."""
        return self.parties.as_played(self.scene).protocol  # type: ignore[return-value]

    def end(self) -> None:
        """End the schedule, and stop the hosts and stations of the plug-in."""
        self.parties.end(0)


def is_plug_in(protocol: str) -> bool:
    """Return whether the string names a class in a file, or a set of programs."""
    return ".py:" in protocol or are_programs(protocol)


def are_programs(protocol: str) -> bool:
    return protocol.startswith("{")


def options_of(protocol: str) -> str:
    """Return the command-line options by which a swarm command names the protocol."""
    if not are_programs(protocol):
        return f" --protocol {protocol} --allow-code"
    group = json.loads(protocol)
    words = [f" --command {shlex.quote(shlex.join(group['command']['host']))}"]
    if group["command"]["station"] != group["command"]["host"]:
        words.append(f"--station-command {shlex.quote(shlex.join(group['command']['station']))}")
    return " ".join([*words, f"--promises {group['promises']}", "--allow-code"])


def plug_in_kind(protocol: str) -> Kind:
    """Return the kind of a plug-in. The code of a class is executed once for each version of its file."""
    if are_programs(protocol):
        scene_of(1, protocol)  # This raises an error if the group is invalid.
        return "hosts"
    path, _ = _split(protocol)
    return _kind_by_version(protocol, path.stat().st_mtime_ns if path.is_file() else 0)


@cache
def _kind_by_version(protocol: str, version: int) -> Kind:
    path, name = _split(protocol)
    scene = scene_of(1, protocol)  # This raises an error if the file name is wrong.
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
    """Return the scene for a plug-in in a run directory. The scene uses the copies of the plug-in's files stored
    there.
    """
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
    """Return the plug-in for the schedule of a seed on the adversary's network. `scene` contains the protocol."""
    scene = cast("Scenario", with_declared(scene, True))
    named = scene.model_copy(update={"seed": seed})
    parties = parties_of(named, {"stations": stations, "hosts": hosts}, None)
    declaration, settings = declaration_for(scene, True, parties)
    return PlugIn(protocol, scene, declaration, settings, parties)


def checks_of(protocol: str) -> list[Check]:
    """Return the checks of the promises that the class declares."""
    if not is_plug_in(protocol):
        return []
    scene = scene_of(1, protocol)
    return own_checks(scene.protocol, scene.folder, True)


def _split(protocol: str) -> tuple[Path, str]:
    file, _, name = protocol.rpartition(":")
    return Path(file), name
