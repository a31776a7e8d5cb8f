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
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

if sys.platform == "win32":
    print("mobilenet runs on Linux and macOS; on Windows, use it in WSL", file=sys.stderr)
    raise SystemExit(2)

from mobilenet.engine import native
from mobilenet.engine.gc_pause import no_collections

__version__ = "0.1.0"
__all__ = [
    "Capacity", "ClaimAnswers", "Run", "Scenario", "ScenarioError", "Sensitivity", "StudyFrames", "capacity", "claims",
    "live", "load", "run", "sensitivity", "study",
]  # fmt: skip

_HOMES = {  # imported on first use, so that importing the package is fast
    "run": ("mobilenet.lab.notebook.runs", "run"),
    "Run": ("mobilenet.lab.notebook.runs", "Run"),
    "load": ("mobilenet.lab.notebook.runs", "load"),
    "live": ("mobilenet.lab.live.start", "live"),
    "study": ("mobilenet.lab.notebook.studies", "study"),
    "capacity": ("mobilenet.lab.notebook.capacity", "capacity"),
    "Capacity": ("mobilenet.lab.notebook.capacity", "Capacity"),
    "claims": ("mobilenet.lab.notebook.claims", "claims"),
    "ClaimAnswers": ("mobilenet.lab.notebook.claims", "ClaimAnswers"),
    "sensitivity": ("mobilenet.lab.notebook.sensitivity", "sensitivity"),
    "Sensitivity": ("mobilenet.lab.notebook.sensitivity", "Sensitivity"),
    "StudyFrames": ("mobilenet.lab.notebook.studies", "StudyFrames"),
    "Scenario": ("mobilenet.scenario", "Scenario"),
    "ScenarioError": ("mobilenet.scenario", "ScenarioError"),
}

_MOVED = {  # old names of documented modules that have moved; they remain for one minor version
    "mobilenet.controlled": "mobilenet.lab.hunt.controlled",
    "mobilenet.interactive": "mobilenet.lab.live",
    "mobilenet.notebook": "mobilenet.lab.notebook",
    "mobilenet.rundir": "mobilenet.record",
    "mobilenet.studies": "mobilenet.lab.studies",
}


class _Moved:
    """Imports a module by its old name, which becomes an alias of the module with the new name."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        known = ".".join(name.split(".")[:2]) in _MOVED
        return ModuleSpec(name, self, is_package=True) if known else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python create the module. exec_module replaces it at once."""

    def exec_module(self, module: ModuleType) -> None:
        room, *rest = module.__name__.removeprefix("mobilenet.").split(".")
        sys.modules[module.__name__] = import_module(".".join([_MOVED[f"mobilenet.{room}"], *rest]))


# This finder comes first, because otherwise Python would find the files of the new module and load them twice.
sys.meta_path.insert(0, _Moved())
native.use()  # This call must precede the import of any compiled module.


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'mobilenet' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    with no_collections():
        return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
