"""The moving parts of a folium map: hosts and handoffs on a time line, and layers with all tracks and all handoffs.

Model     A host is a point for each time step. Steps in which its position and state do not change share one point. The
          length of a step depends on the number of points that a page permits. A handoff appears on the time line when
          it begins, and remains for a while. `All handoffs` shows all of them at any time.
Units     milliseconds of simulated time on the time line, which begins at 0; metres
Source    ours: docs/guide/folium.md
"""

from __future__ import annotations

import json
from itertools import pairwise
from math import ceil
from typing import Any

import folium
import numpy as np
from folium import GeoJsonPopup, JsCode
from folium.plugins import Timeline, TimelineSlider
from numpy.typing import NDArray

from mobilenet.metrics.fold import EventFold
from mobilenet.metrics.mobile import interruptions
from mobilenet.record.reader import read_coded

from ..map.data import end_s, interval_ns
from ..map.handoffs import KINDS, handoff_rows
from ..map.record import Ints, Record
from ..style import QUIET, station_colour
from .ground import INK, host_label, station_label
from .plane import Plane, collection, feature, inert

STEPS = 900  # the maximum number of steps in the time line
# the maximum number of points for hosts (reached only if all of them always move), and the approximate limit for tracks
POINTS = 100_000
STEP_MS = (50, 100, 200, 250, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000)
PLAYED_MS = 60_000  # how long it takes to play the whole run
LINGER_SHARE = 0.04  # the share of the run for which a handoff stays visible
GONE = 3.5  # A host disappears after this many recording intervals without a position, as on the animated map.
NO_CELL, DOWN = -1, -2
FIELDS = {
    "host": "host", "from": "from", "to": "to", "at": "began at", "duration": "duration",
    "interruption": "interruption", "cause": "cause",
}  # fmt: skip
INTERVAL = JsCode("(one) => ({start: one.properties.begin_ms, end: one.properties.end_ms, endExclusive: true})")
CLOCK = "(ms) => (Number(ms) / 1000).toFixed(%d) + ' s'"


def moving_groups(run: Record, plane: Plane) -> tuple[list[folium.FeatureGroup], TimelineSlider]:
    """Return the groups of the moving parts, from the bottom up, and the control that plays them."""
    step_ms = _step_ms(run)
    steps = ceil(1000 * end_s(run) / step_ms)
    handoffs = _handoffs(run, plane, max(step_ms, round(LINGER_SHARE * steps * step_ms)))
    rings, hosts = _rings(handoffs), _hosts(run, plane, step_ms * np.arange(steps + 1), step_ms)
    slider = TimelineSlider(
        auto_play=False, show_ticks=False, enable_keyboard_controls=True, start=0, end=steps * step_ms, steps=steps,
        playback_duration=PLAYED_MS,
    )  # fmt: skip
    clock = JsCode(CLOCK % (2 if step_ms < 100 else 1))
    slider.options["format_output"] = clock  # type: ignore[assignment]  # folium itself shows dates
    slider.timelines += [rings, hosts]
    groups = [
        _tracks(run, plane),
        _group("All handoffs", _dots(handoffs), False),
        _group("Handoffs", rings),
        _group("Hosts", hosts),
    ]
    return groups, slider


def _group(name: str, layer: Any, show: bool = True) -> folium.FeatureGroup:
    group = folium.FeatureGroup(name=name, show=show)
    layer.add_to(group)
    return group


def _step_ms(run: Record) -> int:
    least = max(1000 * end_s(run) / STEPS, 1000 * end_s(run) * len(run.hosts) / POINTS)
    return next((step for step in STEP_MS if step >= least), ceil(least / 60_000) * 60_000)


# --- hosts


