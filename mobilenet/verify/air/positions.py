"""Check that hosts of the mobile broadcast deliver what is at their positions, as soon as they have it.

Checks    the messages that a host delivers in a session are those with the numbers from the start on that its InitAck
          has, but for those that it skips: below the base its own recovery messages, from there on the stream
          a host delivers a message as soon as it has received it and has delivered those before it
          the rbuffer of a host holds what it has received and delivers later, and grows only when it receives something
Model     what arrives before the InitAck may be kept, but not beyond a window; so a message counts as received when it
          arrives in the session, or when the session is confirmed. What arrives while the host is out of coverage is
          ignored, and perhaps later copies of the same frame as well. Sessions whose skip set the record cuts off are
          not checked
Units     integer nanoseconds; messages
Shapes    over deliveries, session by session; over rows
Errors    none
Source    ours: docs/protocols/mobile-causal.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.quoting import pluralize
from mobilenet.rundir.table import Table
from mobilenet.verify.air.confirmed import Session, Sessions, first_since, whole
from mobilenet.verify.air.messages import Hops
from mobilenet.verify.air.nodes import Nodes, first
from mobilenet.verify.air.outages import Outages
from mobilenet.verify.air.sizes import NO_SIZES, sizes_of

STREAM, RECOVERY = ("AppSh", "AppOne"), "AppCo"
LANE = 1 << 44  # numbers of one stream, or of one session's recovery messages
MIDDLE = 1 << 43  # positions may be negative


class _Deliveries(NamedTuple):
    """The deliveries in the sessions that are checked."""

    rows: np.ndarray  # of events
    host: np.ndarray
    key: np.ndarray  # lane and number
    since_ns: np.ndarray  # when the session was confirmed
    begins: np.ndarray  # bool: the first of its session


class _Arrivals(NamedTuple):
    """What hosts received in coverage."""

    rows: np.ndarray  # of messages
    keys: np.ndarray
    unsure: np.ndarray  # bool: the host may have ignored it, as a copy of something that came out of coverage


def positions_problem(
    events: Table, samples: Table, hops: Hops, nodes: Nodes, sessions: Sessions, delay_ns: int, is_repeated: bool
) -> str | None:
    """Return the first delivery, or size of a buffer, that does not fit. `is_repeated`: the MAC may repeat frames."""
    lanes = {(host, number): nodes.stations + lane for lane, (host, number) in enumerate(sessions)}
    rows, keys, odd = _keys(hops, lanes)
    if odd is not None:
        return f"{hops.words(odd)}: {RECOVERY} has {hops.detail_of(odd)}, which is impossible"
    problem = _growth_problem(samples, hops, nodes, delay_ns)
    deliveries = _deliveries(events, nodes, sessions, lanes)
    if problem is not None or not len(deliveries.rows):
        return problem
    problem = _names_problem(events, hops, deliveries, rows, keys)
    arrivals = _arrivals(events, hops, nodes, rows, keys, delay_ns, is_repeated)
    return problem or _moments_problem(events, samples, hops, nodes, deliveries, arrivals, delay_ns)


def _keys(hops: Hops, lanes: dict[tuple[int, int], int]) -> tuple[np.ndarray, np.ndarray, int | None]:
    """Return the rows that carry messages to hosts, with their keys, and a row for none."""
    kinds = hops.table.column("kind")
    stream, recovery = kinds.rows(*STREAM), kinds.rows(RECOVERY)
    lane = hops.sender[stream].tolist()
    about = zip(hops.receiver[recovery].tolist(), hops.table.pick("session", recovery), strict=True)
    lane += [lanes.get(each, -1) for each in about]
    rows = np.concatenate((stream, recovery))
    numbers = [whole(hops.detail_of(row), "number") for row in rows.tolist()]
    if None in numbers:
        return rows, rows, int(rows[numbers.index(None)])
    of_lane = np.array(lane, np.int64)
    keys = of_lane * LANE + MIDDLE + np.array(numbers, np.int64)
    return rows[of_lane >= 0], keys[of_lane >= 0], None


def _deliveries(events: Table, nodes: Nodes, sessions: Sessions, lanes: dict[tuple[int, int], int]) -> _Deliveries:
    rows = events.column("event").rows("deliver")
    node, session = events.column("node"), events.column("session")
    chain = node.codes[rows].astype(np.int64) * (len(session.words) + 1) + session.codes[rows]
    order = np.argsort(chain, kind="stable")
    heads = np.flatnonzero(np.diff(chain[order], prepend=-1 << 62))
    parts: list[list[np.ndarray]] = [[np.zeros(0, np.int64)] * 5]
    for begin, end in zip(heads.tolist(), [*heads[1:].tolist(), len(order)], strict=False):
        own = rows[order[begin:end]]
        about = nodes.index(events["node"][int(own[0])]), events["session"][int(own[0])]
        own_session = sessions.get(about)
        if own_session is None or own_session.skip is None:
            continue
        positions = _positions(own_session, len(own))
        lane = np.where(positions < own_session.base, lanes[about], own_session.station)
        keys = lane * LANE + MIDDLE + positions
        is_first = np.arange(len(own)) == 0
        parts.append([own, np.full(len(own), about[0]), keys, np.full(len(own), own_session.at_ns), is_first])
    rows, host, key, since_ns, begins = (np.concatenate(each) for each in zip(*parts, strict=True))
    return _Deliveries(rows, host, key, since_ns, begins.astype(bool))


def _positions(session: Session, count: int) -> np.ndarray:
    """Return the positions of the first messages of a session."""
    steps = np.arange(count, dtype=np.int64)
    skip = np.array([number for number in session.skip or () if number >= session.start], np.int64)
    return session.start + steps + np.searchsorted(skip - np.arange(len(skip)) - session.start, steps, "right")


def _names_problem(
    events: Table, hops: Hops, deliveries: _Deliveries, rows: np.ndarray, keys: np.ndarray
) -> str | None:
    names, known = events.column("message"), hops.table.column("message")
    codes = {name: code for code, name in enumerate(known.words)}
    delivered_codes = names.map([codes.get(name, -2) for name in names.words], -2)[deliveries.rows]
    unique, heads = np.unique(keys, return_index=True)
    at = np.minimum(np.searchsorted(unique, deliveries.key), max(len(unique) - 1, 0))
    is_there = unique[at] == deliveries.key if len(unique) else np.zeros(len(at), bool)
    has = known.codes[rows][heads][at] if len(unique) else at
    if (wrong := first(~is_there | (has != delivered_codes))) is None:
        return None
    row, number = int(deliveries.rows[wrong]), int(deliveries.key[wrong]) % LANE - MIDDLE
    due = known.words[has[wrong]] if is_there[wrong] and has[wrong] >= 0 else "not in the record"
    node, session = events["node"][row], events["session"][row]
    return (
        f"{_event(events, row)}: {node} delivers {events['message'][row]} at position {number} of session {session};"
        f" according to its station, the message at that position is {due}"
    )


def _arrivals(
    events: Table, hops: Hops, nodes: Nodes, rows: np.ndarray, keys: np.ndarray, delay_ns: int, is_repeated: bool
) -> _Arrivals:
    received = hops.is_received[rows]
    rows, keys = rows[received], keys[received]
    away = Outages(events, nodes, ("out_of_coverage",), ("in_coverage",))
    heeded, unsure = np.ones(len(rows), bool), np.zeros(len(rows), bool)
    for node in away.nodes:
        own = np.flatnonzero(hops.receiver[rows] == node)
        arrival_ns = hops.receive_ns[rows[own]]
        heeded[own] = ~away.touches(node, arrival_ns, arrival_ns + delay_ns)
        if is_repeated:
            unsure[own] = heeded[own] & _may_be_copies(heeded[own], keys[own])
    return _Arrivals(rows[heeded], keys[heeded], unsure[heeded])


def _moments_problem(
    events: Table,
    samples: Table,
    hops: Hops,
    nodes: Nodes,
    deliveries: _Deliveries,
    arrivals: _Arrivals,
    delay_ns: int,
) -> str | None:
    rows, keys, unsure = arrivals
    _, ranks = np.unique(np.concatenate((keys, deliveries.key)), return_inverse=True)
    links = ranks * nodes.count + np.concatenate((hops.receiver[rows], deliveries.host))
    at_ns = events.numbers("time_ns")[deliveries.rows]
    had_ns = first_since(links[: len(rows)], hops.receive_ns[rows], links[len(rows) :], deliveries.since_ns)
    had_ns = np.where(had_ns > at_ns, deliveries.since_ns, had_ns)
    before_ns = np.where(deliveries.begins, deliveries.since_ns, np.append(0, at_ns[:-1]))
    sure = ~np.isin(links[len(rows) :], links[: len(rows)][unsure])
    if (late := first(sure & (at_ns > np.maximum(had_ns, before_ns) + delay_ns))) is not None:
        row = int(deliveries.rows[late])
        return (
            f"{_event(events, row)}: {events['node'][row]} delivers {events['message'][row]}, which it has had since"
            f" {had_ns[late] / SECOND:.6f} s; all earlier messages were delivered by {before_ns[late] / SECOND:.6f} s"
        )
    waits = sure & (at_ns > had_ns + delay_ns)
    held = deliveries.host[waits], had_ns[waits] + delay_ns, at_ns[waits]
    return next(held_problems(samples, nodes, *held), None)


def held_problems(
    samples: Table, nodes: Nodes, node: np.ndarray, since_ns: np.ndarray, until_ns: np.ndarray
) -> Iterator[str]:
    """Yield rbuffers that hold less than what surely waits in them, from `since_ns` until `until_ns`."""
    sizes = sizes_of(samples, "rbuffer")
    for each in np.unique(node).tolist():
        own, name = node == each, nodes.name(each)
        begins, ends = np.sort(since_ns[own]), np.sort(until_ns[own])
        waiting = np.searchsorted(begins, begins, "right") - np.searchsorted(ends, begins, "right")
        own_sizes = sizes.get(name, NO_SIZES)
        holds = np.append(0.0, own_sizes.values)[np.searchsorted(own_sizes.times, begins, "right")]
        if (at := first(holds < waiting)) is not None:
            yield (
                f"samples: the rbuffer of {name} holds {pluralize(int(holds[at]), 'message')} at"
                f" {begins[at] / SECOND:.6f} s, but {waiting[at]} that have arrived must still be waiting there"
            )


def _may_be_copies(heeded: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return which arrivals of a message at a host follow one that the host did not heed. All of them may be copies of
    one frame, of which its MAC hands up only the first.
    """
    order = np.argsort(keys // LANE, kind="stable")
    begins = np.diff(keys[order], prepend=-1) != 0
    ignored = np.append(0, np.cumsum(~heeded[order]))[:-1]  # before each
    may_be = np.empty_like(heeded)
    may_be[order] = ignored > ignored[begins][np.cumsum(begins) - 1]
    return may_be


def _growth_problem(samples: Table, hops: Hops, nodes: Nodes, delay_ns: int) -> str | None:
    """Return the first rbuffer of a host that grows while nothing arrives."""
    kinds = hops.table.column("kind")
    rows = np.flatnonzero(kinds.among((*STREAM, RECOVERY)) & hops.is_received)
    for name, sizes in sizes_of(samples, "rbuffer").items():
        if name[0] != "h":
            continue
        grows_ns = sizes.times[np.diff(sizes.values, prepend=0.0) > 0]
        arrived_ns = np.sort(hops.receive_ns[rows[hops.receiver[rows] == nodes.index(name)]])
        nothing = np.searchsorted(arrived_ns, grows_ns - delay_ns) == np.searchsorted(arrived_ns, grows_ns, "right")
        if (at := first(nothing)) is not None:
            return f"samples: the rbuffer of {name} grows at {grows_ns[at] / SECOND:.6f} s, but nothing arrives there"
    return None


def _event(events: Table, row: int) -> str:
    return f"events: at {events['time_ns'][row] / SECOND:.6f} s (event {row})"
