"""Return broadcasts, their deliveries, and the messages that each delivery has to wait for, as columns.

Model     Happened-before is computed only from the events. The immediate predecessors of a message are its sender's
          frontier: the messages that the sender had broadcast or delivered, and on which no other such message depends.
          In causal order, a host that delivers m has delivered all predecessors of m, so they leave its frontier when m
          enters. Without causal order, messages have no predecessors. If a run has more than DELIVERIES deliveries, the
          page contains every k-th message, and their immediate predecessors, so that it can show what each message
          waits for.
Units     nanoseconds; delays in seconds (float32: seven digits)
Shapes    deliveries sorted by message, then time; the deliveries of message i end before `ends[i]`
Source    Lamport, Time, clocks, and the ordering of events in a distributed system (1978); ours: docs/guide/maps.md
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .pack import narrow, pack_column
from .record import Ints, Record

DELIVERIES = 1_000_000  # the maximum number of deliveries in one page
NOTHING: frozenset[int] = frozenset()


def messages(run: Record, most: int = DELIVERIES) -> dict[str, Any]:
    """Return the columns of all messages, or of a sample with about `most` deliveries."""
    sent, delivered = _rows(run)
    broadcast_of = np.full(len(run.message.words), -1, dtype=np.int64)  # message -> row of its broadcast
    broadcast_of[run.message.codes[sent][::-1]] = sent[::-1]
    delivered = delivered[broadcast_of[run.message.codes[delivered]] >= 0]
    before = (
        _predecessors(run, sent, delivered)
        if is_causal(run)
        else dict.fromkeys(run.message.codes[sent].tolist(), NOTHING)
    )
    all_ids = run.message.codes[sent]
    count = np.bincount(run.message.codes[delivered], minlength=len(run.message.words))
    sample, every = _sample(all_ids, before, count, most)
    place = np.full(len(run.message.words), -1, dtype=np.int64)
    place[sample] = np.arange(len(sample))
    own = delivered[place[run.message.codes[delivered]] >= 0]
    index = place[run.message.codes[own]]
    own, index = (column[np.argsort(index, kind="stable")] for column in (own, index))
    rows = broadcast_of[sample]
    hosts = run.node.number(run.host_of)
    known = [[int(place[p]) for p in before[m] if place[p] >= 0] for m in sample.tolist()]
    return {
        "total": len(all_ids), "deliveries_total": len(delivered), "every": every,
        "time_ns": pack_column(run.time_ns[rows], "f64"), "host": narrow(hosts[rows]),
        "number": narrow([_number(run.message.words[m]) for m in sample.tolist()]),
        "picked": pack_column(_pick(all_ids, every, sample), "u8"),
        "before_ends": narrow(np.cumsum([len(p) for p in known])),
        "before": narrow([p for each in known for p in each]),
        "before_unknown": narrow([len(before[m]) - len(p) for m, p in zip(sample.tolist(), known, strict=True)]),
        "ends": narrow(np.searchsorted(index, np.arange(len(sample)), side="right")),
        "to": narrow(hosts[own]), "delay_s": pack_column((run.time_ns[own] - run.time_ns[rows][index]) / 1e9, "f32"),
    }  # fmt: skip


def is_causal(run: Record) -> bool:
    """Return whether the run promises causal order. Otherwise, a host never has to wait for other messages."""
    promises = run.manifest.get("promises")
    return isinstance(promises, dict) and promises.get("broadcast") == "causal"


def _rows(run: Record) -> tuple[Ints, Ints]:
    kinds = run.event.number({"broadcast": 0, "deliver": 1})
    host = run.node.number(run.host_of)
    named = (run.message.codes >= 0) & (host >= 0)
    sent, delivered = np.flatnonzero((kinds == 0) & named), np.flatnonzero((kinds == 1) & named)
    _, first = np.unique(run.message.codes[sent], return_index=True)
    return sent[np.sort(first)], delivered


def _predecessors(run: Record, sent: Ints, delivered: Ints) -> dict[int, frozenset[int]]:
    rows = np.sort(np.concatenate([sent, delivered]))
    is_sent = np.isin(rows, sent, assume_unique=True)
    hosts, ids = run.node.number(run.host_of)[rows], run.message.codes[rows]
    frontier: list[set[int]] = [set() for _ in run.hosts]
    before: dict[int, frozenset[int]] = {}
    for host, m, own in zip(hosts.tolist(), ids.tolist(), is_sent.tolist(), strict=True):
        if own:
            before[m] = frozenset(frontier[host])
            frontier[host] = {m}
        elif m in before:
            frontier[host] -= before[m]
            frontier[host].add(m)
    return before


def _sample(ids: Ints, before: dict[int, frozenset[int]], count: Ints, most: int) -> tuple[Ints, int]:
    """Return the codes of the sampled messages in order of broadcast, and a number k: every k-th message was
    selected.
    """
    every = 1
    while True:
        wanted_ids = set(ids[::every].tolist())
        if every > 1:
            wanted_ids |= {p for m in list(wanted_ids) for p in before[m]}
        sample = ids[np.isin(ids, np.fromiter(wanted_ids, dtype=np.int64, count=len(wanted_ids)))]
        load = int(count[sample].sum())
        if load <= most or every >= max(1, len(ids)):
            return sample, every
        every = max(every + 1, min(len(ids), round(every * min(16, load / most))))


def _pick(ids: Ints, every: int, sample: Ints) -> Ints:
    return np.isin(sample, ids[::every]).astype(np.int64)


def _number(name: str) -> int:
    tail = name.rpartition(":")[2]
    return int(tail) if tail.isdecimal() and len(tail) < 10 else 0
