"""Judge deliveries using only the events of hosts: broadcasts, deliveries, joins, leaves and gaps.

Model     m1 happened before m2 if the broadcaster of m2 had already broadcast or delivered m1, or a message that m1
          happened before. A member is entitled to every message that was broadcast since it joined (or since its last
          gap), and must deliver all of them
Checks    creation, duplication (over all memberships), membership, causal_order: a message is not delivered before a
          message that happened before it and to which the member is entitled, and not after a message that happened
          after it; delivery: in the end every member has delivered all messages to which it is entitled
Shapes    Standing describes one host. The number of a message is its position in the order of broadcasting; sets of
          messages are bit masks over these numbers
Errors    Violation, at the first event that fails a check
Source    Lamport, Time, clocks, and the ordering of events in a distributed system (1978); ours. Written independently
          of mobilenet/verify, which reads whole recordings
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from mobilenet.protocols.port import MessageId


class Violation(Exception):
    def __init__(self, check: str, explanation: str) -> None:
        super().__init__(explanation)
        self.check = check
        self.explanation = explanation


class Standing(NamedTuple):
    member: bool = False
    delivered: int = 0  # messages that the host has delivered in all its lives
    entitled: int = 0  # messages broadcast while the host was a member, except those that a gap excludes
    past: int = 0  # messages that happened before the next broadcast of the host


class History(NamedTuple):
    """Holds the past events that later checks need."""

    messages: tuple[MessageId, ...]  # identifiers, in the order of broadcasting
    pasts: tuple[int, ...]  # the causal past of each message
    hosts: tuple[Standing, ...]


def begin(hosts: int) -> History:
    return History((), (), (Standing(),) * hosts)


def history_after(history: History, host: int, events: Sequence[tuple[Any, ...]]) -> History:
    """Return the history after the events of a host: ('broadcast', id), ('deliver', id, body), ('joined', ...),
    ('left', ...) and ('gap', ...).
    """
    for event in events:
        history = _EVENTS[event[0]](history, host, event)
    return history


def missing_deliveries(history: History, host: int) -> list[MessageId]:
    """Return the messages to which a member is entitled and which it has not delivered."""
    standing = history.hosts[host]
    if not standing.member:
        return []
    missing = standing.entitled & ~standing.delivered
    return [message for i, message in enumerate(history.messages) if missing >> i & 1]


def name(message: MessageId) -> str:
    return f"h{message.host}:{message.seq}"


def _names(history: History, mask: int) -> str:
    return ", ".join(name(message) for i, message in enumerate(history.messages) if mask >> i & 1)


def _with_standing(history: History, host: int, standing: Standing) -> History:
    hosts = history.hosts
    return history._replace(hosts=(*hosts[:host], standing, *hosts[host + 1 :]))


def _broadcast(history: History, host: int, event: tuple[Any, ...]) -> History:
    message = event[1]
    if message.host != host or message in history.messages:
        raise Violation("creation", f"h{host} broadcasts {name(message)}, which is not a new message from this host")
    if not history.hosts[host].member:
        raise Violation("membership", f"h{host} broadcasts {name(message)}, but is not a member")
    bit = 1 << len(history.messages)
    hosts = [s._replace(entitled=s.entitled | bit) if s.member else s for s in history.hosts]
    hosts[host] = hosts[host]._replace(past=hosts[host].past | bit)
    return History((*history.messages, message), (*history.pasts, history.hosts[host].past), tuple(hosts))


def _deliver(history: History, host: int, event: tuple[Any, ...]) -> History:
    message, standing = event[1], history.hosts[host]
    if message not in history.messages:
        raise Violation("creation", f"h{host} delivers {name(message)}, which no host broadcast")
    place = history.messages.index(message)
    bit, past = 1 << place, history.pasts[place]
    if not standing.member:
        raise Violation("membership", f"h{host} delivers {name(message)}, but is not a member")
    if standing.delivered & bit:
        raise Violation("duplication", f"h{host} delivers {name(message)} a second time")
    if missing := past & standing.entitled & ~standing.delivered:
        raise Violation("causal_order", f"h{host} delivers {name(message)} before {_names(history, missing)}")
    after = sum(1 << i for i, p in enumerate(history.pasts) if p & bit) & standing.delivered
    if after:
        raise Violation("causal_order", f"h{host} delivers {name(message)} after {_names(history, after)}")
    return _with_standing(
        history, host, standing._replace(delivered=standing.delivered | bit, past=standing.past | past | bit)
    )


def _after_join(history: History, host: int, event: tuple[Any, ...]) -> History:
    if history.hosts[host].member:
        raise Violation("membership", f"h{host} joins a second time")
    return _with_standing(history, host, history.hosts[host]._replace(member=True, entitled=0))


def _after_leave(history: History, host: int, event: tuple[Any, ...]) -> History:
    if not history.hosts[host].member:
        raise Violation("membership", f"h{host} leaves, but is not a member")
    return _with_standing(history, host, history.hosts[host]._replace(member=False, entitled=0))


def _gap(history: History, host: int, event: tuple[Any, ...]) -> History:
    """Raise Violation, because a gap implies that a station has given up on the host, which does not happen in these
    cases.
    """
    raise Violation("gaps", f"h{host} has a gap, although no station gave up on it")


def _after_expiry(history: History, host: int, event: tuple[Any, ...]) -> History:
    return history


_EVENTS = {
    "broadcast": _broadcast,
    "deliver": _deliver,
    "joined": _after_join,
    "left": _after_leave,
    "gap": _gap,
    "expired": _after_expiry,
}
