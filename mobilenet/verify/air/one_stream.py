"""Whether the hosts of a station deliver in one order, where a station numbers what it sends to its cell.

Checks    any two messages that were broadcast when both hosts were confirmed by a station, and that both deliver with
          it, they deliver in the same order
Model     a station numbers each message once, on arrival, and a host delivers by these numbers what it has not had from
          another station. What was broadcast after the session was confirmed it cannot have had. So the deliveries of
          such messages in one session are a chain, and all chains of a station fit into one order
Source    ours: docs/protocols/mobile-causal.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.expected.expectations import Conduct
from mobilenet.rundir.table import Table

CONFIRMS = ("join", "handoff_end", "gap")


class Chains(NamedTuple):
    """Deliveries of messages that were broadcast in the session of the delivery, one session after the other."""

    rows: np.ndarray  # of events
    begins: np.ndarray  # whether it is the first of its session
    stations: np.ndarray  # by code: the one that the session was confirmed with


def chains_of(events: Table) -> Chains:
    """Return the chains of all confirmed sessions."""
    event, message = events.column("event"), events.column("message")
    node, session, station = (events.column(name) for name in ("node", "session", "station"))
    chain = node.codes.astype(np.int64) * (len(session.words) + 1) + session.codes
    never = len(event.codes)
    broadcast = np.full(len(message.words) + 1, -1)  # the last one: no message
    sent = event.rows("broadcast")[::-1]
    broadcast[message.codes[sent]] = sent
    confirmed = event.rows(*CONFIRMS)
    confirmed = confirmed[station.codes[confirmed] >= 0]
    known, first = np.unique(chain[confirmed], return_index=True)
    rows = event.rows("deliver")
    if not len(known) or not len(rows):
        return Chains(rows[:0], np.zeros(0, bool), rows[:0])
    at = np.minimum(np.searchsorted(known, chain[rows]), len(known) - 1)
    since = np.where(known[at] == chain[rows], confirmed[first][at], never)
    is_new = broadcast[message.codes[rows]] > since
    rows, since = rows[is_new], since[is_new]
    order = np.argsort(chain[rows], kind="stable")
    rows, since = rows[order], since[order]
    return Chains(rows, np.diff(chain[rows], prepend=-1) != 0, station.codes[since])


def order_problem(events: Table, conduct: Conduct | None) -> str | None:
    """The first two hosts whose orders do not fit together."""
    if conduct is None or not conduct.numbers_once:
        return None
    chains = chains_of(events)
    rows, begins, stations = chains
    message = events.column("message")
    place = stations.astype(np.int64) * (len(message.words) + 1) + message.codes[rows]
    _, first, which = np.unique(place, return_index=True, return_inverse=True)
    earliest = np.full(len(first), len(message.codes))
    np.minimum.at(earliest, which, rows)
    rank = earliest[which]  # when the first one in this cell delivers it
    is_back = (np.diff(rank, prepend=-1) <= 0) & ~begins
    for code in np.unique(stations[is_back]).tolist():
        problem = _circle_problem(events, Chains(*(column[stations == code] for column in chains)))
        if problem is not None:
            return problem
    return None


def _circle_problem(events: Table, chains: Chains) -> str | None:
    """Name the messages of a station that cannot be put into one order; None: all can."""
    messages, begins = events.column("message").codes[chains.rows].tolist(), chains.begins.tolist()
    after: dict[int, list[int]] = {}
    waits = dict.fromkeys(messages, 0)
    for before, name, is_first in zip(messages, messages[1:], begins[1:], strict=False):
        if not is_first:
            after.setdefault(before, []).append(name)
            waits[name] += 1
    ready = [name for name, count in waits.items() if not count]
    while ready:
        name = ready.pop()
        del waits[name]
        for other in after.get(name, ()):
            waits[other] -= 1
            if not waits[other]:
                ready.append(other)
    return _in_words(events, chains, waits) if waits else None


def _in_words(events: Table, chains: Chains, left: dict[int, int]) -> str:
    """Two hosts that contradict each other directly, or at least one that is part of it."""
    codes = events.column("message").codes
    row = next(row for row in chains.rows.tolist() if int(codes[row]) in left)
    seen: dict[tuple[str, str], int] = {}
    own: list[tuple[str, int]] = []
    at_station = events.column("station").words[int(chains.stations[0])]
    for at, is_first in zip(chains.rows.tolist(), chains.begins.tolist(), strict=True):
        if is_first:
            own = []
        if int(codes[at]) not in left:
            continue
        name = events["message"][at]
        for earlier, _ in own[-50:]:
            if (name, earlier) in seen:
                return _contradiction(events, at, earlier, seen[name, earlier], at_station)
            seen[earlier, name] = at
        own.append((name, at))
    return _contradiction(events, row, "others", row, at_station)


def _contradiction(events: Table, row: int, earlier: str, other: int, station: str) -> str:
    at_s, node, name = events["time_ns"][row] / SECOND, events["node"][row], events["message"][row]
    return (
        f"events: at {at_s:.6f} s (event {row}) {node} delivers {name} after {earlier}, but {events['node'][other]}"
        f" delivers them the other way round (event {other}); {station} sends them in a single order"
    )
