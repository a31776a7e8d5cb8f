"""What the mobile causal broadcast sends, and how many bytes that is.

Source    Wilhelm, Arantes, Sens: A scalable causal broadcast that tolerates dynamics of mobile networks (2020),
          section IV.A; the fields as repaired are ours: docs/protocols/mobile-causal.md
Names     App_hs AppHs, App_sh AppSh, App_Co AppCo, App_ss App, ack_h AckH, ack_C AckC, init_ACK InitAck,
          leave_ACK LeaveAck, Req_1 Req1, Rsp_1 Rsp1, ...; not in the paper: Chal, Reinit, Reset, Nothing, Objection
Units     bytes; an identifier takes 4, a number 8, a flag 1, the body what it declares, a skip set one bit per number
          from `base` to its last. Each wireless message carries a station: the one addressed, or the sending one.
          The port keeps it beside the message (`to`, `sender`); its 4 bytes are counted here
Body      an int: the declared payload bytes. Nothing looks inside
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..port import MessageId

ID, NUMBER, FLAG = 4, 8, 1
STATION = ID
MESSAGE_ID = ID + NUMBER
REQUEST = 2 * NUMBER
UDP_PAYLOAD = 1472  # what one Ethernet-sized frame takes: 1500 less IP and UDP headers
ACKS_PER_FRAME = (UDP_PAYLOAD - STATION) // (ID + NUMBER)
NO_SESSION = -1  # LC before the first init_ACK of a membership

Lists = tuple[tuple[str, int], ...]


class Control:
    """No payload and no list, unless a message says otherwise; `acknowledges`: it does nothing else."""

    __slots__ = ()
    acknowledges = False

    @property
    def payload_bytes(self) -> int:
        return 0

    def list_sizes(self) -> Lists:
        return ()


class Request(NamedTuple):
    """The identity of a handoff or join request: the session, and a number of the requesting station alone."""

    ses: int
    k: int


class Item(NamedTuple):
    """An application message as stations keep it."""

    id: MessageId
    body: int


# --- host to station


class AppHs(NamedTuple):
    host: int
    seq: int
    body: int

    @property
    def size_bytes(self) -> int:
        return STATION + ID + NUMBER + self.body

    @property
    def payload_bytes(self) -> int:
        return self.body

    def list_sizes(self) -> Lists:
        return ()


class _AckH(NamedTuple):
    host: int
    ses: int
    nxt: int


class AckH(_AckH, Control):
    __slots__ = ()
    acknowledges = True
    size_bytes = STATION + ID + 2 * NUMBER


class _Join(NamedTuple):
    host: int
    ses: int
    first_seq: int
    cookie: int | None


class Join(_Join, Control):
    __slots__ = ()

    @property
    def size_bytes(self) -> int:
        return STATION + ID + 2 * NUMBER + FLAG + (0 if self.cookie is None else NUMBER)


class _Init(NamedTuple):
    host: int
    ses: int
    lc: int
    nxt: int


class Init(_Init, Control):
    __slots__ = ()
    size_bytes = STATION + ID + 3 * NUMBER


class _HostSession(NamedTuple):
    host: int
    ses: int


class Leave(_HostSession, Control):
    __slots__ = ()
    size_bytes = STATION + ID + NUMBER


# --- station to host


class AppSh(NamedTuple):
    number: int
    id: MessageId
    body: int
    delivered: tuple[int, ...]  # M_d: who must not deliver it; informative, hosts go by the skip set

    @property
    def size_bytes(self) -> int:
        return STATION + NUMBER + MESSAGE_ID + self.body + ID * len(self.delivered)

    @property
    def payload_bytes(self) -> int:
        return self.body

    def list_sizes(self) -> Lists:
        return (("md", len(self.delivered)),)


class AppCo(NamedTuple):
    host: int
    ses: int
    number: int
    id: MessageId
    body: int

    @property
    def size_bytes(self) -> int:
        return STATION + ID + 2 * NUMBER + MESSAGE_ID + self.body

    @property
    def payload_bytes(self) -> int:
        return self.body

    def list_sizes(self) -> Lists:
        return ()


class _AckC(NamedTuple):
    seq_h: Mapping[int, int]  # host -> next number expected from it


class AckC(_AckC, Control):
    __slots__ = ()
    acknowledges = True

    @property
    def size_bytes(self) -> int:
        return STATION + (ID + NUMBER) * len(self.seq_h)

    def list_sizes(self) -> Lists:
        return (("acks", len(self.seq_h)),)


class _Chal(NamedTuple):
    host: int
    ses: int
    cookie: int


class Chal(_Chal, Control):
    __slots__ = ()
    size_bytes = STATION + ID + 2 * NUMBER


class _InitAck(NamedTuple):
    host: int
    ses: int
    start: int  # the position at which the host goes on
    base: int  # where the stream begins; start..base-1 are recovery messages
    skip: tuple[int, ...]  # numbers of the stream delivered elsewhere, ascending
    seq_h: int
    gap: bool


class InitAck(_InitAck, Control):
    __slots__ = ()

    @property
    def size_bytes(self) -> int:
        bits = self.skip[-1] - self.base + 1 if self.skip else 0
        return STATION + ID + 4 * NUMBER + FLAG + (bits + 7) // 8

    def list_sizes(self) -> Lists:
        return (("skip", len(self.skip)),)


class LeaveAck(_HostSession, Control):
    __slots__ = ()
    size_bytes = STATION + ID + NUMBER


class Reinit(_HostSession, Control):
    __slots__ = ()
    size_bytes = STATION + ID + NUMBER


class Reset(_HostSession, Control):
    __slots__ = ()
    size_bytes = STATION + ID + NUMBER


# --- station to station


class App(NamedTuple):
    id: MessageId
    body: int

    @property
    def size_bytes(self) -> int:
        return MESSAGE_ID + self.body

    @property
    def payload_bytes(self) -> int:
        return self.body

    def list_sizes(self) -> Lists:
        return ()


class _Req1(NamedTuple):
    host: int
    rq: Request
    lc: int
    nxt: int
    join: bool  # its kind: join or init
    source: int


class Req1(_Req1, Control):
    __slots__ = ()
    size_bytes = ID + REQUEST + 2 * NUMBER + FLAG + STATION


class Delete(_HostSession, Control):
    __slots__ = ()
    size_bytes = ID + NUMBER


class _HostRequest(NamedTuple):
    host: int
    rq: Request


class Nothing(_HostRequest, Control):
    """An answer to Req1: nothing here stands for this host any more."""

    __slots__ = ()
    size_bytes = ID + REQUEST


class Objection(_HostRequest, Control):
    """An answer to Req1: it is superseded, give up."""

    __slots__ = ()
    size_bytes = ID + REQUEST


class _Rsp1(NamedTuple):
    host: int
    rq: Request
    undelivered: tuple[MessageId, ...]  # m_nd, in the giver's order
    seq_h: int
    gap: bool
    expired: bool


class Rsp1(_Rsp1, Control):
    __slots__ = ()

    @property
    def size_bytes(self) -> int:
        return ID + REQUEST + NUMBER + 2 * FLAG + MESSAGE_ID * len(self.undelivered)

    def list_sizes(self) -> Lists:
        return (("undelivered", len(self.undelivered)),)


class _Req2(NamedTuple):
    host: int
    rq: Request
    wanted: tuple[MessageId, ...]


class Req2(_Req2, Control):
    __slots__ = ()

    @property
    def size_bytes(self) -> int:
        return ID + REQUEST + MESSAGE_ID * len(self.wanted)

    def list_sizes(self) -> Lists:
        return (("wanted", len(self.wanted)),)


class Rsp2(NamedTuple):
    host: int
    rq: Request
    bodies: tuple[Item, ...]
    new_ids: tuple[MessageId, ...]  # msg_rcv: what the giver received since Rsp1

    @property
    def size_bytes(self) -> int:
        lists = MESSAGE_ID * (len(self.bodies) + len(self.new_ids))
        return ID + REQUEST + lists + self.payload_bytes

    @property
    def payload_bytes(self) -> int:
        return sum(item.body for item in self.bodies)

    def list_sizes(self) -> Lists:
        return (("bodies", len(self.bodies)), ("new_ids", len(self.new_ids)))
