"""The parties of a run: the code of its protocol, or programs in other processes.

Model     If PROVIDERS lists the scenario's protocol, a module of the lab provides the parties. The core uses only the
          methods that Parties declares. For other protocols, the code runs inside the simulation.
Errors    ScenarioError if real time is requested for another protocol, or is missing for programs that need it
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
    """An error of a program, in one line. `is_input` is true for an error of the program itself, and false for a time
    limit.
    """

    def __init__(self, message: str, is_input: bool = True) -> None:
        super().__init__(message)
        self.is_input = is_input


class RealTime(NamedTuple):
    """A request to run in real time.

    `hard_limit_ms` is the largest delay that is allowed, or None for no limit. `stopped` is called repeatedly, and
    returns who asked the run to end, or an empty string. `begins` is called when the clock starts. `shell` is the node
    that runs a shell instead of its program, with the descriptor of a pseudo-terminal for it.
    """

    hard_limit_ms: float | None = None
    stopped: Callable[[], str] = lambda: ""
    begins: Callable[[], None] = lambda: None
    shell: tuple[str, int] | None = None


class Parties:
    """The default parties, for a protocol that mobilenet runs itself. Such a protocol starts no programs, so there is
    nothing to open or close.
    """

    pace: Any = None  # the wall clock (lab/programs/realtime/pace.py), or None if the run is in virtual time
    # function that creates a process from its port and n; None: the protocol creates the processes
    new_process: Any = None
    own_clock: Sequence[str] = ()  # nodes that reported at the end that they also use a clock of their own

    def declaration(self, protocol: Any) -> type[Declaration] | None:
        """Return the classes of hosts and stations, or None if the protocol itself declares them."""
        return None

    def as_played(self, scenario: AnyScenario) -> AnyScenario:
        """Return the scenario with the values that became known only during the run."""
        return scenario

    def open(self) -> None:
        """Begin the run. Raise ScenarioError if that is impossible."""

    def stopping(self, kernel: Kernel, protocol: Any) -> Process:
        """Stop the parties after the active part. This is a process of the kernel, which yields its events."""
        yield from ()

    def is_quiet(self) -> bool:
        """Return whether all parties have been inactive recently."""
        return True

    def not_at_rest(self) -> list[str]:
        """Return descriptions of the reasons why parties are not quiet."""
        return []

    def facts(self) -> Mapping[str, Any]:
        """Return what the manifest states about the parties."""
        return {}

    def end(self, now_ns: int, is_owed: bool = False) -> None:
        """End everything that runs outside the simulation. If `is_owed`, a delivery is missing, and the nodes are asked
        whether they also use a clock of their own.
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

    `counts` contains the numbers of nodes that programs are given. `errors_into` is the folder for their standard
    error, or None to discard it. `now` returns the emulated time. `real_time` is only for programs that run in real
    time.
    """
    name = scenario.protocol.name
    if real_time is not None and name not in REAL_TIME:
        raise ScenarioError(f"protocol.name: {name} runs in virtual time, with mobilenet run; expected datagrams or ip")
    if name not in PROVIDERS:
        return Parties()
    parties: Parties = import_module(PROVIDERS[name]).provide(scenario, counts, recording, errors_into, now, real_time)
    return parties
