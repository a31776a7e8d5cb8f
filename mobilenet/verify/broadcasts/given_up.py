"""Find the messages that are not owed to any host.

Model     a host that no station knows any more gives up what it had not got through, and has a gap (and asks to join
          again, in the same nanosecond: `gap`, then `handoff_start` because of `join`). It cannot know whether a
          message had got through, so what a host delivers was not given up. A station takes a host's messages in
          their order, so with one that a host delivers all before it had got through as well. What is given up is
          therefore what no host delivers, was broadcast after the last one that is delivered, and before the gap.
          With any other gap a host keeps its own messages, and sends them again
Source    ours: docs/protocols/mobile-causal.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json

from mobilenet.record.table import Columns


def forgotten_rows(events: Columns) -> set[int]:
    """The rows of gaps of hosts that no station knows any more."""
    rows: set[int] = set()
    columns = events["event"]
    if "gap" not in columns:
        return rows
    last: dict[str, int] = {}  # host -> row of its gap, if that was the last event
    for row, (event, node) in enumerate(zip(columns, events["node"], strict=True)):
        if event == "gap":
            last[node] = row
        elif node in last:
            gap = last.pop(node)
            if (
                event == "handoff_start"
                and events["time_ns"][row] == events["time_ns"][gap]
                and cause_of(events["detail"][row]) == "join"
            ):
                rows.add(gap)
    return rows


def cause_of(detail: str | None) -> object:
    return json.loads(detail or "{}").get("cause")


def messages_given_up(events: Columns, forgotten: set[int]) -> set[str]:
    """For each forgotten host, the messages since the last one that is delivered."""
    messages: set[str] = set()
    if not forgotten:
        return messages
    numbers: dict[str, int] = {}
    sent: dict[str, int] = {}  # message -> row of its broadcast
    delivered: set[str] = set()
    for row, (node, event, message) in enumerate(zip(events["node"], events["event"], events["message"], strict=True)):
        if event == "deliver":
            if message in sent:
                delivered.add(message)
        # others are a separate violation
        elif event == "broadcast" and message == f"{node}:{numbers.get(node, 0)}":
            numbers[node] = numbers.get(node, 0) + 1
            sent[message] = row
    pending: dict[str, list[str]] = {}
    for row, (node, event, message) in enumerate(zip(events["node"], events["event"], events["message"], strict=True)):
        if event == "broadcast" and sent.get(message) == row:
            if message in delivered:
                pending.pop(node, None)
            else:
                pending.setdefault(node, []).append(message)
        elif row in forgotten:
            messages.update(pending.pop(node, ()))
    return messages
