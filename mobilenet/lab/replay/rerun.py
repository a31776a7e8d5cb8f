"""Repeat a run to record more details. The same events happen, because protocols and network are deterministic.

Model     The effective scenario of the run directory is simulated with `record.messages`, `record.frames` or
          `record.programs`. The fingerprint must be the same as in the manifest. Recording more does not change the
          run
Errors    RunError if the directory is not a run of hosts and stations, if the run was in real time, or if its
          scenario no longer produces the same run (the scenario was edited, or this version of mobilenet behaves
          differently)
Source    ours: docs/guide/pictures.md
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobilenet.api import simulate
from mobilenet.engine.clock import Progress
from mobilenet.protocols.names import REAL_TIME
from mobilenet.quoting import cut
from mobilenet.record.reader import RunError, read_coded, read_frame, read_manifest
from mobilenet.record.recorder import Recording
from mobilenet.scenario import ProcessScenario, load_scenario
from mobilenet.simulation.plugin_code import EarlyEnd
from mobilenet.why.stories import Stories, recorded_stories, stories

if TYPE_CHECKING:
    import pandas as pd


def protocol_messages(
    directory: Path, progress: Progress | None = None, allow_code: bool = False
) -> tuple[pd.DataFrame, bool]:
    """Return the table of messages.parquet, and whether the run was repeated to obtain it."""
    import pandas as pd

    read_manifest(directory)
    if (directory / "messages.parquet").exists():
        return read_frame(directory, "messages"), False
    table = pd.DataFrame({**_again(directory, "messages", progress, allow_code).tables()["messages"]})
    return table.astype({"receive_ns": "float64", "session": "float64"}), True


def write_frames(directory: Path, folder: Path, progress: Progress | None = None, allow_code: bool = False) -> None:
    """Repeat a run that did not record its frames, and write frames.parquet into another folder."""
    recording = _again(directory, "frames", progress, allow_code)
    recording.tables()["frames"].write(folder / "frames.parquet")


def stories_of(directory: Path, progress: Progress | None = None, allow_code: bool = False) -> Stories:
    """Return the explanations of all deliveries of a run. Repeat the run if it did not record its causes."""
    read_manifest(directory)
    if (directory / "causes.parquet").exists():
        return recorded_stories(directory)
    recording = _again(directory, "causes", progress, allow_code)
    scenario = load_scenario(directory / "scenario.yaml")
    return stories(recording.tables()["causes"], read_coded(directory, "events"), scenario)


def lines_again(directory: Path, progress: Progress | None = None, allow_code: bool = False) -> list[tuple[Any, ...]]:
    """Repeat a run of programs that did not record its lines, and return the rows of lines.parquet."""
    if not hasattr(load_scenario(directory / "scenario.yaml").protocol, "command"):
        raise RunError(f"{directory}: its protocol is not a program; expected a scenario with protocol.command")
    recording = _again(directory, "programs", progress, allow_code)
    return list(zip(*recording.tables()["lines"].values(), strict=True))


def needs_code(directory: Path, what: str) -> bool:
    """Return whether the run must be repeated to obtain `what` (messages, frames or causes) and contains custom
    code.
    """
    if (directory / f"{what}.parquet").exists():
        return False
    return any(load_scenario(directory / "scenario.yaml").code())


def _again(directory: Path, what: str, progress: Progress | None, allow_code: bool) -> Recording:
    manifest = read_manifest(directory)
    scenario = load_scenario(directory / "scenario.yaml")
    if isinstance(scenario, ProcessScenario) and what not in ("programs", "causes"):
        raise RunError(f"{directory}: a run of processes, whose {what} are counted but not recorded individually")
    if scenario.protocol.name in REAL_TIME:
        expected = f"cannot be repeated; expected a run that recorded its {what}, with --set record.{what}=true"
        if what == "programs":
            expected = "has no lines to send to its programs; expected a run of programs in virtual time"
        raise RunError(f"{directory}: a run in real time, which {expected}")
    for key, reference, _ in () if allow_code else scenario.code():
        raise RunError(
            f"{directory}: did not record its {what}, and a repetition would run {cut(reference, 200)} ({key}) with"
            " your full permissions; if you trust it, pass --allow-code (allow_code=True in Python); otherwise, use a"
            f" run that was recorded with --set record.{what}=true"
        )
    try:
        recording = simulate(scenario.with_changes([f"record.{what}=true"]), progress, allow_code).recording
    except EarlyEnd as error:
        if "ended_by_error" not in manifest or error.outcome is None:
            raise
        recording = error.outcome.recording  # the repetition ends early, like the recorded run
    if recording.fingerprint() != manifest["fingerprint"]:
        raise RunError(
            f"{directory}: its scenario no longer produces the same run (another version of mobilenet, or"
            " an edited file),"
            f" so the {what} it did not record cannot be recovered"
        )
    return recording
