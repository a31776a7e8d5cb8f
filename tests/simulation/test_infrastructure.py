"""Tests of links that a user cuts and radios that a user switches off. They check which messages continue, wait or are
lost, and which warnings are given.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from mobilenet.viz.map.data import document
from mobilenet.viz.report.run import run_page
from typer.testing import CliRunner

from mobilenet.api import Run, judge_anew, run, simulate
from mobilenet.cli.main import app
from mobilenet.engine.kernel import Kernel
from mobilenet.network.wired.link import Link
from mobilenet.record.table import Table
from mobilenet.scenario import Scenario
from mobilenet.simulation.hosts import HostNode
from mobilenet.simulation.outcome import Outcome
from mobilenet.verify.broadcasts.column_screen import judge_events
from mobilenet.verify.declarations import warnings_by
from tests.conftest import FIRST

MILLISECOND = 1_000_000
HELD = [{"at_s": 5, "do": "cut", "link": ["s0", "s1"]}, {"at_s": 15, "do": "mend", "link": ["s1", "s0"]}]
LOST = [{**HELD[0], "loses": True}, HELD[1]]
SILENT = [{"at_s": 5, "do": "radio_off", "station": "s1"}, {"at_s": 15, "do": "radio_on", "station": "s1"}]
BACKBONES = ["tree", "vcube_best_effort", "vcube_reliable", "vcube_causal"]


def scenario(interventions: list[dict[str, Any]], *more: str) -> Scenario:
    return Scenario.load(FIRST, ["duration_s=20", "seed=3", f"interventions={json.dumps(interventions)}", *more])


def play(interventions: list[dict[str, Any]], *more: str) -> Outcome:
    outcome = simulate(scenario(interventions, *more))
    assert isinstance(outcome, Outcome)
    return outcome


class Wire:
    """A link that records all arrivals."""

    def __init__(self) -> None:
        self.kernel = Kernel()
        self.lost: list[object] = []
        # 1000 bytes take 1 ms.
        self.link = Link(self.kernel, 8_000_000, 10 * MILLISECOND, lambda one, why: self.lost.append(why))
        self.arrived: list[tuple[str, int]] = []

    def send(self, name: str) -> None:
        self.link.send(1000, lambda: self.arrived.append((name, self.kernel.now // MILLISECOND)))

    def until(self, ms: int) -> None:
        self.kernel.run_until(ms * MILLISECOND)


def test_a_cut_link_holds_new_messages_but_not_earlier_ones() -> None:
    wire = Wire()
    for name in "ab":
        wire.send(name)
    wire.link.cut(loses=False)
    wire.until(5)
    for name in "cd":
        wire.send(name)
    wire.until(100)
    assert wire.arrived == [("a", 11), ("b", 12)] and wire.link.sent == 4 and wire.link.bytes == 4000
    wire.link.mend()
    wire.send("e")
    wire.until(200)
    assert wire.arrived[2:] == [("c", 111), ("d", 112), ("e", 113)]
    assert wire.link.sent == wire.link.delivered == 5 and wire.link.bytes == 5000 and not wire.link.lost


def test_queued_messages_keep_their_order_after_a_short_cut() -> None:
    wire = Wire()
    for name in "abcd":
        wire.send(name)
    wire.link.cut(loses=False)
    wire.send("e")
    wire.until(1)
    wire.link.mend()
    wire.until(100)
    assert [name for name, _ in wire.arrived] == [*"abcde"]


def test_a_link_cut_with_loss_also_loses_messages_in_transit() -> None:
    wire = Wire()
    wire.send("a")
    wire.until(11)
    wire.send("b")
    wire.link.cut(loses=True)
    wire.send("c")
    wire.link.mend()
    wire.send("d")
    wire.until(100)
    assert wire.arrived == [("a", 11), ("d", 22)]
    assert (wire.link.sent, wire.link.delivered, wire.link.lost, len(wire.lost)) == (4, 2, 2, 2)


@pytest.mark.parametrize("kind", BACKBONES)
def test_a_cut_that_holds_messages_only_delays_them(kind: str, tmp_path: Path) -> None:
    done = run(scenario(HELD, f"stations.backbone={{kind: {kind}}}"), out=tmp_path / "run")
    assert done.verdict == "valid" and not done.warnings and done.manifest["quiescent"]
    assert "lost" not in done.counters["wired"]
    assert done.delays.delay_s.max() > 5


@pytest.mark.parametrize("kind", BACKBONES)
def test_messages_lost_on_a_cut_wire_are_counted_and_warned_of(kind: str, tmp_path: Path) -> None:
    more = [f"stations.backbone={{kind: {kind}}}", "record.messages=true"]
    done = run(scenario(LOST, *more), out=tmp_path / "run")
    wired = done.counters["wired"]
    assert wired["lost"] > 0 and wired["sent"] == wired["delivered"] + wired["lost"] + wired["in_flight"]
    fates = Counter(
        fate for fate, medium in zip(done.messages.fate, done.messages.medium, strict=True) if medium == "wired"
    )
    assert fates == {"received": wired["delivered"], "link_cut": wired["lost"]}
    (warning,) = done.warnings
    assert "from 5 to 15 s the link s0-s1" in warning and "mobile_causal assumes lossless wires" in warning


@pytest.mark.parametrize("seed", [1, 2])
def test_only_deliveries_lost_on_a_cut_link_are_unknown_at_rest(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    static = ["hosts={count: 4, mobility: {model: static}}", "workload={interval_s: 1}", f"seed={seed}"]
    done = run(scenario([{**LOST[0], "at_s": 4}], *static), out=tmp_path / "run")
    assert done.manifest["quiescent"] and done.verdict == "unknown"
    problems = {name: verdict for name, verdict in done.verdicts.items() if verdict.answer != "valid"}
    (explanation,) = [verdict.explanation for verdict in problems.values()]
    lost = done.counters["wired"]["lost"]
    assert f"links cut by hand (s0-s1 from 4 s) lost {lost} messages, which mobile_causal does not" in explanation
    assert "is a member at the end, but never delivered h" in explanation

    deliver = HostNode.deliver
    monkeypatch.setattr(HostNode, "deliver", lambda node, *of: [deliver(node, *of) for _ in range(2)])
    twice = run(scenario([{**LOST[0], "at_s": 4}], *static), out=tmp_path / "twice")
    assert twice.verdicts["duplication"].answer == "violated"


def test_a_lossless_cut_does_not_excuse_a_missing_delivery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cut ends before any message is sent, so it does not excuse a host that drops a message."""
    short = [{**LOST[0], "at_s": 0}, {**LOST[1], "at_s": 0.001}]
    deliver = HostNode.deliver

    def drop_one(node: HostNode, message: Any, body: Any) -> None:
        if (node.me, message) != (0, (1, 0)):
            deliver(node, message, body)

    monkeypatch.setattr(HostNode, "deliver", drop_one)
    done = run(scenario(short), out=tmp_path / "run")
    assert "lost" not in done.counters["wired"] and done.warnings
    assert done.verdicts["delivery"].answer == "violated"


