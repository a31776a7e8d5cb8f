"""Check that frames keep to the rules of a MAC that listens before it sends.

Checks    an acknowledgement comes from a node that received a frame for it, SIFS after that frame
          where every frame is to be acknowledged, each that was received is, unless the receiver goes down or sends
          a node that received a frame, or sent one, waits DIFS before it sends another one; so does, with the unit
          disk, one within reach of a frame, from its arrival on
          each attempt that was not acknowledged is a retry, or was given up
Model     an acknowledgement without a receiver has no row, and may be missing. A crash, and the end of the run,
          leave at most one attempt of a node without a consequence
Units     integer nanoseconds
Shapes    over rows
Errors    none
Source    IEEE 802.11-2016, 10.3; docs/models/radio.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mobilenet.expected.expectations import Air, Expectations
from mobilenet.rundir.table import Table
from mobilenet.verify.air.nodes import Nodes, first
from mobilenet.verify.air.outages import Outages
from mobilenet.verify.air.outcomes import BIT_ERRORS, RANDOM, RECEIVED
from mobilenet.verify.air.pairs import Pairs


def mac_problem(
    pairs: Pairs, nodes: Nodes, outages: Outages, expected: Expectations, counters: dict[str, Any], end_ns: int
) -> str | None:
    """The first frame that breaks a rule; `end_ns`: of the run."""
    air = expected.air
    assert air is not None
    if air.ack is None or not len(pairs.start_ns):
        return None
    problems = (
        _ack_problems(pairs, nodes, air),
        _unanswered_problems(pairs, nodes, outages, expected, counters, end_ns) if air.only_segments else (),
        _spacing_problems(pairs, nodes, air),
        () if air.by_power else _sensing_problems(pairs, nodes, air),
    )
    return next((problem for each in problems for problem in each), None)


def retries_problem(events: Table, pairs: Pairs | None, nodes: Nodes, air: Air, counters: dict[str, Any]) -> str | None:
    """Whether enough frames were sent again or given up, where every frame is to be acknowledged."""
    if air.ack is None or not air.only_segments:
        return None
    radio, kinds = counters["radio"], counters["by_message_type"]
    attempts = sum(kind["count"] for side in ("host", "station") for kind in kinds[side].values())
    acks = radio["mac_acks"]
    if pairs is not None:
        acks = int((pairs.is_ack & pairs.addressed & (pairs.outcome == RECEIVED)).sum())
    crashes = len(events.column("event").rows("crash"))
    least = attempts - acks - crashes - 2 * nodes.count
    failed = radio["mac_retries"] + radio.get("mac_given_up", 0)
    if failed >= least:
        return None
    return (
        f"radio: retries plus frames given up: {failed}; frames that were not acknowledged: at least {least} of"
        f" {attempts}"
    )


def _answers(pairs: Pairs, nodes: Nodes) -> tuple[np.ndarray, np.ndarray]:
    """Rows of frames that were received where they should be; and acknowledgements, one row of each."""
    heads = pairs.first[pairs.is_ack[pairs.first]]
    return np.flatnonzero((pairs.outcome == RECEIVED) & pairs.addressed & ~pairs.is_ack), heads


def _ack_problems(pairs: Pairs, nodes: Nodes, air: Air) -> Iterator[str]:
    data, acks = _answers(pairs, nodes)
    for node in np.unique(pairs.sender[acks]).tolist():
        own = acks[pairs.sender[acks] == node]
        due_ns = np.sort(pairs.end_ns[data[pairs.receiver[data] == node]]) + air.sifs_ns
        if (at := first(~_is_within(due_ns, pairs.start_ns[own] - pairs.delay_ns, pairs.start_ns[own]))) is not None:
            who = nodes.name(node)
            yield f"{pairs.words(int(own[at]))}: {who} acknowledges, but received no frame that ended one SIFS earlier"


def _is_within(times_ns: np.ndarray, since_ns: np.ndarray, until_ns: np.ndarray) -> np.ndarray:
    """Whether any of these times, which ascend, is between the two, row by row."""
    is_within: np.ndarray = np.searchsorted(times_ns, since_ns) < np.searchsorted(times_ns, until_ns, "right")
    return is_within


def _unanswered_problems(
    pairs: Pairs, nodes: Nodes, outages: Outages, expected: Expectations, counters: dict[str, Any], end_ns: int
) -> Iterator[str]:
    air = expected.air
    assert air is not None and air.ack is not None and expected.hosts is not None
    data, acks = _answers(pairs, nodes)
    hidden = counters["radio"]["mac_acks"] - len(acks)
    missing: list[int] = []
    gone_ns = [*[1 << 62] * nodes.stations, *(plan.vanishes_ns or 1 << 62 for plan in expected.hosts)]
    for node in np.unique(pairs.receiver[data]).tolist():
        own = data[pairs.receiver[data] == node]
        since_ns = pairs.end_ns[own] + air.sifs_ns
        until_ns = since_ns + pairs.delay_ns
        starts = np.sort(pairs.start_ns[acks[pairs.sender[acks] == node]])
        sent = pairs.first[pairs.sender[pairs.first] == node]
        is_free = ~outages.touches(node, pairs.start_ns[own], until_ns) & (until_ns < gone_ns[node])
        is_free &= until_ns + air.ack[1] + pairs.delay_ns < end_ns
        # it may send something else meanwhile
        is_free &= ~_is_within(np.sort(pairs.start_ns[sent]), pairs.end_ns[own], until_ns)
        missing += own[is_free & ~_is_within(starts, since_ns, until_ns)].tolist()
    if len(missing) > hidden:
        row = min(missing)
        yield (
            f"{pairs.words(row)}: it is received, but not acknowledged ({len(missing)} such frames, but only"
            f" {hidden} acknowledgements without a row)"
        )


def _spacing_problems(pairs: Pairs, nodes: Nodes, air: Air) -> Iterator[str]:
    receptions = np.flatnonzero(np.isin(pairs.outcome, (RECEIVED, RANDOM, BIT_ERRORS)))
    heads = pairs.first[~pairs.is_ack[pairs.first]]
    for node in np.unique(pairs.sender[heads]).tolist():
        own = heads[pairs.sender[heads] == node]
        ends_ns = np.sort(pairs.end_ns[receptions[pairs.receiver[receptions] == node]])
        early = _is_within(ends_ns, pairs.start_ns[own] - air.difs_ns + 1, pairs.start_ns[own] - pairs.delay_ns - 1)
        if (at := first(early)) is not None:
            yield f"{pairs.words(int(own[at]))}: {nodes.name(node)} heard another frame less than one DIFS earlier"


def _sensing_problems(pairs: Pairs, nodes: Nodes, air: Air) -> Iterator[str]:
    """Every node within reach senses a frame, received or not; what begins by its arrival may begin."""
    heads = pairs.first[~pairs.is_ack[pairs.first]]
    for node in np.unique(pairs.sender[heads]).tolist():
        own = heads[pairs.sender[heads] == node]
        sensed = np.flatnonzero(pairs.receiver == node)
        sensed = sensed[np.argsort(pairs.start_ns[sensed], kind="stable")]
        busy_ns = np.append(0, np.maximum.accumulate(pairs.end_ns[sensed]) + air.difs_ns)
        arrived = np.searchsorted(pairs.start_ns[sensed], pairs.start_ns[own] - pairs.delay_ns)
        if (at := first(busy_ns[arrived] > pairs.start_ns[own])) is not None:
            what = f"{nodes.name(node)} senses another frame at that time or less than one DIFS earlier"
            yield f"{pairs.words(int(own[at]))}: {what}"
