"""Select the time, the nodes and the messages that a space-time diagram shows.

Model     A window shows one host. It contains every recorded message to or from the host, and every message between
          stations that names it. Application messages on wires are included if the host delivers them within the
          window. The nodes are the host and all senders and receivers of these messages.
Units     integer nanoseconds
Shapes    messages: the rows of messages.parquet, in the order in which they were sent, with their row numbers as index
Errors    WindowError for an unknown handoff, message, crash or host; the error lists the existing ones and suggests
          what to request instead
Source    after Lamport, Time, clocks, and the ordering of events in a distributed system (1978), and Figure 5 of
          Wilhelm, Arantes, Sens (2020); the rules are ours: docs/guide/pictures.md
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pandas as pd

from mobilenet.engine.clock import SECOND

from .broadcasts import broadcasts_carried

LEAST_MARGIN_NS = 5_000_000
AROUND_A_MOMENT_NS = 210_000_000  # the time shown before and after a moment
AFTER_A_BROADCAST_NS = 150_000_000  # the time shown after a broadcast that is never delivered
PRINTED_NS = 500  # the rounding error of moments that are printed in microseconds
MOST_NAMED = 8  # the maximum number of hosts in an error message
# Matches the error of simulation/plugin_failure.py. The groups are the host that failed and the host whose message a
# station was handling.
AT_ERROR = re.compile(r" at \d+\.\d+ s at (?:(h\d+)|s\d+, handling \S+ from (h\d+))")


class WindowError(Exception):
    """Raised if a window cannot be shown. The message is one line for users."""


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a run that a diagram shows."""

    host: str
    begin_ns: int
    end_ns: int
    title: str
    messages: tuple[str, ...] = ()  # the application messages whose paths are shown


