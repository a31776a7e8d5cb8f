"""Gather what happened to hosts and messages, in one pass over the events of a run.

Model     deliveries, which are nearly all events, are read as columns (deliveries.py), and the others one by one in
          order of occurrence. Queries are then answered from the gathered data. A member is entitled to the messages
          that are broadcast after its join, or after its last gap, until it leaves. A handoff lasts from the new
          session to its confirmation. It may be superseded by the next session or ended by a leave before that
Units     integer nanoseconds
Shapes    columns of events.parquet, as lists or as a table; masks: bool (messages of the run,) by code
Errors    none: a record that the verifier refuses need not be measured
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mobilenet.metrics.deliveries import Deliveries
from mobilenet.record.table import Columns, Table


class Handoff(NamedTuple):
    """A handoff that was confirmed by the new station."""

    node: str
    begin_ns: int
    end_ns: int
    session: int | None
    cause: str
    detail: dict[str, Any]


class MissingDelivery(NamedTuple):
    """A message that a host is entitled to and has not delivered, although the host is a member at the end."""

    node: str
    message: str
    broadcast_ns: int


class EventFold:
    """Collects from the events the data that metrics need. `begin_ns` and `end_ns` delimit the measured window."""

    def __init__(self, events: Columns, begin_ns: int, end_ns: int) -> None:
        self.begin_ns, self.end_ns = begin_ns, end_ns
        table = Table.of(events)
        self.deliveries = deliveries = Deliveries(table)
        self.broadcast_at: dict[str, int] = {}
        self.order: list[str] = []  # messages in the order of their broadcasts
        times = deliveries.time_ns
        self.deliveries_inside = int(np.count_nonzero((begin_ns <= times) & (times < end_ns)))
        # kind of event (refused, gap or crash) -> number of occurrences in the window
        self.counts: dict[str, int] = defaultdict(int)
        # node -> times of its crashes and leaves, after which it receives nothing for a while
        self.breaks: dict[str, list[int]] = defaultdict(list)
        self.handoffs: list[Handoff] = []  # handoffs that began in the window
        self.superseded = 0
        # Traits of the run: `handoffs` if a handoff began, and `recovered` or `skipped` if a handoff reported this
        # number.
        self.traits: set[str] = set()
        self._spans: dict[str, list[tuple[int, int]]] = {}
        self._member_since: dict[str, int] = {}  # node -> when it joined
        self._member_from: dict[str, int] = {}  # node -> number of the first message after its last join
        self._entitled_from: dict[str, int] = {}  # member -> number of the first message that it is entitled to
        # node -> number of the first message after its last join or gap, even if it has left
        self._missing_from: dict[str, int] = {}
        # (node, first, last): the messages between a join or gap of the node and its next gap
        self._missed: list[tuple[str, int, int]] = []
        self._under_way: dict[str, tuple[int, Any, str]] = {}  # node -> handoff in progress: start, session, cause
        self._take(table)

    def _take(self, table: Table) -> None:
        rows = np.flatnonzero(table.column("event").among(self._HANDLERS))
        columns = [table.pick(name, rows) for name in ("event", "time_ns", "node", "message", "session", "detail")]
        handlers = self._HANDLERS
        for event, *row in zip(*columns, strict=True):
            handlers[event](self, *row)

    # --- one kind of event each

    def _broadcast(self, time: int, node: str, message: str, *_: Any) -> None:
        self.broadcast_at[message] = time
        self.order.append(message)

    def _join(self, time: int, node: str, *_: Any) -> None:
        self._member_since[node] = time
        self._member_from[node] = len(self.order)
        self._entitled_from[node] = self._missing_from[node] = len(self.order)

    def _leave(self, time: int, node: str, *_: Any) -> None:
        if node in self._member_since:
            self._spans.setdefault(node, []).append((self._member_since.pop(node), time))
        self._entitled_from.pop(node, None)
        self._under_way.pop(node, None)
        self.breaks[node].append(time)

    def _gap(self, time: int, node: str, *_: Any) -> None:
        if self._is_inside(time):
            self.counts["gap"] += 1
            self._missed.append((node, self._missing_from.get(node, len(self.order)), len(self.order)))
        self._entitled_from[node] = self._missing_from[node] = len(self.order)

    def _crash(self, time: int, node: str, *_: Any) -> None:
        self.counts["crash"] += self._is_inside(time)
        self.breaks[node].append(time)

    def _refuse(self, time: int, *_: Any) -> None:
        self.counts["refused"] += self._is_inside(time)

    def _handoff_start(self, time: int, node: str, message: str, session: Any, detail: str | None) -> None:
        self.traits.add("handoffs")
        self.superseded += node in self._under_way and self._is_inside(self._under_way[node][0])
        self._under_way[node] = (time, session, json.loads(detail or "{}").get("cause", ""))

    def _handoff_end(self, time: int, node: str, message: str, session: Any, detail: str | None) -> None:
        if node in self._under_way and self._under_way[node][1] == session:
            began, _, cause = self._under_way.pop(node)
            content = json.loads(detail or "{}")
            self.traits |= {"recovered", "skipped"} & content.keys()
            if self._is_inside(began):
                self.handoffs.append(Handoff(node, began, time, session, cause, content))

    _HANDLERS: ClassVar[dict[str, Callable[..., None]]] = {
        "broadcast": _broadcast,
        "join": _join,
        "leave": _leave,
        "gap": _gap,
        "crash": _crash,
        "refused": _refuse,
        "handoff_start": _handoff_start,
        "handoff_end": _handoff_end,
    }

    def _is_inside(self, time: int) -> bool:
        return self.begin_ns <= time < self.end_ns

    # --- what is asked afterwards

    def missing_deliveries(self) -> list[MissingDelivery]:
        """Return the messages that members are entitled to and had not delivered at the end."""
        return [
            MissingDelivery(node, self.order[place], self.broadcast_at[self.order[place]])
            for node, first in self._entitled_from.items()
            for place in self._without(node, first).tolist()
        ]

    def how_many_owed(self) -> int:
        return sum(len(self._without(node, first)) for node, first in self._entitled_from.items())

    def obligations(self) -> tuple[int, int]:
        """Return the number of pairs of a message of the window and a host that is a member from its broadcast to the
        end, and the number of pairs in which the host delivered the message.
        """
        sent, times = self.deliveries.broadcast_message, self.deliveries.broadcast_ns
        last = np.full(self.deliveries.messages, -1)  # only the last broadcast of a message is considered
        last[sent] = np.arange(len(sent))
        inside = np.zeros(self.deliveries.messages, np.bool_)
        inside[sent] = (self.begin_ns <= times) & (times < self.end_ns)
        of_window = inside[sent]
        pairs = done = 0
        for node in self._member_since:
            first = self._member_from[node]
            pairs += int(np.count_nonzero(of_window[first:]))
            done += int(np.count_nonzero(self.deliveries.got(node) & inside & (last >= first)))
        return pairs, done

    def missed_by_gaps(self) -> int:
        """For all gaps in the window, count the messages that hosts were entitled to before the gap and never
        delivered.
        """
        return sum(len(self._without(node, first, last)) for node, first, last in self._missed)

    def _without(self, node: str, first: int, last: int | None = None) -> np.ndarray:
        """Return the numbers, in order of broadcast, of the messages in this range that the node never delivered."""
        return first + np.flatnonzero(~self.deliveries.got(node)[self.deliveries.broadcast_message[first:last]])

    def cell_changes(self) -> tuple[int, int]:
        """Return two counts. The first is the number of changes of station that began in the window and were neither
        superseded nor ended by a leave. The second is the number of those changes after which the host delivered a
        message, or did not have to deliver any.
        """
        begun = [(one.node, one.begin_ns) for one in self.handoffs if one.cause == "cell"]
        begun += [
            (node, began) for node, (began, _, cause) in self._under_way.items()
            if cause == "cell" and self._is_inside(began)
        ]  # fmt: skip
        waiting = {one.node for one in self.missing_deliveries()} if begun else set()
        times = self.deliveries.time_ns
        last = {node: max(times[self.deliveries.places_of(node)], default=-1) for node in waiting}
        return len(begun), sum(node not in last or last[node] > began for node, began in begun)

    def memberships(self) -> dict[str, list[tuple[int, int]]]:
        """Return the intervals of membership of each host. A host that never left remains a member to the end of the
        window.
        """
        spans = {node: list(known) for node, known in self._spans.items()}
        for node, time in self._member_since.items():
            spans.setdefault(node, []).append((time, max(time, self.end_ns)))
        return dict(sorted(spans.items()))
