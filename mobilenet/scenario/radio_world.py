"""Apply the radio to the places of a scenario: service at each place, and losses of links.

Model     unit_disk: distances decide. sinr: the mean power that arrives does, and every query of a link's loss uses
          the same budget
Errors    ScenarioError for a file of obstacles that cannot be used
Source    ours: docs/models/world.md, docs/models/sinr.md
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mobilenet.network.propagation.budget import LinkBudget
from mobilenet.network.propagation.serving import Serving
from mobilenet.network.radio.links import (
    budget_of,
    cell_m,
    detected_cdbm,
    ground_m,
    serving_reach_m,
    station_tx_dbm,
)
from mobilenet.network.radio.received_power import PowerAttachment, PowerCoverage
from mobilenet.network.radio.reception import hundredths
from mobilenet.scenario.mobile import Scenario
from mobilenet.world.attachment import Attachment
from mobilenet.world.coverage import Coverage


class RadioWorld:
    """The radio of one scenario. `budget` and `serving` exist only with sinr."""

    def __init__(self, scenario: Scenario, sites: NDArray[np.float64]) -> None:
        wireless, rule, seed = scenario.wireless, scenario.hosts.attachment, scenario.seed
        self.budget: LinkBudget | None = None
        self.serving: Serving | None = None
        self.coverage: Coverage
        self.attachment: Attachment
        if wireless.model == "sinr":
            self.budget = budget_of(wireless, seed, scenario.folder, scenario.origin)
            tx_cdbm, least_cdbm = hundredths(station_tx_dbm(wireless)), detected_cdbm(wireless)
            places = [(x, y) for x, y in sites.tolist()]
            self.serving = Serving(self.budget, places, tx_cdbm, least_cdbm, serving_reach_m(wireless))
            self.coverage = PowerCoverage(sites, ground_m(wireless), self.serving)
            hysteresis_cdb = hundredths(rule.hysteresis_db)
            self.attachment = PowerAttachment(sites, cell_m(wireless), self.serving, hysteresis_cdb, rule.error_m, seed)
        else:
            self.coverage = Coverage(sites, wireless.range_m)
            self.attachment = Attachment(sites, wireless.range_m, rule.nearer_m, rule.error_m, seed)
