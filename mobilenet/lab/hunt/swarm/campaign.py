"""Run a fuzzing campaign of thousands of small hostile scenarios, each judged by the verifier.

Model     Each seed determines a schedule. Schedules with even seeds are played on the adversary's network, which has no
          physics, and those with odd seeds on the real medium access and radio. TCP flooding, and every protocol over a
          MAC other than DCF, is played only on the radio. Broadcasts over VCube are played among processes
          (broadcasts.py). Each run is judged only from its run directory. If a built-in protocol raises an exception or
          its self-checks fail, the self-checks are violated. If a plug-in raises an exception or ends its run, the
          result is unknown.
Shapes    Result.explanation names the violated properties, or explains why the result is unknown; otherwise it is
          empty. Result.happened counts the recorded events of each kind
Errors    RecordError when a run directory cannot be written
Source    ours: docs/architecture.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from mobilenet.api import judge, manifest_of, simulate, write_scenario
from mobilenet.by_kind import with_declared
from mobilenet.engine.scratch import scratch_folder
from mobilenet.judgement import own_checks
from mobilenet.lab.hunt.swarm import broadcasts, plug_ins, scenes, schedule
from mobilenet.lab.workers import in_order
from mobilenet.parameters import ScenarioError
from mobilenet.protocols.mobile_causal import Host, Station
from mobilenet.protocols.names import AMONG_PROCESSES, DEFAULT, SELECTIVE
from mobilenet.protocols.vcube.backbone import Layer
from mobilenet.quoting import cut
from mobilenet.record.manifest import manifest
from mobilenet.record.reader import read_json
from mobilenet.record.recorder import Recording
from mobilenet.record.writer import RecordError, run_directory, write_manifest, write_recording
from mobilenet.scenario import ProcessScenario, Scenario
from mobilenet.scenario.adversary import AdversarySchedule
from mobilenet.scenario.plans.by_kind import AnyRecorded
from mobilenet.scenario.protocol_groups import DECLARATIONS
from mobilenet.scenario.yaml_writer import to_yaml
from mobilenet.simulation.plugin_code import attributing_errors, class_of, require_allowed, text_of
from mobilenet.verify import Verdict, verify_run
from mobilenet.verify.check import Check
from mobilenet.verify.judge import Answer, overall

Network = Literal["radio", "adversary", "processes"]
# the result for a plug-in that raised an exception
ENDED_BY_ERROR: Literal["ended with an error"] = "ended with an error"
LONGEST_ERROR = 400  # The message of a plug-in's exception is truncated to this length.


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one schedule. The explanation names the violated properties, or states why the result is
    unknown.
    """

    seed: int
    network: Network
    answer: Answer | Literal["ended with an error"]
    explanation: str
    fingerprint: str = ""  # fingerprint of the events of the run
    happened: dict[str, int] = field(default_factory=dict)


def run_campaign(
    seeds: Iterable[int],
    workers: int,
    keep: Path | None = None,
    backbone: str = "tree",
    protocol: str = DEFAULT,
    radio: scenes.Radio = "dcf",
) -> Iterator[Result]:
    """Return the results in the order of the seeds. Runs that are not valid are stored in the folder `keep`."""
    look = partial(judge_seed, keep=keep, backbone=backbone, protocol=protocol, radio=radio)
    return in_order(look, seeds, workers)


def network_of(seed: int, protocol: str = DEFAULT, radio: scenes.Radio = "dcf") -> Network:
    kind = plug_ins.plug_in_kind(protocol) if plug_ins.is_plug_in(protocol) else None
    if protocol in AMONG_PROCESSES or kind == "processes":
        return "processes"
    if protocol == SELECTIVE:
        protocol = DEFAULT
    has_connections = "connections" in DECLARATIONS[protocol].needs if kind is None else kind.endswith("connections")
    return "radio" if seed % 2 or has_connections or radio != "dcf" else "adversary"


