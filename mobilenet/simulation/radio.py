"""The medium of a run, as the scenario's `wireless` defines it.

Source    ours: docs/models/radio.md, docs/models/sinr.md
"""

from __future__ import annotations

from mobilenet.engine.clock import MILLISECOND
from mobilenet.engine.kernel import Kernel
from mobilenet.network.propagation.budget import LinkBudget
from mobilenet.network.radio.links import fading_of, reach_m, reception_of
from mobilenet.network.radio.medium import Medium, Observer
from mobilenet.network.radio.neighbours import Neighbours
from mobilenet.network.radio.sinr import Sinr
from mobilenet.network.radio.unit_disk import UnitDisk
from mobilenet.scenario import Scenario


def new_medium(
    scenario: Scenario,
    budget: LinkBudget | None,
    kernel: Kernel,
    speed_limit_mps: float,
    observer: Observer | None,
    listens: bool,
) -> Medium:
    """`budget`: of the run's links, where power decides."""
    wireless = scenario.wireless
    tick_ns = scenario.hosts.attachment.tick_ms * MILLISECOND
    neighbours = Neighbours(reach_m(wireless), speed_limit_mps, tick_ns)
    if budget is not None:
        return Sinr(
            kernel,
            neighbours,
            reception_of(wireless),
            budget,
            fading_of(wireless),
            scenario.seed,
            wireless.loss,
            observer,
            listens,
        )
    return UnitDisk(
        kernel,
        neighbours,
        wireless.range_m,
        wireless.interference_m,
        wireless.detection_m,
        wireless.loss,
        wireless.capture_db,
        observer,
        listens,
        full_duplex=wireless.mac == "acking" and wireless.full_duplex,
    )
