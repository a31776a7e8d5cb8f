"""Check the details of handoffs against the events and the samples.

Checks    each detail has the keys that the protocol's have, and whole numbers of messages
          a handoff begins because of `recovery` exactly when the host has just recovered
          `recovered`: this number of messages comes first, all broadcast before the handoff ended, and none more than
          there were that the host had not delivered. Where the session lasts until the run is at rest, all of them come
          `skipped`: not more than messages were broadcast before
          where the lengths of lists are sampled, `skipped` is that of a list `skip` that the station sent since the
          handoff began, and `recovered` that of a list `bodies` sent between stations since the last session was
          confirmed, or what may be left of the last one where the station is the same; none where stations may forget,
          or one of them has since given up on the host
Model     what was recovered or skipped for which host is in no table but messages.parquet: a list of the same length
          that was sent for another host in the meantime is taken as well
Source    ours: docs/protocols/mobile-causal.md, docs/run-directory.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np

from mobilenet.expected.expectations import Conduct
from mobilenet.quoting import pluralize
from mobilenet.rundir.table import Columns, Table, by_code

NUMBERS = ("recovered", "skipped", "relayed")
CAUSES = ("cell", "recovery", "reinit", "join")
LISTS = ("skip", "bodies")
Lengths = dict[str, tuple[list[int], list[float]]]  # kind of list, or node -> times, and lengths of the list then


class _Handoffs:
    def __init__(self, events: Columns, conduct: Conduct, quiescent: bool, lengths: Lengths | None) -> None:
        self._events = Table.of(events)
        self._conduct = conduct
        self._quiescent = quiescent
        self._lengths = lengths
        self._broadcasts = self._events.column("event").rows("broadcast")
        self._deliveries = self._rows_by_host("deliver")
        self._ends: list[tuple[str, int, int]] = []  # of handoffs: host, row, how many messages were recovered
        self._begun_ns: dict[str, int] = {}
        self._confirmed: dict[str, tuple[int, str | None, int]] = {}  # host -> when, by whom, how many were recovered
        self._recovered_ns: dict[str, int] = {}  # host -> when it came up
        self._given_up: set[str] = set()  # hosts that a station gave up since they were confirmed

    def _rows_by_host(self, *kinds: str) -> dict[str, np.ndarray]:
        node, rows = self._events.column("node"), self._events.column("event").rows(*kinds)
        codes = node.codes[rows]
        rows = rows[by_code(codes)]
        ends = np.cumsum(np.bincount(codes, minlength=len(node.words)))
        return {name: rows[begin:end] for name, begin, end in zip(node.words, [0, *ends], ends, strict=False)}

    def problem(self) -> str | None:
        events = self._events
        kinds = (*self._conduct.details, "join", "leave", "crash", "recover", "gap")
        rows = events.column("event").rows("expire", *kinds)
        columns = rows.tolist(), events.pick("event", rows), events.pick("node", rows)
        for row, event, node in zip(*columns, strict=True):
            if event == "expire":
                self._given_up.add(json.loads(events["detail"][row] or "{}").get("host", ""))
                continue
            problem = self._note(row, event, node)
            if problem is not None:
                return f"{self._when(row)}: {node}: {event} {problem}"
        return self._recovery_problem(self._rows_by_host(*kinds)) if self._ends else None

    def _recovery_problem(self, others: dict[str, np.ndarray]) -> str | None:
        """A host delivers what it recovered next, unless something else happens to it before."""
        message = self._events.column("message")
        sent = np.zeros(len(message.words) + 1, np.int64)
        sent[message.codes[self._broadcasts]] = self._broadcasts
        for node, row, recovered in self._ends:
            after = others[node][np.searchsorted(others[node], row, "right") :]
            first = int(np.searchsorted(self._deliveries[node], row))
            delivered = self._deliveries[node][first : first + recovered]
            delivered = delivered[: np.searchsorted(delivered, after[0])] if len(after) else delivered
            late = np.flatnonzero(sent[message.codes[delivered]] > row)
            if len(late):
                return (
                    f"{self._when(int(delivered[late[0]]))}: {node} delivers"
                    f" {message.words[message.codes[delivered[late[0]]]]}, which was broadcast after the last handoff"
                    f" of {node}, before {node} delivers {pluralize(recovered - int(late[0]), 'message')} recovered in"
                    " that handoff"
                )
            if self._quiescent and not len(after) and len(delivered) < recovered:
                return (
                    f"{self._when(row)}: {node}'s handoff_end counts"
                    f" {pluralize(recovered - len(delivered), 'more message')} as recovered than the"
                    " node delivers before"
                    " the run is at rest"
                )
        return None

    def _note(self, row: int, event: str, node: str) -> str | None:
        events = self._events
        now_ns, detail = events["time_ns"][row], json.loads(events["detail"][row] or "{}")
        keys = self._conduct.details.get(event, ())
        if event in self._conduct.details:
            if not set(detail) <= {key.rstrip("?") for key in keys} or any(
                key not in detail for key in keys if not key.endswith("?")
            ):
                return f"has detail {detail}, expected {', '.join(keys) or 'none'}"
            if "cause" in detail and detail["cause"] not in CAUSES:
                return f"has the cause {detail['cause']!r}, expected {', '.join(CAUSES)}"
            for key in NUMBERS:
                if key in detail and (type(detail[key]) is not int or detail[key] < 0):
                    return f"has {key} {detail[key]!r}, expected a whole number ≥ 0"
        if event == "recover":
            self._recovered_ns[node] = now_ns
        elif event == "join":
            self._confirmed[node] = now_ns, events["station"][row], 0
        elif event == "handoff_start":
            self._begun_ns[node] = now_ns
            if (detail["cause"] == "recovery") != (self._recovered_ns.pop(node, None) == now_ns) and detail[
                "cause"
            ] != "join":
                recovers = "does not recover then" if detail["cause"] == "recovery" else "recovers then"
                return f"has the cause {detail['cause']!r}, but the host {recovers}"
        elif event == "handoff_end" and "recovered" in detail:
            return self._end_problem(row, node, detail["recovered"], detail["skipped"])
        return None

    def _end_problem(self, row: int, node: str, recovered: int, skipped: int) -> str | None:
        now_ns, station = self._events["time_ns"][row], self._events["station"][row]
        sent = int(np.searchsorted(self._broadcasts, row))
        has = int(np.searchsorted(self._deliveries[node], row))
        if recovered > sent - has:
            known = f"the host already has {has} of the {sent} messages"
            return f"counts {pluralize(recovered, 'message')} as recovered, but {known}"
        if skipped > sent:
            return f"counts {pluralize(skipped, 'message')} as skipped, but only {sent} were broadcast"
        since_ns, before, left = self._confirmed.get(node, (0, None, 0))
        if self._lengths is not None:
            lengths = _between(self._lengths.get(f"skip {station}"), self._begun_ns.get(node, 0), now_ns)
            if skipped not in lengths:
                return (
                    f"counts {pluralize(skipped, 'message')} as skipped, but {station} sent {_list_in_words(lengths)}"
                )
            lengths = _between(self._lengths.get("bodies"), since_ns, now_ns)
            if before == station:
                lengths |= set(range(left + 1))
            if self._conduct.forgets_after_s is not None or node in self._given_up:
                lengths.add(0)
            if recovered not in lengths:
                return (
                    f"counts {pluralize(recovered, 'message')} as recovered, but stations sent"
                    f" {_list_in_words(lengths)}"
                )
        self._confirmed[node] = now_ns, station, recovered
        self._given_up.discard(node)
        if recovered:
            self._ends.append((node, row, recovered))
        return None

    def _when(self, row: int) -> str:
        return f"events: at {self._events['time_ns'][row] / 1e9:.6f} s (event {row})"


def handoffs_problem(
    events: Columns, samples: Columns, conduct: Conduct | None, manifest: dict[str, Any]
) -> str | None:
    """The first detail that does not fit."""
    if conduct is None:
        return None
    lengths = None if manifest["promises"]["duplicating_air"] else _lengths(samples)
    return _Handoffs(events, conduct, manifest["quiescent"], lengths).problem()


def _lengths(samples: Columns) -> Lengths:
    lengths: Lengths = {}
    table = Table.of(samples)
    rows = table.column("quantity").rows(*LISTS)
    columns = (table.pick(name, rows) for name in ("time_ns", "node", "quantity", "value"))
    for time, node, quantity, value in zip(*columns, strict=True):
        times, values = lengths.setdefault(f"skip {node}" if quantity == "skip" else quantity, ([], []))
        times.append(time)
        values.append(value)
    return lengths


def _between(lengths: tuple[list[int], list[float]] | None, since_ns: int, until_ns: int) -> set[float]:
    if lengths is None:
        return set()
    times, values = lengths
    return set(values[bisect_left(times, since_ns) : bisect_right(times, until_ns)])


def _list_in_words(lengths: set[float]) -> str:
    return ", ".join(f"{length:g}" for length in sorted(lengths)) or "none"
