"""Check that programs were notified of arrivals in time, where messages are recorded besides their lines.

Checks    each frame, and each message over a wire, that a program is notified of is a row of `messages` that arrives
          then, with the same words, as far as the record does not cut them off; over the radio from the same node
          a message that a program sends over the radio has words that it has sent by then
          each message has the kind that its words have
Model     what has arrived over the radio is handed up at most one propagation delay later
          over a backbone that is not a tree, wires carry messages of the backbone: they are not checked here
Units     integer nanoseconds
Errors    none
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.rundir.schema import MOST_LISTED
from mobilenet.rundir.table import Table
from mobilenet.verify.air.messages import Hops
from mobilenet.verify.air.nodes import Nodes

NOTHING = "NoneType"  # what the record has for a null in a list
encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
Heard = dict[tuple[int, str], tuple[list[int], list[tuple[int, str]]]]  # node, medium -> when; from whom, words


def programs_problem(lines: Table, hops: Hops, nodes: Nodes, delay_ns: int, is_tree: bool) -> str | None:
    """Return the first line, or message, that does not fit."""
    heard: Heard = {}
    is_read = hops.is_received if is_tree else hops.is_received & ~hops.is_wired
    rows = np.flatnonzero(is_read).tolist()
    for row in sorted(rows, key=lambda row: int(hops.receive_ns[row])):
        medium = "wire" if hops.is_wired[row] else "receive"
        times, told = heard.setdefault((int(hops.receiver[row]), medium), ([], []))
        times.append(int(hops.receive_ns[row]))
        told.append((int(hops.sender[row]), _words(hops.said(row).get("says"))))
    used: dict[tuple[int, str], set[int]] = {key: set() for key in heard}  # which of them a line has
    said: dict[tuple[int, str], int] = {}  # node, words -> when it sent them first
    columns = (lines["time_ns"], lines["node"], lines["said"], lines["line"])
    for row, (at_ns, name, is_said, line) in enumerate(zip(*columns, strict=True)):
        what, node = json.loads(line), nodes.index(name)
        action = what.get("do" if is_said else "ev")
        words = _words(what.get("message"))
        if is_said and action in ("send", "broadcast"):
            said.setdefault((node, words), at_ns)
        if is_said or action != "receive" and not (is_tree and action == "wire"):
            continue
        times, told = heard.get((node, action), ([], []))
        slack_ns = delay_ns if action == "receive" else 0
        sure = range(bisect_left(times, at_ns - slack_ns), bisect_right(times, at_ns))
        senders = {nodes.index(f"{letter}{what.get('from')}") for letter in "sh"}
        left = used.get((node, action), set())
        fits = (
            n for n in sure if n not in left and told[n][1] == words and (action == "wire" or told[n][0] in senders)
        )
        if (arrival := next(fits, None)) is not None:
            left.add(arrival)
        else:
            return (
                f"lines: row {row}: {name} is notified by {action} at {at_ns / SECOND:.6f} s of a message from"
                f" {what.get('from')}, but no such message arrives there then"
            )
    checked = np.arange(len(hops.sender)) if is_tree else np.flatnonzero(~hops.is_wired)
    return _said_problem(hops, said, checked.tolist())


def _said_problem(hops: Hops, said: dict[tuple[int, str], int], rows: list[int]) -> str | None:
    kinds, senders, times = hops.table["kind"], hops.sender.tolist(), hops.send_ns.tolist()
    for row in rows:
        kind = kinds[row]
        value = hops.said(row).get("says")
        name: Any = value[0] if isinstance(value, list) and value else None
        if isinstance(value, dict):
            name = value.get("type", value.get("kind"))
        if kind not in (name, "Says"):
            return f"{hops.words(row)}: the kind is {kind}, but its words make it {name}"
        if not hops.is_wired[row] and said.get((senders[row], _words(value)), times[row] + 1) > times[row]:
            return f"{hops.words(row)}: its sender has not sent that by then"
    return None


def _words(value: Any) -> str:
    return encode(None if value is None else _cut(value))


def _cut(value: Any) -> Any:
    """Return a value as the record of messages has it."""
    if isinstance(value, dict):
        return {str(key): _cut(item) for key, item in list(value.items())[:MOST_LISTED]}
    if isinstance(value, list):
        return [_cut(item) for item in value[:MOST_LISTED]]
    return NOTHING if value is None else value
