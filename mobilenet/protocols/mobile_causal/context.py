"""What a station keeps for one host.

Source    Wilhelm, Arantes, Sens (2020), section IV.A, "structure associated to h_i"; repaired: ours, DESIGN.md §3
Names     Ses_j -> ses, seq_hj -> seq_h, seq_ACK -> nxt, m_nd -> rec and undelivered, seq_C0 -> bound,
          H_lock -> state, CoRequest -> pend, RBuffer_j -> rbuf
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from ..port import MessageId
from .messages import Item, Req1, Request


class State(Enum):
    REQ = "waiting for the previous owner"
    REQJ = "joining"
    FETCH = "waiting for Rsp2"
    OWN = "owner"
    REL = "handing over"


@dataclass(slots=True)
class Context:
    host: int
    state: State
    ses: int  # session served, or of the own request
    rq: Request
    pin: int  # REQ, REQJ, FETCH: oldest number of the stream kept for this host
    seq_h: int = 0  # next App_hs expected
    base: int = 0  # OWN, REL: where the stream begins for this host ...
    nxt: int = 0  # ... and its next position
    rec: dict[int, Item] = field(default_factory=dict)  # recovery messages left: numbers nxt..base-1
    skip: set[int] = field(default_factory=set)  # numbers of the stream it delivered elsewhere
    rbuf: dict[int, int] = field(default_factory=dict)  # OWN: App_hs out of order, number -> body
    pend: list[Req1] = field(default_factory=list)  # requests of higher sessions, caught while not owner
    answers: set[int] = field(default_factory=set)  # stations that answered Nothing; only counted
    peer: int = -1  # the station at the other end of the handover
    grq: Request | None = None  # the request granted
    bound: int = 0  # own seq_C when Rsp1 was sent or received
    undelivered: frozenset[MessageId] = frozenset()  # announced by Rsp1; only asked
    expired: bool = False
    gap: bool = False
    heard_ns: int = 0  # when the host was last heard here

    @property
    def low(self) -> int | None:
        """The oldest number this host still needs from the stream; None: it holds nothing back."""
        if self.expired:
            return None
        if self.state is State.OWN or self.state is State.REL:
            return self.nxt if self.nxt > self.base else self.base
        return self.pin
