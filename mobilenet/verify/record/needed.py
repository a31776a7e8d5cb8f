"""Check that at least as many messages of each class were sent as events need.

Checks    a message that a host delivers came from its host once, and once into each cell where it is delivered; a
          join, a confirmed session, a move between stations, a session that a station asks for, and a leave took what
          their protocol declares for them
          what leaves a host's sbuffer was acknowledged, by one frame for all hosts that receive it
          over wires what a station sends to all others went over each link; and each request was answered
Model     frames that got lost come on top, so these are bounds. A leave counts when the host learned of its end: it
          joined again, or the run is at rest. Wires are checked in a run at rest where no link lost anything
Units     messages; over wires one for each link
Source    ours: docs/protocols/mobile-causal.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mobilenet.expected.expectations import Expectations
from mobilenet.rundir.table import Columns, Table, by_code
from mobilenet.verify.broadcasts.given_up import cause_of

WIRED = "wired"
CONFIRMS = ("join", "handoff_end")


def needed_problem(
    events: Columns, samples: Columns, counters: dict[str, Any], quiescent: bool, expected: Expectations | None
) -> str | None:
    """The first class, or classes, of which there are too few."""
    if expected is None or expected.radio is None or expected.hosts is None or expected.places is None:
        return None
    takes, kinds = expected.radio.takes, expected.radio.kinds or {}
    if not takes:
        return None
    table = Table.of(events)
    happened = _occurrences(table, quiescent, [plan.vanishes_ns is None for plan in expected.hosts])
    happened["acknowledged"] = _acknowledgements(table, Table.of(samples), expected)
    links = len(expected.places.stations_m) - 1
    return next(_problems(happened, takes, kinds, counters, links if quiescent else None), None)


def _problems(
    happened: Mapping[str, int],
    takes: Mapping[str, Any],
    kinds: Mapping[str, Any],
    counters: dict[str, Any],
    links: int | None,
) -> Iterator[str]:
    """`links`: between stations; None: wires are not looked at."""
    needed: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for what, number in happened.items():
        for side, names, each in takes.get(what, ()):
            if each or links is not None:
                needed[side, names] += number * (each or links or 0)
    if counters["wired"].get("lost"):
        links = None
    for side, names in needed:
        if side not in kinds or side == WIRED and links is None:
            continue
        sent = sum(counters["by_message_type"][side].get(name, {"count": 0})["count"] for name in names)
        if sent < needed[side, names]:
            reasons = ", ".join(f"{number} {what}" for what, number in happened.items() if number)
            least = needed[side, names]
            yield f"{side} {' and '.join(names)}: {sent} were sent, but the events require at least {least}: {reasons}"
    if WIRED in kinds and links is not None:
        requests, answers = takes.get("answers", ((), ()))
        counted = counters["by_message_type"][WIRED]
        due, sent = (sum(counted.get(name, {"count": 0})["count"] for name in names) for names in (requests, answers))
        if sent < due:
            yield (
                f"wired {' and '.join(answers)}: {sent} were sent, but {due} {' and '.join(requests)} had"
                " to be answered"
            )


def _occurrences(events: Table, quiescent: bool, stay: list[bool]) -> dict[str, int]:
    """Count each kind of occurrence. `stay`: for each host, whether it is there to the end."""
    delivered = events.column("event").rows("deliver")
    message, station = events.column("message"), events.column("station")
    cells = np.zeros((len(message.words) + 1, len(station.words) + 1), bool)  # the last ones: where there is none
    cells[message.codes[delivered], station.codes[delivered]] = True
    counts = {
        "delivered": int(cells[:-1].any(1).sum()),
        "delivered in a cell": int(cells[:-1, :-1].sum()),
        **dict.fromkeys(("join", "confirmed", "moved", "left", "reinit"), 0),
    }
    rows = events.column("event").rows(*CONFIRMS, "handoff_start", "leave")
    at: dict[str, str] = {}  # host -> station that confirmed it
    causes: dict[str, str] = {}
    left: set[str] = set()
    columns = (events.pick(name, rows) for name in ("event", "node", "station", "detail"))
    for event, node, where, detail in zip(*columns, strict=True):
        if event == "handoff_start":
            causes[node] = str(cause_of(detail))
            counts["reinit"] += causes[node] == "reinit"
        elif event == "leave":
            at.pop(node, None)
            left.add(node)
        elif event == "join" or causes.get(node) == "join":
            counts["join"] += 1
            counts["left"] += node in left
            left.discard(node)
            at[node] = where
        else:
            counts["confirmed"] += 1
            counts["moved"] += at.get(node, where) != where
            at[node] = where
    if quiescent:
        counts["left"] += sum(stay[int(node[1:])] for node in left if int(node[1:]) < len(stay))
    return counts


def _acknowledgements(events: Table, samples: Table, expected: Expectations) -> int:
    """Frames by which sbuffers of hosts shrank, but for sessions that were confirmed, or gave all up."""
    quantity, node = samples.column("quantity"), samples.column("node")
    is_host = node.map([name[:1] == "h" for name in node.words], nothing=False).astype(bool)
    rows = np.flatnonzero(is_host & (quantity.codes == quantity.code("sbuffer")))
    rows = rows[by_code(node.codes[rows])]
    times, values, codes = samples.numbers("time_ns")[rows], samples.numbers("value")[rows], node.codes[rows]
    fallen = np.flatnonzero((np.diff(values) < 0) & (np.diff(codes) == 0)) + 1
    number = {name: place for place, name in enumerate(node.words)}
    others = events.column("event").rows(*CONFIRMS, "gap")
    by_number = events.column("node").map([number.get(name, -1) for name in events.column("node").words], nothing=-1)
    elsewise = events.numbers("time_ns")[others] * len(number) + by_number[others]
    at_ns = np.sort(times[fallen[~np.isin(times[fallen] * len(number) + codes[fallen], elsewise)]])
    delay_ns = 0 if expected.air is None else expected.air.delay_ns
    return int((np.diff(at_ns) > delay_ns).sum()) + bool(len(at_ns))
