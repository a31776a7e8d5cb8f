"""A second, slow implementation of docs/models/causes.md, written from that page only: an oracle for `mobilenet why`.

Model     the walk of the page, step by step, with lists and loops; it shares no code with mobilenet/why
Units     ns
Shapes    a story is a list of pieces (begin, end, kind, leg), in order and without a hole
Source    ours: docs/models/causes.md, docs/run-directory.md
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from ruamel.yaml import YAML

Piece = tuple[int, int, str, str]
HANDLERS = ("sent", "acknowledged", "timer", "arrived")
GIVES_WAY = ("retry", "timer", "elsewhere", "not_explained")  # to the states of the host
LOSES = ("crash", "handoff_start", "join")  # then a host has lost what it had received


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
        """Whether this transmission or message on a wire reaches the node, which is a receiver of it."""
        if self.step == "arrived":
            return self.node == node
        return self.step == "sent" and self.to in (node, "") and node in self.heard.split()

    def ends_a_frame_of(self, node: str) -> bool:
        return (self.step == "sent" and self.node == node) or (self.step == "acknowledged" and self.to == node)


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
    """A time in which a node did nothing for a message, and what ended it."""

    begin: int
    end: int
    node: str  # that waited
    handler: int  # that ended it, -1: the world
    frame: Row | None  # that this handler sent
    was_lost: bool  # the frame before
    leg: str
    message: str
    host: str  # of the delivery


def read(directory: Path, table: str) -> list[dict[str, Any]]:
    frame = pd.read_parquet(directory / f"{table}.parquet")
    return list(frame.astype(object).where(frame.notna(), None).to_dict("records"))


def clipped(pieces: Iterable[Piece], begin: int, end: int) -> list[Piece]:
    cut = [(max(p[0], begin), min(p[1], end), p[2], p[3]) for p in pieces]
    return [piece for piece in cut if piece[0] < piece[1]]


def joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Join neighbours of the same kind and leg."""
    result: list[Piece] = []
    for piece in pieces:
        if result and result[-1][1] == piece[0] and result[-1][2:] == piece[2:]:
            result[-1] = (result[-1][0], piece[1], *piece[2:])
        elif piece[0] < piece[1]:
            result.append(piece)
    return result


def leg_between(sender: str, receiver: str) -> str:
    kinds = sender[0] + receiver[0]
    return {"hs": "uplink", "sh": "cell"}.get(kinds, "backbone")


