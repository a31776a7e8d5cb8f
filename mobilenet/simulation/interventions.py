"""Apply interventions, which are changes to a run that a user makes.

Model     Each intervention is a simpy process that acts after all other events of its nanosecond. It therefore does
          not matter whether an intervention is in the scenario or is added during the run.
Units     integer nanoseconds
Source    ours: docs/models/world.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mobilenet.engine.clock import SECOND, ns
from mobilenet.engine.kernel import Kernel, Process
from mobilenet.network.radio.medium import Medium
from mobilenet.parameters import number
from mobilenet.simulation.infrastructure import Infrastructure
from mobilenet.simulation.lifecycle import Lifecycle
from mobilenet.simulation.movement import Movement
from mobilenet.world.interventions import (
    Add,
    AnyIntervention,
    Cut,
    Drag,
    Impair,
    ImpairLink,
    Interval,
    Loss,
    Mend,
    OfHost,
    OfStation,
    in_order,
)

LAST = 2  # a priority that comes after simpy's NORMAL


@dataclass(frozen=True)
class Interventions:
    """Carries out the interventions of a run. `add_host` creates a host at a given position."""

    _kernel: Kernel
    _lifecycle: Lifecycle
    _movement: Movement
    _infrastructure: Infrastructure
    _medium: Medium
    _add_host: Callable[[float, float], None]

    def begin(self, interventions: Iterable[AnyIntervention]) -> None:
        for one in in_order(tuple(interventions)):
            self.begin_one(one)

    def begin_one(self, one: AnyIntervention) -> None:
        """Schedule an intervention after all other events of its time. Raise ValueError if this time has passed. All
        other checks are made when the scenario is read.
        """
        if ns(one.at_s) < self._kernel.now:
            now_s = self._kernel.now / SECOND
            raise ValueError(f"at_s: {one.at_s:g} s has already passed; the run is at {now_s:g} s")
        self._kernel.start(self._intervene(one))

    def _intervene(self, one: AnyIntervention) -> Process:
        yield self._kernel.until(ns(one.at_s), LAST)
        match one:
            case Loss():
                self._medium.loss = one.loss
            case Interval():
                self._lifecycle.change_workload(one)
            case Drag():
                self._movement.drag(number(one.host), *one.to_m)
            case OfHost():
                self._lifecycle.happen(one.do, number(one.host))
            case Cut():
                self._infrastructure.cut(one.ends, one.loses)
            case Mend():
                self._infrastructure.mend(one.ends)
            case Impair():
                self._infrastructure.impair_host(number(one.host), one.loss, ns(one.delay_s))
            case ImpairLink():
                self._infrastructure.impair_link(one.ends, one.loss, ns(one.delay_s))
            case Add():
                self._add_host(*one.to_m)
            case OfStation(do="radio_off"):
                self._infrastructure.switch_off(number(one.station))
            case OfStation():
                self._infrastructure.switch_on(number(one.station))
