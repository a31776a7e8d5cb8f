"""Compute when a message that was put on a wire left its sender. The models of wires imply these times.

Model     links are first in, first out, with store and forward. A message is put on the wire after all earlier
          messages. A cut link holds its messages until it is repaired. A message that arrives later than one
          propagation delay after its last bit was delayed by an impairment. On the abstract network of processes, there
          is one send server for each process and lane, which takes t_s for each message. On the packet network, there
          is one output queue for each process, which takes t_t for each packet
Units     integer nanoseconds, bytes
Source    ours: docs/models/causes.md, docs/models/wires.md, docs/protocols/vcube.md
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from mobilenet.engine.clock import SECOND, ns
from mobilenet.record.table import view
from mobilenet.scenario import AnyScenario
from mobilenet.scenario.process_parameters import AbstractNetwork, PacketNetwork, WiredNetwork
from mobilenet.why.cuts import Cut, Cuts
from mobilenet.why.record import FIRST_CODE, NONE, WIRE, Record, RowsByKey

TESTS = ("Test", "Answer")  # messages of the failure detector, which uses separate send servers


class Departure(NamedTuple):
    """The departure of a message. `held_ns`: how long a cut link held it; `first_ns`, `last_ns`: when its first and its
    last bit left; `due_ns`: when it arrives if the link is not impaired.
    """

    held_ns: int
    first_ns: int
    last_ns: int
    due_ns: int


class Departures(Protocol):
    def of(self, put: int, arrived_ns: int) -> Departure:
        """Return when the message in row `put` left, given the time of its arrival."""


class InOrder:
    """A FIFO queue. `second`: for each row, which of the node's queues it uses."""

    def __init__(self, record: Record, second: np.ndarray) -> None:
        self._record, put = record, record.steps.rows(WIRE)
        self._first, self._second = view(record.nodes.codes), view(second)
        self._rows = RowsByKey(record.nodes.codes[put].astype(np.int64) << FIRST_CODE | second[put], put)
        self._served: dict[int, tuple[Sequence[int], ...]] = {}

    def of(self, put: int, arrived_ns: int) -> Departure:
        key = self._first[put] << FIRST_CODE | self._second[put]
        if key not in self._served:
            rows = self._rows[key]
            self._served[key] = rows, *map(view, self._serve(np.asarray(rows)))
        rows, held_ns, first_ns, last_ns = self._served[key]
        place = bisect_left(rows, put)
        return Departure(held_ns[place], first_ns[place], last_ns[place], self._due_ns(last_ns[place], arrived_ns))

    def _serve(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return when each message could begin to leave, and when its first and last bits left."""
        raise NotImplementedError

    def _due_ns(self, last_ns: int, arrived_ns: int) -> int:
        raise NotImplementedError


def _leave(held_ns: np.ndarray, work_ns: np.ndarray) -> np.ndarray:
    """Return when a server finishes each message. It begins when the message has arrived and the earlier ones are
    finished.
    """
    total_ns = np.cumsum(work_ns)
    return total_ns + np.maximum.accumulate(held_ns - (total_ns - work_ns))


class OnLinks(InOrder):
    """The queues of links. `header_bytes`: the size of the headers, which the recorded size does not include."""

    def __init__(
        self, record: Record, cuts: Cuts, bandwidth_mbps: float, delay_ms: float, header_bytes: int = 0
    ) -> None:
        super().__init__(record, record.tos.codes)
        self._bits_per_s, self._delay_ns = round(bandwidth_mbps * 1_000_000), ns(delay_ms / 1000)
        self._cuts, self._header_bytes = cuts, header_bytes

    def _serve(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        record, first = self._record, int(rows[0])
        held_ns, events = np.asarray(record.time_ns)[rows], np.asarray(record.events_before)[rows]
        bits = 8 * (np.asarray(record.size_bytes)[rows].astype(np.int64) + self._header_bytes)
        last_ns, work_ns = np.zeros_like(held_ns), -(-bits * SECOND // self._bits_per_s)
        # The last cut that began before a row determines what happens to its message. A cut that loses messages empties
        # the link, and messages that are put on the link during such a cut never get onto it.
        cuts = [Cut(NONE, NONE, 0, False), *self._cuts.of(record.node[first], record.to[first])]
        begins, ends, ends_ns, loses = (np.array(column) for column in zip(*cuts, strict=True))
        which = np.searchsorted(begins, events) - 1
        is_cut, lives = events <= ends[which], np.cumsum(loses)[which]
        held_ns = np.where(is_cut, ends_ns[which], held_ns)
        is_put = ~(is_cut & loses[which])
        for life in np.unique(lives):
            own = is_put & (lives == life)
            last_ns[own] = _leave(held_ns[own], work_ns[own])
        return held_ns, last_ns - work_ns, last_ns

    def _due_ns(self, last_ns: int, arrived_ns: int) -> int:
        return last_ns + self._delay_ns


class OverSeveral:
    """A path of several links whose queues are not recorded. All of the time on the path is regarded as transit."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def of(self, put: int, arrived_ns: int) -> Departure:
        put_ns = self._record.time_ns[put]
        return Departure(put_ns, put_ns, put_ns, arrived_ns)


class OnServers(InOrder):
    """The queues of send servers, which take a fixed time for each message of a broadcast, and another fixed time for
    each message of the failure detector.
    """

    def __init__(self, record: Record, each_ns: int) -> None:
        super().__init__(record, record.kinds.among(TESTS))
        self._each_ns = each_ns

    def _serve(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        put_ns = np.asarray(self._record.time_ns)[rows]
        left_ns = _leave(put_ns, np.full(len(rows), self._each_ns))
        return put_ns, left_ns - self._each_ns, left_ns

    def _due_ns(self, last_ns: int, arrived_ns: int) -> int:
        return arrived_ns


def departures(record: Record, cuts: Cuts, scenario: AnyScenario) -> Departures:
    network = scenario.wires
    if isinstance(network, AbstractNetwork):
        return OnServers(record, ns(network.send))
    if isinstance(network, PacketNetwork):
        return OnServers(record, ns(network.queue))
    if not isinstance(network, WiredNetwork):  # stations are connected by wires
        return OnLinks(record, cuts, network.bandwidth_mbps, network.delay_ms)
    if network.edges is not None:
        return OverSeveral(record)
    return OnLinks(record, cuts, network.bandwidth_mbps, network.delay_ms, network.header_bytes)
