"""Whether the numbers under which stations send messages to their cells can be those of one stream each.

Checks    a station sends each message under one number, and each number is that of one message
          hosts deliver what was broadcast in their session in the order of these numbers
Model     numbers are given on arrival and never again: one_stream.py
Errors    none
Source    ours: docs/protocols/mobile-causal.md
"""

from __future__ import annotations

import json

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.rundir.table import Table
from mobilenet.verify.air.messages import Hops
from mobilenet.verify.air.nodes import first
from mobilenet.verify.air.one_stream import chains_of

KINDS = ("AppSh", "AppOne")
UNKNOWN = -1
MOST = 1 << 40


def numbers_problem(events: Table, hops: Hops) -> str | None:
    """The first row, or delivery, that does not fit."""
    table = hops.table
    kind, detail, message, sender = (table.column(name) for name in ("kind", "detail", "message", "sender"))
    rows = np.flatnonzero(kind.among(KINDS) & ~hops.is_wired & (message.codes >= 0))
    by_word = np.full(len(detail.words) + 1, UNKNOWN)
    for code in np.unique(detail.codes[rows]).tolist():
        number = json.loads(detail.words[code]).get("number") if code >= 0 else None
        if type(number) is not int or not 0 <= number < MOST:
            row = int(rows[detail.codes[rows] == code][0])
            return f"{hops.words(row)}: number {number!r} in the cell, expected a whole number ≥ 0"
        by_word[code] = number
    numbers = by_word[detail.codes[rows]]
    names = sender.codes[rows].astype(np.int64) * (len(message.words) + 1) + message.codes[rows]
    _, heads, which = np.unique(names, return_index=True, return_inverse=True)
    if (at := first(numbers != numbers[heads][which])) is not None:
        before = numbers[heads][which[at]]
        return (
            f"{hops.words(int(rows[at]))}: number {numbers[at]}, expected {before} as for this message in an"
            " earlier row"
        )
    places = sender.codes[rows].astype(np.int64) * MOST + numbers
    _, heads, which = np.unique(places, return_index=True, return_inverse=True)
    if (at := first(message.codes[rows] != message.codes[rows][heads][which])) is not None:
        other = table["message"][int(rows[heads[which[at]]])]
        return f"{hops.words(int(rows[at]))}: number {numbers[at]}, which is already the number of {other}"
    number_of = dict(
        zip(zip(table.pick("sender", rows), table.pick("message", rows), strict=True), numbers, strict=True)
    )
    return _order_problem(events, number_of)


def _order_problem(events: Table, numbers: dict[tuple[str, str], int]) -> str | None:
    rows, begins, stations = chains_of(events)
    words = events.column("station").words
    columns = (words[code] for code in stations.tolist()), events.pick("message", rows)
    last = UNKNOWN
    for row, is_first, station, message in zip(rows.tolist(), begins.tolist(), *columns, strict=True):
        number = numbers.get((station, message), UNKNOWN)
        if is_first:
            last = UNKNOWN
        if UNKNOWN < number <= last:
            return (
                f"events: at {events['time_ns'][row] / SECOND:.6f} s (event {row}) {events['node'][row]} delivers"
                f" {message}, number {number} of {station}, after number {last}"
            )
        last = max(last, number)
    return None
