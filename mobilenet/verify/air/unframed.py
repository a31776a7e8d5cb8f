"""Check that messages over the radio are possible, where no frames are recorded with them.

Checks    rows by outcome are no more than the pairs that were counted, and account for all addressed ones
          a node sends one message at a time, nothing while it is down, and receives nothing then, or while it sends
          what overlaps at a receiver of the unit disk without capture is not received
          sender and receiver are near enough, and `out_of_range` needs a receiver that may be too far away
          a broadcast message has a row at each node that is surely near enough
Model     a message is in the air for the shortest time that its bytes can take. What is for one node has a row
          only there, so what disturbed it may have no row
Units     integer nanoseconds, bytes, metres
Shapes    over rows
Errors    none
Source    ours: docs/run-directory.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mobilenet.expected.expectations import Air, Expectations
from mobilenet.verify.air.messages import FOR_ALL, OUT_OF_RANGE, Hops
from mobilenet.verify.air.nodes import Nodes, first
from mobilenet.verify.air.outages import Outages
from mobilenet.verify.air.outcomes import OUTCOMES, outcome_numbers
from mobilenet.verify.air.pairs import Pairs, sender_problems
from mobilenet.verify.air.possible_outcomes import outcomes_problem
from mobilenet.verify.air.range import near_m, range_problem
from mobilenet.verify.air.whereabouts import Whereabouts
from mobilenet.verify.basis.radio_counters import acks_among_frames


def unframed_counts_problem(hops: Hops, nodes: Nodes, counters: dict[str, Any]) -> str | None:
    """The first outcome that rows and counters do not agree about."""
    outcomes, radio = outcome_numbers(hops.table.column("fate")), counters["radio"]
    acks = acks_among_frames(radio)
    rows = ~hops.is_wired & (outcomes >= 0)
    of_all = np.bincount(outcomes[rows], minlength=len(OUTCOMES)).tolist()
    of_hosts = np.bincount(outcomes[rows & (hops.sender >= nodes.stations)], minlength=len(OUTCOMES)).tolist()
    for outcome, name in enumerate(OUTCOMES):
        for label, count, tally in (
            ("over the radio", of_all[outcome], radio),
            ("from hosts", of_hosts[outcome], radio["addressed"]),
        ):
            counted = tally["received"] if name == "received" else tally["lost"].get(name, 0)
            if count > counted:
                return f"messages: {count} {label} with the fate {name}, but counters.json counts {counted} pairs"
        tally = radio["addressed"]
        counted = tally["received"] if name == "received" else tally["lost"].get(name, 0)
        if of_all[outcome] + acks < counted:
            return (
                f"messages: {of_all[outcome]} with the fate {name}, but counters.json counts {counted} addressed pairs"
            )
    if (count := sum(of_all)) + acks < (counted := radio["addressed"]["pairs_in_range"]):
        return f"messages: {count} over the radio and within reach, but counters.json counts {counted} addressed pairs"
    return None


def unframed_problem(
    hops: Hops, nodes: Nodes, outages: Outages, whereabouts: Whereabouts, expected: Expectations
) -> str | None:
    """The first row that cannot be."""
    air = expected.air
    assert air is not None and expected.hosts is not None
    outcomes, is_known = hops.table.column("fate"), expected.conduct is not None
    at_one_rate = expected.conduct is not None and not expected.conduct.unicasts
    radio = np.flatnonzero(~hops.is_wired)
    if not len(radio):
        return None
    sent = _pairs(hops, radio, air, at_one_rate)
    problem = next(sender_problems(sent, air), None) or next(_frame_problems(hops, sent), None)
    astray = outcomes.among((OUT_OF_RANGE,))
    problem = problem or next(
        _astray_problems(hops, np.flatnonzero(astray), nodes, outages, whereabouts, expected), None
    )
    arrived = radio[~astray[radio]]
    if problem is not None or not len(arrived):
        return problem
    pairs = _pairs(hops, arrived, air, at_one_rate)
    kinds = hops.table.column("kind").among(FOR_ALL if is_known else ())
    whole = _pairs(hops, arrived[kinds[arrived] & (pairs.sender < nodes.stations)], air, is_known)
    bounds_m = whereabouts.bounds_m(pairs.sender, pairs.receiver, pairs.start_ns)
    problem = range_problem(pairs, nodes, whereabouts, air, bounds_m, whole)
    return problem or outcomes_problem(pairs, nodes, outages, None, expected)


def _pairs(hops: Hops, rows: np.ndarray, air: Air, at_one_rate: bool) -> Pairs:
    """These rows as those of frames; where one may have been sent in several ways, it ends as early as it can, and
    arrives as late.
    """
    start_ns, sender = hops.send_ns[rows], hops.sender[rows]
    begins = np.ones(len(rows), bool)
    begins[1:] = (start_ns[1:] != start_ns[:-1]) | (sender[1:] != sender[:-1])
    carriers = air.carriers
    if at_one_rate:
        carriers = carriers[1:2] if air.only_segments else carriers[:1]
    sizes, which = np.unique(hops.size_bytes[rows], return_inverse=True)
    lasts = [[one.airtime.of(size + one.around_bytes) for size in sizes.tolist()] for one in carriers]
    least, most = np.min(lasts, axis=0).astype(np.int64), np.max(lasts, axis=0).astype(np.int64)
    late_ns = int((most - least).max(initial=0))
    return Pairs(
        hops.table,
        start_ns,
        start_ns + least[which],
        sender,
        hops.receiver[rows],
        hops.size_bytes[rows],
        np.zeros(len(rows), bool),
        np.ones(len(rows), bool),
        outcome_numbers(hops.table.column("fate"))[rows],
        np.cumsum(begins) - 1,
        np.flatnonzero(begins),
        air.delay_ns + late_ns,
        air.around_ns + late_ns,
        rows,
    )


def _frame_problems(hops: Hops, sent: Pairs) -> Iterator[str]:
    """Check that the rows of one message agree."""
    assert sent.origin is not None
    head = sent.origin[sent.first[sent.frame]]
    for name in ("kind", "size_bytes", "host", "session", "message", "detail"):
        codes = hops.table.column(name).codes
        if (row := first(codes[sent.origin] != codes[head])) is not None:
            yield (
                f"{sent.words(row)}: the {name} differs from that in row {head[row]}, which belongs to the same message"
            )
    rises = np.ones(len(head), bool)
    rises[1:] = (sent.frame[1:] != sent.frame[:-1]) | (sent.receiver[1:] > sent.receiver[:-1])
    if (row := first(~rises)) is not None:
        yield f"{sent.words(row)}: the receivers of a message must be different and in order, stations before hosts"


def _astray_problems(
    hops: Hops, rows: np.ndarray, nodes: Nodes, outages: Outages, whereabouts: Whereabouts, expected: Expectations
) -> Iterator[str]:
    """Check messages that were out of range; a station whose radio is off sends, and reaches no node."""
    assert expected.air is not None and expected.hosts is not None
    at_ns, ends = hops.send_ns[rows], (hops.sender[rows], hops.receiver[rows])
    gone_ns = np.array([*[1 << 62] * nodes.stations, *(plan.vanishes_ns or 1 << 62 for plan in expected.hosts)])
    is_there = np.ones(len(rows), bool)
    for node in ends:
        is_there &= (at_ns > whereabouts.appears_ns[node]) & (at_ns < gone_ns[node])
    for node in outages.nodes:
        own = np.flatnonzero(ends[0] == node)
        if node < nodes.stations:
            is_there[own] &= ~outages.touches(node, at_ns[own], at_ns[own])
        elif (at := first(outages.covers(node, at_ns[own]))) is not None:
            row = int(rows[own[at]])
            yield f"{hops.words(row)}: {nodes.name(node)} is down at that time and cannot send"
    _, most_m = whereabouts.bounds_m(*ends, at_ns)
    near = near_m(np.arange(nodes.count), nodes, expected.air)[ends]
    if (at := first(is_there & (most_m <= near))) is not None:
        row = int(rows[at])
        yield (
            f"{hops.words(row)}: out_of_range, but the two nodes are at most {most_m[at]:.1f} m apart,"
            " which is within reach"
        )
