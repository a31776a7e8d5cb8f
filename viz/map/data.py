"""Collect the data of a map in one JSON document of compact columns.

Model     The document contains all positions (rounded to a centimetre), all handoffs, and all other events except
          broadcasts and deliveries, which messages.py adds. For buffers, it contains the largest value in each bin of
          time, with as many bins as VALUES permits.
Units     centimetres in tracks, nanoseconds for moments, otherwise the unit at the end of each name
Shapes    tracks: one host after another. Host i has tracks.count[i] positions, either at consecutive moments of
          `moments_ns` from tracks.first[i] on, or at the moments in tracks.moment. x_cm and y_cm contain the first
          position, followed by differences
Errors    RunError, see record.py
Source    ours: docs/guide/maps.md
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from mobilenet.engine.clock import SECOND
from mobilenet.metrics.network import LOST_TO_OTHERS
from mobilenet.record.reader import RunError, read_coded
from mobilenet.record.schema import BUFFERS, buffers_of
from mobilenet.record.table import CodedColumn

from ..style import station_colour
from .connections import connections
from .handoffs import handoffs, map_events
from .messages import DELIVERIES, is_causal, messages
from .pack import narrow, pack_column
from .places import places
from .radio import radio
from .record import Record, harmless_text, name_of_run, record
from .stories import MOST, stories

VALUES = 1_500_000  # the maximum number of buffer values in one page
WORDS = {"sbuffer": "SBuffer", "rbuffer": "RBuffer"}
FINEST_BIN_S = 0.25


def document(
    folder: Path,
    deliveries: int = DELIVERIES,
    frames_in: Path | None = None,
    hosts: int = 0,
    is_live: bool = False,
) -> dict[str, Any]:
    """Return the document. `hosts` may be larger than the number of hosts in the record. If `is_live`, the explanations
    of delays are loaded later.
    """
    run = record(folder, hosts)
    backbone = _group(run.scenario, "stations", "backbone")
    ended_s = end_s(run)
    host_names, station_names = _group(run.manifest, "host_names"), _group(run.manifest, "station_names")
    return {
        "about": _about(run),
        "end_s": ended_s,
        "origin": origin(run.scenario),
        "range_m": run.range_m,
        "stations": {
            "x_m": run.stations_m[:, 0].tolist(), "y_m": run.stations_m[:, 1].tolist(),
            "names": [harmless_text(station_names.get(f"s{i}", "")) for i in range(len(run.stations_m))],
            "colours": [station_colour(i) for i in range(len(run.stations_m))],
            "edges": edges(run.manifest, len(run.stations_m)), "backbone": harmless_text(backbone.get("kind", "tree")),
        },
        "area": area(run.scenario),
        "switches": _switches(run.scenario),
        "duration_s": _number(run.manifest.get("duration_s")) or ended_s,
        "hosts": {"number": narrow([int(h[1:]) for h in run.hosts]),
        "names": [harmless_text(host_names.get(h, "")) for h in run.hosts] if host_names else []},
        **_tracks(run),
        "events": map_events(run),
        "handoffs": handoffs(run),
        "messages": messages(run, deliveries),
        "connections": None if is_live else connections(run, ended_s),
        "stories": stories(run, MOST if not is_live else 0),
        "places": places(run, frames_in or folder),
        "radio": radio(run, frames_in or folder),
        **_samples(run, ended_s),
    }  # fmt: skip


def origin(scenario: dict[str, Any]) -> dict[str, float] | None:
    """Return the longitude and latitude of (0, 0), or None if the scenario does not give them."""
    group = scenario.get("origin")
    group = group if isinstance(group, dict) else {}
    lon, lat = _number(group.get("lon")), _number(group.get("lat"))
    if lon is None or lat is None or abs(lon) > 180 or abs(lat) > 85:
        return None
    return {"lon": lon, "lat": lat}


def _about(run: Record) -> dict[str, Any]:
    m = run.manifest
    numbers = {name: m.get(name) for name in ("seed", "duration_s", "warmup_s", "quiescent")}
    verdict = _beside(run, "verdict.json")
    checks = verdict.get("checks")
    row = _beside(run, "metrics.json")
    return {
        "is_causal": is_causal(run),
        "name": name_of_run(run.folder, run.scenario),
        "description": harmless_text(run.scenario.get("description") or ""),
        "protocol": harmless_text(m.get("protocol", "")), "version": harmless_text(m.get("mobilenet_version", "")),
        "fingerprint": harmless_text(m.get("fingerprint", ""))[:12], **{k: v if _number(v) is not None or isinstance(v,
        bool) else None for k, v in numbers.items()},
        "verdict": harmless_text(verdict.get("verdict", "not judged")),
        "warnings": [harmless_text(line) for line in _list(verdict.get("warnings"))],
        "checks": {harmless_text(k): harmless_text(v.get("answer", "")) for k,
        v in checks.items() if isinstance(v, dict)} if isinstance(checks, dict) else {},
        "metrics": {name: row.get(name) for name in METRICS if _number(row.get(name)) is not None},
    }  # fmt: skip


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


METRICS = (
    "delivery_delay_mean_s", "delivery_delay_p95_s", "handoffs", "handoff_duration_mean_s",
    "handoff_interruption_mean_s",
    "collision_loss_ratio", "deliveries", "gaps", "crashes",
)  # fmt: skip


def _beside(run: Record, name: str) -> dict[str, Any]:
    """Return the content of a derived file of the run, or an empty object if it cannot be read. The map does not
    require these files.
    """
    try:
        value = json.loads((run.folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> float | None:
    return (
        float(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        else None
    )


def _group(values: dict[str, Any], *keys: str) -> dict[str, Any]:
    for key in keys:
        inner = values.get(key)
        values = inner if isinstance(inner, dict) else {}
    return values


PARTS = {  # intervention -> the part of the network that the map marks
    "cut": "link", "mend": "link", "impair_link": "link", "radio_off": "station", "radio_on": "station",
    "impair": "host",
}  # fmt: skip


def _switches(scenario: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the interventions on links and stations, and the impairments of hosts, in chronological order."""
    marked = []
    for one in _list(scenario.get("interventions")):
        if not isinstance(one, dict) or _number(one.get("at_s")) is None:
            continue
        kind = harmless_text(one.get("do", ""))
        part = PARTS.get(kind, "")
        ends = [harmless_text(end) for end in _list(one.get("link"))]
        whose = ends if part == "link" else harmless_text(one.get(part, ""))
        if whose and (part != "link" or len(ends) == 2):
            more = {key: _number(one[key]) for key in ("loss", "delay_s") if key in one}
            marked.append({"at_s": one["at_s"], "do": kind, part: whose, **more})
    return sorted(marked, key=lambda one: float(one["at_s"]))


