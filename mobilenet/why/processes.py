"""Between processes, which messages are lost by a partition or by chance, and which crashes do others wait to detect?

Model     a message that was put on a wire and never arrived was lost: in a partition, if one separated the two
          processes when it was put there. A process that suspects another one acts because of its crash, if that had
          crashed
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

RANDOM, SEPARATED = "random", "partition"  # why a message was lost


class Crash(NamedTuple):
    process: str
    time_ns: int


class Processes:
    """The losses and crashes of one run of processes; there are none between stations."""

    def __init__(self, record: Record, scenario: AnyScenario) -> None:
        self._record = record
        self._partitions: list[tuple[int, int, frozenset[str]]] = []
        self._lost: dict[tuple[str, str, str], list[int]] = defaultdict(list)  # (from, to, message) -> rows
        self._detected: dict[int, Crash] = {}  # handler -> the crash that it was notified of
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
        """Return the rows in which this message was put on the wire and lost, in order, each with the reason."""
        return [(row, self._reason(row)) for row in self._lost.get((sender, to, message), ())]

    def _reason(self, row: int) -> str:
        put_ns, ends = self._record.time_ns[row], (self._record.node[row], self._record.to[row])
        is_separated = any(
            since_ns <= put_ns < until_ns and (ends[0] in apart) != (ends[1] in apart)
            for since_ns, until_ns, apart in self._partitions
        )
        return SEPARATED if is_separated else RANDOM

    def crash_behind(self, handler: int) -> Crash | None:
        """Return the crash that the node was notified of in this handler."""
        return None if handler == NONE else self._detected.get(handler)