class Run:
    """A run's record, and the walks through it."""

    def __init__(self, directory: Path) -> None:
        self.rows = [Row(number, **row) for number, row in enumerate(read(directory, "causes"))]
        self.events = [Event(number, **row) for number, row in enumerate(read(directory, "events"))]
        self.scenario = YAML(typ="safe").load((directory / "scenario.yaml").read_text(encoding="utf-8"))
        self.broadcasts = {e.message: e for e in self.events if e.event == "broadcast"}
        self.deliveries = {(e.message, e.node): e for e in self.events if e.event == "deliver"}
        self.of_node: dict[str, list[Event]] = defaultdict(list)
        for event in self.events:
            self.of_node[event.node].append(event)
        self.ends: dict[int, list[Row]] = defaultdict(list)  # of a frame: its transmissions and acknowledgements
        self.frames_of: dict[str, list[Row]] = defaultdict(list)  # that a node handed to its MAC
        self.carriers: dict[str, list[Row]] = defaultdict(list)
        for row in self.rows:
            if row.step in ("sent", "acknowledged", "arrived"):
                self.ends[row.cause].append(row)
            if row.step == "queued":
                self.frames_of[row.node].append(row)
            for message in row.messages.split():
                self.carriers[message].append(row)
        self.left = {node: self.leavings(frames) for node, frames in self.frames_of.items()}
        self.handlers = self.handlers_of_events()
        self.done: dict[tuple[str, str], list[Piece]] = {}

    def handlers_of_events(self) -> list[int]:
        """For each event, the last handler before it if both have the same time; else -1."""
        result, last, position = [], -1, 0
        for event in self.events:
            while position < len(self.rows) and self.rows[position].events <= event.number:
                if self.rows[position].step in HANDLERS:
                    last = position
                position += 1
            result.append(last if last >= 0 and self.rows[last].time_ns == event.time_ns else -1)
        return result

    def leavings(self, frames: list[Row]) -> dict[int, int]:
        """For each frame of a node, when the last frame before it had left."""
        result, latest = {}, 0
        for frame in frames:
            result[frame.number] = latest
            latest = max([latest, *(end.time_ns for end in self.ends[frame.number])])
        return result

    # The hop

    def hop(self, arrival: Row, receiver: str) -> list[Piece]:
        """Step 3: from the frame's queueing, or from the wire, to this reception."""
        first = self.rows[arrival.cause]
        if first.step == "wire":
            return self.wire(first, arrival)
        return self.frame(first, [row for row in self.ends[first.number] if row.number <= arrival.number], receiver)

    def frame(self, queued: Row, ends: list[Row], receiver: str) -> list[Piece]:
        transmissions = [row for row in ends if row.step == "sent"]
        leg = leg_between(queued.node, receiver)
        if not transmissions:
            return []
        on_the_air = transmissions[0].start_ns
        is_first = min(max(queued.time_ns, self.left[queued.node][queued.number]), on_the_air)
        pieces = [(queued.time_ns, is_first, "queue", leg), (is_first, on_the_air, "contention", leg)]
        for place, row in enumerate(transmissions):
            if place:
                pieces.append((transmissions[place - 1].time_ns, row.start_ns, "mac_retry", leg))
            is_there = receiver in row.heard.split()
            pieces.append((row.start_ns, row.time_ns, "air" if is_there else "lost", leg))
        return pieces

    def wire(self, put: Row, arrival: Row) -> list[Piece]:
        first_bit, last_bit = self.bits[put.number] if self.bits else self.bits_of_link(put, arrival)
        return [
            (put.time_ns, first_bit, "wire_queue", "backbone"),
            (first_bit, last_bit, "wire_transmission", "backbone"),
            (last_bit, arrival.time_ns, "wire_propagation", "backbone"),
        ]

    def bits_of_link(self, put: Row, arrival: Row) -> tuple[int, int]:
        """When the first bit was on the wire, and the last one."""
        is_of_processes = "network" in self.scenario
        link = self.scenario["network"] if is_of_processes else self.scenario["stations"]["backbone"]
        if is_of_processes and link["edges"] is not None:
            return put.time_ns, put.time_ns
        size = put.size_bytes + (link["header_bytes"] if is_of_processes else 0)
        last_bit = max(put.time_ns, arrival.time_ns - round(link["delay_ms"] * 1e6))
        return max(put.time_ns, last_bit - round(size * 8000 / link["bandwidth_mbps"])), last_bit

    @cached_property
    def bits(self) -> dict[int, tuple[int, int]]:
        """The same for each message on the abstract and packet networks, whose processes send one after the other."""
        network = self.scenario.get("network", {"kind": "wired"})
        if network["kind"] == "wired":
            return {}
        takes = round(network["send" if network["kind"] == "abstract" else "queue"] * 1e9)
        free: dict[str, int] = defaultdict(int)
        result = {}
        for row in self.rows:
            if row.step == "wire":
                begin = max(row.time_ns, free[row.node])
                free[row.node] = begin + takes
                result[row.number] = (begin, begin + takes)
        return result

    # The walk

    def story(self, message: str, node: str) -> list[Piece]:
        if (message, node) not in self.done:
            begin, end = self.broadcasts[message].time_ns, self.deliveries[message, node].time_ns
            self.done[message, node] = clipped(self.walk(message, node), begin, end)
        return self.done[message, node]

    def walk(self, message: str, node: str) -> list[Piece]:
        begin, delivery = self.broadcasts[message].time_ns, self.deliveries[message, node]
        handler = self.handlers[delivery.number]
        reception = self.reception(message, delivery)
        if reception is None:
            return self.wait(Wait(begin, delivery.time_ns, node, handler, None, False, "host", message, node))
        return self.way(message, node, reception) + self.hold(message, delivery, reception)

    def receptions(self, message: str, node: str) -> list[Row]:
        since = self.broadcasts[message].number
        return [row for row in self.carriers[message] if row.is_received_by(node) and row.events > since]

    def reception(self, message: str, delivery: Event) -> Row | None:
        """Step 1."""
        node = delivery.node
        found = [row for row in self.receptions(message, node) if row.events <= delivery.number]
        handler = self.handlers[delivery.number]
        if not found or any(row.number == handler for row in found):
            return self.rows[handler] if found else None
        lost = [e.number for e in self.of_node[node] if e.event in LOSES and e.number < delivery.number]
        since = [row for row in found if not lost or row.events > lost[-1]]
        from_cell = [row for row in since if self.rows[row.cause].node == delivery.station]
        return [*from_cell[:1], *since[:1], found[-1]][0]

    def hold(self, message: str, delivery: Event, reception: Row) -> list[Piece]:
        """Step 2."""
        begin, end, node = reception.time_ns, delivery.time_ns, delivery.node
        if begin >= end:
            return []
        if reception.kind.startswith("Tcp"):
            return [(begin, end, "head_of_line", "host")]
        blocker = self.blocker(message, delivery)
        if blocker is None:
            handler = self.handlers[delivery.number]
            return self.wait(Wait(begin, end, node, handler, None, False, "host", message, node))
        since = self.broadcasts[blocker].time_ns
        return clipped([(begin, since, "order", "host"), *self.story(blocker, node)], begin, end)

    def blocker(self, message: str, delivery: Event) -> str | None:
        handler = self.handlers[delivery.number]
        if handler < 0:
            return None
        before = [
            e.message
            for e in self.of_node[delivery.node]
            if e.event == "deliver" and e.number < delivery.number and self.handlers[e.number] == handler
            if e.message in self.broadcasts
        ]
        broadcast = self.broadcasts[message]
        known = {
            e.message
            for e in self.of_node[broadcast.node]
            if e.number < broadcast.number and e.event in ("deliver", "broadcast")
        }
        return [None, *before, *(each for each in before if each in known)][-1]

    def way(self, message: str, host: str, reception: Row) -> list[Piece]:
        """Steps 3 and 4, from the broadcast to this reception."""
        begin, pieces, node = self.broadcasts[message], list[Piece](), host
        while True:
            first = self.rows[reception.cause]
            pieces[:0] = self.hop(reception, node)
            leg, sender = leg_between(first.node, node), first.node
            handler = self.rows[first.cause] if first.cause >= 0 else None
            came: Row | None = None
            if handler is not None and handler.carries(message) and handler.is_received_by(sender):
                came = handler
            elif sender != begin.node:
                came = next((row for row in self.receptions(message, sender) if row.number < first.number), None)
            since = begin.time_ns if came is None else came.time_ns
            if came is not handler or handler is None:
                pieces[:0] = self.stay(message, since, first, node, leg, host)
            if came is None:
                return clipped(pieces, begin.time_ns, pieces[-1][1])
            node, reception = sender, came

    def stay(self, message: str, since: int, last: Row, receiver: str, leg: str, host: str) -> list[Piece]:
        """Step 4: the time at the sender of a hop."""
        node = last.node
        frames = [
            row
            for row in self.carriers[message]
            if row.node == node and since <= row.time_ns and row.number < last.number
            if (row.step == "queued" and row.to in ("", receiver, host)) or (row.step == "wire" and row.to == receiver)
            if self.ends[row.number]
        ]
        pieces, was_lost, at = list[Piece](), False, since
        for place, frame in enumerate([*frames, last]):
            waits = Wait(at, frame.time_ns, node, frame.cause, frame, was_lost, leg, message, host)
            pieces += self.wait(waits)
            if frame is last:
                break
            ends = self.ends[frame.number]
            following = [*frames, last][place + 1].time_ns
            if frame.step == "wire":
                parts, was_lost = self.wire(frame, ends[0]), False
            else:
                hearer = host if last.step == "wire" else receiver
                parts = self.frame(frame, ends, hearer)
                was_lost = not any(row.step == "sent" and hearer in row.heard.split() for row in ends)
            pieces += clipped(parts, max(at, frame.time_ns), following)
            at = max([at, *(piece[1] for piece in pieces)])
        return pieces

    # A wait

    def wait(self, w: Wait) -> list[Piece]:
        """Steps 5 and 6."""
        pieces: list[Piece] = []
        at_first = w.node
        while w.begin < w.end:
            handler = self.rows[w.handler] if w.handler >= 0 else None
            if handler is None:
                return joined(self.with_states(self.world(w), w) + pieces)
            if handler.step == "timer":
                begin = w.begin if handler.node == at_first else max(w.begin, handler.start_ns)
                kind = "retry" if w.was_lost and handler.node == at_first else "timer"
                pieces[:0] = self.with_states([(begin, w.end, kind, w.leg)], w)
                w = w._replace(end=begin, handler=handler.cause)
            elif handler.ends_a_frame_of(w.node):
                frame = self.rows[handler.cause]
                pieces[:0] = clipped([(frame.time_ns, w.end, "queue", w.leg)], w.begin, w.end)
                w = w._replace(end=frame.time_ns, handler=frame.cause)
            elif handler.kind.startswith("Tcp"):
                held = "handshake" if handler.kind == "TcpSyn" else self.window(w) or "head_of_line"
                return [(w.begin, w.end, held, w.leg), *pieces]
            else:
                other = self.other(handler, w)
                if other is not None:
                    way = self.way(other, w.node, handler)
                    order = (w.begin, self.broadcasts[other].time_ns, "order", w.leg)
                    return clipped([order, *way], w.begin, w.end) + pieces
                first = self.rows[handler.cause]
                pieces[:0] = clipped(self.hop(handler, w.node), w.begin, w.end)
                leg = leg_between(first.node, w.node)
                w = w._replace(end=first.time_ns, node=first.node, handler=first.cause, frame=first, leg=leg)
        return pieces

    def other(self, handler: Row, w: Wait) -> str | None:
        """The other message that a reception carries."""
        return next(
            (
                message
                for message in handler.messages.split()
                if message != w.message and message in self.broadcasts
                if self.broadcasts[message].number < handler.events
            ),
            None,
        )

    def window(self, w: Wait) -> str | None:
        return "window" if w.frame is not None and w.frame.window else None

    def world(self, w: Wait) -> list[Piece]:
        kind = self.window(w) or ("retry" if w.was_lost else "not_explained")
        if kind != "not_explained":
            return [(w.begin, w.end, kind, w.leg)]
        pieces, at, serving = list[Piece](), w.begin, None
        for e in self.of_node[w.host]:
            if e.event not in ("join", "handoff_start", "handoff_end"):
                continue
            if e.time_ns > at:
                until = min(e.time_ns, w.end)
                pieces.append((at, max(at, until), self.where(w.node, serving), w.leg))
                at = max(at, until)
            serving = e.station
        return [*pieces, (at, w.end, self.where(w.node, serving), w.leg)]

    def where(self, node: str, serving: str | None) -> str:
        is_elsewhere = node.startswith("s") and serving is not None and serving != node
        return "elsewhere" if is_elsewhere else "not_explained"

    # States

    def with_states(self, pieces: list[Piece], w: Wait) -> list[Piece]:
        """Step 6."""
        states = self.states(w.node if w.leg == "uplink" else w.host)
        result = []
        for begin, end, kind, leg in pieces:
            edges = sorted({begin, end, *(t for s in states for t in s[:2] if begin < t < end)})
            for a, b in pairwise(edges):
                there = [name for since, until, name in states if since <= a and b <= until]
                result.append((a, b, there[0] if there and kind in GIVES_WAY else kind, leg))
        return joined(result)

    def states(self, host: str) -> list[tuple[int, int, str]]:
        """The times in which a host was down, out of coverage or between sessions, the stronger state first."""
        result = []
        for name, begins, ends in (
            ("down", "crash", ("recover",)),
            ("out_of_coverage", "out_of_coverage", ("in_coverage",)),
            ("handoff", "handoff_start", ("handoff_end", "leave")),
        ):
            for event in self.of_node[host]:
                if event.event == begins:
                    later = (e.time_ns for e in self.of_node[host] if e.number > event.number and e.event in ends)
                    result.append((event.time_ns, next(later, self.events[-1].time_ns), name))
        return result


def stretches(directory: Path) -> dict[tuple[str, str], list[Piece]]:
    """Return the story of each delivery whose broadcast is on record, by message and node."""
    run = Run(directory)
    return {
        (message, node): joined(run.story(message, node))
        for message, node in run.deliveries
        if message in run.broadcasts
    }
