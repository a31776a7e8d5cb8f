"""Decide by power where hosts are served: the losses of all links, and the best station at each point.

Units     Distances are in metres, and losses in hundredths of a dB.
Shapes    sites are float64 (m, 2).
Errors    ScenarioError for an unusable file of obstacles.
Source    ours: docs/models/sinr.md
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mobilenet.network.propagation.budget import LinkBudget
from mobilenet.network.propagation.serving import Serving
from mobilenet.network.radio.service import Place, Service
from mobilenet.network.radio.sinr.attachment import PowerAttachment, PowerCoverage
from mobilenet.network.radio.sinr.keys import SinrKeys
from mobilenet.network.radio.sinr.links import budget_of, cell_m, detected_cdbm, serving_reach_m, station_tx_dbm
from mobilenet.network.radio.sinr.reception import hundredths
from mobilenet.world.attachment import AttachmentParameters

LEAST_GROUND_M = 1.0


@dataclass(frozen=True)
class PowerService(Service):
    """A service that also contains the losses of all links, and the power of all stations at any point."""

    budget: LinkBudget
    serving: Serving


def ground_m(wireless: SinrKeys) -> float:
    """Return the maximum distance of hosts from a station. It is the radius of the station's cell, but at least one
    metre.
    """
    return max(LEAST_GROUND_M, cell_m(wireless))


def power_service(
    wireless: SinrKeys, sites: NDArray[np.float64], rule: AttachmentParameters, place: Place
) -> PowerService:
    budget = budget_of(wireless, place.seed, place.folder, place.anchor)
    tx_cdbm, places = hundredths(station_tx_dbm(wireless)), [(x, y) for x, y in sites.tolist()]
    serving = Serving(budget, places, tx_cdbm, detected_cdbm(wireless), serving_reach_m(wireless))
    hysteresis_cdb = hundredths(rule.hysteresis_db)
    attachment = PowerAttachment(sites, cell_m(wireless), serving, hysteresis_cdb, rule.error_m, place.seed)
    return PowerService(PowerCoverage(sites, ground_m(wireless), serving), attachment, budget, serving)
