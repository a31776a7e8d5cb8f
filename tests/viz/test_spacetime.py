"""The arrows of a space-time diagram are the recorded messages, one to one."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

import mobilenet
from mobilenet.replay import protocol_messages
from mobilenet.rundir import RunError
from viz.spacetime import WindowError, draw, window_around
from viz.spacetime.window import handoffs

SCENARIO = """
seed: 1
duration_s: 14
stations: {layout: {shape: points, points_m: [[0, 0], [150, 0], [75, 130]]}}
wireless: {loss: 0.1}
hosts: {count: 4, mobility: {model: random_waypoint, speed_mps: 14}}
protocol: {name: mobile_causal}
workload: {interval_s: 1}
"""


def expected(messages: pd.DataFrame, events: pd.DataFrame, host: str, begin: int, end: int) -> set[int]:
    """By the rule in words, row by row."""
    delivered = {e.message for e in events.itertuples() if e.event == "deliver" and e.node == host and begin <= e.time_ns <= end}
    inside = []
    for row in messages.itertuples():
        arrives = row.send_ns if pd.isna(row.receive_ns) else row.receive_ns
        if row.send_ns <= end and arrives >= begin:
            inside.append(row)
    direct = [row for row in inside if host in (row.sender, row.receiver)]
    heard = {row.sender for row in direct} | {row.receiver for row in direct}
    found = {row.Index for row in direct}
    for row in inside:
        if row.medium == "wired" and row.host == host:
            found.add(row.Index)
        if row.medium == "wired" and row.host is None and row.message in delivered and {row.sender, row.receiver} <= heard:
            found.add(row.Index)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_arrows_are_the_recorded_messages(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(SCENARIO)
    run = mobilenet.run(path, seed=seed, out=tmp_path / "run", overrides=["record.messages=true"])
    found = handoffs(run.events)
    assert len(found)
    for number in range(1, len(found) + 1):
        window = window_around(run.events, f"handoff:{number}")
        target = tmp_path / f"{number}.svg"
        arrows = draw(run.messages, run.events, window, target, "run")
        assert set(arrows) == expected(run.messages, run.events, window.host, window.begin_ns, window.end_ns)
        drawn = re.findall(r'id="message-(\d+)"', target.read_text(encoding="utf-8"))
        assert sorted(map(int, drawn)) == sorted(arrows)
        kinds = set(run.messages.loc[arrows].kind)
        assert "Init" in kinds
        assert "InitAck" in kinds


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> mobilenet.Run:
    """A run that did not record its messages."""
    folder = tmp_path_factory.mktemp("plain")
    (folder / "small.yaml").write_text(SCENARIO)
    return mobilenet.run(folder / "small.yaml", seed=3, out=folder / "run")


def test_what_was_not_recorded_is_replayed(plain: mobilenet.Run, tmp_path: Path) -> None:
    again = mobilenet.run(plain.path / "scenario.yaml", out=tmp_path / "again", overrides=["record.messages=true"])
    messages, replayed = protocol_messages(plain.path)
    assert replayed
    recorded, from_record = protocol_messages(again.path)
    assert not from_record
    pd.testing.assert_frame_equal(messages, recorded, check_dtype=False)


def test_a_scenario_that_was_edited_is_not_replayed(plain: mobilenet.Run) -> None:
    scenario = plain.path / "scenario.yaml"
    text = scenario.read_text()
    scenario.write_text(text.replace("seed: 3", "seed: 4"))
    try:
        with pytest.raises(RunError, match="does not give the same run"):
            protocol_messages(plain.path)
    finally:
        scenario.write_text(text)


@pytest.mark.parametrize(
    ("around", "host", "message"),
    [
        ("handoff:0", None, "no such handoff"),
        ("handoff:999", "h1", "of h1"),
        ("handoff", None, "no such handoff"),
        ("crash:1", None, "there is none"),
        ("message:h1:99", None, "no such message"),
        ("5", None, "whose"),
        ("900", "h1", "lasts from 0"),
        ("nan", "h1", "expected handoff:N"),
        ("soon", "h1", "expected handoff:N"),
        ("handoff:1", "h77", "no host 'h77'"),
    ],
)
def test_what_is_not_there(plain: mobilenet.Run, around: str, host: str | None, message: str) -> None:
    with pytest.raises(WindowError, match=message):
        window_around(plain.events, around, host)


def test_the_way_of_a_message(plain: mobilenet.Run, tmp_path: Path) -> None:
    messages, _ = protocol_messages(plain.path)
    sent = plain.events[plain.events.event == "broadcast"].iloc[5]
    other = next(node for node in ("h0", "h1", "h2", "h3") if node != sent.node)
    window = window_around(plain.events, f"message:{sent.message}", other)
    shown = messages.loc[draw(messages, plain.events, window, tmp_path / "way.png", "run")]
    assert set(shown.message) == {sent.message}
    assert {sent.node, other} <= set(shown.sender) | set(shown.receiver)
