"""Check the position and the station of each host against its trajectory and the positions of all stations.

Model     The check follows each update of the attachment. A host follows its trajectory while it is present and up.
          Positions are not checked in runs in which interventions or processes move hosts. Cells are not checked if the
          positions of hosts have errors.
Units     integer nanoseconds, metres, hundredths of a dB
Source    ours: docs/validation/trust.md
"""

from __future__ import annotations

from collections.abc import Callable
from math import dist

from mobilenet.engine.clock import MILLISECOND, SECOND
from mobilenet.network.radio.sinr.links import budget_of, detected_cdbm, serving_reach_m, station_tx_dbm
from mobilenet.network.radio.sinr.reception import hundredths
from mobilenet.network.radio_models import model_of
from mobilenet.simulation.hosts import HostNode
from mobilenet.simulation.invariants.fault import Faults
from mobilenet.simulation.mobile import Simulation
from mobilenet.simulation.observer import Event, Observer
from mobilenet.world.trajectory import Leg, Trajectory

LEAST_NS = 100 * MILLISECOND
CLOSE_M = 1e-3  # tolerance for positions, because times are rounded to whole nanoseconds
NEARLY = 1e-6  # tolerance for two distances that differ only by rounding

Place = tuple[float, float]


class Cells(Observer):
    """Checks the movement and the cells of a run."""

    def __init__(self, simulation: Simulation, faults: Faults) -> None:
        scenario, self._simulation, self._faults = simulation.scenario, simulation, faults
        rule, wireless = scenario.hosts.attachment, scenario.wireless
        tick_ns = rule.tick_ms * MILLISECOND
        self.every_ns = tick_ns * -(-LEAST_NS // tick_ns)
        self._sees_every_tick = self.every_ns == tick_ns
        self._errs = rule.error_m > 0
        self._is_changed_by_hand = bool(scenario.interventions or scenario.own_processes)
        self._sites = [station.transceiver.position(0) for station in simulation.stations]
        self._walks = [Walk(trajectory) for trajectory in simulation.world.trajectories]
        self._cells: dict[int, int | None] = {}  # the cell of each host at the last check
        model = model_of(wireless)
        if model.keys.by_distance:
            self._hysteresis, self._most = rule.nearer_m, model.cell_m
            self._loss: Callable[[int, Place], float] = lambda station, place: dist(self._sites[station], place)
        else:
            budget = budget_of(wireless, scenario.seed, scenario.folder, scenario.origin)
            reach_m = serving_reach_m(wireless)
            self._hysteresis = hundredths(rule.hysteresis_db)
            self._most = hundredths(station_tx_dbm(wireless)) - detected_cdbm(wireless)
            self._loss = lambda station, place: (
                budget.loss_cdb(*self._sites[station], True, *place, False)
                if dist(self._sites[station], place) <= reach_m
                else self._most + 1
            )

    def on_event(self, event: Event) -> None:
        if event.event in ("crash", "recover") and event.node[1:].isdigit() and int(event.node[1:]) < len(self._walks):
            walk = self._walks[int(event.node[1:])]
            walk.halt(event.time_ns) if event.event == "crash" else walk.go_on(event.time_ns)

    def on_slice(self, now_ns: int) -> None:
        simulation = self._simulation
        is_walking = now_ns < simulation.duration_ns
        for host in simulation.hosts:
            if not simulation.movement.present[host.me]:
                self._cells.pop(host.me, None)
                continue
            place = host.transceiver.position(now_ns)
            if is_walking and not self._is_changed_by_hand:
                self._check_place(host, place, now_ns)
            if not self._errs:
                self._check_cell(host, place, now_ns)
            self._cells[host.me] = host.cell
        self._faults.require_none()

    def _check_place(self, host: HostNode, place: Place, now_ns: int) -> None:
        expected = self._walks[host.me].place(now_ns)
        if dist(place, expected) > CLOSE_M:
            what = f"is at {place[0]:.3f}, {place[1]:.3f}, expected {expected[0]:.3f}, {expected[1]:.3f}"
            self._faults.note(now_ns, host.name, what)

    def _check_cell(self, host: HostNode, place: Place, now_ns: int) -> None:
        movement, cell = self._simulation.movement, host.cell
        serving = None if host.transceiver.serving is None else host.transceiver.serving.number
        if movement.cell[host.me] != (-1 if cell is None else cell) or serving != cell:
            self._faults.note(now_ns, host.name, f"is in cell {cell} and has station {serving}")
        losses = [self._loss(station, place) for station in range(len(self._sites))]
        least = min(losses)
        if not self._may_have(cell, losses, least, NEARLY):
            self._faults.note(now_ns, host.name, f"is in cell {cell}, expected {losses.index(least)} or a near one")
        before = self._cells.get(host.me)
        may_keep = self._sees_every_tick and not self._is_changed_by_hand and now_ns < self._simulation.duration_ns
        if before is not None and before != cell and may_keep and self._must_keep(before, losses, least):
            self._faults.note(now_ns, host.name, f"leaves cell {before}, which it has to keep")

    def _may_have(self, cell: int | None, losses: list[float], least: float, nearly: float) -> bool:
        if cell is None:
            return least > self._most - nearly
        loss = losses[cell]
        return loss <= self._most + nearly and (loss <= least + nearly or loss - least < self._hysteresis + nearly)

    def _must_keep(self, cell: int, losses: list[float], least: float) -> bool:
        return losses[cell] <= self._most - NEARLY and losses[cell] - least < self._hysteresis - NEARLY


class Walk:
    """The path of one host according to its trajectory."""

    def __init__(self, trajectory: Trajectory) -> None:
        self._legs = trajectory.legs()
        self._leg: Leg | None = next(self._legs, None)
        self._begin_ns = 0  # time at which the current leg begins, not counting the time for which the host was down
        self._appears_ns = trajectory.appears_ns
        self._down_ns = 0
        self._halts_ns: int | None = None
        self._end: Place = (0.0, 0.0)

    def halt(self, now_ns: int) -> None:
        self._halts_ns = now_ns

    def go_on(self, now_ns: int) -> None:
        if self._halts_ns is not None:
            self._down_ns += now_ns - self._halts_ns
        self._halts_ns = None

    def place(self, now_ns: int) -> Place:
        """Return the expected position of the host. Times must not decrease from call to call."""
        at_ns = (now_ns if self._halts_ns is None else self._halts_ns) - self._appears_ns - self._down_ns
        while (leg := self._leg) is not None:
            lasts_ns, since_ns = leg.duration_ns, at_ns - self._begin_ns
            walks_ns = since_ns if lasts_ns is None else min(since_ns, lasts_ns)
            self._end = leg.x_m + leg.vx_mps * walks_ns / SECOND, leg.y_m + leg.vy_mps * walks_ns / SECOND
            if lasts_ns is None or since_ns <= lasts_ns:
                break
            self._begin_ns += lasts_ns
            self._leg = next(self._legs, None)
        return self._end
