"""Store a stopped live run: the record so far, marked as ended early, and the scenarios of the other branches.

Errors    RecordError for a directory that cannot be written
Source    ours: docs/guide/live.md
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from mobilenet import api
from mobilenet.lab.live.branch import Branch
from mobilenet.lab.live.packets import keep_packets
from mobilenet.lab.live.session import LiveSession
from mobilenet.record.writer import run_directory
from mobilenet.scenario.run_source import command_of
from mobilenet.simulation.plugin_code import PluginError


class _NothingYet(Exception):
    """Raised to discard a directory that should not be stored."""


def require_room(session: LiveSession, out: Path | None) -> None:
    """Raise RecordError if a run could not be stored. Called before the run to warn the user in time."""
    with suppress(_NothingYet), run_directory(_place(session, out)):
        raise _NothingYet


def keep_unfinished(session: LiveSession, out: Path | None) -> Path:
    """Store the record so far in `out`, or in a new directory below runs/, and return the directory."""
    scenario = session.scenario
    directory = _place(session, out)
    outcome = session.outcome or session.simulation.so_far()
    ended_by = None if session.is_over else PluginError(session.error or f"stopped by hand at {session.now_s:.9g} s")
    with run_directory(directory) as partial:
        keep_packets(session.folder, partial)
        api.keep(partial, outcome.scenario, outcome, 0.0, command_of(directory.name, scenario), (), ended_by)
    return directory


def keep_branch(session: LiveSession, branch: Branch) -> Path:
    """Store the scenario of a branch other than the present one, with its files, and return the directory."""
    directory = api.free_directory(f"{session.name}-live", branch.scenario.seed)
    directory.mkdir(parents=True)
    api.write_scenario(directory, branch.scenario)
    return directory


def _place(session: LiveSession, out: Path | None) -> Path:
    return out if out is not None else api.free_directory(f"{session.name}-live", session.scenario.seed)