def judge_seed(
    seed: int,
    keep: Path | None = None,
    backbone: str = "tree",
    protocol: str = DEFAULT,
    radio: scenes.Radio = "dcf",
) -> Result:
    """Play the schedule of a seed, and judge its record."""
    network = network_of(seed, protocol, radio)
    with scratch_folder("swarm") as directory:
        try:
            fingerprint = record(seed, directory, backbone, protocol, radio)
        except (OSError, RecordError):
            raise
        except Exception as error:
            message = cut(_error_in_words(error), LONGEST_ERROR)
            if plug_ins.is_plug_in(protocol):
                return Result(seed, network, ENDED_BY_ERROR, message)
            return Result(seed, network, "violated", f"the protocol's self-checks: {message}")
        verdicts = verify_run(directory, plug_ins.checks_of(protocol))
        happened = read_json(directory, "counters.json")["rows"]["events"]
    result = Result(seed, network, overall(verdicts), explain(verdicts), fingerprint, happened)
    # A run that raised an exception cannot be stored, because it cannot be completed.
    if keep is not None and result.answer != "valid":
        keep_run(seed, keep / f"swarm-s{seed}", backbone, protocol, radio)
    return result


def _error_in_words(error: Exception) -> str:
    """Return the message of an error, and the line of code that raised it."""
    if isinstance(error, ScenarioError):
        return str(error)  # The message already contains the line number.
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{class_of(error)}: {text_of(error)} ({Path(place.filename).name}:{place.lineno})"


def explain(verdicts: dict[str, Verdict]) -> str:
    """Return an explanation of the violated properties. If no property is violated, explain those whose verdict is
    unknown.
    """
    for answer in ("violated", "unknown"):
        explanations = [
            f"{name}: {verdict.explanation}" for name, verdict in verdicts.items() if verdict.answer == answer
        ]
        if explanations:
            return "\n".join(explanations)
    return ""


# --- run directories


def keep_run(
    seed: int, directory: Path, backbone: str = "tree", protocol: str = DEFAULT, radio: scenes.Radio = "dcf"
) -> None:
    """Play the schedule again and write a complete run directory, with verdict and metrics."""
    with run_directory(directory) as partial_directory:
        record(seed, partial_directory, backbone, protocol, radio, whole=True)


def keep_again(kept: AdversarySchedule, its_folder: Path, directory: Path, allow_code: bool) -> None:
    """Play the schedule of a run again and write a complete run directory. The protocol is loaded from the plug-in
    files that were copied into the run.
    """
    repairs = getattr(kept.protocol, "repair", None) == "selective"
    drawn = schedule.draw(kept.seed, backbone=kept.backbone, repairs=repairs)
    own = None
    if kept.protocol.name != DEFAULT:
        scene = plug_ins.kept_scene(kept.protocol, its_folder)
        require_allowed(scene, allow_code)
        own = _own(drawn, kept.protocol.name, scene)
    with run_directory(directory) as partial_directory:
        record_adversary(drawn, partial_directory, whole=True, own=own)


def _own(drawn: schedule.Schedule, reference: str, scene: Scenario) -> plug_ins.PlugIn:
    return plug_ins.plug_in_of(reference, scene, drawn.seed, len(drawn.parents) + 1, len(drawn.first_cells))


def record(
    seed: int,
    directory: Path,
    backbone: str = "tree",
    protocol: str = DEFAULT,
    radio: scenes.Radio = "dcf",
    whole: bool = False,
) -> str:
    """Play the schedule of a seed, write its record, and return the fingerprint of its events."""
    network = network_of(seed, protocol, radio)
    is_own = plug_ins.is_plug_in(protocol)
    if network == "processes":
        drawn = plug_ins.experiment_of(seed, protocol) if is_own else broadcasts.draw(seed, protocol)
        return record_scenario(drawn, directory, again(seed, protocol=protocol), whole)
    if is_own and network == "radio":
        scene = with_declared(plug_ins.scene_of(seed, protocol, radio), True)
        return record_scenario(scene, directory, again(seed, protocol=protocol, radio=radio), whole)
    if is_own:
        hostile = schedule.draw(seed)
        own = _own(hostile, protocol, plug_ins.scene_of(1, protocol))
        return record_adversary(hostile, directory, whole=whole, own=own)
    if network == "radio":
        return record_radio(seed, directory, whole, backbone, radio, protocol)
    hostile = schedule.draw(seed, backbone=backbone, repairs=protocol == SELECTIVE)
    return record_adversary(hostile, directory, whole=whole)


def record_radio(
    seed: int,
    directory: Path,
    whole: bool = False,
    backbone: str = "tree",
    radio: scenes.Radio = "dcf",
    protocol: str = DEFAULT,
) -> str:
    """Play the schedule of a seed on the radio, write its record, and return the fingerprint of its events."""
    scene = scenes.draw(seed, protocol, backbone, radio)
    return record_scenario(scene, directory, again(seed, 1, backbone, protocol, radio), whole)


