"""Whether datagrams that hosts received had been sent to them, each once.

Model     a datagram is named by its sender and a number of its own, which grows by one with each
Source    ours: docs/guide/real-time.md
"""

from __future__ import annotations

import json

from mobilenet.rundir.table import Columns


def datagram_problem(events: Columns) -> str | None:
    """The first one that was not, or None."""
    to: dict[str, str] = {}
    numbers: dict[str, int] = {}
    rows = [row for row, event in enumerate(events["event"]) if event in ("datagram", "datagram_received")]
    for row in rows:
        event, node, name = events["event"][row], events["node"][row], events["message"][row]
        if event == "datagram":
            number = numbers.get(node, 0)
            if name != f"{node}:{number}":
                return f"event {row}: {node} sends datagram {name}, and its next one is {node}:{number}"
            numbers[node] = number + 1
            to[name] = json.loads(events["detail"][row] or "{}").get("to")
        elif name not in to:
            return f"event {row}: {node} receives datagram {name}, which nobody has sent, or it has received before"
        elif (addressee := to.pop(name)) != node:
            return f"event {row}: {node} receives datagram {name}, which was for {addressee}"
    return None
