"""A second, slow implementation of docs/models/causes.md, written only from that page: an oracle for `mobilenet why`.

Model     this code follows the procedure that the page describes, step by step, with lists and loops. It shares no code
          with mobilenet/why
Units     ns
Shapes    the explanation of a delivery is a list of pieces (begin, end, kind, leg), in order and without gaps
Source    ours: docs/models/causes.md, docs/run-directory.md
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from ruamel.yaml import YAML

Stretch = tuple[int, int, str, str]  # (begin, end, kind, leg)
LEAVES = ("sent", "acknowledged", "given_up")
HANDLERS = (*LEAVES, "timer", "arrived")
# Intervals of these kinds keep their kind when a wait for a TCP segment is explained.
KEPT = ("lost", "mac_retry", "retransmission", "cut", "impaired_link", "impaired_host")
# If the host is in one of STATES, that state replaces these kinds of delay.
GIVES_WAY = ("retry", "retransmission", "timer", "elsewhere", "program", "not_explained")
SERVES = ("join", "handoff_end", "gap")  # After these events, the station that the event names serves the host.
STATES = ("down", "out_of_coverage", "handoff")  # states of a host, in order of precedence
TESTS = ("Test", "Answer")  # messages of the failure detector
LOSES = ("crash", "handoff_start", "join")  # events at which a host loses the messages that it had received


class Piece(NamedTuple):
    """A part of the delay of a delivery. `place` is a node, or - for a wire. `is_borrowed` marks parts that come from
    the explanation of another message.
    """

    begin: int
    end: int
    kind: str
    leg: str
    place: str = "-"
    is_borrowed: bool = False


class Row(NamedTuple):
    """One row of the table `causes`."""

    number: int
    time_ns: int
    node: str
    step: str
    cause: int
    kind: str
    to: str
    messages: str
    start_ns: int
    end_ns: int
    size_bytes: int
    window: str
    events: int
    heard: str

    def carries(self, message: str) -> bool:
        return message in self.messages.split()

    def is_received_by(self, node: str) -> bool:
        """Return whether the node is addressed by this transmission or wired message, and receives it."""
        if self.step == "arrived":
            return self.node == node
        is_for = self.to == node or (not self.to and self.node[0] != node[0])
        return self.step == "sent" and is_for and node in self.heard.split()

    def ends_a_frame_of(self, node: str) -> bool:
        is_own = self.step in ("sent", "given_up") and self.node == node
        return is_own or (self.step == "acknowledged" and self.to == node)


class Event(NamedTuple):
    """One row of the table `events`."""

    number: int
    time_ns: int
    node: str
    event: str
    message: str | None
    station: str | None
    session: int | None
    detail: str | None


class Wait(NamedTuple):
    """A period in which a message made no progress at a node, and the event that ended the period."""

    begin: int
    end: int
    node: str  # the waiting node
    handler: int  # the handler that ended the wait, or -1 if an external event ended it
    frame: Row | None  # the frame that this handler sent
    # outcome of the previous frame (lost, partition or received), or an empty string if there was no previous frame
    before: str
    leg: str  # empty if the place of each piece determines its leg
    message: str
    host: str  # the host that delivers the message


def read(directory: Path, table: str) -> list[dict[str, Any]]:
    frame = pd.read_parquet(directory / f"{table}.parquet")
    return list(frame.astype(object).where(frame.notna(), None).to_dict("records"))


def clip(pieces: Iterable[Piece], begin: int, end: int) -> list[Piece]:
    cut = [piece._replace(begin=max(piece.begin, begin), end=min(piece.end, end)) for piece in pieces]
    return [piece for piece in cut if piece.begin < piece.end]


def leg_between(sender: str, receiver: str) -> str:
    kinds = sender[0] + receiver[0]
    return {"hs": "uplink", "sh": "cell"}.get(kinds, "backbone")


class Run:
    """Reads the record of a run, and finds the causes of delay in it."""

    def __init__(self, directory: Path) -> None:
        self.rows = [Row(number, **row) for number, row in enumerate(read(directory, "causes"))]
        self.events = [Event(number, **row) for number, row in enumerate(read(directory, "events"))]
        self.scenario: dict[str, Any] = YAML(typ="safe").load((directory / "scenario.yaml").read_text(encoding="utf-8"))
        protocol = self.scenario["protocol"]
        is_by_datagrams = protocol["name"] == "datagrams"
        self.rest = "program" if not is_by_datagrams and {"class", "command"} & protocol.keys() else "not_explained"
        self.begins, self.delivers = ("datagram", "datagram_received") if is_by_datagrams else ("broadcast", "deliver")
        self.broadcasts = {e.message: e for e in self.events if e.event == self.begins and e.message}
        self.deliveries = {(e.message, e.node): e for e in self.events if e.event == self.delivers and e.message}
        self.switches = [e for e in self.events if e.event in ("radio_off", "radio_on")]
        self.of_node: dict[str, list[Event]] = defaultdict(list)
        for event in self.events:
            self.of_node[event.node].append(event)
        self.ends: dict[int, list[Row]] = defaultdict(list)  # frame -> its transmissions and acknowledgements
        self.frames_of: dict[str, list[Row]] = defaultdict(list)  # node -> frames that it handed to its MAC
        self.carriers: dict[str, list[Row]] = defaultdict(list)
        for row in self.rows:
            if row.step in (*LEAVES, "arrived"):
                self.ends[row.cause].append(row)
            if row.step == "queued":
                self.frames_of[row.node].append(row)
            for message in row.messages.split():
                self.carriers[message].append(row)
        self.left = {node: self.leavings(frames) for node, frames in self.frames_of.items()}
        self.handlers = self.handlers_of_events()
        self.cuts = self.read_cuts()
        self.in_line = self.delay_lines()
        self.detected = self.detected_crashes()
        self.done: dict[tuple[str, str], list[Piece]] = {}

    def handlers_of_events(self) -> list[int]:
        """Return, for each event, the last handler before it at the same time, or -1 if there was no such handler."""
        result, last, position = [], -1, 0
        for event in self.events:
            while position < len(self.rows) and self.rows[position].events <= event.number:
                if self.rows[position].step in HANDLERS:
                    last = position
                position += 1
            result.append(last if last >= 0 and self.rows[last].time_ns == event.time_ns else -1)
        return result

    def leavings(self, frames: list[Row]) -> dict[int, int]:
        """Return, for each frame of a node, the time at which the MAC had finished all previous frames."""
        result, latest = {}, 0
        for frame in frames:
            result[frame.number] = latest
            latest = max([latest, *(end.time_ns for end in self.ends[frame.number])])
        return result

    # Interventions and faults

    def read_cuts(self) -> dict[frozenset[str], list[tuple[Event, Event | None]]]:
        """Return the cuts of each link. Each cut comes with the event that repaired it, if any."""
        result: dict[frozenset[str], list[tuple[Event, Event | None]]] = defaultdict(list)
        for event in self.events:
            ends = frozenset((event.node, event.station or ""))
            if event.event == "cut":
                result[ends].append((event, None))
            elif event.event == "mend":
                result[ends][-1] = result[ends][-1][0], event
        return result

    def cut_in(self, row: Row) -> tuple[Event, Event | None] | None:
        """Return the cut that was in effect when the message was put on its link."""
        for begin, end in self.cuts.get(frozenset((row.node, row.to)), ()):
            if begin.number < row.events and (end is None or row.events <= end.number):
                return begin, end
        return None

    def delay_lines(self) -> dict[int, int]:
        """Return, for each frame of an impaired host, the time at which it entered the queue of the MAC."""
        result: dict[int, int] = {}
        end = round(self.scenario.get("duration_s", 0) * 1e9)
        for host in {one["host"] for one in self.scenario.get("interventions", ()) if one["do"] == "impair"}:
            own = [one for one in self.scenario["interventions"] if one["do"] == "impair" and one["host"] == host]
            crashes = [event.number for event in self.of_node[host] if event.event == "crash"]
            latest, lives = 0, 0
            for frame in self.frames_of[host]:
                before = [one for one in own if round(one["at_s"] * 1e9) < frame.time_ns <= end]
                last = max(before, key=lambda one: one["at_s"], default=None)
                delay = round((last or {}).get("delay_s", 0) * 1e9)
                so_far = sum(number < frame.events for number in crashes)
                latest = latest if so_far == lives else 0
                started = [row.start_ns for row in self.ends[frame.number] if row.step == "sent"]
                entered = max(latest, frame.time_ns + delay)
                if started and started[0] < entered:
                    entered = max(latest, frame.time_ns)
                result[frame.number] = latest = entered
                lives = so_far
        return result

    def detected_crashes(self) -> dict[int, tuple[int, str]]:
        """Return the crashed process and the time of its crash for each handler that starts to suspect this process."""
        result: dict[int, tuple[int, str]] = {}
        crashes = {}
        for event in self.events:
            if event.event == "crash":
                crashes[event.node] = event.time_ns
            if event.event == "suspect" and (process := json.loads(event.detail or "")["process"]) in crashes:
                result.setdefault(self.handlers[event.number], (crashes[process], process))
        result.pop(-1, None)
        return result

    def losses(self, node: str, to: str, message: str) -> list[tuple[Row, str]]:
        """Return the lost wired messages from one process to another that contain this message. Each comes with the
        reason `partition` or `lost`.
        """
        network = self.scenario.get("network", {})
        if not (network.get("loss") or network.get("partitions")):
            return []
        result = []
        for row in self.carriers[message]:
            if row.step == "wire" and (row.node, row.to) == (node, to) and not self.ends[row.number]:
                between = [
                    one
                    for one in network["partitions"]
                    if round(one["since"] * 1e9) <= row.time_ns < round(one["until"] * 1e9)
                    if (node in one["apart"]) != (to in one["apart"])
                ]
                result.append((row, "partition" if between else "lost"))
        return result

    def timeout_kind(self, timer: Row) -> str:
        """Return the kind of a wait for a TCP timer. On a wire, it depends on the cause of the segment losses after the
        timer was started.
        """
        sent = [row for row in self.rows if row.step == "wire" and row.cause == timer.number]
        if not sent:
            return "retransmission"
        ends = {sent[-1].node, sent[-1].to}
        on_link = [row for row in self.segments if {row.node, row.to} == ends and row.number < timer.number]
        lost = [row for row in on_link if not self.ends[row.number]]
        if not lost:
            return "retransmission"
        if lost[-1].time_ns < timer.start_ns:
            named = set(sent[-1].messages.split())
            from_here = [row for row in on_link if row.node == sent[-1].node]
            copies = [row for row in from_here if any(self.is_carried(each, row) for each in named)]
            lost = [row for row in copies[-1:] if row in lost]
            if not lost:
                return "retransmission"
        for begin, end in self.cuts.get(frozenset(ends), ()):
            is_since = end is None or lost[-1].events <= end.number
            if "loses" in (begin.detail or "") and begin.number < timer.events and is_since:
                return "cut"
        return "impaired_link"

    @cached_property
    def segments(self) -> list[Row]:
        return [row for row in self.rows if row.step == "wire" and row.kind.startswith("Tcp")]

    # Explaining a hop

    def hop(self, arrival: Row, receiver: str) -> list[Piece]:
        """Explain a hop (step 3), which begins when its frame is queued or put on the wire, and ends with this
        reception.
        """
        first = self.rows[arrival.cause]
        if first.step == "wire":
            return self.wire(first, arrival)
        ends = [row for row in self.ends[first.number] if row.number <= arrival.number]
        return self.frame(first, ends, receiver, leg_between(first.node, receiver))

    def frame(self, queued: Row, ends: list[Row], receiver: str, leg: str) -> list[Piece]:
        transmissions = [row for row in ends if row.step == "sent"]
        if not transmissions:
            return []
        on_the_air = transmissions[0].start_ns
        entered = self.in_line.get(queued.number, queued.time_ns)
        is_first = min(max(entered, self.left[queued.node][queued.number]), on_the_air)
        spans = [(queued.time_ns, entered, "impaired_host"), (entered, is_first, "queue")]
        spans.append((is_first, on_the_air, "contention"))
        for place, row in enumerate(transmissions):
            if place:
                spans.append((transmissions[place - 1].time_ns, row.start_ns, "mac_retry"))
            spans.append((row.start_ns, row.time_ns, "air" if receiver in row.heard.split() else "lost"))
        return [Piece(begin, end, kind, leg, queued.node) for begin, end, kind in spans]

    def wire(self, put: Row, arrival: Row) -> list[Piece]:
        held, due = put.time_ns, arrival.time_ns
        if self.bits:
            first_bit, last_bit = self.bits[put.number]
        elif "network" in self.scenario and self.scenario["network"]["edges"] is not None:
            first_bit = last_bit = put.time_ns
        else:
            held, first_bit, last_bit, due = self.on_links[put.number]
        return [
            Piece(put.time_ns, held, "cut", "backbone"),
            Piece(held, first_bit, "wire_queue", "backbone"),
            Piece(first_bit, last_bit, "wire_transmission", "backbone"),
            Piece(last_bit, due, "wire_propagation", "backbone"),
            Piece(due, arrival.time_ns, "impaired_link", "backbone"),
        ]

    @cached_property
    def on_links(self) -> dict[int, tuple[int, int, int, int]]:
        """Return four times for each message on a link: when the cut of the link ended, when the first and the last bit
        of the message were sent, and when it is due.
        """
        is_of_processes = "network" in self.scenario
        link = self.scenario["network"] if is_of_processes else self.scenario["stations"]["backbone"]
        header = link["header_bytes"] if is_of_processes else 0
        free: dict[tuple[str, str, int], int] = defaultdict(int)
        result = {}
        for row in self.rows:
            if row.step != "wire":
                continue
            losing = [one for one, _ in self.cuts.get(frozenset((row.node, row.to)), ()) if "loses" in str(one.detail)]
            key = row.node, row.to, sum(one.number < row.events for one in losing)
            cut = self.cut_in(row)
            if cut is not None and cut[0] in losing:
                continue
            held = row.time_ns if cut is None or cut[1] is None else cut[1].time_ns
            first = max(held, free[key])
            takes = ceil(Fraction(8000 * (row.size_bytes + header)) / Fraction(str(link["bandwidth_mbps"])))
            free[key] = first + takes
            result[row.number] = held, first, first + takes, first + takes + round(link["delay_ms"] * 1e6)
        return result

    @cached_property
    def bits(self) -> dict[int, tuple[int, int]]:
        """Return when the transmission of each message on the abstract and packet networks began and ended. A process
        sends only one message at a time.
        """
        network = self.scenario.get("network", {"kind": "wired"})
        if network["kind"] == "wired":
            return {}
        takes = round(network["send" if network["kind"] == "abstract" else "queue"] * 1e9)
        free: dict[tuple[str, bool], int] = defaultdict(int)
        result = {}
        for row in self.rows:
            if row.step == "wire":
                server = row.node, row.kind in TESTS
                begin = max(row.time_ns, free[server])
                free[server] = begin + takes
                result[row.number] = (begin, begin + takes)
        return result

    # Following a delivery back to its broadcast

    def story(self, message: str, node: str) -> list[Piece]:
        if (message, node) not in self.done:
            begin, end = self.broadcasts[message].time_ns, self.deliveries[message, node].time_ns
            pieces = self.with_states(self.walk(message, node), message, node)
            self.done[message, node] = clip(pieces, begin, end)
        return self.done[message, node]

    def walk(self, message: str, node: str) -> list[Piece]:
        begin, delivery = self.broadcasts[message].time_ns, self.deliveries[message, node]
        handler = self.handlers[delivery.number]
        reception = self.reception(message, delivery)
        if reception is None:
            whole = Wait(begin, delivery.time_ns, node, handler, None, "", "host", message, node)
            pieces = self.wait(whole)
            pieces = [p if p.is_borrowed else p._replace(leg=self.leg_at(p.place, node)) for p in pieces]
            is_senders = self.broadcasts[message].node == node
            without = [p if p.is_borrowed or p.kind != "program" else p._replace(kind="not_explained") for p in pieces]
            return pieces if is_senders else without
        return self.way(message, node, reception, node) + self.hold(message, delivery, reception)

    def leg_at(self, place: str, receiver: str) -> str:
        """Return the leg of a piece at this place, if no reception of the message is recorded."""
        return "host" if place == receiver else {"h": "uplink", "s": "cell", "p": "backbone", "-": "backbone"}[place[0]]

    def is_carried(self, message: str, by: Row) -> bool:
        """Return whether this row names the message and was sent after the broadcast of the message."""
        sent = by if by.step in ("queued", "wire") else self.rows[by.cause]
        return message in self.broadcasts and self.broadcasts[message].time_ns <= sent.time_ns and by.carries(message)

    def receptions(self, message: str, node: str) -> list[Row]:
        return [row for row in self.carriers[message] if row.is_received_by(node) and self.is_carried(message, row)]

    def reception(self, message: str, delivery: Event) -> Row | None:
        """Return the reception by which the message arrived (step 1)."""
        node = delivery.node
        rows = [row for row in self.receptions(message, node) if row.events <= delivery.number]
        handler = self.handlers[delivery.number]
        if not rows or any(row.number == handler for row in rows):
            return self.rows[handler] if rows else None
        lost = [e.number for e in self.of_node[node] if e.event in LOSES and e.number < delivery.number]
        since = [row for row in rows if not lost or row.events > lost[-1]]
        from_cell = [row for row in since if self.rows[row.cause].node == delivery.station]
        return [*from_cell[:1], *since[:1], rows[-1]][0]

    def hold(self, message: str, delivery: Event, reception: Row) -> list[Piece]:
        """Explain why the receiver did not deliver the message immediately (step 2)."""
        begin, end, node = reception.time_ns, delivery.time_ns, delivery.node
        if begin >= end:
            return []
        if reception.kind.startswith("Tcp"):
            return self.segment_wait(begin, end, "head_of_line", "host", node, self.handlers[delivery.number])
        blocker = self.blocker(message, delivery)
        if blocker is None:
            handler = self.handlers[delivery.number]
            return self.wait(Wait(begin, end, node, handler, None, "", "host", message, node))
        since = self.broadcasts[blocker].time_ns
        story = [Piece(begin, since, "not_explained", "host", node), *self.story(blocker, node)]
        return [piece._replace(is_borrowed=True) for piece in clip(story, begin, end)]

    def blocker(self, message: str, delivery: Event) -> str | None:
        handler = self.handlers[delivery.number]
        if handler < 0:
            return None
        before = [
            e.message
            for e in self.of_node[delivery.node]
            if e.event == self.delivers and e.number < delivery.number and self.handlers[e.number] == handler
            if e.message in self.broadcasts
        ]
        broadcast = self.broadcasts[message]
        known = {
            e.message
            for e in self.of_node[broadcast.node]
            if e.number < broadcast.number and e.event in (self.delivers, self.begins)
        }
        return [None, *before, *(each for each in before if each in known)][-1]

    def way(self, message: str, node: str, reception: Row, host: str) -> list[Piece]:
        """Explain the path from the broadcast to this reception (steps 3 and 4)."""
        begin, pieces = self.broadcasts[message], list[Piece]()
        while True:
            first = self.rows[reception.cause]
            pieces[:0] = self.hop(reception, node)
            sender = first.node
            handler = self.rows[first.cause] if first.cause >= 0 else None
            came: Row | None = None
            if handler is not None and self.is_carried(message, handler) and handler.is_received_by(sender):
                came = handler
            elif sender != begin.node:
                came = next((row for row in self.receptions(message, sender) if row.number < first.number), None)
            since = begin.time_ns if came is None else came.time_ns
            if came is not handler or handler is None:
                pieces[:0] = self.stay(message, since, first, node, host)
            if came is None:
                return clip(pieces, begin.time_ns, pieces[-1].end)
            node, reception = sender, came

    def stay(self, message: str, since: int, last: Row, receiver: str, host: str) -> list[Piece]:
        """Explain the time that the message spent at the sender of a hop (step 4)."""
        node, leg = last.node, leg_between(last.node, receiver)
        before = [row for row in self.carriers[message] if row.step == "queued" and row.node == node]
        before = [row for row in before if since <= row.time_ns and row.number < last.number]
        if last.step == "wire" and host.startswith("h") and any(self.is_meant_for(host, row) for row in before):
            receiver, leg = host, "cell"
        frames = [row for row in before if leg == "uplink" or (leg == "cell" and self.is_meant_for(receiver, row))]
        pieces, outcome, at = list[Piece](), "", since
        for put, reason in self.losses(node, receiver, message):
            if since <= put.time_ns and put.number < last.number:
                pieces += self.wait(Wait(at, put.time_ns, node, put.cause, put, outcome, leg, message, host))
                outcome, at = reason, put.time_ns
        for frame, following in pairwise([*frames, last]):
            pieces += self.wait(Wait(at, frame.time_ns, node, frame.cause, frame, outcome, leg, message, host))
            hearer = frame.to or receiver
            ends = self.ends[frame.number]
            parts = self.frame(frame, ends, hearer, leg)
            pieces += clip(parts, max(at, frame.time_ns), following.time_ns)
            is_received = any(row.step == "sent" and hearer in row.heard.split() for row in ends)
            outcome = "received" if is_received else "lost"
            at = max([at, *(piece.end for piece in pieces)])
        return pieces + self.wait(Wait(at, last.time_ns, node, last.cause, last, outcome, leg, message, host))

    def is_meant_for(self, host: str, frame: Row) -> bool:
        """Return whether a station queued this frame for the host. The station must have served the host at that time,
        or have been the next to serve it.
        """
        if frame.to not in ("", host):
            return False
        left = max([frame.time_ns, *(end.time_ns for end in self.ends[frame.number])])
        confirmed = [(e.time_ns, e.station) for e in self.of_node[host] if e.event in SERVES]
        begun = [(e.time_ns, e.station) for e in self.of_node[host] if e.event in (*SERVES, "handoff_start")]
        stations = set()
        for changes in (confirmed, begun):
            for at, (since, station) in enumerate(changes):
                is_over = at + 1 < len(changes) and changes[at + 1][0] <= frame.time_ns
                if since <= left and not is_over:
                    stations.add(station)
        return not stations or frame.node in stations

    # Explaining a wait

    def wait(self, w: Wait) -> list[Piece]:
        """Explain a wait by the handlers that led to its end (step 5)."""
        pieces: list[Piece] = []
        node, frame, end, number = w.node, w.frame, w.end, w.handler
        while w.begin < end:
            handler = self.rows[number] if number >= 0 else None
            if handler is None:
                rest = self.world(w, frame, end)
                return (rest if node == w.node else self.in_states(rest, node)) + pieces
            crashed, process = self.detected.get(number, (end, ""))
            if crashed < end:
                pieces[:0] = [Piece(max(w.begin, crashed), end, "down", w.leg, process)]
                end = max(w.begin, crashed)
            elif handler.step == "timer":
                is_own = handler.node == w.node
                after_loss = {"lost": "retry", "partition": "partition"}.get(w.before)
                kind = after_loss or "timer"
                kind = self.timeout_kind(handler) if handler.kind == "TCP retransmission" else kind
                is_whole = kind == after_loss or (is_own and (kind != "timer" or handler.cause < 0))
                begin = w.begin if is_whole else min(end, max(w.begin, handler.start_ns))
                pieces[:0] = [Piece(begin, end, kind, w.leg, handler.node)]
                end, number = begin, handler.cause
            elif handler.ends_a_frame_of(node):
                before = self.rows[handler.cause]
                pieces[:0] = clip(self.own_frame(before, end, w.leg), w.begin, end)
                end, number = min(end, before.time_ns), before.cause
            elif handler.kind.startswith("Tcp"):
                held = frame.window if frame is not None and frame.window else "head_of_line"
                held = "handshake" if handler.kind == "TcpSyn" else held
                return self.segment_wait(w.begin, end, held, w.leg, w.node, number, node) + pieces
            elif node == w.node and (other := self.other(handler, w)) is not None:
                order = Piece(w.begin, self.broadcasts[other].time_ns, "order", w.leg, w.node)
                host = w.host if w.leg in ("cell", "host") else node
                way = self.with_states(self.way(other, node, handler, host), other, host)
                order_pieces = [piece._replace(is_borrowed=True) for piece in [order, *way]]
                return clip(order_pieces, w.begin, end) + pieces
            else:
                frame = self.rows[handler.cause]
                hop = [piece._replace(leg=w.leg) for piece in self.hop(handler, node)]
                pieces[:0] = clip(hop, w.begin, end)
                node, end, number = frame.node, min(end, frame.time_ns), frame.cause
        return pieces

    def own_frame(self, queued: Row, end: int, leg: str) -> list[Piece]:
        """Explain the time since another frame of this node was queued."""
        entered = min(end, self.in_line.get(queued.number, queued.time_ns))
        return [
            Piece(queued.time_ns, entered, "impaired_host", leg, queued.node),
            Piece(entered, end, "queue", leg, queued.node),
        ]

    def segment_wait(
        self, begin: int, end: int, rule: str, leg: str, holder: str, number: int, at: str = ""
    ) -> list[Piece]:
        """Explain a wait for a segment of TCP. Intervals of some kinds keep their kind, and the remaining time gets the
        kind `rule`.
        """
        kept: list[Piece] = []
        until, node = end, at or holder
        while number >= 0 and begin < until:
            handler = self.rows[number]
            if handler.step == "timer":
                node, since, number = handler.node, handler.start_ns, handler.cause
                kind = self.timeout_kind(handler) if handler.kind == "TCP retransmission" else "timer"
                parts = [Piece(since, until, kind, leg, node)]
            elif handler.cause < 0:
                break
            else:
                queued = self.rows[handler.cause]
                is_own = handler.ends_a_frame_of(node)
                parts = self.own_frame(queued, until, leg) if is_own else self.hop(handler, node)
                node, since, number = queued.node, queued.time_ns, queued.cause
            kept[:0] = clip([part for part in parts if part.kind in KEPT], begin, until)
            until = min(until, since)
        result, done = list[Piece](), begin
        for part in kept:
            result += [Piece(done, part.begin, rule, leg, holder), part]
            done = part.end
        return clip([*result, Piece(done, end, rule, leg, holder)], begin, end)

    def other(self, handler: Row, w: Wait) -> str | None:
        """Return a message contained in this reception, or None if the waiting message is one of them."""
        if self.is_carried(w.message, handler):
            return None
        return next((each for each in handler.messages.split() if self.is_carried(each, handler)), None)

    def world(self, w: Wait, frame: Row | None, end: int) -> list[Piece]:
        if frame is not None and frame.window:
            return [Piece(w.begin, end, frame.window, w.leg, w.node)]
        if w.before in ("lost", "partition"):
            return [Piece(w.begin, end, "retry" if w.before == "lost" else "partition", w.leg, w.node)]
        is_own_code = self.rest == "program"
        if w.before == "received" and not is_own_code:
            return [Piece(w.begin, end, "timer", w.leg, w.node)]
        pieces = []
        changes = [e for e in self.of_node[w.host] if e.event in SERVES]
        for a, b in pairwise([w.begin, *(e.time_ns for e in changes if w.begin < e.time_ns < end), end]):
            before = [e.station for e in changes if e.time_ns <= a]
            is_elsewhere = w.leg == "cell" and bool(before) and before[-1] != w.node
            whole = Piece(a, b, "elsewhere" if is_elsewhere else self.rest, w.leg, w.node)
            pieces += [whole] if is_elsewhere or is_own_code else self.timers_in(whole)
        return pieces

    def timers_in(self, piece: Piece) -> list[Piece]:
        """Divide a piece. The parts in which the node had a running timer that sends messages get the kind `timer`."""
        result, at = list[Piece](), piece.begin
        for timer in self.sending_timers.get(piece.place, ()):
            if timer.time_ns > at and timer.start_ns < piece.end:
                begin, end = max(at, timer.start_ns), min(timer.time_ns, piece.end)
                if begin < end:
                    result += [piece._replace(begin=at, end=begin), piece._replace(begin=begin, end=end, kind="timer")]
                    at = end
        parts = [part for part in [*result, piece._replace(begin=at)] if part.begin < part.end]
        return [each for part in parts for each in (self.frames_in(part) if part.kind == piece.kind else [part])]

    def frames_in(self, piece: Piece) -> list[Piece]:
        """Divide a piece. The parts in which the queue of the node held frames with messages get the kind `queue`."""
        result, at = list[Piece](), piece.begin
        for frame, left in self.carrying_frames.get(piece.place, ()):
            begin, end = max(at, frame.time_ns), min(left, piece.end)
            if begin < end:
                result += [piece._replace(begin=at, end=begin), piece._replace(begin=begin, end=end, kind="queue")]
                at = end
        return [part for part in [*result, piece._replace(begin=at)] if part.begin < part.end]

    @cached_property
    def carrying_frames(self) -> dict[str, list[tuple[Row, int]]]:
        """Return, for each node, the sent frames that contain messages, and the times at which they were sent."""
        result: dict[str, list[tuple[Row, int]]] = defaultdict(list)
        for node, frames in self.frames_of.items():
            for frame in frames:
                ends = [end.time_ns for end in self.ends[frame.number]]
                if ends and any(self.is_carried(each, frame) for each in frame.messages.split()):
                    result[node].append((frame, max(ends)))
        return result

    @cached_property
    def sending_timers(self) -> dict[str, list[Row]]:
        """Return, for each node, the rows of timers that send messages. A timer sends messages if a timer with the same
        name has queued a frame with a message or put a message on a wire.
        """
        sent = [row for row in self.rows if row.step in ("queued", "wire") and row.cause >= 0]
        carrying = [row for row in sent if any(self.is_carried(each, row) for each in row.messages.split())]
        names = {self.rows[row.cause].kind for row in carrying if self.rows[row.cause].step == "timer"}
        result: dict[str, list[Row]] = defaultdict(list)
        for row in self.rows:
            if row.step == "timer" and row.kind in names:
                result[row.node].append(row)
        return result

    # States of hosts

    def with_states(self, pieces: list[Piece], message: str, host: str) -> list[Piece]:
        """Divide waits by the states of the host (step 6)."""
        result = []
        for piece in pieces:
            if piece.is_borrowed or piece.leg == "backbone" or piece.kind not in GIVES_WAY:
                is_to_host = piece.leg == "cell" and not piece.is_borrowed
                result += self.in_states([piece], host, ("down",)) if is_to_host else [piece]
                continue
            whose = host
            if piece.leg == "uplink":
                whose = piece.place if piece.place.startswith("h") else self.broadcasts[message].node
            parts = list[Piece]()
            for part in self.off_air(piece, whose):
                parts += [part] if part.kind == "off_air" else self.in_states([part], whose)
            kind = piece.kind
            for part in parts:
                kind = part.kind if part.kind != piece.kind or piece.kind != "retransmission" else kind
                result.append(part._replace(kind=kind if piece.kind == "retransmission" else part.kind))
        return result

    def off_air(self, piece: Piece, host: str) -> list[Piece]:
        """Divide a piece. The parts in which the radio of the host's station was off get the kind `off_air`."""
        if not self.switches:
            return [piece]
        served = [e for e in self.of_node[host] if e.event in SERVES]
        edges = {piece.begin, piece.end, *(e.time_ns for e in served)}
        edges |= {e.time_ns for e in self.switches}
        result = []
        for a, b in pairwise(sorted(edge for edge in edges if piece.begin <= edge <= piece.end)):
            before = [e.station for e in served if e.time_ns <= a]
            station = piece.place if piece.place[0] == "s" else before[-1] if before else None
            switched = [e.event for e in self.switches if e.node == station and e.time_ns <= a]
            is_off = switched[-1:] == ["radio_off"]
            result.append(piece._replace(begin=a, end=b, kind="off_air" if is_off else piece.kind))
        return result

    def in_states(self, pieces: list[Piece], host: str, of: tuple[str, ...] = STATES) -> list[Piece]:
        result, states = [], [state for state in self.states(host) if state[2] in of]
        for piece in pieces:
            inner = {edge for state in states for edge in state[:2] if piece.begin < edge < piece.end}
            for begin, end in pairwise(sorted({piece.begin, piece.end, *inner})):
                there = [name for since, until, name in states if since <= begin and end <= until]
                result.append(piece._replace(begin=begin, end=end, kind=[*there, piece.kind][0]))
        return result

    def states(self, host: str) -> list[tuple[int, int, str]]:
        """Return the periods in which a host was down, out of coverage or between sessions, in order of precedence."""
        result = []
        for name, begins, ends in zip(
            STATES,
            ("crash", "out_of_coverage", "handoff_start"),
            (("recover",), ("in_coverage",), ("handoff_end", "leave")),
            strict=True,
        ):
            for event in self.of_node[host]:
                if event.event == begins:
                    later = (e.time_ns for e in self.of_node[host] if e.number > event.number and e.event in ends)
                    result.append((event.time_ns, next(later, self.events[-1].time_ns), name))
        return result


def join(pieces: Iterable[Piece | Stretch]) -> list[Stretch]:
    result: list[Stretch] = []
    for begin, end, kind, leg, *_ in pieces:
        if result and result[-1][1] == begin and result[-1][2:] == (kind, leg):
            result[-1] = (result[-1][0], end, kind, leg)
        else:
            result.append((begin, end, kind, leg))
    return result


def stretches(directory: Path) -> dict[tuple[str, str], list[Stretch]]:
    """Return the explained parts of each delivery whose broadcast is recorded. The keys are (message, node)."""
    run = Run(directory)
    known = [key for key in run.deliveries if key[0] in run.broadcasts]
    return {(message, node): join(run.story(message, node)) for message, node in known}