def area(scenario: dict[str, Any]) -> dict[str, Any]:
    """Return the area in which hosts may walk, if it differs from the covered area."""
    given = _group(scenario, "hosts", "mobility", "area")
    outline: dict[str, Any] = {"box_m": None, "holes_m": []}
    try:
        box = given.get("box_m")
        outline["box_m"] = [float(v) for v in box] if box is not None and len(box) == 4 else None
        outline["holes_m"] = [[[float(x), float(y)] for x, y in ring] for ring in given.get("hole_polygons_m") or ()]
    except (TypeError, ValueError):
        return {"box_m": None, "holes_m": []}
    return outline


def _tracks(run: Record) -> dict[str, Any]:
    p, n = run.places, len(run.hosts)
    moments, moment = np.unique(p.time_ns, return_inverse=True)
    first = np.searchsorted(p.host, np.arange(n), side="left")
    count = np.searchsorted(p.host, np.arange(n), side="right") - first
    same = np.r_[False, p.host[1:] == p.host[:-1]] if len(p.host) else np.zeros(0, dtype=bool)
    regular = bool((np.diff(moment)[same[1:]] == 1).all())
    columns = {}
    for name, metres in (("x_cm", p.x_m), ("y_cm", p.y_m)):
        cm = np.rint(metres * 100).astype(np.int64)
        steps = np.where(same, np.diff(cm, prepend=0), cm)
        columns[name + "_start"] = pack_column(cm[first[count > 0]], "i32")
        columns[name] = narrow(np.where(same, steps, 0))
    begin = np.where(count > 0, moment[np.minimum(first, max(0, len(moment) - 1))] if len(moment) else 0, 0)
    return {
        "moments_ns": pack_column(moments, "f64"),
        "tracks": {
            "first": narrow(begin), "count": narrow(count), "moment": None if regular else narrow(moment),
            "interval_ns": interval_ns(run), **columns,
        },
    }  # fmt: skip


def interval_ns(run: Record) -> float:
    """Return the usual interval between two recorded positions of a host. If a host has no position for much longer, it
    has left.
    """
    moments = np.unique(run.places.time_ns)
    apart_ns = float(np.median(np.diff(moments))) if len(moments) > 1 else 1e9
    return max(apart_ns, 1e9 * (_number(_group(run.scenario, "record").get("positions_interval_s")) or 0))


def require_origin(run: Path, place: dict[str, float] | None) -> None:
    """Raise RunError if map tiles are requested for a run whose position on Earth is unknown."""
    if place is None:
        raise RunError(
            f"{run}: --tiles needs a position on Earth, but the scenario has no origin: {{lon, lat}}; specify one,"
            " or draw the map without --tiles"
        )


