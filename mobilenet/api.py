"""Run a scenario, store the results in a directory, and open such a directory again.

Model     The record, and the verdict and metrics that are computed from it, are written under a temporary name. A
          directory that has its final name is therefore complete.
Units     Simulated times and wall times are in seconds.
Errors    ScenarioError for invalid input, RecordError for problems with the output, RunError for a directory that is
          not a run.
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mobilenet.engine.clock import Progress
from mobilenet.engine.gc_pause import no_collections
from mobilenet.judgement import answer_in_words, judge, judge_anew, own_checks, own_metrics, read_warnings, verdicts_of
from mobilenet.metrics.deliveries import Deliveries
from mobilenet.metrics.registry import OF_HOSTS, OF_PROCESSES
from mobilenet.quoting import as_file_name, format_number, pluralize, quote, spell_out
from mobilenet.record.kinds import run_kind
from mobilenet.record.manifest import manifest
from mobilenet.record.provenance import digest
from mobilenet.record.reader import (
    RunError,
    read_coded,
    read_derived,
    read_frame,
    read_json,
    read_manifest,
)
from mobilenet.record.stamp import RUN, Inputs, new_provenance, stamping
from mobilenet.record.writer import (
    AlreadyThere,
    RecordError,
    is_being_written,
    recover,
    run_directory,
    write_manifest,
    write_recording,
)
from mobilenet.scenario import AnyScenario
from mobilenet.scenario.loader import given_scenario
from mobilenet.scenario.run_source import command_of
from mobilenet.simulation.scenario_copy import loaded_files, words_anywhere, write_scenario
from mobilenet.verify import Verdict
from mobilenet.verify.judge import overall

if TYPE_CHECKING:
    import pandas as pd

    from mobilenet.metrics import OwnMetric
    from mobilenet.simulation.outcome import Outcome
    from mobilenet.simulation.parties import RealTime
    from mobilenet.simulation.plugin_code import EarlyEnd

__all__ = ["Run", "judge", "judge_anew", "manifest_of", "run", "simulate", "write_scenario"]

RUNS = Path("runs")


class Run:
    """A run directory, opened for reading. Tables are pandas frames that are loaded on first use."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.manifest = read_manifest(self.path)

    @cached_property
    def metrics(self) -> dict[str, float | int | None]:
        """The metrics as one flat row. They are defined in docs/verdicts-and-metrics.md."""
        return read_derived(self.path, "metrics.json", "deliveries", "delivery_delay_mean_s")

    @cached_property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdict on each property, with its explanation."""
        return verdicts_of(self.path)

    @property
    def warnings(self) -> list[str]:  # assumptions of the protocol that interventions have violated
        return read_warnings(self.path)

    @property
    def verdict(self) -> str:
        """The overall verdict: valid, violated or unknown."""
        return overall(self.verdicts)

    @property
    def answer(self) -> str:
        """The verdict, followed by the delivery ratio if the verdict does not already imply it."""
        return answer_in_words(self.verdicts, self.metrics.get("delivery_ratio"))

    @property
    def still_owed(self) -> str:
        """Return in words how many deliveries were still required when the run ended, or an empty string if the run
        ended in a quiescent state.
        """
        if self.manifest["quiescent"]:
            return ""
        return run_kind(self.manifest).still_owed(self.metrics)

    @property
    def failed_metrics(self) -> dict[str, str]:
        """The user's metrics that have no value because their code failed, each with file, line and error."""
        return dict(self.manifest.get("own_metrics_failed", {}))

    @cached_property
    def counters(self) -> dict[str, Any]:
        """The counts of events, frames and bytes by kind."""
        return read_json(self.path, "counters.json")

    @cached_property
    def events(self) -> pd.DataFrame:
        """One row per event: time_ns, node, event, message, station, session, detail."""
        events = self._table("events")
        return events.astype({"session": "Int64"})  # whole numbers, which may be missing

    @cached_property
    def delays(self) -> pd.DataFrame:
        """One row per delivery whose broadcast is recorded, in order of delivery: message, node, broadcast_ns,
        delivered_ns, delay_s. Deliveries of a host's own messages are included, as are deliveries outside the
        measurement period.
        """
        import numpy as np
        import pandas as pd

        events = read_coded(self.path, "events")
        deliveries = Deliveries(events)
        columns = {
            "message": np.array([*events.column("message").words, None], object)[deliveries.message],
            "node": np.array(events.column("node").words, object)[deliveries.node],
            "broadcast_ns": deliveries.sent_ns, "delivered_ns": deliveries.time_ns, "delay_s": deliveries.delay_s,
        }  # fmt: skip
        return pd.DataFrame(columns)[deliveries.was_broadcast].reset_index(drop=True)

    @cached_property
    def handoffs(self) -> pd.DataFrame:
        """One row per confirmed handoff that began during the measurement period: host, begin_s, duration_s,
        interruption_s, cause.
        """
        import pandas as pd

        from mobilenet.engine.clock import SECOND
        from mobilenet.metrics.fold import EventFold
        from mobilenet.metrics.mobile import interruptions

        window = (round(self.manifest[name] * SECOND) for name in ("warmup_s", "duration_s"))
        rows = [one.row() for one in interruptions(EventFold(read_coded(self.path, "events"), *window))]
        return pd.DataFrame(rows, columns=["host", "begin_s", "duration_s", "interruption_s", "cause"])

    @cached_property
    def samples(self) -> pd.DataFrame:
        """Sizes of buffers and other quantities over time: time_ns, node, quantity, value."""
        return self._table("samples")

    @cached_property
    def positions(self) -> pd.DataFrame:
        """The positions of hosts over time: time_ns, node, x_m, y_m."""
        return self._table("positions")

    @cached_property
    def frames(self) -> pd.DataFrame:
        """The frames of the radio, if they were recorded with `record: {frames: true}`."""
        return self._table("frames")

    @cached_property
    def messages(self) -> pd.DataFrame:
        """The messages from node to node, if they were recorded with `record: {messages: true}`."""
        return self._table("messages")

    @cached_property
    def lines(self) -> pd.DataFrame:
        """The lines to and from programs, if they were recorded with `record: {programs: true}`."""
        return self._table("lines")

    def _table(self, name: str) -> pd.DataFrame:
        return read_frame(self.path, name)

    def __repr__(self) -> str:
        manifest = self.manifest
        delay = self.metrics["delivery_delay_mean_s"]
        mean = "no delivery" if delay is None else f"mean delay {delay:.3f} s"
        return (
            f"<Run {self.path}: {self.answer}, seed {manifest['seed']}, {manifest['simulated_s']:g} s simulated, "
            f"{pluralize(cast('int', self.metrics['deliveries']), 'delivery')}, {mean}>"
        )

    def _repr_html_(self) -> str:
        """Return the verdict, the main metrics and the user's metrics, for a notebook."""
        from html import escape

        own = self.manifest.get("own_metrics", {})
        first = [name for name in self.metrics if name in (*OF_HOSTS.first, *OF_PROCESSES.first, *own)]
        rows = "".join(
            f"<tr><td>{escape(spell_out(name))}</td><td"
            f" style='text-align:right'>{escape(format_number(self.metrics[name]))}"
            "</td></tr>"
            for name in first
        )
        rest = pluralize(len(self.metrics) - len(first), "more metric")
        return (
            f"<b>{escape(spell_out(str(self.path)))}</b>: {escape(self.answer)}"
            f"<table>{rows}</table>{rest} in <code>run.metrics</code>"
        )


