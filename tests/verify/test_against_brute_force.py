"""Tests that the verifier and a slow oracle agree on traces that are correct, nearly correct, or nonsense.

Model     The traces come from a small model of a protocol. A sequencer puts the messages of all hosts into one stream,
          and each member delivers the messages in the order of this stream, late and with gaps. Then events are
          removed, repeated, moved or renamed.
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobilenet.record.recorder import EventLog
from mobilenet.verify.broadcasts.exemptions import forgotten_rows, messages_given_up
from mobilenet.verify.broadcasts.judge import BroadcastJudge

from . import brute
from .brute import Row

HOSTS = ("h0", "h1", "h2", "h3")
COUNTED = ("creation", "duplication", "membership", "causal_order", "delivery")


def columns(rows: list[Row], gaps_allowed: bool = True) -> dict[str, list[Any]]:
    """Return the columns of an event log for these rows.

    A station reports `expire` for the host before each allowed gap. After a `reset`, the host begins to join again.
    Other tests check whether the station may give up on the host.
    """
    log = EventLog()
    for time, (host, event, message) in enumerate(rows):
        if event in brute.GAPS and gaps_allowed:
            log.add(time, "s0", "expire", detail={"host": host, "silent_s": 0})
        log.add(time, host, "gap" if event == "reset" else event, message)
        if event == "reset":
            log.add(time, host, "handoff_start", detail={"cause": "join"})
    return log.columns()


def verify(rows: list[Row], gaps_allowed: bool) -> set[str]:
    judge = BroadcastJudge(columns(rows, gaps_allowed), 0.0 if gaps_allowed else None, 0.0)
    judge.judge()
    return set(judge.violations) | ({"delivery"} if next(judge.missing_deliveries(), None) else set())


def sound(draws: Random, gaps: bool) -> list[Row]:
    """Draw a trace that keeps every promise. Some deliveries may still be outstanding when the trace ends."""
    rows: list[Row] = []
    stream: list[str] = []  # messages in the order of the sequencer, except those that were abandoned
    position: dict[str, int] = {}  # member -> index in `stream` of its next delivery
    numbers = dict.fromkeys(HOSTS, 0)
    # host -> messages that were broadcast, but are not yet in the stream
    waiting: dict[str, list[str]] = {host: [] for host in HOSTS}
    done: dict[str, set[str]] = {host: set() for host in HOSTS}
    weights = {
        "join": 2,
        "leave": 0.5,
        "broadcast": 3,
        "send": 4,
        "deliver": 5,
        "catch up": 2,
        "gap": 0.3 * gaps,
        "reset": 0.3 * gaps,
    }
    for _ in range(draws.randrange(5, 90)):
        host, (kind,) = draws.choice(HOSTS), draws.choices(list(weights), list(weights.values()))
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
        elif kind in brute.GAPS:
            if kind == "reset":
                waiting[host].clear()
            position[host] = len(stream)
            rows.append((host, kind, None))
        elif kind in ("deliver", "catch up"):
            while position[host] < len(stream):
                message = stream[position[host]]
                position[host] += 1
                if message not in done[host]:
                    done[host].add(message)
                    rows.append((host, "deliver", message))
                if kind == "deliver":
                    break
    if draws.random() < 0.7:  # In most traces, all messages arrive.
        for host in HOSTS:
            stream += waiting[host]
        for host, start in sorted(position.items()):
            rows += [(host, "deliver", message) for message in stream[start:] if message not in done[host]]
    return rows


def damage(draws: Random, gaps: bool) -> list[Row]:
    """Remove, repeat, move, rename or insert a few events."""
    rows = sound(draws, gaps)
    for _ in range(draws.choice((1, 1, 2, 3))):
        if not rows:
            break
        at, to = draws.randrange(len(rows)), draws.randrange(len(rows))
        host, event, message = rows[at]
        how = draws.choice(("remove", "remove", "repeat", "move", "move", "other host", "other message", "insert"))
        if how == "remove":
            del rows[at]
        elif how == "repeat":
            rows.insert(to, rows[at])
        elif how == "move":
            rows.insert(to, rows.pop(at))
        elif how == "other host":
            rows[at] = (draws.choice(HOSTS), event, message)
        elif how == "other message" and message is not None:
            rows[at] = (host, event, f"{draws.choice(HOSTS)}:{draws.randrange(4)}")
        elif how == "insert":
            rows.insert(to, (host, draws.choice(("join", "leave", "crash", "recover", "gap", "reset")), None))
    return rows


def nonsense(draws: Random, gaps: bool) -> list[Row]:
    """Draw a trace in which members broadcast in order and deliver any message at any time, with a few impossible
    events.
    """
    hosts = HOSTS[:3]
    rows: list[Row] = [(host, "join", None) for host in hosts]
    numbers = dict.fromkeys(hosts, 0)
    events = ("broadcast",) * 4 + ("deliver",) * 9 + ("leave", "join", "gap", "reset", "crash", "recover")
    for _ in range(draws.randrange(30)):
        host, event = draws.choice(hosts), draws.choice(events)
        name = None
        if event == "broadcast":
            name = f"{host}:{numbers[host]}"
            numbers[host] += draws.random() < 0.95
        elif event == "deliver":
            name = f"{draws.choice(hosts)}:{draws.randrange(3)}"
        if event not in ("crash", *brute.GAPS) or draws.random() < 0.3:
            rows.append((host, event, name))
    return rows


KINDS = {"sound": sound, "damaged": damage, "nonsense": nonsense}


def violated_checks(kind: str, seed: int, gaps: bool) -> set[str]:
    rows = KINDS[kind](Random(seed), gaps)
    violations = verify(rows, gaps)
    assert violations == brute.judge(rows, gaps), rows
    return violations


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_verifier_and_brute_force_judge_agree(kind: str, gaps: bool) -> None:
    counts = Counter(check for seed in range(500) for check in violated_checks(kind, seed, gaps) or {"valid"})
    assert set(counts) == {"valid", "delivery"} if kind == "sound" else min(counts[check] for check in COUNTED) > 10, (
        counts
    )


@settings(max_examples=500)
@given(st.sampled_from(sorted(KINDS)), st.integers(0, 2**63), st.booleans())
def test_verifier_and_brute_force_judge_agree_on_any_trace(kind: str, seed: int, gaps: bool) -> None:
    violated_checks(kind, seed, gaps)


def test_messages_undelivered_when_forgotten_are_given_up() -> None:
    rows: list[Row] = [
        ("h0", "broadcast", "h0:0"), ("h0", "broadcast", "h0:1"), ("h0", "broadcast", "h0:2"),
        ("h1", "broadcast", "h1:0"),
        ("h0", "reset", None), ("h0", "broadcast", "h0:3"), ("h1", "deliver", "h0:1"), ("h0", "gap", None),
        ("h0", "handoff_start", None),
    ]  # fmt: skip
    events = columns(rows)
    assert messages_given_up(events, forgotten_rows(events)) == {"h0:2"}