def states(run: Record) -> list[tuple[Ints, Ints]]:
    """Return the times in nanoseconds at which each host changed its state, and the new states: the number of its
    station, NO_CELL or DOWN.
    """
    code = run.event.number({kind: number for number, kind in enumerate(KINDS)})
    host = run.node.number(run.host_of)
    changes: list[list[tuple[int, int]]] = [[] for _ in run.hosts]
    station, is_down = [NO_CELL] * len(run.hosts), [False] * len(run.hosts)
    for row in np.flatnonzero((code >= 0) & (host >= 0)).tolist():
        kind, own = KINDS[code[row]], int(host[row])
        if kind == "out_of_coverage":
            station[own] = NO_CELL
        elif kind in ("join", "handoff_start", "handoff_end", "in_coverage") and run.station[row] >= 0:
            station[own] = int(run.station[row])
        elif kind in ("crash", "recover"):
            is_down[own] = kind == "crash"
        changes[own].append((int(run.time_ns[row]), DOWN if is_down[own] else station[own]))
    table = [np.array(each, dtype=np.int64).reshape(-1, 2) for each in changes]
    return [(each[:, 0], each[:, 1]) for each in table]


def _hosts(run: Record, plane: Plane, ticks_ms: Ints, step_ms: int) -> Timeline:
    ticks_ns, apart_ns = ticks_ms * 1_000_000, interval_ns(run)
    rows = _rows_of_hosts(run)
    points: list[dict[str, Any]] = []
    for host, (times, codes) in enumerate(states(run)):
        ticks = np.flatnonzero(_is_there(run, rows[host], ticks_ns, apart_ns))
        x, y = run.places.at(np.full(len(ticks), host), ticks_ns[ticks])
        at = plane.locations(x, y)[:, ::-1]
        state = np.r_[NO_CELL, codes][np.searchsorted(times, ticks_ns[ticks], side="right")]
        is_new = np.r_[True, (np.diff(ticks) > 1) | (np.diff(at, axis=0) != 0).any(axis=1) | (np.diff(state) != 0)]
        first = np.flatnonzero(is_new[: len(ticks)])
        last = np.r_[first[1:], len(ticks)] - 1 if len(first) else first
        for begin, end in zip(first.tolist(), last.tolist(), strict=True):
            properties = {
                "host": host, "state": int(state[begin]), "begin_ms": int(ticks_ms[ticks[begin]]),
                "end_ms": int(ticks_ms[ticks[end]]) + step_ms,
            }  # fmt: skip
            points.append(feature("Point", at[begin].tolist(), **properties))
    words = {
        "names": [host_label(run, host) for host in range(len(run.hosts))],
        "states": {NO_CELL: "in no cell", DOWN: "down"} | {n: f"at s{n}" for n in range(len(run.stations_m))},
        "colours": {NO_CELL: QUIET, DOWN: "#000000"} | {n: station_colour(n) for n in range(len(run.stations_m))},
    }
    circle = "{radius: 5, weight: 1, color: '#ffffff', fillOpacity: 1, fillColor: colours[one.properties.state]}"
    label = "`${names[one.properties.host]}, ${states[one.properties.state]}`"

    def code(what: str, expression: str) -> JsCode:
        return JsCode(f"(({{names, states, colours}}) => (one, {what}) => {expression})({json.dumps(words)})")

    return Timeline(
        collection(points),
        get_interval=INTERVAL,
        point_to_layer=code("at", f"L.circleMarker(at, {circle})"),
        on_each_feature=code("layer", f"layer.bindTooltip({label})"),
    )


def _rows_of_hosts(run: Record) -> list[slice]:
    """Return the rows of each host's positions."""
    ends = np.searchsorted(run.places.host, np.arange(len(run.hosts) + 1)).tolist()
    return [slice(*pair) for pair in pairwise(ends)]


def _is_there(run: Record, rows: slice, ticks_ns: Ints, apart_ns: float) -> NDArray[np.bool_]:
    """Return whether the host exists at each tick: from its first position until one interval after its last one."""
    own = run.places.time_ns[rows]
    if not len(own):
        return np.zeros(len(ticks_ns), dtype=np.bool_)
    end_ns = int(run.places.time_ns.max())
    before = np.searchsorted(own, ticks_ns, side="right") - 1
    after_last_ns = 0 if own[-1] == end_ns else np.iinfo(np.int64).max
    gap_ns = np.r_[np.diff(own), after_last_ns][before]
    is_away = (gap_ns > GONE * apart_ns) & (ticks_ns - own[before] > apart_ns)
    is_there: NDArray[np.bool_] = (before >= 0) & ~is_away
    return is_there


