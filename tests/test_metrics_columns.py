"""Metrics from columns are those from rows, to the last digit, of whole records and of broken ones."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobilenet.metrics import metrics
from mobilenet.metrics.fold import EventFold
from mobilenet.rundir.table import Table
from mobilenet.scenario import ProcessScenario, Scenario
from tests import metrics_by_rows
from tests.verify.damage import SCENARIO
from tests.verify.test_against_brute_force import KINDS, columns
from tests.verify.test_screening import PROCESSES, Record, damage, recorded


def by_rows(record: Record) -> str | None:
    """None: what the verifier refuses need not be measured."""
    events, samples, _, counters, facts = record
    slow = metrics_by_rows.process_metrics if "processes" in facts else metrics_by_rows.mobile_metrics
    try:
        return json.dumps(slow(events, samples, counters, facts))
    except (AttributeError, KeyError, TypeError):
        return None


def by_columns(record: Record) -> str:
    events, samples, _, counters, facts = record
    found = json.dumps(metrics(events, samples, counters, facts))
    assert json.dumps(metrics(Table(events), Table(samples), counters, facts)) == found
    return found


@pytest.mark.parametrize("name", ["hosts", *PROCESSES])
def test_of_records(name: str) -> None:
    text = SCENARIO if name == "hosts" else PROCESSES[name]
    record = recorded(Scenario.from_text(text) if name == "hosts" else ProcessScenario.from_text(text))
    assert by_columns(record) == by_rows(record)
    compared = 0
    for seed in range(200):
        damaged = damage(Random(seed), record)
        if (expected := by_rows(damaged)) is not None:
            assert by_columns(damaged) == expected
            compared += 1
    assert compared > 120


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(KINDS)), st.integers(0, 2**63), st.booleans(), st.integers(0, 40), st.integers(0, 80))
def test_what_is_owed_and_missed(kind: str, seed: int, gaps: bool, begin: int, lasts: int) -> None:
    events: dict[str, list[Any]] = columns(KINDS[kind](Random(seed), gaps), gaps)
    slow = metrics_by_rows.EventFold(begin, begin + lasts).take(events)
    fast = EventFold(events, begin, begin + lasts)
    assert fast.owed() == slow.owed() and fast.how_many_owed() == len(slow.owed())
    assert fast.obliged() == slow.obliged()
    assert fast.missed_by_gaps() == slow.missed_by_gaps()
    assert fast.delays_ns.tolist() == slow.delays_ns
    assert fast.deliveries_inside == slow.deliveries_inside
    assert fast.memberships() == slow.memberships()
    assert fast.counts == slow.counts and fast.breaks == slow.breaks and fast.superseded == slow.superseded
