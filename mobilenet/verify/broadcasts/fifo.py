"""Judge FIFO order: the messages of a host are delivered in the order of its broadcasts.

Checks    fifo_order   no host delivers a message of a sender after a later message of this sender. If every member is
          promised every message, a host first delivers all earlier messages of the sender that it is entitled to. These
          were broadcast after its join, or after its last gap
Model     one pass over the record. This judge does not use causality, and shares no code with the causal judge
Source    Hadzilacos, Toueg, A modular approach to fault-tolerant broadcasts (1994); ours:
          docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections import defaultdict

from mobilenet.engine.clock import SECOND
from mobilenet.record.table import Columns


def fifo_problem(events: Columns, delivers_to_all: bool) -> str | None:
    """Describe the first delivery that is out of order."""
    return FifoJudge(events, delivers_to_all).judge()


class FifoJudge:
    """A judge that reads the events in order. `problem` describes the first delivery that is out of order."""

    def __init__(self, events: Columns, delivers_to_all: bool) -> None:
        self._events = events
        self._to_all = delivers_to_all
        self._sent: dict[str, list[int]] = defaultdict(list)  # sender -> row of each of its broadcasts
        # host -> sender -> the next number that the host must deliver
        self._due: dict[str, dict[str, int]] = defaultdict(dict)
        self._highest: dict[str, dict[str, int]] = defaultdict(dict)  # host -> sender -> highest number delivered
        self._ahead: dict[str, set[str]] = defaultdict(set)  # host -> messages delivered before their turn
        self.row = -1  # the last row that was read
        self.problem: str | None = None

    def judge(self) -> str | None:
        """Judge all events that were added since the last call."""
        events, first, sent = self._events, self.row + 1, self._sent
        rows = zip(events["event"][first:], events["node"][first:], events["message"][first:], strict=True)
        for row, (event, host, message) in enumerate(rows, first):
            if self.problem is not None:
                break
            self.row = row
            if event == "broadcast":
                sent[host].append(row)
            elif event in ("join", "gap"):
                self._due[host] = {sender: len(own) for sender, own in sent.items()}
            elif event == "deliver":
                self.problem = self._deliver(host, message)
        return self.problem

    def _deliver(self, host: str, message: str) -> str | None:
        sender, _, text = message.rpartition(":")
        number, row, sent = int(text), self.row, self._sent[sender]
        if number >= len(sent):
            return None  # the message was never broadcast, which another check reports
        highest, ahead, due = self._highest[host], self._ahead[host], self._due[host]
        last = highest.get(sender, -1)
        if last > number:
            return _overtaking_in_words(self._events, sent, host, sender, number, last, row)
        highest[sender] = number
        next_due = due.get(sender, 0)
        if self._to_all and number > next_due:
            return _overtaking_in_words(self._events, sent, host, sender, next_due, number, row)
        ahead.add(message)
        while f"{sender}:{next_due}" in ahead:
            ahead.discard(f"{sender}:{next_due}")
            next_due += 1
        due[sender] = next_due
        return None


def _overtaking_in_words(
    events: Columns, sent: list[int], host: str, sender: str, early: int, late: int, row: int
) -> str:
    """Describe how the delivery at `row` shows that `early` should have been delivered first."""
    first, second = f"{sender}:{early}", f"{sender}:{late}"
    order = f"{first} after {second}" if events["message"][row] == first else f"{second}, but had not delivered {first}"
    return (
        f"{second} overtook {first} at {host}:\n"
        f"  {first} was broadcast {_when(events, sent[early])}\n"
        f"  {second} was broadcast {_when(events, sent[late])}\n"
        f"  {host} delivered {order} {_when(events, row)}"
    )


def _when(events: Columns, row: int) -> str:
    return f"at {events['time_ns'][row] / SECOND:.6f} s (event {row})"
