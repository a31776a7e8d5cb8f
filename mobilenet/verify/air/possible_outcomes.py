"""Whether the outcome of each frame at each receiver is possible, given the other rows and the outages of nodes.

Checks    a node that is down sends nothing, and everything that reaches it then is lost as `receiver_down`; this needs
          a receiver that is down, and a receiver that goes down meanwhile receives nothing
          a node that sends receives nothing, unless its radio is full duplex; `half_duplex` needs that it sends
          with the unit disk and no capture what overlaps another frame at the receiver is not received
          `collision`, `never_attempted` and `preamble_missed` need another frame
          random losses are possible: losses.py
Model     when a frame arrives is known up to the longest propagation delay: only what is beyond that is certain. Frames
          without receivers, and those in the air when the run ends, have no rows: where one of them can be the cause,
          the row passes
Units     integer nanoseconds
Shapes    over rows
Errors    none
Source    ours: docs/models/radio.md, docs/models/sinr.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mobilenet.expected.expectations import Expectations
from mobilenet.verify.air.losses import loss_problems
from mobilenet.verify.air.nodes import Nodes, first
from mobilenet.verify.air.outages import Outages
from mobilenet.verify.air.outcomes import (
    BIT_ERRORS,
    COLLISION,
    HALF_DUPLEX,
    NEVER_ATTEMPTED,
    OUTCOMES,
    PREAMBLE_MISSED,
    RANDOM,
    RECEIVED,
    RECEIVER_DOWN,
)
from mobilenet.verify.air.pairs import Pairs
from mobilenet.verify.air.tallies import UnrecordedFrames

TO_ITS_END = (RECEIVED, RANDOM, BIT_ERRORS)  # what was received until its last bit had arrived
NO_NS = -(1 << 62)


class Unseen(NamedTuple):
    """What may have been in the air without a row."""

    hidden: UnrecordedFrames
    last_start_ns: np.ndarray  # of each node's frames with rows
    longest_ns: int | None  # no frame lasts longer; None: not known
    end_ns: int  # of the run
    around_ns: int  # no frame takes longer to a node that it disturbs

    def may_send(self, node: int, until_ns: int) -> bool:
        """Whether a frame of this node could have begun by then and not have ended with the run."""
        if self.longest_ns is not None and until_ns + self.longest_ns + 2 * self.around_ns < self.end_ns:
            return False
        return bool(self.last_start_ns[node] <= until_ns)

    def may_reach(self, receiver: int, until_ns: int) -> bool:
        """Whether any node except this one could have begun a frame without a row by then."""
        return any(self.may_send(node, until_ns) for node in range(len(self.last_start_ns)) if node != receiver)

    def may_disturb(self, pairs: Pairs, row: int) -> bool:
        """Whether a frame without a row could have been in the air with that of this row."""
        since_ns, until_ns = int(pairs.start_ns[row]) - self.around_ns, int(pairs.end_ns[row]) + self.around_ns
        return self.may_reach(int(pairs.receiver[row]), until_ns) or self.may_be_hidden(since_ns, until_ns)

    def may_be_hidden(self, since_ns: int, until_ns: int) -> bool:
        """Whether a frame without receivers could have been in the air then."""
        until = None if self.longest_ns is None else until_ns + self.longest_ns
        return self.hidden.may_end_between(since_ns, until)


def unseen_in(
    pairs: Pairs, nodes: Nodes, hidden: UnrecordedFrames, expected: Expectations, broadcasts: int, end_ns: int
) -> Unseen:
    """`broadcasts`: their number; `end_ns`: the end of the run."""
    longest_ns = _longest_ns(expected, nodes, broadcasts)
    return Unseen(hidden, _last_starts(pairs, nodes), longest_ns, end_ns, pairs.around_ns)


def outcomes_problem(
    pairs: Pairs, nodes: Nodes, outages: Outages, unseen: Unseen | None, expected: Expectations
) -> str | None:
    """The first row with an impossible outcome; without `unseen` causes are not checked: they may be anything."""
    problems = (
        loss_problems(pairs, nodes, expected),
        _outage_problems(pairs, outages, nodes, expected),
        _overlap_problems(pairs, nodes, unseen, expected),
    )
    return next((problem for each in problems for problem in each), None)


def _last_starts(pairs: Pairs, nodes: Nodes) -> np.ndarray:
    last = np.full(nodes.count, NO_NS)
    np.maximum.at(last, pairs.sender[pairs.first], pairs.start_ns[pairs.first])
    return last


def _longest_ns(expected: Expectations, nodes: Nodes, broadcasts: int) -> int | None:
    air = expected.air
    assert air is not None
    if air.most_bytes is None:
        return None
    size = air.most_bytes + 64 * nodes.hosts + 8 * broadcasts
    return max(air.broadcast.of(size), air.unicast.of(size))


def _outage_problems(pairs: Pairs, outages: Outages, nodes: Nodes, expected: Expectations) -> Iterator[str]:
    assert expected.hosts is not None
    may_be_down = np.zeros(len(pairs.outcome), bool)
    for node in outages.nodes:
        sent = np.flatnonzero(pairs.sender == node)
        if (at := first(outages.covers(node, pairs.start_ns[sent]))) is not None:
            yield f"{pairs.words(int(sent[at]))}: {nodes.name(node)} is down at that time and cannot send"
        rows = np.flatnonzero(pairs.receiver == node)
        start_ns, end_ns, outcome = pairs.start_ns[rows], pairs.end_ns[rows], pairs.outcome[rows]
        deaf = outages.covers(node, start_ns) & (outcome != RECEIVER_DOWN)
        broken = outages.begins_within(node, start_ns, end_ns - pairs.around_ns) & np.isin(outcome, TO_ITS_END)
        if (at := first(deaf | broken)) is not None:
            when = "at" if deaf[at] else "during"
            row = int(rows[at])
            what = f"the fate is {_outcome(pairs, row)}, but {nodes.name(node)} is down"
            yield f"{pairs.words(row)}: {what} {when} that time"
        may_be_down[rows] = outages.touches(node, start_ns, end_ns + pairs.delay_ns)
    for host, plan in enumerate(expected.hosts):
        if plan.vanishes_ns is not None:
            own = pairs.receiver == nodes.stations + host
            may_be_down |= own & (pairs.end_ns + pairs.delay_ns >= plan.vanishes_ns)
    if (wrong := first((pairs.outcome == RECEIVER_DOWN) & ~may_be_down)) is not None:
        name = nodes.name(int(pairs.receiver[wrong]))
        yield f"{pairs.words(wrong)}: the fate is receiver_down, but {name} is not down at that time"


def _overlap_problems(pairs: Pairs, nodes: Nodes, unseen: Unseen | None, expected: Expectations) -> Iterator[str]:
    assert expected.air is not None
    air = expected.air
    is_exclusive = not air.by_power and not air.captures
    # those that need another row at the receiver, or else any other frame
    near = [NEVER_ATTEMPTED, *([COLLISION] if air.reach_is_all else [])]
    anywhere = [outcome for outcome in (COLLISION, PREAMBLE_MISSED) if outcome not in near]
    alone = alone_in_the_air(pairs)
    heads = pairs.first
    frames = heads[np.lexsort((pairs.start_ns[heads], pairs.sender[heads]))]
    senders = np.searchsorted(pairs.sender[frames], np.arange(nodes.count + 1))
    order = np.lexsort((pairs.start_ns, pairs.receiver))
    receivers = np.searchsorted(pairs.receiver[order], np.arange(nodes.count + 1))
    for node in range(nodes.count):
        rows = order[receivers[node] : receivers[node + 1]]
        if not len(rows):
            continue
        own = frames[senders[node] : senders[node + 1]]
        start_ns, end_ns, outcome = pairs.start_ns[rows], pairs.end_ns[rows], pairs.outcome[rows]
        if not air.full_duplex:
            sends, aborts, may_send = _own(start_ns, end_ns, pairs.start_ns[own], pairs.end_ns[own], pairs)
            wrong = aborts & np.isin(outcome, TO_ITS_END) | sends & ~np.isin(outcome, (HALF_DUPLEX, RECEIVER_DOWN))
            if (at := first(wrong)) is not None:
                row = int(rows[at])
                yield (
                    f"{pairs.words(row)}: the fate is {_outcome(pairs, row)}, but {nodes.name(node)} is sending at that"
                    " time"
                )
            for at in np.flatnonzero((outcome == HALF_DUPLEX) & ~may_send).tolist():
                row, until_ns = int(rows[at]), int(end_ns[at]) + pairs.around_ns
                if unseen is None or unseen.may_send(node, until_ns):
                    continue
                if not unseen.may_be_hidden(int(start_ns[at]), until_ns):
                    yield (
                        f"{pairs.words(row)}: the fate is half_duplex, but {nodes.name(node)} sends nothing at that"
                        " time"
                    )
        surely, possibly = _others(start_ns, end_ns, pairs)
        if is_exclusive and (at := first(surely & np.isin(outcome, (RECEIVED, RANDOM)))) is not None:
            row = int(rows[at])
            yield f"{pairs.words(row)}: the fate is {_outcome(pairs, row)}, but another frame arrives at that time"
        if unseen is None:
            continue
        for at in np.flatnonzero(np.isin(outcome, near) & ~possibly).tolist():
            if not unseen.may_reach(node, int(end_ns[at]) + pairs.around_ns):
                row = int(rows[at])
                yield f"{pairs.words(row)}: the fate is {_outcome(pairs, row)}, but no other frame arrives at that time"
        for at in np.flatnonzero(np.isin(outcome, anywhere) & alone[pairs.frame[rows]]).tolist():
            row = int(rows[at])
            if not unseen.may_disturb(pairs, row):
                yield f"{pairs.words(row)}: the fate is {_outcome(pairs, row)}, but no other frame is in the air"


def _own(
    start_ns: np.ndarray, end_ns: np.ndarray, own_start_ns: np.ndarray, own_end_ns: np.ndarray, pairs: Pairs
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whether the receiver surely sends when the frame arrives, surely sends before it has arrived, and may send."""
    before = np.searchsorted(own_start_ns, start_ns) - 1  # the last that began before
    lasts = np.append(own_end_ns, NO_NS)
    begins = np.append(own_start_ns, 1 << 62)
    sends = lasts[before] > start_ns + pairs.delay_ns  # with -1, the last one, if none began before
    after = np.searchsorted(own_start_ns, start_ns, "right")
    aborts = sends | (begins[after] < end_ns - pairs.around_ns)
    last = np.searchsorted(own_start_ns, end_ns + pairs.around_ns, "right") - 1
    return sends, aborts, lasts[last] >= start_ns


