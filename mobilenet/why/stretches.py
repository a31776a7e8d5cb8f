"""A stretch is an interval of a delay with one cause. This module also clips and completes lists of stretches.

Units     integer nanoseconds
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mobilenet.why.kinds import BACKBONE, CELL, HOST, UPLINK
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
