"""A scenario of processes on an abstract network or on wires, recognised by the key `processes`.

Model     The scenario combines network, detector, crashes, workload and protocol in one frozen object
Units     time units (t.u.), 1 t.u. is 1 s of simulated time; bytes
Errors    ScenarioError, one line for each problem
Source    ours: docs/protocols/vcube.md
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field

from mobilenet.engine.clock import ns
from mobilenet.network.wired.network import adjacency
from mobilenet.network.wireless import WirelessParameters
from mobilenet.parameters import ClassInFile, KeyNotes, OwnMetrics, Parameters, ScenarioError, class_says_it, number
from mobilenet.protocols.vcube.parameters import (
    BestEffortParameters,
    Broadcasts,
    CausalParameters,
    DisjointPathsParameters,
)
from mobilenet.protocols.vcube.topology import dimension
from mobilenet.quoting import there_are
from mobilenet.scenario.base import ScenarioFile, code_of_metrics, files_of_metrics, require_files
from mobilenet.scenario.detector_timing import errs_for_ever, round_trip
from mobilenet.scenario.detector_timing import messages as tests
from mobilenet.scenario.error_messages import line
from mobilenet.scenario.process_parameters import (
    AbstractNetwork,
    Crash,
    DetectorParameters,
    Exponential,
    Network,
    PacketNetwork,
    ProcessWorkload,
    RandomCrashes,
    WiredNetwork,
)
from mobilenet.scenario.programs import CommandLine, Program, command_in_words, files_of, warnings_of
from mobilenet.scenario.yaml_reader import Node
from mobilenet.world.interventions import Intervention
from mobilenet.world.tracks.projection import Anchor


class OwnBroadcast(ClassInFile):
    """A custom broadcast, in a file next to the scenario. `name` is not needed if `class` is given."""

    name: Literal["own"] = "own"
    order: Literal["none", "fifo", "causal"] | None = Field(
        default=None, description="order in which messages are delivered; null: as the class declares"
    )
    delivers: Literal["correct_source", "correct_source_below_dimension", "agreement"] | None = Field(
        default=None, description="messages that must reach every correct process; null: as the class declares"
    )
    tolerates_crashes: bool | None = Field(
        default=None, description="whether processes may crash; null: as the class declares"
    )
    tolerates_mistakes: bool | None = Field(
        default=None, description="whether the swarm may inject false suspicions; null: as the class declares"
    )
    may_hold: str | None = Field(
        default=None,
        max_length=200,
        description="buffer that need not be empty at the end; null: as the class declares",
    )
    buffers: tuple[str, ...] | None = Field(
        default=None, max_length=100, description="names of the measured buffers; null: as the class declares"
    )


class ProcessProgram(Program):
    """Custom programs, in any language. `name` is not needed if `command` is given."""

    command: CommandLine = Field(description="command that each process runs, as a list of words")
    order: Literal["none", "fifo", "causal"] = Field(
        default="none", description="order in which messages are delivered"
    )
    delivers: Literal["correct_source", "correct_source_below_dimension", "agreement"] = Field(
        default="correct_source", description="messages that must reach every correct process"
    )
    tolerates_crashes: bool = Field(default=True, description="whether processes may crash")
    tolerates_mistakes: bool = Field(default=False, description="whether the swarm may inject false suspicions")
    may_hold: str | None = Field(default=None, max_length=200, description="buffer that need not be empty at the end")
    buffers: tuple[str, ...] | None = Field(
        default=None,
        max_length=100,
        description="names of the buffers; null: as named in the answer to the first start event",
    )

    def commands_by_role(self) -> dict[str, tuple[str, ...]]:
        return {"process": self.command}

    def named_buffers(self, by_role: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
        return by_role.get("process", ())


ProcessProtocol = Annotated[
    Broadcasts | OwnBroadcast | ProcessProgram,
    Field(discriminator="name"),
    BeforeValidator(class_says_it("name")),
]


class ProcessRecord(Parameters):
    """Optional records in addition to events."""

    buffers: bool = Field(default=True, description="record buffer sizes whenever they change; false: only at the end")
    programs: bool = Field(default=False, description="record one row for each line to or from programs")
    causes: bool = Field(default=False, description="record the causes of delays (`why`); on with protocol.class")


class ProcessLimits(Parameters):
    """Limits on the size of a run."""

    max_events: int = Field(
        default=1_000_000_000,
        ge=1,
        le=10**15,
        description="maximum estimated number of events; a run with more is refused",
    )


class ProcessScenario(ScenarioFile):
    """A scenario of processes: network, detector, crashes, workload and protocol."""

    kind = "processes"
    name: str | None = Field(
        default=None, min_length=1, max_length=200, description="name of the scenario, for readers"
    )
    description: str | None = Field(
        default=None, max_length=10_000, description="description of the scenario, for readers"
    )
    seed: int = Field(default=1, ge=0, le=2**63 - 1, description="seed of all random numbers in a run")
    processes: int = Field(ge=2, le=100_000, description="number of processes, which are called p0, p1 and so on")
    duration: Annotated[float, KeyNotes(unit="t.u.")] = Field(
        default=100_000.0, gt=0, le=1e7, description="time limit; the run ends sooner if nothing is left to do"
    )
    network: Network = Field(
        default=AbstractNetwork(),
        description="network model; packet: for causal; abstract: for the other protocols; wired: for all protocols",
    )
    detector: DetectorParameters | None = Field(
        default=DetectorParameters(), description="failure detector of each process; null: no process learns of crashes"
    )
    faults: tuple[Crash, ...] = Field(
        default=(),
        max_length=100_000,
        description="processes that crash, with their times; a process crashes at most once and stays down",
    )
    random_faults: RandomCrashes | None = Field(
        default=None, description="further processes that crash, drawn at random; null: none"
    )
    workload: ProcessWorkload = ProcessWorkload()
    protocol: ProcessProtocol = Field(description="broadcast protocol of the processes")
    record: ProcessRecord = ProcessRecord()
    metrics: OwnMetrics = ()
    limits: ProcessLimits = ProcessLimits()

    @property
    def duration_s(self) -> float:
        return self.duration

    @property
    def warmup_s(self) -> float:
        return 0.0

    @property
    def lasts(self) -> str:
        return f"at most {self.duration:g} t.u."

    def warnings(self) -> list[str]:
        return list(warnings_of(self.protocol, self.folder))

    @property
    def crashes(self) -> int:
        """The number of processes that fail."""
        return len({fault.process for fault in self.faults}) + (self.random_faults.count if self.random_faults else 0)

    @property
    def wires(self) -> Network:
        """The network of the processes. Processes do not use radio, cells or interventions, so the properties below are
        empty.
        """
        return self.network

    @property
    def tick_ns(self) -> int:
        return 0

    @property
    def interventions(self) -> tuple[Intervention, ...]:
        return ()

    @property
    def anchor(self) -> Anchor | None:
        return None

    @property
    def wireless(self) -> WirelessParameters | None:
        return None

    @property
    def loses(self) -> bool:
        """Whether the network may lose messages."""
        return isinstance(self.network, AbstractNetwork) and self.network.loses

    @property
    def may_hold(self) -> str | None:
        """The buffer that may stay filled at the end, if there is one."""
        return getattr(self.protocol, "may_hold", None)

    def complete(self, root: Node) -> Self:
        require_files(self, root)
        return self

    def files(self) -> Iterator[tuple[str, Path]]:
        if isinstance(self.protocol, OwnBroadcast):
            yield "protocol.class", self._folder / self.protocol.file
        if isinstance(self.protocol, ProcessProgram):
            yield from files_of(self.protocol.command, "protocol.command", self._folder)
        yield from files_of_metrics(self.metrics, self._folder)

    def patterns(self) -> Iterator[tuple[str, str]]:
        if isinstance(self.protocol, ProcessProgram):
            yield from ((f"protocol.files.{place}", pattern) for place, pattern in enumerate(self.protocol.files))

    def code(self) -> Iterator[tuple[str, str, str | None]]:
        if isinstance(self.protocol, OwnBroadcast):
            yield "protocol.class", self.protocol.reference, self.protocol.file
        if isinstance(self.protocol, ProcessProgram):
            yield "protocol.command", command_in_words(self.protocol.command), None
        yield from code_of_metrics(self.metrics)

    def check(self, root: Node) -> None:
        problems = [line(root, path, what) for path, what in self._objections()]
        if problems:
            raise ScenarioError("\n".join(problems[:20]))

    def _objections(self) -> Iterator[tuple[str, str]]:
        n, protocol = self.processes, self.protocol
        named = {"faults": [fault.process for fault in self.faults]}
        for place, one in enumerate(getattr(self.network, "partitions", ())):
            named[f"network.partitions.{place}.apart"] = list(one.apart)
        if self.random_faults is not None:
            named["random_faults.spared"] = list(self.random_faults.spared)
        if self.detector is not None:
            named["detector.mistakes"] = [p for m in self.detector.mistakes for p in (m.by, m.about)]
        for path, names in named.items():
            strangers = sorted((name for name in names if number(name) >= n), key=number)
            if strangers:
                yield path, f"{strangers[0]} does not exist; {there_are(n, 'process', 'p')}"
        if len(set(named["faults"])) < len(self.faults):
            yield "faults", "a process can crash only once; expected different processes"
        if self.random_faults is not None:
            free = n - len({*named["faults"], *named["random_faults.spared"]})
            if self.random_faults.count > free:
                yield "random_faults.count", f"expected at most {free}, the number of processes that can still crash"
        if self.workload.sources is not None and self.workload.sources > n:
            yield "workload.sources", f"expected at most {n}, the number of processes"
        if isinstance(protocol, DisjointPathsParameters) and n & (n - 1):
            yield "processes", f"{protocol.name} runs on a full hypercube: expected 2, 4, 8, ..."
        if self.crashes and protocol.tolerates_crashes is False:
            yield "faults" if self.faults else "random_faults", f"{protocol.name} does not survive crashes"
        elif self.crashes and self.detector is None and not isinstance(protocol, DisjointPathsParameters):
            yield "detector", f"{protocol.name} needs a failure detector to survive crashes"
        if isinstance(protocol, BestEffortParameters) and self.detector is not None and self.detector.mode != "perfect":
            yield "detector.mode", "best_effort loses messages after a false suspicion; expected mode: perfect"
        if isinstance(self.network, WiredNetwork) and self.network.edges is not None:
            try:
                adjacency(self.network.edges, n)
            except ValueError as error:
                yield "network.edges", str(error)
                return
        runs_anywhere = isinstance(self.network, WiredNetwork) or isinstance(protocol, ProcessProgram)
        if not runs_anywhere and isinstance(self.network, AbstractNetwork) == isinstance(protocol, CausalParameters):
            other = "packet" if isinstance(protocol, CausalParameters) else "abstract"
            yield "network.kind", f"{protocol.name} runs on the network of its paper; expected {other} or wired"
        if self.loses and not isinstance(protocol, ProcessProgram):
            lossy = self.network.loss if isinstance(self.network, AbstractNetwork) else 0
            path = "network.loss" if lossy else "network.partitions"
            yield (
                path,
                f"{protocol.name} assumes that no message is lost; only programs can be run on a network that loses"
                " messages",
            )
        yield from self._detector_objections()
        yield from self._too_late()
        if (events := self._planned_events()) > self.limits.max_events:
            yield "limits.max_events", f"about {events:,} events, more than {self.limits.max_events:,}"

    def _detector_objections(self) -> Iterator[tuple[str, str]]:
        detector, network = self.detector, self.network
        if detector is None:
            return
        if isinstance(network, PacketNetwork):
            yield "detector", "has no effect on the packet network, where no process crashes; expected null"
        elif detector.mode == "perfect" and ns(detector.timeout) <= ns(least := round_trip(network, self.processes)):
            what = f"a test and its answer take {least:g} t.u. on this network"
            yield (
                "detector.timeout",
                (
                    f"{what}, so with a timeout of {detector.timeout:g} t.u. a perfect detector suspects correct"
                    " processes: expected more"
                    f" than {least:g} t.u."
                ),
            )

    def _too_late(self) -> Iterator[tuple[str, str]]:
        """Yield planned events that come after the end of the run."""
        times = {"faults": [fault.at for fault in self.faults]}
        if self.random_faults is not None:
            times["random_faults.latest"] = [self.random_faults.latest]
        if self.detector is not None:
            times["detector.mistakes"] = [mistake.at for mistake in self.detector.mistakes]
        times["workload.instants"] = (
            [self.workload.instants.typical] if self._sources and self.workload.messages else []
        )
        for path, instants in times.items():
            if max(instants, default=0.0) > self.duration:
                yield path, f"{max(instants):g} t.u. is after the end of the run (duration: {self.duration:g} t.u.)"

    @property
    def _sources(self) -> int:
        return self.processes if self.workload.sources is None else self.workload.sources

    def estimated_messages(self) -> int:
        """Return the estimated number of protocol messages, including acknowledgements, copies on disjoint paths, and
        repetitions after crashes.
        """
        copies = self.processes.bit_length() if isinstance(self.protocol, DisjointPathsParameters) else 2
        again = self.processes if self.crashes and self.protocol.delivers == "agreement" else 1
        return self._sources * self.workload.messages * (self.processes - 1) * copies * min(again, 1 + self.crashes)

    @property
    def deliveries_due(self) -> int:
        return self._sources * self.workload.messages * self.processes

    def estimated_events(self) -> int:
        """Return the estimated number of messages of the protocol and of the detector. If the detector suspects correct
        processes in each round, the run may never be quiescent, so tests are counted until its end.
        """
        detector, network = self.detector, self.network
        if (
            detector is None
            or isinstance(network, PacketNetwork)
            or not errs_for_ever(detector, network, self.processes)
        ):
            return self._planned_events()
        return self.estimated_messages() + tests(detector, network, self.processes, self.duration)

    def _planned_events(self) -> int:
        """Return the estimate for a run that becomes quiescent after all planned events."""
        if self.detector is None or isinstance(self.network, PacketNetwork):
            return self.estimated_messages()
        return self.estimated_messages() + tests(self.detector, self.network, self.processes, self._span(self.detector))

    def _span(self, detector: DetectorParameters) -> float:
        """Return the approximate length of the run. It includes the last planned event, a detector round after a crash,
        and the paths through a tree.
        """
        instants, drawn = self.workload.instants, self.random_faults
        last = instants.typical * (self.workload.messages if isinstance(instants, Exponential) else 1)
        last = max(
            last,
            drawn.latest if drawn else 0.0,
            *(fault.at for fault in self.faults),
            *(m.at for m in detector.mistakes),
        )
        if self.crashes:
            last += detector.interval + detector.timeout
        assert not isinstance(self.network, PacketNetwork)
        hop = round_trip(self.network, self.processes) + getattr(self.protocol, "max_delay", 0.0)
        # At least 1, because the run checks once per time unit whether it is quiescent.
        return min(self.duration, max(1.0, last + dimension(self.processes) * hop))