def run(
    scenario: str | Path | AnyScenario | Mapping[str, Any],
    seed: int | None = None,
    out: str | Path | None = None,
    overrides: Sequence[str] | Mapping[str, Any] = (),
    progress: Progress | None = None,
    allow_code: bool = False,
    keep_early_end: bool = True,
    replace: bool = False,
    real_time: RealTime | None = None,
    check_simulator: bool = False,
    folder: Path = RUNS,
) -> Run:
    """Simulate a scenario and write its run directory.

    `scenario` is a file, a loaded scenario, or a dictionary of its keys, in which paths are relative to the current
    folder. `overrides` is `{"a.b": value}`, or a list of `a.b=value` as on the command line. `out` is a directory that
    does not exist yet. By default, it is a new directory in `folder` (for mobilenet.run, a temporary folder that exists
    until Python ends). `progress(simulated_s, total_s)` is called about once per simulated second; for processes,
    `total_s` is an estimate. `allow_code` permits the code of plug-ins to run. With `keep_early_end`, a run that is
    ended by a plug-in's error is kept in `out`, marked as ended early, and the error mentions it. If the process is
    killed, the record is kept in `NAME.partial`. With `replace`, an existing run directory `out` is replaced once the
    new one is complete. `real_time` is only for scenarios whose programs use UDP. With `check_simulator`, mobilenet
    also checks itself, and raises SimulatorFault if it finds a fault in itself.
    """
    from mobilenet.simulation.plugin_code import reading_once, require_allowed

    loaded = given_scenario(scenario, seed, overrides)
    source = Path(scenario) if isinstance(scenario, (str, Path)) else None
    require_allowed(loaded, allow_code)
    target = None if out is None else Path(out)
    with reading_once():
        try:
            play = partial(
                simulate,
                progress=progress,
                allow_code=allow_code,
                real_time=real_time,
                check_simulator=check_simulator,
            )
            return _run(loaded, source, target, play, allow_code, keep_early_end, replace, folder)
        except AlreadyThere as error:
            is_run = not error.path.is_symlink() and (error.path / "manifest.json").is_file()
            others = "pass another `out`, or replace=True to replace this run" if is_run else "pass another `out`"
            raise AlreadyThere(error.path, others) from None


