"""Control the life of hosts: they appear, join, broadcast, crash, recover, leave, and disappear.

Model     Each behaviour is a simpy process. Its times depend only on the scenario and its seed, not on the protocol.
          Its order among simultaneous events is fixed from the beginning.
Units     integer nanoseconds
Source    ours: docs/architecture.md, "A run"
"""

from __future__ import annotations

from collections.abc import Sequence

from mobilenet.engine.clock import ns
from mobilenet.engine.kernel import Kernel, Process
from mobilenet.scenario import Scenario
from mobilenet.scenario.plans.stays import Stay, stay_of
from mobilenet.simulation.hosts import HostNode
from mobilenet.simulation.movement import Movement
from mobilenet.world.churn import ASKED_AGAIN_NS, Change, changes
from mobilenet.world.coverage import Coverage
from mobilenet.world.faults import Outage, outages
from mobilenet.world.interventions import Interval, workload_after
from mobilenet.world.mobility import Trajectory
from mobilenet.world.workload import broadcast_times


class Lifecycle:
    """Runs the processes that act on the hosts of one run."""

    def __init__(
        self,
        scenario: Scenario,
        kernel: Kernel,
        movement: Movement,
        hosts: Sequence[HostNode],
        trajectories: Sequence[Trajectory],
    ) -> None:
        self._scenario = scenario
        self._kernel = kernel
        self._movement = movement
        self._hosts = hosts
        self._trajectories = trajectories
        self._duration_ns = ns(scenario.duration_s)
        self.pending: dict[int, str] = {}  # host -> its open request: join, leave or vanish
        self._joining: set[int] = set()  # hosts that were asked to join, and have not been asked to leave since
        self._gone: set[int] = set()  # hosts that left for good
        self._crashes = [0] * len(hosts)  # number of crashes of each host so far
        self._workload, self._segment = scenario.workload, 0  # An intervention may change the workload.

    def begin(self) -> None:
        """Begin all processes that the protocol cannot influence. Their order decides the order of simultaneous
        events.
        """
        scenario, start = self._scenario, self._kernel.start
        plan = changes(scenario.churn, scenario.seed, len(self._hosts), self._duration_ns)
        for host, trajectory in enumerate(self._trajectories):
            if trajectory.appears_ns < self._duration_ns:
                start(self._stay(host, stay_of(scenario, host, trajectory, host in plan.absent_at_start)))
                start(self._broadcast(host))
        for change in plan.changes:
            start(self._change(change))
        for outage in outages(scenario.faults, scenario.seed, len(self._hosts), self._duration_ns):
            start(self._fail(outage))

    # --- processes

    def _stay(self, host: int, stay: Stay) -> Process:
        """Let a host appear and join, and leave for good when its track ends."""
        until = self._kernel.until
        appearing = until(stay.appears_ns)
        joining = None if stay.joins_ns is None else until(stay.joins_ns)
        leaving = None if stay.leaves_ns is None else until(stay.leaves_ns)
        yield appearing
        if not self._movement.present[host]:
            self._movement.appear(host)
            self._movement.look(host)
        self._hosts[host].boot()
        if joining is not None:
            yield joining
            self._ask(host, "join")
        if leaving is not None:
            yield leaving
            self._ask(host, "vanish")

    def _broadcast(self, host: int) -> Process:
        """Let a host broadcast until it leaves or the workload changes. It starts now, or when it appears."""
        workload, segment, seed = self._workload, self._segment, self._scenario.seed
        start_ns = max(self._trajectories[host].appears_ns, self._kernel.now)
        for at_ns in broadcast_times(workload, seed, host, start_ns, self._duration_ns, segment):
            yield self._kernel.until(at_ns)
            if not self._movement.present[host] or segment != self._segment:
                return
            self._hosts[host].offer(workload.payload_bytes)

    def _change(self, change: Change) -> Process:
        """Ask a host to join or to leave, according to the plan of churn."""
        yield self._kernel.until(change.at_ns)
        self._ask(change.host, change.kind)

    def _fail(self, outage: Outage) -> Process:
        """Crash the host that the plan names, or one in the cell that the plan names. Recover the host later."""
        yield self._kernel.until(outage.at_ns)
        host = outage.host
        if host is None:
            inside = [h.me for h in self._hosts if h.up and self._movement.cell[h.me] == outage.station]
            if not inside:
                return
            host = inside[int(outage.draw * len(inside))]
        if self._crash(host):
            crash = self._crashes[host]
            yield self._kernel.timeout(outage.lasts_ns)
            # If the numbers differ, interventions have recovered the host and crashed it again.
            if crash == self._crashes[host]:
                self._recover(host)

    def _insist(self, host: int) -> Process:
        """Repeat the last request to a host until the host has fulfilled it."""
        while not self._try(self._hosts[host], self.pending[host]):
            yield self._kernel.timeout(ASKED_AGAIN_NS)
        del self.pending[host]

    # --- by hand, or by processes of users

    def happen(self, what: str, host: int) -> None:
        """Carry out a crash, recovery, join, leave or broadcast, if the host can do it now."""
        if what == "crash":
            self._crash(host)
        elif what == "recover":
            self._recover(host)
        elif what == "broadcast":
            self.broadcast(host, self._workload.payload_bytes)
        else:
            self._ask(host, what)

    def broadcast(self, host: int, payload_bytes: int) -> None:
        if self._movement.present[host]:
            self._hosts[host].offer(payload_bytes)

    def add(self, host: int, x_m: float, y_m: float) -> None:
        """Let an additional host, whose node has already been created, appear and join."""
        self._crashes.append(0)
        self._movement.appear(host)
        self._movement.drag(host, x_m, y_m)
        self._hosts[host].boot()
        self._ask(host, "join")
        self._kernel.start(self._broadcast(host))

    def change_workload(self, change: Interval) -> None:
        """Change the workload, and cancel the broadcasts that were still planned."""
        self._workload, self._segment = workload_after(self._workload, change), self._segment + 1
        for host, trajectory in enumerate(self._trajectories):
            if trajectory.appears_ns < self._duration_ns:
                self._kernel.start(self._broadcast(host))

    def bring_everybody_back(self, coverage: Coverage) -> None:
        """Stop all movement, recover every host, and put each one into a cell."""
        self._movement.freeze()
        for host in self._hosts:
            if not self._movement.present[host.me]:
                continue
            if not host.up:
                host.recover()
        self._movement.tick()  # Update positions first, because a host may have left coverage since the last tick.
        places = self._movement.positions()
        for host in self._hosts:
            if self._movement.present[host.me] and host.cell is None:
                x, y = coverage.nearest_covered(float(places[host.me, 0]), float(places[host.me, 1]))
                self._movement.place(host.me, x, y)
        self._movement.tick()

    # --- at once

    def _ask(self, host: int, wish: str) -> None:
        """Ask the host to join, to leave, or to leave for good. A new request replaces an open one."""
        if host in self._gone or self.pending.get(host) == "vanish":
            return
        if self._scenario.own_processes:
            self._hosts[host].note_asked("leave" if wish == "vanish" else wish)
        is_asked = host in self.pending
        self.pending[host] = wish
        if not is_asked:
            self._kernel.start(self._insist(host))

    def _try(self, node: HostNode, wish: str) -> bool:
        """Repeat a request, and return whether the host has fulfilled it."""
        if node.protocol is None:
            return False
        is_out = node.protocol.is_out()
        if wish == "join":
            done = bool(is_out or node.member and node.protocol.settled())
            if is_out:
                self._joining.add(node.me)
                node.protocol.join()
        else:
            # the protocol of a plug-in may report that it has left while it waits to become a member
            if not is_out or node.me in self._joining:
                node.protocol.leave()
            self._joining.discard(node.me)
            done = bool(node.protocol.is_out())
        node.sample()
        if done and wish == "vanish":
            self._gone.add(node.me)
            node.vanish()
            self._movement.disappear(node.me)
        return done

    def _crash(self, host: int) -> bool:
        """Crash a host. Return False if the host is absent or already down."""
        if not self._hosts[host].up:
            return False
        self._crashes[host] += 1
        self._hosts[host].crash()
        self._movement.pause(host)
        return True

    def _recover(self, host: int) -> None:
        if not self._hosts[host].up and self._movement.present[host] and self._crashes[host]:
            self._movement.resume(host)
            self._hosts[host].recover()
