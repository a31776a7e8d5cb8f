"""Screen a broadcast among processes by whole columns, to recognise clearly correct runs quickly. See properties.py.

Model     one table contains the row in which each process delivered each message, and each check compares whole
          columns. The screening applies only if no causal order is promised, because the table does not contain the
          past of a message. Runs with too many processes and messages for one table are examined event by event
Shapes    delivered: int32 (processes, messages), the row of the delivery; NEVER if there is none
Source    ours: docs/verdicts-and-metrics.md, docs/performance.md
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from mobilenet.record.table import Table
from mobilenet.verify.among_processes.properties import ProcessJudge

NEVER: Final = np.iinfo(np.int32).max
MOST_CELLS: Final = 100_000_000  # the maximum number of cells in the table


class ScreenedProcesses(ProcessJudge):
    """A judge that reads whole columns. `passes` returns False if the events must be examined one by one."""

    def __init__(self, events: Table, manifest: dict[str, Any]) -> None:
        super().__init__(events, manifest)
        self._quiescent = manifest["quiescent"]
        event, node, message = (events.column(name) for name in ("event", "node", "message"))
        self._event, self._node, self._message = event, node, message
        names = [f"p{i}" for i in range(manifest["processes"])]
        number = {name: i for i, name in enumerate(names)}
        self._process = node.map([number[name] for name in node.words], nothing=-1)
        sources = [text.partition(":")[0] for text in message.words]
        self._source = np.array([number.get(name, -1) for name in sources], np.int64)  # the source of each message
        self._rows = event.rows("deliver")
        self.crashed = {node.words[node.codes[row]]: row for row in reversed(event.rows("crash").tolist())}
        self._is_correct = np.array([name not in self.crashed for name in names], np.bool_)
        self._broadcast_row = np.full(len(message.words), NEVER, np.int64)  # the row of each message's broadcast
        self.has_delivered = len(self._rows) > 0

    def passes(self) -> bool:
        """Return True only if the columns show that no check is violated."""
        cells = len(self._is_correct) * len(self._message.words)
        return (
            self._order != "causal"
            and self._promises.get("may_hold") is None
            and cells <= MOST_CELLS
            and len(self._process) < NEVER
            and self._nobody_acts_after_a_crash()
            and self._broadcasts_are_new()
            and self._deliveries_are_in_order()
            and self._completions_are_right()
            and (not self._quiescent or self._all_have_arrived())
        )

    def validity_problem(self) -> str | None:
        """Return None, because a run that passes the screening satisfies validity."""
        return None

    def agreement_problem(self) -> str | None:
        """Return None, because a run that passes the screening satisfies agreement."""
        return None

    def _nobody_acts_after_a_crash(self) -> bool:
        return all(
            int(np.flatnonzero(self._node.codes == self._node.code(name))[-1]) == row
            for name, row in self.crashed.items()
        )

    def _broadcasts_are_new(self) -> bool:
        rows = self._event.rows("broadcast")
        messages = self._message.codes[rows]
        if (messages < 0).any() or (self._source[messages] != self._process[rows]).any():
            return False
        self._broadcast_row[messages] = rows
        return int(np.bincount(messages).max(initial=0)) <= 1

    def _deliveries_are_in_order(self) -> bool:
        processes, messages = self._process[self._rows], self._message.codes[self._rows]
        if (messages < 0).any() or (self._broadcast_row[messages] >= self._rows).any():
            return False
        self._delivered = np.full((len(self._is_correct), len(self._broadcast_row)), NEVER, np.int32)
        self._delivered[processes, messages] = self._rows
        if int(np.count_nonzero(self._delivered != NEVER)) != len(self._rows):
            return False  # a process delivered a message twice
        return self._order != "fifo" or self._in_fifo_order(processes, messages)

    def _in_fifo_order(self, processes: np.ndarray, messages: np.ndarray) -> bool:
        """Return whether each process has delivered the numbers 0, 1, 2, ... of each source in order."""
        numbers = np.array([int(text.partition(":")[2]) for text in self._message.words])[messages]
        pairs = processes.astype(np.int64) * len(self._is_correct) + self._source[messages]
        order = np.argsort(pairs, kind="stable")
        begins = np.diff(pairs[order], prepend=-1) != 0
        places = np.arange(len(order))
        due = places - np.maximum.accumulate(np.where(begins, places, 0))
        return bool((numbers[order] == due).all())

    def _completions_are_right(self) -> bool:
        rows = self._event.rows("complete")
        messages = self._message.codes[rows]
        if (
            (messages < 0).any()
            or (self._broadcast_row[messages] >= rows).any()
            or np.bincount(messages).max(initial=0) > 1
        ):
            return False
        if (self._source[messages] != self._process[rows]).any():
            return False
        if not self._promises["completes_when_delivered"]:
            return True
        return bool((self._delivered[self._is_correct][:, messages] < rows).all())

    def _all_have_arrived(self) -> bool:
        """Return whether each correct process has delivered all messages that validity and agreement require."""
        sent = np.flatnonzero(self._broadcast_row != NEVER)
        owed = self._is_correct[self._source[sent]]
        has = self._delivered[self._is_correct][:, sent] != NEVER
        if self._promises["agreement"]:
            owed |= has.any(axis=0)
        return bool(has[:, owed].all())


def judge_events(events: Table, manifest: dict[str, Any]) -> ProcessJudge:
    """Return the judge after it has judged all events."""
    screened = ScreenedProcesses(events, manifest)
    if screened.passes():
        return screened
    judge = ProcessJudge(events, manifest)
    judge.judge()
    return judge