def _run(
    scenario: AnyScenario, source: Path | None, out: Path | None, play: Callable[..., Outcome],
    allow_code: bool, keep_early_end: bool, replace: bool, folder: Path,
) -> Run:  # fmt: skip
    """Run a scenario by calling `play`, and return its directory. Its code runs only with permission."""
    from mobilenet.by_kind import with_declared
    from mobilenet.simulation.plugin_code import EarlyEnd

    loaded = with_declared(scenario, allow_code)
    loaded_files(loaded)  # before the run begins, report a file that cannot be copied
    stem = loaded.name or (source.stem if source is not None else "scenario")
    directory = out if out is not None else free_directory(stem, loaded.seed, replace, folder)
    if replace:
        recover(directory)
    is_replaced = replace and os.path.lexists(directory)
    if is_replaced:
        _require_replaceable(directory)
    with run_directory(directory, is_replaced, keep_early_end) as partial:
        own = own_metrics(loaded, allow_code)  # before the run begins, report an invalid name
        own_checks(loaded.protocol, loaded.folder, allow_code)
        started = time.perf_counter()
        ended_by: EarlyEnd | None = None
        try:
            outcome = play(loaded, run_folder=partial)
        except EarlyEnd as error:
            if error.outcome is None or not keep_early_end:
                raise
            outcome, ended_by = error.outcome, error
        wall_s = time.perf_counter() - started
        keep(partial, outcome.scenario, outcome, wall_s, command_of(directory.name, loaded), own, ended_by)
    if ended_by is not None:
        message = f"{ended_by}; the run up to that point is in {quote(directory)}, marked as ended early"
        failure = type(ended_by)(message, ended_by.is_input)
        failure.directory = directory
        raise failure from ended_by.__cause__
    return Run(directory)


