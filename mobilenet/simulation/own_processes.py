"""Load the simpy processes of users, and begin each one when its host appears.

Model     Each process has an environment, which counts seconds. The process receives the arguments that its signature
          names, and observes the run only through `run`. It does not act after the active part.
Units     integer nanoseconds; the environments count seconds
Errors    ScenarioError, one line, for a function that does not fit the declaration
Source    ours: docs/guide/simpy.md
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from mobilenet.engine.clock import ns
from mobilenet.engine.kernel import Kernel, Process
from mobilenet.engine.random_streams import Stream
from mobilenet.engine.wall_limit import WallLimit
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import Scenario
from mobilenet.simulation.hosts import HostNode
from mobilenet.simulation.lifecycle import Lifecycle
from mobilenet.simulation.movement import Movement
from mobilenet.simulation.nodes import Node
from mobilenet.simulation.plugin_code import load_named
from mobilenet.simulation.process_environment import Environment, Origin, Steps
from mobilenet.simulation.process_handles import Deliveries, Host, Run, World
from mobilenet.world.mobility import Trajectory
from mobilenet.world.own_process import OwnProcess, names

BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
TAKES = ("env", "host", "world", "draws", "settings", "run")
MOST_AT_ONCE = 1_000_000  # maximum number of steps in one nanosecond


class Own(NamedTuple):
    """An entry of `own_processes` in the scenario, with the function that it names."""

    declared: OwnProcess
    name: str
    key: str
    path: Path
    function: Callable[..., Any]
    takes: tuple[str, ...]


def own_processes(scenario: Scenario, allow_code: bool) -> list[Own]:
    """Load the processes of a scenario. Raise ScenarioError for a function that does not fit."""
    processes = []
    for number, (one, name) in enumerate(zip(scenario.own_processes, names(scenario.own_processes), strict=True)):
        key = f"own_processes.{number}.process"
        function, path = load_named(key, one.process, scenario.folder, allow_code), scenario.folder / one.file
        code = getattr(function, "__code__", None)
        where = f"{key}: {one.file}:{code.co_firstlineno if code else 1}: {one.function}"
        if not inspect.isgeneratorfunction(function):
            raise ScenarioError(f"{where} is not a generator function, expected a function with at least one yield")
        parameters = inspect.signature(function).parameters
        takes = tuple(parameters)
        refused = {"world"} if one.hosts != "none" else {"host"}
        refused |= {name for name, parameter in parameters.items() if parameter.kind not in BY_NAME}
        if others := [parameter for parameter in takes if parameter not in TAKES or parameter in refused]:
            expected = ", ".join(parameter for parameter in TAKES if parameter not in refused)
            raise ScenarioError(f"{where} takes {others[0]!r}, expected only {expected}")
        if "run" in takes and not one.uses_run:
            raise ScenarioError(f"{where} takes 'run', expected `uses_run: true` in the scenario")
        processes.append(Own(one, name, key, path, function, takes))
    return processes


class OwnProcesses:
    """Runs the users' processes of one run."""

    def __init__(
        self, scenario: Scenario, allow_code: bool, kernel: Kernel, lifecycle: Lifecycle, movement: Movement,
        nodes: Sequence[Node], trajectories: Sequence[Trajectory],
    ) -> None:  # fmt: skip
        self._scenario = scenario
        self._kernel = kernel
        self._lifecycle = lifecycle
        self._movement = movement
        self._appear_ns = {f"h{number}": trajectory.appears_ns for number, trajectory in enumerate(trajectories)}
        self._processes = own_processes(scenario, allow_code)
        self._nodes = {node.name: node for node in nodes}
        self._environments: list[Environment] = []
        self._deliveries = Deliveries()
        self._observes = any("run" in one.takes for one in self._processes)
        for node in nodes:
            self._observe(node)
        self._limit = WallLimit(scenario.limits.process_s)
        self._steps = Steps(min(MOST_AT_ONCE, scenario.limits.max_events // 2))

    def begin(self) -> None:
        """Begin all processes. Simultaneous ones act in the order of the scenario, and then of the hosts."""
        if self._processes:
            self._limit.start()
        for one in self._processes:
            listed = one.declared.hosts
            for host in self._appear_ns if listed == "all" else [None] if listed == "none" else listed:
                self._kernel.start(self._wait_and_begin(one, host))

    def add(self, node: HostNode) -> None:
        """Begin the processes that act on every host, for a host that an intervention adds."""
        self._appear_ns[node.name] = self._kernel.now
        self._nodes[node.name] = node
        self._observe(node)
        for one in self._processes:
            if one.declared.hosts == "all":
                self._kernel.start(self._wait_and_begin(one, node.name))

    def end(self) -> None:
        self._limit.stop()
        for environment in self._environments:
            environment.close()

    def _observe(self, node: Node) -> None:
        if self._observes and isinstance(node, HostNode):
            self._deliveries.observe(node)

    def _wait_and_begin(self, one: Own, host: str | None) -> Process:
        yield self._kernel.until(0 if host is None else self._appear_ns[host])
        owner = one.name if host is None else f"{one.name} of {host}"
        end_ns, origin = ns(self._scenario.duration_s), Origin(one.key, one.path, owner)
        env = Environment(self._kernel, end_ns, origin, self._limit, self._steps)
        self._environments.append(env)
        env.process(one.function(**{name: self._argument(name, one, env, host) for name in one.takes}))

    def _argument(self, name: str, one: Own, env: Environment, host: str | None) -> Any:
        if name == "host" and host is not None:
            return self._handle(one, env, host)
        if name == "world":
            return World([self._handle(one, env, name) for name in self._appear_ns])
        if name == "draws":
            return Stream(self._scenario.seed, "process", one.name if host is None else f"{one.name}/{host}")
        if name == "run":
            return Run(env, self._nodes, self._movement, self._deliveries)
        return MappingProxyType(one.declared.settings) if name == "settings" else env

    def _handle(self, one: Own, env: Environment, host: str) -> Host:
        limit_mps, payload_bytes = one.declared.speed_limit_mps, self._scenario.workload.payload_bytes
        return Host(host, env, self._lifecycle, self._movement, limit_mps, payload_bytes)
