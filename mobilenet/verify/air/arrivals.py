"""Whether stations number, keep and forget messages as these come in over a tree of wires.

Checks    a message has the number in a cell that its arrival there has in the order of arrivals
          the sbuffer of a station holds the latest messages, and takes back none that it has forgotten
          it holds what a host of the cell has not acknowledged yet, from the base of its session on
          a station sends no copy of a message that it had forgotten when it made something that it has sent before
          the rbuffer of a station holds what it has received of a host and passes on later
Model     each message of the tree crosses each link once, so it arrives everywhere once: where its host is, when it is
          put on the wires, and elsewhere over them. It is numbered then. Frames of a node leave in the order in which
          they were made. A station serves a host in a session until the host speaks in a later one, or is given up
Units     integer nanoseconds; messages
Shapes    over the arrivals at one station, in order
Errors    none
Source    ours: docs/protocols/mobile-causal.md
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.expected.expectations import Expectations
from mobilenet.rundir.table import Table
from mobilenet.verify.air.confirmed import NEVER, Sessions, latest, whole
from mobilenet.verify.air.heard import expiries
from mobilenet.verify.air.messages import Hops
from mobilenet.verify.air.nodes import Nodes, first
from mobilenet.verify.air.positions import held_problems
from mobilenet.verify.air.sizes import NO_SIZES, sizes_of


class Arrivals(NamedTuple):
    """When application messages came in at stations."""

    at_ns: np.ndarray  # (stations, names): NEVER: never
    order: list[np.ndarray]  # at each station, the times in order

    def of(self, station: int, codes: np.ndarray) -> np.ndarray:
        """Return when these names came in there."""
        times_ns: np.ndarray = np.append(self.at_ns[station], NEVER)[codes]
        return times_ns


def arrivals_of(hops: Hops, nodes: Nodes, expected: Expectations, counters: Mapping[str, Any]) -> Arrivals | None:
    """Return all arrivals; None where not every one is known."""
    conduct, wired = expected.conduct, counters["wired"]
    forgets = conduct is None or conduct.forgets_after_s is not None
    if forgets or nodes.stations < 2 or wired["in_flight"] or any(switch.loses for switch in expected.switches):
        return None
    names = hops.table.column("message")
    rows = hops.table.column("kind").rows("App")
    at_ns = np.full((nodes.stations, len(names.words)), NEVER, np.int64)
    for ends, times in ((hops.sender, hops.send_ns), (hops.receiver, hops.receive_ns)):
        np.minimum.at(at_ns, (ends[rows], names.codes[rows]), times[rows])
    return Arrivals(at_ns, [np.sort(own[own < NEVER]) for own in at_ns])


def arrivals_problem(
    events: Table, samples: Table, hops: Hops, nodes: Nodes, sessions: Sessions, arrivals: Arrivals, delay_ns: int
) -> str | None:
    """Return the first number, copy, or size of a buffer, that does not fit."""
    sbuffers = [_Sbuffer(samples, nodes.name(station), arrivals.order[station]) for station in range(nodes.stations)]
    problems = (
        *(_number_problems(hops, station, arrivals) for station in range(nodes.stations)),
        *(one.problems() for one in sbuffers),
        *(_copy_problems(hops, station, arrivals, sbuffers[station]) for station in range(nodes.stations)),
        _owed_problems(events, hops, nodes, sessions, sbuffers),
        _waiting_problems(samples, hops, nodes, arrivals, delay_ns),
    )
    return next((problem for each in problems for problem in each), None)


class _Sbuffer:
    """The sbuffer of a station: the given number of latest messages."""

    def __init__(self, samples: Table, name: str, order: np.ndarray) -> None:
        self._name = name
        sizes = sizes_of(samples, "sbuffer").get(name, NO_SIZES)
        self.at_ns = np.unique(np.append(sizes.times, order))
        held = np.append(0.0, sizes.values)[np.searchsorted(sizes.times, self.at_ns, "right")]
        self.oldest = np.searchsorted(order, self.at_ns, "right") - held.astype(np.int64)

    def problems(self) -> Iterator[str]:
        """Yield the first size with which a message would come back, or that exceeds all that came in."""
        if (at := first(np.diff(self.oldest, prepend=0) < 0)) is not None:
            yield (
                f"samples: the sbuffer of {self._name} at {self.at_ns[at] / SECOND:.6f} s begins with message number"
                f" {self.oldest[at]} in order of arrival, although it began with number"
                f" {self.oldest[at - 1] if at else 0} earlier"
            )

    def before(self, times_ns: np.ndarray) -> np.ndarray:
        """Return the oldest number that is kept, just before these times."""
        numbers: np.ndarray = np.append(0, self.oldest)[np.searchsorted(self.at_ns, times_ns)]
        return numbers


def _number_problems(hops: Hops, station: int, arrivals: Arrivals) -> Iterator[str]:
    rows, numbers = _copies(hops, station)
    at_ns = arrivals.of(station, hops.table.column("message").codes[rows])
    order = arrivals.order[station]
    least, most = np.searchsorted(order, at_ns), np.searchsorted(order, at_ns, "right") - 1
    if (at := first((numbers < least) | (numbers > most))) is not None:
        row = int(rows[at])
        yield (
            f"{hops.words(row)}: number {numbers[at]} in the cell, but {hops.table['message'][row]}"
            f" {f'arrives there as number {least[at]}' if at_ns[at] < NEVER else 'never arrives there'}"
        )


def _copies(hops: Hops, station: int) -> tuple[np.ndarray, np.ndarray]:
    kinds = hops.table.column("kind")
    rows = np.flatnonzero(kinds.among(("AppSh", "AppOne")) & (hops.sender == station))
    return rows, np.array([hops.detail_of(row)["number"] for row in rows.tolist()], np.int64)


def _copy_problems(hops: Hops, station: int, arrivals: Arrivals, sbuffer: _Sbuffer) -> Iterator[str]:
    rows, numbers = _copies(hops, station)
    made_ns = np.maximum.accumulate(arrivals.of(station, hops.table.column("message").codes[rows]))
    oldest = sbuffer.before(made_ns)
    if (at := first(numbers < oldest)) is not None:
        row = int(rows[at])
        yield (
            f"{hops.words(row)}: a copy of {hops.table['message'][row]}, number {numbers[at]}; by then, the station had"
            f" passed on a message that arrived at {made_ns[at] / SECOND:.6f} s, and after that time, according to its"
            f" sbuffer, it kept only messages after number {oldest[at] - 1}"
        )


def _owed_problems(
    events: Table, hops: Hops, nodes: Nodes, sessions: Sessions, sbuffers: list[_Sbuffer]
) -> Iterator[str]:
    """Yield sbuffers that have forgotten what a host of the cell has not acknowledged."""
    kinds, numbers = hops.table.column("kind"), hops.table.column("session")
    ends = _ends(events, hops, nodes, sessions)
    acks = np.flatnonzero(kinds.among(("AckH", "Have")) & hops.is_received)
    width = len(numbers.words) + 1
    about = hops.sender[acks] * width + numbers.codes[acks]
    order = np.argsort(about, kind="stable")
    for (host, number), session in sessions.items():
        own = sbuffers[session.station]
        since, until = np.searchsorted(own.at_ns, (session.at_ns, ends[host, number]), "right")
        key = host * width + numbers.code(number)
        begin, end = np.searchsorted(about[order], (key, key + 1))
        mine = acks[order[begin:end]]
        mine = mine[hops.receiver[mine] == session.station]
        positions = [whole(hops.detail_of(row), "nxt") or 0 for row in mine.tolist()]
        highest_positions = np.maximum.accumulate(np.array([max(session.start, session.base), *positions], np.int64))
        times = own.at_ns[since:until]
        most = highest_positions[np.searchsorted(hops.receive_ns[mine], times, "right")]
        if (at := first(own.oldest[since:until] > most)) is not None:
            yield (
                f"samples: the sbuffer of {nodes.name(session.station)} begins with number"
                f" {own.oldest[since + at]} at {times[at] / SECOND:.6f} s, but {nodes.name(host)} has acknowledged"
                f" only the messages before number {most[at]} in session {number}"
            )


def _ends(events: Table, hops: Hops, nodes: Nodes, sessions: Sessions) -> dict[tuple[int, int], int]:
    """Return until when the station of each session surely serves its host in it."""
    first_frames: dict[int, list[tuple[int, int]]] = {}  # host -> (time of its first frame in a session, session)
    rows = np.flatnonzero((hops.sender >= nodes.stations) & ~hops.is_wired)
    numbers = hops.table.pick("session", rows)
    for host, number, at_ns in zip(hops.sender[rows].tolist(), numbers, hops.send_ns[rows].tolist(), strict=True):
        known = first_frames.setdefault(host, [])
        if number is not None and (not known or number > known[-1][1]):
            known.append((at_ns, number))
    given_up: dict[tuple[int, int], list[int]] = {}
    for at_ns, station, host in expiries(events, nodes):
        given_up.setdefault((station, host), []).append(at_ns)
    ends = {}
    for (host, number), session in sessions.items():
        later = (at_ns for at_ns, of in first_frames.get(host, ()) if of > number)
        since_ns = next((at_ns for at_ns, of in first_frames.get(host, ()) if of == number), 0)
        expired = (at_ns for at_ns in given_up.get((session.station, host), ()) if at_ns >= since_ns)
        ends[host, number] = min(next(later, NEVER), next(expired, NEVER)) - 1
    return ends


def _waiting_problems(samples: Table, hops: Hops, nodes: Nodes, arrivals: Arrivals, delay_ns: int) -> Iterator[str]:
    """Yield rbuffers of stations that do not hold what came up and is passed on later."""
    names, kinds = hops.table.column("message"), hops.table.column("kind")
    wired = kinds.rows("App")
    key = names.codes.astype(np.int64) * nodes.count
    brought = set((key[wired] + hops.receiver[wired]).tolist())
    sent_keys, heads = np.unique(key[wired] + hops.sender[wired], return_index=True)
    is_origin = np.array([each not in brought for each in sent_keys.tolist()], bool)
    rows = wired[heads[is_origin]]
    risen = np.flatnonzero(kinds.among(("AppHs",)) & hops.is_received)
    at_ns, origin_keys = arrivals.at_ns[hops.sender[rows], names.codes[rows]], key[rows] + hops.sender[rows]
    had_ns = latest(key[risen] + hops.receiver[risen], hops.receive_ns[risen], origin_keys, at_ns)
    waits = (had_ns >= 0) & (had_ns + delay_ns < at_ns)
    yield from held_problems(samples, nodes, hops.sender[rows[waits]], had_ns[waits] + delay_ns, at_ns[waits])
