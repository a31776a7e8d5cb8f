"""FIFO order: what a host broadcasts is delivered in the order of its broadcasts.

Checks    fifo_order   nobody delivers a message of a sender after one that this sender broadcast later; and where every
          member is promised every message, nothing before all earlier ones of its sender that the host is entitled to:
          those broadcast since its join, or since its last gap
Model     the record alone, one pass; it knows nothing of causality, and shares nothing with who judges that
Source    Hadzilacos, Toueg, A modular approach to fault-tolerant broadcasts (1994); ours:
          docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections import defaultdict

from mobilenet.rundir.table import Columns

SECOND = 1_000_000_000


def fifo_problem(events: Columns, delivers_to_all: bool) -> str | None:
    """The first delivery out of order."""
    sent: dict[str, list[int]] = defaultdict(list)  # sender -> row of each of its broadcasts
    due: dict[str, dict[str, int]] = defaultdict(dict)  # host -> sender -> number of the next one that it is owed
    highest: dict[str, dict[str, int]] = defaultdict(dict)  # host -> sender -> highest number delivered
    ahead: dict[str, set[str]] = defaultdict(set)  # host -> delivered, and not yet due
    for row, (event, host, message) in enumerate(zip(events["event"], events["node"], events["message"], strict=True)):
        if event == "broadcast":
            sent[host].append(row)
        elif event in ("join", "gap"):
            due[host] = {sender: len(rows) for sender, rows in sent.items()}
        elif event == "deliver":
            sender, _, text = message.rpartition(":")
            number = int(text)
            if number >= len(sent[sender]):
                continue  # invented: that is another check's
            last = highest[host].get(sender, -1)
            if last > number:
                return _overtaken(events, sent[sender], host, sender, number, last, row)
            highest[host][sender] = number
            next_due = due[host].get(sender, 0)
            if delivers_to_all and number > next_due:
                return _overtaken(events, sent[sender], host, sender, next_due, number, row)
            ahead[host].add(message)
            while f"{sender}:{next_due}" in ahead[host]:
                ahead[host].discard(f"{sender}:{next_due}")
                next_due += 1
            due[host][sender] = next_due
    return None


def _overtaken(events: Columns, sent: list[int], host: str, sender: str, early: int, late: int, row: int) -> str:
    """`early` should have come before `late`; the delivery at `row` shows that it did not."""
    first, second = f"{sender}:{early}", f"{sender}:{late}"
    done = f"{first} after {second}" if events["message"][row] == first else f"{second}, and had not delivered {first}"
    return (
        f"{second} overtook {first} at {host}:\n"
        f"  {first} was broadcast {_when(events, sent[early])}\n"
        f"  {second} was broadcast {_when(events, sent[late])}\n"
        f"  {host} delivered {done} {_when(events, row)}"
    )


def _when(events: Columns, row: int) -> str:
    return f"at {events['time_ns'][row] / SECOND:.6f} s (event {row})"