def window_around(
    events: pd.DataFrame, what: str, host: str | None = None, margin_s: float | None = None, end_ns: int = 0
) -> Window:
    """Return a window. `what` is handoff:N (counted from 1, for the host or for the whole run), message:h3:5,
    message:h3:5,h4:2, crash:N, or a simulated time in seconds. `end_ns` is the end of the run, if it is later than the
    last event.
    """
    kind, _, argument = what.partition(":")
    if host is not None and host not in set(events.node):
        raise WindowError(f"host {host!r} is not in this run; {_hosts_text(events)}")
    last = max(end_ns, int(events.time_ns.max()) if len(events) else 0)
    if kind == "handoff":
        begin, end, host, title = _handoff(events, argument, host)
    elif kind == "crash":
        begin, end, host, title = _crash(events, argument, host)
    elif kind == "message":
        begin, end, host, title = _message(events, argument, host)
    else:
        begin, end, host, title = _moment(events, what, host, last)
    margin = AROUND_A_MOMENT_NS if kind == what else max(LEAST_MARGIN_NS, (end - begin) // 5)
    if margin_s is not None:
        margin = round(min(margin_s, last / SECOND) * SECOND)
    messages = tuple(argument.split(",")) if kind == "message" else ()
    return Window(host, max(0, begin - margin), min(end, last) + min(margin, last), title, messages)


Place = tuple[int, int, str, str]  # begin, end, host, title


def _event_number(events: pd.DataFrame, candidates: pd.DataFrame, argument: str, kind: str, host: str | None) -> int:
    whose = f"of {host}" if host else "in this run"
    plural = {"crash": "crashes"}.get(kind, f"{kind}s")
    if not argument.isdecimal() or not 1 <= int(argument) <= len(candidates):
        if len(candidates) > 1:
            there = f"there are {len(candidates)} {plural} {whose}, counted from 1"
        else:
            there = f"there is one {kind} {whose}: {kind}:1" if len(candidates) else f"there are none {whose}"
        instead = "" if len(candidates) else f"; expected {_instead(events, host)}"
        raise WindowError(f"{kind}:{argument}: no such {kind}; {there}{instead}")
    return int(argument) - 1


def handoffs(events: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each session that was opened and confirmed, sorted by its start, with the columns node,
    session, begin_ns, end_ns and cause.
    """
    starts = events[events.event == "handoff_start"][["time_ns", "node", "session", "station", "detail"]]
    ends = events[events.event == "handoff_end"][["time_ns", "node", "session"]]
    both = starts.merge(ends, on=["node", "session"], suffixes=("", "_end"))
    both = both.rename(columns={"time_ns": "begin_ns", "time_ns_end": "end_ns"})
    both["cause"] = both.detail.str.extract(r'"cause": "(\w+)"')[0] if len(both) else pd.Series(dtype=str)
    return both.sort_values(["begin_ns", "node"], ignore_index=True)


def _handoff(events: pd.DataFrame, argument: str, host: str | None) -> Place:
    own_handoffs = handoffs(events)
    if host is not None:
        own_handoffs = own_handoffs[own_handoffs.node == host].reset_index(drop=True)
    row = own_handoffs.iloc[_event_number(events, own_handoffs, argument, "handoff", host)]
    cause = "cause not recorded"
    if isinstance(row.cause, str):
        known = {"cell": "change of cell", "recovery": "recovery from a crash"}
        cause = f"cause: {known.get(row.cause, row.cause)}"
    duration_ms = (row.end_ns - row.begin_ns) / 1e6
    title = f"{row.node}: session {int(row.session)} at {row.station} ({cause}), {duration_ms:.1f} ms"
    return int(row.begin_ns), int(row.end_ns), row.node, title


def _crash(events: pd.DataFrame, argument: str, host: str | None) -> Place:
    crashes = events[(events.event == "crash") & (True if host is None else events.node == host)].reset_index(drop=True)
    row = crashes.iloc[_event_number(events, crashes, argument, "crash", host)]
    later = events[(events.node == row.node) & (events.time_ns > row.time_ns)]
    back = later[later.event.isin(["recover", "handoff_end"])].head(2)
    end = int(back.time_ns.max()) if len(back) else int(row.time_ns)
    return int(row.time_ns), end, row.node, f"{row.node} crashes and recovers"


def _message(events: pd.DataFrame, argument: str, host: str | None) -> Place:
    names = argument.split(",")
    own = events[events.message.isin(names)]
    sent = own[own.event == "broadcast"]
    for name in names:
        if name not in set(sent.message):
            raise WindowError(f"message:{name}: unknown message; expected {_instead(events, host)}")
    at = int(sent.time_ns.iloc[0])
    others = own[(own.event == "deliver") & (own.node != sent.node.iloc[0])].node
    # the last host that delivered the message
    receiver = host or str(others.iloc[-1] if len(others) else sent.node.iloc[0])
    delivered = own[(own.event == "deliver") & (own.node == receiver)].drop_duplicates("message")
    last = int(sent.time_ns.max())
    end = max(last, int(delivered.time_ns.max())) if len(delivered) else last + AFTER_A_BROADCAST_NS
    begun, ended = ("its", "its") if len(names) == 1 else ("the first", "the last")
    delay = f"{ended} delivery at {receiver}, {(end - at) / 1e9:.6g} s later" if len(delivered) else "later"
    return at, end, receiver, f"{' and '.join(names)} from {begun} broadcast to {delay}"


def _moment(events: pd.DataFrame, what: str, host: str | None, last: int) -> Place:
    try:
        at = round(float(what) * SECOND)  # This raises ValueError for nan.
    except (ValueError, OverflowError):
        raise WindowError(f"{what}: expected handoff:N, crash:N, message:h3:5, or seconds of simulated time") from None
    if not 0 <= at <= last + PRINTED_NS:
        raise WindowError(f"{what}: the run lasts from 0 to {last / SECOND:.10g} s")
    if host is None:
        raise WindowError(f"{what}: specify the host with --host, for example --host {_somebody(events)}")
    at = min(at, last)
    return at, at, host, f"{host} around {at / SECOND:.10g} s"


def _hosts(events: pd.DataFrame) -> list[str]:
    """Return the hosts that have events, in the order of their numbers."""
    return sorted((str(node) for node in events.node.unique() if node[:1] == "h"), key=_number)


def _number(node: str) -> int:
    return int(node[1:]) if node[1:].isdecimal() else 0


def _somebody(events: pd.DataFrame) -> str:
    return next(iter(_hosts(events)), "h0")


def _hosts_text(events: pd.DataFrame) -> str:
    hosts = _hosts(events)
    if not hosts:
        return "nothing happened to any host"
    return f"hosts are {', '.join(hosts[:MOST_NAMED])}{', ...' if len(hosts) > MOST_NAMED else ''}"


def _instead(events: pd.DataFrame, host: str | None) -> str:
    """Return what a user can request for this run, in the notation of --around."""
    sent = events[(events.event == "broadcast") & (True if host is None else events.node == host)].message
    message = [f"message:{sent.iloc[0]}"] if len(sent) else []
    crashed = ["crash:1"] if "crash" in set(events[events.node == host].event if host else events.event) else []
    seconds = f"seconds with a host, for example --around 1.5 --host {host or _somebody(events)}"
    return " or ".join([*crashed, *message, seconds])


def default_moment(events: pd.DataFrame, ended_by: str | None, end_ns: int, host: str | None) -> tuple[str, str | None]:
    """Return the default moment and its host. The moment is the error that ended the run early, or else the first
    handoff, crash or broadcast (of `host`, if given), or else the beginning, in the notation of window_around.
    """
    own = events if host is None else events[events.node == host]
    if ended_by is not None:
        named = AT_ERROR.search(ended_by)
        until = [node for node in own.node if node[:1] == "h"]
        at_fault = (named[1] or named[2]) if named else None
        known = at_fault if at_fault in until else until[-1] if until else _somebody(events)
        return f"{end_ns / SECOND:.6f}", host or known
    if len(handoffs(own)):
        return "handoff:1", host
    if (own.event == "crash").any():
        return "crash:1", host
    sent = own[own.event == "broadcast"].message
    return (f"message:{sent.iloc[0]}", None) if len(sent) else ("0", host or _somebody(events))


def messages_to_show(messages: pd.DataFrame, events: pd.DataFrame, window: Window) -> pd.DataFrame:
    """Return the rows that the diagram shows, with an additional column for the broadcasts that each message
    carries.
    """
    arrives = messages.receive_ns.fillna(messages.send_ns)
    inside = messages[(messages.send_ns <= window.end_ns) & (arrives >= window.begin_ns)]
    inside = inside.assign(carried=broadcasts_carried(inside, events))
    host = window.host
    direct = (inside.sender == host) | (inside.receiver == host)
    named = (inside.medium == "wired") & (inside.host == host)
    delivered = events[(events.event == "deliver") & (events.node == host)]
    delivered = delivered[delivered.time_ns.between(window.begin_ns, window.end_ns)]
    names = set(delivered.message)
    of_them = inside.carried.map(lambda own: not names.isdisjoint(own)).astype(bool)
    passed_on = (inside.medium == "wired") & inside.host.isna() & of_them
    partners = set(inside[direct].sender) | set(inside[direct].receiver)
    passed_on &= inside.sender.isin(partners) & inside.receiver.isin(partners)
    its = inside.carried.map(lambda own: not set(window.messages).isdisjoint(own)).astype(bool)
    if its.any():  # Show the complete path of the selected messages over wires, and how they reached the host.
        return inside[its & ((inside.medium == "wired") | direct | inside.sender.str.startswith("h"))]
    return inside[direct | named | passed_on]


def nodes_of(messages: pd.DataFrame, window: Window, events: pd.DataFrame) -> list[str]:
    """Return the nodes from top to bottom: the station that the host leaves, the host, the station that it joins, and
    the other nodes by number.
    """
    own = events[(events.node == window.host) & events.event.isin(["join", "handoff_start", "handoff_end"])]
    before = own[(own.time_ns < window.begin_ns + LEAST_MARGIN_NS) & (own.event != "handoff_start")].station.dropna()
    now = own[own.time_ns.between(window.begin_ns, window.end_ns)].station.dropna()
    sessions = _stations_of_sessions(events, window.host)
    old = sessions.get(_last_session(own, window.begin_ns), before.iloc[-1] if len(before) else None)
    others = (set(messages.sender) | set(messages.receiver)) - {window.host}
    new = next((station for station in now if station != old), None)
    top = [old] if old in others else []
    below = [new] if new in others and new != old else []
    rest = sorted(others - set(top) - set(below), key=lambda name: (name[0] != "s", _number(name)))
    return [*top, window.host, *below, *rest]


def _stations_of_sessions(events: pd.DataFrame, host: str) -> dict[int, str]:
    opened = events[(events.node == host) & events.event.isin(["join", "handoff_start"]) & events.station.notna()]
    return {int(row.session): row.station for row in opened.itertuples() if row.session == row.session}


def _last_session(own: pd.DataFrame, at_ns: int) -> int:
    confirmed = own[(own.time_ns < at_ns + LEAST_MARGIN_NS) & (own.event != "handoff_start") & own.session.notna()]
    return int(confirmed.session.iloc[-1]) if len(confirmed) else -1
