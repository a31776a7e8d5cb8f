"""Check that stations acknowledge what they received, and that hosts keep the rest.

Checks    a station acknowledges no more of a host's messages than stations have received of it, and never fewer than
          it has before
          a message acknowledged to a host leaves its sbuffer then, and nothing else leaves it
          a host acknowledges in a session no less than before
          a host sends no copy of a message of which it knew that it got through, before it made something that it has
          sent before the copy
          a join names as the first message that may come the next one of its host
Model     AckC of any station and the InitAck that confirms a session make a host forget messages; a Reset makes it
          forget all, and from then on its sbuffer is not checked. Frames of a node leave in the order in which they
          were made, and a message is made after what it reports. The record cuts long lists off: where an AckC is
          cut, anything may have been acknowledged
Units     integer nanoseconds; messages
Shapes    over what one host sent or received
Errors    none
Source    ours: docs/protocols/mobile-causal.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.quoting import pluralize
from mobilenet.rundir.schema import MOST_LISTED
from mobilenet.rundir.table import Table
from mobilenet.verify.air.confirmed import NEVER, Sessions, whole
from mobilenet.verify.air.messages import Hops
from mobilenet.verify.air.nodes import Nodes, first
from mobilenet.verify.air.sizes import NO_SIZES, Sizes, sizes_of

CountRows = list[tuple[int, int, int]]  # when, of how many messages, in which row


class _Numbers(NamedTuple):
    """How many messages got through, by when: both ascend."""

    at_ns: np.ndarray
    counts: np.ndarray

    def by(self, times_ns: np.ndarray) -> np.ndarray:
        """Return the number at each of these times."""
        numbers: np.ndarray = np.append(0, self.counts)[np.searchsorted(self.at_ns, times_ns, "right")]
        return numbers


def acknowledged_problem(
    events: Table, samples: Table, hops: Hops, nodes: Nodes, sessions: Sessions, delay_ns: int, by_stream: bool
) -> str | None:
    """Return the first message, or size of a buffer, that does not fit. `by_stream`: an own message that a host
    receives from a station acknowledges it, and all before it.
    """
    record = _Record(events, samples, hops, nodes, sessions, delay_ns)
    if by_stream:
        record.note_own_messages()
    return next(record.problems(), None)


class _Record:
    def __init__(
        self, events: Table, samples: Table, hops: Hops, nodes: Nodes, sessions: Sessions, delay_ns: int
    ) -> None:
        self._hops, self._nodes, self._delay_ns, self._sessions = hops, nodes, delay_ns, sessions
        self._kinds = hops.table.column("kind")
        self._names = hops.table.column("message")
        rows, self._times = events.column("event").rows("broadcast"), events.numbers("time_ns")
        self._sent_ns = self._times[rows], nodes.indices(events.column("node"))[rows]
        self._sizes = sizes_of(samples, "sbuffer")
        self._numbers = np.array([int(name.rpartition(":")[2]) for name in self._names.words] or [0], np.int64)
        self._sent_counts: dict[int, CountRows] = {}  # host -> what stations send about it
        self._received_counts: dict[int, CountRows] = {}  # host -> what it receives of that
        self._is_cut = False
        self._note_acknowledgements()

    def problems(self) -> Iterator[str]:
        joins = self._of("Join")
        for host in range(self._nodes.stations, self._nodes.count):
            broadcast_ns = self._sent_ns[0][self._sent_ns[1] == host]
            own_joins = joins[self._hops.sender[joins] == host]
            yield from self._acknowledgement_problems(host, own_joins)
            yield from self._join_problems(host, own_joins, broadcast_ns)
            receptions = sorted(self._received_counts.get(host, []))
            got = _Numbers(
                np.array([at_ns for at_ns, *_ in receptions], np.int64),
                np.maximum.accumulate(np.array([count for _, count, _ in receptions], np.int64)),
            )
            yield from self._size_problems(host, broadcast_ns, got)
            yield from self._copy_problems(host, broadcast_ns, got)
        yield from self._position_problems()

    def _of(self, *kinds: str) -> np.ndarray:
        return np.flatnonzero(self._kinds.among(kinds) & ~self._hops.is_wired)

    def _note_acknowledgements(self) -> None:
        hops, stations = self._hops, self._nodes.stations
        rows = self._of("AckC", "InitAck")
        is_for_all = self._kinds.among(("AckC",))[rows].tolist()
        begins = np.ones(len(rows), bool)  # rows of one frame are together
        begins[1:] = (np.diff(hops.send_ns[rows]) != 0) | (np.diff(hops.sender[rows]) != 0)
        columns = (hops.receiver[rows].tolist(), hops.send_ns[rows].tolist(), hops.receive_ns[rows].tolist())
        is_received = hops.is_received[rows].tolist()
        each = zip(rows.tolist(), *columns, begins.tolist(), is_received, is_for_all, strict=True)
        for row, host, send_ns, receive_ns, is_first, was_received, is_list in each:
            seq_h = hops.detail_of(row).get("seq_h")
            counts: dict[str, Any] = seq_h if isinstance(seq_h, dict) else {str(host - stations): seq_h}
            if is_list and len(counts) >= MOST_LISTED:
                self._is_cut = True
            if is_first:
                for number, count in counts.items():
                    self._sent_counts.setdefault(stations + int(number), []).append((send_ns, count, row))
            if is_list and was_received and str(host - stations) in counts:
                self._received_counts.setdefault(host, []).append((receive_ns, counts[str(host - stations)], row))
        for (host, _), session in self._sessions.items():
            self._received_counts.setdefault(host, []).append(
                (session.at_ns - self._delay_ns, session.seq_h, session.row)
            )

    def note_own_messages(self) -> None:
        hops, names = self._hops, self._names
        owners = names.map([self._nodes.index(name.partition(":")[0]) for name in names.words], -1)
        rows = self._of("AppSh", "AppOne", "AppCo")
        rows = rows[hops.is_received[rows] & (owners[rows] == hops.receiver[rows])]
        counts = self._numbers[names.codes[rows]] + 1
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
            self._received_counts.setdefault(int(hops.receiver[row]), []).append(
                (int(hops.receive_ns[row]), count, row)
            )

    def _acknowledgement_problems(self, host: int, joins: np.ndarray) -> Iterator[str]:
        """Yield what stations acknowledge too much or too little of."""
        hops, acknowledgements = self._hops, self._sent_counts.get(host, [])
        got = np.flatnonzero(self._kinds.among(("AppHs",)) & hops.is_received & (hops.sender == host))
        numbers = self._numbers[self._names.codes[got]] + 1
        firsts = [whole(hops.detail_of(row), "first_seq") or 0 for row in joins.tolist()]
        at_ns = np.append(hops.receive_ns[got], hops.send_ns[joins])
        order = np.argsort(at_ns, kind="stable")
        most = _Numbers(at_ns[order], np.maximum.accumulate(np.append(numbers, firsts).astype(np.int64)[order]))
        due = most.by(np.array([at_ns for at_ns, *_ in acknowledgements], np.int64)).tolist()
        last: dict[int, int] = {}
        for (_, count, row), limit in zip(acknowledgements, due, strict=True):
            station = int(hops.sender[row])
            what = f"{hops.words(row)}: it acknowledges {pluralize(count, 'message')} of {self._nodes.name(host)}, but"
            if count > limit:
                yield f"{what} stations had received only {limit} by then"
            if count < last.get(station, 0):
                yield f"{what} {self._nodes.name(station)} had already acknowledged {last[station]}"
            last[station] = count

    def _join_problems(self, host: int, joins: np.ndarray, broadcast_ns: np.ndarray) -> Iterator[str]:
        """Yield joins that count from another number; what waits in a queue was made before the session began."""
        numbers = self._hops.table.pick("session", joins)
        for row, number in zip(joins.tolist(), numbers, strict=True):
            session = self._sessions.get((host, number))
            at_ns = int(self._hops.send_ns[row]) if session is None else min(self._hops.send_ns[row], session.at_ns)
            first_seq = whole(self._hops.detail_of(row), "first_seq")
            least, most = (int(np.searchsorted(broadcast_ns, at_ns, side)) for side in ("left", "right"))
            if first_seq is None or not least <= first_seq <= most:
                yield (
                    f"{self._hops.words(row)}: first_seq is {first_seq}, expected {most}, the number of messages that"
                    " its host had broadcast"
                )

    def _size_problems(self, host: int, broadcast_ns: np.ndarray, got: _Numbers) -> Iterator[str]:
        """Yield sizes of a host's sbuffer that acknowledgements contradict."""
        name = self._nodes.name(host)
        sizes = self._sizes.get(name, NO_SIZES)
        resets = np.flatnonzero(self._kinds.among(("Reset",)) & self._hops.is_received & (self._hops.receiver == host))
        until_ns = int(self._hops.receive_ns[resets].min(initial=NEVER))
        times = np.unique(np.append(sizes.times, got.at_ns + self._delay_ns))
        times = times[times < min(until_ns, sizes.times.max(initial=0) + 1)]
        buffer_sizes, sent = _in_force(sizes, times), np.searchsorted(broadcast_ns, times, "right")
        least, most = sent - got.by(times), sent - got.by(times - self._delay_ns)
        if self._is_cut:
            least = np.zeros(len(times), np.int64)
        if (at := first((buffer_sizes > most) | (buffer_sizes < least))) is not None:
            yield (
                f"samples: the sbuffer of {name} holds {pluralize(int(buffer_sizes[at]), 'message')}"
                f" at {times[at] / SECOND:.6f}"
                " s, expected"
                f" {f'{most[at]}' if least[at] == most[at] else f'{least[at]} to {most[at]}'}: {sent[at]} were"
                f" broadcast, and {sent[at] - most[at]} of them were acknowledged"
            )

    def _copy_problems(self, host: int, broadcast_ns: np.ndarray, got: _Numbers) -> Iterator[str]:
        """Yield copies of messages that were through when something was made that was sent before."""
        hops = self._hops
        rows = np.flatnonzero(self._kinds.among(("AppHs", "AckH", "Have")) & (hops.sender == host) & ~hops.is_wired)
        is_copy = self._kinds.among(("AppHs",))[rows]
        numbers = np.where(is_copy, self._numbers[self._names.codes[rows]], -1)
        begun = [self._sessions.get((host, number)) for number in hops.table.pick("session", rows)]
        made_ns = np.array([-1 if session is None else session.at_ns for session in begun], np.int64)
        known = is_copy & (numbers < len(broadcast_ns))
        made_ns[known] = broadcast_ns[numbers[known]]
        made_ns = np.maximum.accumulate(made_ns)
        through = got.by(made_ns - self._delay_ns - 1)
        if (at := first(is_copy & (numbers < through))) is not None:
            row = int(rows[at])
            yield (
                f"{hops.words(row)}: a copy of {hops.table['message'][row]}, sent after a message that its host"
                f" prepared at {made_ns[at] / SECOND:.6f} s, when the host already knew that all its"
                f" messages before number {through[at]} had arrived"
            )

    def _position_problems(self) -> Iterator[str]:
        """Yield acknowledgements of hosts that confirm less than those before."""
        rows = self._of("AckH", "Have")
        numbers = self._hops.table.pick("session", rows)
        last: dict[tuple[int, int], int] = {}
        for row, host, number in zip(rows.tolist(), self._hops.sender[rows].tolist(), numbers, strict=True):
            position, before = whole(self._hops.detail_of(row), "nxt") or 0, last.get((host, number), -NEVER)
            if position < before:
                yield (
                    f"{self._hops.words(row)}: the next position is {position}, expected at least {before}, as in an"
                    " earlier message"
                )
            last[host, number] = position


def _in_force(sizes: Sizes, times: np.ndarray) -> np.ndarray:
    values: np.ndarray = np.append(0.0, sizes.values)[np.searchsorted(sizes.times, times, "right")]
    return values
