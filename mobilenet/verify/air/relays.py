"""Check that stations pass on at once what is to cross a tree of wires, and each application message once.

Checks    `App`, `Delete` and the questions and answers of a handoff leave a station in the nanosecond in which it
          handles their cause
          an application message crosses each link once
Model     a message over a wire is handled when it arrives, one over the radio at most one propagation delay after its
          row has it arrived. A station that gets a missing message of a host sends the later ones with it.
          Where a host is forgotten, or a wire loses messages, one message may be broadcast by two stations
Units     integer nanoseconds
Shapes    over rows
Errors    none
Source    ours: docs/protocols/mobile-causal.md, docs/models/wires.md
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.expected.expectations import Expectations
from mobilenet.verify.air.messages import Hops
from mobilenet.verify.air.nodes import Nodes, first

NEVER = 1 << 62
CAUSES = {  # what a station puts on a wire about a host and a session <- what it has received in that nanosecond
    "Delete": ("Leave", "Delete"),
    "Req1": ("Join", "Init", "Req1"),
    "Req2": ("Rsp1", "Req2"),
    "Rsp2": ("Req2", "Rsp2"),
}


def relays_problem(hops: Hops, nodes: Nodes, expected: Expectations) -> str | None:
    """The first message over a wire that comes late, or once more."""
    assert expected.air is not None and expected.conduct is not None
    forgets = expected.conduct.forgets_after_s is not None or any(switch.loses for switch in expected.switches)
    problems = (
        () if forgets else _twice_problems(hops, nodes),
        _app_problems(hops, nodes, expected.air.delay_ns),
        _waiting_problems(hops, nodes, expected.air.delay_ns),
    )
    return next((problem for each in problems for problem in each), None)


def _twice_problems(hops: Hops, nodes: Nodes) -> Iterator[str]:
    rows = hops.table.column("kind").rows("App")
    ends = np.sort(np.column_stack((hops.sender[rows], hops.receiver[rows])), axis=1)
    link = ends[:, 0] * nodes.count + ends[:, 1]
    names = hops.table.column("message")
    keys = names.codes[rows].astype(np.int64) * nodes.count**2 + link
    _, heads, which = np.unique(keys, return_index=True, return_inverse=True)
    if (at := first(heads[which] != np.arange(len(rows)))) is not None:
        row, other = int(rows[at]), int(rows[heads[which[at]]])
        yield (
            f"{hops.words(row)}: {hops.table['message'][row]} crosses this link a second time (first: row"
            f" {other}), expected once"
        )


def _app_problems(hops: Hops, nodes: Nodes, delay_ns: int) -> Iterator[str]:
    """Each came over another wire at that time, or else a message of that host came up."""
    names, kinds = (hops.table.column(name) for name in ("message", "kind"))
    name = names.codes.astype(np.int64)
    owner = names.map([nodes.index(word.partition(":")[0]) for word in names.words], -1).astype(np.int64)
    sent, relayed = kinds.rows("App"), np.flatnonzero((kinds.codes == kinds.code("App")) & hops.is_received)
    risen = np.flatnonzero((kinds.codes == kinds.code("AppHs")) & hops.is_received)
    at_ns = hops.send_ns[sent]
    came_ns = latest(*_at(hops, nodes, name, relayed), name[sent] * nodes.count + hops.sender[sent], at_ns)
    rose_ns = latest(*_at(hops, nodes, owner, risen), owner[sent] * nodes.count + hops.sender[sent], at_ns)
    if (at := first((came_ns < at_ns) & (rose_ns < at_ns - delay_ns))) is not None:
        row = int(sent[at])
        yield _late(hops, nodes, row, f"App or AppHs of {hops.table['message'][row].partition(':')[0]}")


def _waiting_problems(hops: Hops, nodes: Nodes, delay_ns: int) -> Iterator[str]:
    kinds, hosts, sessions = (hops.table.column(name) for name in ("kind", "host", "session"))
    about = (hosts.codes.astype(np.int64) + 1) * (len(sessions.words) + 1) + sessions.codes + 1
    for kind, causes in CAUSES.items():
        sent = kinds.rows(kind)
        at_ns = hops.send_ns[sent]
        is_late = np.ones(len(sent), bool)
        for is_wired, slack_ns in ((True, 0), (False, delay_ns)):
            got = np.flatnonzero(kinds.among(causes) & hops.is_received & (hops.is_wired == is_wired))
            came_ns = latest(*_at(hops, nodes, about, got), about[sent] * nodes.count + hops.sender[sent], at_ns)
            is_late &= came_ns < at_ns - slack_ns
        if (at := first(is_late)) is not None:
            row = int(sent[at])
            yield _late(hops, nodes, row, f"{' or '.join(causes)} of {hops.table['host'][row]}")


def _at(hops: Hops, nodes: Nodes, about: np.ndarray, got: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return about[got] * nodes.count + hops.receiver[got], hops.receive_ns[got]


def latest(keys: np.ndarray, times_ns: np.ndarray, wanted_keys: np.ndarray, until_ns: np.ndarray) -> np.ndarray:
    """The last time of each wanted key that is not later than `until_ns`; -NEVER: it has none."""
    is_wanted = np.append(np.zeros(len(keys), bool), np.ones(len(wanted_keys), bool))
    every_key, every_ns = np.append(keys, wanted_keys), np.append(times_ns, until_ns)
    order = np.lexsort((is_wanted, every_ns, every_key))
    last = np.maximum.accumulate(np.where(is_wanted[order], -1, np.arange(len(order))))
    has_time = (last >= 0) & (every_key[order][last] == every_key[order])
    results = np.empty(len(order), np.int64)
    results[order] = np.where(has_time, every_ns[order][last], -NEVER)
    return results[len(keys) :]


def _late(hops: Hops, nodes: Nodes, row: int, cause: str) -> str:
    kind, station, at_s = hops.table["kind"][row], nodes.name(int(hops.sender[row])), hops.send_ns[row] / SECOND
    return f"{hops.words(row)}: {station} sends {kind} at {at_s:.9f} s, but receives no {cause} at that time"
