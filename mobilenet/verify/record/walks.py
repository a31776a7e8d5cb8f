"""Check that hosts were where their legs lead them, and in coverage exactly where that is.

Model     how a host walks follows from the scenario and its seed, or from its track: straight legs that count the time
          in which the host is not down. So each recorded position is known, until the host is dragged for the first
          time and before the active part is over. Nothing is known of custom mobility models, whose code is not
          run here. So it is known as well where a host is on each tick of the attachment, which decides whether it is
          in coverage, unless hosts err about their place. Where distances decide, ticks are checked between positions
          that leave it open; otherwise only those on which coverage changes by the record
Units     integer nanoseconds; metres
Shapes    time_ns int64, x_m, y_m float64: (positions of one host,)
Source    ours: docs/models/world.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.expected.expectations import HostPlan, Places
from mobilenet.rundir.table import Columns, Table
from mobilenet.verify.record.coverage import IN_COVERAGE, NEARBY, OUT_OF_COVERAGE, ROUNDING_M, Track, nearest_m

SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")
Ways = tuple[np.ndarray, np.ndarray]  # x_m, y_m


def walks_problem(
    events: Columns, tracks: Mapping[str, Track], plans: Mapping[str, HostPlan], places: Places, end_ns: int
) -> str | None:
    """The first position that is not on its host's way."""
    table = Table.of(events)
    down, turns = _turns(table, "crash", "recover"), _turns(table, IN_COVERAGE, OUT_OF_COVERAGE)
    hosts = ((node, plan, tracks[node]) for node, plan in plans.items() if node in tracks and plan.legs is not None)
    problems = (
        _problem(node, plan, track, down.get(node, []), turns.get(node, []), places, end_ns)
        for node, plan, track in hosts
    )
    return next(filter(None, problems), None)


def _turns(events: Table, begin: str, end: str) -> dict[str, list[tuple[int, bool]]]:
    """Host -> when the first of these events (True) and the second happened, in order."""
    rows = events.column("event").rows(begin, end)
    turns: dict[str, list[tuple[int, bool]]] = {}
    columns = (events.pick(name, rows) for name in ("node", "event", "time_ns"))
    for node, event, now_ns in zip(*columns, strict=True):
        turns.setdefault(node, []).append((now_ns, event == begin))
    return turns


def _problem(
    node: str, plan: HostPlan, track: Track, down: list[tuple[int, bool]], turns: list[tuple[int, bool]],
    places: Places, end_ns: int,
) -> str | None:  # fmt: skip
    until_ns = min([end_ns, *(drag[0] for drag in plan.drags)])
    times, x, y = (np.array(column) for column in track)
    known = (times < until_ns) & (times > plan.appears_ns - 1)
    if not known.any():
        return None
    times, x, y = times[known], x[known], y[known]
    walked_ns = _walked_ns(times, plan.appears_ns, down)
    begins, legs = _legs(plan, int(walked_ns.max()))

    def ways(at_ns: np.ndarray) -> list[Ways]:
        """Where it is then: where one leg ends and the next one begins, either may be recorded."""
        walked_ns, positions = _walked_ns(at_ns, plan.appears_ns, down), []
        for side in SIDES:
            leg = np.maximum(np.searchsorted(begins, walked_ns, side) - 1, 0)
            seconds = (np.minimum(walked_ns, legs[leg, 4]) - begins[leg]) / SECOND
            positions.append((legs[leg, 0] + legs[leg, 2] * seconds, legs[leg, 1] + legs[leg, 3] * seconds))
        return positions

    off_m = np.min([np.hypot(x - at_x, y - at_y) for at_x, at_y in ways(times)], axis=0)
    if off_m.max() <= ROUNDING_M:
        return None if places.error_m else _coverage_problem(node, plan, (times, x, y), turns, places, ways)
    i = int(np.argmax(off_m > ROUNDING_M))
    return (
        f"positions: {node} is at ({x[i]:.2f}, {y[i]:.2f}) m at {times[i] / SECOND:g} s, {off_m[i]:.2f} m from its"
        " position on its path"
    )


