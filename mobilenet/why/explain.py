"""The stories of a recording, from its tables and its scenario."""

from __future__ import annotations

from mobilenet.rundir.table import Table
from mobilenet.scenario import ProcessScenario, Scenario
from mobilenet.why.record import Record
from mobilenet.why.states import States
from mobilenet.why.stories import Stories
from mobilenet.why.wires import departures


def stories(causes: Table, events: Table, scenario: Scenario | ProcessScenario) -> Stories:
    """The stories of all deliveries."""
    record = Record(causes, events)
    return Stories(record, States(events), departures(record, scenario))
