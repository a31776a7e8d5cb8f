"""Divide the time of a frame or wired message, from the sender's queue to the receiver, into stretches.

Units     integer nanoseconds
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

from mobilenet.why.delay_lines import DelayLines
from mobilenet.why.kinds import (
    AIR,
    BACKBONE,
    CELL,
    CONTENTION,
    CUT,
    IMPAIRED_HOST,
    IMPAIRED_LINK,
    LOST,
    MAC_RETRY,
    QUEUE,
    UPLINK,
    WIRE_PROPAGATION,
    WIRE_QUEUE,
    WIRE_TRANSMISSION,
)
from mobilenet.why.record import ARRIVED, NONE, RECEIVED, WIRE, Record
from mobilenet.why.stretches import Stretch
from mobilenet.why.wires import Departures

UNSOLICITED = ""  # the reason for a groupcast repetition, which does not depend on feedback


class Hops:
    """The hops of one run."""

    def __init__(self, record: Record, departures: Departures, lines: DelayLines) -> None:
        self._record, self._departures, self._lines = record, departures, lines

    def leg(self, row: int) -> str:
        """Return the leg of the path on which the message in this row was sent."""
        if self._record.step[row] in (WIRE, ARRIVED):
            return BACKBONE
        return CELL if self._record.node[row][0] == "s" else UPLINK

    def departure(self, row: int, out: list[Stretch], leg: str, node: str) -> str:
        """Trace a message back from the handler of its receiver to the queue of its sender. Return the sender."""
        record = self._record
        row_sent = record.cause[row]
        if row_sent == NONE:  # the record does not show when it was queued
            out.append(Stretch(record.start_ns[row], record.time_ns[row], AIR, leg, record.node[row], row))
            return record.node[row]
        if record.step[row] == ARRIVED:
            self._on_wire(row, out, leg)
            return record.node[row_sent]
        self.on_air(row_sent, row, out, leg, node)
        return record.node[row]

    def _on_wire(self, row: int, out: list[Stretch], leg: str) -> None:
        record = self._record
        put = record.cause[row]
        place = f"{record.node[put]}-{record.node[row]}"
        arrived_ns = record.time_ns[row]
        held_ns, first_ns, last_ns, due_ns = self._departures.of(put, arrived_ns)
        out.append(Stretch(due_ns, arrived_ns, IMPAIRED_LINK, leg, place, put))
        out.append(Stretch(last_ns, due_ns, WIRE_PROPAGATION, leg, place, put))
        out.append(Stretch(first_ns, last_ns, WIRE_TRANSMISSION, leg, place, put))
        out.append(Stretch(held_ns, first_ns, WIRE_QUEUE, leg, place, put))
        out.append(Stretch(record.time_ns[put], held_ns, CUT, leg, place, put))

    def on_air(self, queued: int, last: int, out: list[Stretch], leg: str, node: str) -> None:
        """Add the stretches of a frame, backwards in time: its transmissions up to `last`, contention, queue and delay
        line.
        """
        record = self._record
        place = record.node[queued]
        rows = [row for row in record.sent_rows(queued) if row <= last]
        for number in range(len(rows) - 1, -1, -1):
            row = rows[number]
            outcome = record.outcome_at(row, node)
            kind = AIR if outcome == RECEIVED else LOST
            begin_ns = record.start_ns[row]
            out.append(Stretch(begin_ns, record.time_ns[row], kind, leg, place, row, outcome))
            if number:
                before, to = rows[number - 1], record.to[queued]
                reason = record.outcome_at(before, to) if to else UNSOLICITED
                out.append(Stretch(record.time_ns[before], begin_ns, MAC_RETRY, leg, place, row, reason))
        begin_ns = record.start_ns[rows[0]] if rows else record.time_ns[last]
        head_ns = min(max(self._lines.left_ns(queued), record.left_before_ns(queued)), begin_ns)
        out.append(Stretch(head_ns, begin_ns, CONTENTION, leg, place, queued))
        self.in_queue(queued, queued, head_ns, out, leg)

    def in_queue(self, queued: int, row: int, end_ns: int, out: list[Stretch], leg: str) -> None:
        """Add the stretches since the frame in this row was queued, backwards in time: the queue, then the delay
        line.
        """
        node, queued_ns = self._record.node[queued], self._record.time_ns[queued]
        left_ns = min(self._lines.left_ns(queued), end_ns)
        out.append(Stretch(left_ns, end_ns, QUEUE, leg, node, row))
        out.append(Stretch(queued_ns, left_ns, IMPAIRED_HOST, leg, node, row))