def record_scenario(scenario: Scenario | ProcessScenario, directory: Path, command: str, whole: bool = False) -> str:
    """Simulate a scenario, write its record, and return the fingerprint of its events."""
    started = time.perf_counter()
    outcome = simulate(scenario, allow_code=True)  # The user was asked for permission when the campaign began.
    facts = manifest_of(outcome.scenario, outcome, time.perf_counter() - started, command)
    write_recording(directory, outcome.recording)
    write_scenario(directory, outcome.scenario)
    checks = own_checks(outcome.scenario.protocol, outcome.scenario.folder, True)
    return _write_rest(directory, outcome.scenario, outcome.recording, facts, whole, checks)


def _write_rest(
    directory: Path, scenario: AnyRecorded, recording: Recording, facts: dict[str, Any], whole: bool,
    checks: Sequence[Check] = (),
) -> str:  # fmt: skip
    """Write the other files of a run directory, and return the fingerprint."""
    if checks:
        facts["own_checks"] = {check.property: check.asks for check in checks}
    write_manifest(directory, facts)
    if whole:
        judge(directory, scenario, recording, facts, checks=checks)
    return str(facts["fingerprint"])


def record_adversary(
    drawn: schedule.Schedule,
    directory: Path,
    host_class: type[Host] | None = None,
    station_class: type[Station] | None = None,
    check: bool = True,
    whole: bool = False,
    layer: Layer | None = None,
    own: plug_ins.PlugIn | None = None,
) -> str:
    """Play a schedule on the adversary's network, write its record, and return the fingerprint of its events."""
    started = time.perf_counter()
    try:
        with nullcontext() if own is None else attributing_errors(own.scene):
            outcome = schedule.run(drawn, host_class, station_class, check, layer, own)
    finally:
        if own is not None:
            own.end()
    described = description(drawn, own)
    named = SELECTIVE if drawn.parameters.repair == "selective" else DEFAULT
    facts = manifest(
        outcome.recording,
        described,
        outcome.simulated_ns,
        outcome.quiescent,
        time.perf_counter() - started,
        again(drawn.seed, backbone=drawn.backbone, protocol=named if own is None else own.reference),
        host_names={},
        station_names={},
        skipped_tracks=0,
        **({"not_at_rest": list(outcome.not_at_rest)} if outcome.not_at_rest else {}),
    )
    write_recording(directory, outcome.recording)
    if own is None:
        (directory / "scenario.yaml").write_text(to_yaml(described.model_dump()), encoding="utf-8")
    else:
        write_scenario(directory, own.scene, described.model_dump())
    checks = [] if own is None else own_checks(own.scene.protocol, own.scene.folder, True)
    return _write_rest(directory, described, outcome.recording, facts, whole, checks)


def description(drawn: schedule.Schedule, own: plug_ins.PlugIn | None = None) -> AdversarySchedule:
    """Return a schedule in the form of scenario.yaml: the seed, and the values drawn from it."""
    air = drawn.air
    mobile_causal = {"name": DEFAULT} | drawn.parameters.model_dump()
    return AdversarySchedule.model_validate(
        {
            "network": "adversary",
            "seed": drawn.seed,
            "flavour": drawn.flavour,
            "duration_s": drawn.active_ns / 1e9,
            "drain_s": schedule.PATIENCE_NS / 1e9,
            "stations": 1 + len(drawn.parents),
            "hosts": len(drawn.first_cells),
            "actions": len(drawn.actions),
            "backbone": drawn.backbone,
            "air": {name: getattr(air, name) for name in air.__slots__},
            "protocol": mobile_causal if own is None else own.group.model_dump(),
        }
    )


def again(
    seed: int, count: int = 1, backbone: str = "tree", protocol: str = DEFAULT, radio: scenes.Radio = "dcf"
) -> str:
    """Return the command line that plays a schedule again."""
    is_own = plug_ins.is_plug_in(protocol)
    named = plug_ins.options_of(protocol) if is_own else ""
    chosen = (
        ("protocol", DEFAULT if is_own else protocol, DEFAULT),
        ("backbone", backbone, "tree"),
        ("mac" if radio == "acking" else "radio", radio, "dcf"),
    )
    others = "".join(f" --{option} {value}" for option, value, usual in chosen if value != usual)
    return f"mobilenet swarm --count {count} --seed {seed}{others}{named}"
