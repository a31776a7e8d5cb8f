"""Check that each datagram that a node received was sent to it, and arrived only once, not too early, and in frames.

Model     a datagram is identified by its sender and a number, which the sender increments. A datagram for a group
          (`cell`, `all`) may be received by many nodes, once by each of them, and not by its sender
Source    ours: docs/guide/real-time.md, docs/guide/real-software.md
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from mobilenet.record.table import Columns
from mobilenet.scenario.plans.expectations import Expectations

MOST_BYTES = 65_507  # the maximum size of a datagram
GROUPS = ("cell", "all")


class SentDatagram(NamedTuple):
    """A datagram that was sent."""

    at_ns: int
    size: int
    to: str
    receivers: set[str]


class _Datagrams:
    """The datagrams of a run in the order of its events. `least_ns`: the air time of the shortest frame."""

    def __init__(self, least_ns: int) -> None:
        self._least_ns = least_ns
        self._sent: dict[str, SentDatagram] = {}
        self._numbers: dict[str, int] = {}
        self.carried = 0  # the minimum number of bytes that must have been in the air

    def send(self, node: str, name: str, at_ns: int, detail: dict[str, Any]) -> str | None:
        number = self._numbers.get(node, 0)
        if name != f"{node}:{number}":
            return f"{node} sends datagram {name}, but its next one is {node}:{number}"
        self._numbers[node] = number + 1
        to, size = detail.get("to"), detail.get("bytes")
        if type(size) is not int or not 0 <= size <= MOST_BYTES:
            return f"{node} sends datagram {name} of {size!r} bytes, expected 0 to {MOST_BYTES}"
        self._sent[name] = SentDatagram(at_ns, size, str(to), set())
        return None

    def receive(self, node: str, name: str, at_ns: int) -> str | None:
        sent = self._sent.get(name)
        if sent is None or node in sent.receivers:
            return f"{node} receives datagram {name}, which was not sent, or which it has received before"
        is_for_it = name.split(":")[0] != node if sent.to in GROUPS else sent.to == node
        if not is_for_it:
            return f"{node} receives datagram {name}, which was for {sent.to}"
        is_on_air = not (name[0] == "s" and node[0] == "s")
        took_ns, least_ns = at_ns - sent.at_ns, self._least_ns if is_on_air else 0
        if took_ns < least_ns:
            return f"{node} receives datagram {name} {took_ns} ns after it was sent, expected at least {least_ns}"
        if is_on_air and not sent.receivers:
            self.carried += sent.size
        sent.receivers.add(node)
        return None


def datagram_problem(
    events: Columns, counters: dict[str, Any] | None = None, expected: Expectations | None = None
) -> str | None:
    """Return what is wrong with the first invalid datagram, or None."""
    datagrams = _Datagrams(0 if expected is None or expected.radio is None else expected.radio.least_airtime_ns)
    for row, event in enumerate(events["event"]):
        if event not in ("datagram", "datagram_received"):
            continue
        node, name, at_ns = events["node"][row], events["message"][row], events["time_ns"][row]
        if event == "datagram":
            problem = datagrams.send(node, name, at_ns, json.loads(events["detail"][row] or "{}"))
        else:
            problem = datagrams.receive(node, name, at_ns)
        if problem is not None:
            return f"event {row}: {problem}"
    if counters is not None and datagrams.carried > counters["radio"]["bytes"]:
        return (
            f"datagrams: {datagrams.carried} bytes were received, but only"
            f" {counters['radio']['bytes']} bytes were in the"
            " air"
        )
    return None
