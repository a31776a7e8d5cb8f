"""What figures of the papers show of single processes and messages, and metrics do not hold.

Model     dependencies: of a message, the sources of which its source has delivered something since its own last broadcast: so many
          entries has its compressed vector clock beside its own. From the events alone
          pending: of each process, the most messages it held back at once. From the samples
          company: of each process, the most messages it put into one packet; and every packet of p0, as it was handed to the network
Units     nanoseconds, bytes
Source    Figure 4 of Rodrigues et al. (LADC 2018); Figures 6, 9 and 10 of Rodrigues, Duarte and Arantes on causal aggregation;
          ours: DESIGN.md §16
"""

from __future__ import annotations

from collections import Counter
from typing import Any

Watched = dict[str, Any]  # dependencies: [[dependencies, messages]]; pending, company: one number for each process; packets: of p0
WATCHED = 0  # the process of which all packets are kept


class Watch:
    """Looks at what is sent, without a hand in it."""

    def __init__(self, n: int) -> None:
        self._company = [0] * n
        self._packets: list[tuple[int, int, int]] = []  # time_ns, messages, bytes

    def on_send(self, time_ns: int, sender: int, to: int, message: Any) -> None:
        count = len(getattr(message, "messages", (message,)))
        if count > self._company[sender]:
            self._company[sender] = count
        if sender == WATCHED:
            self._packets.append((time_ns, count, message.size_bytes))

    def found(self, events: dict[str, list[Any]], samples: dict[str, list[Any]]) -> Watched:
        """As JSON can hold it."""
        return {
            "dependencies": sorted(map(list, dependencies(events).items())),
            "pending": pending(samples, len(self._company)),
            "company": self._company,
            "packets": [list(packet) for packet in self._packets],
        }


def dependencies(events: dict[str, list[Any]]) -> Counter[int]:
    """Dependencies -> messages that have so many."""
    since: dict[str, set[str]] = {}  # process -> sources of what it delivered since its last broadcast
    counts: Counter[int] = Counter()
    for node, event, message in zip(events["node"], events["event"], events["message"], strict=True):
        if event == "deliver":
            source = message.partition(":")[0]
            if source != node:
                since.setdefault(node, set()).add(source)
        elif event == "broadcast":
            counts[len(since.pop(node, ()))] += 1
    return counts


def pending(samples: dict[str, list[Any]], n: int) -> list[int]:
    """Of each process, the most."""
    most = [0] * n
    for node, quantity, value in zip(samples["node"], samples["quantity"], samples["value"], strict=True):
        if quantity == "pending":
            i = int(node[1:])
            most[i] = max(most[i], int(value))
    return most
