"""What happens to hosts from outside: they appear, join, broadcast, crash, recover, leave, and are gone.

Model     all of it is a function of the scenario and its seed, put on the calendar before the run begins; the protocol
          has no influence on it. A wish to join or leave is repeated until it is fulfilled; the last one counts
Units     integer nanoseconds
Source    ours: docs/architecture.md, "A run"
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from mobilenet.clock import ns
from mobilenet.engine.kernel import Kernel
from mobilenet.engine.random_streams import Stream
from mobilenet.network.radio.medium import Medium
from mobilenet.scenario import Scenario
from mobilenet.scenario.protocol_groups import declaration_of
from mobilenet.simulation.hosts import HostNode
from mobilenet.simulation.movement import Movement
from mobilenet.world.churn import ASKED_AGAIN_NS, changes
from mobilenet.world.coverage import Coverage
from mobilenet.world.faults import Outage, outages
from mobilenet.world.interventions import Interval, workload_after
from mobilenet.world.mobility import Trajectory
from mobilenet.world.workload import broadcast_times


class Lifecycle:
    """The plan of one run, and what it does to hosts."""

    def __init__(
        self,
        scenario: Scenario,
        kernel: Kernel,
        medium: Medium,
        movement: Movement,
        hosts: Sequence[HostNode],
        trajectories: Sequence[Trajectory],
    ) -> None:
        self._scenario = scenario
        self._kernel = kernel
        self._medium = medium
        self._movement = movement
        self._hosts = hosts
        self._trajectories = trajectories
        self._duration_ns = ns(scenario.duration_s)
        self.pending: dict[int, str] = {}  # host -> join, leave or vanish: what it is still to do
        self._gone: set[int] = set()  # hosts that left for good
        self._outages = [0] * len(hosts)  # of each host so far
        self._workload, self._segment = scenario.workload, 0  # which changes by hand

    def plan(self) -> None:
        """Put everything on the calendar that the protocol cannot influence."""
        scenario = self._scenario
        kernel = self._kernel
        spread_s = declaration_of(scenario.protocol).first_join_spread_s(scenario.protocol)
        plan = changes(scenario.churn, scenario.seed, len(self._hosts), self._duration_ns)
        for host, trajectory in enumerate(self._trajectories):
            if trajectory.appears_ns >= self._duration_ns:
                continue
            kernel.at(trajectory.appears_ns, partial(self._appear, host))
            if host not in plan.absent_at_start:
                # Hosts present from the beginning join within the spread, later ones at once.
                wait = (
                    ns(Stream(scenario.seed, "join", f"h{host}").uniform(0, spread_s))
                    if trajectory.appears_ns == 0
                    else 0
                )
                kernel.at(trajectory.appears_ns + wait, partial(self._change, host, "join"))
            if trajectory.leaves_ns is not None and trajectory.leaves_ns < self._duration_ns:
                kernel.at(trajectory.leaves_ns, partial(self._change, host, "vanish"))
            self._plan_broadcasts(host)
        for change in plan.changes:
            kernel.at(change.at_ns, partial(self._change, change.host, change.kind))
        for outage in outages(scenario.faults, scenario.seed, len(self._hosts), self._duration_ns):
            kernel.at(outage.at_ns, partial(self._fail, outage))

    def _plan_broadcasts(self, host: int) -> None:
        """Plan broadcasts from now on, or from when the host appears."""
        start_ns = max(self._trajectories[host].appears_ns, self._kernel.now)
        seed, segment = self._scenario.seed, self._segment
        times = broadcast_times(self._workload, seed, host, start_ns, self._duration_ns, segment)
        self._offer_next(host, times, segment)

    # --- by hand

    def happen(self, what: str, host: int) -> None:
        """crash, recover, join, leave or broadcast, where that is possible now."""
        node = self._hosts[host]
        if what == "crash":
            self._crash(node)
        elif what == "recover":
            self._recover(node, self._outages[host])
        elif what == "broadcast":
            if self._movement.present[host]:
                node.offer(self._workload.payload_bytes)
        else:
            self._change(host, what)

    def add(self, host: int, x_m: float, y_m: float) -> None:
        """A further host, whose node is there, appears and joins."""
        self._outages.append(0)
        self._movement.appear(host)
        self._movement.drag(host, x_m, y_m)
        self._hosts[host].boot()
        self._change(host, "join")
        self._plan_broadcasts(host)

    def change_workload(self, change: Interval) -> None:
        """What was still to come is forgotten."""
        self._workload, self._segment = workload_after(self._workload, change), self._segment + 1
        for host, trajectory in enumerate(self._trajectories):
            if trajectory.appears_ns < self._duration_ns:
                self._plan_broadcasts(host)

    def bring_everybody_back(self, coverage: Coverage) -> None:
        """Stop all movement, recover every host, and put each one into a cell."""
        self._movement.freeze()
        for host in self._hosts:
            if not self._movement.present[host.me]:
                continue
            if not host.up:
                host.recover()
        self._movement.tick()  # a host may have left coverage since the last one
        places = self._movement.positions()
        for host in self._hosts:
            if self._movement.present[host.me] and host.cell is None:
                x, y = coverage.nearest_covered(float(places[host.me, 0]), float(places[host.me, 1]))
                self._movement.place(host.me, x, y)
        self._movement.tick()

    # --- what happens at its time

    def _appear(self, host: int) -> None:
        if not self._movement.present[host]:
            self._movement.appear(host)
            self._movement.look(host)
        self._hosts[host].boot()

    def _change(self, host: int, kind: str) -> None:
        """Join, leave, or leave for good. The last wish counts, and is repeated until it is fulfilled."""
        if host in self._gone or self.pending.get(host) == "vanish":
            return
        is_repeated = host in self.pending
        self.pending[host] = kind
        if not is_repeated:
            self._insist(host)

    def _insist(self, host: int) -> None:
        if self._is_fulfilled(self._hosts[host], self.pending[host]):
            del self.pending[host]
        else:
            self._kernel.after(ASKED_AGAIN_NS, partial(self._insist, host))

    def _is_fulfilled(self, node: HostNode, kind: str) -> bool:
        if node.protocol is None:
            return False
        if kind == "join":
            is_out = node.protocol.is_out()
            done = bool(is_out or node.protocol.settled())
            if is_out:
                node.protocol.join()
        else:
            if not node.protocol.is_out():
                node.protocol.leave()
            done = bool(node.protocol.is_out())
        node.sample()
        if done and kind == "vanish":
            self._vanish(node)
        return done

    def _vanish(self, node: HostNode) -> None:
        self._gone.add(node.me)
        node.vanish()
        self._movement.disappear(node.me)

    def _fail(self, outage: Outage) -> None:
        """Crash the host that the plan names, or one of those in the cell that it names."""
        host = outage.host
        if host is None:
            inside = [h.me for h in self._hosts if h.up and self._movement.cell[h.me] == outage.station]
            if not inside:
                return
            host = inside[int(outage.draw * len(inside))]
        node = self._hosts[host]
        if self._crash(node):
            self._kernel.after(outage.lasts_ns, partial(self._recover, node, self._outages[host]))

    def _crash(self, node: HostNode) -> bool:
        """False: it is down, or not there."""
        if not node.up:
            return False
        self._outages[node.me] += 1
        node.crash()
        self._movement.pause(node.me)
        return True

    def _recover(self, node: HostNode, outage: int) -> None:
        """From this outage, if it lasts still."""
        if not node.up and self._movement.present[node.me] and outage == self._outages[node.me] > 0:
            self._movement.resume(node.me)
            node.recover()

    def _offer_next(self, host: int, times: Iterator[int], segment: int) -> None:
        at = next(times, None)
        if at is not None:
            self._kernel.at(at, partial(self._offer, host, times, segment))

    def _offer(self, host: int, times: Iterator[int], segment: int) -> None:
        if self._movement.present[host] and segment == self._segment:
            self._hosts[host].offer(self._workload.payload_bytes)
            self._offer_next(host, times, segment)