def test_tcp_retransmits_data_lost_on_a_cut_wire(tmp_path: Path) -> None:
    done = run(scenario(LOST, "protocol={name: tcp_flooding}"), out=tmp_path / "run")
    assert done.counters["wired"]["lost"] > 0
    assert done.verdict == "valid" and not done.warnings


def test_redundant_cuts_and_mends_have_no_effect() -> None:
    twice = [HELD[0], {**LOST[0], "at_s": 6}, HELD[1], {**HELD[1], "at_s": 16}]
    assert play(twice).recording.fingerprint() == play(HELD).recording.fingerprint()


def test_links_and_stations_are_restored_after_the_active_part() -> None:
    done = play([HELD[0], SILENT[0]])
    rows = [row for row in rows_of(done) if row[1] in ("mend", "radio_on")]
    assert rows == [(20 * 10**9, "mend", "s0", "s1"), (20 * 10**9, "radio_on", "s1", None)]
    assert done.quiescent


def rows_of(done: Outcome) -> list[tuple[Any, ...]]:
    table = done.recording.tables()["events"]
    return list(zip(*(table[name] for name in ("time_ns", "event", "node", "station")), strict=True))


def test_a_station_with_its_radio_off_neither_sends_nor_receives(tmp_path: Path) -> None:
    done = run(scenario(SILENT, "record.frames=true"), out=tmp_path / "run")
    assert done.verdict == "valid"
    while_off = done.frames[(done.frames.start_ns > 5.02e9) & (done.frames.end_ns < 15e9)]
    assert len(while_off) and "s1" not in set(while_off.sender)
    assert set(while_off[while_off.receiver == "s1"].fate) == {"receiver_down"}
    later = done.frames[done.frames.start_ns > 15e9]
    assert "s1" in set(later.sender) and "received" in set(later[later.receiver == "s1"].fate)


