"""One run: a network and a protocol built from a scenario, and time let loose on them.

Model     workload, faults, churn and movement stop at duration_s; then crashed hosts recover, everybody
          stands still, hosts without a cell are put at the nearest covered place, and the run goes on until it
          is quiescent (no buffer holds a message, nothing is under way, the wire is empty) or drain_s is over
Units     integer nanoseconds inside; the scenario's units at the border
Errors    ScenarioError for what only shows when the parts are put together, and for a run that does not get on
Source    ours: DESIGN.md §3, §7
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mobilenet.engine.event_queue import Runaway
from mobilenet.engine.kernel import MILLISECOND, SECOND, Kernel, ns
from mobilenet.engine.random_streams import Stream
from mobilenet.network.radio.acking import Acking
from mobilenet.network.radio.antenna import Antenna
from mobilenet.network.radio.dcf import Dcf, Rules
from mobilenet.network.radio.framing import Framing
from mobilenet.network.radio.mac import Mac
from mobilenet.network.radio.medium import Medium
from mobilenet.network.radio.neighbours import Neighbours
from mobilenet.network.radio.phy import MODES
from mobilenet.parameters import ScenarioError
from mobilenet.rundir.recorder import Recording
from mobilenet.scenario import Scenario
from mobilenet.simulation.backbone import links, new_backbone
from mobilenet.simulation.connections import RadioChannels, WiredChannels
from mobilenet.simulation.counters import Bookkeeping
from mobilenet.simulation.movement import Movement
from mobilenet.simulation.nodes import HostNode, Node, StationNode
from mobilenet.simulation.plugins import roles_for
from mobilenet.world.attachment import Attachment
from mobilenet.world.churn import changes
from mobilenet.world.coverage import Coverage
from mobilenet.world.faults import Outage, outages
from mobilenet.world.layout import station_positions
from mobilenet.world.mobility import trajectories
from mobilenet.world.workload import broadcast_times

AGAIN_NS = 100 * MILLISECOND  # how often what could not be done is tried again
SLICE_NS = SECOND  # between two looks at the progress, and two samples of the counters
Progress = Callable[[float, float], None]


@contextmanager
def _no_collections() -> Iterator[None]:
    """What is built stays, and what a run allocates is gone soon or stays as well: looking for cycles is a waste of
    time.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    recording: Recording
    simulated_ns: int
    quiescent: bool
    skipped_tracks: int
    host_names: dict[str, str]  # h0 -> what an imported file calls it
    station_positions_m: list[list[float]]
    station_links: list[tuple[int, int]] | None  # None: all with all


