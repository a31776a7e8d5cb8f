"""Screen a broadcast among hosts by whole columns, to recognise clearly correct runs quickly. See judge.py.

Model     nearly all events are deliveries, which are checked host by host. All other events are judged one by one.
          Deliveries are correct if every delivered message was broadcast before, and if no host delivers a message
          twice or while it is not a member. If order is required, a host must also deliver, without gaps, the messages
          of each sender that it is entitled to. The whole past of a message comes before the message, so none of these
          messages can come too late. Older messages, to which a host is not entitled, must not be in the past of
          messages that it has already delivered
Shapes    known: int32 (messages, senders), for each message, the number of messages of each sender that causally
          precede it, including itself; blocks of deliveries (at most BLOCK, senders)
Source    Mattern (1988), as in judge.py; ours: docs/verdicts-and-metrics.md, docs/performance.md
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mobilenet.record.table import Table, by_code, rows_where
from mobilenet.verify.broadcasts.judge import BroadcastJudge, Host, Violation
from mobilenet.verify.broadcasts.reach import Reach

BLOCK = 1024  # deliveries in one block, so that the data stays in the cache


class ScreenedBroadcast(BroadcastJudge):
    """A judge that reads deliveries as columns. `passes` returns False if the events must be examined one by one."""

    def __init__(
        self,
        events: Table,
        gap_after_s: float | None,
        heard_every_s: float,
        checks: frozenset[str],
        reach: Reach | None = None,
    ) -> None:
        """Prepare the columns. `checks`: the names of the requested checks."""
        super().__init__(events, gap_after_s, heard_every_s, reach=reach)
        self._table = events
        self._checks = checks
        event, node, message = (events.column(name) for name in ("event", "node", "message"))
        delivered = event.codes == event.code("deliver")
        self._others = np.flatnonzero(event.among((*self.HANDLERS, *self.AT_STATIONS)) & ~delivered)
        rows = rows_where(delivered)
        rows = rows[by_code(node.codes[rows])]
        ends = np.searchsorted(node.codes[rows], np.arange(len(node.words) + 1))
        # host -> rows and messages of its deliveries
        self._rows = {name: rows[ends[i] : ends[i + 1]] for i, name in enumerate(node.words)}
        self._messages = {name: message.codes[rows] for name, rows in self._rows.items()}
        self._places = {name: i for i, name in enumerate(message.words)}
        count = len(message.words)
        self._sender, self._position = np.full(count, -1, np.int32), np.full(count, -1, np.int32)
        # message -> row of its broadcast, or the number of rows if it was never broadcast
        self._broadcast_row = np.full(count, len(event.codes), np.int32)
        self._known = np.zeros((count, len(self._senders)), np.int32) if "causal_order" in checks else None
        self._clock_counts: dict[str, int] = {}  # host -> number of deliveries in its clock
        # host -> (row, whether the host may deliver from this row on)
        self._turns: dict[str, list[tuple[int, bool]]] = {}
        # host -> (row, what the host is entitled to from this row on)
        self._entitlements: dict[str, list[tuple[int, np.ndarray]]] = {}
        self.deliveries = len(rows)

    def passes(self) -> bool:
        """Return True only if the columns show that no requested check is violated."""
        names = (self._table.pick(name, self._others) for name in ("event", "node"))
        for row, event, node in zip(self._others.tolist(), *names, strict=True):
            self._row = row
            try:
                if event in self.AT_STATIONS:
                    self.AT_STATIONS[event](self, node)
                else:
                    self._take(event, self._host(node))
            except Violation as violation:
                self.violations.setdefault(violation.check, violation.explanation)
            if not self._checks.isdisjoint(self.violations):
                return False
        self.violations.clear()
        return all(self._delivers_in_order(name) for name, rows in self._rows.items() if len(rows)) and (
            "delivery" not in self._checks or all(map(self._has_everything, self._hosts.values()))
        )

    def _take(self, event: str, host: Host) -> None:
        if event == "broadcast" and self._known is not None:
            self._hear(host, self._known)
        self.HANDLERS[event](self, host)
        if event == "broadcast":
            self._note_broadcast(host)
        else:
            self._turns.setdefault(host.name, []).append((self._row, host.member and not host.crashed))
            if event in ("join", "gap"):
                self._entitlements.setdefault(host.name, []).append((self._row, host.entitled))

    def _hear(self, host: Host, known: np.ndarray) -> None:
        """Add the deliveries since the host's last broadcast to the host's clock."""
        rows, begin = self._rows[host.name], self._clock_counts.get(host.name, 0)
        end = int(np.searchsorted(rows, self._row))
        if begin < end:
            messages = self._messages[host.name][begin:end]
            np.maximum(host.clock, known[messages].max(axis=0), out=host.clock)
            self._clock_counts[host.name] = end

    def _note_broadcast(self, host: Host) -> None:
        name = self._events["message"][self._row]
        key = self._keys.get(name)
        if key is not None:
            place = self._places[name]
            self._sender[place], self._position[place] = key
            self._broadcast_row[place] = self._row
            past = self._past.pop(key)
            if self._known is not None:
                self._known[place] = past
                self._known[place, key[0]] = key[1] + 1

    def _delivers_in_order(self, name: str) -> bool:
        rows, messages = self._rows[name], self._messages[name]
        if (messages < 0).any() or (self._broadcast_row[messages] >= rows).any():
            return False
        if np.bincount(messages).max() > 1:
            return False
        turns = self._turns.get(name, [])
        turn = np.searchsorted([row for row, _ in turns], rows) - 1
        if (turn < 0).any() or not np.array([may for _, may in turns])[turn].all():
            return False
        if self._known is None:
            return True
        # for each sender, the number of messages that precede the deliveries up to `heard`
        has = np.zeros(len(self._senders), np.int32)
        heard = 0
        steps = self._entitlements.get(name, [])
        edges = [*np.searchsorted(rows, [row for row, _ in steps]).tolist(), len(rows)]
        if edges[0] > 0:
            return False  # the host delivered a message before it was entitled to any
        for (_, entitled), begin, end in zip(steps, edges[:-1], edges[1:], strict=True):
            due = entitled.astype(np.int32)
            for first in range(begin, end, BLOCK):
                block = messages[first : min(first + BLOCK, end)]
                is_old = self._position[block] < entitled[self._sender[block]]
                if not self._follow(block, is_old, due, self._known[block]):
                    return False
                if is_old.any():
                    if not self._old_ones_fit(messages[heard:first], block, is_old, has):
                        return False
                    heard = first + len(block)
        return True

    def _follow(self, block: np.ndarray, is_old: np.ndarray, due: np.ndarray, known: np.ndarray) -> bool:
        """Return whether each message is delivered after its past, and whether no message that the host is entitled to
        is skipped. Update `due`, the next number of each sender.
        """
        senders = self._sender[block]
        before = np.zeros((len(block) + 1, len(due)), np.int32)
        fresh = np.flatnonzero(~is_old)
        before[fresh + 1, senders[fresh]] = 1
        before[0] = due
        np.cumsum(before, axis=0, out=before)
        due[:] = before[-1]
        if (self._position[block[fresh]] != before[fresh, senders[fresh]]).any():
            return False
        return bool((known <= before[1:]).all())

    def _old_ones_fit(self, before: np.ndarray, block: np.ndarray, is_old: np.ndarray, has: np.ndarray) -> bool:
        """Return whether every older message is delivered before the messages that depend on it. `before`: the
        deliveries before the block that are not yet in `has`. Update `has`.
        """
        assert self._known is not None
        old = np.flatnonzero(is_old)
        np.maximum(has, self._known[before].max(axis=0, initial=0), out=has)
        pasts = np.concatenate((has[np.newaxis], self._known[block[: old[-1]]]))
        np.maximum.accumulate(pasts, axis=0, out=pasts)
        np.maximum(has, self._known[block].max(axis=0), out=has)
        return bool((pasts[old, self._sender[block[old]]] <= self._position[block[old]]).all())

    def missing_deliveries(self) -> Iterator[str]:
        """Yield nothing, because each host has delivered all required messages."""
        return iter(())

    def _has_everything(self, host: Host) -> bool:
        """Return whether a member has delivered everything that it is entitled to, in any order."""
        if not host.member:
            return True
        messages = self._messages.get(host.name, np.zeros(0, np.int32))
        owed = int((self._count - host.entitled).sum())
        return int((self._position[messages] >= host.entitled[self._sender[messages]]).sum()) == owed


def judge_events(
    events: Table,
    gap_after_s: float | None,
    heard_every_s: float,
    checks: frozenset[str],
    reach: Reach | None = None,
) -> BroadcastJudge:
    """Return a judge that has judged all events. `checks`: the requested checks, which include `delivery` if missing
    deliveries count as violations.
    """
    screened = ScreenedBroadcast(events, gap_after_s, heard_every_s, checks, reach)
    if screened.passes():
        return screened
    judge = BroadcastJudge(events, gap_after_s, heard_every_s, "causal_order" in checks, reach=reach)
    judge.judge()
    return judge
