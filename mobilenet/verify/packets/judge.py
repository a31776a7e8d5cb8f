"""Judge the packets of real software, by the captures of all devices.

Source    ours: docs/guide/real-software.md
"""

from __future__ import annotations

from mobilenet.rundir.table import Columns
from mobilenet.verify.packets.captures import Captures, Mismatch, changed_problem, passed
from mobilenet.verify.packets.tcp import connections_problem


def packets_problem(events: Columns, captures: Captures) -> str | None:
    """The first contradiction, in one sentence; None: there is none."""
    try:
        packets = list(passed(events, captures))
    except Mismatch as error:
        return str(error)
    return changed_problem(packets) or connections_problem(packets)
