"""When a message that was put on a wire left its sender: what the models of wires imply, from sizes and times.

Model     links: first in, first out, store and forward, so a message is put on the wire when those before it are. A
          cut link holds what is put on it until it is repaired. What arrives later than one propagation delay after
          its last bit was delayed by an impairment. Processes on the abstract network: one send server for each
          process and lane, t_s for each message. On the packet network: one output queue for each process, t_t for
          each packet
Units     integer nanoseconds, bytes
Source    ours: docs/models/causes.md, docs/models/wires.md, docs/protocols/vcube.md
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple, Protocol

from mobilenet.engine.clock import SECOND, ns
from mobilenet.scenario import AnyScenario
from mobilenet.scenario.process_parameters import AbstractNetwork, PacketNetwork, WiredNetwork
from mobilenet.why.cuts import NEVER, Cut, Cuts
from mobilenet.why.record import WIRE, Record

TESTS = ("Test", "Answer")  # of the failure detector, which has send servers of its own


class Departure(NamedTuple):
    """`held_ns`: until then a cut link held the message; `first_ns`, `last_ns`: when its first and its last bit left;
    `due_ns`: when it arrives if the link is not impaired.
    """

    held_ns: int
    first_ns: int
    last_ns: int
    due_ns: int


class Departures(Protocol):
    def of(self, put: int, arrived_ns: int) -> Departure:
        """When the message that was put on the wire in this row left, if it arrived at that time."""


class OnLinks:
    """`header_bytes`: what the recorded size leaves out."""

    def __init__(
        self, record: Record, cuts: Cuts, bandwidth_mbps: float, delay_ms: float, header_bytes: int = 0
    ) -> None:
        bits_per_s, delay_ns = round(bandwidth_mbps * 1_000_000), ns(delay_ms / 1000)
        self._departures: dict[int, Departure] = {}
        free_ns: dict[tuple[str, str], int] = defaultdict(int)  # when all that was put on the link before is on it
        emptied: dict[tuple[str, str], int] = {}  # the cut that last emptied the link
        for row, step in enumerate(record.step):
            if step != WIRE:
                continue
            link, held_ns = (record.node[row], record.to[row]), record.time_ns[row]
            cut = _last(cuts.of(*link), record.events_before[row])
            if cut is not None and cut.loses and emptied.get(link) != cut.begin:
                emptied[link], free_ns[link] = cut.begin, 0
            if cut is not None and record.events_before[row] <= cut.end:
                if cut.loses:
                    continue
                held_ns = cut.end_ns
            first_ns = max(free_ns[link], held_ns)
            last_ns = first_ns - (-8 * (record.size_bytes[row] + header_bytes) * SECOND // bits_per_s)
            self._departures[row] = Departure(min(held_ns, NEVER), first_ns, last_ns, last_ns + delay_ns)
            free_ns[link] = last_ns

    def of(self, put: int, arrived_ns: int) -> Departure:
        return self._departures[put]


def _last(cuts: list[Cut], events: int) -> Cut | None:
    """The last cut among the first events of the run."""
    return next((cut for cut in reversed(cuts) if cut.begin < events), None)


class OverSeveral:
    """Over links whose queues are not on record: all of it counts as travelling."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def of(self, put: int, arrived_ns: int) -> Departure:
        put_ns = self._record.time_ns[put]
        return Departure(put_ns, put_ns, put_ns, arrived_ns)


class OnServers:
    """First come, first served, a fixed time for each."""

    def __init__(self, record: Record, each_ns: int) -> None:
        self._record = record
        self._each_ns = each_ns
        self._left_ns: dict[int, int] = {}
        free: dict[tuple[str, bool], int] = {}
        for row, step in enumerate(record.step):
            if step == WIRE:
                key = record.node[row], record.kind[row] in TESTS
                free[key] = self._left_ns[row] = max(free.get(key, 0), record.time_ns[row]) + each_ns

    def of(self, put: int, arrived_ns: int) -> Departure:
        left_ns = self._left_ns[put]
        return Departure(self._record.time_ns[put], left_ns - self._each_ns, left_ns, arrived_ns)


def departures(record: Record, cuts: Cuts, scenario: AnyScenario) -> Departures:
    network = scenario.wires
    if isinstance(network, AbstractNetwork):
        return OnServers(record, ns(network.send))
    if isinstance(network, PacketNetwork):
        return OnServers(record, ns(network.queue))
    if not isinstance(network, WiredNetwork):  # between stations
        return OnLinks(record, cuts, network.bandwidth_mbps, network.delay_ms)
    if network.edges is not None:
        return OverSeveral(record)
    return OnLinks(record, cuts, network.bandwidth_mbps, network.delay_ms, network.header_bytes)
