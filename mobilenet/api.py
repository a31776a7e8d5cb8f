"""Running a scenario into a directory, and opening such a directory again.

Model     everything between scenario and directory happens under a temporary name: the simulation, the verdict and the
          metrics, which are computed from what was recorded. What has the final name is complete.
Units     seconds of simulated and of wall time, as the names say
Errors    ScenarioError for the input, RecordError for the output, RunError for a directory that is no run
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mobilenet.metrics import OwnMetric, metrics
from mobilenet.metrics.own import own_metric
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import quoted
from mobilenet.rundir.manifest import manifest
from mobilenet.rundir.reader import (
    RunError,
    free_copy_name,
    read_columns,
    read_derived,
    read_events,
    read_frame,
    read_json,
    read_manifest,
)
from mobilenet.rundir.recorder import Recording
from mobilenet.rundir.writer import file_digests, is_being_written, run_directory, write_json, write_recording
from mobilenet.scenario import AnyScenario, ProcessScenario, Scenario, load_scenario
from mobilenet.scenario.yaml_writer import to_yaml
from mobilenet.verify import Verdict, verify, verify_run
from mobilenet.verify.declared import expected_of
from mobilenet.verify.judge import overall
from mobilenet.world.layout import names as layout_names

if TYPE_CHECKING:
    import pandas as pd

    from mobilenet.simulation.mobile import Outcome
    from mobilenet.simulation.processes.experiment import Outcome as ProcessOutcome

Progress = Callable[[float, float], None]
RUNS = Path("runs")


class Run:
    """A run directory, opened for reading. Tables are pandas frames, read when first asked for."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.manifest = read_manifest(self.path)

    @cached_property
    def metrics(self) -> dict[str, float | int | None]:
        """One flat row, see metrics.py."""
        return read_derived(self.path, "metrics.json", "deliveries", "delivery_delay_mean_s")

    @cached_property
    def verdicts(self) -> dict[str, Verdict]:
        """Each property's answer and explanation."""
        return verdicts_of(self.path)

    @property
    def verdict(self) -> str:
        """valid, violated or unknown: of all properties together."""
        return overall(self.verdicts)

    @cached_property
    def counters(self) -> dict[str, Any]:
        return read_json(self.path, "counters.json")

    @cached_property
    def events(self) -> pd.DataFrame:
        events = self._table("events")
        return events.astype({"session": "Int64"})  # whole numbers, or nothing

    @cached_property
    def samples(self) -> pd.DataFrame:
        return self._table("samples")

    @cached_property
    def positions(self) -> pd.DataFrame:
        return self._table("positions")

    @cached_property
    def frames(self) -> pd.DataFrame:
        """Only with `record: {frames: true}`."""
        return self._table("frames")

    @cached_property
    def messages(self) -> pd.DataFrame:
        """Only with `record: {messages: true}`."""
        return self._table("messages")

    def _table(self, name: str) -> pd.DataFrame:
        return read_frame(self.path, name)

    def __repr__(self) -> str:
        manifest = self.manifest
        delay = self.metrics["delivery_delay_mean_s"]
        mean = "no delivery" if delay is None else f"mean delay {delay:.3f} s"
        return (
            f"<Run {self.path}: {self.verdict}, seed {manifest['seed']}, {manifest['simulated_s']:g} s simulated, "
            f"{self.metrics['deliveries']} deliveries, {mean}>"
        )

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td>{escape(name)}</td><td style='text-align:right'>{shown(value)}</td></tr>"
            for name, value in self.metrics.items()
        )
        return f"<b>{escape(str(self.path))}</b>: {escape(self.verdict)}<table>{rows}</table>"


def shown(value: float | int | None) -> str:
    """A number of a metric for people, with thousands as in the verdicts and on the map: 106,167."""
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if abs(value) < 9999.5 else f"{value:,.0f}"


