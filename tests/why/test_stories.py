"""Tests of the explanations of delays: their parts have no gaps, no overlaps and little unexplained time, and they show
planted causes.

Source    ours: docs/models/causes.md
"""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import mobilenet
from mobilenet.api import simulate
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import load_scenario
from mobilenet.why import kinds
from mobilenet.why.stories import Stories, stories
from tests.cli.command import FIRST
from tests.cli.command import mobilenet as command
from tests.cli.test_printed_commands import follow
from tests.conftest import SCENARIOS
from tests.lab.campaign.scenarios import NotDrawn, draw_scenario
from tests.lab.programs.own import answering

SHORT = ("duration_s=12", "warmup_s=0")
SHORT_TCP = ("duration_s=8", "warmup_s=0")
MOBILE = ("dynamic.yaml", "faults.yaml", "churn.yaml", "tcp_dynamic.yaml", "town.yaml", "vcube/dynamic_on_vcube.yaml")
OTHERS = (
    "by_hand.yaml", "cut_and_off.yaml", "own_protocol/gossip.yaml", "programs/flood.yaml", "vcube/bundling.yaml",
    "vcube/causal.yaml", "vcube/causal_reliable.yaml", "vcube/reliable.yaml", "own_protocol/ring.yaml",
)  # fmt: skip


def replay(path: Path, *changes: str) -> tuple[Stories, str]:
    """Return the explanations of the deliveries of a run, and its fingerprint."""
    scenario = load_scenario(path).with_changes([*changes, "record.causes=true"])
    recording = simulate(scenario, None, True).recording
    assert recording.causes is not None
    run_stories = stories(recording.tables()["causes"], recording.tables()["events"], scenario)
    return run_stories, recording.fingerprint()


@cache
def stories_over_tcp() -> Stories:
    return replay(SCENARIOS / "tcp_dynamic.yaml", *SHORT_TCP)[0]


def parts(run_stories: Stories) -> Counter[str]:
    """Return the time of each kind. First check that the parts of each delay have no gaps or overlaps."""
    sums: Counter[str] = Counter()
    for one in run_stories.record.deliveries:
        sent = run_stories.record.broadcasts.get(one.message)
        if sent is None:
            continue
        at_ns = sent.time_ns
        for stretch in run_stories.of(one.message, one.node):
            assert stretch.begin_ns == at_ns < stretch.end_ns
            at_ns = stretch.end_ns
            sums[stretch.kind] += stretch.length_ns
            if stretch.kind == kinds.LOST:  # The loss occurred at the node that the sentence names.
                at = run_stories.record.to[stretch.row] or (one.node if stretch.leg == kinds.CELL else "")
                assert run_stories.record.outcome_at(stretch.row, at) != "received"
        assert at_ns == max(one.time_ns, sent.time_ns)
    return sums


@pytest.mark.parametrize(
    ("name", "changes"), [*((name, SHORT) for name in MOBILE), *((name, ()) for name in OTHERS)], ids=str
)
def test_delays_in_shipped_scenarios_are_almost_fully_explained(name: str, changes: tuple[str, ...]) -> None:
    run_stories = stories_over_tcp() if name == "tcp_dynamic.yaml" else replay(SCENARIOS / name, *changes)[0]
    sums = parts(run_stories)
    assert sums[kinds.UNEXPLAINED] <= 0.01 * sums.total() > 0


@pytest.mark.parametrize("seed", range(24))
def test_delays_in_random_scenarios_are_explained_without_gaps(seed: int, tmp_path: Path) -> None:
    try:
        scenario = draw_scenario(seed, tmp_path, 10_000).with_changes(["limits.max_events=40000", "record.causes=true"])
        recording = simulate(scenario, None, True).recording
    except (NotDrawn, ScenarioError) as error:
        pytest.skip(str(error)[:80])
    assert recording.causes is not None
    parts(stories(recording.tables()["causes"], recording.tables()["events"], scenario))


@pytest.mark.parametrize("name", ["first.yaml", "vcube/causal.yaml"])
def test_recording_causes_does_not_change_the_run(name: str) -> None:
    _, fingerprint = replay(SCENARIOS / name)
    assert simulate(load_scenario(SCENARIOS / name)).recording.fingerprint() == fingerprint


def test_frames_lost_by_radio_are_not_attributed_to_wires() -> None:
    """A station that forwards a message has broadcast it by radio, so the frame was lost at the receiver."""
    run_stories, _ = replay(SCENARIOS / "by_hand.yaml")
    on_wires = {
        s.kind
        for one in run_stories.record.deliveries
        for s in run_stories.of(one.message, one.node)
        if s.leg == kinds.BACKBONE
    }
    assert on_wires and not on_wires & {kinds.LOST, kinds.RETRY}


def test_why_attributes_waits_to_nagle() -> None:
    run_stories = stories_over_tcp()
    reasons = Counter(
        s.reason
        for one in run_stories.record.deliveries
        for s in run_stories.of(one.message, one.node)
        if s.kind == kinds.NAGLE
    )
    assert set(reasons) <= {"nagle", "congestion_window", "receive_window", "messages_in_flight"}
    without, _ = replay(SCENARIOS / "tcp_dynamic.yaml", *SHORT_TCP, "protocol.tcp.nagle=false")
    assert reasons["nagle"] > 0
    assert not any(s.reason == "nagle" for one in without.record.deliveries for s in without.of(one.message, one.node))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("why") / "run"
    mobilenet.run(FIRST, out=out)
    return out


