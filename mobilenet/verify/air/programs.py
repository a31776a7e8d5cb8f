"""Check that programs were notified of arrivals in time, where messages are recorded besides their lines.

Checks    each frame, and each message over a wire, that a program is notified of is a row of `messages` that arrives
          then, with the same words, as far as the record does not cut them off; over the radio from the same node
          in one life a program is notified of the same words of a node no more often than that node has sent them
          a program is notified of each such row while it surely lives, but for repetitions by the MAC of the frame
          before: over a tree only where no station has sent the same words to another one, whose message may be passed
          on there
          a message that a program sends over the radio has a text that it has sent by then: to all nodes, if several
          have a row of it; to one, if that one was out of range, or another node has a row of the frame
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
from collections import Counter
from typing import Any

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.expected.expectations import Expectations
from mobilenet.rundir.schema import MOST_LISTED
from mobilenet.rundir.table import Table
from mobilenet.verify.air.messages import OUT_OF_RANGE, Hops
from mobilenet.verify.air.nodes import Nodes
from mobilenet.verify.air.pairs import Pairs

NOTHING = "NoneType"  # what the record has for a null in a list
encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
# node, medium -> when; from whom, words, row
ArrivalTimes = dict[tuple[int, str], tuple[list[int], list[tuple[int, str, int]]]]
SendTimes = dict[tuple[int, str], dict[int | None, list[int]]]  # node, words -> to whom (None: all) -> when
NEVER = 1 << 62


def programs_problem(
    lines: Table, hops: Hops, nodes: Nodes, expected: Expectations, pairs: Pairs | None = None
) -> str | None:
    """Return the first line, or message, that does not fit."""
    assert expected.air is not None and expected.radio is not None
    delay_ns, is_tree = expected.air.delay_ns, expected.wires is not None and expected.wires.is_tree
    copies = 1 + expected.radio.group_retries
    arrivals: ArrivalTimes = {}
    is_read = hops.is_received if is_tree else hops.is_received & ~hops.is_wired
    rows = np.flatnonzero(is_read).tolist()
    for row in sorted(rows, key=lambda row: int(hops.receive_ns[row])):
        medium = "wire" if hops.is_wired[row] else "receive"
        times, messages = arrivals.setdefault((int(hops.receiver[row]), medium), ([], []))
        times.append(int(hops.receive_ns[row]))
        messages.append((int(hops.sender[row]), _words(hops.detail_of(row).get("says")), row))
    used: dict[tuple[int, str], set[int]] = {key: set() for key in arrivals}  # which of them a line has
    send_times: SendTimes = {}
    wired: dict[str, set[int | None]] = {}  # words -> to which stations they were ever sent
    lives: dict[tuple[int, int], tuple[int, int]] = {}  # node, life -> its first line and its last
    notified: Counter[tuple[int, int, int, str]] = Counter()  # node, life, sender, words -> how often
    columns = (lines["time_ns"], lines["node"], lines["life"], lines["said"], lines["line"])
    for row, (at_ns, name, life, is_output, line) in enumerate(zip(*columns, strict=True)):
        what, node = json.loads(line), nodes.index(name)
        action = what.get("do" if is_output else "ev")
        words = _words(what.get("message"))
        lives[node, life] = lives.get((node, life), (at_ns, at_ns))[0], at_ns
        if is_output and action in ("send", "broadcast"):
            to = nodes.index(f"{'h' if name[0] == 's' else 's'}{what['to']}") if action == "send" else None
            send_times.setdefault((node, words), {}).setdefault(to, []).append(at_ns)
        elif is_output and action == "wire":
            wired.setdefault(words, set()).add(what.get("to"))
        if is_output or action != "receive" and not (is_tree and action == "wire"):
            continue
        times, messages = arrivals.get((node, action), ([], []))
        slack_ns = delay_ns if action == "receive" else 0
        sure = range(bisect_left(times, at_ns - slack_ns), bisect_right(times, at_ns))
        senders = {nodes.index(f"{letter}{what.get('from')}") for letter in "sh"}
        left = used.get((node, action), set())
        fits = (
            n
            for n in sure
            if n not in left and messages[n][1] == words and (action == "wire" or messages[n][0] in senders)
        )
        arrival = next(fits, None)
        about = f"lines: row {row}: {name} is notified by {action} at {at_ns / SECOND:.6f} s of a message from"
        if arrival is None:
            return f"{about} {what.get('from')}, but no such message arrives there at that time"
        left.add(arrival)
        if action == "receive":
            sender = messages[arrival][0]
            notified[node, life, sender, words] += 1
            goals = send_times.get((sender, words), {})
            sent = len(goals.get(None, ())) + len(goals.get(node, ()))
            if notified[node, life, sender, words] > sent:
                return f"{about} {nodes.name(sender)} more often than it was sent"
    checked = np.arange(len(hops.sender)) if is_tree else np.flatnonzero(~hops.is_wired)
    problem = _unnotified_problem(hops, nodes, arrivals, used, lives, wired, (delay_ns, copies > 1))
    problem = problem or _source_problem(hops, send_times, checked.tolist())
    return problem or _addressed_problem(hops, nodes, send_times, pairs, copies)


def _unnotified_problem(
    hops: Hops, nodes: Nodes, arrivals: ArrivalTimes, used: dict[tuple[int, str], set[int]],
    lives: dict[tuple[int, int], tuple[int, int]], wired: dict[str, set[int | None]], slack: tuple[int, bool],
) -> str | None:  # fmt: skip
    """Return a row that no line has. Stations ignore frames of other stations, and the MAC a repetition of the frame
    before, where stations repeat frames. `slack`: the propagation delay, and whether they do.
    """
    delay_ns, may_repeat = slack
    spans: dict[int, list[tuple[int, int]]] = {}
    for (node, _), span in lives.items():
        spans.setdefault(node, []).append(span)
    for (node, medium), (times, messages) in arrivals.items():
        before: dict[int, str] = {}  # sender -> the words of its frame before
        for place, (at_ns, (sender, words, row)) in enumerate(zip(times, messages, strict=True)):
            again, before[sender] = before.get(sender) == words, words
            if again and may_repeat and medium == "receive" and sender < nodes.stations:
                continue
            if place in used[node, medium] or medium == "receive" and max(node, sender) < nodes.stations:
                continue
            if medium == "wire" and not wired.get(words, {None}) <= {None, node}:
                continue
            if any(since <= at_ns and at_ns + delay_ns < until for since, until in spans.get(node, ())):
                return f"{hops.words(row)}: its receiver is not notified of this message"
    return None


def _addressed_problem(hops: Hops, nodes: Nodes, send_times: SendTimes, pairs: Pairs | None, copies: int) -> str | None:
    """Check in the order of frames that each one sent to all nodes, and to one, has a line of its own; a station may
    send one for all nodes `copies` times.
    """
    frames: dict[tuple[int, int], list[int]] = {}
    for row in np.flatnonzero(~hops.is_wired).tolist():
        frames.setdefault((int(hops.send_ns[row]), int(hops.sender[row])), []).append(row)
    receivers: dict[tuple[int, int], int] = {}  # of each frame, how many nodes were within its reach
    if pairs is not None:
        starts, senders = pairs.start_ns[pairs.first].tolist(), pairs.sender[pairs.first].tolist()
        receivers = dict(zip(zip(starts, senders, strict=True), np.bincount(pairs.frame).tolist(), strict=True))
    used: Counter[tuple[int, str, int | None]] = Counter()
    fates = hops.table["fate"]
    for (at_ns, node), rows in sorted(frames.items()):
        row, words = rows[0], _words(hops.detail_of(rows[0]).get("says"))
        one = int(hops.receiver[row])
        is_for_one = fates[row] == OUT_OF_RANGE or receivers.get((at_ns, node), 1) > len(rows) == 1
        goals = [None] if len(rows) > 1 else [one] if is_for_one else [one, None]
        times = send_times.get((node, words), {})
        if len(goals) == 1:
            used[node, words, goals[0]] += 1
        most = copies if node < nodes.stations else 1
        if not any(
            bisect_right(times.get(to, ()), at_ns) * (most if to is None else 1) >= max(1, used[node, words, to])
            for to in goals
        ):
            whom = "all nodes" if goals == [None] else "that one node"
            return f"{hops.words(row)}: its sender had not sent it to {whom} by then"
    return None


def _source_problem(hops: Hops, send_times: SendTimes, rows: list[int]) -> str | None:
    kinds, senders, times = hops.table["kind"], hops.sender.tolist(), hops.send_ns.tolist()
    since = {key: min(each[0] for each in goals.values()) for key, goals in send_times.items()}
    for row in rows:
        kind = kinds[row]
        value = hops.detail_of(row).get("says")
        name: Any = value[0] if isinstance(value, list) and value else None
        if isinstance(value, dict):
            name = value.get("type", value.get("kind"))
        if kind not in (name, "Says"):
            return f"{hops.words(row)}: the kind is {kind}, but its content is of kind {name}"
        if not hops.is_wired[row] and since.get((senders[row], _words(value)), NEVER) > times[row]:
            return f"{hops.words(row)}: its sender had not sent it by then"
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
