"""Check how many messages a process keeps until they are acknowledged.

Checks    in a run without crashes and suspicions a source keeps its broadcast until it is complete; and a process that
          hands a message on keeps it from its delivery until the acknowledgements of its children can have come, but
          not until its own can only come after the completion
Model     of the broadcasts that report completion, where changes are sampled; nothing of it is delivered out of order
Units     integer nanoseconds
Shapes    over entries: a process and a message that it keeps; over messages and processes
Source    ours: docs/protocols/vcube.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from mobilenet.quoting import pluralize
from mobilenet.rundir.table import CodedColumn, Table

WAITS = "unacknowledged"
NEVER = 1 << 62


class Entries(NamedTuple):
    """All entries of all processes. Each array is sorted by process, then by time, as one number."""

    since: np.ndarray
    until_least: np.ndarray
    until_most: np.ndarray
    span_ns: int

    def bounds(self, keys: np.ndarray, is_amid: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return the fewest and the most entries at that process and time; `is_amid`: something may still happen."""
        least = np.searchsorted(self.since, keys, "left" if is_amid else "right")
        least -= np.searchsorted(self.until_least, keys, "right")
        most = np.searchsorted(self.since, keys, "right")
        most -= np.searchsorted(self.until_most, keys, "left" if is_amid else "right")
        return least, most


def kept_problems(
    events: Table, samples: Table, hop_ns: int, parents_of: Callable[[np.ndarray], np.ndarray], end_ns: int
) -> Iterator[str]:
    """Yield sizes that cannot be. `parents_of`: roots -> who sends to whom, int64 (roots, processes); -1: the root."""
    entries = _entries(events, hop_ns, parents_of, end_ns)
    if entries is None:
        return
    rows = samples.column("quantity").rows(WAITS)
    keys = _numbers(samples.column("node"))[rows] * entries.span_ns + samples.numbers("time_ns")[rows]
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], samples.numbers("value")[rows[order]]
    yield from _wrong(keys, values, *entries.bounds(keys, is_amid=True), entries.span_ns)
    times = np.unique(np.concatenate((keys, entries.since, entries.until_most)))
    times = times[times % entries.span_ns <= end_ns]
    place = np.searchsorted(keys, times, "right") - 1
    has = (place >= 0) & (keys[place] // entries.span_ns == times // entries.span_ns)
    yield from _wrong(times, np.where(has, values[place], 0), *entries.bounds(times), entries.span_ns)


def _wrong(keys: np.ndarray, values: np.ndarray, least: np.ndarray, most: np.ndarray, span_ns: int) -> Iterator[str]:
    for at in np.flatnonzero((values < least) | (values > most)).tolist():
        what = f"at {keys[at] % span_ns / 1e9:g} t.u.: p{keys[at] // span_ns} holds {values[at]:g} in {WAITS}, but"
        due = int(least[at] if values[at] < least[at] else most[at])
        limit = "at least" if values[at] < least[at] else "at most"
        yield f"{what} should hold {limit} {pluralize(due, 'message')}"


def _entries(events: Table, hop_ns: int, parents_of: Callable[[np.ndarray], np.ndarray], end_ns: int) -> Entries | None:
    """None: nothing was broadcast."""
    event, message = events.column("event"), events.column("message")
    times, node = events.numbers("time_ns"), _numbers(events.column("node"))
    sent, complete = (event.rows(name) for name in ("broadcast", "complete"))
    if not len(sent):
        return None
    place = np.full(len(message.words) + 1, -1)
    place[message.codes[sent]] = np.arange(len(sent))
    roots, which = np.unique(node[sent], return_inverse=True)
    parents = parents_of(roots)[which]
    done_ns = np.full(len(sent), NEVER)
    complete = complete[place[message.codes[complete]] >= 0]
    done_ns[place[message.codes[complete]]] = times[complete]
    got_ns = np.full(parents.shape, NEVER)
    rows = event.rows("deliver")
    rows = rows[place[message.codes[rows]] >= 0]
    got_ns[place[message.codes[rows]], node[rows]] = times[rows]
    answered_ns = np.full(parents.shape, -1)
    has_parent = parents >= 0
    senders = (parents + np.arange(len(sent))[:, None] * parents.shape[1])[has_parent]  # flat, which is fast
    np.maximum.at(answered_ns.reshape(-1), senders, got_ns[has_parent] + hop_ns)
    one, relay = np.nonzero((answered_ns >= 0) & has_parent & (got_ns < NEVER))
    span_ns = end_ns + 2
    who = np.concatenate((node[sent], relay))
    columns = (
        np.concatenate((times[sent], got_ns[one, relay])),
        np.concatenate((done_ns, answered_ns[one, relay])),
        np.concatenate((done_ns, done_ns[one] - hop_ns)),
    )
    since, least, most = (np.sort(who * span_ns + np.minimum(column, end_ns + 1)) for column in columns)
    return Entries(since, least, most, span_ns)


def _numbers(nodes: CodedColumn) -> np.ndarray:
    """Return the number of each row's process."""
    numbers: np.ndarray = nodes.map([int(name[1:]) for name in nodes.words], nothing=-1).astype(np.int64)
    return numbers
