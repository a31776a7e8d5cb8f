"""Users' simpy processes: how they are found and begun, and how an error in one ends the run.

Model     each has an environment of its own, which counts seconds, and begins when its host has appeared. It takes what
          its signature names, and sees the run only through `run`. Nothing of it happens after the active part
Units     integer nanoseconds; the environments count seconds
Errors    ScenarioError, one line with file, line and process: a function that does not fit the declaration, a wrong
          yield, an exception that a process does not catch, and steps that never end
Source    ours: docs/guide/simpy.md
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from mobilenet.clock import ns
from mobilenet.engine.kernel import Kernel, Process, Seconds
from mobilenet.engine.random_streams import Stream
from mobilenet.engine.wall_limit import TooLong, WallLimit
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import cut
from mobilenet.scenario import Scenario
from mobilenet.simulation.hosts import HostNode
from mobilenet.simulation.lifecycle import Lifecycle
from mobilenet.simulation.movement import Movement
from mobilenet.simulation.nodes import Node
from mobilenet.simulation.plugin_code import load_named, place_of
from mobilenet.simulation.process_handles import Deliveries, Host, Run, World
from mobilenet.world.mobility import Trajectory
from mobilenet.world.own_process import OwnProcess, names

TAKES = ("env", "host", "world", "draws", "settings", "run")
MOST_AT_ONCE = 1_000_000  # steps in one nanosecond


class Origin(NamedTuple):
    """Where a process comes from, for messages."""

    key: str  # of the scenario
    path: Path
    owner: str  # `bus of h0`

    def problem(self, text: str) -> ScenarioError:
        return ScenarioError(f"{self.key}: {text}, in process {self.owner}")


class Steps:
    """Counts the steps of all processes in one nanosecond."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._now_ns, self._count = -1, 0

    def are_too_many(self, now_ns: int) -> bool:
        """Count one more; whether there are more than `most`."""
        self._count = self._count + 1 if now_ns == self._now_ns else 1
        self._now_ns = now_ns
        return self._count > self.most


class Own(NamedTuple):
    """One entry of the scenario, with its code."""

    declared: OwnProcess
    name: str
    key: str
    path: Path
    function: Callable[..., Any]
    takes: tuple[str, ...]


def own_processes(scenario: Scenario, allow_code: bool) -> list[Own]:
    """Load the processes of a scenario. ScenarioError for a function that does not fit."""
    processes = []
    for number, (one, name) in enumerate(zip(scenario.own_processes, names(scenario.own_processes), strict=True)):
        key = f"own_processes.{number}.process"
        function, path = load_named(key, one.process, scenario.folder, allow_code), scenario.folder / one.file
        code = getattr(function, "__code__", None)
        where = f"{key}: {one.file}:{code.co_firstlineno if code else 1}: {one.function}"
        if not inspect.isgeneratorfunction(function):
            raise ScenarioError(f"{where} is not a generator function, expected a function with at least one yield")
        takes = tuple(inspect.signature(function).parameters)
        refused = {"world"} if one.hosts != "none" else {"host"}
        if others := [parameter for parameter in takes if parameter not in TAKES or parameter in refused]:
            expected = ", ".join(parameter for parameter in TAKES if parameter not in refused)
            raise ScenarioError(f"{where} takes {others[0]!r}, expected only {expected}")
        if "run" in takes and not one.uses_run:
            raise ScenarioError(f"{where} takes 'run', expected `uses_run: true` in the scenario")
        processes.append(Own(one, name, key, path, function, takes))
    return processes


