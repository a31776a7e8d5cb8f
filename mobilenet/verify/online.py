"""Judge the safety of a run while it is in progress, with the same judges, which read events as they happen.

Model     this judge checks creation, duplication, membership, the promised order, and gaps. The messages that a host
          gave up, and the order in which it gave up and asked again, are known only later. Where gaps are allowed, a
          violation is therefore judged again from the beginning, with everything known by then, before it is reported.
          How long a host was certainly heard depends on the positions of the whole run. Liveness, the length of
          silences, conservation and the record itself are judged after the run, by judge.py
Units     integer nanoseconds
Source    ours: docs/guide/live.md
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mobilenet.record.table import Columns
from mobilenet.scenario.plans.expectations import NEVER_S
from mobilenet.verify.broadcasts.fifo import FifoJudge
from mobilenet.verify.broadcasts.judge import SAFETY, BroadcastJudge
from mobilenet.verify.hosts import delivers_to_all, properties_of


class FirstViolation(NamedTuple):
    """The first violation of a property in a run that is in progress."""

    check: str
    explanation: str
    row: int  # the row of the event that shows the violation


class SafetyJudge:
    """A judge of safety. `columns` returns the events so far, always in the same lists. `senders`: all possible
    senders.
    """

    def __init__(
        self,
        columns: Callable[[], Columns],
        promises: dict[str, Any],
        senders: Sequence[str],
    ) -> None:
        self._columns = columns
        self._promises = promises
        self._senders = senders
        self._checks = frozenset(properties_of(promises)) if promises["broadcast"] is not None else frozenset()
        self.reported_checks: set[str] = set()
        self._begin()

    def _begin(self) -> None:
        events, promises = self._columns(), self._promises
        asks_order = "causal_order" in self._checks
        self._judge = BroadcastJudge(events, promises["gap_after_s"], NEVER_S, asks_order, self._senders)
        self._fifo = FifoJudge(events, delivers_to_all(promises)) if "fifo_order" in self._checks else None

    def admit(self, senders: Sequence[str]) -> None:
        """Accept additional senders from now on. All events are judged again, but violations are not reported twice."""
        if list(senders) != list(self._senders):
            self._senders = list(senders)
            self._begin()

    def look(self) -> FirstViolation | None:
        """Return a violation that has occurred since the last call. Each property is reported only once."""
        if not self._checks:
            return None
        violation = self._look()
        if violation is not None and self._promises["gap_after_s"] is not None:
            self._begin()
            violation = self._look()
        if violation is not None:
            self.reported_checks.add(violation.check)
        return violation

    def _look(self) -> FirstViolation | None:
        self._columns()  # This call makes all columns equally long.
        self._judge.judge()
        violations = [
            FirstViolation(check, self._judge.violations[check], row)
            for check, row in self._judge.rows.items()
            if check in SAFETY and check in self._checks
        ]
        if self._fifo is not None and (problem := self._fifo.judge()) is not None:
            violations.append(FirstViolation("fifo_order", problem, self._fifo.row))
        return min(
            (one for one in violations if one.check not in self.reported_checks), key=lambda one: one.row, default=None
        )