def _others(start_ns: np.ndarray, end_ns: np.ndarray, pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    """Whether another row of one receiver, in order of `start_ns`, surely overlaps; and whether one may."""
    delay_ns, around_ns = pairs.delay_ns, pairs.around_ns
    before = np.append(NO_NS, np.maximum.accumulate(end_ns)[:-1])
    next_start_ns, next_end_ns = np.append(start_ns[1:], 1 << 62), np.append(end_ns[1:], 1 << 62)
    is_long = start_ns < end_ns - delay_ns
    surely = is_long & (before > start_ns + delay_ns)
    surely |= (next_start_ns < end_ns - delay_ns) & (next_end_ns > start_ns + delay_ns)
    possibly = (before >= start_ns - around_ns) | (next_start_ns <= end_ns + around_ns)
    return surely, possibly


def alone_in_the_air(pairs: Pairs) -> np.ndarray:
    """Frame by frame, whether no other frame with rows could have been in the air with it."""
    start_ns, end_ns = pairs.start_ns[pairs.first], pairs.end_ns[pairs.first]
    order = np.argsort(start_ns, kind="stable")
    _, possibly = _others(start_ns[order], end_ns[order], pairs)
    alone = np.empty(len(order), bool)
    alone[order] = ~possibly
    return alone


def _outcome(pairs: Pairs, row: int) -> str:
    return OUTCOMES[pairs.outcome[row]]
