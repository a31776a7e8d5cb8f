"""What happened to hosts and messages, gathered in one pass over the events of a run.

Model     events are taken in batches of columns, in order of occurrence; what is asked afterwards is worked out from
          what was gathered. A member is entitled to what is broadcast after its join, or after its last gap, until it
          leaves. A handoff lasts from the new session to its confirmation; the next session supersedes one that is not
          confirmed, a leave ends it
Units     integer nanoseconds
Shapes    columns of events.parquet, as lists
Errors    none: a record that the verifier refuses need not be measured
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

Columns = dict[str, list[Any]]


class Handoff(NamedTuple):
    """One that was confirmed."""

    node: str
    begin_ns: int
    end_ns: int
    cause: str
    detail: dict[str, Any]


class Owed(NamedTuple):
    """A member at the end, and a message that it is entitled to and did not get."""

    node: str
    message: str
    broadcast_ns: int


class EventFold:
    """Everything that metrics ask of the events; `begin_ns`..`end_ns` is the window that they measure."""

    def __init__(self, begin_ns: int, end_ns: int) -> None:
        self.begin_ns, self.end_ns = begin_ns, end_ns
        self.broadcast_at: dict[str, int] = {}
        self.order: list[str] = []  # messages, as they were broadcast
        self.deliveries: dict[str, list[int]] = defaultdict(list)  # node -> when
        self.delivered: dict[str, set[str]] = defaultdict(set)  # node -> messages
        self.delays_ns: list[int] = []  # of messages broadcast in the window
        self.deliveries_inside = 0
        self.counts: dict[str, int] = defaultdict(int)  # refused, gap, crash: in the window
        self.breaks: dict[str, list[int]] = defaultdict(list)  # node -> crashes and leaves: it hears nothing then
        self.handoffs: list[Handoff] = []  # that began in the window
        self.superseded = 0
        self._spans: dict[str, list[tuple[int, int]]] = {}
        self._member_since: dict[str, int] = {}  # node -> when it joined
        self._entitled_from: dict[str, int] = {}  # members -> number of the first message that they are entitled to
        self._missing_from: dict[str, int] = {}  # node -> the same as of its last join or gap, left or not
        self._missed: list[tuple[str, int, int]] = []  # node, and the messages between its join or gap and the next gap
        self._under_way: dict[str, tuple[int, Any, str]] = {}  # node -> handoff: begin, session, cause

    def take(self, events: Columns) -> EventFold:
        """The next batch."""
        rows = zip(
            *(events[name] for name in ("time_ns", "event", "node", "message", "session", "detail")), strict=True
        )
        deliver, handlers = self._deliver, self._HANDLERS
        for time, event, node, message, session, detail in rows:
            if event == "deliver":  # nearly all of them
                deliver(time, node, message)
            elif event in handlers:
                handlers[event](self, time, node, message, session, detail)
        return self

    # --- one kind of event each

    def _deliver(self, time: int, node: str, message: str) -> None:
        sent = self.broadcast_at.get(message, -1)
        if self.begin_ns <= sent < self.end_ns:
            self.delays_ns.append(time - sent)
        self.deliveries_inside += self.begin_ns <= time < self.end_ns
        self.deliveries[node].append(time)
        self.delivered[node].add(message)

    def _broadcast(self, time: int, node: str, message: str, *_: Any) -> None:
        self.broadcast_at[message] = time
        self.order.append(message)

    def _join(self, time: int, node: str, *_: Any) -> None:
        self._member_since[node] = time
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

    def _refused(self, time: int, *_: Any) -> None:
        self.counts["refused"] += self._is_inside(time)

    def _handoff_start(self, time: int, node: str, message: str, session: Any, detail: str | None) -> None:
        self.superseded += node in self._under_way and self._is_inside(self._under_way[node][0])
        self._under_way[node] = (time, session, json.loads(detail or "{}").get("cause", ""))

    def _handoff_end(self, time: int, node: str, message: str, session: Any, detail: str | None) -> None:
        if node in self._under_way and self._under_way[node][1] == session:
            began, _, cause = self._under_way.pop(node)
            if self._is_inside(began):
                self.handoffs.append(Handoff(node, began, time, cause, json.loads(detail or "{}")))

    _HANDLERS: ClassVar[dict[str, Callable[..., None]]] = {
        "broadcast": _broadcast,
        "join": _join,
        "leave": _leave,
        "gap": _gap,
        "crash": _crash,
        "refused": _refused,
        "handoff_start": _handoff_start,
        "handoff_end": _handoff_end,
    }

    def _is_inside(self, time: int) -> bool:
        return self.begin_ns <= time < self.end_ns

    # --- what is asked afterwards

    def owed(self) -> list[Owed]:
        """What members at the end are entitled to and did not get."""
        return [
            Owed(node, message, self.broadcast_at[message])
            for node, first in self._entitled_from.items()
            for message in self.order[first:]
            if message not in self.delivered[node]
        ]

    def missed_by_gaps(self) -> int:
        """Pairs (gap in the window, message that its host was entitled to until then and never got)."""
        return sum(
            message not in self.delivered[node]
            for node, first, last in self._missed
            for message in self.order[first:last]
        )

    def memberships(self) -> dict[str, list[tuple[int, int]]]:
        """Of each host: from when to when it was a member; who never left was one until the end of the window."""
        spans = {node: list(known) for node, known in self._spans.items()}
        for node, time in self._member_since.items():
            spans.setdefault(node, []).append((time, max(time, self.end_ns)))
        return dict(sorted(spans.items()))