@no_collections()
def keep(
    partial: Path,
    scenario: AnyScenario,
    outcome: Outcome,
    wall_s: float,
    command: str,
    own: Sequence[OwnMetric] = (),
    ended_by: EarlyEnd | None = None,
) -> None:
    """Store the results of a simulated scenario in a directory: the record, the verdict and the metrics. `own` contains
    the user's metrics, and `ended_by` is the error that ended the run, if any.
    """
    copies = write_scenario(partial, scenario)
    inputs = Inputs(RUN, digest(partial / "scenario.yaml"), outcome.recording.tables()["events"].fingerprint(), runs=1)
    with stamping(new_provenance(command_of("RUN", scenario).replace(" --out RUN-again", ""), inputs)):
        write_recording(partial, outcome.recording)
    facts = manifest_of(scenario, outcome, wall_s, command)
    if ended_by is not None:
        facts["ended_by_error"] = words_anywhere(str(ended_by), copies, scenario.folder)
    if own:
        facts["own_metrics"] = {metric.name: [metric.words, metric.unit] for metric in own}
    # The code may run here, because the code of the protocol has just been run.
    checks = own_checks(scenario.protocol, scenario.folder, True)
    if checks:
        facts["own_checks"] = {check.property: check.asks for check in checks}
    if failed := judge(partial, scenario, outcome.recording, facts, own, checks):
        facts["own_metrics_failed"] = failed
    outcome.recording.remove_batches()  # if the process is killed before this line, the batches remain
    write_manifest(partial, facts)


def simulate(
    scenario: AnyScenario,
    progress: Progress | None = None,
    allow_code: bool = False,
    run_folder: Path | None = None,
    real_time: RealTime | None = None,
    check_simulator: bool = False,
) -> Outcome:
    """Run a scenario of either kind. `allow_code` permits the code of its plug-ins to run. If a plug-in fails, its
    error contains the outcome up to that point. `run_folder` is explained in Simulation, and `check_simulator` in
    `run`. `real_time` is only for programs that use UDP.
    """
    from mobilenet.by_kind import builder, new_checks
    from mobilenet.simulation.plugin_code import EarlyEnd, attributing_errors

    def moment_of(error: BaseException, files: list[Path]) -> str:
        from mobilenet.simulation.plugin_failure import moment

        return moment(error, parts.kernel.now, parts.nodes, files)

    checks = new_checks(scenario) if check_simulator else None
    with attributing_errors(scenario):
        parts = builder(scenario, allow_code, run_folder, real_time, checks)()
    try:
        with attributing_errors(scenario, moment_of):
            return parts.run(progress) if checks is None else checks.run(parts, progress)
    except EarlyEnd as error:
        error.outcome = parts.so_far()
        raise
    finally:
        if checks is not None:
            checks.require_no_fault()  # a fault takes precedence over other errors, which may be its consequences


def _require_replaceable(directory: Path) -> None:
    """Require that the directory is a run. Links and folders that are not runs are never replaced."""
    try:
        if directory.is_symlink():
            raise RunError(f"{directory}: is a symbolic link")
        read_manifest(directory)
    except RunError as error:
        raise RecordError(f"{error}; only run directories can be replaced", is_input=True) from None


def free_directory(stem: str, seed: int, replace: bool = False, folder: Path = RUNS) -> Path:
    """Return FOLDER/STEM-sSEED. A number is appended if this directory exists or another process is writing it."""
    first = folder / f"{as_file_name(stem) or 'scenario'}-s{seed}"
    candidate, number = first, 2
    while (candidate.exists() and not replace) or is_being_written(candidate):
        candidate, number = folder / f"{first.name}-{number}", number + 1
    return candidate


def manifest_of(scenario: AnyScenario, outcome: Outcome, wall_s: float, command: str) -> dict[str, Any]:
    """Return the content of manifest.json for a simulated scenario."""
    rest: dict[str, Any] = {"not_at_rest": list(outcome.not_at_rest)} if outcome.not_at_rest else {}
    ended = outcome.recording, scenario, outcome.simulated_ns, outcome.quiescent
    return {**manifest(*ended, wall_s, command), **rest, **outcome.facts}
