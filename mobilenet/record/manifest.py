"""The manifest of a run, manifest.json, which describes the run.

Model     some entries are copied from the scenario (plans/hosts.py), and the other entries describe the execution of
          the run
Units     seconds
Source    ours: docs/run-directory.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mobilenet import __version__
from mobilenet.engine import native
from mobilenet.record.recorder import Recording
from mobilenet.record.schema import FORMAT_VERSION
from mobilenet.scenario import AnyScenario
from mobilenet.scenario.plans.by_kind import plans_of

if TYPE_CHECKING:
    from mobilenet.scenario.adversary import AdversarySchedule


def manifest(
    recording: Recording, scenario: AnyScenario | AdversarySchedule, simulated_ns: int, quiescent: bool,
    wall_s: float,
    command: str, **more: Any,
) -> dict[str, Any]:  # fmt: skip
    """Return the complete manifest. `more` contains entries for particular readers."""
    return {
        "format_version": FORMAT_VERSION,
        "mobilenet_version": __version__,
        "compiled": native.in_use(),
        "replication": 0,
        "fingerprint": recording.fingerprint(),
        "simulated_s": simulated_ns / 1e9,
        "wall_s": round(wall_s, 3),
        "command": command,
        "quiescent": quiescent,
        **plans_of(scenario).declared_manifest(scenario),
        "measures": plans_of(scenario).measures(scenario),
        **more,
    }