def run(
    scenario: str | Path | AnyScenario,
    seed: int | None = None,
    out: str | Path | None = None,
    overrides: Sequence[str] = (),
    progress: Progress | None = None,
    allow_code: bool = False,
) -> Run:
    """Simulate a scenario (a file, or one already loaded) and write its run directory.

    `overrides` are `a.b=value`; `out` must not exist yet, by default it is a new directory under `runs/`;
    `progress(simulated_s, duration_s)` is called about once per simulated second; `allow_code`: a scenario with a
    protocol of its own may run that code.
    """
    from mobilenet.simulation.plugin_code import attributing_errors, require_allowed
    from mobilenet.simulation.plugins import with_declared

    changes = [*overrides, *([f"seed={seed}"] if seed is not None else [])]
    loaded: AnyScenario
    if isinstance(scenario, (Scenario, ProcessScenario)):
        source, loaded = None, scenario.changed(changes) if changes else scenario
    else:
        source, loaded = Path(scenario), load_scenario(scenario, changes)
    require_allowed(loaded, allow_code)
    loaded = with_declared(loaded)
    directory = Path(out) if out is not None else free_directory(loaded, source)
    with run_directory(directory) as partial:
        own = own_metrics(loaded)  # first: a wrong name should not cost a run
        started = time.perf_counter()
        outcome = simulate(loaded, progress)
        wall_s = time.perf_counter() - started
        write_recording(partial, outcome.recording)
        write_scenario(partial, loaded)
        facts = manifest_of(loaded, outcome, wall_s, _command(directory, any(loaded.code())))
        if own:
            facts["own_metrics"] = {metric.name: [metric.words, metric.unit] for metric in own}
        write_json(partial / "manifest.json", {**facts, "files": file_digests(partial)})
        with attributing_errors(loaded):
            judge(partial, outcome.recording, facts, own)
    return Run(directory)


def simulate(scenario: AnyScenario, progress: Progress | None = None) -> Outcome | ProcessOutcome:
    """Let a scenario of either kind happen."""
    from mobilenet.simulation.mobile import Simulation
    from mobilenet.simulation.plugin_code import attributing_errors
    from mobilenet.simulation.processes.experiment import Experiment

    with attributing_errors(scenario):
        if isinstance(scenario, ProcessScenario):
            return Experiment(scenario).run(progress)
        return Simulation(scenario).run(progress)


def free_directory(scenario: AnyScenario, source: Path | None) -> Path:
    """runs/NAME-sSEED, with a number behind it where that is taken, or is being written by somebody else."""
    stem = source.stem if source is not None else scenario.name or "scenario"
    base = "".join(c if c.isalnum() or c in "-_." else "-" for c in stem)[:80].lstrip(".") or "scenario"
    first = RUNS / f"{base}-s{scenario.seed}"
    candidate, number = first, 2
    while candidate.exists() or is_being_written(candidate):
        candidate, number = RUNS / f"{first.name}-{number}", number + 1
    return candidate


def own_metrics(scenario: AnyScenario) -> list[OwnMetric]:
    """The metrics that a scenario brings along; their code is run."""
    from mobilenet.simulation.plugin_code import named

    found: list[OwnMetric] = []
    for i, reference in enumerate(scenario.metrics):
        if reference.rpartition(":")[2] in (metric.name for metric in found):
            raise ScenarioError(f"metrics.{i}: {reference}: another metric has this name, expected different ones")
        try:
            found.append(own_metric(named(f"metrics.{i}", reference, scenario.folder), reference))
        except ValueError as error:
            raise ScenarioError(f"metrics.{i}: {error}") from None
    return found


def own_metrics_of(directory: Path) -> list[OwnMetric]:
    """Those of a run; their code is run."""
    if "own_metrics" not in read_manifest(directory):
        return []
    return own_metrics(load_scenario(directory / "scenario.yaml"))


def judge(directory: Path, recording: Recording, facts: dict[str, Any], own: Sequence[OwnMetric] = ()) -> None:
    """verdict.json and metrics.json from what was recorded."""
    events, samples, counters = recording.events.columns(), recording.samples.lists, recording.document()
    verdicts = verify(events, samples, recording.positions.lists, counters, facts, expected_of(directory))
    write_json(directory / "verdict.json", verdict_document(verdicts))
    write_json(directory / "metrics.json", metrics(events, samples, counters, facts, own))


