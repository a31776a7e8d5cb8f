"""When a message that was put on a wire left its sender: what the models of wires imply, from sizes and times.

Model     stations: store and forward, so the last bit left one propagation delay before the arrival, and the first one
          size / bandwidth before that. Processes on the abstract network: one send server for each process and lane,
          t_s for each message. On the packet network: one output queue for each process, t_t for each packet
Units     integer nanoseconds, bytes
Source    ours: docs/models/causes.md, docs/models/wires.md, docs/protocols/vcube.md
"""

from __future__ import annotations

from typing import Protocol

from mobilenet.clock import MILLISECOND, SECOND, ns
from mobilenet.scenario import ProcessScenario, Scenario
from mobilenet.scenario.process_parameters import AbstractNetwork, PacketNetwork
from mobilenet.why.record import WIRE, Record

TESTS = ("Test", "Answer")  # of the failure detector, which has send servers of its own


class Departures(Protocol):
    def times(self, put: int, arrived_ns: int) -> tuple[int, int]:
        """When the first bit left, and when the last one did. `put`: the row in which it was put on the wire."""


class OnLinks:
    """`header_bytes`: what the recorded size leaves out."""

    def __init__(self, record: Record, bandwidth_mbps: float, delay_ms: float, header_bytes: int = 0) -> None:
        self._record = record
        self._bits_per_s = round(bandwidth_mbps * 1_000_000)
        self._delay_ns = round(delay_ms * MILLISECOND)
        self._header_bytes = header_bytes

    def times(self, put: int, arrived_ns: int) -> tuple[int, int]:
        end_ns = arrived_ns - self._delay_ns
        size_bytes = self._record.size_bytes[put] + self._header_bytes
        return end_ns - -(-8 * size_bytes * SECOND // self._bits_per_s), end_ns


class OverSeveral:
    """Over links whose queues are not on record: all of it counts as travelling."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def times(self, put: int, arrived_ns: int) -> tuple[int, int]:
        put_ns = self._record.time_ns[put]
        return put_ns, put_ns


class OnServers:
    """First come, first served, a fixed time for each."""

    def __init__(self, record: Record, each_ns: int) -> None:
        self._each_ns = each_ns
        self._left_ns: dict[int, int] = {}
        free: dict[tuple[str, bool], int] = {}
        for row, step in enumerate(record.step):
            if step == WIRE:
                key = record.node[row], record.kind[row] in TESTS
                free[key] = self._left_ns[row] = max(free.get(key, 0), record.time_ns[row]) + each_ns

    def times(self, put: int, arrived_ns: int) -> tuple[int, int]:
        left_ns = self._left_ns[put]
        return left_ns - self._each_ns, left_ns


def departures(record: Record, scenario: Scenario | ProcessScenario) -> Departures:
    if not isinstance(scenario, ProcessScenario):
        backbone = scenario.stations.backbone
        return OnLinks(record, backbone.bandwidth_mbps, backbone.delay_ms)
    network = scenario.network
    if isinstance(network, AbstractNetwork):
        return OnServers(record, ns(network.send))
    if isinstance(network, PacketNetwork):
        return OnServers(record, ns(network.queue))
    if network.edges is not None:
        return OverSeveral(record)
    return OnLinks(record, network.bandwidth_mbps, network.delay_ms, network.header_bytes)
