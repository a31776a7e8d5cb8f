"""When each node was down, by the events of the record.

Model     a host is down from `crash` to `recover`, a station from `radio_off` to `radio_on`. What else happens in the
          nanosecond of such an event may have happened before it or after it
Units     integer nanoseconds
Errors    none
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

import numpy as np

from mobilenet.rundir.table import Columns, Table
from mobilenet.verify.air.nodes import Nodes

NEVER_NS = 1 << 62
DOWN, UP = ("crash", "radio_off"), ("recover", "radio_on")


class Outages:
    """All of a run."""

    def __init__(self, events: Columns, nodes: Nodes, down: tuple[str, ...] = DOWN, up: tuple[str, ...] = UP) -> None:
        """`down`, `up`: the events with which they begin and end."""
        table = Table.of(events)
        rows = table.column("event").rows(*down, *up)
        self._of: dict[int, list[list[int]]] = {}
        columns = (table.pick(name, rows) for name in ("time_ns", "node", "event"))
        for at_ns, name, event in zip(*columns, strict=True):
            spans = self._of.setdefault(nodes.index(name), [])
            if event in down:
                spans.append([at_ns, NEVER_NS])
            elif spans:
                spans[-1][1] = at_ns

    @property
    def nodes(self) -> list[int]:
        """Return the nodes that were ever down."""
        return sorted(self._of)

    def covers(self, node: int, at_ns: np.ndarray) -> np.ndarray:
        """Whether the node was surely down at each of these times."""
        since, until = self._spans(node)
        last = np.searchsorted(since, at_ns) - 1  # the last one that began before
        return (last >= 0) & (until[last] > at_ns) if len(since) else np.zeros(len(at_ns), bool)

    def begins_within(self, node: int, since_ns: np.ndarray, until_ns: np.ndarray) -> np.ndarray:
        """Whether the node surely went down between these times."""
        begins, _ = self._spans(node)
        return np.searchsorted(begins, until_ns) > np.searchsorted(begins, since_ns, "right")

    def touches(self, node: int, since_ns: np.ndarray, until_ns: np.ndarray) -> np.ndarray:
        """Whether the node may have been down at any time between these times, both included."""
        begins, ends = self._spans(node)
        return np.searchsorted(begins, until_ns, "right") > np.searchsorted(ends, since_ns)

    def _spans(self, node: int) -> tuple[np.ndarray, np.ndarray]:
        spans = np.array(self._of.get(node, []), np.int64).reshape(-1, 2)
        return spans[:, 0], spans[:, 1]