def judge_anew(directory: Path) -> tuple[dict[str, Verdict], list[str]]:
    """What the record alone says; and for people, what became of verdict.json and metrics.json.

    They follow from the record. Missing ones are made anew; those that are there are left as they are, even if they say
    something else.
    """
    verdicts = verify_run(directory)
    notes = []
    path = directory / "verdict.json"
    if not path.exists():
        notes.append(_made_anew(path, verdict_document(verdicts)))
    else:
        try:
            told = overall(verdicts_of(directory))
            if told != overall(verdicts):
                notes.append(f"{path} says {told}, which is not what the record says")
        except RunError as error:
            notes.append(str(error))
    path = directory / "metrics.json"
    if "violated" in (verdicts["record"].answer, verdicts["conservation"].answer):
        if not path.exists():
            notes.append(f"{path} is missing, and is not made anew: the record is damaged")
        return verdicts, notes
    tables = read_events(directory), read_columns(directory, "samples")
    facts = read_manifest(directory)
    found = metrics(*tables, read_json(directory, "counters.json"), facts)
    if own := facts.get("own_metrics"):
        notes.append(f"{', '.join(own)}: metrics of a plug-in are left as they are, since that would run its code")
        kept = read_json(directory, "metrics.json") if path.exists() else {}
        found |= {name: kept.get(name) for name in own}
    if not path.exists():
        notes.append(_made_anew(path, found))
    elif (stored := read_json(directory, "metrics.json")) != found:
        differing = next((name for name in found if stored.get(name) != found[name]), "what is in it")
        notes.append(
            f"{path}: {differing} is not what the record says; remove the file, and `mobilenet verify` makes it anew"
        )
    return verdicts, notes


def verdicts_of(directory: Path) -> dict[str, Verdict]:
    """What verdict.json says."""
    checks = read_derived(directory, "verdict.json", "checks")["checks"]
    try:
        return {name: Verdict(check["answer"], check["explanation"]) for name, check in checks.items()}
    except (AttributeError, KeyError, TypeError):
        raise RunError(
            f"{directory / 'verdict.json'}: garbled; remove the file, and `mobilenet verify` makes it anew"
        ) from None


def _made_anew(path: Path, document: dict[str, Any]) -> str:
    try:
        write_json(path, document)
    except OSError as error:
        return f"{path} was missing, and cannot be written: {error.strerror}"
    return f"{path} was missing, and is made anew"


def verdict_document(verdicts: dict[str, Verdict]) -> dict[str, Any]:
    return {
        "verdict": overall(verdicts),
        "checks": {name: {"answer": v.answer, "explanation": v.explanation} for name, v in verdicts.items()},
    }


def write_scenario(directory: Path, scenario: AnyScenario) -> None:
    """The effective scenario, and copies of the files that it names beside it."""
    values = scenario.model_dump()
    values["metrics"] = list(values["metrics"])
    copies: dict[Path, str] = {}
    for path, file in scenario.files():
        name = copies.setdefault(file.resolve(), free_copy_name(file.name, copies.values()))
        *groups, key = path.split(".")
        group = values
        for step in groups:
            group = group[step]
        place: Any = int(key) if isinstance(group, list) else key
        colon, what = group[place].rpartition(":")[1:]
        group[place] = f"{name}:{what}" if colon else name
        shutil.copyfile(file, directory / name)
    (directory / "scenario.yaml").write_text(to_yaml(values), encoding="utf-8")


def manifest_of(
    scenario: AnyScenario, outcome: Outcome | ProcessOutcome, wall_s: float, command: str
) -> dict[str, Any]:
    """manifest.json of a simulated scenario."""
    facts = (outcome.recording, scenario, outcome.simulated_ns, outcome.quiescent, wall_s, command)
    if isinstance(scenario, ProcessScenario):
        return manifest(*facts)
    mobile = cast("Outcome", outcome)
    return manifest(
        *facts,
        range_m=scenario.wireless.range_m,
        payload_bytes=scenario.workload.payload_bytes,
        station_positions_m=mobile.station_positions_m,
        station_links=mobile.station_links,
        station_names=_station_names(scenario),
        host_names=mobile.host_names,
        skipped_tracks=mobile.skipped_tracks,
    )


def _station_names(scenario: Scenario) -> dict[str, str]:
    """s0 -> what the scenario, or the file of sites, calls it."""
    given = scenario.stations.names or layout_names(scenario.stations.layout, scenario.folder) or ()
    return {f"s{number}": name for number, name in enumerate(given) if name}


def _command(directory: Path, allow_code: bool) -> str:
    """What repeats the run, from the directory that holds it."""
    again = directory.name + "-again"
    allow = " --allow-code" if allow_code else ""
    return f"mobilenet run {quoted(Path(directory.name) / 'scenario.yaml')} --out {quoted(Path(again))}{allow}"
