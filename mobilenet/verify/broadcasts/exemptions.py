"""Find the messages that need not be delivered to any host.

Model     when no station knows a host any more, the host gives up its unaccepted messages and has a gap. (In the same
          nanosecond it asks to join again: `gap`, then `handoff_start` because of `join`.) The host cannot know whether
          a station had accepted a message, so a message that any host delivers does not count as given up. A station
          accepts a host's messages in order. If a message is delivered, all earlier ones were therefore accepted as
          well. A message was given up if no host delivers it, and if it was broadcast before the gap and after the
          host's last delivered message. After any other gap, a host keeps its own messages and sends them again
Source    ours: docs/protocols/mobile-causal.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json

import numpy as np

from mobilenet.record.table import Columns, Table, by_code


def forgotten_rows(events: Columns) -> set[int]:
    """Return the rows of gaps of hosts that no station knows any more."""
    table = Table.of(events)
    kinds, nodes = table.column("event"), table.column("node").codes
    if "gap" not in kinds.words:
        return set()
    by_node = by_code(nodes)
    places = np.flatnonzero(kinds.codes[by_node[:-1]] == kinds.code("gap"))
    # `following`: the node's next event, or an event of the next node
    gaps, following = by_node[places], by_node[places + 1]
    times = table.numbers("time_ns")
    is_start = kinds.codes[following] == kinds.code("handoff_start")
    asks = (nodes[gaps] == nodes[following]) & (times[gaps] == times[following]) & is_start
    causes = map(cause_of, table.pick("detail", following[asks]))
    return {gap for gap, cause in zip(gaps[asks].tolist(), causes, strict=True) if cause == "join"}


def cause_of(detail: str | None) -> object:
    return json.loads(detail or "{}").get("cause")


def messages_given_up(events: Columns, forgotten: set[int]) -> set[str]:
    """Return the messages that forgotten hosts broadcast before the gap and after their last delivered message."""
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
        # messages with any other name are reported by another check
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
