"""Which part of a run a space-time diagram shows: from when to when, which nodes, which messages.

Model     a window is about one host. It shows every recorded message that the host sends or is sent, and every one
          between stations that names it; of application messages on the wire those that the host delivers within the
          window. Nodes are the host and whoever sends or receives one of these
Units     integer nanoseconds
Shapes    messages: the rows of messages.parquet, in the order of sending, with their row numbers as index
Errors    WindowError: no such handoff, message, crash or host, with what there is
Source    after Lamport, Time, clocks, and the ordering of events in a distributed system (1978), and Figure 5 of
          Wilhelm, Arantes, Sens (2020); the rules are ours: docs/guide/pictures.md
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

SECOND = 1_000_000_000
LEAST_MARGIN_NS = 5_000_000
AROUND_A_MOMENT_NS = 150_000_000  # on either side


class WindowError(Exception):
    """One line for people."""


@dataclass(frozen=True, slots=True)
class Window:
    """A slice of a run."""

    host: str
    begin_ns: int
    end_ns: int
    title: str
    message: str | None = None  # the application message whose way it shows


def window_around(events: pd.DataFrame, what: str, host: str | None = None, margin_s: float | None = None) -> Window:
    """`what`: handoff:N (from 1; of the host, or of the run), message:h3:5, crash:N, or seconds of simulated time."""
    kind, _, argument = what.partition(":")
    if host is not None and host not in set(events.node):
        raise WindowError(f"there is no host {host!r} in this run; hosts are h0, h1, ...")
    if kind == "handoff":
        begin, end, host, title = _handoff(events, argument, host)
    elif kind == "crash":
        begin, end, host, title = _crash(events, argument, host)
    elif kind == "message":
        begin, end, host, title = _message(events, argument, host)
    else:
        begin, end, host, title = _moment(events, what, host)
    last = int(events.time_ns.max())
    margin = (
        max(LEAST_MARGIN_NS, (end - begin) // 5) if margin_s is None else round(min(margin_s, last / SECOND) * SECOND)
    )
    return Window(
        host, max(0, begin - margin), min(end, last) + min(margin, last), title, argument if kind == "message" else None
    )


Place = tuple[int, int, str, str]  # begin, end, host, title


def _numbered(found: pd.DataFrame, argument: str, kind: str, host: str | None) -> int:
    whose = f"of {host}" if host else "in this run"
    plural = {"crash": "crashes"}.get(kind, f"{kind}s")
    if not argument.isdecimal() or not 1 <= int(argument) <= len(found):
        if len(found) > 1:
            there = f"there are {len(found)} {plural} {whose}, counted from 1"
        else:
            there = f"there is one {kind} {whose}: {kind}:1" if len(found) else f"there is none {whose}"
        raise WindowError(f"{kind}:{argument}: no such {kind}; {there}")
    return int(argument) - 1


def handoffs(events: pd.DataFrame) -> pd.DataFrame:
    """One row per session that was begun and confirmed: node, session, begin_ns, end_ns, cause, in order of the
    beginning.
    """
    starts = events[events.event == "handoff_start"][["time_ns", "node", "session", "station", "detail"]]
    ends = events[events.event == "handoff_end"][["time_ns", "node", "session"]]
    both = starts.merge(ends, on=["node", "session"], suffixes=("", "_end"))
    both = both.rename(columns={"time_ns": "begin_ns", "time_ns_end": "end_ns"})
    both["cause"] = both.detail.str.extract(r'"cause": "(\w+)"')[0] if len(both) else pd.Series(dtype=str)
    return both.sort_values(["begin_ns", "node"], ignore_index=True)


def _handoff(events: pd.DataFrame, argument: str, host: str | None) -> Place:
    found = handoffs(events)
    if host is not None:
        found = found[found.node == host].reset_index(drop=True)
    row = found.iloc[_numbered(found, argument, "handoff", host)]
    cause = {"cell": "a new cell", "recovery": "recovery from a crash"}.get(row.cause, row.cause)
    duration_ms = (row.end_ns - row.begin_ns) / 1e6
    title = f"{row.node}: session {int(row.session)} at {row.station}, because of {cause}; {duration_ms:.1f} ms"
    return int(row.begin_ns), int(row.end_ns), row.node, title


def _crash(events: pd.DataFrame, argument: str, host: str | None) -> Place:
    found = events[(events.event == "crash") & (True if host is None else events.node == host)].reset_index(drop=True)
    row = found.iloc[_numbered(found, argument, "crash", host)]
    later = events[(events.node == row.node) & (events.time_ns > row.time_ns)]
    back = later[later.event.isin(["recover", "handoff_end"])].head(2)
    end = int(back.time_ns.max()) if len(back) else int(row.time_ns)
    return int(row.time_ns), end, row.node, f"{row.node} crashes and comes back"


def _message(events: pd.DataFrame, name: str, host: str | None) -> Place:
    own = events[events.message == name]
    sent = own[own.event == "broadcast"]
    if sent.empty:
        raise WindowError(f"message:{name}: there is no such message; messages are h3:0, h3:1, ... of host h3")
    at = int(sent.time_ns.iloc[0])
    others = own[(own.event == "deliver") & (own.node != sent.node.iloc[0])].node
    shown = host or str(others.iloc[-1] if len(others) else sent.node.iloc[0])  # whoever gets it last
    delivered = own[(own.event == "deliver") & (own.node == shown)]
    end = int(delivered.time_ns.iloc[0]) if len(delivered) else at + AROUND_A_MOMENT_NS
    return at, end, shown, f"{name} from its broadcast to {'its delivery at ' + shown if len(delivered) else 'later'}"


def _moment(events: pd.DataFrame, what: str, host: str | None) -> Place:
    try:
        at = round(float(what) * SECOND)  # ValueError for nan
    except (ValueError, OverflowError):
        raise WindowError(f"{what}: expected handoff:N, crash:N, message:h3:5, or seconds of simulated time") from None
    last = int(events.time_ns.max()) if len(events) else 0
    if not 0 <= at <= last:
        raise WindowError(f"{what}: the run lasts from 0 to {last / SECOND:g} s")
    if host is None:
        raise WindowError(f"{what}: whose? Name a host with --host, as in --host h3")
    return max(0, at - AROUND_A_MOMENT_NS), at + AROUND_A_MOMENT_NS, host, f"{host} around {at / SECOND:g} s"


def shown_messages(messages: pd.DataFrame, events: pd.DataFrame, window: Window) -> pd.DataFrame:
    """The rows that the diagram shows."""
    arrives = messages.receive_ns.fillna(messages.send_ns)
    inside = messages[(messages.send_ns <= window.end_ns) & (arrives >= window.begin_ns)]
    host = window.host
    direct = (inside.sender == host) | (inside.receiver == host)
    named = (inside.medium == "wired") & (inside.host == host)
    delivered = events[(events.event == "deliver") & (events.node == host)]
    delivered = delivered[delivered.time_ns.between(window.begin_ns, window.end_ns)]
    carried = (inside.medium == "wired") & inside.host.isna() & inside.message.isin(set(delivered.message))
    heard = set(inside[direct].sender) | set(inside[direct].receiver)
    carried &= inside.sender.isin(heard) & inside.receiver.isin(heard)
    its = inside.message == window.message
    if window.message is not None and its.any():  # all of its way on the wire, and how it got there
        return inside[its & ((inside.medium == "wired") | direct | inside.sender.str.startswith("h"))]
    return inside[direct | named | carried]


def nodes_of(messages: pd.DataFrame, window: Window, events: pd.DataFrame) -> list[str]:
    """From top to bottom: the station it comes from, the host, the station it goes to, the others by number."""
    own = events[(events.node == window.host) & events.event.isin(["join", "handoff_start", "handoff_end"])]
    before = own[(own.time_ns < window.begin_ns + LEAST_MARGIN_NS) & (own.event != "handoff_start")].station.dropna()
    now = own[own.time_ns.between(window.begin_ns, window.end_ns)].station.dropna()
    sessions = _stations_of_sessions(events, window.host)
    old = sessions.get(_last_session(own, window.begin_ns), before.iloc[-1] if len(before) else None)
    others = (set(messages.sender) | set(messages.receiver)) - {window.host}
    new = next((station for station in now if station != old), None)
    top = [old] if old in others else []
    below = [new] if new in others and new != old else []
    rest = sorted(
        others - set(top) - set(below), key=lambda name: (name[0] != "s", int(name[1:]) if name[1:].isdecimal() else 0)
    )
    return [*top, window.host, *below, *rest]


def _stations_of_sessions(events: pd.DataFrame, host: str) -> dict[int, str]:
    opened = events[(events.node == host) & events.event.isin(["join", "handoff_start"]) & events.station.notna()]
    return {int(row.session): row.station for row in opened.itertuples() if row.session == row.session}


def _last_session(own: pd.DataFrame, at_ns: int) -> int:
    confirmed = own[(own.time_ns < at_ns + LEAST_MARGIN_NS) & (own.event != "handoff_start") & own.session.notna()]
    return int(confirmed.session.iloc[-1]) if len(confirmed) else -1
