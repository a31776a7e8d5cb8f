"""Apply interventions: what is done to a run by hand.

Model     each is on the calendar behind everything else in its nanosecond, and has no effect before. So it
          makes no difference whether it is in the scenario from the beginning, or is added while the
          run goes on
Units     integer nanoseconds
Source    ours: docs/models/world.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from mobilenet.clock import SECOND, ns
from mobilenet.engine.kernel import Kernel
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
    in_order,
)

LAST = 2  # of simpy's priorities, after NORMAL


class Interventions:
    """Carry out the interventions of one run. `add_host` creates a host at the given place."""

    def __init__(
        self,
        kernel: Kernel,
        lifecycle: Lifecycle,
        movement: Movement,
        infrastructure: Infrastructure,
        medium: Medium,
        add_host: Callable[[float, float], None],
    ) -> None:
        self._kernel = kernel
        self._lifecycle = lifecycle
        self._movement = movement
        self._infrastructure = infrastructure
        self._medium = medium
        self._add_host = add_host

    def plan(self, interventions: Iterable[AnyIntervention]) -> None:
        for one in in_order(tuple(interventions)):
            self.plan_one(one)

    def plan_one(self, one: AnyIntervention) -> None:
        """Now or later: it comes behind all that is done by hand at the same time already. Raises ValueError for a time
        that is over. Whether it makes sense is looked at when a scenario is read, and not here.
        """
        calendar = self._kernel.calendar
        at_ns = ns(one.at_s)
        if at_ns < calendar.now:
            raise ValueError(f"at_s: {one.at_s:g} s has already passed; the run is at {calendar.now / SECOND:g} s")
        calendar.put(at_ns, LAST, calendar.sequence_number(), partial(self._take_effect, one))

    def _take_effect(self, one: AnyIntervention) -> None:
        if isinstance(one, Loss):
            self._medium.loss = one.loss
        elif isinstance(one, Interval):
            self._lifecycle.change_workload(one)
        elif isinstance(one, Drag):
            self._movement.drag(number(one.host), *one.to_m)
        elif isinstance(one, OfHost):
            self._lifecycle.happen(one.do, number(one.host))
        elif isinstance(one, Cut):
            self._infrastructure.cut(one.ends, one.loses)
        elif isinstance(one, Mend):
            self._infrastructure.mend(one.ends)
        elif isinstance(one, Impair):
            self._infrastructure.impair_host(number(one.host), one.loss, ns(one.delay_s))
        elif isinstance(one, ImpairLink):
            self._infrastructure.impair_link(one.ends, one.loss, ns(one.delay_s))
        elif isinstance(one, Add):
            self._add_host(*one.to_m)
        elif one.do == "radio_off":
            self._infrastructure.switch_off(number(one.station))
        else:
            self._infrastructure.switch_on(number(one.station))
