"""Build a run of hosts and stations from a scenario, run it, and drain it.

Model     Workload, faults, churn and movement stop at duration_s. Then crashed hosts recover, all hosts stand still,
          and hosts out of coverage are moved to the nearest covered position. The run ends when it is quiescent (all
          buffers are empty, and no message is in flight), or when drain_s is over.
Units     integer nanoseconds inside; the scenario's units in the interface
Errors    ScenarioError for errors that appear only when the parts are combined, and for a run that makes no progress
Source    ours: docs/architecture.md, docs/models/world.md
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mobilenet.engine.clock import MILLISECOND, SECOND, Progress, ns
from mobilenet.engine.event_queue import Runaway
from mobilenet.engine.gc_pause import no_collections
from mobilenet.engine.kernel import Kernel, Process
from mobilenet.engine.random_streams import Stream
from mobilenet.network.radio.acking_mac import Acking
from mobilenet.network.radio.dcf import Dcf, Rules
from mobilenet.network.radio.framing import Framing
from mobilenet.network.radio.mac import Mac
from mobilenet.network.radio.neighbours import Neighbours
from mobilenet.network.radio.phy import MODES
from mobilenet.network.radio.service import Place
from mobilenet.network.radio.transceiver import Transceiver
from mobilenet.network.radio_models import model_of
from mobilenet.network.tcp.parameters import TcpParameters
from mobilenet.record.recorder import Recording
from mobilenet.scenario import Scenario
from mobilenet.scenario.plans.hosts import facts
from mobilenet.scenario.preflight import require_size
from mobilenet.simulation import quiescence
from mobilenet.simulation.backbone import new_backbone
from mobilenet.simulation.connections import RadioChannels, WiredChannels
from mobilenet.simulation.counters import Counters, FrameObserver, HopObserver, both
from mobilenet.simulation.hosts import HostNode
from mobilenet.simulation.infrastructure import Infrastructure
from mobilenet.simulation.interventions import Interventions
from mobilenet.simulation.lifecycle import Lifecycle
from mobilenet.simulation.movement import Movement
from mobilenet.simulation.nodes import Context, Node, StationNode
from mobilenet.simulation.observer import Observer, Totals, Watch
from mobilenet.simulation.outcome import Outcome, first_few
from mobilenet.simulation.own_processes import OwnProcesses
from mobilenet.simulation.parties import RealTime, parties_of
from mobilenet.simulation.plugin_code import EarlyEnd, require_allowed
from mobilenet.simulation.plugins import declaration_for, mobility_for
from mobilenet.world.attachment import Attachment
from mobilenet.world.interventions import AnyIntervention
from mobilenet.world.layout import station_positions
from mobilenet.world.mobility import Population, trajectories
from mobilenet.world.own_process import fastest_mps

# time between two checks of whether the run is quiescent and whether many rows wait to be written
LOOK_NS = 100 * MILLISECOND


class Simulation:
    """Holds the parts of one run. Two simulations in one process do not share any state."""

    @no_collections()
    def __init__(
        self,
        scenario: Scenario,
        allow_code: bool = False,
        run_folder: Path | None = None,
        real_time: RealTime | None = None,
    ) -> None:
        """Build the parts. `allow_code` permits the code of the scenario's plug-ins to run; otherwise a scenario with
        such code is refused. `run_folder` is the folder in which rows of the record and the standard error of programs
        are written during the run. If it is None, the rows stay in memory and the standard error is lost. `real_time`
        makes the run keep in step with the wall clock, for programs that run in real time.
        """
        require_allowed(scenario, allow_code)
        self.scenario = scenario
        self.kernel = Kernel()
        self.kernel.calendar.max_events = scenario.limits.max_events
        record = scenario.record
        model = model_of(scenario.wireless)
        links = record.frames and not model.keys.by_distance
        self.recording = Recording(record.frames, record.messages, links, record.programs, record.causes, run_folder)
        self._counters = Counters(self.kernel, self.recording)
        self.duration_ns = ns(scenario.duration_s)

        wireless = scenario.wireless
        retries = wireless.retry_limit, wireless.group_copies - 1
        self._rules = Rules(MODES[wireless.mode], wireless.eifs, wireless.queue_frames, *retries)
        sites = station_positions(scenario.stations.layout, scenario.folder, scenario.anchor)
        place = Place(scenario.folder, scenario.anchor, scenario.seed)
        service = model.service(sites, scenario.hosts.attachment, place)
        self.coverage = service.coverage
        self.world = self._new_world(allow_code)
        counts = {"stations": len(sites), "hosts": len(self.world.trajectories)}
        self.parties = parties_of(scenario, counts, self.recording, run_folder, lambda: self.kernel.now, real_time)
        self._protocol, self._parameters = declaration_for(scenario, allow_code, self.parties)
        frames = self._counters.frame_observer()
        tick_ns = scenario.hosts.attachment.tick_ms * MILLISECOND
        neighbours = Neighbours(model.reach_m, self.world.speed_limit_mps, tick_ns)
        self.medium = model.medium(self.kernel, neighbours, service, scenario.seed, frames, self._protocol.listens)

        self._context = Context(
            self.kernel, self.recording, Framing(wireless), self.medium, scenario.seed, self._new_host
        )
        self._context.causes = self._counters.causes
        backbone, counters = scenario.stations.backbone, self._counters
        self.backbone = new_backbone(self.kernel, backbone, sites.tolist(), counters.wired_hop, counters.causes)
        self.wires = self.backbone.network
        self._wired_channels: list[WiredChannels] = []
        self.stations = [self._new_station(number, x, y) for number, (x, y) in enumerate(sites.tolist())]
        self.hosts = [self._new_host_node(number) for number in range(len(self.world.trajectories))]
        self.movement = self._new_movement(service.attachment)
        self.lifecycle = Lifecycle(scenario, self.kernel, self.movement, self.hosts, self.world.trajectories)
        self.infrastructure = Infrastructure(self._context, self.wires, self.stations, self.hosts)
        self._interventions = Interventions(
            self.kernel, self.lifecycle, self.movement, self.infrastructure, self.medium, self._add_host
        )
        parts = self.kernel, self.lifecycle, self.movement, self.nodes, self.world.trajectories
        self._own_processes = OwnProcesses(scenario, allow_code, *parts)
        self._until_ns = 0  # end of the current stage
        self._is_at_rest = False

    # --- building

    def _new_world(self, allow_code: bool) -> Population:
        """Return the trajectories of the hosts."""
        scenario = self.scenario
        mobility = mobility_for(scenario, allow_code)
        world = trajectories(
            scenario.hosts, scenario.seed, self.coverage, self.duration_ns, scenario.folder, scenario.anchor, mobility
        )
        if scenario.hosts.count is None:  # the number of hosts follows from the tracks
            require_size(scenario, len(world.trajectories))
        return world._replace(speed_limit_mps=max(world.speed_limit_mps, fastest_mps(scenario.own_processes)))

    def _new_movement(self, attachment: Attachment) -> Movement:
        def attach(host: int, cell: int) -> None:
            self.hosts[host].set_cell(None if cell < 0 else cell)

        return Movement(
            self.kernel,
            self.medium.neighbours,
            attachment,
            self.world.trajectories,
            [host.transceiver for host in self.hosts],
            self.scenario.hosts.attachment.tick_ms * MILLISECOND,
            self.world.speed_limit_mps,
            attach,
        )

    def _transceiver(self, name: str, number: int, is_station: bool) -> tuple[Transceiver, Mac]:
        transceiver = Transceiver(number if is_station else len(self.stations) + number, name, number, is_station)
        transceiver.loss_draws = Stream(self.scenario.seed, "loss", name)
        self.medium.add(transceiver)
        return transceiver, self._mac(transceiver)

    def _mac(self, transceiver: Transceiver) -> Mac:
        wireless = self.scenario.wireless
        if wireless.mac == "acking":
            timeout_ns = round(wireless.link_ack_timeout_ms * MILLISECOND)
            return Acking(self.kernel, self.medium, transceiver, wireless.queue_frames, timeout_ns)
        return Dcf(
            self.kernel, self.medium, transceiver, self._rules, Stream(self.scenario.seed, "backoff", transceiver.name)
        )

    def _new_station(self, number: int, x: float, y: float) -> StationNode:
        name = f"s{number}"
        transceiver, mac = self._transceiver(name, number, True)
        transceiver.move(0, x, y, 0.0, 0.0)
        self.medium.neighbours.add(transceiver, 0)
        self._context.stations.append(transceiver)
        protocol: Any = self.scenario.protocol
        notes_silence = self._protocol.expiry_s(self._parameters) is not None
        station = StationNode(self._context, number, name, transceiver, mac, notes_silence)
        wired: Any = None
        if "connections" in self._protocol.needs:
            header_bytes = self.scenario.stations.backbone.header_bytes
            tcp = protocol.tcp or TcpParameters()
            parameters = protocol.wired_tcp or tcp
            wired = WiredChannels(
                self._context, station, parameters, self.wires, header_bytes, self._wired_channels.__getitem__
            )
            self._wired_channels.append(wired)
            station.use_channels(RadioChannels(self._context, station, tcp), wired)
        else:
            wired = self.backbone.port(number, station.on_wired)
        station.boot(self._protocol.station(station, wired, self._parameters, self.wires.stations))
        return station

    def _new_host_node(self, number: int) -> HostNode:
        name = f"h{number}"
        transceiver, mac = self._transceiver(name, number, False)
        self._context.hosts.append(transceiver)
        host = HostNode(self._context, number, name, transceiver, mac, self._protocol.stable())
        protocol: Any = self.scenario.protocol
        if "connections" in self._protocol.needs:
            host.use_channels(RadioChannels(self._context, host, protocol.tcp or TcpParameters()))
        return host

    def _add_host(self, x_m: float, y_m: float) -> None:
        """Add a host at this position during the run."""
        number = len(self.hosts)
        self.world.trajectories.append(self.world.further(f"h{number}"))
        if self.world.names:
            self.world.names[f"h{number}"] = f"h{number}"
        self.hosts.append(self._new_host_node(number))
        self.movement.grow(self.hosts[number].transceiver)
        self.lifecycle.add(number, x_m, y_m)
        self._own_processes.add(self.hosts[number])

    def _new_host(self, node: HostNode) -> Any:
        """Return a new protocol object for the host, which receives the stable store."""
        return self._protocol.host(node, node.stable, self._parameters, len(self.stations))

    # --- running

    def run(self, progress: Progress | None = None, observers: Sequence[Observer] = ()) -> Outcome:
        """Play the run. `progress(simulated_s, total_s)` is called about once per simulated second, and the `observers`
        receive every event (observer.py).
        """
        try:
            with no_collections():
                for until_ns in self.stages(observers):
                    self._run_until(until_ns, progress)
        except Runaway as error:
            raise EarlyEnd(f"limits.max_events: {error}") from None
        finally:
            self.close()
        return self.outcome()

    def stages(self, observers: Sequence[Observer] = ()) -> Iterator[int]:
        """Yield the time at which each stage of the run and of its drain ends, for a caller that drives the run. The
        caller plays up to this time with `play` and `step` before it requests the next one.
        """
        self._watch = Watch(self.recording.events, (Totals(self._counters, self.medium, self.wires), *observers))
        self.parties.open()
        self._begin()
        yield self._stage(self.duration_ns)
        self._counters.sample_totals(self.medium, self.wires)
        self.infrastructure.repair()
        self.lifecycle.bring_everybody_back(self.coverage)
        self.kernel.start(self.parties.stopping(self.kernel, self.scenario.protocol))
        end_ns = self.duration_ns + ns(self.scenario.longest_drain_s)
        while not self._has_come_to_rest() and self.kernel.now < end_ns:
            yield self._stage(min(self.kernel.now + LOOK_NS, end_ns))

    def play(self, until_ns: int) -> None:
        """Continue the run up to this time, but not beyond the current stage."""
        until_ns = min(until_ns, self._until_ns)
        self.kernel.run_until(self.kernel.now)  # other entries of this instant may remain after a step
        while self.kernel.now < until_ns:
            self._go_on(min(self._watch.look(self.kernel.now), until_ns))

    def step(self) -> bool:
        """Process one entry of the calendar. Return False if none is left in the current stage, which is then over."""
        next_ns = self.kernel.calendar.next_ns()
        if next_ns is None or next_ns > self._until_ns:
            self.play(self._until_ns)
            return False
        if next_ns > self.kernel.now:
            while (due_ns := self._watch.look(self.kernel.now)) < next_ns:
                self.kernel.run_until(due_ns)
        return self.kernel.calendar.step()

    def intervene(self, scenario: Scenario, one: AnyIntervention) -> None:
        """Apply the intervention now, after everything else of this nanosecond. `scenario` is the scenario of the run
        with this intervention added.
        """
        self.scenario = scenario
        self._interventions.begin_one(one)
        self.kernel.run_until(self.kernel.now)

    def listen(self, on_frame: FrameObserver | None, on_hop: HopObserver | None) -> None:
        """Pass every completed frame and every message that is put on a wire to an observer. None means that there is
        no observer. Observers do not affect the run.
        """
        self.medium.observe(both(self._counters.frame_observer(), on_frame))
        self._counters.on_hop = on_hop

    def close(self) -> None:
        """Close everything that runs outside the simulation: programs and their sockets, and the time limit of users'
        processes.
        """
        self._own_processes.end()
        self.parties.end(self.kernel.now)

    def outcome(self) -> Outcome:
        """Return the outcome of a run that has been played."""
        self._counters.sample_totals(self.medium, self.wires)
        for node in self.nodes:
            node.sample_at_end()
        self._watch.end(self.kernel.now)
        return self._outcome()

    @property
    def nodes(self) -> list[Node]:
        return [*self.stations, *self.hosts]

    def outcome_now(self) -> Outcome:
        """Return the current state, for observers. This adds no samples to the record."""
        return self._outcome(is_cut_off=True)

    def so_far(self) -> Outcome:
        """Return the outcome of a run that a plug-in's error has ended."""
        self._counters.sample_totals(self.medium, self.wires)
        for node in self.nodes:
            with suppress(BaseException):  # the plug-in failed here, or may fail again
                node.sample_at_end()
        return self._outcome(is_cut_off=True)

    def _outcome(self, is_cut_off: bool = False) -> Outcome:
        """Return the outcome. If `is_cut_off`, the run ended early, and plug-in code is not called any more."""
        quiescent = self._is_at_rest and not is_cut_off
        self.recording.counters = self._counters.counters(self.medium, self.wires, self.backbone.suspicions)
        waiting = () if quiescent or is_cut_off else self._not_at_rest()
        scenario = self.parties.as_played(self.scenario)
        manifest_facts = facts(
            self.scenario, self.coverage.stations_m.tolist(), dict(self.world.names), self.world.skipped_tracks
        )
        manifest_facts |= self.parties.facts()
        return Outcome(self.recording, self.kernel.now, quiescent, scenario, waiting, manifest_facts)

    def _not_at_rest(self) -> list[str]:
        in_flight, is_at_rest = self.wires.in_flight, self.backbone.is_at_rest
        descriptions = quiescence.of_hosts(self.stations, self.hosts, self.lifecycle.pending, in_flight, is_at_rest)
        return first_few([*self.parties.not_at_rest(), *descriptions])

    def _begin(self) -> None:
        self.lifecycle.begin()
        self._interventions.begin(self.scenario.interventions)
        self.kernel.start(self._sample_totals_after_warmup())
        self.movement.start()
        self.kernel.start(self._sample_positions())
        self._own_processes.begin()

    def _stage(self, until_ns: int) -> int:
        self._until_ns = until_ns
        self._watch.restart(self.kernel.now)
        self._watch.look(self.kernel.now)
        return until_ns

    def _sample_totals_after_warmup(self) -> Process:
        if self.scenario.warmup_s > 0:
            yield self.kernel.until(ns(self.scenario.warmup_s))
            self._counters.sample_totals(self.medium, self.wires)

    def _sample_positions(self) -> Process:
        """Sample the positions of stations once, and of hosts repeatedly until they stop."""
        add, interval_s = self.recording.positions.add, self.scenario.record.positions_interval_s
        for station in self.stations:
            add(0, station.name, *station.transceiver.position(0))
        while interval_s is not None:
            places = self.movement.positions().tolist()
            for host in self.hosts:
                if self.movement.present[host.me]:
                    add(self.kernel.now, host.name, *places[host.me])
            if self.kernel.now >= self.duration_ns:
                return
            yield self.kernel.timeout(ns(interval_s))

    def _run_until(self, end_ns: int, progress: Progress | None) -> None:
        while self.kernel.now < end_ns:
            until_ns = min(self._watch.look(self.kernel.now), end_ns)
            while self.kernel.now < until_ns:
                self._watch.keep_rows()
                self.recording.settle(self.kernel.now)
                self._go_on(min(self.kernel.now + LOOK_NS, until_ns))
            if progress is not None:
                progress(self.kernel.now / SECOND, self.scenario.duration_s)

    def _go_on(self, until_ns: int) -> None:
        """Run up to this time. In real time, keep in step with the wall clock, so that events do not occur early."""
        if (pace := self.parties.pace) is None:
            self.kernel.run_until(until_ns)
            return
        while self.kernel.now < until_ns:
            self.kernel.run_until(pace.wait(self.kernel.now, self.kernel.calendar.next_ns(), until_ns))
            pace.finish_step()

    def _has_come_to_rest(self) -> bool:
        if self._quiescent():
            self.backbone.stop_background_traffic()
            self._is_at_rest = not self.wires.in_flight
        return self._is_at_rest

    def _quiescent(self) -> bool:
        if self.lifecycle.pending or not self.backbone.is_at_rest:
            return False
        if not self.parties.is_quiet():
            return False
        return quiescence.is_nobody(self.stations, self.hosts)