class OwnProcesses:
    """The processes of one run."""

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
        self._deliveries = Deliveries()
        self._observes = any("run" in one.takes for one in self._processes)
        for node in nodes:
            self._observe(node)
        self._limit = WallLimit(scenario.limits.process_s)
        self._steps = Steps(min(MOST_AT_ONCE, scenario.limits.max_events // 2))

    def begin(self) -> None:
        """Begin all, in the order of the scenario and then of the hosts, which decides ties."""
        if self._processes:
            self._limit.start()
        for one in self._processes:
            listed = one.declared.hosts
            for host in self._appear_ns if listed == "all" else [None] if listed == "none" else listed:
                self._kernel.start(self._wait_and_begin(one, host))

    def add(self, node: HostNode) -> None:
        """A host that is added by hand has the processes that all hosts have."""
        self._appear_ns[node.name] = self._kernel.now
        self._nodes[node.name] = node
        self._observe(node)
        for one in self._processes:
            if one.declared.hosts == "all":
                self._kernel.start(self._wait_and_begin(one, node.name))

    def end(self) -> None:
        self._limit.stop()

    def _observe(self, node: Node) -> None:
        if self._observes and isinstance(node, HostNode):
            self._deliveries.observe(node)

    def _wait_and_begin(self, one: Own, host: str | None) -> Process:
        yield self._kernel.until(0 if host is None else self._appear_ns[host])
        owner = one.name if host is None else f"{one.name} of {host}"
        end_ns, origin = ns(self._scenario.duration_s), Origin(one.key, one.path, owner)
        env = Environment(self._kernel, end_ns, origin, self._limit, self._steps)
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
        return Host(host, env, one.name, self._lifecycle, self._movement, limit_mps, payload_bytes)


class Environment(Seconds):
    """The environment of one process and of those that it begins. It looks at each step of theirs."""

    def __init__(self, kernel: Kernel, end_ns: int, origin: Origin, limit: WallLimit, steps: Steps) -> None:
        super().__init__(kernel, end_ns)
        self._origin = origin
        self._limit = limit
        self._steps = steps
        self._alive: dict[Any, None] = {}  # none is closed, and does what it does then, before the run is over

    def process(self, generator: Any) -> Any:
        """Begin a process, as simpy does."""
        if not inspect.isgenerator(generator):
            raise TypeError(f"env.process({cut(repr(generator), 80)}): expected a generator such as f(env)")
        guarded: Any = self._guard(generator)
        guarded.__name__ = generator.__name__
        process: Any = super().process(guarded)
        self._alive[process] = None
        process.callbacks.append(self._alive.pop)
        return process

    @property
    def is_over(self) -> bool:
        return super().is_over or self._limit.is_stopped

    def explain(self, error: Exception) -> Exception:
        """State where a process raised it. What is explained already, or came up in a protocol, stays as it is."""
        if isinstance(error, ScenarioError):
            return error
        return self._origin.problem(place_of(error, self._origin.path))

    def _guard(self, generator: Any) -> Generator[Any, Any, Any]:
        step, value = generator.send, None
        while True:
            if self._steps.are_too_many(self._kernel.now):
                what = f"{self._steps.most:,} steps at {self.now:g} s, and time does not pass (limits.max_events)"
                raise self._origin.problem(f"{_place(generator)}: {what}")
            try:
                with self._limit:
                    event = step(value)
            except StopIteration as end:
                return end.value
            except TooLong as error:
                what = f"no yield within {self._limit.limit_s:g} s of wall time (limits.process_s)"
                place = place_of(error, self._origin.path).removesuffix(f": {TooLong.__name__}")
                raise self._origin.problem(f"{place}: {what}") from None
            if not self.is_own(event):
                what = f"yields {cut(repr(event), 80)}, expected an event of env, such as env.timeout(1.5)"
                raise self._origin.problem(f"{_place(generator)}: {what}")
            try:
                step, value = generator.send, (yield event)
            except Exception as error:  # the event failed, or the process is interrupted
                step, value = generator.throw, error


def _place(generator: Any) -> str:
    """File and line of the innermost `yield` at which it waits."""
    while inspect.isgenerator(inner := generator.gi_yieldfrom):
        generator = inner
    return f"{Path(generator.gi_code.co_filename).name}:{generator.gi_frame.f_lineno}"
