"""Find messages between processes that were lost by chance or in a partition, and crashes that were detected.

Model     a message that was put on a wire and never arrived was lost. It was lost in a partition if a partition
          separated the two processes when it was put on the wire. If a process suspects another process that has
          crashed, the crash is the cause
Units     integer nanoseconds
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import NamedTuple

from mobilenet.engine.clock import ns
from mobilenet.scenario import AnyScenario
from mobilenet.scenario.process_parameters import AbstractNetwork, PacketNetwork, WiredNetwork
from mobilenet.why.record import NONE, Record, events_of

RANDOM, SEPARATED = "random", "partition"  # reasons for the loss of a message


class Crash(NamedTuple):
    process: str
    time_ns: int


class Processes:
    """The losses and crashes of one run. The object is empty for runs of hosts and stations."""

    def __init__(self, record: Record, scenario: AnyScenario) -> None:
        self._record = record
        self._partitions: list[tuple[int, int, frozenset[str]]] = []
        self._lost: dict[tuple[str, str, str], list[int]] = defaultdict(list)  # (sender, receiver, message) -> rows
        self._detected: dict[int, Crash] = {}  # handler -> the crash of which it was notified
        network = scenario.wires
        if isinstance(network, AbstractNetwork) and network.loses:
            self._partitions = [(ns(one.since), ns(one.until), frozenset(one.apart)) for one in network.partitions]
            self._read_losses()
        if isinstance(network, (AbstractNetwork, PacketNetwork, WiredNetwork)):
            self._read_crashes()

    def _read_losses(self) -> None:
        record = self._record
        for row in record.lost_rows(record.has_messages):
            for message in record.messages[row]:
                self._lost[record.node[row], record.to[row], message].append(row)

    def _read_crashes(self) -> None:
        crashed_ns = dict[str, int]()
        for number, time_ns, node, event, _, detail in events_of(self._record.events, "crash", "suspect"):
            if event == "crash":
                crashed_ns[node] = time_ns
            elif event == "suspect" and (process := json.loads(detail)["process"]) in crashed_ns:
                handler = self._record.handler_of(number, time_ns)
                self._detected.setdefault(handler, Crash(process, crashed_ns[process]))

    def losses(self, sender: str, to: str, message: str) -> list[tuple[int, str]]:
        """Return in order the rows in which this message was put on the wire and lost, with the reasons."""
        return [(row, self._reason(row)) for row in self._lost.get((sender, to, message), ())]

    def _reason(self, row: int) -> str:
        put_ns, ends = self._record.time_ns[row], (self._record.node[row], self._record.to[row])
        is_separated = any(
            since_ns <= put_ns < until_ns and (ends[0] in apart) != (ends[1] in apart)
            for since_ns, until_ns, apart in self._partitions
        )
        return SEPARATED if is_separated else RANDOM

    def crash_behind(self, handler: int) -> Crash | None:
        """Return the crash of which the node was notified in this handler, or None."""
        return None if handler == NONE else self._detected.get(handler)
