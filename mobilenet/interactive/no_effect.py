"""Refuse what would have no effect: to crash a host that is down, or to recover one that is up.

Source    ours: docs/guide/live.md
"""

from __future__ import annotations

from typing import Any

from mobilenet.parameters import ScenarioError, number
from mobilenet.scenario.interventions_check import no_effect
from mobilenet.simulation.mobile import Simulation


def require_effect(simulation: Simulation, now_ns: int, what: str, host: Any) -> None:
    """Raise ScenarioError if the intervention would change nothing. At 0 s no host is up yet."""
    if what not in ("crash", "recover") or not now_ns:
        return
    is_up = simulation.hosts[number(host)].up
    if is_up == (what == "recover"):
        raise ScenarioError(f"do: {no_effect(host, what)}")
