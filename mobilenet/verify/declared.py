"""Check that the manifest has what follows from the scenario, and derive what else follows from it.

Model     whatever can be derived is not taken from the manifest: a run's promises, its planned length and its nodes
          follow from scenario.yaml, and the manifest must repeat them. To be judged by other promises, a run needs
          another scenario. What the manifest repeats for readers (places, names, sizes) must be right where it is
          present. Only the bounds on time may differ, since another version may have derived them in another way.
          They are replaced by those derived now
Errors    RunError, one line
Source    ours: docs/verdicts-and-metrics.md, docs/validation/trust.md
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mobilenet.expected.by_kind import declared_manifest, derive, expectations_of, lossy_cuts
from mobilenet.expected.expectations import Expectations, LossyCut, ProcessPlan
from mobilenet.parameters import ScenarioError
from mobilenet.rundir.reader import RunError
from mobilenet.scenario.processes import ProcessProgram, ProcessScenario
from mobilenet.scenario.protocol_catalogue import DEFAULT, SELECTIVE
from mobilenet.scenario.real_time import REAL_TIME
from mobilenet.scenario.run_source import AdversarySchedule, command_of, read_source

WORD, QUOTED = r"[\w./:=@+-]+", r"('[^']*'|\"'\")+"
SWARM = (  # of a seed of a swarm, as `again` of swarm/campaign.py writes it
    rf"mobilenet swarm --count \d+ --seed \d+( --(protocol|backbone|mac|radio|promises) {WORD}"
    rf"| --(station-)?command ({WORD}|{QUOTED})| --allow-code)*"
)
STOPPED = "stopped by hand at "  # as a live run that was not played to its end has it
LONGEST_S = 1e9
BOUNDS = ("heard_every_s", "rest_within_s", "no_rest_because")  # of the promises
LONGEST = 80  # characters of a value in an error


def require_scenario(directory: Path, manifest: dict[str, Any]) -> Expectations | ProcessPlan:
    """Raise RunError unless the two agree. Return what is expected of the record. The manifest is given the bounds
    that follow from the scenario.
    """
    try:
        scenario = read_source(directory / "scenario.yaml")
        promised = declared_manifest(scenario)
        entries, plan = derive(scenario)
    except ScenarioError as error:
        raise RunError(f"{str(error).splitlines()[0]}; the run is damaged") from None
    if strangers := sorted(set(manifest["promises"]) - set(promised["promises"]) - set(BOUNDS)):
        what = f"promises.{strangers[0]} is {_short(manifest['promises'][strangers[0]])}"
        raise RunError(f"{directory / 'manifest.json'}: damaged: {what}, but no run of this scenario has this entry")
    manifest["promises"] |= {name: value for name, value in promised["promises"].items() if name in BOUNDS}
    wrong = [(name, _at(manifest, name), value) for name, value in _leaves("", promised)]
    wrong += [(name, manifest[name], value) for name, value in entries.items() if name in manifest]
    for name, recorded_value, value in wrong:
        if recorded_value != value:
            name, recorded_value, value = _first_difference(name, recorded_value, value)
            raise RunError(
                f"{directory / 'manifest.json'}: damaged: {name} is {_short(recorded_value)}, but scenario.yaml gives"
                f" {_short(value)}"
            )
    problem = _manifest_problem(manifest, scenario)
    if problem is not None:
        raise RunError(f"{directory / 'manifest.json'}: damaged: {problem}")
    return plan


def _manifest_problem(manifest: dict[str, Any], scenario: Any) -> str | None:
    """What else is impossible in the manifest of a run of this scenario."""
    command, replication = manifest.get("command", ""), manifest.get("replication", 0)
    if command and not _repeats(command, scenario):
        return f"command is {_short(command)}, which would not repeat this run"
    records_lines = getattr(getattr(scenario, "record", None), "programs", False)
    if records_lines and "lines.parquet" not in manifest.get("files", ()):
        return "files has no lines.parquet, but the scenario records the lines of programs"
    form = _form_problem(manifest)
    if form is not None:
        return form
    if manifest.get("real_time") is not None and getattr(scenario.protocol, "name", "") not in REAL_TIME:
        return "real_time is present, but nothing in this scenario runs in real time"
    if replication != 0:
        return f"replication is {_short(replication)}, expected 0"
    is_drawn = isinstance(scenario, AdversarySchedule)
    brings_code = is_drawn or any(scenario.code()) or scenario.protocol.name in REAL_TIME
    error = manifest.get("ended_by_error")
    can_be_stopped = not isinstance(scenario, ProcessScenario)  # only runs with hosts are played live
    if error is not None and not brings_code and not (can_be_stopped and str(error).startswith(STOPPED)):
        return "ended_by_error is present, but the scenario has no custom code that could fail"
    if str(error).startswith(STOPPED) and error != f"{STOPPED}{manifest['simulated_s']:.9g} s":
        return f"ended_by_error is {_short(error)}, but {manifest['simulated_s']:.9g} s were simulated"
    if error is not None and manifest["quiescent"] and manifest["simulated_s"] >= manifest["duration_s"]:
        return "ended_by_error is present, but the run is at rest after its active part"
    clocked = manifest.get("own_clock")
    if clocked is not None and not isinstance(getattr(scenario, "protocol", None), ProcessProgram):
        return "own_clock is present, but the scenario has no processes that are programs"
    if clocked is not None and not _are_processes(clocked, manifest["processes"]):
        return f"own_clock is {_short(clocked)}, expected a list of processes from p0 to p{manifest['processes'] - 1}"
    own = manifest.get("own_metrics", {})
    metric_names = {reference.rpartition(":")[2] for reference in getattr(scenario, "metrics", ())}
    if not isinstance(own, dict) or set(own) != metric_names:
        return f"own_metrics is {_short(own)}, but scenario.yaml names {', '.join(sorted(metric_names)) or 'none'}"
    return None


def _are_processes(names: Any, count: int) -> bool:
    known = {f"p{i}" for i in range(count)}
    return isinstance(names, list) and bool(names) and all(isinstance(name, str) and name in known for name in names)


def _form_problem(manifest: dict[str, Any]) -> str | None:
    """What is not of the form that every run writes."""
    wall_s, version, waiting = (manifest.get(key) for key in ("wall_s", "mobilenet_version", "not_at_rest"))
    if not isinstance(wall_s, (int, float)) or isinstance(wall_s, bool) or not 0 <= wall_s < LONGEST_S:
        return f"wall_s is {_short(wall_s)}, expected a number of seconds"
    if not isinstance(version, str) or not re.fullmatch(r"\d[\w.+!-]{0,60}", version):
        return f"mobilenet_version is {_short(version)}, expected a version such as 0.1.0"
    if waiting is not None and manifest["quiescent"]:
        return "not_at_rest is present, but the run is at rest"
    real_time = manifest.get("real_time")
    if real_time is not None and not isinstance(real_time, dict):
        return f"real_time is {_short(real_time)}, expected an object"
    failed, own = manifest.get("own_metrics_failed", {}), manifest.get("own_metrics", {})
    if not isinstance(failed, dict) or not isinstance(own, dict) or not set(failed) <= set(own):
        return f"own_metrics_failed is {_short(failed)}, expected names from own_metrics"
    return None


def _repeats(command: Any, scenario: Any) -> bool:
    """Whether a command is the one that a run of the scenario has, in a directory of any name; or one of a swarm."""
    if not isinstance(command, str):
        return False
    if re.fullmatch(SWARM, command):
        return _is_of_swarm(command, scenario)
    match = re.fullmatch(r"mobilenet \w+ (\$?)(.*?/scenario\.yaml'?) --out .*", command, re.DOTALL)
    if match is None or isinstance(scenario, AdversarySchedule):
        return False
    try:  # as quote() writes it: invisible characters are spelled out
        if match.group(1):
            path = match.group(2)[1:-1].encode("latin-1", "backslashreplace").decode("unicode_escape")
        else:
            (path,) = shlex.split(match.group(2))
    except ValueError:
        return False
    name = path.removesuffix("/scenario.yaml")
    return "/" not in name and command == command_of(name, scenario)


def _is_of_swarm(command: str, scenario: Any) -> bool:
    """Whether a seed of a swarm can have drawn this scenario: it names the seed, the protocol and the radio, and
    records no positions.
    """
    words = [word for word in shlex.split(command)[2:] if word != "--allow-code"]
    options = dict(zip(words[::2], words[1::2], strict=True))
    protocol, name = options.get("--protocol", DEFAULT), scenario.protocol.name
    if getattr(scenario.protocol, "repair", "none") != "none":
        name = SELECTIVE
    fits = name == ("program" if "--command" in options else "own" if ":" in protocol else protocol)
    fits = fits and (options["--count"], options["--seed"]) == ("1", str(scenario.seed))
    backbone = options.get("--backbone", "tree")
    if isinstance(scenario, AdversarySchedule):
        return fits and scenario.backbone == backbone
    if isinstance(scenario, ProcessScenario):
        return fits and scenario.name == f"swarm_{name}"
    record, wireless = scenario.record, scenario.wireless
    fits = fits and scenario.name == "swarm" and scenario.stations.backbone.kind == backbone
    fits = fits and record.positions_interval_s is None and not record.frames and not record.messages
    radio = (wireless.mac == "acking", wireless.model == "sinr")
    return bool(fits and radio == ("--mac" in options, "--radio" in options))


def scenario_of(directory: Path) -> Any:
    """What a run was, of a directory whose manifest is not in doubt."""
    try:
        return read_source(directory / "scenario.yaml")
    except ScenarioError as error:
        raise RunError(f"{str(error).splitlines()[0]}; the run is damaged") from None


def warnings_by(scenario: Any) -> list[str]:
    """What the verdict on it warns of."""
    return warnings_on(lossy_cuts(scenario))


def expected_by(scenario: Any) -> Expectations | ProcessPlan:
    """What is expected of its record."""
    try:
        return expectations_of(scenario)
    except ScenarioError as error:
        raise RunError(f"{str(error).splitlines()[0]}; the run is damaged") from None


def _leaves(path: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [leaf for key, inside in value.items() for leaf in _leaves(f"{path}.{key}" if path else key, inside)]
    return [(path, value)]


def _at(manifest: dict[str, Any], path: str) -> Any:
    value: Any = manifest
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _first_difference(name: str, actual: Any, value: Any) -> tuple[str, Any, Any]:
    """Return the first place where two long values differ, and both values there."""
    if isinstance(actual, dict) and isinstance(value, dict):
        key = next(key for key in (*value, *actual) if actual.get(key) != value.get(key))
        return f"{name}.{key}", actual.get(key), value.get(key)
    if isinstance(actual, list) and isinstance(value, list) and len(actual) == len(value):
        place = next(i for i in range(len(value)) if actual[i] != value[i])
        return f"{name}[{place}]", actual[place], value[place]
    return name, actual, value


def _short(value: Any) -> str:
    text = repr(value) if not isinstance(value, (list, dict)) else json.dumps(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def warnings_on(cuts: Iterable[LossyCut]) -> list[str]:
    """A sentence for each assumption of the protocol that was broken by hand. The properties are judged as ever: a
    violation after that is not evidence against the protocol.
    """
    return [_warning(cut) for cut in cuts]


def _warning(cut: LossyCut) -> str:
    return (
        f"from {cut.since_ns / 1e9:g} to {cut.until_ns / 1e9:g} s the link {cut.station}-{cut.other} was cut by hand"
        f" and lost what was sent over it, but {cut.protocol} assumes lossless wires; a violation after that time is"
        " therefore not evidence against the protocol"
    )
