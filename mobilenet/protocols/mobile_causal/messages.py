"""The messages of the mobile causal broadcast. Their sizes are derived from the fields: ../fields.py.

Source    Wilhelm, Arantes, Sens: A scalable causal broadcast that tolerates dynamics of mobile networks (2020),
          section IV.A; the repaired fields are ours: docs/protocols/mobile-causal.md
Names     App_hs AppHs, App_sh AppSh, App_Co AppCo, App_ss App, ack_h AckH, ack_C AckC, init_ACK InitAck,
          leave_ACK LeaveAck, Req_1 Req1, Rsp_1 Rsp1, ...; not in the paper: Have, AppOne, Chal, Reinit, Reset, Nothing,
          Objection
Units     bytes. A skip set takes one bit for each number from `base` to its last number. Each wireless message carries
          a station, which is its receiver or its sender. The port keeps the station with the message (`to`, `sender`);
          its bytes are counted here
Body      an int, the number of payload bytes. The content of the payload is not represented
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from ..fields import BitsFrom, Body, Flag, Id, Listed, Number, message
from ..port import MessageId

STATION = 4
UDP_PAYLOAD = 1472  # the payload of one Ethernet frame: 1500 bytes less the IP and UDP headers
# in one AckC, which contains a host and a number for each acknowledgement
ACKS_PER_FRAME = (UDP_PAYLOAD - STATION) // (4 + 8)
NO_SESSION = -1  # LC before the first init_ACK of a membership

wireless = message(head=STATION)
wired = message()


class Request(NamedTuple):
    """The identity of a handoff or join request: the session and a number that the requesting station assigned."""

    ses: Number
    k: Number


class Item(NamedTuple):
    """An application message in the form in which stations store it."""

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
    """The ack_h of `repair: selective`. It tells the station and all hosts of the cell what a host has received."""

    station: Id
    host: Id
    ses: Number
    nxt: Number
    # ascending numbers above nxt that were received and not delivered yet
    have: Annotated[tuple[int, ...], BitsFrom("nxt"), Listed("have")]


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
    # M_d: hosts that must not deliver the message. It is only informative, because hosts use the skip set.
    delivered: Annotated[tuple[Id, ...], Listed("md")]


@wireless
class AppOne(NamedTuple):
    """The App_sh of `repair: selective` for a single host that still lacks the message after several copies for the
    whole cell.
    """

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
    seq_h: Annotated[Mapping[Id, Number], Listed("acks")]  # host -> the next number expected from it


@wireless
class Chal(NamedTuple):
    host: Id
    ses: Number
    cookie: Number


@wireless
class InitAck(NamedTuple):
    host: Id
    ses: Number
    start: Number  # the next position that the host delivers
    base: Number  # the first position of the stream; start..base-1 are recovery messages
    # numbers of the stream that the host delivered elsewhere, ascending
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
    join: Flag  # whether the request is for a join; otherwise it is for an init
    source: Id


@wired
class Delete(NamedTuple):
    host: Id
    ses: Number


@wired
class Nothing(NamedTuple):
    """An answer to Req1: the station has no state of this host."""

    host: Id
    rq: Request


@wired
class Objection(NamedTuple):
    """An answer to Req1: the request was superseded, and the requester should give up."""

    host: Id
    rq: Request


@wired
class Rsp1(NamedTuple):
    host: Id
    rq: Request
    undelivered: Annotated[tuple[MessageId, ...], Listed("undelivered")]  # m_nd, in the order of the sending station
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
    # msg_rcv: what the sending station received after Rsp1
    new_ids: Annotated[tuple[MessageId, ...], Listed("new_ids")]