def why(run: Path, *words: str) -> Any:
    result = command("why", run, *words, "--json", place=run.parent)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_the_mean_delay_in_why_agrees_with_the_metric(run: Path) -> None:
    totals = why(run)["all"]
    mean_s = mobilenet.Run(run).metrics["delivery_delay_mean_s"]
    assert totals["delay_ns"] / totals["deliveries"] / 1e9 == pytest.approx(mean_s, rel=1e-12)
    assert sum(part["ns"] for part in totals["parts"]) == totals["delay_ns"]


def test_why_explains_one_delivery_or_all_of_a_message(run: Path) -> None:
    slowest = why(run, "--message", "h2:8")["deliveries"][0]
    story = why(run, "--message", "h2:8", "--at", slowest["at"])
    assert sum(row["length_ns"] for row in story["stretches"]) == story["delay_ns"] == slowest["delay_ns"]
    printed = command("why", run, "--message", "h2:8", "--at", slowest["at"], place=run.parent).stdout
    assert all(row["sentence"] in printed for row in story["stretches"])


@pytest.mark.lab
def test_why_compares_two_runs(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    mobilenet.run(FIRST, out=other, overrides=["stations.backbone.delay_ms=400"])
    parts = why(run, other)["parts"]
    assert (parts[0]["kind"], parts[0]["leg"]) == ("wire_propagation", "backbone")
    assert [words[0] for words in follow(tmp_path, "why", run, other)] == ["why", "why", "spacetime"]


@pytest.mark.parametrize("words", [[], ["--message", "h2:8"], ["--message", "h2:8", "--at", "h3"]], ids=len)
@pytest.mark.lab
def test_why_draws_a_figure_of_the_delays(words: list[str], run: Path, tmp_path: Path) -> None:
    target = tmp_path / "delays.svg"
    result = command("why", run, *words, "--out", target, place=run.parent)
    assert result.returncode == 0, result.stderr
    assert str(target) in result.stdout and target.read_text(encoding="utf-8").rstrip().endswith("</svg>")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--out", "delays.txt"], "delays.txt: expected a name that ends in .svg"),
        (["--at", "h1"], "--at: expected --message"),
        (["--message", "h1:999"], "--message: h1:999 was not broadcast"),
        (["--message", ""], "--message: an empty name was not broadcast"),
        (["."], "RUN2: the same run as RUN"),
        (["--message", "h2:8", "--at", "h77"], "--at: h77 did not deliver h2:8"),
    ],
)
def test_why_rejects_bad_arguments(words: list[str], complaint: str, run: Path) -> None:
    result = command("why", run, *words, place=run)
    assert result.returncode == 2
    assert complaint in result.stderr and "Traceback" not in result.stderr


HOLDS_ITS_OWN = """
if e["ev"] == "cell": station = e["station"]
if e["ev"] == "join": print(json.dumps({"do": "joined", "session": 1, "station": station}))
if e["ev"] == "broadcast":  # the message before this one is delivered now
    if e["id"][1] > 0: print(json.dumps({"do": "deliver", "id": [e["id"][0], e["id"][1] - 1]}))
"""


def test_why_attributes_held_messages_to_the_program(tmp_path: Path) -> None:
    run_stories, _ = replay(answering(tmp_path, HOLDS_ITS_OWN))
    sums = parts(run_stories)
    assert sums[kinds.PROGRAM] == sums.total() > 0
    without, _ = replay(SCENARIOS / "programs/flood.yaml")
    assert not parts(without)[kinds.PROGRAM]


def test_why_attributes_delay_to_the_tcp_timeout() -> None:
    """A longer timeout causes a larger share of the delay. Without TCP, this share is zero."""
    lossy = (*SHORT, "hosts.count=14", "workload.interval_s=1", "wireless.loss=0.05", "wireless.retry_limit=1")
    sums, longer = (
        parts(replay(SCENARIOS / "tcp_dynamic.yaml", *lossy, f"protocol.tcp.rto_min_s={s}")[0]) for s in (0.2, 1)
    )
    assert longer[kinds.RETRANSMISSION] > 2 * sums[kinds.RETRANSMISSION] > 0
    assert not sums[kinds.RETRY] and not longer[kinds.RETRY]
    without = parts(replay(FIRST, "wireless.loss=0.05")[0])
    assert without[kinds.RETRY] > 0 == without[kinds.RETRANSMISSION]


def test_why_rejects_a_run_with_an_edited_scenario(tmp_path: Path) -> None:
    """This matters because `why` reads wires and ticks from the scenario."""
    mobilenet.run(FIRST, out=tmp_path / "run", overrides=["record.causes=true"])
    with (tmp_path / "run" / "scenario.yaml").open("a") as file:
        file.write("# edited\n")
    result = command("why", tmp_path / "run", place=tmp_path)
    assert result.returncode == 2 and "scenario.yaml: changed since the run wrote it" in result.stderr
