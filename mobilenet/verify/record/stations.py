"""Check that hosts could have been with the stations that events name, by their recorded positions.

Checks    a host comes into coverage and delivers, and where its protocol's conduct is known joins, begins and ends
          handoffs, with a station that its positions before and after allow: in range, and no further than the
          hysteresis behind the nearest one. Where power decides, no farther than it can be received with the best luck
          of shadowing; a host in no cell at the end is then moved by at most its distance from the nearest station,
          or from the rim of its cell, of where it has walked by then. Where a protocol goes on out of coverage, a host
          joins and ends handoffs no farther away than a frame arrives with the best luck of fading, too
          where hosts deliver only what their station sends, the same holds at each recorded position of a member that
          is up and in coverage, for the station that its last session is with: it opens one with each new station
Model     a host may go on for a tick with a station that it should have left. How far a host errs is normal: eight
          standard deviations in each coordinate are never exceeded. The network notes with a delivery the station that
          serves the host, for every protocol; what else a plug-in reports is its own
Units     metres, integer nanoseconds
Shapes    rows, at_ns, station: int64 (events of one host,); times, own_m, nearest_m: (positions of one host,)
Source    ours: docs/models/world.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.expected.expectations import Expectations, HostPlan, Places
from mobilenet.rundir.table import Columns, Table, by_code
from mobilenet.verify.record.coverage import MOST_SIGMAS, ROUNDING_M, Track, nearest_m

OF_THE_NETWORK = ("in_coverage", "deliver")
OF_PROTOCOLS = ("join", "handoff_start", "handoff_end")
BY_FRAMES = ("join", "handoff_end")  # they follow from a frame, not from where the host is
TURNS = (("join", "leave"), ("recover", "crash"), ("in_coverage", "out_of_coverage"))


class _Problem(NamedTuple):
    row: int
    why: str


def stations_problem(
    events: Columns, tracks: Mapping[str, Track], plans: Mapping[str, HostPlan], expected: Expectations
) -> str | None:
    """The first event with a station that cannot be."""
    assert expected.places is not None
    table = Table.of(events)
    station, node = table.column("station"), table.column("node")
    kinds = OF_THE_NETWORK if expected.conduct is None else (*OF_THE_NETWORK, *OF_PROTOCOLS)
    rows = np.flatnonzero(table.column("event").among(kinds) & (station.codes >= 0))
    rows = rows[by_code(node.codes[rows])]
    numbers = np.array([int(name[1:]) for name in station.words], np.int64)
    begins = np.searchsorted(node.codes[rows], np.arange(len(node.words) + 1))
    goes_on = expected.places.by_power and expected.conduct is not None and not expected.conduct.only_connected
    by_frames = table.column("event").among(BY_FRAMES if goes_on else ())
    problems: list[_Problem] = []
    for name, first, end in zip(node.words, begins[:-1].tolist(), begins[1:].tolist(), strict=True):
        if first < end and name in tracks and name in plans:
            own = rows[first:end]
            host = _Host(plans[name], tracks[name], expected.places, expected.end_ns)
            problems += host.problems(own, table.numbers("time_ns")[own], numbers[station.codes[own]], by_frames[own])
    if not problems:
        return (
            None
            if expected.conduct is None or not expected.conduct.only_connected
            else _stays(table, tracks, plans, expected)
        )
    row, why = min(problems)
    event, who, with_whom = (events[name][row] for name in ("event", "node", "station"))
    when = f"at {events['time_ns'][row] / SECOND:.6f} s (event {row})"
    return f"events: {when}: {who} records {event} with {with_whom}, {why}"


def _stays(
    events: Table, tracks: Mapping[str, Track], plans: Mapping[str, HostPlan], expected: Expectations
) -> str | None:
    """The first position of a host that is too far from the station that it has its session with."""
    assert expected.places is not None
    event, node, station = (events.column(name) for name in ("event", "node", "station"))
    rows = event.rows(*OF_PROTOCOLS, *(kind for turn in TURNS for kind in turn))
    rows = rows[np.argsort(node.codes[rows], kind="stable")]
    numbers = station.map([int(name[1:]) for name in station.words], -1)
    is_kind = {kind: event.among((kind,))[rows] for turn in TURNS for kind in turn}
    is_session = event.among(OF_PROTOCOLS)[rows]
    begins = np.searchsorted(node.codes[rows], np.arange(len(node.words) + 1)).tolist()
    for name, first, end in zip(node.words, begins[:-1], begins[1:], strict=True):
        if first < end and name in tracks and name in plans:
            own = slice(first, end)
            with_whom = np.append(numbers[rows[own]], -1)[_latest(is_session[own])]
            is_there = with_whom >= 0
            for begin, over in TURNS:
                since, until = _latest(is_kind[begin][own]), _latest(is_kind[over][own])
                is_there &= (since > until) | (until < 0) & (begin == "recover")
            host = _Host(plans[name], tracks[name], expected.places, expected.end_ns)
            problem = host.stays(events.numbers("time_ns")[rows[own]], np.where(is_there, with_whom, -1))
            if problem is not None:
                return f"positions: {name} has its session with {problem}, but opens no other session"
    return None


def _latest(chosen: np.ndarray) -> np.ndarray:
    """At each place the last one until there that is chosen; -1: none."""
    return np.maximum.accumulate(np.where(chosen, np.arange(len(chosen)), -1))


class _Host:
    def __init__(self, plan: HostPlan, track: Track, places: Places, end_ns: int) -> None:
        self._plan = plan
        self._times = np.array(track[0], np.int64)
        self._x, self._y = np.array(track[1]), np.array(track[2])
        self._places = places
        self._stations_m = np.array(places.stations_m)
        self._end_ns = end_ns
        self._nearest_m = nearest_m(self._x, self._y, places)
        self._drags_ns = np.array(sorted(drag[0] for drag in plan.drags), np.int64)

    def problems(
        self, rows: np.ndarray, at_ns: np.ndarray, station: np.ndarray, by_frames: np.ndarray
    ) -> Iterator[_Problem]:
        """The first one by the positions before events, and the first one by those after them."""
        count = len(self._places.stations_m)
        if (station >= count).any():
            yield _Problem(int(rows[np.argmax(station >= count)]), f"but there are only {count}")
            return
        after = np.searchsorted(self._times, at_ns, "right")
        for place in (after - 1, after):
            known = np.flatnonzero((place >= 0) & (place < len(self._times)))
            known = known[~self._is_dragged(at_ns[known], self._times[place[known]])]
            range_m = np.where(by_frames[known], max(self._places.range_m, self._places.heard_m), self._places.range_m)
            if (problem := self._too_far(at_ns[known], place[known], station[known], range_m)) is not None:
                first, why = problem
                yield _Problem(int(rows[known[first]]), why)

    def stays(self, at_ns: np.ndarray, station: np.ndarray) -> str | None:
        """The first position at which the station since the last of these times cannot be; -1: any may be."""
        last = np.append(station, -1)[np.searchsorted(at_ns, self._times, "right") - 1]
        here = np.flatnonzero((last >= 0) & (self._times < self._end_ns) & ~self._is_dragged(self._times, self._times))
        problem = self._too_far(self._times[here], here, last[here], np.full(len(here), self._places.range_m))
        return None if problem is None else f"s{last[here[problem[0]]]}, {problem[1]}"

    def _too_far(
        self, at_ns: np.ndarray, place: np.ndarray, station: np.ndarray, range_m: np.ndarray
    ) -> tuple[int, str] | None:
        places, times = self._places, self._times[place]
        own_m = np.hypot(*(self._stations_m[station] - np.stack((self._x[place], self._y[place]), 1)).T)
        nearest, slack_m = self._nearest_m[place], self._slack_m(at_ns, place)
        out_of_range = own_m > range_m + slack_m
        far_behind = own_m - nearest > places.hysteresis_m + 2 * slack_m
        wrong = out_of_range if places.by_power else out_of_range | far_behind
        if not wrong.any():
            return None
        first = int(np.argmax(wrong))
        other = "" if out_of_range[first] else f" (the nearest station: {nearest[first]:.1f} m)"
        return first, f"which is {own_m[first]:.1f} m away{other} at {times[first] / SECOND:g} s"

    def _slack_m(self, at_ns: np.ndarray, place: np.ndarray) -> np.ndarray:
        """How far the host may be from its position, and its own idea of that."""
        places, times_ns, end_ns = self._places, self._times[place], self._end_ns
        walks_ns = np.abs(np.minimum(at_ns, end_ns) - np.minimum(times_ns, end_ns))
        walk_m = self._plan.speed_mps * (walks_ns + places.tick_ns) / SECOND
        walk_m += MOST_SIGMAS * places.error_m + ROUNDING_M
        # at the end it may have been brought to a covered place, from as far off as it has walked until then; by a
        # position after that nothing is known but that it was with a station at the event
        nearest_m = self._nearest_m[place]
        from_m = np.where(times_ns < end_ns, nearest_m, np.maximum(nearest_m, places.range_m))
        brought_m = np.maximum(0.0, from_m + walk_m - (0.0 if places.by_power else places.range_m))
        between = (np.minimum(at_ns, times_ns) <= end_ns) & (np.maximum(at_ns, times_ns) >= end_ns)
        return np.asarray(walk_m + np.where(between, brought_m, 0.0))

    def _is_dragged(self, one_ns: np.ndarray, other_ns: np.ndarray) -> np.ndarray:
        """Between two moments, so that its place at one does not determine that at the other."""
        first, last = np.minimum(one_ns, other_ns), np.maximum(one_ns, other_ns)
        ends, begins = np.searchsorted(self._drags_ns, last, "right"), np.searchsorted(self._drags_ns, first, "left")
        return np.asarray(ends > begins)
