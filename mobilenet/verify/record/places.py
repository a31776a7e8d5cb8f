"""Check that every node could have been where the record has it.

Checks    positions are finite numbers; those of stations are the scenario's, once, at the beginning
          a host's positions are recorded at the scenario's interval, from when it appears on, without a hole
          no host moves faster than the scenario lets it, but for being dragged as the scenario has it. When the
          active part is over, a host in no cell is put at the nearest covered place
          a host is with a station that its positions allow: see stations.py; and in coverage where it is: see
          coverage.py
Units     metres, integer nanoseconds
Shapes    x, y: float64 (positions of one host,)
Source    ours: docs/models/world.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import math
from itertools import zip_longest
from math import hypot

from mobilenet.clock import SECOND
from mobilenet.expected.expectations import Expectations, HostPlan, Places
from mobilenet.rundir.table import Columns
from mobilenet.verify.record.coverage import ROUNDING_M, Track, coverage_problem
from mobilenet.verify.record.stations import stations_problem
from mobilenet.verify.record.walks import walks_problem

SLOWNESS = 1 + 1e-9


def places_problem(events: Columns, positions: Columns, expected: Expectations | None) -> str | None:
    """The first position, or station, that cannot be."""
    tracks, problem = _tracks(positions)
    if problem is not None or expected is None or expected.hosts is None or expected.places is None:
        return problem
    plans = _plans(expected)
    return (
        _nodes_problem(tracks, plans, expected.places)
        or _times_problem(tracks, plans, expected.places, expected.end_ns)
        or _ways_problem(events, tracks, plans, expected)
    )


def places_so_far_problem(events: Columns, positions: Columns, expected: Expectations | None) -> str | None:
    """The same of a run that ended early, whose positions may end at any time."""
    tracks, problem = _tracks(positions)
    if problem is not None or expected is None or expected.hosts is None or expected.places is None:
        return problem
    if not tracks and not len(events["time_ns"]):
        return None  # it ended before anything was recorded
    plans = _plans(expected)
    return _nodes_problem(tracks, plans, expected.places) or _ways_problem(events, tracks, plans, expected)


def _tracks(positions: Columns) -> tuple[dict[str, Track], str | None]:
    """The positions of each node; and what is not a position."""
    tracks: dict[str, Track] = {}
    columns = (positions[name] for name in ("time_ns", "node", "x_m", "y_m"))
    for row, (time, node, x, y) in enumerate(zip(*columns, strict=True)):
        if node is None or time is None or x is None or y is None or not (math.isfinite(x) and math.isfinite(y)):
            return (
                tracks,
                f"positions: row {row} has {node} at ({x}, {y}) m at {time} ns, expected a name and three numbers",
            )
        times, xs, ys = tracks.setdefault(node, ([], [], []))
        times.append(time)
        xs.append(x)
        ys.append(y)
    return tracks, None


def _plans(expected: Expectations) -> dict[str, HostPlan]:
    return {f"h{number}": plan for number, plan in enumerate(expected.hosts or ())}


def _nodes_problem(tracks: dict[str, Track], plans: dict[str, HostPlan], places: Places) -> str | None:
    stations = {f"s{number}": place for number, place in enumerate(places.stations_m)}
    others = (node for node in tracks if node not in plans and node not in stations)
    return _stations_problem(tracks, stations) or next(
        (f"positions: {node} is not a host of the scenario" for node in others), None
    )


def _ways_problem(
    events: Columns, tracks: dict[str, Track], plans: dict[str, HostPlan], expected: Expectations
) -> str | None:
    """How hosts move, and what follows from where they are."""
    assert expected.places is not None
    there = ((node, plan) for node, plan in plans.items() if node in tracks)
    walks = (_walk_problem(node, tracks[node], plan, expected.places, expected.end_ns) for node, plan in there)
    return (
        next(filter(None, walks), None)
        or stations_problem(events, tracks, plans, expected)
        or coverage_problem(events, tracks, plans, expected)
        or walks_problem(events, tracks, plans, expected.places, expected.end_ns)
    )


def _stations_problem(tracks: dict[str, Track], stations: dict[str, tuple[float, float]]) -> str | None:
    for node, place in stations.items():
        track = tracks.get(node)
        if track is None or track != ([0], [place[0]], [place[1]]):
            where = (
                "not recorded"
                if track is None
                else f"at ({track[1][0]:g}, {track[2][0]:g}) m"
                if len(track[0]) == 1
                else f"recorded {len(track[0])} times"
            )
            return (
                f"positions: {node} is {where}; expected one position, ({place[0]:g}, {place[1]:g}) m at 0 s, as in the"
                " scenario"
            )
    return None


def _times_problem(tracks: dict[str, Track], plans: dict[str, HostPlan], places: Places, end_ns: int) -> str | None:
    times_by_host = {node: times for node, (times, _, _) in tracks.items() if node in plans}
    if places.every_ns is None:
        return next(
            (
                f"positions: {node} has positions, but the scenario does not record host positions"
                for node in times_by_host
            ),
            None,
        )
    last_ns = max((times[-1] for times in times_by_host.values()), default=0)
    stay = any(plan.vanishes_ns is None for plan in plans.values())
    for node, plan in plans.items():
        first = -(-(plan.appears_ns + plan.is_added) // places.every_ns) * places.every_ns
        times = times_by_host.get(node, [])
        until_ns = last_ns if plan.vanishes_ns is None else max(plan.vanishes_ns - 1, times[-1] if times else 0)
        due_times = range(first, until_ns + 1, places.every_ns)
        if len(times) != len(due_times) or times != list(due_times):
            beyond = max(until_ns, last_ns) + 1
            pairs = zip_longest(times, due_times, fillvalue=beyond)
            odd = next(min(recorded_ns, due) for recorded_ns, due in pairs if recorded_ns != due)
            return (
                f"positions: {node} is {'recorded' if odd in times else 'not recorded'} at {odd / SECOND:g} s,"
                f" expected every {places.every_ns / SECOND:g} s"
            )
    if stay and (last_ns <= end_ns - places.every_ns or last_ns > end_ns + places.every_ns):
        return f"positions: they end at {last_ns / SECOND:g} s, but the active part ends at {end_ns / SECOND:g} s"
    return None


def _walk_problem(node: str, track: Track, plan: HostPlan, places: Places, end_ns: int) -> str | None:
    times, xs, ys = track
    for i in range(0 if plan.is_added else 1, len(times)):
        since_ns, x, y = _begin(track, i, plan)
        moved_m = hypot(xs[i] - x, ys[i] - y)
        most_m = plan.speed_mps * SLOWNESS * (times[i] - since_ns) / SECOND + ROUNDING_M
        if moved_m > most_m and not (times[i] >= end_ns and _was_brought_back(xs[i], ys[i], places)):
            return (
                f"positions: {node} moves {moved_m:.6g} m from {since_ns / SECOND:g} to {times[i] / SECOND:g} s; "
                f"at {plan.speed_mps:g} m/s it can move {most_m:.6g} m"
            )
    return None


def _begin(track: Track, i: int, plan: HostPlan) -> tuple[int, float, float]:
    """When and where it begins to move to its i-th position: the one before, or where it was put by hand since."""
    times, xs, ys = track
    put = [drag for drag in plan.drags if (times[i - 1] if i else 0) <= drag[0] < times[i]]
    return put[-1] if put else (times[i - 1], xs[i - 1], ys[i - 1])


def _was_brought_back(x: float, y: float, places: Places) -> bool:
    """Whether it is on the rim of the nearest cell; where power decides, anywhere."""
    return (
        places.by_power or abs(min(hypot(x - sx, y - sy) for sx, sy in places.stations_m) - places.range_m) < ROUNDING_M
    )
