"""Tests of the two ways of checking a trace. Screening whole columns must find the same problem, and print the same
message, as examining each event.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobilenet.api import manifest_of, simulate
from mobilenet.lab.hunt.swarm.campaign import record_adversary
from mobilenet.lab.hunt.swarm.schedule import FLAVOURS, draw
from mobilenet.record.reader import read_columns, read_json, read_manifest
from mobilenet.record.recorder import EventLog
from mobilenet.record.schema import COLUMNS
from mobilenet.record.table import Table
from mobilenet.scenario import AnyScenario, ProcessScenario, Scenario
from mobilenet.verify import Evidence, verify
from mobilenet.verify.among_processes.column_screen import ScreenedProcesses
from mobilenet.verify.broadcasts.column_screen import ScreenedBroadcast, judge_events
from mobilenet.verify.broadcasts.judge import SAFETY, BroadcastJudge
from mobilenet.verify.declarations import require_scenario

from .damage import SCENARIO
from .test_against_brute_force import KINDS, columns

Record = tuple[dict[str, dict[str, list[Any]]], dict[str, Any], dict[str, Any]]
ASKED = frozenset((*SAFETY, "delivery"))


def compare(kind: str, seed: int, gaps: bool, asked: frozenset[str]) -> bool:
    """Check that both kinds of checks agree on the trace, and return whether screening accepted it."""
    events = columns(KINDS[kind](Random(seed), gaps), gaps)
    gap_after_s = 0.0 if gaps else None
    reference = BroadcastJudge(events, gap_after_s, 0.0)
    reference.judge()
    judge = judge_events(Table.of(events), gap_after_s, 0.0, asked)
    violations = {check: what for check, what in reference.violations.items() if check in asked}
    assert {check: what for check, what in judge.violations.items() if check in asked} == violations
    if "delivery" in asked:
        assert next(judge.missing_deliveries(), None) == next(reference.missing_deliveries(), None)
    assert judge.deliveries == reference.deliveries
    return isinstance(judge, ScreenedBroadcast)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_quick_and_full_checks_agree_on_drawn_traces(kind: str, gaps: bool) -> None:
    passed = Counter(compare(kind, seed, gaps, ASKED) for seed in range(600))
    assert passed[True] > (200 if kind == "sound" else 20 if kind == "damaged" else 0)
    assert passed[False] > 50


@settings(max_examples=400)
@given(st.sampled_from(sorted(KINDS)), st.integers(0, 2**63), st.booleans(), st.sets(st.sampled_from(sorted(ASKED))))
def test_quick_and_full_checks_agree_on_any_trace_and_question(
    kind: str, seed: int, gaps: bool, asked: set[str]
) -> None:
    compare(kind, seed, gaps, frozenset(asked | {"creation", "duplication", "membership"}))


def test_the_quick_check_accepts_exactly_the_correct_traces() -> None:
    for seed in range(300):
        events = columns(KINDS["sound"](Random(seed), False), False)
        reference = BroadcastJudge(events, None, 0.0)
        reference.judge()
        complete = not reference.violations and next(reference.missing_deliveries(), None) is None
        assert ScreenedBroadcast(Table.of(events), None, 0.0, ASKED).passes() == complete


# --- whole records


def record_of(scenario: AnyScenario) -> Record:
    outcome = simulate(scenario)
    recording = outcome.recording
    facts = manifest_of(scenario, outcome, 0.0, "")
    tables = {
        "events": recording.events.columns(), "samples": recording.samples.lists,
        "positions": recording.positions.lists,
    }  # fmt: skip
    return tables, recording.document(), facts


PROCESSES = {
    "bundling": "processes: 16\ndetector: {interval: 30, timeout: 4}\n"
    "protocol: {name: best_effort, max_delay: 2}\nfaults: [{process: p3, at: 2}]\n",
    "reliable": "processes: 8\nprotocol: {name: reliable}\nworkload: {messages: 3}\n",
    "causal": "processes: 8\nnetwork: {kind: packet}\ndetector: null\nprotocol: {name: causal}\n"
    "workload: {messages: 2}\n",
}


def judged_both_ways(record: Record, expected: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the answers of the verifier, and check that they are the same with and without screening."""
    verdicts = verify(Evidence.of_columns(*record, expected))
    with monkeypatch.context() as patch:
        patch.setattr(ScreenedBroadcast, "passes", lambda _: False)
        patch.setattr(ScreenedProcesses, "passes", lambda _: False)
        assert verify(Evidence.of_columns(*record, expected)) == verdicts
    return {check: verdict.answer for check, verdict in verdicts.items()}


def damage(draws: Random, record: Record) -> Record:
    """Remove, repeat or move a few events or samples, or copy a value from another row of the same kind into them."""
    tables, counters, facts = record
    tables = {name: {column: list(cells) for column, cells in table.items()} for name, table in tables.items()}
    for _ in range(draws.choice((1, 1, 2, 4))):
        name = "events" if draws.random() < 0.8 else "samples"
        table, kind = tables[name], "event" if name == "events" else "quantity"
        rows = len(table["node"])
        if not rows:
            continue
        at, to = draws.randrange(rows), draws.randrange(rows)
        how = draws.choice(("remove", "repeat", "move", "value", "value"))
        if how in ("remove", "move"):
            row = {column: cells.pop(at) for column, cells in table.items()}
        if how == "repeat":
            row = {column: cells[at] for column, cells in table.items()}
        if how in ("move", "repeat"):
            time = table["time_ns"][to - 1] if table["time_ns"] else 0
            for column, cells in table.items():
                cells.insert(to, time if column == "time_ns" and draws.random() < 0.9 else row[column])
        if how == "value":
            alike = [other for other, of in enumerate(table[kind]) if of == table[kind][at]]
            column = draws.choice(sorted({*table} - {kind}))
            table[column][at] = table[column][draws.choice(alike)]
    return tables, counters, facts


