"""Whether hosts were where their legs lead them.

Model     how a host walks follows from the scenario and its seed, or from its track: straight legs that count the time
          in which the host is not down. So each recorded position is known, until the host is dragged for the first
          time and before the active part is over. Nothing is known of mobility models of one's own, whose code is not
          run here
Units     integer nanoseconds; metres
Shapes    time_ns int64, x_m, y_m float64: (positions of one host,)
Source    ours: docs/models/world.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mobilenet.rundir.table import Columns, Table
from mobilenet.scenario.expectations import HostPlan

SECOND = 1_000_000_000
ROUNDING_M = 1e-3
Track = tuple[list[int], list[float], list[float]]  # of one host: time_ns, x_m, y_m


def walks_problem(
    events: Columns, tracks: Mapping[str, Track], plans: Mapping[str, HostPlan], end_ns: int
) -> str | None:
    """The first position that is not on its host's way."""
    down = _down(Table.of(events))
    hosts = ((node, plan, tracks[node]) for node, plan in plans.items() if node in tracks and plan.legs is not None)
    problems = (_problem(node, plan, track, down.get(node, []), end_ns) for node, plan, track in hosts)
    return next(filter(None, problems), None)


def _down(events: Table) -> dict[str, list[tuple[int, bool]]]:
    """Host -> when it crashed (True) and recovered, in order."""
    rows = events.coded("event").rows("crash", "recover")
    found: dict[str, list[tuple[int, bool]]] = {}
    columns = (events.picked(name, rows) for name in ("node", "event", "time_ns"))
    for node, event, now_ns in zip(*columns, strict=True):
        found.setdefault(node, []).append((now_ns, event == "crash"))
    return found


def _problem(node: str, plan: HostPlan, track: Track, down: list[tuple[int, bool]], end_ns: int) -> str | None:
    until_ns = min([end_ns, *(drag[0] for drag in plan.drags)])
    times, x, y = (np.array(column) for column in track)
    known = (times < until_ns) & (times > plan.appears_ns - 1)
    if not known.any():
        return None
    times, x, y = times[known], x[known], y[known]
    walked_ns = _walked_ns(times, plan.appears_ns, down)
    begins, legs = _legs(plan, int(walked_ns.max()))
    off_m = np.full(len(times), np.inf)
    for side in ("left", "right"):  # where one leg ends and the next one begins, either may be recorded
        leg = np.maximum(np.searchsorted(begins, walked_ns, side) - 1, 0)
        seconds = (np.minimum(walked_ns, legs[leg, 4]) - begins[leg]) / SECOND
        at_x, at_y = legs[leg, 0] + legs[leg, 2] * seconds, legs[leg, 1] + legs[leg, 3] * seconds
        off_m = np.minimum(off_m, np.hypot(x - at_x, y - at_y))
    if off_m.max() <= ROUNDING_M:
        return None
    i = int(np.argmax(off_m > ROUNDING_M))
    return (
        f"positions: {node} is at ({x[i]:.2f}, {y[i]:.2f}) m at {times[i] / SECOND:g} s, {off_m[i]:.2f} m from where"
        " its legs lead it"
    )


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
