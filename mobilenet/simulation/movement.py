"""Turn the trajectories of hosts into positions, cells and bins of the spatial index.

Model     Each host walks the legs of its trajectory. A crashed host stands still, and continues from its position
          after its recovery. A tick checks together all hosts that may have entered another cell, or another bin of
          the spatial index. Positions between ticks are exact; only changes of cell take effect at a tick.
Units     integer nanoseconds; metres; metres per nanosecond inside, m/s in the interface
Shapes    One entry for each host: places, velocities float64 (n, 2), since int64 (n, 1), present bool (n,), cell
          int64 (n,) with -1 for no cell, due int64 (n,): the host cannot change its cell or bin before this time
Source    ours: docs/models/world.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np

from mobilenet.engine.clock import SECOND
from mobilenet.engine.kernel import Kernel
from mobilenet.engine.timer import Timer
from mobilenet.network.radio.neighbours import Neighbours
from mobilenet.network.radio.transceiver import Transceiver
from mobilenet.world.attachment import Attachment
from mobilenet.world.mobility import Leg, Trajectory

NOWHERE = 1e12  # the position of absent hosts, which is outside every cell
FOREVER = 2**61  # nanoseconds
# hosts that are due within this many ticks are checked as well, because checking a few more in one tick costs less than
# a further check
TICKS_AHEAD = 5
NEARLY_M = 1e-3  # a host is checked this much earlier than necessary; rounding errors are far smaller


class CellObserver(Protocol):
    def __call__(self, host: int, cell: int) -> None: ...


class Movement:
    """Keeps track of the positions of all hosts."""

    def __init__(
        self,
        kernel: Kernel,
        neighbours: Neighbours,
        attachment: Attachment,
        trajectories: Sequence[Trajectory],
        transceivers: Sequence[Transceiver],
        tick_ns: int,
        speed_limit_mps: float,
        on_cell: CellObserver,
    ) -> None:
        count = len(trajectories)
        self._kernel = kernel
        self._neighbours = neighbours
        self._attachment = attachment
        self._trajectories = trajectories
        self._transceivers = list(transceivers)
        self._tick_ns = tick_ns
        self._ns_per_m = SECOND / max(speed_limit_mps, 1e-9)
        self._on_cell = on_cell
        self._places = np.full((count, 2), NOWHERE)  # positions at the time `since`
        self._velocities = np.zeros((count, 2))
        self._since = np.zeros((count, 1), dtype=np.int64)
        self.present = np.zeros(count, dtype=bool)
        self.cell = np.full(count, -1, dtype=np.int64)
        self._due = np.zeros(count, dtype=np.int64)
        self._legs: list[Iterator[Leg]] = [iter(()) for _ in range(count)]
        self._leg_ends = [Timer(kernel, _walk_on(self, host)) for host in range(count)]
        # host -> velocity and remaining time of its leg (-1: unlimited)
        self._paused: dict[int, tuple[float, float, int]] = {}
        self._goals: list[tuple[float, float]] = [(0.0, 0.0)] * count  # the end of each host's current leg
        # hosts that have been moved by an intervention and have not yet reached the end of a leg
        self._astray: set[int] = set()
        self._frozen = False
        self._ticking = False

    def grow(self, transceiver: Transceiver) -> None:
        """Add a host, which is not present yet. Its trajectory is the last one of the list."""
        host = len(self._legs)
        self._transceivers.append(transceiver)
        self._places = np.vstack((self._places, np.full((1, 2), NOWHERE)))
        self._velocities = np.vstack((self._velocities, np.zeros((1, 2))))
        self._since = np.vstack((self._since, np.zeros((1, 1), dtype=np.int64)))
        self.present = np.append(self.present, False)
        self.cell = np.append(self.cell, -1)
        self._due = np.append(self._due, 0)
        self._legs.append(iter(()))
        self._leg_ends.append(Timer(self._kernel, _walk_on(self, host)))
        self._goals.append((0.0, 0.0))

    def start(self) -> None:
        """Let the hosts appear that are present from the beginning. Begin the ticks if any host ever moves."""
        for host, trajectory in enumerate(self._trajectories):
            if trajectory.appears_ns == 0:
                self.appear(host)
        self.tick()

    def appear(self, host: int) -> None:
        self.present[host] = True
        self._legs[host] = self._trajectories[host].legs()
        self._walk(host)
        self._neighbours.add(self._transceivers[host], self._kernel.now)

    def disappear(self, host: int) -> None:
        self._leg_ends[host].stop()
        self._paused.pop(host, None)
        self._set(host, NOWHERE, NOWHERE, 0.0, 0.0)
        self._neighbours.remove(self._transceivers[host])
        self.present[host] = False
        self.cell[host] = -1

    def pause(self, host: int) -> None:
        """Stop a host. It continues its current leg after resume()."""
        if host in self._paused or self._frozen:
            return
        timer = self._leg_ends[host]
        rest = timer.deadline_ns - self._kernel.now if timer.running else -1
        timer.stop()
        vx, vy = self._velocities[host].tolist()
        self._paused[host] = (vx, vy, rest)
        x, y = self._transceivers[host].position(self._kernel.now)
        self._set(host, x, y, 0.0, 0.0)

    def resume(self, host: int) -> None:
        if host not in self._paused:
            return
        vx, vy, rest = self._paused.pop(host)
        if self._frozen:
            return
        x, y = self._transceivers[host].position(self._kernel.now)
        self._set(host, x, y, vx, vy)
        if rest >= 0:
            self._leg_ends[host].start(rest)
        self._keep_ticking()

    def freeze(self) -> None:
        """Stop all hosts for good."""
        for host in np.flatnonzero(self.present):
            self.pause(int(host))
        self._frozen = True

    def place(self, host: int, x_m: float, y_m: float) -> None:
        """Put a frozen host at another position."""
        self._set(host, x_m, y_m, 0.0, 0.0)
        self._neighbours.add(self._transceivers[host], self._kernel.now)

    def drag(self, host: int, x_m: float, y_m: float) -> None:
        """Move a host elsewhere now. It continues from there to the end of its leg at the same speed, so that it
        arrives earlier or later. A stationary host stays at the new position for as long as planned.
        """
        if not self.present[host]:
            return
        self._astray.add(host)
        vx, vy, rest = self._paused.get(host, (*self._velocities[host].tolist(), None))
        vx, vy, duration_ns = self._way(host, x_m, y_m, float(np.hypot(vx, vy)))
        if rest is not None:
            self._paused[host] = (vx, vy, rest if duration_ns is None else duration_ns)
            vx = vy = 0.0
        elif duration_ns is not None:
            self._leg_ends[host].start(duration_ns)
        self._set(host, x_m, y_m, vx, vy)
        self._neighbours.add(self._transceivers[host], self._kernel.now)
        self.look(host)
        self._keep_ticking()

    def follow(self, host: int, legs: Iterator[Leg]) -> None:
        """Let a host follow these legs from now on, or from the time at which it resumes."""
        self._legs[host] = legs
        if host in self._paused:
            self._paused[host] = 0.0, 0.0, 0
        else:
            self._leg_ends[host].stop()
            self._walk(host)

    def _way(self, host: int, x_m: float, y_m: float, speed: float) -> tuple[float, float, int | None]:
        """Return the velocity towards the end of the leg, and the time until the host arrives there. The time is None
        if the speed is 0.
        """
        if speed == 0:
            return 0.0, 0.0, None
        dx, dy = self._goals[host][0] - x_m, self._goals[host][1] - y_m
        far_m = float(np.hypot(dx, dy))
        if far_m < NEARLY_M:
            return 0.0, 0.0, 0
        return dx / far_m * speed, dy / far_m * speed, max(1, round(far_m / speed))

    def positions(self, hosts: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return the current positions of these hosts, or of all hosts, as float64 (n, 2). Absent hosts are far
        away.
        """
        return self._places[hosts] + self._velocities[hosts] * (self._kernel.now - self._since[hosts])

    def look(self, host: int) -> None:
        """Find the cell of a host that has appeared between two ticks."""
        cell = int(self._attachment.update(self.positions(np.array([host])), self.cell[[host]])[0])
        if cell != self.cell[host]:
            self.cell[host] = cell
            self._on_cell(host, cell)

    def tick(self) -> None:
        """Check all hosts that are due now or soon for changes of cell and bin."""
        errors = self._attachment.errors(self._kernel.now // self._tick_ns, self._velocities)
        horizon_ns = self._kernel.now
        if errors is not None:  # the check assumes the largest error for every host
            horizon_ns += int(np.hypot(*errors.T).max(initial=0) * self._ns_per_m)
        if self._due.min(initial=FOREVER) <= horizon_ns:
            hosts = np.flatnonzero(self._due <= horizon_ns + TICKS_AHEAD * self._tick_ns)
            self._look_at(hosts, None if errors is None else errors[hosts])
        self._ticking = False
        self._keep_ticking()

    def _look_at(self, hosts: np.ndarray, errors: np.ndarray | None) -> None:
        places = self.positions(hosts)
        before = self.cell[hosts]
        if errors is None:
            cells, slack_m = self._attachment.look(places, before)
        else:
            cells, slack_m = self._attachment.look(places + errors, before)
            slack_m -= np.hypot(*errors.T)
        bins = places / self._neighbours.width_m
        beyond = bins - np.floor(bins)
        to_border_m = np.minimum(beyond, 1 - beyond).min(axis=1) * self._neighbours.width_m
        wait_ns = (np.minimum(slack_m, to_border_m) - NEARLY_M) * self._ns_per_m
        self._due[hosts] = self._kernel.now + np.clip(wait_ns, 0, FOREVER).astype(np.int64)
        self.cell[hosts] = cells
        for i in np.flatnonzero(cells != before).tolist():
            self._on_cell(int(hosts[i]), int(cells[i]))
        for host, x, y in zip(hosts.tolist(), *places.T.tolist(), strict=True):
            if self.present[host]:
                self._neighbours.rebin(self._transceivers[host], x, y)

    def _keep_ticking(self) -> None:
        """Schedule ticks while at least one host walks, because otherwise cells and bins cannot change."""
        if not self._ticking and not self._frozen and self._velocities.any():
            self._ticking = True
            self._kernel.after(self._tick_ns - self._kernel.now % self._tick_ns, self.tick)

    def _walk(self, host: int) -> None:
        """Start the next leg. At the end of its trajectory the host stands still."""
        leg = next(self._legs[host], None)
        if leg is None:
            x, y = self._transceivers[host].position(self._kernel.now)
            self._set(host, x, y, 0.0, 0.0)
            return
        x, y, vx, vy, duration_ns = leg.x_m, leg.y_m, leg.vx_mps / SECOND, leg.vy_mps / SECOND, leg.duration_ns
        self._goals[host] = (x + vx * (duration_ns or 0), y + vy * (duration_ns or 0))
        if host in self._astray:
            x, y = self._transceivers[host].position(self._kernel.now)
            vx, vy, way_ns = self._way(host, x, y, float(np.hypot(vx, vy)))
            if way_ns is not None:
                duration_ns = way_ns
                self._astray.discard(host)
        self._set(host, x, y, vx, vy)
        if duration_ns is not None:
            self._leg_ends[host].start(duration_ns)
        self._keep_ticking()

    def _set(self, host: int, x: float, y: float, vx: float, vy: float) -> None:
        now = self._kernel.now
        self._due[host] = now
        self._places[host] = x, y
        self._velocities[host] = vx, vy
        self._since[host] = now
        self._transceivers[host].move(now, x, y, vx, vy)


def _walk_on(movement: Movement, host: int) -> Callable[[], None]:
    return lambda: movement._walk(host)