def _tracks(run: Record, plane: Plane) -> folium.FeatureGroup:
    lines, apart_ns = [], interval_ns(run)
    every = ceil(len(run.places.host) / POINTS)
    for host, rows in enumerate(_rows_of_hosts(run)):
        own = np.arange(rows.start, rows.stop)
        cuts = np.flatnonzero(np.diff(run.places.time_ns[own]) > GONE * apart_ns) + 1
        for way_rows in np.split(own, cuts):
            part = np.r_[way_rows[:-1:every], way_rows[-1:]]
            if len(part) > 1:
                way = plane.coordinates(run.places.x_m[part], run.places.y_m[part])
                lines.append(feature("LineString", way, host=host_label(run, host)))
    style = {"color": INK, "weight": 1, "opacity": 0.35}
    layer = folium.GeoJson(collection(lines), style_function=lambda _: style)
    if lines:
        layer.add_child(folium.GeoJsonTooltip(["host"], labels=False))
    return _group("Tracks", layer, False)


# --- handoffs


def _handoffs(run: Record, plane: Plane, linger_ms: int) -> list[dict[str, Any]]:
    rows, causes = handoff_rows(run)
    between_ns = _interruptions_ns(run)
    x, y = run.places.at(*(np.array([row[key] for row in rows], dtype=np.int64) for key in ("host", "start")))
    known = np.flatnonzero(np.isfinite(x))
    features = []
    for number, place in zip(known.tolist(), plane.coordinates(x[known], y[known]), strict=True):
        row = rows[number]
        begin_ms = row["start"] // 1_000_000
        words = {
            "host": host_label(run, row["host"]),
            "from": _station(run, row["from"]),
            "to": _station(run, row["to"]),
            "at": f"{row['start'] / 1e9:.1f} s",
            "duration": _span(row["start"], row["end"]),
            "interruption": _span(*between_ns.get((row["host"], row["start"]), (-1, -1))),
            "cause": inert(causes[row["cause"]] or "not recorded"),
        }
        colour = station_colour(row["to"]) if row["to"] >= 0 else QUIET
        times = {"begin_ms": begin_ms, "end_ms": begin_ms + linger_ms}
        features.append(feature("Point", place, **words, colour=colour, **times))
    return features


def _station(run: Record, number: int) -> str:
    return station_label(run, number) if number >= 0 else "none"


def _interruptions_ns(run: Record) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the times of the last delivery before and the first delivery after each handoff with an interruption. The
    keys are the host and the start of the handoff.
    """
    fold = EventFold(read_coded(run.folder, "events"), 0, round(1e9 * end_s(run)) + 1)
    return {
        (run.host_of[one.handoff.node], one.handoff.begin_ns): one.between_ns
        for one in interruptions(fold)
        if one.between_ns is not None
    }


def _span(from_ns: int, to_ns: int) -> str:
    return f"{(to_ns - from_ns) / 1e9:.3f} s" if min(from_ns, to_ns) >= 0 else "–"


def _rings(handoffs: list[dict[str, Any]]) -> Timeline:
    ring = "{radius: 10, weight: 3, fillOpacity: 0.15, color: one.properties.colour}"
    marker = JsCode(f"(one, at) => L.circleMarker(at, {ring})")
    layer = Timeline(collection(handoffs), get_interval=INTERVAL, point_to_layer=marker)
    _add_popup(layer)
    return layer


def _dots(handoffs: list[dict[str, Any]]) -> folium.GeoJson:
    def style(one: dict[str, Any]) -> dict[str, Any]:
        return {"fillColor": one["properties"]["colour"], "color": INK, "weight": 1}

    marker = folium.CircleMarker(radius=4, weight=1, color=INK, fill=True, fill_opacity=1)
    layer = folium.GeoJson(collection(handoffs), marker=marker, style_function=style)
    _add_popup(layer)
    return layer


def _add_popup(layer: folium.GeoJson) -> None:
    if layer.data["features"]:  # folium requires at least one feature
        layer.add_child(GeoJsonPopup(list(FIELDS), list(FIELDS.values())))
