"""A second, slow implementation of the section Handoffs of docs/models/causes.md, written only from that page.

Model     this code explains the three phases that the page describes, with lists and loops. It shares no code with
          mobilenet/why
Units     ns
Shapes    an interruption is a list of intervals (begin, end, kind, leg), in order and without gaps
Source    ours: docs/models/causes.md, docs/run-directory.md, docs/verdicts-and-metrics.md (Interruption)
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from tests.why.oracle import Event, Piece, Row, Run, Stretch, clip, join, leg_between

# Maps a timer to the kind of the waits that it ends. Waits that end with another timer have the kind `timer`.
KINDS = {"TCP retransmission": "retransmission"}


class Key(NamedTuple):
    """Identifies an interruption: the last delivery before a handoff, the handoff, and the first delivery after it."""

    host: str
    session: int
    last_ns: int
    begin_ns: int
    end_ns: int
    first_ns: int


class CutPiece(NamedTuple):
    """An interruption, together with the end of its handoff and the first delivery after the handoff."""

    key: Key
    end: Event  # the event at which the handoff ended
    first: Event


def next_of(own: list[Event], after: int, kinds: tuple[str, ...]) -> Event | None:
    return next((e for e in own if e.number > after and e.event in kinds), None)


def cuts(run: Run) -> list[CutPiece]:
    """Return the interruptions that handoff_interruption_mean_s averages, in the order of their handoffs."""
    begins_ns = round(run.scenario["warmup_s"] * 1e9)
    ends_ns = round(run.scenario["duration_s"] * 1e9)
    result = []
    for start in run.events:
        if start.event != "handoff_start" or json.loads(start.detail or "{}").get("cause") != "cell":
            continue
        if not begins_ns <= start.time_ns < ends_ns:
            continue
        own = run.of_node[start.node]
        ends = [e for e in own if e.event == "handoff_end" and e.session == start.session and e.number > start.number]
        before = [e for e in own if e.event == "deliver" and e.number < start.number]
        first = next_of(own, ends[0].number, ("deliver",)) if ends else None
        if not before or first is None:
            continue
        last, end = before[-1], ends[0]
        if any(e.event in ("crash", "leave") and last.number < e.number < first.number for e in own):
            continue
        times = last.time_ns, start.time_ns, end.time_ns, first.time_ns
        result.append(CutPiece(Key(start.node, int(start.session or 0), *times), end, first))
    return result


class Setup:
    """Explains the second phase. It follows the chain of handlers backwards from the handler that confirmed the
    session.
    """

    def __init__(self, run: Run, cut: CutPiece) -> None:
        self.run, self.cut = run, cut
        self.pieces: list[Piece] = []
        self.at = cut.key.end_ns  # The time after this moment has already been explained.
        self.node = cut.key.host
        self.number = run.handlers[cut.end.number]
        self.frame: Row | None = None  # the frame that the handler sent
        self.receiver, self.leg = cut.key.host, "host"  # receiver and leg of the next hop
        self.answers: dict[str, str] = {}  # node -> kind of the answer that the node receives later in the chain

    def put(self, pieces: list[Piece], since: int) -> None:
        """Prepend the parts of these pieces between `since` and `self.at`, and move `self.at` back to `since`."""
        self.pieces[:0] = clip(pieces, max(since, self.cut.key.begin_ns), self.at)
        self.at = min(self.at, max(since, self.cut.key.begin_ns))

    def walk(self) -> list[Piece]:
        while self.at > self.cut.key.begin_ns:
            if self.number < 0:
                self.world()
                break
            handler = self.run.rows[self.number]
            if handler.step == "timer":
                self.timer(handler)
            elif handler.ends_a_frame_of(self.node):
                self.own_frame(handler)
            else:
                self.hop(handler)
        return self.pieces

    def sent_by(self, frame: Row) -> None:
        self.frame, self.node, self.number = frame, frame.node, frame.cause

    def hop(self, handler: Row) -> None:
        frame = self.run.rows[handler.cause]
        self.answers[self.node] = frame.kind
        self.put(self.run.hop(handler, self.node), frame.time_ns)
        self.receiver, self.leg = self.node, leg_between(frame.node, self.node)
        self.sent_by(frame)

    def own_frame(self, handler: Row) -> None:
        frame = self.run.rows[handler.cause]
        self.put([Piece(frame.time_ns, self.at, "queue", self.leg, self.node)], frame.time_ns)
        self.sent_by(frame)

    def timer(self, handler: Row) -> None:
        earlier = self.earlier(handler.start_ns)
        if earlier is None:
            kind = KINDS.get(handler.kind, "timer")
            self.put([Piece(handler.start_ns, self.at, kind, self.leg, self.node)], handler.start_ns)
            self.frame, self.number = None, handler.cause
            return
        hearer = earlier.to or self.receiver
        ends = self.run.ends[earlier.number]
        parts = clip(self.run.frame(earlier, ends, hearer, self.leg), earlier.time_ns, self.at)
        left = max([earlier.time_ns, *(piece.end for piece in parts)])
        kind = KINDS.get(handler.kind, "timer")
        if kind == "timer" and (self.is_lost(earlier, hearer) or self.is_answer_lost(earlier, hearer)):
            kind = "retry"
        self.put([Piece(left, self.at, kind, self.leg, self.node)], left)
        self.put(parts, earlier.time_ns)
        self.sent_by(earlier)

    def earlier(self, since: int) -> Row | None:
        """Return the previous frame of this kind to this receiver, if it was sent after both `since` and the start of
        the handoff.
        """
        if self.frame is None:
            return None
        kind, to, number = self.frame.kind, self.frame.to, self.frame.number
        same = [row for row in self.run.frames_of[self.node] if row.kind == kind and row.to == to]
        since = max(since, self.cut.key.begin_ns)
        return next((r for r in reversed(same) if r.number < number and r.time_ns >= since), None)

    def is_lost(self, frame: Row, hearer: str) -> bool:
        return not any(row.step == "sent" and hearer in row.heard.split() for row in self.run.ends[frame.number])

    def is_answer_lost(self, earlier: Row, hearer: str) -> bool:
        """Return whether the receiver answered the frame `earlier`, but its last answer was lost. An answer is a frame
        of the kind that ended the repetitions.
        """
        end = self.frame.number if self.frame else earlier.number
        frames = [row for row in self.run.frames_of[hearer] if row.to == self.node]
        answers = [r for r in frames if earlier.number < r.number < end and r.kind == self.answers.get(self.node)]
        return bool(answers) and self.is_lost(answers[-1], self.node)

    def world(self) -> None:
        begin, end, node = self.cut.key.begin_ns, self.at, self.node
        is_idle = any(e.event == "broadcast" and e.time_ns == end for e in self.run.of_node[node])
        piece = Piece(begin, end, "idle" if is_idle else "not_explained", "host", node)
        self.put([piece] if is_idle else self.out_of_coverage(piece), begin)

    def out_of_coverage(self, piece: Piece) -> list[Piece]:
        pieces = self.run.in_states([piece], self.cut.key.host)
        return [each if each.kind == "out_of_coverage" else each._replace(kind=piece.kind) for each in pieces]


def before(run: Run, cut: CutPiece) -> list[Piece]:
    """Explain the first phase, up to `handoff_start`."""
    host, begin, end = cut.key.host, cut.key.last_ns, cut.key.begin_ns
    pieces = run.in_states([Piece(begin, end, "old_session", "host", host)], host) if begin < end else []
    tick = round(run.scenario["hosts"]["attachment"]["tick_ms"] * 1e6)
    moved = max(begin, end - tick)
    if end % tick or any(piece.kind != "old_session" for piece in clip(pieces, moved, end)):
        return pieces
    return [*clip(pieces, begin, moved), Piece(moved, end, "detection", "host", host)]


def after(run: Run, cut: CutPiece) -> list[Piece]:
    """Explain the third phase, up to the first delivery."""
    message, node = cut.first.message or "", cut.first.node
    since = run.broadcasts[message].time_ns
    story = [Piece(cut.key.end_ns, since, "idle", "host", node), *run.story(message, node)]
    return clip(story, cut.key.end_ns, cut.key.first_ns)


def interruptions(directory: Path) -> dict[Key, list[Stretch]]:
    """Return the explained intervals of each interruption, in the order of the handoffs."""
    run = Run(directory)
    return {cut.key: join(before(run, cut) + Setup(run, cut).walk() + after(run, cut)) for cut in cuts(run)}