@pytest.mark.parametrize(
    "more", [["protocol={name: tcp_flooding}"], ["wireless={model: sinr}"], ["wireless.mac=acking"]]
)
def test_runs_with_cuts_are_valid_on_all_radios_and_over_tcp(more: list[str], tmp_path: Path) -> None:
    done = run(scenario([*SILENT, {**HELD[0], "at_s": 8}], *more), out=tmp_path / "run")
    assert done.verdict == "valid", done.verdicts


def test_hosts_can_have_gaps_after_the_station_radio_was_off(tmp_path: Path) -> None:
    quick = "protocol={name: mobile_causal, expiry_s: 4, heartbeat_s: 0.3}"
    done = run(scenario(SILENT, quick), out=tmp_path / "run")
    assert done.verdict == "valid" and (done.events.event == "gap").any()


# --- records that the verifier refuses

SEEN = [  # (time_s, node, event, station, session, detail)
    (0.0, "h0", "in_coverage", "s0", None, None),
    (0.1, "h0", "join", "s0", 1, None),
    (10.0, "s0", "radio_off", None, None, None),
    (20.0, "s0", "expire", None, None, '{"host": "h0", "silent_s": 9.5}'),
    (20.5, "h0", "gap", "s0", 1, None),
    (21.0, "s0", "radio_on", None, None, None),
]


def gaps_of(seen: list[tuple[Any, ...]]) -> str | None:
    times, nodes, kinds, stations, sessions, details = map(list, zip(*seen, strict=True))
    events = {
        "time_ns": [round(time * 1e9) for time in times], "node": nodes, "event": kinds,
        "message": [None] * len(seen), "station": stations, "session": sessions, "detail": details,
    }  # fmt: skip
    judge = judge_events(Table.of(events), 8.0, 2.0, frozenset({"gaps"}))
    return judge.violations.get("gaps")


def test_hosts_can_be_given_up_while_the_station_radio_is_off() -> None:
    assert gaps_of(SEEN) is None
    loud = [row for row in SEEN if not row[2].startswith("radio")]
    assert "although it was silent for at most 2.000 s" in str(gaps_of(loud))
    another = [(*row[:1], "s1", *row[2:]) if row[2].startswith("radio") else row for row in SEEN]
    assert "although it was silent for at most 2.000 s" in str(gaps_of(another))
    on_again = [*SEEN[:3], (11.0, "s0", "radio_on", None, None, None), *SEEN[3:5]]
    assert "although it was silent for at most 2.000 s" in str(gaps_of(on_again))


# --- warnings


@pytest.mark.lab
def test_warnings_of_lost_messages_are_shown_with_the_verdict(tmp_path: Path) -> None:
    out = tmp_path / "run"
    run(scenario(LOST), out=out)
    (warning,) = warnings_by(scenario(LOST))
    assert json.loads((out / "verdict.json").read_text())["warnings"] == [warning]
    for words in (["verify", str(out)], ["show", str(out)]):
        result = CliRunner().invoke(app, words)
        assert f"warning: {warning}" in " ".join(result.output.split()), words
    assert document(out)["about"]["warnings"] == [warning]
    assert f"Warning: {warning}." in run_page(out)
    (out / "verdict.json").unlink()
    judge_anew(out)
    assert Run(out).warnings == [warning]


def test_runs_without_lost_wired_messages_have_no_warnings(tmp_path: Path) -> None:
    done = run(scenario([*HELD, *SILENT]), out=tmp_path / "run")
    assert done.warnings == [] and "warnings" not in json.loads((done.path / "verdict.json").read_text())
