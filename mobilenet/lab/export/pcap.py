"""Export the packets of a run of real software as one capture.

Model     The capture contains every packet as it passed through the device of a node, in chronological order. A
          packet that arrived therefore occurs twice, as sent and as received. If a node is given, the result is the
          capture of this node
Errors    RunError for a run that has no packets, or does not have that node
Source    ours: docs/guide/real-software.md
"""

from __future__ import annotations

import heapq
from pathlib import Path

from mobilenet.record.pcap import FILE_HEADER, as_record, read_captures
from mobilenet.record.reader import RunError


def write_pcap(run: Path, target: Path, node: str | None = None) -> int:
    """Write the packets, and return how many there are."""
    captures = read_captures(run)
    if not captures:
        raise RunError(f"{run}: has no packets; only runs with protocol.name: ip have them")
    if node is not None and node not in captures:
        raise RunError(f"{run}: has no packets of {node}; expected one of {', '.join(captures)}")
    chosen = captures.values() if node is None else [captures[node]]
    count = 0
    with target.open("wb") as file:
        file.write(FILE_HEADER)
        for one in heapq.merge(*chosen, key=lambda each: each.at_ns):
            file.write(as_record(one.at_ns, one.packet))
            count += 1
    return count
