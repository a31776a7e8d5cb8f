"""Judge a run that still has work to do at its deadline: it may be late, excused, or stopped without a reason.

Model     a run continues after its active part until it is at rest or drain_s is over. The verdict depends on the last
          half of that time. Progress means that a host delivered a message, joined, left, or began or ended a handoff,
          or that a buffer shrank. Sending is not progress. Without progress, a waiting node has retried at least once
          every `longest_wait_s`. A retry succeeds if all of EXCHANGE frames arrive. Losses are an excuse if all retries
          may fail with a probability of more than one in a million, for a host that loses UNEQUAL times the average
Units     integer nanoseconds; seconds in sentences
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mobilenet.engine.clock import SECOND
from mobilenet.quoting import pluralize
from mobilenet.record.table import Table
from mobilenet.verify.evidence import Evidence

PROGRESS = ("deliver", "join", "leave", "handoff_start", "handoff_end")
FEWEST_TRIES = 4  # the minimum number of retries in half of the drain time; fewer retries are not conclusive
EXCHANGE = 4  # frames of a retry: join, chal, join, init_ACK; or a copy and its acknowledgement, in both directions
UNEQUAL = 5  # hidden hosts at the edge of a cell may lose this multiple of the average, apart from random losses
RARE = 1e-6
# The share of time that all frames together may take. In a busier medium, a node may have had no chance to send.
MOST_BUSY = 0.5
PAIRS = ("addressed_pairs_", "addressed_ack_pairs_")


class Deadline(NamedTuple):
    """States whether a run that still has work to do at its deadline violates its promise, and why."""

    is_violated: bool
    because: str


def deadline(run: Evidence) -> Deadline:
    """Judge a run that ended before it was at rest."""
    promises, end_ns = run.promises, run.end_ns
    after_s = run.manifest["simulated_s"] - run.manifest["duration_s"]
    within_s = promises["rest_within_s"]
    if within_s is not None:
        if after_s >= within_s:
            return Deadline(True, f"promised within {within_s:.4g} s")
        return Deadline(False, f"promised only after {within_s:.4g} s; a longer drain_s would settle this")
    since_ns = end_ns - round(after_s / 2 * SECOND)
    if (progress := _last_progress(run, since_ns)) is not None:
        hint = promises.get("no_rest_because") or "a longer drain_s may settle this"
        return Deadline(False, f"still making progress: {progress}; {hint}")
    stopped = f"no progress in the last {after_s / 2:.4g} s"
    excuse = next(_excuses(run, since_ns), None)
    return Deadline(excuse is None, stopped if excuse is None else f"{stopped}, but {excuse}")


def _last_progress(run: Evidence, since_ns: int) -> str | None:
    """Describe the last sign of progress after this time, or return None."""
    events = run.events
    rows = events.column("event").rows(*PROGRESS)
    if len(rows) and (at_ns := int(events.numbers("time_ns")[rows[-1]])) > since_ns:
        event, node, message = (events[name][int(rows[-1])] for name in ("event", "node", "message"))
        return f"{node}: {event}{'' if message is None else f' {message}'} at {at_ns / SECOND:.6g} s"
    return _last_change(run, since_ns)


def _last_change(run: Evidence, since_ns: int) -> str | None:
    """Describe the last buffer that shrank after this time, or return None."""
    samples = run.samples
    node, quantity = samples.column("node"), samples.column("quantity")
    rows = quantity.rows(*{name for _, name in run.last_sizes})
    rows = rows[np.lexsort((rows, quantity.codes[rows], node.codes[rows]))]
    is_same = (np.diff(node.codes[rows]) == 0) & (np.diff(quantity.codes[rows]) == 0)
    shrinks = is_same & (np.diff(samples.numbers("value")[rows]) < 0)
    late = rows[1:][shrinks & (samples.numbers("time_ns")[rows[1:]] > since_ns)]
    if not len(late):
        return None
    row = int(late.max())
    at_s = samples["time_ns"][row] / SECOND
    return f"the {samples['quantity'][row]} of {samples['node'][row]} shrank at {at_s:.6g} s"


def _excuses(run: Evidence, since_ns: int) -> Iterator[str]:
    """Yield reasons, other than the protocol, for which the run may not have come to rest."""
    promises, wired = run.promises, run.counters["wired"]
    wait_s = promises.get("longest_wait_s")
    if wait_s is None:
        yield promises.get("no_rest_because") or "the record does not show how long nodes wait"
        return
    half_s = (run.end_ns - since_ns) / SECOND
    tries = int(half_s / wait_s)
    if tries < FEWEST_TRIES:
        yield f"nodes wait up to {wait_s:.4g} s before they try again; a longer drain_s would settle this"
    if wired.get("lost"):
        yield f"links that were cut or impaired lost {pluralize(wired['lost'], 'message')}"
    if wired.get("suspicions"):
        yield "stations suspected others, which never fail"
    if wired["in_flight"]:
        yield f"{pluralize(wired['in_flight'], 'message')} on the wires may still change this"
    totals = _totals(run.samples, since_ns)
    if (busy := totals.get("radio_airtime_ns", 0.0) / SECOND / half_s) > MOST_BUSY:
        yield f"the radio was busy for {100 * busy:.3g} % of that time, so nodes may have had to wait for it"
    pairs = Counter[str]()
    for name, count in totals.items():
        for prefix in PAIRS:
            if name.startswith(prefix):
                pairs[name.removeprefix(prefix)] += round(count)
    every, random = pairs.total(), pairs["random"]
    dropped = run.counters["radio"].get("queue_drops", 0)
    others = every - pairs["received"] - random + dropped
    share = min(1.0, (random + UNEQUAL * others) / max(1, every))
    if (1 - (1 - share) ** EXCHANGE) ** tries > RARE:
        lost = pluralize(random + others, "reception")
        yield f"{lost} of {every:,} were lost in that time, which may explain it; a longer drain_s may settle this"


def _totals(samples: Table, since_ns: int) -> dict[str, float]:
    """Return how much the running totals of the network grew after that time."""
    rows = samples.column("node").rows("network")
    grown: dict[str, float] = {}
    before: dict[str, float] = {}
    columns = (samples.pick(name, rows) for name in ("time_ns", "quantity", "value"))
    for at_ns, quantity, value in zip(*columns, strict=True):
        if at_ns <= since_ns:
            before[quantity] = value
        grown[quantity] = value - before.get(quantity, 0.0)
    return grown
