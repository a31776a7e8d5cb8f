"""Is a record what its scenario gives? Run it again, and compare.

Model     a run of a swarm is played by its seed, and one that was stopped by hand up to there. A repeat reproduces a
          fault of the simulator
Errors    RunError for a run in real time; ScenarioError where its code may not run
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mobilenet.api import run
from mobilenet.engine.clock import Progress
from mobilenet.engine.scratch import scratch_folder
from mobilenet.lab.hunt.swarm import plug_ins
from mobilenet.lab.hunt.swarm.campaign import keep_run
from mobilenet.lab.live.keeping import keep_unfinished
from mobilenet.lab.live.session import LiveSession
from mobilenet.lab.replay.comparison import difference
from mobilenet.parameters import ScenarioError
from mobilenet.protocols.names import REAL_TIME
from mobilenet.record.reader import RunError, read_json, read_manifest, require_files
from mobilenet.scenario import AnyScenario
from mobilenet.scenario.adversary import AdversarySchedule
from mobilenet.scenario.run_source import read_source
from mobilenet.simulation.plugin_code import PluginError

NO_REPEAT = "a run in real time cannot be repeated; its verdict rests on the promises and on the accounting of packets"


def divergence(directory: Path, progress: Progress | None = None, allow_code: bool = False) -> str | None:
    """The first difference between the record and a repeat of its run; None: they are the same."""
    manifest = read_manifest(directory)
    require_files(directory, manifest)
    with scratch_folder("repeat") as folder:
        _repeat(directory, manifest, folder / "repeat", progress, allow_code)
        return difference(directory, folder / "repeat")


def can_be_repeated(directory: Path) -> bool:
    """Whether the scenario decides all that happens in the run."""
    read_manifest(directory)
    scenario = read_source(directory / "scenario.yaml")
    return isinstance(scenario, AdversarySchedule) or scenario.protocol.name not in REAL_TIME


def _repeat(directory: Path, manifest: dict[str, Any], out: Path, progress: Progress | None, allow_code: bool) -> None:
    scenario, error = read_source(directory / "scenario.yaml"), str(manifest.get("ended_by_error"))
    if isinstance(scenario, AdversarySchedule):
        _play_schedule(scenario, manifest["command"], out, allow_code)
    elif scenario.protocol.name in REAL_TIME:
        raise RunError(f"{directory}: {NO_REPEAT}")
    elif error.startswith("stopped by hand"):
        _play_until(directory, scenario, round(manifest["simulated_s"] * 1e9), out, allow_code)
    else:
        try:
            run(scenario, out=out, progress=progress, allow_code=allow_code)
        except PluginError as failure:
            if failure.directory is None:
                raise


def _play_schedule(scenario: AdversarySchedule, command: str, out: Path, allow_code: bool) -> None:
    """Play what belongs to the seed; only the command names a plug-in."""
    protocol = plug_ins.protocol_in(command, scenario.protocol.name)
    if plug_ins.is_plug_in(protocol) and not allow_code:
        raise ScenarioError(f"{protocol}: the repeat runs its code, with your full permissions; expected --allow-code")
    keep_run(scenario.seed, out, scenario.backbone, protocol)


def _play_until(directory: Path, scenario: AnyScenario, end_ns: int, out: Path, allow_code: bool) -> None:
    """Play a run to the end of its last nanosecond or, if it was stopped amid that, until it has counted as much."""
    counters = read_json(directory, "counters.json")
    for is_amid in (False, True):
        session, until_ns = LiveSession(scenario, allow_code), end_ns - is_amid
        while session.now_ns < until_ns and not session.is_over:  # it stops at each violation
            session.play_ns(until_ns)
        while is_amid and session.now_ns <= end_ns and not session.is_over and not _has_counted(session, counters):
            session.step_once()
        if is_amid or _has_counted(session, counters):
            break
        session.close()
    keep_unfinished(session, out)
    session.close()


def _has_counted(session: LiveSession, counters: dict[str, Any]) -> bool:
    document = session.simulation.outcome_now().recording.document()
    rows = [counts["rows"]["events"] for counts in (document, counters)]
    return rows[0] == rows[1] and all(document[key] == counters[key] for key in document if key != "rows")
