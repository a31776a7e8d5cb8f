"""The stories of a run directory: its causes are read, or replayed if the run did not record them.

Errors    RunError for what is not a whole run, and for a run in real time without causes, which cannot be replayed
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

from pathlib import Path

from mobilenet.clock import Progress
from mobilenet.replay.rerun import causes_of
from mobilenet.rundir.reader import read_coded, read_manifest
from mobilenet.scenario import load_scenario
from mobilenet.why.explain import stories
from mobilenet.why.stories import Stories


def stories_of(directory: Path, progress: Progress | None = None, allow_code: bool = False) -> Stories:
    """The stories of all deliveries of a run."""
    read_manifest(directory)
    causes = causes_of(directory, progress, allow_code)
    return stories(causes, read_coded(directory, "events"), load_scenario(directory / "scenario.yaml"))
