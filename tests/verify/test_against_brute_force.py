"""The verifier and the slow judge agree, on traces that are right, nearly right, and nonsense.

Model     a small reference run: messages are numbered by one sequencer in the order of their broadcasts, and each member
          delivers in that order, late and with gaps; then somebody removes, repeats, moves or renames events
Source    ours: DESIGN.md §8
"""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mobilenet.record import EventLog
from mobilenet.verify.broadcast import BroadcastJudge, given_up

from . import brute
from .brute import Row

HOSTS = ("h0", "h1", "h2", "h3")


def columns(rows: list[Row]) -> dict[str, list[Any]]:
    log = EventLog()
    for time, (host, event, message) in enumerate(rows):
        log.add(time, host, event, message)
    return {name: getattr(log, name) for name in EventLog.COLUMNS}


def verified(rows: list[Row], gaps_allowed: bool) -> set[str]:
    judge = BroadcastJudge(columns(rows), 0.0 if gaps_allowed else None, 0.0)
    judge.judge()
    return set(judge.violations) | ({"delivery"} if next(judge.undelivered(), None) else set())


@st.composite
def runs(draw: st.DrawFn, gaps: bool) -> list[Row]:
    """A trace that keeps every promise, but for what members have not delivered yet when it is cut."""
    rows: list[Row] = []
    stream: list[str] = []  # in the order of their broadcasts; a message that is given up never gets in
    position: dict[str, int] = {}  # members: what they deliver next
    numbers = dict.fromkeys(HOSTS, 0)
    waiting: dict[str, list[str]] = {host: [] for host in HOSTS}  # broadcast, not in the stream yet
    done: dict[str, set[str]] = {host: set() for host in HOSTS}
    kinds = ("join", "leave", "broadcast", "broadcast", "send", "deliver", "deliver", "deliver", "catch up", "gap")
    for host, kind in draw(st.lists(st.tuples(st.sampled_from(HOSTS), st.sampled_from(kinds)), max_size=45)):
        is_in = host in position
        if kind == "join" and not is_in:
            position[host] = len(stream)
            rows.append((host, "join", None))
        elif not is_in:
            continue
        elif kind == "leave" and not waiting[host]:
            del position[host]
            rows.append((host, "leave", None))
        elif kind == "broadcast":
            waiting[host].append(f"{host}:{numbers[host]}")
            rows.append((host, "broadcast", waiting[host][-1]))
            numbers[host] += 1
        elif kind == "send" and waiting[host]:
            stream.append(waiting[host].pop(0))
        elif kind == "gap" and gaps:
            waiting[host].clear()
            position[host] = len(stream)
            rows.append((host, "gap", None))
        elif kind in ("deliver", "catch up"):
            while position[host] < len(stream):
                message = stream[position[host]]
                position[host] += 1
                if message not in done[host]:
                    done[host].add(message)
                    rows.append((host, "deliver", message))
                if kind == "deliver":
                    break
    if draw(st.booleans()):  # let everything arrive
        for host in HOSTS:
            stream += waiting[host]
        for host, start in sorted(position.items()):
            rows += [(host, "deliver", message) for message in stream[start:] if message not in done[host]]
    return rows


@st.composite
def damaged(draw: st.DrawFn, gaps: bool) -> list[Row]:
    """The same with a few events removed, repeated, moved, renamed, or inserted."""
    rows = draw(runs(gaps))
    for _ in range(draw(st.integers(1, 3))):
        if not rows:
            break
        at, to = draw(st.integers(0, len(rows) - 1)), draw(st.integers(0, len(rows) - 1))
        how = draw(st.sampled_from(("remove", "repeat", "move", "other host", "other message", "insert")))
        host, event, message = rows[at]
        if how == "remove":
            del rows[at]
        elif how == "repeat":
            rows.insert(to, rows[at])
        elif how == "move":
            rows.insert(to, rows.pop(at))
        elif how == "other host":
            rows[at] = (draw(st.sampled_from(HOSTS)), event, message)
        elif how == "other message" and message is not None:
            rows[at] = (host, event, f"{draw(st.sampled_from(HOSTS))}:{draw(st.integers(0, 3))}")
        elif how == "insert":
            rows.insert(to, (host, draw(st.sampled_from(("join", "leave", "crash", "recover", "gap"))), None))
    return rows


@st.composite
def nonsense(draw: st.DrawFn) -> list[Row]:
    """Any events at all, with messages that often fit."""
    rows: list[Row] = []
    names = st.builds("{}:{}".format, st.sampled_from(HOSTS[:3]), st.integers(0, 2))
    events = ("join", "join", "leave", "broadcast", "broadcast", "deliver", "deliver", "deliver", "gap", "crash", "recover")
    for host, event, name in draw(st.lists(st.tuples(st.sampled_from(HOSTS[:3]), st.sampled_from(events), names), max_size=25)):
        rows.append((host, event, name if event in ("broadcast", "deliver") else None))
    return rows


@settings(max_examples=1500)
@given(st.booleans().flatmap(lambda gaps: st.tuples(st.just(gaps), runs(gaps))))
def test_what_keeps_its_promises_is_valid(case: tuple[bool, list[Row]]) -> None:
    gaps, rows = case
    found = verified(rows, gaps)
    assert found == brute.judge(rows, gaps)
    assert found <= {"delivery"}


@settings(max_examples=2500)
@given(st.booleans(), st.booleans().flatmap(damaged))
@example(False, [("h0", "join", None), ("h0", "broadcast", "h0:0"), ("h0", "broadcast", "h0:1"), ("h0", "deliver", "h0:1"),
                 ("h0", "deliver", "h0:0")])
def test_both_judges_say_the_same_of_damaged_runs(gaps: bool, rows: list[Row]) -> None:
    assert verified(rows, gaps) == brute.judge(rows, gaps)


@settings(max_examples=1500)
@given(st.booleans(), nonsense())
def test_both_judges_say_the_same_of_nonsense(gaps: bool, rows: list[Row]) -> None:
    assert verified(rows, gaps) == brute.judge(rows, gaps)


def test_given_up_is_what_nobody_delivered_before_a_gap_of_its_sender() -> None:
    rows: list[Row] = [
        ("h0", "broadcast", "h0:0"), ("h0", "broadcast", "h0:1"), ("h1", "broadcast", "h1:0"), ("h0", "gap", None),
        ("h0", "broadcast", "h0:2"), ("h1", "deliver", "h0:1"),
    ]  # fmt: skip
    assert given_up(columns(rows)) == {"h0:0"}