class Simulation:
    """The parts of one run. Two simulations in one process share nothing."""

    @_no_collections()
    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.kernel = Kernel()
        self.kernel.calendar.max_events = scenario.limits.max_events
        self.recording = Recording(scenario.record.frames, scenario.record.messages)
        self._books = Bookkeeping(self.kernel, self.recording)
        self.duration_ns = ns(scenario.duration_s)
        self._roles, self._parameters = roles_for(scenario)

        wireless = scenario.wireless
        self._rules = Rules(MODES[wireless.mode], wireless.eifs, wireless.queue_frames, wireless.retry_limit)
        self.framing = Framing(wireless)

        sites = station_positions(scenario.stations.layout, scenario.folder, scenario.origin)
        self.coverage = Coverage(sites, wireless.range_m)
        self.world = trajectories(
            scenario.hosts, scenario.seed, self.coverage, self.duration_ns, scenario.folder, scenario.origin
        )
        tick_ns = scenario.hosts.attachment.tick_ms * MILLISECOND
        self.medium = Medium(
            self.kernel,
            Neighbours(wireless.reach_m, self.world.speed_limit_mps, tick_ns),
            wireless.range_m,
            wireless.interference_m,
            wireless.detection_m,
            wireless.loss,
            wireless.capture_db,
            self._books.frame_observer(),
            self._roles.listens,
            full_duplex=wireless.mac == "acking" and wireless.full_duplex,
        )

        self.backbone = new_backbone(self.kernel, scenario.stations.backbone, sites.tolist(), self._books.wired_hop)
        self.wires = self.backbone.network
        self.wired_channels: list[WiredChannels] = []
        self.stations = [self._new_station(number, x, y) for number, (x, y) in enumerate(sites.tolist())]
        self.hosts = [self._new_host_node(number) for number in range(len(self.world.trajectories))]
        self.movement = Movement(
            self.kernel,
            self.medium.neighbours,
            Attachment(
                sites,
                wireless.range_m,
                scenario.hosts.attachment.hysteresis_m,
                scenario.hosts.attachment.error_m,
                scenario.seed,
            ),
            self.world.trajectories,
            [host.antenna for host in self.hosts],
            tick_ns,
            self.world.speed_limit_mps,
            lambda host, cell: self.hosts[host].set_cell(None if cell < 0 else cell),
        )
        self._pending: dict[int, str] = {}  # host -> join, leave or vanish: what it is still to do
        self._gone: set[int] = set()  # hosts that left for good

    # --- building

    def _antenna(self, name: str, number: int, is_station: bool) -> tuple[Antenna, Mac]:
        seed = self.scenario.seed
        index = number if is_station else len(self.stations) + number
        antenna = Antenna(index, name, number, is_station)
        if self.scenario.wireless.loss > 0:
            antenna.loss = Stream(seed, "loss", name)
        return antenna, self._mac(antenna)

    def _mac(self, antenna: Antenna) -> Mac:
        wireless = self.scenario.wireless
        if wireless.mac == "acking":
            timeout_ns = round(wireless.link_ack_timeout_ms * MILLISECOND)
            return Acking(self.kernel, self.medium, antenna, wireless.queue_frames, timeout_ns)
        return Dcf(self.kernel, self.medium, antenna, self._rules, Stream(self.scenario.seed, "backoff", antenna.name))

    def _new_station(self, number: int, x: float, y: float) -> StationNode:
        name = f"s{number}"
        antenna, mac = self._antenna(name, number, True)
        antenna.move(0, x, y, 0.0, 0.0)
        self.medium.neighbours.add(antenna, 0)
        station = StationNode(self, number, name, antenna, mac)
        protocol: Any = self.scenario.protocol
        wired: Any = None
        if self._roles.over_channels:
            wired = WiredChannels(self, station, protocol.wired_tcp or protocol.tcp)
            self.wired_channels.append(wired)
            station.use_channels(RadioChannels(self, station, protocol.tcp), wired)
        else:
            wired = self.backbone.port(number, station.on_wired)
        station.protocol = self._roles.station(station, wired, self._parameters, self.wires.stations)
        return station

    def _new_host_node(self, number: int) -> HostNode:
        name = f"h{number}"
        antenna, mac = self._antenna(name, number, False)
        host = HostNode(self, number, name, antenna, mac, self._roles.stable())
        protocol: Any = self.scenario.protocol
        if self._roles.over_channels:
            host.use_channels(RadioChannels(self, host, protocol.tcp))
        return host

    def new_host(self, node: HostNode) -> Any:
        """The host's protocol, built on what survived."""
        return self._roles.host(node, node.stable, self._parameters, len(self.stations))

    # --- running

    def run(self, progress: Progress | None = None) -> Outcome:
        """Let it happen; `progress(simulated_s, total_s)` is called about once per simulated second."""
        try:
            with _no_collections():
                quiescent = self._run(progress)
        except Runaway as error:
            raise ScenarioError(f"limits.max_events: {error}") from None
        self._books.sample_totals(self.medium, self.wires)
        for node in (*self.stations, *self.hosts):
            node.sample_at_end()
        self.recording.counters = self._books.counters(self.medium, self.wires, self.backbone.suspicions)
        return Outcome(
            self.recording,
            self.kernel.now,
            quiescent,
            self.world.skipped_tracks,
            dict(self.world.names),
            self.coverage.stations_m.tolist(),
            links(self.scenario.stations.backbone, self.coverage.stations_m.tolist()),
        )

    def _run(self, progress: Progress | None) -> bool:
        """The run and its drain; whether it came to rest."""
        self._plan()
        self.movement.start()
        self._sample_positions()
        self._run_until(self.duration_ns, progress)
        self._books.sample_totals(self.medium, self.wires)
        self._bring_everybody_back()
        return self._drain(progress)

    def _plan(self) -> None:
        """Put everything on the calendar that the protocol has no say in."""
        scenario = self.scenario
        kernel = self.kernel
        spread_s = getattr(scenario.protocol, "first_join_spread_s", 0.0)
        plan = changes(scenario.churn, scenario.seed, len(self.hosts), self.duration_ns)
        for host, trajectory in enumerate(self.world.trajectories):
            if trajectory.appears_ns >= self.duration_ns:
                continue
            kernel.at(trajectory.appears_ns, _call(self._appear, host))
            if host not in plan.absent_at_start:
                # Who is there from the beginning joins within the spread, who appears later at once.
                wait = (
                    ns(Stream(scenario.seed, "join", f"h{host}").uniform(0, spread_s))
                    if trajectory.appears_ns == 0
                    else 0
                )
                kernel.at(trajectory.appears_ns + wait, _call(self._change, host, "join"))
            if trajectory.leaves_ns is not None and trajectory.leaves_ns < self.duration_ns:
                kernel.at(trajectory.leaves_ns, _call(self._change, host, "vanish"))
            times = broadcast_times(scenario.workload, scenario.seed, host, trajectory.appears_ns, self.duration_ns)
            self._offer_next(host, times)
        for change in plan.changes:
            kernel.at(change.at_ns, _call(self._change, change.host, change.kind))
        for outage in outages(scenario.faults, scenario.seed, len(self.hosts), self.duration_ns):
            kernel.at(outage.at_ns, _call(self._fail, outage))
        if scenario.warmup_s > 0:
            kernel.at(ns(scenario.warmup_s), _call(self._books.sample_totals, self.medium, self.wires))

    def _sample_positions(self) -> None:
        """Of stations once, of hosts again and again until they stop."""
        now, interval_s = self.kernel.now, self.scenario.record.positions_interval_s
        if now == 0:
            for station in self.stations:
                self.recording.positions.add(0, station.name, *station.antenna.position(0))
        if interval_s is None:
            return
        places = self.movement.positions().tolist()
        for host in self.hosts:
            if self.movement.present[host.me]:
                self.recording.positions.add(now, host.name, *places[host.me])
        if now < self.duration_ns:
            self.kernel.after(ns(interval_s), self._sample_positions)

    def _run_until(self, end_ns: int, progress: Progress | None) -> None:
        while self.kernel.now < end_ns:
            self._books.sample_totals(self.medium, self.wires)
            self.kernel.run_until(min(self.kernel.now + SLICE_NS, end_ns))
            if progress is not None:
                progress(self.kernel.now / SECOND, self.scenario.duration_s)

    def _bring_everybody_back(self) -> None:
        self.movement.freeze()
        for host in self.hosts:
            if not self.movement.present[host.me]:
                continue
            if not host.up:
                host.recover()
        self.movement.tick()  # somebody may have left coverage since the last one
        places = self.movement.positions()
        for host in self.hosts:
            if self.movement.present[host.me] and host.cell is None:
                x, y = self.coverage.nearest_covered(float(places[host.me, 0]), float(places[host.me, 1]))
                self.movement.place(host.me, x, y)
        self.movement.tick()

    def _drain(self, progress: Progress | None) -> bool:
        end_ns = self.duration_ns + ns(self.scenario.drain_s)
        while True:
            if self._quiescent():
                self.backbone.fall_silent()
                if not self.wires.in_flight:
                    return True
            if self.kernel.now >= end_ns:
                return False
            self._run_until(min(self.kernel.now + AGAIN_NS, end_ns), progress)

    def _quiescent(self) -> bool:
        if self._pending or not self.backbone.is_at_rest:
            return False
        nodes: list[Node] = [*self.stations, *self.hosts]
        if not all(node.protocol is None or node.protocol.settled() and not any(node.buffers) for node in nodes):
            return False
        return all(
            host.protocol is None
            or host.protocol.is_out()
            or host.cell is not None
            and self.stations[host.cell].protocol.serves(host.me)
            for host in self.hosts
        )

    # --- what the world does

    def _appear(self, host: int) -> None:
        if not self.movement.present[host]:
            self.movement.appear(host)
            self.movement.look(host)
        self.hosts[host].boot()

    def _change(self, host: int, kind: str) -> None:
        """Join, leave, or leave for good. The last wish counts, and is repeated until it is fulfilled."""
        if host in self._gone or self._pending.get(host) == "vanish":
            return
        is_repeated = host in self._pending
        self._pending[host] = kind
        if not is_repeated:
            self._insist(host)

    def _insist(self, host: int) -> None:
        if self._is_fulfilled(self.hosts[host], self._pending[host]):
            del self._pending[host]
        else:
            self.kernel.after(AGAIN_NS, _call(self._insist, host))

    def _is_fulfilled(self, node: HostNode, kind: str) -> bool:
        if node.protocol is None:
            return False
        if kind == "join":
            is_out = node.protocol.is_out()
            done = is_out or node.protocol.settled()
            if is_out:
                node.protocol.join()
        else:
            if not node.protocol.is_out():
                node.protocol.leave()
            done = node.protocol.is_out()
        node.sample()
        if done and kind == "vanish":
            self._vanish(node)
        return done

    def _vanish(self, node: HostNode) -> None:
        self._gone.add(node.me)
        node.halt()
        self.medium.drop_out(node.antenna)
        node.protocol = None
        self.movement.disappear(node.me)

    def _fail(self, outage: Outage) -> None:
        """Crash the host that the plan names, or one of those in the cell that it names."""
        host = outage.host
        if host is None:
            inside = [h.me for h in self.hosts if h.up and self.movement.cell[h.me] == outage.station]
            if not inside:
                return
            host = inside[int(outage.draw * len(inside))]
        node = self.hosts[host]
        if not node.up:
            return
        node.crash()
        self.movement.pause(host)
        self.kernel.after(outage.lasts_ns, _call(self._recover, node))

    def _recover(self, node: HostNode) -> None:
        if not node.up and self.movement.present[node.me]:
            self.movement.resume(node.me)
            node.recover()

    def _offer_next(self, host: int, times: Iterator[int]) -> None:
        at = next(times, None)
        if at is not None:
            self.kernel.at(at, _call(self._offer, host, times))

    def _offer(self, host: int, times: Iterator[int]) -> None:
        if self.movement.present[host]:
            self.hosts[host].offer(self.scenario.workload.payload_bytes)
            self._offer_next(host, times)


def _call(action: Callable[..., None], *arguments: Any) -> Callable[[], None]:
    return lambda: action(*arguments)
