"""Check that each row of `frames` can be a pair of a frame and a receiver, and make the rows arrays.

Checks    sender and receiver are two nodes of the run; the frame ends in the run; the outcome is one that its radio has
          the rows of one frame are together, agree, and name each receiver once, in their order; frames are in the
          order in which they were received
          a frame lasts as long as its size takes at a rate of the scenario, and is large enough for what is around
          each message; an acknowledgement of the MAC is 802.11's
          a node sends one frame at a time; one that listens first waits between two of them
          hosts address all receivers or one station, stations address hosts
Units     integer nanoseconds, bytes
Shapes    over rows, int64 unless stated otherwise; `first`: over frames
Errors    none
Source    ours: docs/models/radio.md, docs/run-directory.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.expected.expectations import Air
from mobilenet.rundir.schema import MAC_ACK
from mobilenet.rundir.table import Table
from mobilenet.verify.air.nodes import Nodes, first, row_in_words
from mobilenet.verify.air.outcomes import OUTCOMES, outcome_numbers


class Pairs(NamedTuple):
    """The rows of `frames`."""

    table: Table
    start_ns: np.ndarray
    end_ns: np.ndarray
    sender: np.ndarray  # indices of nodes
    receiver: np.ndarray
    size_bytes: np.ndarray
    is_ack: np.ndarray  # bool
    addressed: np.ndarray  # bool
    outcome: np.ndarray  # as in FATES
    frame: np.ndarray  # the number of its frame
    first: np.ndarray  # of each frame the first row
    delay_ns: int  # no frame takes longer to a receiver
    around_ns: int  # nor to a node that it disturbs
    origin: np.ndarray | None = None  # the rows of `messages` that these are; None: they are those of `frames`

    def words(self, row: int) -> str:
        if self.origin is None:
            return row_in_words("frames", self.table, row)
        return row_in_words("messages", self.table, int(self.origin[row]))


def pairs_of(table: Table, nodes: Nodes, air: Air) -> Pairs:
    """The rows of `frames` as arrays, unchecked."""
    start_ns, sender = table.numbers("start_ns"), nodes.indices(table.column("sender"))
    begins = np.ones(table.rows, bool)
    begins[1:] = (start_ns[1:] != start_ns[:-1]) | (sender[1:] != sender[:-1])
    return Pairs(
        table,
        start_ns,
        table.numbers("end_ns"),
        sender,
        nodes.indices(table.column("receiver")),
        table.numbers("psdu_bytes"),
        table.column("kind").among((MAC_ACK,)),
        table.column("addressed").among((True,)),
        outcome_numbers(table.column("fate")),
        np.cumsum(begins) - 1,
        np.flatnonzero(begins),
        air.delay_ns,
        air.around_ns,
    )


def pairs_problem(pairs: Pairs, nodes: Nodes, air: Air, end_ns: int) -> str | None:
    """The first row that cannot be; `end_ns`: of the run."""
    return next(_problems(pairs, nodes, air, end_ns), None) if len(pairs.start_ns) else None


def _problems(pairs: Pairs, nodes: Nodes, air: Air, end_ns: int) -> Iterator[str]:
    yield from _row_problems(pairs, air, end_ns)
    yield from _frame_problems(pairs, nodes)
    yield from _size_problems(pairs, air)
    yield from sender_problems(pairs, air)
    yield from _address_problems(pairs, nodes)


def _row_problems(pairs: Pairs, air: Air, end_ns: int) -> Iterator[str]:
    table = pairs.table
    for name, column in (("sender", pairs.sender), ("receiver", pairs.receiver)):
        if (row := first(column < 0)) is not None:
            yield f"{pairs.words(row)}: the {name} {table[name][row]} is not a node of this run"
    if (row := first(pairs.sender == pairs.receiver)) is not None:
        yield f"{pairs.words(row)}: the sender is also the receiver; expected two different nodes"
    if (row := first((pairs.start_ns < 0) | (pairs.end_ns < pairs.start_ns) | (pairs.end_ns > end_ns))) is not None:
        yield (
            f"{pairs.words(row)}: the frame ends at {table['end_ns'][row] / SECOND:.6f} s, expected a time after its"
            f" start and up to the end of the run, {end_ns / SECOND:.6f} s"
        )
    known = [OUTCOMES.index(name) for name in air.outcomes]
    if (row := first(~np.isin(pairs.outcome, known))) is not None:
        yield f"{pairs.words(row)}: the fate is {table['fate'][row]}, expected one of {', '.join(air.outcomes)}"


def _frame_problems(pairs: Pairs, nodes: Nodes) -> Iterator[str]:
    head = pairs.first[pairs.frame]
    kinds = pairs.table.column("kind").codes
    for name, column in (("end_ns", pairs.end_ns), ("psdu_bytes", pairs.size_bytes), ("kind", kinds)):
        if (row := first(column != column[head])) is not None:
            of, other = pairs.table[name][row], pairs.table[name][int(head[row])]
            yield f"{pairs.words(row)}: {name} is {of}, expected {other} as in the other rows of this frame"
    rises = np.ones(len(head), bool)
    rises[1:] = (pairs.frame[1:] != pairs.frame[:-1]) | (pairs.receiver[1:] > pairs.receiver[:-1])
    if (row := first(~rises)) is not None:
        yield f"{pairs.words(row)}: the receivers of a frame must be different and in order, stations before hosts"
    late = np.maximum.accumulate(pairs.end_ns) - pairs.delay_ns
    if (row := first(pairs.end_ns < late)) is not None:
        yield f"{pairs.words(row)}: the row is out of order; rows are sorted by the end of the frame"


def _size_problems(pairs: Pairs, air: Air) -> Iterator[str]:
    sizes, which = np.unique(pairs.size_bytes[pairs.first], return_inverse=True)
    lasts = (pairs.end_ns - pairs.start_ns)[pairs.first]
    is_ack = pairs.is_ack[pairs.first]
    if is_ack.any() and air.ack is None:
        yield f"{pairs.words(int(pairs.first[is_ack.argmax()]))}: this MAC sends no acknowledgements over the radio"
        return
    fits = np.zeros(len(lasts), bool)
    for airtime in {air.broadcast, air.unicast}:
        fits |= lasts == np.array([airtime.of(size) for size in sizes.tolist()], np.int64)[which]
    least_bytes = min(carrier.around_bytes for carrier in air.carriers)
    if air.most_bytes is not None:  # what plug-ins take for the size of a message is theirs
        fits &= sizes[which] >= least_bytes
    if air.ack is not None:
        fits = np.where(is_ack, (sizes[which] == air.ack[0]) & (lasts == air.ack[1]), fits)
    if (at := first(~fits)) is not None:
        row = int(pairs.first[at])
        size = int(pairs.size_bytes[row])
        both = " or ".join(map(str, sorted({air.broadcast.of(size), air.unicast.of(size)})))
        expected = f"{both} ns" if size >= least_bytes else f"at least {least_bytes} bytes, the minimum for a message"
        if is_ack[at] and air.ack is not None:
            expected = f"{air.ack[0]} bytes in {air.ack[1]} ns"
        yield f"{pairs.words(row)}: {size} bytes take {lasts[at]} ns, expected {expected}"


def sender_problems(pairs: Pairs, air: Air) -> Iterator[str]:
    """What a MAC waits between two frames, it waits after its own as well."""
    start, end, sender = (column[pairs.first] for column in (pairs.start_ns, pairs.end_ns, pairs.sender))
    order = np.lexsort((start, sender))
    after, before = order[1:], order[:-1]
    gap_ns = np.where(pairs.is_ack[pairs.first[after]], 0, air.difs_ns)
    overlaps = (sender[after] == sender[before]) & (start[after] < end[before] + gap_ns)
    if (at := first(overlaps)) is not None:
        row, other = int(pairs.first[after[at]]), int(pairs.first[before[at]])
        yield f"{pairs.words(row)}: its sender sends another frame at that time or just before ({pairs.words(other)})"


def _address_problems(pairs: Pairs, nodes: Nodes) -> Iterator[str]:
    counts = np.bincount(pairs.frame)
    addressed = np.bincount(pairs.frame, pairs.addressed)
    from_host = pairs.sender >= nodes.stations
    is_data = ~pairs.is_ack
    odd = from_host & is_data & (addressed > 1)[pairs.frame] & (addressed < counts)[pairs.frame]
    odd |= pairs.is_ack & (addressed > 1)[pairs.frame]
    if (row := first(odd)) is not None:
        yield f"{pairs.words(row)}: the frame addresses several of its receivers but not all, expected one or all"
    one_of_hosts = from_host & (addressed == 1)[pairs.frame] & (counts > 1)[pairs.frame]
    astray = pairs.addressed & is_data & (pairs.receiver >= nodes.stations) & one_of_hosts
    astray |= pairs.addressed & is_data & ~from_host & (pairs.receiver < nodes.stations)
    if (row := first(astray)) is not None:
        yield f"{pairs.words(row)}: addressed, but hosts can address only stations, and stations only hosts"
