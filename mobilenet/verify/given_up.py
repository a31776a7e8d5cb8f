"""Which messages are owed to nobody.

Model     a host that lost its place for good gives up what it had not got through, and has a gap; it cannot know whether
          a message had got through. So what somebody delivers was not given up, and what nobody delivers was
Source    ours: DESIGN.md §8
"""

from __future__ import annotations

from typing import Any


def given_up(events: dict[str, list[Any]]) -> set[str]:
    """What nobody delivers after it was broadcast, and whose broadcaster has a gap after broadcasting it."""
    rows = list(zip(events["node"], events["event"], events["message"], strict=True))
    sent: set[str] = set()
    delivered: set[str] = set()
    for _, event, message in rows:
        if event == "broadcast":
            sent.add(message)
        elif event == "deliver" and message in sent:
            delivered.add(message)
    pending: dict[str, list[str]] = {}
    found: set[str] = set()
    for node, event, message in rows:
        if event == "broadcast" and message not in delivered:
            pending.setdefault(node, []).append(message)
        elif event == "gap":
            found.update(pending.pop(node, ()))
    return found
