"""Check the contents of the mobile broadcast's messages against sessions, deliveries and gaps.

Checks    a host has a gap when it has just received an InitAck that announces one, or a Reset, or, while it asks to
          join again, any InitAck; and it has one when the InitAck that ends its handoff announces one
          no gap comes after an acknowledgement by which the station knew that the host has heard of the last one:
          a station must have given up on the host since
          a join or a handoff ends with an InitAck of that session
          a host opens a session because of a Reinit that it has just received
          a host announces that it leaves, asks for a session, or acknowledges in one, when that has begun by the events
          a host names in Init the last session that was confirmed
          a host has delivered in a session what its Init states, and by the time of its AckH at least as much as that
Model     a station announces a gap until the session that it began is acknowledged. A session that was opened after the
          host was given up, and in which an acknowledgement arrived before the next one was opened, leaves no gap to be
          announced. Numbers go on from the `start` of the InitAck that confirmed the session, and skip what it lists;
          the record cuts long lists off, and of such sessions nothing is asked
Units     integer nanoseconds
Errors    none
Source    ours: docs/protocols/mobile-causal.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.quoting import pluralize
from mobilenet.rundir.schema import MOST_LISTED
from mobilenet.rundir.table import Table
from mobilenet.verify.air.messages import Hops

NUMBERS = {"InitAck": ("start",), "Init": ("lc", "nxt"), "AckH": ("nxt",), "Have": ("nxt",), "Reset": ()}
BEGINS = {
    "Leave": ("leave",),
    "Init": ("handoff_start",),
    "AckH": ("join", "handoff_end"),
    "Have": ("join", "handoff_end"),
}
NEVER = 1 << 62
NONE = -1  # no session


class _Answer(NamedTuple):
    """What a host has received from a station."""

    at_ns: int
    station: str
    kind: str
    detail: dict[str, Any]


def session_claims_problem(events: Table, hops: Hops, delay_ns: int) -> tuple[str, str] | None:
    """The first property that is violated, and why; `delay_ns`: the most by which arrivals are handed up later."""
    kinds, details = (hops.table.column(name) for name in ("kind", "detail"))
    for kind, numbers in NUMBERS.items():
        rows = np.flatnonzero(kinds.codes == kinds.code(kind))
        for code in np.unique(details.codes[rows]).tolist():
            detail = json.loads(details.words[code]) if code >= 0 else {}
            skip = detail.get("skip") if kind == "InitAck" else []
            whole = [detail.get(name) for name in numbers] + (skip if isinstance(skip, list) else [None])
            if any(type(number) is not int for number in whole):
                row = int(rows[details.codes[rows] == code][0])
                return "record", f"{hops.words(row)}: {kind} has {detail}, which is impossible"
    claims = _SessionMessages(events, hops, delay_ns)
    if (untold := claims.gap_problem()) is not None:
        return "gaps", untold
    miscounted = claims.reinit_problem() or claims.early_problem() or claims.count_problem()
    return None if miscounted is None else ("record", miscounted)


class _SessionMessages:
    def __init__(self, events: Table, hops: Hops, delay_ns: int) -> None:
        self._events, self._hops, self._delay_ns = events, hops, delay_ns
        self._answers: dict[tuple[str, int], list[_Answer]] = {}  # to a host in a session
        for at_ns, sender, _, host, session, kind, detail in self._rows(("InitAck", "Reset"), True):
            self._answers.setdefault((host, session), []).append(_Answer(at_ns, sender, kind, detail))

    def _rows(self, kinds: tuple[str, ...], received: bool) -> Iterator[tuple[Any, ...]]:
        """Messages of these kinds over the radio: when they were sent or received, by whom, and their content."""
        chosen = self._hops.table.column("kind").among(kinds) & ~self._hops.is_wired
        rows = np.flatnonzero(chosen & self._hops.is_received if received else chosen)
        times = (self._hops.receive_ns if received else self._hops.send_ns)[rows].tolist()
        names = ("sender", "receiver", "host", "session", "kind", "detail")
        columns = [self._hops.table.pick(name, rows) for name in names]
        for at_ns, *values, text in zip(times, *columns, strict=True):
            yield at_ns, *values, json.loads(text or "{}")

    def _of(self, *kinds: str) -> Iterator[tuple[Any, ...]]:
        """Events of these kinds: row, time, who, with which station, in which session, what, detail."""
        rows = self._events.column("event").rows(*kinds)
        names = ("time_ns", "node", "station", "session", "event", "detail")
        return zip(rows.tolist(), *(self._events.pick(name, rows) for name in names), strict=True)

    def _answer(self, node: str, session: int, station: str, now_ns: int) -> _Answer | None:
        """What the host has just received in this session."""
        known = self._answers.get((node, session), ())
        early_ns = now_ns - self._delay_ns
        return next((a for a in known if a.station == station and early_ns <= a.at_ns <= now_ns), None)

    # --- gaps

    def gap_problem(self) -> str | None:
        """The first gap that no station announced."""
        opened: dict[str, list[int]] = {}  # host -> when its sessions were opened
        sessions: dict[str, list[int]] = {}
        anew: set[tuple[str, int]] = set()
        expired: dict[str, list[int]] = {}
        for _, now_ns, node, _, session, _, text in self._of("handoff_start"):
            opened.setdefault(node, []).append(now_ns)
            sessions.setdefault(node, []).append(session)
            if json.loads(text or "{}").get("cause") == "join":
                anew.add((node, session))
        for _, now_ns, _, _, _, _, text in self._of("expire"):
            expired.setdefault(json.loads(text)["host"], []).append(now_ns)
        acknowledged: dict[tuple[str, int], int] = {}  # when a station first received that
        gaps = list(self._of("gap"))
        for at_ns, sender, receiver, _, session, _, detail in self._rows(("AckH", "Have"), True) if gaps else ():
            if receiver == f"s{detail.get('station', receiver[1:])}":  # Have is for the hosts of the cell as well
                acknowledged.setdefault((sender, session), at_ns)
        for row, now_ns, node, station, session, _, _ in gaps:
            when = f"at {now_ns / SECOND:.6f} s (event {row}): {node} has a gap"
            answer = self._answer(node, session, station, now_ns)
            if answer is None:
                return f"{when}, but {station} announced no gap in session {session}"
            if answer.kind == "Reset" or (node, session) in anew:
                continue
            if answer.detail.get("gap") is not True:
                return f"{when}, but the InitAck of {station} in session {session} announces no gap"
            times, given_up = opened.get(node, []), expired.get(node, [])
            given_up_ns = given_up[bisect_right(given_up, now_ns) - 1] if given_up and given_up[0] <= now_ns else -1
            for i in range(bisect_right(times, given_up_ns), bisect_left(times, now_ns) - 1):
                heard_ns = acknowledged.get((node, sessions[node][i]), NEVER)
                if heard_ns + self._delay_ns < times[i + 1]:
                    return (
                        f"{when}, but no station has given up on it since {given_up_ns / SECOND:.6f} s, and a station"
                        f" heard from it in session {sessions[node][i]}, at {heard_ns / SECOND:.6f} s"
                    )
        return self._silent_problem({(node, session, now_ns) for _, now_ns, node, _, session, _, _ in gaps})

    def _silent_problem(self, gaps: set[tuple[str, int, int]]) -> str | None:
        """The first handoff that ends without the gap that its InitAck announces."""
        for row, now_ns, node, station, session, _, _ in self._of("handoff_end"):
            answer = self._answer(node, session, station, now_ns)
            has_gap = answer is not None and answer.kind == "InitAck" and answer.detail.get("gap") is True
            if has_gap and (node, session, now_ns) not in gaps:
                return (
                    f"at {now_ns / SECOND:.6f} s (event {row}): {node} ends a handoff and has no gap, but the InitAck"
                    f" of {station} in session {session} announces one"
                )
        return None

    # --- sessions

    def reinit_problem(self) -> str | None:
        """Return the first session that should follow a Reinit, and does not."""
        reinit_times: dict[str, list[int]] = {}
        for at_ns, _, receiver, *_ in self._rows(("Reinit",), True):
            reinit_times.setdefault(receiver, []).append(at_ns)
        for row, now_ns, node, _, session, _, text in self._of("handoff_start"):
            if json.loads(text or "{}").get("cause") == "reinit":
                early_ns = now_ns - self._delay_ns
                if not any(early_ns <= at_ns <= now_ns for at_ns in reinit_times.get(node, ())):
                    what = f"{node} opens session {session} because of a reinit, but receives no Reinit at that time"
                    return f"events: at {now_ns / SECOND:.6f} s (event {row}): {what}"
        return None

    def early_problem(self) -> str | None:
        """The first message of a session before the event from which on hosts send it."""
        for kind, begins in BEGINS.items():
            since: dict[tuple[str, int], int] = {}
            for _, now_ns, node, _, session, _, _ in self._of(*begins):
                since.setdefault((node, session), now_ns)
            for at_ns, sender, _, _, session, _, _ in self._rows((kind,), False):
                if since.get((sender, session), NEVER) > at_ns:
                    return (
                        f"messages: {sender} sends {kind} of session {session} at {at_ns / SECOND:.6f} s, before its"
                        f" {' or '.join(begins)} in that session"
                    )
        return None

    # --- deliveries

    def count_problem(self) -> str | None:
        """The first message in which a host states another number of deliveries."""
        starts: dict[tuple[str, int], tuple[int, list[int]]] = {}  # of sessions: the first number, those to skip
        confirmed_in: dict[str, list[int]] = {}  # host -> its sessions that were confirmed, in order
        for row, now_ns, node, station, session, event, _ in self._of("join", "handoff_end", "gap"):
            answer = self._answer(node, session, station, now_ns)
            confirmed_in.setdefault(node, []).append(session)
            if event != "gap" and (answer is None or answer.kind != "InitAck"):
                what = f"{node}: {event} in session {session}, but {station} sent it no InitAck in that session"
                return f"events: at {now_ns / SECOND:.6f} s (event {row}): {what}"
            if answer is not None and answer.kind == "InitAck" and len(answer.detail["skip"]) < MOST_LISTED:
                starts[node, session] = answer.detail["start"], answer.detail["skip"]
        delivered: dict[tuple[str, int], list[int]] = {}
        for _, now_ns, node, _, session, _, _ in self._of("deliver"):
            delivered.setdefault((node, session), []).append(now_ns)
        for at_ns, sender, _, _, session, kind, detail in self._rows(("Init", "AckH", "Have"), False):
            confirmed = sender, detail["lc"] if kind == "Init" else session
            before = [each for each in confirmed_in.get(sender, ()) if each < session]
            if kind == "Init" and detail["lc"] != max(before, default=NONE):
                what = f"session {detail['lc']} as the last confirmed one, expected {max(before, default=NONE)}"
                return f"messages: the Init of {sender} in session {session} at {at_ns / SECOND:.6f} s names {what}"
            if confirmed not in starts:
                continue
            start, skip = starts[confirmed]
            due = detail["nxt"] - start - bisect_left(skip, detail["nxt"])
            times = delivered.get(confirmed, [])
            count = len(times) if kind == "Init" else bisect_right(times, at_ns)
            if count < due or kind == "Init" and count != due:
                return (
                    f"messages: {sender} reports in {kind} at {at_ns / SECOND:.6f} s that it delivered"
                    f" {pluralize(due, 'message')} in session {confirmed[1]}, but events has {count}"
                )
        return None
