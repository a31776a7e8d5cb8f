"""Open a run for manual control.

Errors    ScenarioError for a scenario that cannot be run live
Source    ours: docs/guide/live.md
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mobilenet.lab.live.session import LiveSession
from mobilenet.scenario import Scenario


def live(
    scenario: str | Path | Scenario | Mapping[str, Any],
    seed: int | None = None,
    overrides: Any = (),
    allow_code: bool = False,
) -> LiveSession:
    """Return a run under manual control, like `mobilenet live` without a browser. See `run` for the arguments."""
    from mobilenet.scenario.loader import given_scenario

    full_scenario = given_scenario(scenario, seed, overrides)
    name = full_scenario.name or (Path(scenario).stem if isinstance(scenario, (str, Path)) else None)
    return LiveSession(full_scenario, allow_code, name or "live")
