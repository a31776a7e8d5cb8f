"""Check that what programs report about themselves agrees with the rest of the record.

Checks    `session_opened` of a member, and the `session_confirmed` that ends it, are recorded as handoff_start and
          handoff_end, and `expired` as expire
          hosts receive `join` only while they are out, and `leave` only while they are not out or after a `join`
          a program is notified of a tag with `sent` or `dropped` at most as often as it sent frames with this tag in
          the same life
          at the end, buffers hold what was reported last; in a run at rest all hosts and stations have settled, and
          each member is served by a station
Model     membership survives a crash; `out`, buffers, `settled` and tags do not. A host is out if it reports this.
          Before its first report, it is out if it is not a member. The last reports of a host are not checked if it
          reports that it is out, or if it is not a member at the end, because it may be gone
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from mobilenet.engine.clock import SECOND
from mobilenet.quoting import pluralize
from mobilenet.record.table import Table

encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
HANDOFFS = ("handoff_start", "handoff_end")
Report = tuple[int, str, str, str]  # time, node, event, and its session or host


class _Node:
    """The state of a node according to the lines so far."""

    def __init__(self) -> None:
        self.member, self.handoff = False, None  # `handoff`: the session of a handoff in progress
        self.joins = False  # whether the last request was to join
        self.begin()

    def begin(self) -> None:
        """Start a new life, in which the program has no state yet."""
        self.out: bool | None = None
        self.settled = True
        self.serves: dict[str, bool] = {}
        self.sizes: dict[str, int] = {}
        # for each tag, the number of frames that the program sent and was not notified of yet
        self.tags: Counter[str] = Counter()

    @property
    def is_out(self) -> bool:
        return not self.member if self.out is None else self.out


def reported_problem(rows: Iterable[Any], events: Table, samples: Table, manifest: dict[str, Any]) -> str | None:
    """Return the first report that contradicts the rest of the record. `rows`: the lines, as in judge.py."""
    nodes: dict[str, _Node] = {}
    reports: Counter[Report] = Counter()
    for row, line in enumerate(rows):
        node = nodes.setdefault(line.node, _Node())
        if line.is_action:
            reports.update(_reports(line, node))
        elif (wrong := _input_problem(line.object, node)) is not None:
            return f"lines: row {row}: at {line.at_ns / SECOND:.6f} s, {line.node} is {wrong}"
    recorded = Counter(_reports_on_record(events))
    for at_ns, name, event, what in sorted((reports - recorded) + (recorded - reports)):
        key = at_ns, name, event, what
        return (
            f"lines: {name} has {pluralize(reports[key], 'report')} of {event} {what} at {at_ns / SECOND:.6f} s, but"
            f" {pluralize(recorded[key], 'event')}"
        )
    return next(_end_problems(nodes, events, samples, manifest), None)


def _reports(line: Any, node: _Node) -> Iterator[Report]:
    """Yield the event that an action reports, and update the node."""
    what = line.object
    action, session = what["do"], what.get("session")
    if action in ("joined", "left"):
        node.member = action == "joined"
        if action == "left":
            node.handoff = None
    elif action == "session_opened" and node.member:
        node.handoff = session
        yield line.at_ns, line.node, HANDOFFS[0], encode([session, what["station"], {"cause": what["cause"]}])
    elif action == "session_confirmed" and node.handoff == session:
        node.handoff = None
        yield line.at_ns, line.node, HANDOFFS[1], encode([session, what["station"], what.get("detail", {})])
    elif action == "expired":
        yield line.at_ns, line.node, "expire", f"h{what['host']}"
    elif action == "out":
        node.out = what["value"]
    elif action == "serves":
        node.serves[f"h{what['host']}"] = what["value"]
    elif action == "settled":
        node.settled = what["value"]
    elif action == "buffer":
        node.sizes[what["name"]] = what["size"]
    elif what.get("tag") is not None:
        node.tags[encode(what["tag"])] += 1


def _input_problem(what: dict[str, Any], node: _Node) -> str | None:
    event = what["ev"]
    if event == "start":
        node.begin()
    elif event in ("join", "leave"):
        is_possible = node.is_out if event == "join" else node.joins or not node.is_out
        node.joins = event == "join"
        if not is_possible:
            return f"asked to {event}, but it is {'out' if node.is_out else 'not out'}"
    elif event in ("sent", "dropped"):
        tag = encode(what["tag"])
        if not node.tags[tag]:
            return (
                f"notified of a frame with the tag {tag}, but it requested no such frame or has already been notified"
                " of it"
            )
        node.tags[tag] -= 1
    return None


def _reports_on_record(events: Table) -> Iterator[Report]:
    rows = events.column("event").rows(*HANDOFFS, "expire")
    names = ("time_ns", "node", "event", "session", "station", "detail")
    for at_ns, node, event, session, station, text in zip(*(events.pick(name, rows) for name in names), strict=True):
        detail = json.loads(text or "{}")
        if event == "expire":
            yield at_ns, node, event, detail["host"]
        else:
            yield at_ns, node, event, encode([session, None if station is None else int(station[1:]), detail])


def _end_problems(nodes: dict[str, _Node], events: Table, samples: Table, manifest: dict[str, Any]) -> Iterator[str]:
    kinds = events.column("event")
    lasting = kinds.rows("crash", "recover")
    is_down = dict(zip(events.pick("node", lasting), events.pick("event", lasting), strict=True))
    columns = (samples[name] for name in ("node", "quantity", "value"))
    last = {(node, quantity): value for node, quantity, value in zip(*columns, strict=True)}
    stations = [node for name, node in nodes.items() if name[0] == "s"]
    for name, node in nodes.items():
        if is_down.get(name) == "crash" or name[0] == "h" and (not node.member or node.out is not None):
            continue
        if manifest["quiescent"] and not node.settled and name[0] != "p":
            yield f"lines: {name} has not settled according to its last report, but the run is at rest"
        if manifest["quiescent"] and name[0] == "h" and not any(one.serves.get(name, True) for one in stations):
            yield f"lines: according to their last reports, no station serves {name}, but the run is at rest"
        for quantity, size in node.sizes.items():
            if last.get((name, quantity)) != size:
                yield (
                    f"lines: {name} last reports a {quantity} of {size}, but samples has {last.get((name, quantity))}"
                )
