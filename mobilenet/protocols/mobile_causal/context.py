"""The fields that a station keeps for each of its hosts: the paper's h[id_h].

Source      Wilhelm, Arantes, Sens (2020), section IV.A, "structure associated to h_i"; the fields as repaired:
            docs/protocols/mobile-causal.md, Contexts
Names       h -> Contexts, Ses_j -> ses, seq_hj -> seq_h, seq_Cj and seq_ACK -> nxt, m_ndj -> rec and undelivered,
            seq_C0j -> bound, H_lockj -> state, CoRequestj -> pend, RBufferj -> rbuf
Assumes     changes of `skip` and `rbuf` are reported (index_skip, clear_rbuf), to update the values over all hosts
Deviations  F5   m_nd becomes numbers nxt..base-1 below the stream: a position never needs to be interpreted
            F10  rq: a request is named by its session and a number of the requesting station
            F9b  pend: all requests that came too early, where the paper has one slot
            F15  expired, gap: the paper forgets everything after T
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ..port import MessageId
from .messages import Item, Req1, Request

NOBODY = 1 << 62  # greater than any number


class State(Enum):
    REQ = "waiting for the previous owner"
    REQJ = "joining"
    FETCH = "waiting for Rsp2"
    OWN = "owner"
    REL = "handing over"


@dataclass(slots=True)
class Context:
    host: int
    state: State  # H_lock of the paper, whose text and code give it opposite meanings
    ses: int  # the session served here; while requesting, the session of the request
    rq: Request  # F10
    pin: int  # REQ, REQJ, FETCH: the oldest number of the stream that is kept for this host
    seq_h: int = 0  # the number of the next App_hs from this host
    base: int = 0  # OWN, REL: the first position of the stream for this host ...
    nxt: int = 0  # ... and the next position that the host will deliver (F1b: the paper uses both "next" and "last")
    # recovery messages that the host still needs: numbers nxt..base-1
    rec: dict[int, Item] = field(default_factory=dict)
    skip: set[int] = field(default_factory=set)  # numbers of the stream that the host delivered in another cell
    have: set[int] = field(default_factory=set)  # repair: numbers above nxt that are in the host's RBuffer
    direct: set[int] = field(default_factory=set)  # repair: numbers of the stream that are sent only to this host
    copied: dict[int, int] = field(default_factory=dict)  # repair: number -> when a copy was last sent to this host
    missed: int = 0  # repair: how many of the numbers below `counted` the host missed at first in this session
    counted: int = 0  # repair: the first number of the stream that `missed` does not cover yet
    rbuf: dict[int, int] = field(default_factory=dict)  # OWN: number -> body of each App_hs that arrived out of order
    # requests with higher sessions that arrived while this station did not own the host
    pend: list[Req1] = field(default_factory=list)
    answers: set[int] = field(default_factory=set)  # stations that answered Nothing; only the size of this set matters
    peer: int = -1  # the station at the other end of the handoff
    grq: Request | None = None  # the request that was granted
    bound: int = 0  # this station's seq_C when Rsp1 was sent or received
    undelivered: frozenset[MessageId] = frozenset()  # the messages listed in Rsp1, kept by the requesting station
    expired: bool = False
    gap: bool = False
    heard_ns: int = 0  # when this station last received a frame from the host

    @property
    def low(self) -> int | None:
        """The oldest number of the stream that must be kept for this host, or None if it needs none."""
        if self.expired:
            return None
        if self.state is State.OWN or self.state is State.REL:
            return self.nxt if self.nxt > self.base else self.base
        return self.pin


class Contexts(dict[int, Context]):
    """The contexts of one station by host, and the values that depend on all of them."""

    __slots__ = ("_skipping", "floor_of", "rbuf_total")

    def __init__(self) -> None:
        super().__init__()
        self.floor_of: int | None = None  # the host that needs the oldest message
        self.rbuf_total = 0  # the number of App_hs that wait out of order, over all hosts
        self._skipping: dict[int, Context] = {}  # the contexts whose skip set is not empty

    def floor(self) -> int:
        """Return the oldest number of the stream that any context still needs."""
        floor, self.floor_of = NOBODY, None
        for host, c in self.items():
            low = c.low
            if low is not None and low < floor:
                floor, self.floor_of = low, host
        return floor

    def oldest_needed(self, now: int, silent_ns: float) -> int:
        """Return the oldest number needed by a host that is connected and not silent."""
        lowest = NOBODY
        for c in self.values():
            low = c.nxt if c.nxt > c.base else c.base
            if low < lowest and now - c.heard_ns <= silent_ns and c.state is State.OWN and not c.expired:
                lowest = low
        return lowest  # F14 (nothing is resent for silent hosts)

    def delivered_elsewhere(self, number: int) -> tuple[int, ...]:
        """Return the hosts that delivered this message in another cell: the paper's M_d."""
        if not self._skipping:
            return ()
        return tuple(sorted(host for host, c in self._skipping.items() if number in c.skip))

    def index_skip(self, c: Context) -> None:
        """Update the index of skip sets after this one was changed."""
        if c.skip:
            self._skipping[c.host] = c
        else:
            self._skipping.pop(c.host, None)

    def clear_rbuf(self, c: Context) -> None:
        self.rbuf_total -= len(c.rbuf)
        c.rbuf.clear()


def require_one_owner(stations: Sequence[Any], message: Any) -> None:
    """Raise AssertionError if two stations own the host of this message, or are both handing it over (I3)."""
    host = getattr(message, "host", None)  # an App has no host
    owners = [
        number
        for number, station in enumerate(stations)
        if (context := station.ctx.get(host)) is not None and context.state in (State.OWN, State.REL)
    ]
    assert len(owners) <= 1, f"I3: stations {owners} own h{host} at the same time"
