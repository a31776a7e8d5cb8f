"""Refuse commands that would have no effect, such as the crash of a host that is down.

Source    ours: docs/guide/live.md
"""

from __future__ import annotations

from typing import Any

from mobilenet.parameters import ScenarioError, number
from mobilenet.scenario.interventions_check import no_effect
from mobilenet.simulation.mobile import Simulation

OF_HOSTS_THAT_ARE_UP = ("broadcast", "join", "leave")


def require_effect(simulation: Simulation, now_ns: int, what: str, host: Any) -> None:
    """Raise ScenarioError if the intervention would not change anything. At 0 s, all hosts are still down."""
    if what not in ("crash", "recover", *OF_HOSTS_THAT_ARE_UP) or not now_ns:
        return
    node = simulation.hosts[number(host)]
    is_up = node.up
    if what in OF_HOSTS_THAT_ARE_UP:
        if not is_up and simulation.movement.present[node.me]:
            raise ScenarioError(f"do: {host} is down, so it cannot {what}; expected `recover` first")
        if node.protocol is not None and not simulation.scenario.own_processes:
            asked = simulation.lifecycle.pending.get(node.me, "leave" if node.protocol.is_out() else "join")
            if asked == what:
                state, other = ("out or leaves", "join") if what == "leave" else ("a member or joins", "leave")
                raise ScenarioError(f"do: {host} is {state} already, so {what} has no effect; expected {other}")
        return
    if is_up == (what == "recover"):
        raise ScenarioError(f"do: {no_effect(host, what)}")
