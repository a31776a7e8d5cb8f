"""Explain which hosts and stations were not quiescent when a run ended.

Model     The reasons correspond to the conditions that decide whether a run is quiescent. The recorded events may not
          show them.
Units     messages
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mobilenet.quoting import pluralize
from mobilenet.simulation.hosts import HostNode
from mobilenet.simulation.nodes import Node, StationNode


def is_nobody(stations: Sequence[StationNode], hosts: Sequence[HostNode]) -> bool:
    """Return whether all nodes have settled with empty buffers, and every host is served in its cell or has left."""
    nodes: list[Node] = [*stations, *hosts]
    if not all(node.protocol is None or node.protocol.settled() and not any(node.buffers) for node in nodes):
        return False
    return all(
        host.protocol is None
        or host.protocol.is_out()
        or host.cell is not None
        and stations[host.cell].protocol.serves(host.me)
        for host in hosts
    )


def of_hosts(
    stations: Sequence[StationNode],
    hosts: Sequence[HostNode],
    pending: Mapping[int, str],
    wires_in_flight: int,
    backbone_is_at_rest: bool,
) -> Iterator[str]:
    """Yield the reasons why hosts and stations are not quiescent. `pending` contains the open requests to hosts."""
    for number, kind in pending.items():
        yield f"h{number} still has to {kind}"
    for node in (*stations, *hosts):
        if node.protocol is None:
            continue
        if not node.protocol.settled():
            yield f"{node.name} reports that it has not settled: a timer is running, or it is waiting for an answer"
        for name, size in zip(node._buffer_names, node.buffers, strict=True):
            if size:
                yield f"{node.name} holds {size} in its {name}"
    for host in hosts:
        protocol = host.protocol
        if protocol is None or protocol.is_out():
            continue
        if host.cell is None or not stations[host.cell].protocol.serves(host.me):
            where = "no cell" if host.cell is None else f"the cell of s{host.cell}, which does not serve it"
            yield f"{host.name} is in {where}"
    if wires_in_flight:
        yield f"{pluralize(wires_in_flight, 'message')} on the wires"
    elif not backbone_is_at_rest:
        yield "the backbone is still holding messages back"
