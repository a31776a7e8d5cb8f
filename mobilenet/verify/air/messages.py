"""Check that each row of `messages` can be a message in transit, by radio or wire, and that they add up.

Checks    sender and receiver are two nodes of the run, over a wire two stations with a link
          a message that was received has a time of arrival, any other has none; over the radio it arrives when a frame
          of its size has ended, and at most one propagation delay later; over a wire it takes its place behind those
          before it; on an impaired link, see impaired_links.py
          nothing crosses a link while it is cut
          `link_cut` needs a link that was cut with `loses: true`, and `out_of_range` a receiver that can be
          too far away
          of a protocol whose messages are known, each has the bytes that its fields and lists take
          numbers and bytes are those of the counters
Model     a message on a wire that has not arrived when the run ends has no row. A link that is cut holds messages until
          it is repaired, or loses them. The record cuts long lists off
Units     integer nanoseconds, bytes
Shapes    over rows
Errors    none
Source    ours: docs/models/radio.md, docs/models/wires.md, docs/run-directory.md
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.expected.expectations import Air, Expectations, Kind
from mobilenet.rundir.schema import MOST_LISTED
from mobilenet.rundir.table import Table
from mobilenet.verify.air.impaired_links import ImpairedLink, OnLink, impaired_ends
from mobilenet.verify.air.nodes import Nodes, first, row_in_words

NO_NS = -1
NUMBER = "(0|[1-9][0-9]{0,17})"
MOST_BYTES = 1 << 40  # no message is longer
LONGEST = 120  # characters of a detail in a sentence
RADIO, WIRED = "radio", "wired"
LINK_CUT, LOST_AT_RANDOM, OUT_OF_RANGE = "link_cut", "random", "out_of_range"
LOST_ON_WIRE = (LINK_CUT, LOST_AT_RANDOM)
FOR_ALL = ("AppSh", "AckC", "Have")  # of the mobile broadcast, what may be for all; all else is for one node


class Hops:
    """The rows of `messages` as arrays."""

    def __init__(self, table: Table, nodes: Nodes) -> None:
        self.table = table
        self.send_ns = table.numbers("send_ns")
        self.receive_ns = table.numbers_or("receive_ns", NO_NS)
        self.sender = nodes.indices(table.column("sender"))
        self.receiver = nodes.indices(table.column("receiver"))
        self.size_bytes = table.numbers("size_bytes")
        self.is_wired = table.column("medium").among((WIRED,))
        self.is_received = table.column("fate").among(("received",))
        self._details: dict[int, dict[str, Any]] = {-1: {}}

    def detail_of(self, row: int) -> dict[str, Any]:
        """The fields in the detail of a message; equal details are one object."""
        return self.detail_by_code(int(self.table.column("detail").codes[row]))

    def detail_by_code(self, code: int) -> dict[str, Any]:
        """The fields in the detail of this code."""
        if code not in self._details:
            self._details[code] = json.loads(self.table.column("detail").words[code])
        return self._details[code]

    def words(self, row: int) -> str:
        return row_in_words("messages", self.table, row)


def messages_problem(hops: Hops, nodes: Nodes, expected: Expectations, end_ns: int) -> str | None:
    """The first row that cannot be; `end_ns`: of the run."""
    assert expected.air is not None
    if not hops.table.rows:
        return None
    problems = (
        _row_problems(hops, end_ns),
        _word_problems(hops, expected.conduct is not None),
        _size_problems(hops, nodes, expected),
        _radio_problems(hops, nodes, expected.air),
        _wire_problems(hops, nodes, expected),
    )
    return next((problem for each in problems for problem in each), None)


def message_counts_problem(hops: Hops, nodes: Nodes, expected: Expectations, counters: dict[str, Any]) -> str | None:
    """The first number that is not that of the counters, or None."""
    wired, kinds = counters["wired"], counters["by_message_type"]["wired"]
    lost = hops.table.column("fate").among(LOST_ON_WIRE) & hops.is_wired
    for label, count, total in (
        ("received over wires", int((hops.is_wired & hops.is_received).sum()), wired["delivered"]),
        ("lost on a cut or impaired link", int(lost.sum()), wired.get("lost", 0)),
    ):
        if count != total:
            return f"messages: {count} {label}, but counters.json counts {total}"
    coded = hops.table.column("kind")
    codes = coded.codes[hops.is_wired]
    counts = np.bincount(codes, minlength=len(coded.words)).tolist()
    sizes = np.bincount(codes, hops.size_bytes[hops.is_wired], len(coded.words)).tolist()
    for name, count, size in zip(coded.words, counts, sizes, strict=True):
        known = kinds.get(name, {"count": 0, "bytes": 0})
        differs = wired["in_flight"] == 0 and (count, size) != (known["count"], known["bytes"])
        if count > known["count"] or size > known["bytes"] or differs:
            return (
                f"messages: {count} {name} over wires with {size:.0f} bytes, but counters.json counts"
                f" {known['count']} with {known['bytes']} bytes"
            )
    return _radio_counts_problem(hops, nodes, expected, counters)


def _radio_counts_problem(hops: Hops, nodes: Nodes, expected: Expectations, counters: dict[str, Any]) -> str | None:
    """At least as many frames of each kind were sent as messages of it have a row; as many, if they are for one node.

    What is for one node has a row there, or is out of range.
    """
    assert expected.air is not None
    for_one = expected.radio is not None and expected.radio.kinds is not None or expected.air.only_segments
    radio = np.flatnonzero(~hops.is_wired)
    coded = hops.table.column("kind")
    begins = np.ones(len(radio), bool)  # rows of one frame are together
    begins[1:] = (np.diff(hops.sender[radio]) != 0) | (np.diff(hops.send_ns[radio]) != 0)
    heads = radio[begins]
    codes = coded.codes[heads]
    for is_station, side in ((False, "host"), (True, "station")):
        own = (hops.sender[heads] < nodes.stations) == is_station
        tallies = counters["by_message_type"][side]
        counts = np.bincount(codes[own], minlength=len(coded.words)).tolist()
        for name, count in {**dict.fromkeys(tallies, 0), **dict(zip(coded.words, counts, strict=True))}.items():
            known = tallies.get(name, {"count": 0})["count"]
            if count > known or for_one and count < known and name not in FOR_ALL:
                return f"messages: {count} {name} from {side}s, but counters.json counts {known}"
    return None


def _row_problems(hops: Hops, end_ns: int) -> Iterator[str]:
    table = hops.table
    if (row := first(~hops.is_wired & ~table.column("medium").among((RADIO,)))) is not None:
        yield f"{hops.words(row)}: the medium is {table['medium'][row]}, expected radio or wired"
    for name, column in (("sender", hops.sender), ("receiver", hops.receiver)):
        if (row := first(column < 0)) is not None:
            yield f"{hops.words(row)}: the {name} {table[name][row]} is not a node of this run"
    if (row := first(hops.sender == hops.receiver)) is not None:
        yield f"{hops.words(row)}: the sender is also the receiver; expected two different nodes"
    has_time = hops.receive_ns != NO_NS
    if (row := first(has_time != hops.is_received)) is not None:
        yield (
            f"{hops.words(row)}: {'a' if has_time[row] else 'no'} time of arrival, but the fate is {table['fate'][row]}"
        )
    out = (hops.send_ns < 0) | (hops.send_ns > end_ns) | (hops.receive_ns > end_ns)
    if (row := first(out | has_time & (hops.receive_ns < hops.send_ns))) is not None:
        yield (
            f"{hops.words(row)}: sent at {hops.send_ns[row]} ns, arrives at {table['receive_ns'][row]} ns;"
            " expected times"
            f" in order, from 0 to {end_ns} ns"
        )


def _word_problems(hops: Hops, is_known: bool) -> Iterator[str]:
    """`is_known`: the protocol is; messages of a plug-in may have any field that is called host."""
    rules = {"message": _is_message, "detail": _is_object, **({"host": _is_host} if is_known else {})}
    for name, is_right in rules.items():
        coded = hops.table.column(name)
        odd = coded.map([not is_right(word) for word in coded.words], nothing=False).astype(bool)
        if (row := first(odd)) is not None:
            yield f"{hops.words(row)}: the {name} is {hops.table[name][row]!r}, which is not a valid value"


def _size_problems(hops: Hops, nodes: Nodes, expected: Expectations) -> Iterator[str]:
    if expected.radio is None or expected.radio.kinds is None:
        return
    kinds, details = hops.table.column("kind"), hops.table.column("detail")
    from_host = hops.sender >= nodes.stations
    sides = {"host": from_host & ~hops.is_wired, "station": ~from_host & ~hops.is_wired, "wired": hops.is_wired}
    for side, known in expected.radio.kinds.items():
        for name in [name for name in known if name in kinds.words]:
            rows = np.flatnonzero(sides[side] & (kinds.codes == kinds.code(name)))
            codes, which = np.unique(details.codes[rows], return_inverse=True)
            texts = [details.words[code] if code >= 0 else "{}" for code in codes.tolist()]
            fit = np.array([_size_range(known[name], text) for text in texts], np.int64).reshape(-1, 2)[which]
            sizes = hops.size_bytes[rows]
            if (at := first((sizes < fit[:, 0]) | (sizes > fit[:, 1]))) is not None:
                fields = texts[which[at]] if len(texts[which[at]]) <= LONGEST else "a list of that length"
                what = f"{sizes[at]} bytes, which is not a possible size for {name} with {fields}"
                yield f"{hops.words(int(rows[at]))}: {what}"


def _size_range(kind: Kind, text: str) -> tuple[int, int]:
    """The fewest and the most bytes of a message with this content; none fit impossible content."""
    detail = json.loads(text)
    try:
        size = kind.size_of(detail)
    except (TypeError, AttributeError, ValueError, OverflowError):
        return MOST_BYTES, 0
    is_cut = any(isinstance(value, (list, dict)) and len(value) >= MOST_LISTED for value in detail.values())
    return min(size, MOST_BYTES), MOST_BYTES if is_cut else min(size, MOST_BYTES)


def _is_host(word: str) -> bool:
    return re.fullmatch(rf"h{NUMBER}", word) is not None


def _is_message(word: str) -> bool:
    return re.fullmatch(rf"[hsp]{NUMBER}:{NUMBER}", word) is not None


def _is_object(word: str) -> bool:
    try:
        return isinstance(json.loads(word), dict)
    except ValueError:
        return False


def _radio_problems(hops: Hops, nodes: Nodes, air: Air) -> Iterator[str]:
    table, outcomes = hops.table, hops.table.column("fate")
    known = [*air.outcomes, OUT_OF_RANGE]
    if (row := first(~hops.is_wired & ~outcomes.among(known))) is not None:
        yield f"{hops.words(row)}: the fate is {table['fate'][row]}, expected one of {', '.join(known)}"
    is_host = (hops.sender >= nodes.stations, hops.receiver >= nodes.stations)
    astray = outcomes.among((OUT_OF_RANGE,)) & (is_host[0] == is_host[1])
    if (row := first(~hops.is_wired & astray)) is not None:
        yield f"{hops.words(row)}: the fate is out_of_range, but the message is not between a host and a station"
    rows = np.flatnonzero(~hops.is_wired & hops.is_received)
    sizes = hops.size_bytes[rows]
    each, which = np.unique(sizes, return_inverse=True)
    took_ns = hops.receive_ns[rows] - hops.send_ns[rows]
    fits = np.zeros(len(rows), bool)
    for around, airtime in air.carriers:
        lasts_ns = np.array([airtime.of(size + around) for size in each.tolist()], np.int64)[which]
        fits |= (lasts_ns <= took_ns) & (took_ns <= lasts_ns + air.delay_ns)
    if (at := first(~fits)) is not None:
        lasts = {airtime.of(int(sizes[at]) + around) for around, airtime in air.carriers}
        yield (
            f"{hops.words(int(rows[at]))}: {sizes[at]} bytes arrive after {took_ns[at]} ns, expected the air time of"
            f" their frame, {' or '.join(map(str, sorted(lasts)))} ns, plus at most {air.delay_ns} ns"
        )


def _wire_problems(hops: Hops, nodes: Nodes, expected: Expectations) -> Iterator[str]:
    air, wires = expected.air, expected.wires
    assert air is not None and wires is not None
    rows = np.flatnonzero(hops.is_wired)
    a, b = hops.sender[rows], hops.receiver[rows]
    if (at := first((a >= nodes.stations) | (b >= nodes.stations))) is not None:
        yield f"{hops.words(int(rows[at]))}: the medium is wired, but only stations have wires"
    pair = a * nodes.count + b
    if wires.links is not None:
        linked = [(nodes.index(one), nodes.index(other)) for one, other in wires.links]
        allowed = [x * nodes.count + y for one, other in linked for x, y in ((one, other), (other, one))]
        if (at := first(~np.isin(pair, allowed))) is not None:
            yield f"{hops.words(int(rows[at]))}: the medium is wired, but no link connects these stations"
    outcomes = hops.table.column("fate")
    cut, lost = outcomes.among((LINK_CUT,))[rows], outcomes.among(LOST_ON_WIRE)[rows]
    impaired = np.isin(pair, [x * nodes.count + y for x, y in _impaired_pairs(nodes, expected)])
    odd = ~lost & ~hops.is_received[rows] | (lost & ~cut & ~impaired)
    if (at := first(odd)) is not None:
        row = int(rows[at])
        yield f"{hops.words(row)}: the fate is {hops.table['fate'][row]}, expected received or link_cut"
    yield from _cut_problems(hops, rows[cut], nodes, expected)
    yield from _held_problems(hops, rows[~lost], nodes, expected)
    yield from _impaired_problems(hops, rows[impaired & ~cut], nodes, expected)
    yield from _queue_problems(hops, rows[~lost & ~impaired], pair[~lost & ~impaired], nodes, expected)
    if (at := first(np.diff(hops.receive_ns[rows[~lost]], prepend=0) < 0)) is not None:
        yield f"{hops.words(int(rows[~lost][at]))}: the row is out of order; rows are sorted by arrival"


def _impaired_pairs(nodes: Nodes, expected: Expectations) -> Iterator[tuple[int, int]]:
    for one, other in impaired_ends(expected):
        a, b = nodes.index(one), nodes.index(other)
        yield from ((a, b), (b, a))


def _impaired_problems(hops: Hops, rows: np.ndarray, nodes: Nodes, expected: Expectations) -> Iterator[str]:
    assert expected.air is not None
    if expected.wired_header_bytes is None:
        return
    cuts = list(_cuts(nodes, expected))
    for a, b in _impaired_pairs(nodes, expected):
        own = rows[(hops.sender[rows] == a) & (hops.receiver[rows] == b)]
        bits = 8 * (hops.size_bytes[own] + expected.wired_header_bytes)
        takes_ns = -(-bits * SECOND // expected.air.wire_bits_per_s)
        times_ns = ((None if at < 0 else at) for at in hops.receive_ns[own].tolist())
        columns = (own.tolist(), hops.send_ns[own].tolist(), times_ns, takes_ns.tolist())
        ends = nodes.name(min(a, b)), nodes.name(max(a, b))
        of_link = [(since, until, loses) for link, since, until, loses in cuts if sorted(link) == sorted((a, b))]
        problem = ImpairedLink(expected, ends, of_link).problem(map(OnLink, *columns))
        if problem is not None:
            yield f"{hops.words(problem[0])}: {problem[1]}"


def _cut_problems(hops: Hops, rows: np.ndarray, nodes: Nodes, expected: Expectations) -> Iterator[str]:
    mends: dict[frozenset[str | None], int] = {}  # link -> when it was last repaired after it had lost messages
    lossy: set[frozenset[str | None]] = set()
    for switch in expected.switches:
        ends = frozenset((switch.station, switch.other))
        if switch.event == "cut" and switch.loses:
            lossy.add(ends)
            mends[ends] = expected.end_ns
        elif switch.event == "mend" and ends in lossy:
            mends[ends] = switch.at_ns
            lossy.discard(ends)
    for row in rows.tolist():
        ends = frozenset((nodes.name(int(hops.sender[row])), nodes.name(int(hops.receiver[row]))))
        if hops.send_ns[row] > mends.get(ends, NO_NS):
            yield f"{hops.words(row)}: the fate is link_cut, but no cut of this link loses messages at that time"


def _held_problems(hops: Hops, rows: np.ndarray, nodes: Nodes, expected: Expectations) -> Iterator[str]:
    """While a link is cut it holds what is sent over it, or loses that and what is on the wire."""
    assert expected.air is not None
    size_bytes = hops.size_bytes[rows] + (expected.wired_header_bytes or 0)
    takes_ns = -(-8 * size_bytes * SECOND // expected.air.wire_bits_per_s) + expected.air.wire_delay_ns
    send_ns, receive_ns = hops.send_ns[rows], hops.receive_ns[rows]
    for ends, since_ns, until_ns, loses in _cuts(nodes, expected):
        own = np.isin(hops.sender[rows], ends) & np.isin(hops.receiver[rows], ends)
        wrong = own & (since_ns < send_ns) & (send_ns < until_ns) & (receive_ns < until_ns + takes_ns)
        if loses:
            wrong |= own & (send_ns < until_ns) & (receive_ns > since_ns)
        if (at := first(wrong)) is not None:
            span = f"from {since_ns / SECOND:.6f} to {until_ns / SECOND:.6f} s"
            yield f"{hops.words(int(rows[at]))}: it arrives, although the link is cut {span}"


def _cuts(nodes: Nodes, expected: Expectations) -> Iterator[tuple[list[int], int, int, bool]]:
    """For each cut, the two ends of its link, its time, and whether the link loses messages."""
    for place, switch in enumerate(expected.switches):
        if switch.event != "cut" or switch.other is None:
            continue
        mends = [one for one in expected.switches[place:] if one.event == "mend"]
        until_ns = next(one.at_ns for one in mends if (one.station, one.other) == (switch.station, switch.other))
        yield [nodes.index(switch.station), nodes.index(switch.other)], switch.at_ns, until_ns, switch.loses


def _queue_problems(
    hops: Hops, rows: np.ndarray, pair: np.ndarray, nodes: Nodes, expected: Expectations
) -> Iterator[str]:
    """Each takes the wire when it is sent, or when those before it have left."""
    air, header_bytes = expected.air, expected.wired_header_bytes
    assert air is not None
    if header_bytes is None:
        return
    order = rows[np.lexsort((rows, pair))]  # as they arrived, link by link
    pair = np.sort(pair)
    send_ns, receive_ns = hops.send_ns[order], hops.receive_ns[order]
    bits = 8 * (hops.size_bytes[order] + header_bytes)
    takes_ns = -(-bits * SECOND // air.wire_bits_per_s)
    same = np.zeros(len(order), bool)
    same[1:] = pair[1:] == pair[:-1]
    free_ns = np.where(same, np.append(0, receive_ns[:-1] - air.wire_delay_ns), 0)
    begin_ns = send_ns.copy()
    maybe_ns = send_ns.copy()  # what is sent in the nanosecond of a cut may be before it or behind it
    for ends, since_ns, until_ns, _ in _cuts(nodes, expected):
        own = np.isin(hops.sender[order], ends) & np.isin(hops.receiver[order], ends)
        begin_ns[own & (since_ns < send_ns) & (send_ns < until_ns)] = until_ns
        maybe_ns[own & (since_ns == send_ns)] = until_ns
    due_ns, maybe_due_ns = (
        np.maximum(each_ns, free_ns) + takes_ns + air.wire_delay_ns for each_ns in (begin_ns, maybe_ns)
    )
    wrong = (receive_ns != due_ns) & ((receive_ns != maybe_due_ns) | (maybe_ns == send_ns))
    wrong[1:] |= same[1:] & (send_ns[1:] < send_ns[:-1])
    if (at := first(wrong)) is not None:
        yield (
            f"{hops.words(int(order[at]))}: it arrives at {receive_ns[at] / SECOND:.9f} s, expected"
            f" {due_ns[at] / SECOND:.9f} s, after the messages sent earlier over this link"
        )