def _coverage_problem(
    node: str, plan: HostPlan, known: tuple[np.ndarray, ...], turns: list[tuple[int, bool]], places: Places,
    ways: Callable[[np.ndarray], list[Ways]],
) -> str | None:  # fmt: skip
    """The first tick on which the host is in coverage, or out of it, and events have it otherwise."""
    turns_ns = np.array([at_ns for at_ns, _ in turns], np.int64)
    in_coverage = np.array([False, *(into for _, into in turns)])
    times, tick_ns = known[0], places.tick_ns
    ticks = turns_ns[(turns_ns % tick_ns == 0) & (turns_ns > times[0]) & (turns_ns < times[-1])]
    if not places.by_power:
        both_m = nearest_m(known[1], known[2], places)
        both_m, way_m = both_m[1:] + both_m[:-1], plan.speed_mps * np.diff(times) / SECOND + ROUNDING_M
        since_ns = times[:-1][(both_m - way_m < 2 * places.range_m) & (both_m + way_m > 2 * places.range_m)]
        count = int(np.diff(times).max(initial=0)) // tick_ns + 1
        between = (-(-since_ns // tick_ns) * tick_ns)[:, None] + np.arange(count) * tick_ns
        ticks = np.union1d(ticks, between[(between > times[0]) & (between < times[-1])])
    was_covered = in_coverage[np.searchsorted(turns_ns, ticks, "right")]
    wrong = np.ones(len(ticks), bool)
    for x, y in ways(ticks):
        if places.by_power:
            pairs = zip(x.tolist(), y.tolist(), was_covered.tolist(), strict=True)
            wrong &= np.array([_serves(places, at_x, at_y) is (not into) for at_x, at_y, into in pairs], bool)
        else:
            beyond_m = nearest_m(x, y, places) - places.range_m
            wrong &= np.where(was_covered, beyond_m > 2 * ROUNDING_M, beyond_m < -2 * ROUNDING_M)
    if not wrong.any():
        return None
    i = int(wrong.argmax())
    place = [float(each[i]) for each in ways(ticks)[1]]
    return (
        f"positions: {node} passes ({place[0]:.2f}, {place[1]:.2f}) m at {ticks[i] / SECOND:g} s, but"
        " according to the events it is"
        f" {'in' if was_covered[i] else 'out of'} coverage"
    )


def _serves(places: Places, x: float, y: float) -> bool | None:
    """Whether a station serves this place; None: a millimetre decides."""
    if places.covers is None:
        return None
    answers = {places.covers(x + east, y + north) for east, north in NEARBY}
    return answers.pop() if len(answers) == 1 else None


def _walked_ns(times: np.ndarray, appears_ns: int, down: list[tuple[int, bool]]) -> np.ndarray:
    """How long the host has been on its way at each of these times."""
    walked = times - appears_ns
    since_ns = None
    for at_ns, crashes in down:
        if crashes and since_ns is None:
            since_ns = at_ns
        elif not crashes and since_ns is not None:
            walked = walked - (np.clip(times, since_ns, at_ns) - since_ns)
            since_ns = None
    if since_ns is not None:
        walked = walked - (np.maximum(times, since_ns) - since_ns)
    return np.asarray(walked)


def _legs(plan: HostPlan, until_ns: int) -> tuple[np.ndarray, np.ndarray]:
    """When each leg begins; and where, how fast, and when it ends, float64 (legs, 5)."""
    assert plan.legs is not None
    begins, rows, at_ns = [], [], 0
    for leg in plan.legs():
        ends_ns = 2**62 if leg.duration_ns is None else at_ns + leg.duration_ns
        begins.append(at_ns)
        rows.append((leg.x_m, leg.y_m, leg.vx_mps, leg.vy_mps, ends_ns))
        at_ns = ends_ns
        if at_ns > until_ns:
            break
    return np.array(begins), np.array(rows)
