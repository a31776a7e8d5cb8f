"""The parties of a run: the code of its protocol, or programs outside of the process, which the lab provides.

Model     a scenario whose protocol is listed in PROVIDERS is played by what that module of the lab returns; the core
          knows only what Parties declares. Where the code of the protocol plays, nothing happens outside of the run
Errors    ScenarioError: real time for others, or none for programs that live in it
Source    ours: docs/architecture/lab.md
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from mobilenet.engine.kernel import Kernel, Process
from mobilenet.parameters import ScenarioError
from mobilenet.protocols.declaration import Declaration
from mobilenet.protocols.names import REAL_TIME
from mobilenet.record.recorder import Recording
from mobilenet.scenario import AnyScenario

PROVIDERS = {
    "program": "mobilenet.lab.programs.provider",
    "datagrams": "mobilenet.lab.programs.realtime.provider",
    "ip": "mobilenet.lab.programs.realtime.provider",
}


class ProgramError(ScenarioError):
    """A program's error, in one line. `is_input`: it is the program's fault, rather than a time limit."""

    def __init__(self, message: str, is_input: bool = True) -> None:
        super().__init__(message)
        self.is_input = is_input


class RealTime(NamedTuple):
    """The request for real time. `hard_limit_ms`: the most lateness; None: any. `stopped`: returns what asked the run
    to end, or nothing; called again and again. `begins`: called as the clock starts. `shell`: the node that runs a
    shell instead of its program, and the descriptor of a pseudo-terminal for it.
    """

    hard_limit_ms: float | None = None
    stopped: Callable[[], str] = lambda: ""
    begins: Callable[[], None] = lambda: None
    shell: tuple[str, int] | None = None


class Parties:
    """The parties of a protocol that mobilenet runs itself: nothing to open, to wait for or to end."""

    pace: Any = None  # the wall clock (lab/programs/realtime/pace.py), if the run has to keep in step with it
    new_process: Any = None  # makes one of n processes from its port and n; None: as the protocol declares it
    own_clock: Sequence[str] = ()  # nodes that reported at the end that they act by their own clock

    def declaration(self, protocol: Any) -> type[Declaration] | None:
        """Return the classes of hosts and stations, or None if the protocol declares them."""
        return None

    def as_played(self, scenario: AnyScenario) -> AnyScenario:
        """Return the scenario with the values that became known only during the run."""
        return scenario

    def open(self) -> None:
        """Begin the run. Raise ScenarioError if that is impossible."""

    def stopping(self, kernel: Kernel, protocol: Any) -> Process:
        """Yield what happens to the parties after the active part, as a process of the kernel."""
        yield from ()

    def is_quiet(self) -> bool:
        """Return whether no party has done anything recently."""
        return True

    def not_at_rest(self) -> list[str]:
        """Return in words why the parties are not quiet."""
        return []

    def facts(self) -> Mapping[str, Any]:
        """Return what the manifest states about the parties."""
        return {}

    def end(self, now_ns: int, is_owed: bool = False) -> None:
        """End everything that lives outside the run. `is_owed`: a delivery is missing, so ask which nodes act by their
        own clock.
        """


def parties_of(
    scenario: AnyScenario,
    counts: Mapping[str, int],
    recording: Recording | None,
    errors_into: Path | None = None,
    now: Callable[[], int] = lambda: 0,
    real_time: RealTime | None = None,
) -> Parties:
    """Return the parties of a run of this scenario.

    `counts`: what programs learn about the network; `errors_into`: the folder for their standard error, or None to
    discard it; `now` returns the emulated time; `real_time`: only for programs that live in it.
    """
    name = scenario.protocol.name
    if real_time is not None and name not in REAL_TIME:
        raise ScenarioError(f"protocol.name: {name} runs in virtual time, with mobilenet run; expected datagrams or ip")
    if name not in PROVIDERS:
        return Parties()
    parties: Parties = import_module(PROVIDERS[name]).provide(scenario, counts, recording, errors_into, now, real_time)
    return parties