@pytest.mark.parametrize("name", PROCESSES)
def test_quick_and_full_checks_agree_on_records_of_processes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    record = record_of(ProcessScenario.from_text(PROCESSES[name]))
    assert set(judged_both_ways(record, None, monkeypatch).values()) <= {"valid", "unknown"}
    counts = Counter[tuple[str, str]]()
    for seed in range(150):
        counts.update(judged_both_ways(damage(Random(seed), record), None, monkeypatch).items())
    assert counts["creation", "violated"] > 2, counts
    assert counts["agreement", "violated"] + counts["order", "violated"] > 1, counts


def test_quick_and_full_checks_agree_on_records_of_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = Scenario.from_text(SCENARIO)
    record = record_of(scenario)
    from mobilenet.scenario.plans.hosts import expectations

    expects = expectations(scenario)
    assert set(judged_both_ways(record, expects, monkeypatch).values()) == {"valid"}
    counts = Counter[tuple[str, str]]()
    for seed in range(250):
        counts.update(judged_both_ways(damage(Random(seed), record), expects, monkeypatch).items())
    for check in ("creation", "membership", "causal_order", "delivery"):
        assert counts[check, "violated"] > 1, counts


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.sampled_from(sorted(FLAVOURS)), st.integers(0, 2**32))
def test_quick_and_full_checks_agree_on_swarm_runs(
    tmp_path_factory: pytest.TempPathFactory, seed: int, flavour: str, damage_seed: int
) -> None:
    folder = tmp_path_factory.mktemp("swarm")
    record_adversary(draw(seed, flavour), folder)
    manifest = read_manifest(folder)
    tables = {name: read_columns(folder, name) for name in ("events", "samples", "positions")}
    record = tables, read_json(folder, "counters.json"), manifest
    with pytest.MonkeyPatch.context() as patch:
        expects = require_scenario(folder, manifest)
        judged_both_ways(record, expects, patch)
        judged_both_ways(damage(Random(damage_seed), record), expects, patch)


def test_only_the_first_causal_violation_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every message overtakes all earlier messages. An earlier version took time quadratic in the number of
    deliveries.
    """
    log = EventLog()
    log.add(0, "h0", "join")
    log.add(0, "h1", "join")
    for number in range(300):
        log.add(1 + number, "h0", "broadcast", f"h0:{number}")
    for number in reversed(range(300)):
        log.add(1000, "h1", "deliver", f"h0:{number}")
    explained = []
    overtaken = BroadcastJudge._overtaken
    monkeypatch.setattr(
        BroadcastJudge, "_overtaken", lambda *arguments: explained.append(arguments) or overtaken(*arguments)
    )
    judge = judge_events(Table.of(log.columns()), None, 0.0, ASKED)
    assert set(judge.violations) == {"causal_order"}
    assert len(explained) == 1


# --- the table under them


def fingerprint_by_rows(columns: dict[str, list[Any]]) -> str:
    """Compute the fingerprint as docs/run-directory.md defines it, value by value."""
    import hashlib
    import struct

    digest = hashlib.sha256()
    for name in COLUMNS["events"]:
        values = columns[name]
        digest.update(f"{name}:{len(values)};".encode())
        for value in values:
            if name == "time_ns":
                digest.update(struct.pack("<q", value))
            elif value is None:
                digest.update(b"\x00")
            elif isinstance(value, int):
                digest.update(b"\x01" + struct.pack("<q", value))
            else:
                digest.update(b"\x02" + struct.pack("<I", len(value.encode())) + value.encode())
    return digest.hexdigest()


texts = st.one_of(st.none(), st.sampled_from(("h1", "h2:3", "", "ä")), st.text("ab\0é", max_size=3))
rows = st.lists(
    st.tuples(
        st.integers(-(2**63), 2**63 - 1), st.text("hs12", max_size=2), st.text("ab", max_size=2), texts, texts,
        st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), texts,
    ), max_size=30,
)  # fmt: skip


@given(rows)
def test_a_table_of_columns_equals_its_original_rows(
    tmp_path_factory: pytest.TempPathFactory, table_rows: list[Any]
) -> None:
    from mobilenet.record.reader import read_coded

    lists = {name: [row[i] for row in table_rows] for i, name in enumerate(COLUMNS["events"])}
    folder = tmp_path_factory.mktemp("table")
    Table.of(lists).write(folder / "events.parquet")
    for table in (Table.of(lists), read_coded(folder, "events")):
        assert table.fingerprint() == fingerprint_by_rows(lists)
        for name, column in lists.items():
            codes, words = table.column(name) if name != "time_ns" else (None, [])
            if codes is None:
                assert table.numbers(name).tolist() == column
            else:
                assert [None if code < 0 else words[code] for code in codes.tolist()] == column
            assert table.pick(name, table.column("node").codes.argsort()[:0]) == []
        assert {name: list(table[name]) for name in table} == lists
    assert json.dumps(read_columns(folder, "events")) == json.dumps(lists)
