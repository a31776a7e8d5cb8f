"""Tests that mobilenet and the slow oracle agree on the section Handoffs of docs/models/causes.md."""

from __future__ import annotations

from pathlib import Path

import pytest

import mobilenet
from mobilenet.cli.interruptions import interrupting_handoffs
from mobilenet.scenario import load_scenario
from mobilenet.why.handoffs import Interruptions
from mobilenet.why.stories import recorded_stories
from tests.conftest import SCENARIOS
from tests.why.handoff_oracle import Key, interruptions
from tests.why.oracle import Stretch, join

SHORT = ["duration_s=25", "warmup_s=5", "record.causes=true"]
RUNS: dict[str, tuple[str, ...]] = {  # scenario -> additional overrides
    "dynamic.yaml": ("duration_s=18",),
    "churn.yaml": (),
    "town.yaml": (),
    "faults.yaml": (),
    "tcp_dynamic.yaml": (),
    "vcube/dynamic_on_vcube.yaml": ("duration_s=18",),
    # A handoff ends and the next one begins before the next tick.
    "dynamic.yaml with short ticks": ("seed=4", "wireless.loss=0.1", "hosts.attachment.tick_ms=50"),
    # Timers send a segment while the previous one is in the queue or on the air.
    "tcp_dynamic.yaml with losses": ("seed=7", "wireless.loss=0.5", "warmup_s=1"),
}


LONG = (
    "dynamic.yaml",
    "town.yaml",
    "tcp_dynamic.yaml",
    "tcp_dynamic.yaml with losses",
    "dynamic.yaml with short ticks",
)


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.long) if n in LONG else n for n in RUNS])
def test_independent_accounts_of_interruptions_agree(name: str, tmp_path: Path) -> None:
    scenario = SCENARIOS / name.partition(" ")[0]
    run = mobilenet.run(scenario, out=tmp_path / "run", overrides=[*SHORT, *RUNS[name]]).path
    ours, second = own(run), interruptions(run)
    assert ours.keys() == second.keys() and ours
    differing = {f"{key.host}:{key.session}": only(ours[key], second[key]) for key in ours if ours[key] != second[key]}
    assert not differing, f"{len(differing)} of {len(ours)} interruptions"


def own(run: Path) -> dict[Key, list[Stretch]]:
    walk = Interruptions(recorded_stories(run), load_scenario(run / "scenario.yaml"))
    stretches_of = {}
    for one in interrupting_handoffs(run):
        key = Key(one.host, one.session, one.last_ns, one.begin_ns, one.end_ns, one.first_ns)
        stretches_of[key] = join((s.begin_ns, s.end_ns, s.kind, s.leg) for s in walk.of(one))
    return stretches_of


def only(ours: list[Stretch], second: list[Stretch]) -> tuple[list[Stretch], list[Stretch]]:
    """Return the items that occur in only one of the two lists."""
    return [each for each in ours if each not in second], [each for each in second if each not in ours]
