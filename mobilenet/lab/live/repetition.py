"""Check that a record follows from its scenario, by running the scenario again and comparing the records.

Model     A run of a swarm is repeated from its seed. A run that was stopped by hand is repeated up to the time of the
          stop. A bug in the simulator goes undetected, because it also affects the second run
Errors    RunError for a run in real time; ScenarioError if the code of the scenario may not run
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mobilenet.api import run
from mobilenet.engine.clock import Progress, ns
from mobilenet.engine.scratch import scratch_folder
from mobilenet.lab.hunt.swarm.campaign import keep_again
from mobilenet.lab.live.session import LiveSession
from mobilenet.lab.live.stopped_run import keep_unfinished
from mobilenet.lab.replay.comparison import difference
from mobilenet.protocols.names import REAL_TIME
from mobilenet.record.reader import RunError, read_json, read_manifest, require_files
from mobilenet.scenario import Scenario
from mobilenet.scenario.adversary import AdversarySchedule
from mobilenet.scenario.run_source import read_source
from mobilenet.simulation.plugin_code import EarlyEnd, PluginError
from mobilenet.verify.judge import judging

NO_REPEAT = "a run in real time cannot be repeated; its verdict rests on the promises and on the accounting of packets"


def divergence(directory: Path, progress: Progress | None = None, allow_code: bool = False) -> str | None:
    """Return the first difference between the record and a repetition of its run, or None if they are equal."""
    manifest = read_manifest(directory)
    require_files(directory, manifest)
    with scratch_folder("repeat") as folder:
        _repeat(directory, manifest, folder / "repeat", progress, allow_code)
        return difference(directory, folder / "repeat")


def can_be_repeated(directory: Path) -> bool:
    """Return whether the scenario determines everything that happens in the run."""
    read_manifest(directory)
    scenario = read_source(directory / "scenario.yaml")
    return isinstance(scenario, AdversarySchedule) or scenario.protocol.name not in REAL_TIME


def _repeat(directory: Path, manifest: dict[str, Any], out: Path, progress: Progress | None, allow_code: bool) -> None:
    scenario, error = read_source(directory / "scenario.yaml"), str(manifest.get("ended_by_error"))
    if isinstance(scenario, AdversarySchedule):
        keep_again(scenario, directory, out, allow_code)
    elif scenario.protocol.name in REAL_TIME:
        raise RunError(f"{directory}: {NO_REPEAT}")
    elif isinstance(scenario, Scenario) and error.startswith("stopped by hand"):
        with judging(directory):
            end_ns = ns(manifest["simulated_s"])
        try:
            _play_until(directory, scenario, end_ns, out, allow_code)
        except EarlyEnd as failure:
            raise RunError(f"{directory / 'manifest.json'}: ended_by_error is {error!r}, but {failure}") from None
    else:
        try:
            run(scenario, out=out, progress=progress, allow_code=allow_code)
        except EarlyEnd as failure:
            if failure.directory is None:
                raise
            # For example, a program answered too late.
            if not failure.is_input and "ended_by_error" not in manifest:
                reason = str(failure).partition("; the run up to that point")[0]
                raise PluginError(f"{directory}: could not be repeated: {reason}", is_input=False) from None


def _play_until(directory: Path, scenario: Scenario, end_ns: int, out: Path, allow_code: bool) -> None:
    """Play a run up to and including the nanosecond `end_ns`. If the run was stopped within this nanosecond, stop when
    the counts are equal or, at the latest, at the end of the nanosecond.
    """
    counters = read_json(directory, "counters.json")
    for is_amid, is_last in ((False, False), (True, False), (False, True)):
        session, until_ns = LiveSession(scenario, allow_code), end_ns - is_amid
        while session.now_ns < until_ns and not session.is_over:  # `play_ns` stops at each violation
            session.play_ns(until_ns)
        while is_amid and session.now_ns <= end_ns and not session.is_over and not _has_counted(session, counters):
            session.step_once()
        if is_last or _has_counted(session, counters):
            break
        session.close()
    keep_unfinished(session, out)
    session.close()


def _has_counted(session: LiveSession, counters: dict[str, Any]) -> bool:
    document = session.simulation.outcome_now().recording.document()
    counted, rows = (counters | {"rows": document["rows"]}), counters.get("rows")
    return counted == document and isinstance(rows, dict) and rows.get("events") == document["rows"]["events"]
