"""A stretch is an interval of a delay with one cause. This module also clips and completes lists of stretches.

Units     integer nanoseconds
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mobilenet.why.kinds import BACKBONE, CELL, HOST, UPLINK, Part
from mobilenet.why.record import NONE


class Stretch(NamedTuple):
    """An interval of a delay with one cause. `row`: the row of `causes` that shows the cause; `reason`: the outcome of
    an earlier frame, a timer or a message.
    """

    begin_ns: int
    end_ns: int
    kind: str
    leg: str
    place: str
    row: int = NONE
    reason: str = ""
    held_by: str = ""  # the other message for which this message waited

    @property
    def length_ns(self) -> int:
        return self.end_ns - self.begin_ns


class Story:
    """Contiguous stretches in chronological order. Stories share their beginnings: a message takes one path to a
    station, and many from there. `before`: the story up to the first own stretch, if it is shared. `relays`: the hosts
    that sent the message to a station.
    """

    def __init__(self, before: Story | None, own: list[Stretch]) -> None:
        self.before, self.own = before, own
        self.relays: frozenset[str] = frozenset() if before is None else before.relays
        for _, _, _, leg, place, _, _, held_by in own:
            if leg == UPLINK and not held_by and place[0] == "h" and place not in self.relays:
                self.relays |= {place}
        self._totals: tuple[dict[Part, int], int] | None = None

    def stretches(self) -> list[Stretch]:
        return self.since(0)

    def since(self, begin_ns: int) -> list[Stretch]:
        """Return the last stretches, at least those that end after this time."""
        parts, story = [self.own], self.before
        while story is not None and not (parts[-1] and parts[-1][0].begin_ns <= begin_ns):
            parts.append(story.own)
            story = story.before
        return [stretch for part in reversed(parts) for stretch in part]

    def totals(self) -> tuple[dict[Part, int], int]:
        """Return the time for each kind and leg, and the time spent waiting for other messages."""
        if self._totals is None:
            shared, held_ns = ({}, 0) if self.before is None else self.before.totals()
            parts = dict(shared)
            for begin_ns, end_ns, kind, leg, _, _, _, held_by in self.own:
                part = (kind, leg)
                parts[part] = parts.get(part, 0) + (end_ns - begin_ns)
                if held_by:
                    held_ns += end_ns - begin_ns
            self._totals = parts, held_ns
        return self._totals


def leg_at(place: str, receiver: str) -> str:
    """Return the leg of the path to which a wait at a node belongs, if no frame is known to carry the message."""
    if "-" in place or (place[0] == "p" and place != receiver):
        return BACKBONE
    return CELL if place[0] == "s" else HOST if place == receiver else UPLINK


def cut(stretch: Stretch, begin_ns: int, end_ns: int) -> Stretch:
    begin_ns = min(max(stretch[0], begin_ns), end_ns)
    return Stretch._make((begin_ns, max(begin_ns, min(stretch[1], end_ns)), *stretch[2:]))


def clip(story: Iterable[Stretch], begin_ns: int, end_ns: int) -> list[Stretch]:
    """Return the stretches between two times, clipped to these times. Most stretches need no clipping."""
    out: list[Stretch] = []
    for stretch in story:
        a, b = stretch[0], stretch[1]
        if a >= begin_ns and b <= end_ns:
            if b > a:
                out.append(stretch)
        elif b > begin_ns and a < end_ns:
            out.append(cut(stretch, begin_ns, end_ns))
    return out


def behind(story: Iterable[Stretch], message: str) -> list[Stretch]:
    """Return the stretches of `message`, each marked to show that `message` held another message back."""
    return [stretch if stretch[7] else Stretch._make((*stretch[:7], message)) for stretch in story]


def fill(story: list[Stretch], begin_ns: int, end_ns: int, blank: Stretch) -> list[Stretch]:
    """Return stretches that cover the interval without gaps. Gaps are filled with copies of `blank`."""
    out: list[Stretch] = []
    at_ns = begin_ns
    for stretch in story:
        if stretch.begin_ns > at_ns:
            out.append(blank._replace(begin_ns=at_ns, end_ns=stretch.begin_ns))
        out.append(stretch)
        at_ns = max(at_ns, stretch.end_ns)
    if at_ns < end_ns:
        out.append(blank._replace(begin_ns=at_ns, end_ns=end_ns))
    return out
