"""Whether the sizes of buffers can be what was measured, as far as they follow from events.

Checks    a host's sbuffer grows by one with each of its broadcasts, in that nanosecond, and at no other time
          it shrinks two frames after the broadcast of what leaves it at the earliest, and never while the host is down
          a station's sbuffer takes each message once. Up to any moment it has taken at most as many as can have
          come in, over the radio and, where the sender was with another station, over a wire; and at least those that
          were delivered in its cell, if it had a host from their broadcast on
          when a host delivers, its station's sbuffer holds what has come in by then and the host has yet to deliver, of
          what was broadcast since the station confirmed the host
          a host's rbuffer holds at most two copies of what was broadcast (of each lane one; copies of delivered
          messages may be among them), a station's at most what the sbuffers of all hosts hold
Model     only for protocols that keep messages in this way (Conduct). Stations that give hosts up keep nothing for
          them, and what a wire loses never comes in, so nothing is asked there of what stations keep
Units     integer nanoseconds; messages
Shapes    a buffer's sizes: times int64, values float64, (samples,)
Source    ours: docs/protocols/mobile-causal.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.expected.expectations import Expectations
from mobilenet.quoting import pluralize
from mobilenet.rundir.table import Columns, Table, by_code
from mobilenet.verify.air.sizes import NO_SIZES, Sizes, sizes_of
from mobilenet.verify.record.delays import entries_of, least_airtime_ns

SBUFFER, RBUFFER = "sbuffer", "rbuffer"
CONFIRMS = ("join", "handoff_end")
DOUBTS = ("handoff_start", "leave", "gap")  # from then on the station may have nothing of the host


def buffers_problem(
    events: Columns, samples: Columns, manifest: dict[str, Any], expected: Expectations | None
) -> str | None:
    """The first size that cannot be."""
    if expected is None or expected.conduct is None or expected.hosts is None:
        return None
    if not expected.conduct.keeps_until_acknowledged:
        return None
    record = _Record(Table.of(events), Table.of(samples), expected)
    gives_up = manifest["promises"]["gap_after_s"] is not None
    gives_up |= any(switch.loses for switch in expected.switches)
    least_ns = 0 if expected.air is None else 2 * least_airtime_ns(expected.air)
    return next(chain(record.problems(gives_up), record.shrink_problems(gives_up, least_ns)), None)


class _Record:
    def __init__(self, events: Table, samples: Table, expected: Expectations) -> None:
        self._events = events
        self._air, self._payload_bytes = expected.air, expected.payload_bytes or 0
        self._event, self._node, self._message = (events.column(name) for name in ("event", "node", "message"))
        self._times = events.numbers("time_ns")
        self._sizes = {quantity: sizes_of(samples, quantity) for quantity in (SBUFFER, RBUFFER)}
        self._sent_rows = self._event.rows("broadcast")
        self._sent_ns = self._times[self._sent_rows]
        self._entries = entries_of(events, len(self._message.words))

    def problems(self, gives_up: bool) -> Iterator[str]:
        for node, sizes in self._sizes[SBUFFER].items():
            yield from self._own_problems(node, sizes) if node[0] == "h" else self._most_problems(node, sizes)
        yield from self._unsampled_problems()
        if not gives_up:
            yield from self._least_problems()
            yield from self._kept_problems()
        for node, sizes in self._sizes[RBUFFER].items():
            yield from self._waiting_problems(node, sizes)

    def _own_problems(self, node: str, sizes: Sizes) -> Iterator[str]:
        """Check a host's sbuffer: it grows with each broadcast, by one."""
        steps = np.diff(sizes.values, prepend=0.0)
        grown_ns = sizes.times[steps > 0]
        sent_ns = self._sent_ns[self._node.codes[self._sent_rows] == self._node.code(node)]
        if (steps <= 1).all() and np.array_equal(grown_ns, sent_ns):
            return
        if (steps > 1).any():
            i = int(np.flatnonzero(steps > 1)[0])
            yield f"samples: the sbuffer of {node} grows by {steps[i]:g} at {_s(sizes.times[i])}, expected 1"
        odd_ns = min(set(grown_ns.tolist()) ^ set(sent_ns.tolist()), default=None)
        if odd_ns in sent_ns:
            yield f"samples: {node} broadcasts at {_s(odd_ns)}, but its sbuffer does not grow"
        elif odd_ns is not None:
            yield f"samples: the sbuffer of {node} grows at {_s(odd_ns)}, although {node} broadcasts nothing then"
        elif len(grown_ns) != len(sent_ns):
            yield f"samples: the sbuffer of {node} grows {len(grown_ns)} times, but it broadcasts {len(sent_ns)} times"

    def shrink_problems(self, gives_up: bool, least_ns: int) -> Iterator[str]:
        """Check the sbuffers of hosts: a message leaves once acknowledged, after two frames, while the host is up."""
        hosts = () if gives_up else [node for node in self._sizes[SBUFFER] if node[0] == "h"]
        for node in hosts:
            sizes, turn_ns, is_up = self._sizes[SBUFFER][node], *self._turns(node)
            fallen = np.maximum(-np.diff(sizes.values, prepend=0.0), 0.0).astype(np.int64)
            left_ns = np.repeat(sizes.times, fallen)
            sent_ns = self._sent_ns[self._node.codes[self._sent_rows] == self._node.code(node)][: len(left_ns)]
            for i in np.flatnonzero(left_ns[: len(sent_ns)] < sent_ns + least_ns).tolist():
                yield (
                    f"samples: a message leaves the sbuffer of {node} at {_s(left_ns[i])}, {left_ns[i] - sent_ns[i]} ns"
                    f" after its broadcast; an acknowledgement takes at least {least_ns} ns"
                )
            up = [is_up[np.searchsorted(turn_ns, left_ns, side)] for side in ("left", "right")]
            for i in np.flatnonzero(~(up[0] | up[1])).tolist():
                yield f"samples: a message leaves the sbuffer of {node} at {_s(left_ns[i])}, while {node} is down"

    def _turns(self, node: str) -> tuple[np.ndarray, np.ndarray]:
        """When a host crashed and recovered; and whether it is up, before each of these and after the last."""
        rows = self._event.rows("crash", "recover")
        rows = rows[self._node.codes[rows] == self._node.code(node)]
        recovers = [event == "recover" for event in self._events.pick("event", rows)]
        return self._times[rows], np.array([True, *recovers])

    def _unsampled_problems(self) -> Iterator[str]:
        for code in np.unique(self._node.codes[self._sent_rows]).tolist():
            if self._node.words[code] not in self._sizes[SBUFFER]:
                yield f"samples: {self._node.words[code]} broadcasts, but its sbuffer was never sampled"

    def _most_problems(self, node: str, sizes: Sizes) -> Iterator[str]:
        """Check a station's sbuffer: each message comes in once at most."""
        grown, sent = sizes.grown, np.searchsorted(self._arrivals(node), sizes.times, "right")
        for i in np.flatnonzero(grown > sent).tolist():
            yield (
                f"samples: the sbuffer of {node} had taken {pluralize(int(grown[i]), 'message')} by"
                f" {_s(sizes.times[i])},"
                f" but only {sent[i]} could have arrived"
            )

    def _arrivals(self, station: str) -> np.ndarray:
        """When each message can have come in at the earliest, in order."""
        if self._air is None:
            return np.asarray(self._sent_ns)
        messages = self._message.codes[self._sent_rows]
        entered, until_ns = (column[messages] for column in self._entries)
        by_radio = least_airtime_ns(self._air, self._payload_bytes)
        by_wire = self._sent_ns + by_radio + self._air.wire_delay_ns
        elsewhere = (entered >= 0) & (entered != self._events.column("station").code(station))
        earliest = np.where(elsewhere, np.minimum(by_wire, until_ns + by_radio), self._sent_ns + by_radio)
        return np.asarray(np.sort(earliest))

    def _least_problems(self) -> Iterator[str]:
        """Check the sbuffers of stations: every message delivered in a cell had arrived there."""
        station = self._events.column("station")
        delivered = self._event.rows("deliver")
        delivered = delivered[station.codes[delivered] >= 0]
        place = self._message.codes[delivered].astype(np.int64) * (len(station.words) + 1) + station.codes[delivered]
        rows = delivered[np.sort(np.unique(place, return_index=True)[1])]  # the first in each cell
        sent_ns = np.full(len(self._message.words), 2**62)
        sent_ns[self._message.codes[self._sent_rows]] = self._sent_ns
        served = self._service_times()
        for code, name in enumerate(station.words):
            own = rows[station.codes[rows] == code]
            since_ns = _since(served.get(name, []), self._times[own])
            own = own[sent_ns[self._message.codes[own]] > since_ns]
            sizes = self._sizes[SBUFFER].get(name, NO_SIZES)
            came_in = np.concatenate(([0.0], sizes.grown))[np.searchsorted(sizes.times, self._times[own], "right")]
            for i in np.flatnonzero(came_in < np.arange(1, len(own) + 1)).tolist():
                yield (
                    f"samples: the sbuffer of {name} had taken {pluralize(int(came_in[i]), 'message')} by"
                    f" {_s(self._times[own[i]])},"
                    f" but {i + 1} were delivered in its cell"
                )

    def _kept_problems(self) -> Iterator[str]:
        """Check that sbuffers of stations keep each message that a host still has to deliver and was there for."""
        station, rows = self._events.column("station").codes, self._event.rows("deliver", *CONFIRMS, *DOUBTS)
        rows = rows[by_code(self._node.codes[rows])]
        is_delivery = self._event.among(("deliver",))[rows]
        begin = np.maximum.accumulate(np.where(is_delivery, 0, np.arange(len(rows))))  # of its host's latest session
        since_ns, sent_ns = self._times[rows[begin]], np.full(len(self._message.words) + 1, 2**62)
        sent_ns[self._message.codes[self._sent_rows]] = self._sent_ns
        sent_ns = np.where(is_delivery, sent_ns[self._message.codes[rows]], 0)
        is_there = is_delivery & self._event.among(CONFIRMS)[rows[begin]] & (sent_ns > since_ns)
        is_there &= self._node.codes[rows] == self._node.codes[rows[begin]]
        own = np.flatnonzero(is_there & (station[rows] >= 0) & (station[rows] == station[rows[begin]]))
        before = np.arange(len(own)) - np.searchsorted(begin[own], begin[own])  # delivered in that session
        for code, name in enumerate(self._events.column("station").words):
            here = np.flatnonzero(station[rows[own]] == code)
            here = here[np.argsort(rows[own[here]])]
            at = own[here]
            first = at[np.unique(self._message.codes[rows[at]], return_index=True)[1]]
            now_ns = self._times[rows[at]]
            came_in = np.searchsorted(np.sort(self._times[rows[first]]), now_ns, "right")
            least = came_in - np.searchsorted(np.sort(sent_ns[first]), since_ns[at], "right") - before[here]
            sizes = self._sizes[SBUFFER].get(name, NO_SIZES)
            held = np.concatenate(([0.0], sizes.values))[np.searchsorted(sizes.times, now_ns, "right")]
            for i in np.flatnonzero(held < least).tolist():
                yield (
                    f"samples: the sbuffer of {name} holds {pluralize(int(held[i]), 'message')} at {_s(now_ns[i])},"
                    f" but"
                    f" {self._node.words[self._node.codes[rows[at[i]]]]} still has to deliver {least[i]} that arrived"
                )

    def _service_times(self) -> dict[str, list[tuple[int, int]]]:
        """Station -> the times, from and to, in which it surely served a host without a break."""
        rows = self._event.rows(*CONFIRMS, *DOUBTS)
        columns = (self._events.pick(name, rows) for name in ("event", "node", "station", "time_ns"))
        at: dict[str, str] = {}  # host -> station
        count: dict[str, int] = {}
        spans: dict[str, list[tuple[int, int]]] = {}
        for event, node, station, now_ns in zip(*columns, strict=True):
            before = at.pop(node, None)
            if event in CONFIRMS and station is not None:
                at[node] = station
                count[station] = count.get(station, 0) + 1
                if count[station] == 1:
                    spans.setdefault(station, []).append((now_ns, 2**62))
            if before is not None:
                count[before] -= 1
                if not count[before]:
                    spans[before][-1] = spans[before][-1][0], now_ns
        return spans

    def _waiting_problems(self, node: str, sizes: Sizes) -> Iterator[str]:
        """What waits in an rbuffer."""
        if node[0] == "h":
            most, of_what = 2 * np.searchsorted(self._sent_ns, sizes.times, "right"), "copies exist"
        else:
            most, of_what = self._backlog(sizes.times), "are in the sbuffers of all hosts together"
        for i in np.flatnonzero(sizes.values > most).tolist():
            yield (
                f"samples: the rbuffer of {node} holds {pluralize(int(sizes.values[i]), 'message')} at"
                f" {_s(sizes.times[i])}, but at most {most[i]:g} {of_what}"
            )

    def _backlog(self, times: np.ndarray) -> np.ndarray:
        """What the sbuffers of all hosts hold in or just before these nanoseconds."""
        hosts = [sizes for node, sizes in self._sizes[SBUFFER].items() if node[0] == "h"]
        if not hosts:
            return np.zeros(len(times))
        at_ns = np.concatenate([sizes.times for sizes in hosts])
        steps = np.concatenate([np.diff(sizes.values, prepend=0.0) for sizes in hosts])
        order = np.argsort(at_ns, kind="stable")
        total = np.concatenate(([0.0], np.cumsum(steps[order])))
        before, after = (np.searchsorted(at_ns[order], times, side) for side in ("left", "right"))
        return np.asarray(np.maximum(total[before], total[after]))


def _since(spans: list[tuple[int, int]], times: np.ndarray) -> np.ndarray:
    """At each of these times the begin of the span that it lies in; never, where it lies in none."""
    begins, ends = (np.array([span[i] for span in spans] or [2**62], np.int64) for i in (0, 1))
    place = np.searchsorted(begins, times, "right") - 1
    return np.where((place >= 0) & (times <= ends[place]), begins[place], 2**62)


def _s(time_ns: Any) -> str:
    return f"{int(time_ns) / SECOND:.6f} s"
