"""Check that the lines exchanged with programs are possible, and agree with events and counters.

Checks    each line is an event or an action of a node of the run. Times lie within the run and never decrease. Each
          event that a program receives begins an answer, which ends with `done` at the same time and in the same life
          a life begins with `start` and ends with a crash; a node has one more life than recoveries
          the actions that programs report are in the events, by node, time and message or session, and vice versa.
          Broadcasts, recoveries and suspicions that programs receive are in the events as well, and vice versa
          what programs report about themselves is in events and samples: see reports.py
          what they receive about themselves and others is true (inputs.py). No process receives a message sooner than
          the network can bring it: see transit.py
          the numbers of frames and messages that they receive and report agree with the counters: see line_totals.py
Model     an answer is not compared if an error in the program interrupted it
Units     integer nanoseconds
Source    ours: docs/guide/programs.md, docs/run-directory.md
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from mobilenet.quoting import pluralize
from mobilenet.record.table import Table
from mobilenet.scenario.plans.expectations import Expectations, ProcessPlan
from mobilenet.verify.lines.forms import DONE, ROLES, has_form
from mobilenet.verify.lines.inputs import inputs_problem
from mobilenet.verify.lines.line_totals import line_totals_problem
from mobilenet.verify.lines.reports import reported_problem
from mobilenet.verify.lines.transit import transit_problem

PROGRAM = "program"  # the protocol of scenarios in which nodes are programs
# action -> recorded event
SAYS = {"deliver": "deliver", "complete": "complete", "joined": "join", "left": "leave", "gap": "gap"}
REPORTED_EVENTS = ("recover", "suspect", "trust")  # events that are recorded and also sent to programs
MEANWHILE = ("sent", "dropped")  # events that a program may receive before it refuses a broadcast
What = tuple[str, int, str, str]  # node, time, event, and the message, session or process that it concerns


class Line(NamedTuple):
    at_ns: int
    node: str
    life: int
    is_action: bool
    object: dict[str, Any]


def lines_problem(
    tables: Mapping[str, Table], counters: dict[str, Any], manifest: dict[str, Any],
    expected: Expectations | None = None, plan: ProcessPlan | None = None,
) -> str | None:  # fmt: skip
    """Return the first line that is impossible or contradicts the events, or None."""
    lines, events, samples = (tables[name] for name in ("lines", "events", "samples"))
    times, node, text = lines.numbers("time_ns"), lines.column("node"), lines.column("line")
    end_ns = round(manifest["simulated_s"] * 1e9)
    odd = (times < 0) | (times > end_ns) | (np.diff(times, prepend=times[:1]) < 0)
    names = _nodes(manifest, events, expected)
    odd |= ~node.among(names) | (lines.numbers("life") < 1)
    objects = [_object(word) for word in text.words]
    odd |= text.map([each is None for each in objects], nothing=True).astype(bool)
    if odd.any():
        return _row_problem(lines, int(odd.argmax()), "a JSON object from a node of this run, in chronological order")
    if manifest["protocol"] != PROGRAM:
        return f"lines: {lines.rows} rows, but no node is a program" if lines.rows else None
    if manifest.get("ended_by_error") is not None:
        return None
    columns = (times.tolist(), lines["node"], lines["life"], lines["said"], (objects[code] for code in text.codes))
    rows = [Line(*row) for row in zip(*columns, strict=True)]
    known: set[tuple[int, str]] = set()  # equal lines share one object
    for row, line in enumerate(rows):
        what = id(line.object), ROLES[line.node[0]]
        if what not in known and not has_form(line.object, what[1], line.is_action):
            due = f"an {'action' if line.is_action else 'event'} from docs/guide/programs.md"
            return _row_problem(lines, row, due)
        known.add(what)
    return (
        _answers_problem(lines, text.map([each == DONE for each in objects], nothing=False))
        or _lives_problem(rows, events, names)
        or _events_problem(rows, events)
        or _stranger_problem(rows, names)
        or reported_problem(rows, events, samples, manifest)
        or line_totals_problem(rows, counters, manifest, expected)
        or inputs_problem(rows, events, manifest, expected, is_planned=(expected or plan) is not None)
        or (transit_problem(rows, plan) if plan is not None else None)
    )


def _row_problem(lines: Table, row: int, expected: str) -> str:
    return (
        f"lines: row {row} has node {lines['node'][row]} at {lines['time_ns'][row]} ns in life {lines['life'][row]},"
        f" expected {expected}"
    )


def _answers_problem(lines: Table, is_done: np.ndarray) -> str | None:
    """Return the first answer that is incomplete, or does not follow the line that it answers."""
    is_action = np.array(lines["said"], bool)
    same = np.ones(max(0, len(is_action) - 1), bool)
    for column in (lines.numbers("time_ns"), lines.column("node").codes, lines.numbers("life")):
        same &= column[1:] == column[:-1]
    # whether the previous answer has ended, for each row and for the end
    ended = np.array([True, *(is_action & is_done)])
    wrong = np.where(is_action, ended[:-1] | ~np.array([True, *same])[: len(is_action)], ~ended[:-1])
    if wrong.any():
        return _row_problem(lines, int(wrong.argmax()), "an answer to the preceding event, ending with `done`")
    return None if ended[-1] else f"lines: the last answer, from {lines['node'][-1]}, has no `done`"


def _lives_problem(rows: list[Line], events: Table, nodes: set[str]) -> str | None:
    crashes, recoveries = (_times(events, event) for event in ("crash", "recover"))
    lives: dict[str, int] = {}
    for row, line in enumerate(rows):
        life = lives.get(line.node, 0)
        if begins := line.object.get("ev") == "start" and not line.is_action:
            life = lives[line.node] = life + 1
        recovered, crashed = recoveries.get(line.node, []), crashes.get(line.node, [])
        since_ns = 0 if life < 2 else recovered[life - 2] if life - 2 < len(recovered) else 2**63
        until_ns = crashed[life - 1] if 0 < life <= len(crashed) else 2**63
        is_late = begins and life > 1 and line.at_ns != since_ns
        if line.life != life or not since_ns <= line.at_ns <= until_ns or is_late:
            return (
                f"lines: row {row}: {line.node} receives or writes a line at {line.at_ns / 1e9:.6f} s that is recorded"
                f" as life {line.life}, but according to the lines and events, it had started"
                f" {pluralize(life, 'time')} by then, and {'crashed at ' if crashed else 'never crashed'}"
                f"{', '.join(f'{at_ns / 1e9:.6f} s' for at_ns in crashed[:5])}"
            )
    needed = {name for name in nodes if name[0] != "h"} | set(recoveries)
    for name in sorted(needed):
        if lives.get(name, 0) != 1 + len(recoveries.get(name, [])):
            starts, recovers = lives.get(name, 0), len(recoveries.get(name, []))
            return (
                f"lines: {name} starts {pluralize(starts, 'time')}, expected {1 + recovers}: once, and at each recovery"
            )
    return None


def _times(events: Table, event: str) -> dict[str, list[int]]:
    times: dict[str, list[int]] = {}
    rows = events.column("event").rows(event)
    for name, at_ns in zip(events.pick("node", rows), events.pick("time_ns", rows), strict=True):
        times.setdefault(name, []).append(at_ns)
    return times


def _stranger_problem(rows: list[Line], names: set[str]) -> str | None:
    for row, line in enumerate(rows):
        host = line.object.get("host")
        if line.is_action and host is not None and f"h{host}" not in names:
            return f"lines: row {row}: {line.node} names host {host}, which is not one of this run"
    return None


def _events_problem(rows: list[Line], events: Table) -> str | None:
    line_counts = Counter(_events_in_lines(rows))
    chosen = events.column("event").rows(*SAYS.values(), *REPORTED_EVENTS, "broadcast", "refused")
    names = ("time_ns", "node", "event", "message", "station", "session", "detail")
    noted = Counter(_events_on_record(zip(*(events.pick(name, chosen) for name in names), strict=True)))
    for key in sorted((line_counts - noted) + (noted - line_counts), key=lambda one: one[1]):
        node, at_ns, event, about = key
        return (
            f"lines: {node} has {line_counts[key]} lines of {event} {about} at {at_ns / 1e9:.6f} s, but events"
            f" has {noted[key]}"
        )
    return None


def _events_in_lines(rows: Iterable[Line]) -> Iterator[What]:
    """Yield the events that the lines report. A program may refuse a broadcast in its answer, or in the answer to
    an event that it receives in between.
    """
    offered: dict[str, What] = {}
    for at_ns, node, _, is_action, line in rows:
        kind = line["do" if is_action else "ev"]
        if not is_action and kind not in MEANWHILE and node in offered:
            yield offered.pop(node)
        if is_action and kind == "refuse" and node in offered:
            offered[node] = node, at_ns, "refused", ""
        elif is_action and kind in SAYS:
            about = _name(node, line["id"]) if "id" in line else f"{line.get('session')} {line.get('station')}"
            yield node, at_ns, SAYS[kind], about
        elif not is_action and kind in REPORTED_EVENTS:
            yield node, at_ns, kind, f"p{line['process']}" if "process" in line else ""
        elif not is_action and kind == "broadcast":
            offered[node] = node, at_ns, kind, _name(node, line.get("id"))
    yield from offered.values()


def _events_on_record(columns: Iterable[tuple[Any, ...]]) -> Iterator[What]:
    """Yield the recorded events that lines must report."""
    for at_ns, node, event, message, station, session, detail in columns:
        if event == "refused" and json.loads(detail or "{}").get("cause") == "down":
            continue
        if event in ("deliver", "complete", "broadcast"):
            about = message
        elif event in SAYS.values():
            about = f"{session} {station and station[1:]}"
        else:
            about = json.loads(detail)["process"] if event in ("suspect", "trust") else ""
        yield node, at_ns, event, about


def _name(node: str, message: Any) -> str:
    """Return the name of a message as it appears in the events of hosts or of processes."""
    is_pair = isinstance(message, list) and len(message) == 2
    return f"{'p' if node[0] == 'p' else 'h'}{message[0]}:{message[1]}" if is_pair else str(message)


def _nodes(manifest: dict[str, Any], events: Table, expected: Expectations | None) -> set[str]:
    """Return all nodes that can have lines. The number of imported hosts follows only from the scenario."""
    processes = {f"p{number}" for number in range(manifest.get("processes", 0))}
    hosts = {word for word in events.column("node").words if word[:1] == "h"}
    planned = len(expected.hosts) if expected is not None and expected.hosts is not None else 0
    hosts |= {f"h{number}" for number in range(manifest["hosts"] or planned)}
    return processes | hosts | {f"s{number}" for number in range(manifest["stations"])}


def _object(line: str) -> dict[str, Any] | None:
    try:
        parsed_line = json.loads(line)
    except ValueError:
        return None
    return parsed_line if isinstance(parsed_line, dict) else None
