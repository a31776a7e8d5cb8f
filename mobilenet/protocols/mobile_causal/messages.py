"""The messages of the mobile causal broadcast. Sizes derive from the fields: ../fields.py.

Source    Wilhelm, Arantes, Sens: A scalable causal broadcast that tolerates dynamics of mobile networks (2020),
          section IV.A; the fields as repaired are ours: docs/protocols/mobile-causal.md
Names     App_hs AppHs, App_sh AppSh, App_Co AppCo, App_ss App, ack_h AckH, ack_C AckC, init_ACK InitAck,
          leave_ACK LeaveAck, Req_1 Req1, Rsp_1 Rsp1, ...; not in the paper: Have, AppOne, Chal, Reinit, Reset, Nothing,
          Objection
Units     bytes. A skip set takes one bit per number from `base` to its last. Each wireless message carries a
          station: the one addressed, or the sending one. The port keeps it with the message (`to`, `sender`); its
          bytes are counted here
Body      an int: the declared payload bytes. Nothing looks inside
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from ..fields import BitsFrom, Body, Flag, Id, Listed, Number, message
from ..port import MessageId

STATION = 4
UDP_PAYLOAD = 1472  # what one Ethernet-sized frame takes: 1500 less IP and UDP headers
ACKS_PER_FRAME = (UDP_PAYLOAD - STATION) // (4 + 8)  # of AckC: a host and a number each
NO_SESSION = -1  # LC before the first init_ACK of a membership

wireless = message(head=STATION)
wired = message()


class Request(NamedTuple):
    """The identity of a handoff or join request: the session, and a number of the requesting station."""

    ses: Number
    k: Number


class Item(NamedTuple):
    """An application message as stations keep it."""

    id: MessageId
    body: Body


# --- host to station


@wireless
class AppHs(NamedTuple):
    host: Id
    seq: Number
    body: Body


@message(head=STATION, acknowledges=True)
class AckH(NamedTuple):
    host: Id
    ses: Number
    nxt: Number


@message(acknowledges=True)
class Have(NamedTuple):
    """The ack_h of `repair: selective`, for the station and all hosts of its cell: what a host has received."""

    station: Id
    host: Id
    ses: Number
    nxt: Number
    have: Annotated[tuple[int, ...], BitsFrom("nxt"), Listed("have")]  # ascending, above nxt; not delivered yet


@wireless
class Join(NamedTuple):
    host: Id
    ses: Number
    first_seq: Number
    cookie: Number | None


@wireless
class Init(NamedTuple):
    host: Id
    ses: Number
    lc: Number
    nxt: Number


@wireless
class Leave(NamedTuple):
    host: Id
    ses: Number


# --- station to host


@wireless
class AppSh(NamedTuple):
    number: Number
    id: MessageId
    body: Body
    # M_d: hosts that must not deliver it; informative, hosts go by the skip set
    delivered: Annotated[tuple[Id, ...], Listed("md")]


@wireless
class AppOne(NamedTuple):
    """The App_sh of `repair: selective` for one host that still lacks it after several copies for all."""

    host: Id
    number: Number
    id: MessageId
    body: Body


@wireless
class AppCo(NamedTuple):
    host: Id
    ses: Number
    number: Number
    id: MessageId
    body: Body


@message(head=STATION, acknowledges=True)
class AckC(NamedTuple):
    seq_h: Annotated[Mapping[Id, Number], Listed("acks")]  # host -> next number expected from it


@wireless
class Chal(NamedTuple):
    host: Id
    ses: Number
    cookie: Number


@wireless
class InitAck(NamedTuple):
    host: Id
    ses: Number
    start: Number  # the position at which the host goes on
    base: Number  # where the stream begins; start..base-1 are recovery messages
    # numbers of the stream delivered elsewhere, ascending
    skip: Annotated[tuple[int, ...], BitsFrom("base"), Listed("skip")]
    seq_h: Number
    gap: Flag


@wireless
class LeaveAck(NamedTuple):
    host: Id
    ses: Number


@wireless
class Reinit(NamedTuple):
    host: Id
    ses: Number


@wireless
class Reset(NamedTuple):
    host: Id
    ses: Number


# --- station to station


@wired
class App(NamedTuple):
    id: MessageId
    body: Body


@wired
class Req1(NamedTuple):
    host: Id
    rq: Request
    lc: Number
    nxt: Number
    join: Flag  # its kind: join or init
    source: Id


@wired
class Delete(NamedTuple):
    host: Id
    ses: Number


@wired
class Nothing(NamedTuple):
    """An answer to Req1: the station has nothing for this host any more."""

    host: Id
    rq: Request


@wired
class Objection(NamedTuple):
    """An answer to Req1: the request is superseded, give up."""

    host: Id
    rq: Request


@wired
class Rsp1(NamedTuple):
    host: Id
    rq: Request
    undelivered: Annotated[tuple[MessageId, ...], Listed("undelivered")]  # m_nd, in the giver's order
    seq_h: Number
    gap: Flag
    expired: Flag


@wired
class Req2(NamedTuple):
    host: Id
    rq: Request
    wanted: Annotated[tuple[MessageId, ...], Listed("wanted")]


@wired
class Rsp2(NamedTuple):
    host: Id
    rq: Request
    bodies: Annotated[tuple[Item, ...], Listed("bodies")]
    new_ids: Annotated[tuple[MessageId, ...], Listed("new_ids")]  # msg_rcv: what the giver received since Rsp1
