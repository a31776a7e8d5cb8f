"""Faults of mobilenet itself, as opposed to errors of a protocol or a scenario.

Model     The first fault is stored. It is raised outside the simulation, where plug-ins cannot catch it.
Units     integer nanoseconds
"""

from __future__ import annotations


class SimulatorFault(Exception):
    """Raised if the simulation has done something that must never happen."""


class Faults:
    """Stores the first fault of a run."""

    def __init__(self) -> None:
        self._first: str | None = None

    def note(self, time_ns: int, node: str, what: str) -> None:
        if self._first is None:
            self._first = f"at {time_ns / 1e9:.9g} s, {node}: {what}"

    def require_none(self) -> None:
        """Raise SimulatorFault if there is a fault."""
        if self._first is not None:
            raise SimulatorFault(f"{self._first}; this is a bug in mobilenet; please report it with the scenario")
