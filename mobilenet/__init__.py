"""mobilenet: an emulator of mobile networks for people who study, choose or tune broadcast protocols.

    import mobilenet
    run = mobilenet.run("scenarios/dynamic.yaml", seed=3)
    run.verdict, run.metrics, run.events

Names     run(scenario, seed, out, overrides) -> Run; load(directory) -> Run; study(file, out) -> StudyFrames;
          capacity(scenario, vary, low, high, require) -> Capacity; sensitivity(scenario, keys) -> Sensitivity;
          claims(file) -> ClaimAnswers; live(scenario, seed) -> LiveSession; Scenario, ScenarioError
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

if sys.platform == "win32":
    print("mobilenet runs on Linux and macOS; on Windows, use it in WSL", file=sys.stderr)
    raise SystemExit(2)

from mobilenet.engine import native
from mobilenet.engine.no_collections import no_collections

__version__ = "0.1.0"
__all__ = [
    "Capacity", "ClaimAnswers", "Run", "Scenario", "ScenarioError", "Sensitivity", "StudyFrames", "capacity", "claims",
    "live", "load", "run", "sensitivity", "study",
]  # fmt: skip

_HOMES = {  # imported when first used, so that importing the package costs nothing
    "run": ("mobilenet.notebook.runs", "run"),
    "Run": ("mobilenet.notebook.runs", "Run"),
    "load": ("mobilenet.notebook.runs", "load"),
    "live": ("mobilenet.interactive.opened", "live"),
    "study": ("mobilenet.notebook.studies", "study"),
    "capacity": ("mobilenet.notebook.capacity", "capacity"),
    "Capacity": ("mobilenet.notebook.capacity", "Capacity"),
    "claims": ("mobilenet.notebook.claims", "claims"),
    "ClaimAnswers": ("mobilenet.notebook.claims", "ClaimAnswers"),
    "sensitivity": ("mobilenet.notebook.sensitivity", "sensitivity"),
    "Sensitivity": ("mobilenet.notebook.sensitivity", "Sensitivity"),
    "StudyFrames": ("mobilenet.notebook.studies", "StudyFrames"),
    "Scenario": ("mobilenet.scenario", "Scenario"),
    "ScenarioError": ("mobilenet.scenario", "ScenarioError"),
}

native.use()  # before any of them is imported


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'mobilenet' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    with no_collections():
        return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
