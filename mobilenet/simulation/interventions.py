"""What is done to a run by hand takes effect.

Model     each is on the calendar before the run begins, behind everything else in its nanosecond. So it makes no
          difference to the run when somebody wrote the list
Units     integer nanoseconds
Source    ours: docs/models/world.md
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mobilenet.engine.kernel import Kernel, ns
from mobilenet.parameters import number
from mobilenet.simulation.lifecycle import Lifecycle
from mobilenet.simulation.movement import Movement
from mobilenet.world.interventions import Drag, Interval, Loss, OfHost, in_order

LAST = 2  # of simpy's priorities, after NORMAL


class Interventions:
    """Of one run. `set_loss`: changes the random loss of its radio."""

    def __init__(
        self, kernel: Kernel, lifecycle: Lifecycle, movement: Movement, set_loss: Callable[[float], None]
    ) -> None:
        self._kernel = kernel
        self._lifecycle = lifecycle
        self._movement = movement
        self._set_loss = set_loss

    def plan(self, interventions: tuple[OfHost | Drag | Loss | Interval, ...]) -> None:
        for one in in_order(interventions):
            self.plan_one(one)

    def plan_one(self, one: OfHost | Drag | Loss | Interval) -> None:
        """Now or later: it comes behind all that is done by hand at the same time already."""
        calendar = self._kernel.calendar
        calendar.put(ns(one.at_s), LAST, calendar.sequence_number(), partial(self._take_effect, one))

    def _take_effect(self, one: OfHost | Drag | Loss | Interval) -> None:
        if isinstance(one, Loss):
            self._set_loss(one.loss)
        elif isinstance(one, Interval):
            self._lifecycle.change_workload(one)
        elif isinstance(one, Drag):
            self._movement.drag(number(one.host), *one.to_m)
        else:
            self._lifecycle.happen(one.do, number(one.host))
