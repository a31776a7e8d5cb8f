"""Checks of what the mobile causal broadcast promises beyond causal order: sessions, silences and forgotten hosts.

Checks    sessions are as in verify/broadcasts/conduct.py
          if a station gives up on a silent host, the messages that the host broadcast during the silence were not
          delivered by other hosts during it
          a station checks its hosts periodically. At the first check after T, it gives up on the hosts that were with
          it when last heard. It does not give up on a host twice unless the host was heard in between
          a station gives up on its host that is down for longer than T and one period. A host that was given up on has
          a gap by the end of the first handoff that begins later, unless it leaves first
          a station does not give up on a host that, when last heard, was with another station and not on its way to
          this one
          a station forgets a host completely no sooner than stub_lifetime_s after it could give up on the host
Model     only the station with which a host is confirmed hears the host, because no other station accepts its messages.
          A message that the host broadcasts during a silence, and that another host delivers during it, must have
          reached that station, unless the host opened a new session meanwhile, left or crashed. A station serves a
          member if it has confirmed the member's session, or if the member has opened a session with it since. No event
          shows with which station a host is while it asks to join
Units     integer nanoseconds
Source    ours: docs/protocols/mobile-causal.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np

from mobilenet.engine.clock import SECOND, ns
from mobilenet.record.table import Table
from mobilenet.verify.broadcasts.conduct import conduct_problem
from mobilenet.verify.broadcasts.exemptions import forgotten_rows
from mobilenet.verify.broadcasts.silence import MARGIN_NS
from mobilenet.verify.check import Check
from mobilenet.verify.evidence import Evidence

from .parameters import LOOKS

CONFIRMS = ("join", "handoff_end")
ENDS = ("handoff_start", "leave", "crash", "recover", "gap")


def _gives_up(run: Evidence) -> bool:
    """Return whether stations give up on silent hosts."""
    return run.promises["gap_after_s"] is not None


def _silences(run: Evidence) -> str | None:
    """Return the first error about silent hosts: a station gave up wrongly, too late or never, or a gap is missing."""
    table, expected = run.events, run.of_hosts
    assert expected is not None
    after_ns = round(run.promises["gap_after_s"] * SECOND)
    every_ns = ns(run.promises["gap_after_s"] / LOOKS)
    if expected.hosts is not None and expected.in_the_air_ns is not None:
        longest_ns = after_ns + every_ns + 2 * expected.in_the_air_ns + MARGIN_NS
        if (problem := _down_problem(table, longest_ns, run.end_ns)) is not None:
            return problem
    expired = table.column("event").rows("expire")
    if not len(expired):
        return None
    return (
        _missing_gap_problem(table)
        or _late_problem(table, expired, every_ns, after_ns)
        or _stranger_problem(table, expired)
        or _contradiction(table, expired)
    )


def _early_forgetting(run: Evidence) -> str | None:
    """Return the first host that was forgotten before any station was allowed to forget it."""
    assert run.of_hosts is not None and run.of_hosts.protocol is not None
    events, forgotten = run.events, forgotten_rows(run.events)
    lifetime_s = run.of_hosts.protocol.parameters.stub_lifetime_s
    due_ns: dict[str, int] = {}  # host that was given up on -> the earliest time at which it may be forgotten
    for row in sorted({*forgotten, *events.column("event").rows("expire").tolist()}):
        now_ns, node = events["time_ns"][row], events["node"][row]
        if row not in forgotten:
            detail = json.loads(events["detail"][row])
            wait_s = run.promises["gap_after_s"] + (lifetime_s or 0) - detail["silent_s"]
            due_ns[detail["host"]] = now_ns + round(wait_s * SECOND)
            continue
        if lifetime_s is None:
            why = "stations never forget a host"
        elif node not in due_ns:
            why = "no station gave up on it"
        elif now_ns < due_ns[node] - MARGIN_NS:
            why = f"it could not be forgotten before {due_ns[node] / SECOND:.6f} s"
        else:
            continue
        return (
            f"at {now_ns / SECOND:.6f} s (event {row}): {node} has a gap because no station knew it any more, but {why}"
        )
    return None


def _contradiction(table: Table, expired: np.ndarray) -> str | None:
    """Return the first message of a silent host that other hosts delivered during the silence, as an error."""
    first_ns, sent, times = _first_deliveries(table), _broadcasts(table), table.numbers("time_ns")
    confirmed = _confirmed_spans(table)
    for row, station, text in zip(
        expired.tolist(), table.pick("node", expired), table.pick("detail", expired), strict=True
    ):
        detail = json.loads(text)
        host, now_ns = detail["host"], int(times[row])
        since_ns = now_ns - round(detail["silent_s"] * SECOND)
        spans = confirmed.get(host, [])
        if not any(with_ == station and begin < since_ns and now_ns <= end for begin, end, with_ in spans):
            continue
        for message, sent_ns in sent.get(host, []):
            if since_ns < sent_ns and first_ns.get(message, now_ns) < now_ns:
                return (
                    f"at {now_ns / SECOND:.6f} s (event {row}): {station} gives up on {host} after"
                    f" {detail['silent_s']:.3f} s of silence, but {message}, broadcast at {sent_ns / SECOND:.6f} s, was"
                    f" delivered at {first_ns[message] / SECOND:.6f} s"
                )
    return None


def _down_problem(events: Table, longest_ns: int, end_ns: int) -> str | None:
    """Return the first host on which its station did not give up, although the host was down for long enough."""
    rows = events.column("event").rows("join", "handoff_start", "handoff_end", "leave", "crash", "recover", "expire")
    columns = (events.pick(name, rows) for name in ("time_ns", "node", "event", "station", "detail"))
    # for each host that is up: when its session began, and which station confirmed it
    session: dict[str, tuple[int, str | None]] = {}
    # host that crashed at its station -> (beginning of its session, crash, station)
    down: dict[str, tuple[int, int, str]] = {}
    given_up: dict[tuple[str, str], int] = {}  # (station, host) -> when the station last gave up on the host
    for now_ns, node, event, station, text in chain(zip(*columns, strict=True), _recover(down, end_ns)):
        if event == "expire":
            given_up[node, json.loads(text)["host"]] = now_ns
        elif event == "handoff_start":
            session[node] = now_ns, None
        elif event in CONFIRMS:
            session[node] = (0 if event == "join" else session.get(node, (0, None))[0]), station
        elif event == "crash":
            since_ns, with_ = session.pop(node, (0, None))
            if with_ is not None:
                down[node] = since_ns, now_ns, with_
        elif event == "recover" and node in down:
            since_ns, crashed_ns, with_ = down.pop(node)
            if now_ns - crashed_ns > longest_ns and given_up.get((with_, node), -1) < since_ns:
                return (
                    f"{node} is down from {crashed_ns / SECOND:.6f} to {now_ns / SECOND:.6f} s, but {with_}, which"
                    " served it, does not give up on it"
                )
        else:
            session.pop(node, None)
    return None


def _recover(down: Iterable[str], end_ns: int) -> Iterator[tuple[int, str, str, None, None]]:
    """Yield a recovery for each host that is still down when the run ends."""
    for host in [*down]:
        yield end_ns, host, "recover", None, None


def _missing_gap_problem(events: Table) -> str | None:
    """Return the first host that was given up on and had no gap by the end of its next handoff."""
    rows = events.column("event").rows("join", "handoff_start", "handoff_end", "leave", "gap", "expire")
    columns = (events.pick(name, rows) for name in ("time_ns", "node", "event", "station", "detail"))
    members: set[str] = set()
    owed: dict[str, tuple[int, str]] = {}  # host -> when it was given up on, and by which station
    begun: dict[str, int] = {}  # host -> when its last handoff began
    ended: dict[str, tuple[int, str]] = {}  # host -> (end of a handoff, report that its gap is missing)
    for now_ns, node, event, station, text in chain(zip(*columns, strict=True), [(1 << 62, "", "end", None, None)]):
        for ended_ns, why in ended.values():
            if ended_ns < now_ns:
                return why
        if event == "expire":
            host = json.loads(text)["host"]
            if host in members:
                owed.setdefault(host, (now_ns, node))
        elif event == "handoff_start":
            begun[node] = now_ns
        elif event == "handoff_end" and node in owed and begun.get(node, -1) > owed[node][0]:
            given_up_ns, by = owed[node]
            ended[node] = (
                now_ns,
                f"at {now_ns / SECOND:.6f} s: {node} ends a handoff with {station} and has no gap, although {by} gave"
                f" up on it at {given_up_ns / SECOND:.6f} s",
            )
        elif event in ("gap", "leave"):
            owed.pop(node, None)
            ended.pop(node, None)
        if event == "join":
            members.add(node)
        elif event == "leave":
            members.discard(node)
    return None


def _stranger_problem(events: Table, expired: np.ndarray) -> str | None:
    """Return the first host that the wrong station gave up on: when last heard, the host was neither confirmed with it
    nor opening a session with it.
    """
    rows = events.column("event").rows("join", "handoff_start", "handoff_end", "leave")
    columns = (events.pick(name, rows) for name in ("node", "time_ns", "event", "station"))
    history: dict[str, list[tuple[int, str, str | None]]] = {}
    for node, *step in zip(*columns, strict=True):
        history.setdefault(node, []).append(tuple(step))
    columns = (events.pick(name, expired) for name in ("node", "detail", "time_ns"))
    for row, station, text, now_ns in zip(expired.tolist(), *columns, strict=True):
        detail = json.loads(text)
        since_ns = now_ns - round(detail["silent_s"] * SECOND)
        served = _serving_stations(history.get(detail["host"], []), since_ns)
        if served is not None and station not in served:
            return (
                f"at {now_ns / SECOND:.6f} s (event {row}): {station} gives up on {detail['host']}, last heard at"
                f" {since_ns / SECOND:.6f} s, when it was with {' or on its way to '.join(sorted(served))}"
            )
    return None


def _serving_stations(history: list[tuple[int, str, str | None]], since_ns: int) -> set[str] | None:
    """Return the stations that may have served the host at that time. None means any station, because the record does
    not contain sessions of hosts that have not joined yet.
    """
    stations: set[str] | None = None
    for at_ns, event, station in history:
        if event == "handoff_start":
            if stations is not None and station is not None and at_ns <= since_ns + MARGIN_NS:
                stations.add(station)
        elif at_ns <= since_ns - MARGIN_NS:
            stations = {station} if event in CONFIRMS and station is not None else None
    return stations


def _late_problem(events: Table, expired: np.ndarray, every_ns: int, after_ns: int) -> str | None:
    """Return the first silence that was noticed between two checks, or not at the first check after T."""
    confirmed, before = _confirmed_spans(events), dict[tuple[str, str], int]()
    columns = (events.pick(name, expired) for name in ("node", "detail", "time_ns"))
    for row, station, text, now_ns in zip(expired.tolist(), *columns, strict=True):
        detail = json.loads(text)
        host, silent_ns = detail["host"], round(detail["silent_s"] * SECOND)
        since_ns = now_ns - silent_ns
        when = f"at {now_ns / SECOND:.6f} s (event {row}): {station} gives up on {host}"
        if now_ns % every_ns:
            return f"{when}, but it checks only every {every_ns / SECOND:g} s"
        if since_ns < before.get((station, host), 0) - MARGIN_NS:
            return (
                f"{when} again, as at {before[station, host] / SECOND:.6f} s, without having heard from it in between"
            )
        spans = confirmed.get(host, [])
        is_with = any(
            with_ == station and begin < since_ns - MARGIN_NS and since_ns < end for begin, end, with_ in spans
        )
        if is_with and silent_ns > after_ns + every_ns + MARGIN_NS:
            return (
                f"{when} after {detail['silent_s']:.3f} s of silence; it checks every {every_ns / SECOND:g} s, and"
                f" gives up after {after_ns / SECOND:g} s"
            )
        before[station, host] = now_ns
    return None


def _first_deliveries(events: Table) -> dict[str, int]:
    """Return when each message was first delivered by a host other than its source."""
    rows = events.column("event").rows("deliver")
    first_ns: dict[str, int] = {}
    columns = (events.pick(name, rows) for name in ("node", "message", "time_ns"))
    for node, message, now_ns in zip(*columns, strict=True):
        if message not in first_ns and message.rpartition(":")[0] != node:
            first_ns[message] = now_ns
    return first_ns


def _broadcasts(events: Table) -> dict[str, list[tuple[str, int]]]:
    rows = events.column("event").rows("broadcast")
    broadcasts: dict[str, list[tuple[str, int]]] = {}
    columns = (events.pick(name, rows) for name in ("node", "message", "time_ns"))
    for node, message, now_ns in zip(*columns, strict=True):
        broadcasts.setdefault(node, []).append((message, now_ns))
    return broadcasts


def _confirmed_spans(events: Table) -> dict[str, list[tuple[int, int, str]]]:
    """Return the intervals during which each host was certainly with a station."""
    rows = events.column("event").rows(*CONFIRMS, *ENDS)
    spans_of: dict[str, list[tuple[int, int, str]]] = {}
    columns = (events.pick(name, rows) for name in ("event", "node", "station", "time_ns"))
    for event, node, station, now_ns in zip(*columns, strict=True):
        spans = spans_of.setdefault(node, [])
        if spans and spans[-1][1] == 2**62:
            spans[-1] = spans[-1][0], now_ns, spans[-1][2]
        if event in CONFIRMS and station is not None:
            spans.append((now_ns, 2**62, station))
    return spans_of


CHECKS = (
    Check(
        "membership",
        "Sessions have consecutive numbers, a handoff ends with the station that it began with, and a host delivers"
        " only while it is with its station.",
        lambda run: conduct_problem(run.events, only_connected=True),
    ),
    Check(
        "gaps", "A host is forgotten only `stub_lifetime_s` after its station could give it up.", _early_forgetting,
        _gives_up,
    ),
    Check(
        "gaps", "A host that a station gives up on was silent for as long as the station states.", _silences, _gives_up,
        waits=True,
    ),
)  # fmt: skip
