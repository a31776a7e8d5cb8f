"""Whether a record can be what it claims to be, before any property is asked for.

Checks    manifest   every key that verdicts rest on has its type
          events     the fingerprint fits, times never go back nor beyond the run, every event is of a known kind and
                     well formed, with values only in the columns of its kind; sessions fit together: see sessions.py
          samples    see sampled.py
          rows       each table has as many as were counted, of events each kind
          the end    a run that was not quiescent used up its drain
Errors    RunError for a manifest that cannot be read; everything else is a sentence, or None
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any

from mobilenet.quoting import cut
from mobilenet.rundir.reader import RunError
from mobilenet.rundir.recorder import EVENTS
from mobilenet.rundir.table import Columns, Table
from mobilenet.verify.basis.evidence import Evidence
from mobilenet.verify.basis.forms import LONGEST, number_problem
from mobilenet.verify.basis.sampled import samples_problem
from mobilenet.verify.basis.screened_wellformed import Rules, are_well_formed
from mobilenet.verify.basis.sessions import sessions_problem

NUMBER = "(0|[1-9][0-9]{0,17})"
NODE = re.compile(f"[hsp]{NUMBER}")
HOST = re.compile(f"h{NUMBER}")
STATION = re.compile(f"s{NUMBER}")
MESSAGE = re.compile(f"[hsp]{NUMBER}:{NUMBER}")
WITH_MESSAGE = ("broadcast", "deliver", "datagram", "datagram_received")
FIELDS = {  # each kind of event, and the columns that it may have besides its time and node
    **dict.fromkeys(("crash", "recover", "out_of_coverage"), ()),
    **dict.fromkeys(("broadcast", "datagram_received"), ("message",)),
    **dict.fromkeys(("datagram", "complete"), ("message", "detail")),
    **dict.fromkeys(("refused", "suspect", "trust", "expire"), ("detail",)),
    **dict.fromkeys(("join", "gap"), ("station", "session")),
    **dict.fromkeys(("handoff_start", "handoff_end"), ("station", "session", "detail")),
    **dict.fromkeys(("cut", "mend", "radio_off", "radio_on"), ("station", "detail")),
    "deliver": ("message", "station", "session"),
    "leave": ("session",),
    "in_coverage": ("station",),
}
LONGEST_S = 9e9  # in nanoseconds it fits into 64 bits
MARGIN_S = 1e-6  # seconds in the manifest are decimal fractions


def require_manifest(manifest: dict[str, Any]) -> None:
    """Raise RunError unless the keys that verdicts rest on are there, with their types."""
    if (untold := number_problem("manifest", manifest)) is not None:
        raise RunError(f"manifest.json: {untold}")
    promises = manifest.get("promises")
    if not isinstance(promises, dict):
        raise RunError(f"manifest.json: promises is {cut(repr(promises), LONGEST)}, expected an object")
    places = (
        (manifest, "fingerprint", _is_text),
        (manifest, "quiescent", _is_bool),
        (manifest, "simulated_s", _is_time),
        (manifest, "duration_s", _is_time),
        (manifest, "drain_s", _is_time),
        (manifest, "stations", _is_count),
        (manifest, "hosts", lambda value: value is None or _is_count(value)),
        (promises, "broadcast", lambda value: value is None or _is_text(value)),
        (promises, "gap_after_s", lambda value: value is None or _is_amount(value)),
        (promises, "heard_every_s", _is_amount),
        (promises, "rest_within_s", lambda value: value is None or _is_amount(value)),
        (promises, "duplicating_air", _is_bool),
    )
    for where, key, is_right in places:
        if key not in where or not is_right(where[key]):
            raise RunError(f"manifest.json: {key} is {cut(repr(where.get(key)), LONGEST)}, which is not a valid value")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_amount(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def _is_time(value: object) -> bool:
    return _is_amount(value) and value <= LONGEST_S  # type: ignore[operator]


def record_problem(run: Evidence) -> str | None:
    """The first thing that cannot be."""
    return (
        _end_problem(run.manifest)
        or events_problem(run.events, run.manifest)
        or rows_problem(run.events, run.samples, run.positions, run.counters)
        or sessions_problem(run.events)
        or samples_problem(run.events, run.samples, run.positions, run.manifest)
    )


def _end_problem(manifest: dict[str, Any]) -> str | None:
    simulated_s, duration_s, drain_s = (manifest[key] for key in ("simulated_s", "duration_s", "drain_s"))
    if simulated_s < duration_s - MARGIN_S:
        return f"manifest: {simulated_s} s simulated, less than the requested {duration_s} s"
    if not manifest["quiescent"] and simulated_s < duration_s + drain_s - MARGIN_S:
        return (
            f"manifest: not quiescent, but the run ended after {simulated_s} s, before the end of its {duration_s} s"
            f" and the drain of {drain_s} s"
        )
    return None


def events_problem(events: Columns, manifest: dict[str, Any]) -> str | None:
    table = Table.of(events)
    if not are_well_formed(table, (manifest["simulated_s"] + MARGIN_S) * 1e9, RULES):
        problem = examine_events(table, manifest)
        if problem is not None:
            return problem
    problem = _fields_problem(table)
    if problem is not None:
        return problem
    fingerprint = table.fingerprint()
    if fingerprint != manifest["fingerprint"]:
        return f"events: their fingerprint is {fingerprint[:16]}…, but the manifest has {manifest['fingerprint'][:16]}…"
    return None


def _fields_problem(events: Table) -> str | None:
    """The first event with a value in a column that events of its kind do not have."""
    event = events.column("event")
    for column in ("message", "station", "session", "detail"):
        without = event.map([column not in FIELDS.get(word, ()) for word in event.words], nothing=False)
        odd = without.astype(bool) & (events.column(column).codes >= 0)
        if odd.any():
            row = int(odd.argmax())
            return f"events: event {row} ({events['event'][row]}) has {column} {events[column][row]!r}, expected none"
    return None


def examine_events(events: Columns, manifest: dict[str, Any]) -> str | None:
    """Event by event: the first one that cannot be."""
    times = events["time_ns"]
    if any(time is None for time in times):
        return "events: an event has no time"
    for row in range(1, len(times)):
        if times[row] < times[row - 1]:
            return f"events: time goes back at event {row}, from {times[row - 1]} to {times[row]} ns"
    end_ns = (manifest["simulated_s"] + MARGIN_S) * 1e9
    if times and (times[0] < 0 or times[-1] > end_ns):
        return (
            f"events: times range from {times[0]} to {times[-1]} ns, outside the {manifest['simulated_s']} s simulated"
        )
    columns = (events[name] for name in ("event", "node", "message", "station", "session", "detail"))
    for row, (event, node, message, station, session, detail) in enumerate(zip(*columns, strict=True)):
        if event not in EVENTS:
            return f"events: event {row} is called {event!r}; known events are {', '.join(EVENTS)}"
        if node is None or not NODE.fullmatch(node) or node[0] not in EVENTS[event]:
            return f"events: event {row} has node {node!r}, which cannot have the event {event!r}"
        if message is not None and not MESSAGE.fullmatch(message):
            return f"events: event {row} has message {message!r}, expected a name such as 'h12:5'"
        if message is None and event in WITH_MESSAGE:
            return f"events: event {row} ({event}) names no message"
        if station is not None and not STATION.fullmatch(station):
            return f"events: event {row} has station {station!r}, expected a name such as 's3'"
        if session is not None and session < 0:
            return f"events: event {row} has session {session}, expected a number ≥ 0"
        if detail is not None and not _is_object(detail):
            return f"events: event {row} has detail {detail!r}, expected a JSON object"
        if event == "expire" and not _says_who_was_silent(detail):
            return f"events: event {row} (expire) has detail {detail!r}, expected the silent host and `silent_s`"
    return None


def rows_problem(
    events: Columns,
    samples: Columns,
    positions: Columns,
    counters: dict[str, Any],
) -> str | None:
    counted = counters.get("rows")
    if not isinstance(counted, dict) or not isinstance(counted.get("events"), dict):
        return f"counters.json: rows is {counted!r}, expected the number of rows of each table"
    counts = Counter(events["event"])
    for event in sorted({*counts, *counted["events"]}):
        if counts[event] != counted["events"].get(event, 0):
            return (
                f"events: {counts[event]} rows of {event}, but counters.json counts {counted['events'].get(event, 0)}"
            )
    for name, table in (("samples", samples), ("positions", positions)):
        if len(table["node"]) != counted.get(name):
            return f"{name}: {len(table['node'])} rows, but counters.json counts {counted.get(name)}"
    return None


def _says_who_was_silent(text: str | None) -> bool:
    detail = json.loads(text or "{}")
    host = detail.get("host")
    return isinstance(host, str) and HOST.fullmatch(host) is not None and _is_time(detail.get("silent_s"))


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text, object_pairs_hook=_each_once), dict)
    except ValueError:
        return False


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; readers differ in which of two equal keys they take, so it has none."""
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise ValueError("a key occurs twice")
    return mapping


RULES = Rules(
    EVENTS,
    WITH_MESSAGE,
    NODE.fullmatch,
    MESSAGE.fullmatch,
    STATION.fullmatch,
    _is_object,
    _says_who_was_silent,
)
