"""Run a simulation together with all its checks.

Model     The checks do not affect the record of the run.
Errors    SimulatorFault if mobilenet itself has an error
Source    ours: docs/validation/trust.md
"""

from __future__ import annotations

from typing import Any

from mobilenet.engine.clock import Progress
from mobilenet.network.wired.parameters import LinkParameters
from mobilenet.scenario import ProcessScenario
from mobilenet.simulation.invariants.air import Air
from mobilenet.simulation.invariants.cells import Cells
from mobilenet.simulation.invariants.fault import Faults
from mobilenet.simulation.invariants.messages import Messages
from mobilenet.simulation.invariants.streams import Streams
from mobilenet.simulation.invariants.wires import Links
from mobilenet.simulation.mobile import Simulation
from mobilenet.simulation.outcome import Outcome
from mobilenet.simulation.processes.experiment import Experiment, OnMessage
from mobilenet.simulation.processes.wires import WireNetwork


class Checks:
    """The base class of all checks of a run."""

    # called for each message sent, and for each message received
    hooks: tuple[OnMessage | None, OnMessage | None] = None, None

    def __init__(self) -> None:
        self._faults = Faults()

    def run(self, parts: Any, progress: Progress | None) -> Outcome:
        """Run the simulation that has these parts, and check it while it runs."""
        raise NotImplementedError

    def require_no_fault(self) -> None:
        """Raise SimulatorFault if there was a fault, even if the run ended with another error."""
        self._faults.require_none()


class ChecksOfHosts(Checks):
    def run(self, simulation: Simulation, progress: Progress | None) -> Outcome:
        faults, backbone = self._faults, simulation.scenario.stations.backbone
        air = Air(simulation, faults)
        Streams(simulation, faults)
        others = Cells(simulation, faults), Links(simulation.wires, backbone, faults)
        outcome = simulation.run(progress, [air, *others])
        air.check_record(outcome.recording, simulation.kernel.now)
        return outcome


class ChecksOfProcesses(Checks):
    def __init__(self, scenario: ProcessScenario) -> None:
        super().__init__()
        self._messages = Messages(scenario, self._faults)
        self.hooks = self._messages.on_send, self._messages.on_receive

    def run(self, experiment: Experiment, progress: Progress | None) -> Outcome:
        self._messages.processes = experiment.processes
        links, network = None, experiment.scenario.network
        if isinstance(experiment.steps, WireNetwork) and isinstance(network, LinkParameters):
            links = Links(experiment.steps.wires, network, self._faults)
        outcome = experiment.run(progress)
        if links is not None:
            links.on_end(experiment.kernel.now)
        self._messages.end(experiment.kernel.now, outcome.recording.counters["messages"])
        return outcome
