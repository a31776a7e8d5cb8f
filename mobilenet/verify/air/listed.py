"""Check that the lengths of lists in `samples` are those of the lists in `messages`.

Checks    each list of a message over the radio has the length of a sample of its station, in their order, and the
          sample is not later
          a host that a station's message names as one that must not deliver it does not deliver it later
          on a tree each sample of a list on the wires is that of a message that its station sends in that nanosecond
Model     a list is measured when its message is made. Messages of one station leave the radio in that order; some are
          dropped, or have no row as no node is within reach. The record cuts long lists off
Units     integer nanoseconds; entries
Errors    none
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.rundir.schema import MOST_LISTED
from mobilenet.rundir.table import Table
from mobilenet.verify.air.messages import FOR_ALL, Hops
from mobilenet.verify.air.nodes import Nodes

RADIO = {"md": ("AppSh", "delivered"), "skip": ("InitAck", "skip"), "acks": ("AckC", "seq_h")}
WIRED = {
    "undelivered": ("Rsp1", "undelivered"),
    "wanted": ("Req2", "wanted"),
    "bodies": ("Rsp2", "bodies"),
    "new_ids": ("Rsp2", "new_ids"),
}


def listed_problem(
    events: Table, samples: Table, hops: Hops, nodes: Nodes, has_all_wires: bool, is_repeated: bool
) -> str | None:
    """Return the first length that differs; `has_all_wires`: each message on the wires has its row; `is_repeated`: the
    MAC may send a message again, which has no sample of its own.
    """
    node, details = nodes.indices(samples.column("node")), hops.table.column("detail")
    for quantity, (kind, name) in RADIO.items():
        rows = samples.column("quantity").rows(quantity)
        sent = hops.table.column("kind").rows(kind)
        for station in range(nodes.stations):
            measured, own = rows[node[rows] == station], sent[hops.sender[sent] == station]
            own = own[np.diff(hops.send_ns[own], prepend=-1) != 0]  # one row of each frame
            if is_repeated:
                about = details.codes[own]
                if kind not in FOR_ALL:
                    about = about + hops.receiver[own] * len(details.words)
                own = own[np.diff(about, prepend=-1) != 0]
            problem = _order_problem(samples, measured, hops, own, name, quantity)
            if problem is not None:
                return problem
    for quantity, (kind, name) in WIRED.items() if has_all_wires else ():
        problem = _wired_problem(samples, hops, node, quantity, kind, name)
        if problem is not None:
            return problem
    return _delivered_problem(events, hops)


def _delivered_problem(events: Table, hops: Hops) -> str | None:
    """Return the first message that names a host which delivers it later."""
    details = hops.table.column("detail")
    names = np.array([*("delivered" in word and '"delivered": []' not in word for word in details.words), False])
    rows = hops.table.column("kind").rows("AppSh")
    rows = rows[names[details.codes[rows]]]
    if not len(rows):
        return None
    messages = set(hops.table.pick("message", rows))
    delivered = events.column("event").rows("deliver")
    columns = (events.pick(name, delivered) for name in ("node", "message", "time_ns"))
    at_ns = {(node, name): now_ns for node, name, now_ns in zip(*columns, strict=True) if name in messages}
    for row, name in zip(rows.tolist(), hops.table.pick("message", rows), strict=True):
        for host in hops.detail_of(row).get("delivered") or ():
            if at_ns.get((f"h{host}", name), 0) > hops.send_ns[row]:
                return (
                    f"{hops.words(row)}: it states that h{host} has {name}, but h{host} delivers this message only"
                    " later"
                )
    return None


def _length(hops: Hops, row: int, name: str) -> int:
    return len(hops.detail_of(row).get(name) or ())


def _is(value: float, length: int) -> bool:
    return value == length or length >= MOST_LISTED <= value


def _order_problem(
    samples: Table, measured: np.ndarray, hops: Hops, sent: np.ndarray, name: str, quantity: str
) -> str | None:
    """Return the first row without a sample."""
    times, values = (samples.numbers(each)[measured].tolist() for each in ("time_ns", "value"))
    at = 0
    for row, send_ns in zip(sent.tolist(), hops.send_ns[sent].tolist(), strict=True):
        length = _length(hops, row, name)
        while at < len(times) and times[at] <= send_ns and not _is(values[at], length):
            at += 1
        if at == len(times) or times[at] > send_ns:
            return f"{hops.words(row)}: a list of {length}, but no sample of {quantity} had this value by then"
        at += 1
    return None


def _wired_problem(samples: Table, hops: Hops, node: np.ndarray, quantity: str, kind: str, name: str) -> str | None:
    sent: dict[tuple[int, int], list[int]] = {}
    rows = hops.table.column("kind").rows(kind)
    for row, sender, at_ns in zip(rows.tolist(), hops.sender[rows].tolist(), hops.send_ns[rows].tolist(), strict=True):
        sent.setdefault((sender, at_ns), []).append(_length(hops, row, name))
    measured = samples.column("quantity").rows(quantity)
    columns = (samples.numbers("time_ns")[measured].tolist(), samples.numbers("value")[measured].tolist())
    for sender, at_ns, value in zip(node[measured].tolist(), *columns, strict=True):
        if not any(_is(value, length) for length in sent.get((sender, at_ns), ())):
            return (
                f"samples: {quantity} is {value:g} at s{sender} at {at_ns / SECOND:.6f} s, but s{sender} sends"
                f" no {kind}"
                " with a list of that length at that time"
            )
    return None
