"""Check the messages on links that were impaired by hand.

Checks    each takes the wire when it is sent, or when those before it have left, and then takes the link's delay with
          the additional one of that time; it arrives no sooner than the message before it
          `random` needs a link that loses messages at that time
Model     a message has the delay and the loss of the time at which it is put on the wire. What happens in the
          nanosecond of a change may be before it or after it
Units     integer nanoseconds
Shapes    over the rows of one direction of one link, in the order of the table
Errors    none
Source    ours: docs/models/wires.md, docs/models/world.md
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mobilenet.clock import SECOND
from mobilenet.expected.expectations import Expectations, Impairment

Cuts = list[tuple[int, int, bool]]  # since, until, and whether the link loses what is sent meanwhile


class OnLink(NamedTuple):
    """A message."""

    row: int
    send_ns: int
    receive_ns: int | None  # None: it was lost at random
    takes_ns: int  # of the wire's time


def impaired_ends(expected: Expectations) -> set[tuple[str, str]]:
    """The links that were ever impaired."""
    return {(one.node, one.other) for one in expected.impairments if one.other is not None}


class ImpairedLink:
    """One link, in either direction."""

    def __init__(self, expected: Expectations, ends: tuple[str, str], cuts: Cuts) -> None:
        assert expected.air is not None
        self._changes: list[Impairment] = [one for one in expected.impairments if (one.node, one.other) == ends]
        self._times_ns = [one.at_ns for one in self._changes]
        self._cuts = cuts
        self._delay_ns = expected.air.wire_delay_ns

    def problem(self, messages: Iterable[OnLink]) -> tuple[int, str] | None:
        """The first row that cannot be, and why."""
        left_ns = arrived_ns = 0
        for one in messages:
            options = []
            for begin_ns in self._begins(one.send_ns):
                leaves_ns = max(begin_ns, left_ns) + one.takes_ns
                for state in self._states(begin_ns):
                    more_ns, loss = (0, 0.0) if state is None else (state.delay_ns, state.loss)
                    options.append((leaves_ns, max(arrived_ns, leaves_ns + self._delay_ns + more_ns), loss))
            if one.receive_ns is None:
                fitting = [option for option in options if option[2] > 0]
                if not fitting:
                    return one.row, "the fate is random, but this link loses nothing at that time"
            else:
                fitting = [option for option in options if option[1] == one.receive_ns and option[2] < 1]
                if not fitting:
                    due = f"expected {options[0][1] / SECOND:.9f} s on this impaired link"
                    return one.row, f"it arrives at {one.receive_ns / SECOND:.9f} s, {due}"
            left_ns, arrived_ns, _ = fitting[0]
        return None

    def _begins(self, send_ns: int) -> Iterator[int]:
        """When it can be put on the wire at the earliest: when it is sent, or when the link is repaired."""
        held = [until_ns for since_ns, until_ns, loses in self._cuts if since_ns < send_ns < until_ns and not loses]
        yield from held or [send_ns]
        yield from (until_ns for since_ns, until_ns, _ in self._cuts if since_ns == send_ns)

    def _states(self, begin_ns: int) -> Iterator[Impairment | None]:
        """The state of the link then; two in the nanosecond of a change."""
        for place in sorted({bisect_left(self._times_ns, begin_ns), bisect_right(self._times_ns, begin_ns)}):
            yield self._changes[place - 1] if place else None
