"""Tests of the application messages that each protocol message contains."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import mobilenet
from tests.conftest import SCENARIOS

LOSSY_HANDOFFS = ("wireless.loss=0.2",)


@pytest.mark.parametrize(
    ("scenario", "overrides", "all_carry", "some_carry", "none_carry"),
    [
        ("vcube/reliable.yaml", (), {"Tree", "Delv"}, set(), {"Ack", "Test", "Answer"}),
        ("vcube/causal.yaml", (), {"Packet"}, set(), set()),
        ("vcube/bundling.yaml", (), set(), {"Bundle"}, {"Test", "Answer"}),
        ("vcube/dynamic_on_vcube.yaml", ("duration_s=3", "warmup_s=0"), {"AppSh", "AppHs"}, {"Tree"}, {"Ack"}),
        ("first.yaml", LOSSY_HANDOFFS, {"App", "AppSh", "AppHs", "AppCo"}, {"Rsp2"}, {"AckH", "AckC", "Rsp1", "Req2"}),
    ],
)
def test_only_frames_with_bodies_carry_recorded_messages(
    scenario: str, overrides: tuple[str, ...], all_carry: set[str], some_carry: set[str], none_carry: set[str],
    tmp_path: Path,
) -> None:  # fmt: skip
    mobilenet.run(SCENARIOS / scenario, out=tmp_path / "run", overrides=["record.causes=true", *overrides])
    rows = pd.read_parquet(tmp_path / "run" / "causes.parquet")
    sent = rows[rows.step.isin(["queued", "wire"])]
    shares = (sent.messages != "").groupby(sent.kind).mean()
    assert {kind for kind in all_carry | some_carry | none_carry if kind not in shares.index} == set()
    assert {kind: shares[kind] for kind in all_carry} == dict.fromkeys(all_carry, 1)
    assert all(0 < shares[kind] < 1 for kind in some_carry)
    assert {kind: shares[kind] for kind in none_carry} == dict.fromkeys(none_carry, 0)
    names = {name for names in sent.messages for name in names.split()}
    events = pd.read_parquet(tmp_path / "run" / "events.parquet")
    assert names == set(events[events.event == "broadcast"].message)
