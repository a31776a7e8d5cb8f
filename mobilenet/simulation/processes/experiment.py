"""Run a scenario of processes and record it.

Model     An experiment carries out crashes, mistakes and broadcasts, and records all events. It ends when all planned
          events have taken place, no message of the protocol is in transit, and all live processes have empty buffers
          (except one that the protocol may hold forever). If there is a detector, whose background traffic never stops,
          all live processes must also know all crashes. This is checked once per time unit.
Counts    The network counts messages, and the packet network also records the time of each reception. Protocols have no
          counters
Units     integer nanoseconds; 1 time unit is 1 s
Errors    ScenarioError if a detector declared as perfect suspects a live process, because its timeout is too short, or
          if a run makes no progress
Source    ours: docs/protocols/vcube.md
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from mobilenet.engine.clock import SECOND, Progress, ns
from mobilenet.engine.event_queue import Runaway
from mobilenet.engine.kernel import Kernel
from mobilenet.engine.random_streams import Stream
from mobilenet.network.wired.network import Receive, adjacency
from mobilenet.network.wired.network import WiredNetwork as Wires
from mobilenet.parameters import ScenarioError, number
from mobilenet.protocols.vcube.detector import Detector
from mobilenet.protocols.vcube.port import MessageId
from mobilenet.quoting import there_are
from mobilenet.record.recorder import Recording
from mobilenet.scenario.plans.process_plans import broadcasts, crashes
from mobilenet.scenario.process_parameters import AbstractNetwork, WiredNetwork
from mobilenet.scenario.processes import OwnBroadcast, ProcessProgram, ProcessScenario
from mobilenet.simulation.causes import CauseLog
from mobilenet.simulation.nodes import byte_count
from mobilenet.simulation.outcome import Outcome, first_few
from mobilenet.simulation.parties import parties_of
from mobilenet.simulation.plugin_code import EarlyEnd, require_allowed
from mobilenet.simulation.processes.abstract_network import StepNetwork
from mobilenet.simulation.processes.losses import lossy
from mobilenet.simulation.processes.packets import Packets
from mobilenet.simulation.processes.plugins import broadcast_for
from mobilenet.simulation.processes.process import Process, ProcessDetectorPort
from mobilenet.simulation.processes.quiescence import is_owed, of_processes
from mobilenet.simulation.processes.wires import WireNetwork

OnMessage = Callable[[int, int, int, Any], None]  # time_ns, sender, receiver, message


class Experiment:
    def __init__(
        self,
        scenario: ProcessScenario,
        on_send: OnMessage | None = None,
        on_receive: OnMessage | None = None,
        allow_code: bool = False,
        run_folder: Path | None = None,
    ) -> None:
        """Build the parts. `on_send` is called with each message that is handed to the network, and `on_receive` just
        before the network hands a message to a process. `allow_code` permits the code of the scenario's plug-in to run;
        otherwise a scenario with such code is refused. `run_folder` is the folder in which rows of the record and the
        standard error of programs are written during the run. If it is None, the rows stay in memory and the standard
        error is lost.
        """
        require_allowed(scenario, allow_code)
        self.scenario = scenario
        self._on_send = on_send
        self.n = n = scenario.processes
        self.kernel = Kernel()
        self.kernel.calendar.max_events = scenario.limits.max_events
        self.recording = Recording(lines=scenario.record.programs, causes=scenario.record.causes, folder=run_folder)
        self.causes = None if self.recording.causes is None else CauseLog(self.kernel, self.recording)
        self._parties = parties_of(scenario, {"n": n}, self.recording, run_folder)
        self._losses = Stream(scenario.seed, "message loss")
        self.samples_changes = scenario.record.buffers
        self.names: dict[MessageId, str] = {}
        self._last_plan_ns = 0
        self._crashed: set[int] = set()
        network = scenario.network
        self.steps: StepNetwork | WireNetwork | None = None
        self.packets: Packets | None = None
        if isinstance(network, AbstractNetwork):
            self.steps = StepNetwork(
                self.kernel, n, ns(network.send), ns(network.link), ns(network.reception), ns(network.hand_over)
            )
        elif isinstance(network, WiredNetwork):
            self.steps = WireNetwork(wires(self.kernel, n, network))
        else:
            self.packets = Packets(self.kernel, scenario)
        if self.steps is not None:
            self.lane: Any = self._new_lane(self.steps)
            self.tests: Any = self.steps.lane()
        self.processes = [Process(self, i) for i in range(n)]
        new_one = self._parties.new_process or broadcast_for(scenario, allow_code)
        for process in self.processes:
            process.protocol = new_one(process, n)
            receive: Receive = process.on_receive if self.samples_changes else process.protocol.on_receive
            if on_receive is not None:
                receive = self._with_observer(on_receive, process.me, receive)
            if self.causes is not None:
                receive = self.causes.receiving(process.me, receive)
            if self.steps is not None:
                self.lane.attach(process.me, receive)
            elif self.packets is not None:
                self.packets.attach(process.me, receive)
        self.detectors = self._new_detectors() if self.steps is not None and scenario.detector is not None else []
        self._plan()

    def _new_lane(self, steps: StepNetwork | WireNetwork) -> Any:
        network = self.scenario.network
        if isinstance(steps, StepNetwork) and isinstance(network, AbstractNetwork) and network.jitter:
            return steps.lane(ns(network.jitter), Stream(self.scenario.seed, "link jitter"))
        return steps.lane()

    def _new_detectors(self) -> list[Detector]:
        parameters = self.scenario.detector
        assert parameters is not None
        detectors = []
        for process in self.processes:
            send = self.tests.sender(process.me)
            if self.causes is not None:
                send = self.causes.sending(process.me, send)
            port = ProcessDetectorPort(process, send)
            unreliable = parameters.mode == "unreliable"
            detector = Detector(port, self.n, ns(parameters.interval), ns(parameters.timeout), unreliable)
            receive: Receive = detector.on_receive
            if self.causes is not None:
                receive = self.causes.receiving(process.me, receive)
            self.tests.attach(process.me, receive)
            detectors.append(detector)
        return detectors

    def _with_observer(
        self, on_receive: OnMessage, i: int, receive: Callable[[int, Any], None]
    ) -> Callable[[int, Any], None]:
        calendar = self.kernel.calendar

        def observe_and_receive(sender: int, message: Any) -> None:
            on_receive(calendar.now, sender, i, message)
            receive(sender, message)

        return observe_and_receive

    # --- what processes need

    def sender(self, i: int) -> Callable[[int, Any], None]:
        send: Callable[[int, Any], None] = (
            partial(self.packets.send, i) if self.packets is not None else self.lane.sender(i)
        )
        network = self.scenario.network
        if isinstance(network, AbstractNetwork) and network.loses:
            send = lossy(send, i, self.n, network, self._losses, self.kernel.calendar, self.causes)
        if self.causes is not None:
            send = self.causes.sending(i, send)
        if isinstance(self.scenario.protocol, (OwnBroadcast, ProcessProgram)):
            send = self._with_checks(send)
        if self._on_send is None:
            return send
        calendar, on_send = self.kernel.calendar, self._on_send

        def observe_and_send(to: int, message: Any) -> None:
            on_send(calendar.now, i, to, message)
            send(to, message)

        return observe_and_send

    def _with_checks(self, send: Callable[[int, Any], None]) -> Callable[[int, Any], None]:
        """Return a version of `send` that checks the receiver and the size, because a plug-in or a program may pass any
        value.
        """
        n = self.n

        def check_and_send(to: int, message: Any) -> None:
            if type(to) is not int or not 0 <= to < n:
                raise ValueError(f"send: process {to!r} does not exist; {there_are(n, 'process')}")
            byte_count("size_bytes", message.size_bytes)
            send(to, message)

        return check_and_send

    def timer(self, i: int, action: Callable[[], None]) -> Any:
        noted = None if self.causes is None else self.causes.timer(f"p{i}", action)
        if noted is not None:
            action = noted.fire
        if self.steps is not None:
            timer: Any = self.steps.timer(i, action)
        else:
            assert self.packets is not None
            timer = self.packets.timer(action)
        return timer if noted is None else noted.over(timer)

    def may_suspect(self, by: int, process: int) -> None:
        """Raise ScenarioError if a detector that is declared perfect makes a mistake, so that the mistake is not
        attributed to the protocol.
        """
        detector = self.scenario.detector
        if self.processes[process].up and detector is not None and detector.mode == "perfect":
            at = f"at {self.kernel.now / SECOND:g} t.u., p{by} suspects p{process}, which has not crashed"
            raise ScenarioError(
                f"detector.timeout: {detector.timeout:g} is too short for a perfect detector: {at}; expected a longer"
                " timeout, or mode: unreliable"
            )

    @property
    def measured_ns(self) -> int:
        return self.steps.measured_ns if self.steps is not None else self.kernel.now

    def begin(self, message: MessageId) -> None:
        """Assign a name to a message whose broadcast begins."""
        self.names[message] = f"p{message.source}:{message.ts}"
        if self.packets is not None:
            self.packets.broadcast_at[message] = self.kernel.now

    # --- the plan

    def _plan(self) -> None:
        """Plan crashes before other events, because a process that crashes at an instant takes no other action then."""
        scenario = self.scenario
        for i, time_ns in crashes(scenario):
            self._at(time_ns, partial(self._crash, i))
        for mistake in scenario.detector.mistakes if scenario.detector is not None else ():
            self._at(ns(mistake.at), partial(self._mistake, number(mistake.by), number(mistake.about)))
        for detector, process in zip(self.detectors, self.processes, strict=False):
            self._at(0, partial(_if_up, process, detector.start_round), counts=False)
        for time_ns, i in broadcasts(scenario):
            self._at(time_ns, self.processes[i].broadcast)

    def _at(self, time_ns: int, action: Callable[[], None], counts: bool = True) -> None:
        if counts:
            self._last_plan_ns = max(self._last_plan_ns, time_ns)
        (self.steps if self.steps is not None else self.kernel).at(time_ns, action)

    def _crash(self, i: int) -> None:
        assert self.steps is not None
        self.steps.crash(i)
        self.processes[i].crash()
        self._crashed.add(i)
        if self.causes is not None:
            self.causes.note_crash(i)

    def _mistake(self, by: int, about: int) -> None:
        if self.processes[by].up:
            self.detectors[by].suspect(about)

    # --- running

    def run(self, progress: Progress | None = None) -> Outcome:
        """Run without garbage collection: what a run allocates is either freed soon or needed until the end."""
        collects = gc.isenabled()
        gc.disable()
        try:
            return self._run(progress)
        except Runaway as error:
            raise EarlyEnd(f"limits.max_events: {error}") from None
        finally:
            self._parties.end(self.kernel.now)
            if collects:
                gc.enable()

    def _run(self, progress: Progress | None) -> Outcome:
        end_ns = ns(self.scenario.duration)
        quiescent = False
        while not quiescent and self.kernel.now < end_ns:
            self.recording.settle(self.kernel.now)
            self.kernel.run_until(min(self.kernel.now + SECOND, end_ns))
            quiescent = self._is_quiescent()
            if progress is not None:
                progress(self.kernel.now / SECOND, self._likely_end())
        for process in self.processes:
            if process.up:
                process.sample(is_end=True)
        self.recording.counters = self._counters()
        not_at_rest = () if quiescent else first_few(self._not_at_rest())
        own_clock = self._own_clock() if quiescent else ()
        facts = {"own_clock": sorted(own_clock)} if own_clock else {}
        scenario = self._parties.as_played(self.scenario)
        return Outcome(self.recording, self.kernel.now, quiescent, scenario, not_at_rest, facts)

    def _likely_end(self) -> float:
        """Estimate when the run will end, from the deliveries so far. Crashed processes are assumed to have sent and
        delivered nothing.
        """
        delivered, up = sum(one.delivered for one in self.processes), sum(one.up for one in self.processes)
        due = self.scenario.deliveries_due * (up / len(self.processes)) ** 2
        now = self.kernel.now / SECOND
        return float(min(self.scenario.duration, now * max(1.0, due / max(1, delivered))))

    def _own_clock(self) -> Sequence[str]:
        """End the programs. If a delivery is missing, return the programs that also use a clock of their own."""
        if self._parties.new_process is None:
            return ()
        up = [process.name for process in self.processes if process.up]
        self._parties.end(self.kernel.now, not self.scenario.loses and is_owed(self.recording.tables()["events"], up))
        return self._parties.own_clock

    def _not_at_rest(self) -> Iterator[str]:
        counters, may_hold = self.recording.counters, self.scenario.may_hold
        return of_processes(self.processes, self.detectors, self._crashed, counters, may_hold, self.plans_more)

    @property
    def plans_more(self) -> bool:
        """Whether the scenario still has planned events to come."""
        return self.kernel.now < self._last_plan_ns

    @property
    def nodes(self) -> list[Process]:
        return self.processes

    def so_far(self) -> Outcome:
        """Return the outcome of a run that a plug-in's error has ended."""
        self.recording.counters = self._counters()
        return Outcome(self.recording, self.kernel.now, False, self._parties.as_played(self.scenario))

    def _is_quiescent(self) -> bool:
        is_empty = self.lane.is_empty if self.packets is None else not self.packets.in_flight
        if not is_empty or self.plans_more:
            return False
        alive = [process for process in self.processes if process.up]
        if any(self._waits(process) for process in alive):
            return False
        if not self.detectors:
            return True
        return all(self.detectors[p.me].is_suspected(i) for p in alive for i in self._crashed)

    def _waits(self, process: Process) -> bool:
        """Return whether the process has a non-empty buffer, other than the one that may stay filled."""
        sizes = zip(process.protocol.BUFFERS, process.protocol.buffer_sizes(), strict=True)
        return any(size for quantity, size in sizes if quantity != self.scenario.may_hold)

    def _counters(self) -> dict[str, Any]:
        if self.packets is not None:
            return {"messages": self.packets.counters(), "detector": None}
        names = Counter[str]()
        for kind, count in self.lane.kinds.items():  # names may differ only in case; their counts are then added
            names[kind.__name__.lower()] += count
        return {
            "messages": {
                **_lane_counters(self.lane),
                **({"lost": self.lane.vanished} if self.scenario.loses else {}),
                "by_kind": dict(sorted(names.items())),
            },
            "detector": _lane_counters(self.tests),
        }


def _lane_counters(lane: Any) -> dict[str, int]:
    sent, in_flight, lost = lane.sent - lane.unsent, lane.in_flight, getattr(lane, "vanished", 0)
    return {
        "sent": sent,
        "received": sent - in_flight - lane.lost - lost,
        "receiver_down": lane.lost,
        "in_flight": in_flight,
        "never_left": lane.unsent,
        "bytes": lane.bytes,
        "last_reception_ns": lane.last_measured_ns,
    }


def wires(kernel: Kernel, n: int, network: WiredNetwork) -> Wires:
    near = None if network.edges is None else adjacency(network.edges, n)
    bits_per_s = round(network.bandwidth_mbps * 1_000_000)
    return Wires(kernel, n, near, bits_per_s, ns(network.delay_ms / 1000), network.header_bytes)


def _if_up(process: Process, action: Callable[[], None]) -> None:
    if process.up:
        action()
