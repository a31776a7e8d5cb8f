"""Compute the shortest sufficient timeout of the failure detector, its number of tests, and whether its mistakes end.

Model     All processes begin a round together, no process has crashed, and the links carry nothing else. On the
          abstract network, a process sends its own tests before it answers a test, because it has only one send
          server for both. With crashes or traffic, a longer timeout may be needed.
Units     time units; messages
Source    ours: docs/protocols/vcube.md
"""

from __future__ import annotations

from collections.abc import Sequence

from mobilenet.network.wired.network import adjacency, next_hops
from mobilenet.protocols.vcube.detector import HEADER_BYTES
from mobilenet.protocols.vcube.topology import dimension
from mobilenet.scenario.process_parameters import AbstractNetwork, DetectorParameters, WiredNetwork

MOST_ROUTED = 256  # maximum number of processes for which paths are computed; with more, every path counts as one link


def round_trip(network: AbstractNetwork | WiredNetwork, n: int) -> float:
    """Return the longest time from the beginning of a round to its first answer."""
    if isinstance(network, AbstractNetwork):
        arrived = network.send + network.link + network.reception + network.hand_over
        return max(dimension(n) * network.send, arrived) + arrived
    return _over(network, _links(network, n, (1,)))


def errs_for_ever(detector: DetectorParameters, network: AbstractNetwork | WiredNetwork, n: int) -> bool:
    """Return whether correct processes are suspected in each round because the longest test exceeds the timeout."""
    takes = round_trip(network, n)
    if isinstance(network, WiredNetwork):
        takes = _over(network, _links(network, n, [1 << s for s in range(dimension(n))]))
    return detector.mode == "unreliable" and detector.timeout < takes


def _over(network: WiredNetwork, links: int) -> float:
    """Return the time of a test and its answer over this number of links."""
    bits = 8 * (HEADER_BYTES + network.header_bytes)
    return 2 * links * (network.delay_ms / 1000 + bits / (network.bandwidth_mbps * 1e6))


def _links(network: WiredNetwork, n: int, apart: Sequence[int]) -> int:
    """Return the largest number of links between two processes that test each other. The numbers of two such processes
    differ in exactly one bit, which is in `apart`.
    """
    if network.edges is None or n > MOST_ROUTED:
        return 1
    near = adjacency(network.edges, n)
    hops = [next_hops(near, i) for i in range(n)]
    return max(_hops(hops, i, i ^ bit) for bit in apart for i in range(n) if i ^ bit < n)


def _hops(hop: list[list[int]], i: int, to: int) -> int:
    count = 0
    while i != to:
        i, count = hop[i][to], count + 1
    return count


def messages(detector: DetectorParameters, network: AbstractNetwork | WiredNetwork, n: int, span: float) -> int:
    """Return the number of tests and answers within this time span."""
    rounds = 1 + int(span / (detector.interval + round_trip(network, n)))
    return 2 * n * dimension(n) * rounds
