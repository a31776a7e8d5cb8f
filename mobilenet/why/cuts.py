"""The times at which links between stations were cut.

Model     a cut lasts from the event that cuts a link to the event that repairs it, in both directions
Units     integer nanoseconds
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from mobilenet.record.table import Table
from mobilenet.why.record import events_of

NEVER = 2**62
LOSES = '"loses"'  # appears in the detail of a cut that loses the messages on the link


class Cut(NamedTuple):
    """A cut of a link. `begin`, `end`: rows of `events`. `loses`: whether the cut destroys messages that are on the
    link when it begins, or are put on it later.
    """

    begin: int
    end: int
    end_ns: int
    loses: bool


class Cuts:
    """The cuts of all links of a run."""

    def __init__(self, events: Table) -> None:
        self._of_link: dict[frozenset[str], list[Cut]] = defaultdict(list)
        for row, time_ns, node, event, station, detail in events_of(events, "cut", "mend"):
            if event == "cut":
                self._of_link[frozenset((node, station))].append(Cut(row, NEVER, NEVER, LOSES in (detail or "")))
            else:
                cuts = self._of_link[frozenset((node, station))]
                cuts[-1] = cuts[-1]._replace(end=row, end_ns=time_ns)

    def of(self, a: str, b: str) -> list[Cut]:
        """Return the cuts of the link between two stations, in order."""
        return self._of_link.get(frozenset((a, b)), [])
