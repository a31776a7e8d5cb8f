"""Whether a record can be what it claims to be, before any property is asked for.

Checks    manifest   every key that verdicts rest on has its type
          events     the fingerprint fits, times never go back nor beyond the run, every event is well formed
          samples    a node, a quantity and a finite number each; the times of one quantity never go back
          the end    a run that was not quiescent used up its drain
Errors    RunError for a manifest that cannot be read; everything else is a sentence, or None
Source    ours: DESIGN.md §8
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from mobilenet.record import fingerprint
from mobilenet.rundir import RunError

NUMBER = "(0|[1-9][0-9]{0,17})"
NODE = re.compile(f"[hsp]{NUMBER}")
MESSAGE = re.compile(f"[hsp]{NUMBER}:{NUMBER}")
WITH_MESSAGE = ("broadcast", "deliver")
MARGIN_S = 1e-6  # seconds in the manifest are decimal fractions


def require_manifest(manifest: dict[str, Any]) -> None:
    """Raise RunError unless the keys that verdicts rest on are there, with their types."""
    promises = manifest.get("promises")
    if not isinstance(promises, dict):
        raise RunError(f"manifest.json: promises is {promises!r}, expected an object")
    places = (
        (manifest, "fingerprint", _is_text),
        (manifest, "quiescent", _is_bool),
        (manifest, "simulated_s", _is_amount),
        (manifest, "duration_s", _is_amount),
        (manifest, "drain_s", _is_amount),
        (promises, "broadcast", lambda value: value is None or _is_text(value)),
        (promises, "gap_after_s", lambda value: value is None or _is_amount(value)),
        (promises, "heard_every_s", _is_amount),
        (promises, "rest_within_s", lambda value: value is None or _is_amount(value)),
        (promises, "duplicating_air", _is_bool),
    )
    for where, key, is_right in places:
        if key not in where or not is_right(where[key]):
            raise RunError(f"manifest.json: {key} is {where.get(key)!r}, which cannot be")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _is_amount(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def record_problem(
    events: dict[str, list[Any]], samples: dict[str, list[Any]], manifest: dict[str, Any]
) -> str | None:
    """The first thing that cannot be."""
    return _end_problem(manifest) or _events_problem(events, manifest) or _samples_problem(samples, manifest)


def _end_problem(manifest: dict[str, Any]) -> str | None:
    simulated_s, duration_s, drain_s = (manifest[key] for key in ("simulated_s", "duration_s", "drain_s"))
    if simulated_s < duration_s - MARGIN_S:
        return f"manifest: {simulated_s} s simulated, less than the {duration_s} s asked for"
    if not manifest["quiescent"] and simulated_s < duration_s + drain_s - MARGIN_S:
        return f"manifest: not quiescent, yet it ended after {simulated_s} s, before its {duration_s} + {drain_s} s were over"
    return None


def _events_problem(events: dict[str, list[Any]], manifest: dict[str, Any]) -> str | None:
    times = events["time_ns"]
    if any(time is None for time in times):
        return "events: an event has no time"
    for row in range(1, len(times)):
        if times[row] < times[row - 1]:
            return f"events: time goes back at event {row}, from {times[row - 1]} to {times[row]} ns"
    end_ns = (manifest["simulated_s"] + MARGIN_S) * 1e9
    if times and (times[0] < 0 or times[-1] > end_ns):
        return f"events: times reach from {times[0]} to {times[-1]} ns, outside of the {manifest['simulated_s']} s simulated"
    columns = (events[name] for name in ("event", "node", "message", "station", "detail"))
    for row, (event, node, message, station, detail) in enumerate(zip(*columns, strict=True)):
        if event is None or node is None or not NODE.fullmatch(node):
            return f"events: event {row} has node {node!r} and event {event!r}"
        if message is not None and not MESSAGE.fullmatch(message):
            return f"events: event {row} has message {message!r}, expected something like 'h12:5'"
        if message is None and event in WITH_MESSAGE:
            return f"events: event {row} ({event}) names no message"
        if station is not None and not NODE.fullmatch(station):
            return f"events: event {row} has station {station!r}"
        if detail is not None and not _is_object(detail):
            return f"events: event {row} has detail {detail!r}, expected a JSON object"
    found = fingerprint(events)
    if found != manifest["fingerprint"]:
        return f"events: their fingerprint is {found[:16]}…, the manifest says {manifest['fingerprint'][:16]}…"
    return None


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _samples_problem(samples: dict[str, list[Any]], manifest: dict[str, Any]) -> str | None:
    last: dict[tuple[str, str], int] = {}
    end_ns = (manifest["simulated_s"] + MARGIN_S) * 1e9
    columns = (samples[name] for name in ("time_ns", "node", "quantity", "value"))
    for row, (time, node, quantity, value) in enumerate(zip(*columns, strict=True)):
        if node is None or quantity is None or value is None or not math.isfinite(value) or value < 0:
            return f"samples: row {row} has node {node!r}, quantity {quantity!r} and value {value!r}"
        if time is None or not last.get((node, quantity), 0) <= time <= end_ns:
            return f"samples: row {row} ({quantity} at {node}) has time {time}, not in its order or outside of the run"
        last[node, quantity] = time
    return None
