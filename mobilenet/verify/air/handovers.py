"""Check that messages by which a host joins, or moves between stations of a tree, continue what came before them.

Checks    the cookie of a join is one that its host was given in that session
          a station gives each cookie to one host in one session. Where no host is forgotten, it confirms a session in
          one way until the host has acknowledged something in it
          a host asks for one session with one position and one session before it, and its station asks the others with
          the same, in its own name
          a station announces a gap, or that it gave up on the host, only after some station has given up on it
          of what a station lists as not delivered, in the order in which it came in, the new one wants some, in that
          order; it is sent just that, and what came in at the old station meanwhile
          the first InitAck of the new station has the gap and the numbers that it received
Model     a list that the record cuts off may go on in any way. What was recovered for a host before comes first in
          the list of what it has not delivered, in any order
Units     integer nanoseconds
Errors    none
Source    ours: docs/protocols/mobile-causal.md
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from mobilenet.rundir.schema import MOST_LISTED
from mobilenet.rundir.table import Table
from mobilenet.verify.air.arrivals import Arrivals
from mobilenet.verify.air.confirmed import NEVER
from mobilenet.verify.air.heard import expiries
from mobilenet.verify.air.messages import Hops
from mobilenet.verify.air.nodes import Nodes

KINDS = ("Chal", "Join", "Init", "InitAck", "AckH", "Have", "Req1", "Rsp1", "Req2", "Rsp2")
CONFIRMED = ("start", "base", "skip", "gap")


class _HandoffMessage(NamedTuple):
    """A message of a handoff, at its sender."""

    row: int
    send_ns: int
    receive_ns: int
    sender: int
    receiver: int
    is_received: bool
    detail: dict[str, Any]


About = tuple[int, int | None]  # host, session
ByKind = dict[str, list[_HandoffMessage]]


def handovers_problem(events: Table, hops: Hops, nodes: Nodes, arrivals: Arrivals | None, forgets: bool) -> str | None:
    """Return the first message that does not carry on what came before it; `forgets`: stations forget hosts."""
    hosts, kinds = nodes.indices(hops.table.column("host")), hops.table.column("kind")
    rows = kinds.rows(*KINDS)
    groups: dict[About, ByKind] = {}
    about = zip(hosts[rows].tolist(), hops.table.pick("session", rows), strict=True)
    names = hops.table.pick("kind", rows)
    for row, key, kind in zip(rows.tolist(), about, names, strict=True):
        times = int(hops.send_ns[row]), int(hops.receive_ns[row])
        ends = int(hops.sender[row]), int(hops.receiver[row])
        message = _HandoffMessage(row, *times, *ends, bool(hops.is_received[row]), hops.detail_of(row))
        groups.setdefault(key, {}).setdefault(kind, []).append(message)
    given_up: dict[int, int] = {}
    for at_ns, _, host in expiries(events, nodes):
        given_up.setdefault(host, at_ns)
    recovered: dict[int, set[str]] = {}  # host -> what was sent for it between stations
    unknown: set[int] = set()  # hosts of which the record cuts that off
    for (host, _), group in groups.items():
        for message in group.get("Rsp2", ()):
            bodies = _list(message, "bodies")
            recovered.setdefault(host, set()).update(bodies)
            unknown |= set() if _is_whole(bodies) else {host}
    codes = {name: code for code, name in enumerate(hops.table.column("message").words)}
    for (host, _), group in groups.items():
        known = recovered.get(host, set())
        problems = (
            _request_problems(group),
            _gap_problems(group, given_up.get(host, NEVER)),
            _list_problems(group),
            () if arrivals is None else _order_problems(group, arrivals, codes, None if host in unknown else known),
            _answer_problems(group),
            () if forgets else _same_problems(group),
        )
        for each in problems:
            for message, what in each:
                return f"{hops.words(message.row)}: {what}"
    return _cookie_problem(hops, groups)


def _cookie_problem(hops: Hops, groups: dict[About, ByKind]) -> str | None:
    owners: dict[tuple[int, Any], About] = {}
    for about, group in groups.items():
        for message in group.get("Chal", ()):
            cookie = message.detail.get("cookie")
            if owners.setdefault((message.sender, cookie), about) != about:
                return (
                    f"{hops.words(message.row)}: the cookie {cookie} was already given to another host or"
                    " in another session"
                )
    return None


def _same_problems(group: ByKind) -> Iterator[tuple[_HandoffMessage, str]]:
    """Yield InitAck that confirm the session in another way than before, to a host that has sent nothing in it."""
    since_ns = min((ack.send_ns for kind in ("AckH", "Have") for ack in group.get(kind, ())), default=NEVER)
    first_details: dict[int, dict[str, Any]] = {}
    for answer in group.get("InitAck", ()):
        due = first_details.setdefault(answer.sender, answer.detail)
        if answer.send_ns < since_ns and any(answer.detail.get(name) != due.get(name) for name in CONFIRMED):
            yield answer, f"it contains {answer.detail}, but an earlier InitAck contained {due}"


def _list(message: _HandoffMessage, name: str) -> list[str]:
    names = message.detail.get(name)
    return [str(each) for each in names] if isinstance(names, list) else []


def _is_whole(names: Sequence[str]) -> bool:
    return len(names) < MOST_LISTED


def _request_problems(group: ByKind) -> Iterator[tuple[_HandoffMessage, str]]:
    for join in group.get("Join", ()):
        cookie = join.detail.get("cookie")
        challenges = [c for c in group.get("Chal", ()) if c.is_received and c.receive_ns <= join.send_ns]
        if cookie is not None and all(c.detail.get("cookie") != cookie for c in challenges):
            yield join, f"the cookie is {cookie}, but its host did not receive this cookie in the session"
    inits = group.get("Init", [])
    session_requests = [(init.receiver, init.detail.get("lc"), init.detail.get("nxt")) for init in inits]
    for init, one in zip(inits, session_requests, strict=True):
        if one != session_requests[0]:
            earlier = f"an earlier Init requests it with {inits[0].detail}"
            yield init, f"it requests the session with {init.detail}, but {earlier}"
    joins = {(join.receiver, -1, 0) for join in group.get("Join", ())}
    for request in group.get("Req1", ()):
        detail = request.detail
        due = joins if detail.get("join") is True else set(session_requests)
        if (detail.get("source"), detail.get("lc"), detail.get("nxt")) not in due:
            yield request, f"it contains {detail}, but no host asks that station for such a session"


def _gap_problems(group: ByKind, given_up_ns: int) -> Iterator[tuple[_HandoffMessage, str]]:
    for message in (*group.get("Rsp1", ()), *group.get("InitAck", ())):
        for name in ("gap", "expired"):
            if message.detail.get(name) is True and message.send_ns < given_up_ns:
                yield message, f"{name} is true, but no station had given up on the host"


def _is_part(some: Iterable[str], every: Iterable[str]) -> bool:
    """Whether these are among those, in that order."""
    rest = iter(every)
    return all(name in rest for name in some)


def _list_problems(group: ByKind) -> Iterator[tuple[_HandoffMessage, str]]:
    for request in group.get("Req2", ()):
        names = _list(request, "wanted")
        offers = [_list(one, "undelivered") for one in _before(group, "Rsp1", request)]
        if not any(not _is_whole(offer) or _is_part(names, offer) for offer in offers):
            yield request, f"it requests {_words(names)}, but no Rsp1 offered these messages in this order"
    for answer in group.get("Rsp2", ()):
        bodies = _list(answer, "bodies")
        requests = [_list(one, "wanted") for one in _before(group, "Req2", answer)]
        if bodies not in requests:
            yield answer, f"it contains {_words(bodies)}, but no Req2 requested exactly these messages"


def _before(group: ByKind, kind: str, message: _HandoffMessage) -> list[_HandoffMessage]:
    return [one for one in group.get(kind, ()) if one.is_received and one.receive_ns <= message.send_ns]


def _order_problems(
    group: ByKind, arrivals: Arrivals, codes: dict[str, int], recovered: set[str] | None
) -> Iterator[tuple[_HandoffMessage, str]]:
    """Yield lists whose messages did not come in where the list is made, then, or in this order."""
    first_ns: dict[int, int] = {}  # the station that hands over -> since when
    for message in _own_messages(group, "Rsp1"):
        first_ns.setdefault(message.sender, message.send_ns)
        if recovered is None:
            continue
        names = [name for name in _list(message, "undelivered") if name not in recovered]
        yield from _wrong_order(message, names, arrivals, codes, 0)
    for message in _own_messages(group, "Rsp2"):
        yield from _wrong_order(message, _list(message, "new_ids"), arrivals, codes, first_ns.get(message.sender, 0))


def _own_messages(group: ByKind, kind: str) -> Iterator[_HandoffMessage]:
    """Return the messages that a station made itself, and does not only pass on."""
    passed = {(one.receiver, one.receive_ns) for one in group.get(kind, ()) if one.is_received}
    return (one for one in group.get(kind, ()) if (one.sender, one.send_ns) not in passed)


def _wrong_order(
    message: _HandoffMessage, names: list[str], arrivals: Arrivals, codes: dict[str, int], since_ns: int
) -> Iterator[tuple[_HandoffMessage, str]]:
    at_ns = arrivals.of(message.sender, np.array([codes.get(name, -1) for name in names], np.int64))
    if len(at_ns) and (at_ns[0] < since_ns or at_ns[-1] > message.send_ns or (np.diff(at_ns) < 0).any()):
        what = "these messages had not all reached its sender in this order by then"
        yield message, f"it lists {_words(names)}, but {what}"


def _answer_problems(group: ByKind) -> Iterator[tuple[_HandoffMessage, str]]:
    senders: set[int] = set()
    for answer in group.get("InitAck", ()):
        offers = [one for one in _before(group, "Rsp1", answer) if one.receiver == answer.sender]
        if answer.sender in senders or not offers:
            continue
        senders.add(answer.sender)
        due = [(one.detail.get("seq_h"), one.detail.get("gap")) for one in offers]
        if (answer.detail.get("seq_h"), answer.detail.get("gap")) not in due:
            yield answer, f"it contains {answer.detail}, but its station had received {offers[-1].detail}"


def _words(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "") if names else "nothing"