def end_s(run: Record) -> float:
    """Return the simulated time at which the run ended."""
    return _number(run.manifest.get("simulated_s")) or float(run.time_ns.max(initial=0)) / SECOND


def _samples(run: Record, end_s: float) -> dict[str, Any]:
    data = read_coded(run.folder, "samples")
    node, quantity = data.column("node"), data.column("quantity")
    time_ns, value = data.numbers("time_ns"), data.numbers("value")
    if not np.isfinite(value).all():
        raise RunError(f"{run.folder / 'samples.parquet'}: a value that is not a number")
    measured = buffers_of(run.manifest)
    content: dict[str, Any] = {"buffers": {}, "losses": _losses(node, quantity, time_ns, value)}
    for kind, numbers in (("stations", run.station_of), ("hosts", run.host_of)):
        owner = node.number(numbers)
        names = list(dict.fromkeys((*BUFFERS, *measured[kind[0]])))
        share = VALUES // (2 * len(names))
        bin_s = max(FINEST_BIN_S, end_s * len(numbers) / share, end_s / 4000)
        bins = max(1, math.ceil(end_s / bin_s + 1e-9))
        series: dict[str, Any] = {}
        for name in names:
            rows = np.flatnonzero((owner >= 0) & (quantity.codes == quantity.code(name)))
            if len(rows):
                sizes = narrow(_largest(owner[rows], time_ns[rows], value[rows], len(numbers), bins, bin_s))
                series[WORDS.get(name, harmless_text(name))] = sizes
        content["buffers"][kind] = {"bin_s": bin_s, "bins": bins, "names": list(series), "sizes": list(series.values())}
    return content


def _largest(owner: Any, time_ns: Any, value: Any, owners: int, bins: int, bin_s: float) -> Any:
    """Return the largest value of each owner's step function in each bin. The owners follow one after another."""
    place = owner * bins + np.minimum((time_ns / SECOND / bin_s).astype(np.int64), bins - 1)
    order = np.lexsort((np.arange(len(place)), time_ns, place))
    place, value = place[order], np.clip(np.rint(value[order]), 0, 65_535).astype(np.int64)
    last = np.full(owners * bins, -1, dtype=np.int64)
    ends = np.flatnonzero(np.r_[place[1:] != place[:-1], True])
    last[place[ends]] = ends
    at_end = np.maximum.accumulate(last.reshape(owners, bins), axis=1)  # the rows of an owner are consecutive
    carried = np.where(at_end >= 0, value[at_end], 0)
    largest = np.zeros((owners, bins), dtype=np.int64)
    largest[:, 1:] = carried[:, :-1]
    flat = largest.reshape(-1)
    np.maximum.at(flat, place, value)
    return flat


def _losses(node: CodedColumn, quantity: CodedColumn, time_ns: Any, value: Any) -> dict[str, Any]:
    """Return the share of lost receptions in each interval between samples. A reception is a pair of a frame and a
    receiver in range.
    """
    names = {word: code for code, word in enumerate(quantity.words) if word.startswith("pairs_")}
    rows = np.flatnonzero(node.among(["network"]) & np.isin(quantity.codes, list(names.values())))
    if not len(rows):
        return {"time_ns": pack_column([], "f64"), "share": pack_column([], "f32")}
    moments, index = np.unique(time_ns[rows], return_inverse=True)
    totals = np.zeros((2, len(moments)))
    lost = np.isin(quantity.codes[rows], [names.get(f"pairs_{outcome}", -2) for outcome in LOST_TO_OTHERS])
    for name in names.values():  # keep the last value of each quantity at each time
        own = quantity.codes[rows] == name
        level = np.zeros(len(moments))
        level[index[own]] = value[rows][own]
        totals[0] += level
        totals[1] += level if lost[own].any() else 0
    pairs, gone = np.diff(totals, axis=1)
    return {
        "time_ns": pack_column(moments[1:], "f64"),
        "share": pack_column(np.where(pairs > 0, gone / np.maximum(pairs, 1), 0), "f32"),
    }


Edge = tuple[int, int]
MOST_IN_A_MESH = 16


def edges(manifest: dict[str, Any], stations: int) -> list[Edge]:
    links = manifest.get("station_links", [])
    if links is None:  # the network is a full mesh
        return [(a, b) for a in range(stations) for b in range(a)] if stations <= MOST_IN_A_MESH else []
    pairs = links if isinstance(links, list) else []
    return [(pair[0], pair[1]) for pair in pairs if _is_pair(pair, stations)]


def _is_pair(pair: Any, stations: int) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(isinstance(s, int) and 0 <= s < stations for s in pair)
