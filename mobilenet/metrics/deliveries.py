"""The deliveries of a run as columns: the node, the message, the time, and the delay since the broadcast.

Model     nearly all events of a run are deliveries, which are therefore read as whole columns. The delay of a delivery
          is the time since the last earlier broadcast of its message. The delay is undefined if no such broadcast is
          recorded
Units     integer nanoseconds; seconds where the name shows it
Shapes    all columns: (deliveries,), in order of occurrence; messages and nodes are codes of the events' columns
Source    ours: docs/verdicts-and-metrics.md, docs/performance.md
"""

from __future__ import annotations

import numpy as np

from mobilenet.engine.clock import SECOND
from mobilenet.record.table import Table, by_code


class Deliveries:
    def __init__(self, events: Table) -> None:
        event, node, message = (events.column(name) for name in ("event", "node", "message"))
        times = events.numbers("time_ns")
        rows = event.rows("deliver")
        self.node, self.message = node.codes[rows], message.codes[rows]
        self.time_ns = times[rows]
        self.messages = len(message.words) + 1  # the last code stands for events without a message
        self.broadcasts = event.rows("broadcast")
        self.broadcast_message = message.codes[self.broadcasts]  # the message of each broadcast, in order of occurrence
        self.broadcast_ns = times[self.broadcasts]
        self._nodes = {name: code for code, name in enumerate(node.words)}
        self._last = _last_before(self.broadcasts, self.broadcast_message, rows, self.message, self.messages)
        self.was_broadcast = self._last >= 0
        senders = node.codes[self.broadcasts]
        # whether the delivery is at the sender of the message
        self.is_own = self.was_broadcast & (senders[self._last] == self.node if len(senders) else False)
        self._by_node: np.ndarray | None = None

    @property
    def sent_ns(self) -> np.ndarray:
        """For each delivery, the time at which its message was broadcast, or -1 if it never was."""
        sent_ns: np.ndarray = np.append(self.broadcast_ns, -1)[self._last]
        return sent_ns

    @property
    def delay_ns(self) -> np.ndarray:
        return np.where(self.was_broadcast, self.time_ns - self.sent_ns, 0)

    @property
    def delay_s(self) -> np.ndarray:
        return self.delay_ns / SECOND

    def times_and_delays(self, at_others: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return the broadcast time (ns) and the delay (s) of each delivery whose broadcast is recorded. `at_others`:
        whether to leave out deliveries at the sender, which are immediate.
        """
        which = self.was_broadcast & ~self.is_own if at_others else self.was_broadcast
        return self.sent_ns[which], self.delay_s[which]

    def places_of(self, node: str) -> np.ndarray:
        """Return the indices of a node's deliveries in these columns."""
        if self._by_node is None:
            self._by_node = by_code(self.node)
            self._ends = np.cumsum(np.bincount(self.node, minlength=len(self._nodes)))
        code = self._nodes.get(node)
        if code is None:
            return self._by_node[:0]
        places: np.ndarray = self._by_node[self._ends[code - 1] if code else 0 : self._ends[code]]
        return places

    def got(self, node: str) -> np.ndarray:
        """Return, for each message, whether the node ever delivered it."""
        has_message = np.zeros(self.messages, np.bool_)
        has_message[self.message[self.places_of(node)]] = True
        return has_message


def _last_before(
    broadcasts: np.ndarray, sent: np.ndarray, rows: np.ndarray, delivered: np.ndarray, messages: int
) -> np.ndarray:
    """Return for each delivery the number of the last earlier broadcast of its message, or -1."""
    if not len(broadcasts):
        return np.full(len(rows), -1)
    last = np.full(messages, -1, np.int32)
    last[sent] = np.arange(len(sent), dtype=np.int32)
    numbers: np.ndarray = last[delivered]
    late = (numbers >= 0) & (broadcasts[numbers] > rows)  # the last broadcast of the message came after this delivery
    for place in np.flatnonzero(late).tolist():
        before = np.flatnonzero((sent == delivered[place]) & (broadcasts < rows[place]))
        numbers[place] = before[-1] if len(before) else -1
    return numbers
