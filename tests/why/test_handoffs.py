"""Tests of explained handoff interruptions. The parts have no gaps or overlaps, little time remains unexplained, and
the mean equals the metric.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import mobilenet
from mobilenet.cli.delays import stretch_rows
from mobilenet.cli.interruptions import interrupting_handoffs
from mobilenet.scenario import load_scenario
from mobilenet.why import kinds
from mobilenet.why.handoffs import Interruption, Interruptions
from mobilenet.why.stories import recorded_stories
from mobilenet.why.stretches import Stretch
from tests.cli.command import mobilenet as command
from tests.cli.test_printed_commands import follow
from tests.conftest import SCENARIOS

NAMES = ("dynamic", "churn", "town", "faults", "tcp_dynamic")
SHORT = ["duration_s=25", "warmup_s=5", "record.causes=true"]


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("handoffs") / "run"
    return mobilenet.run(SCENARIOS / f"{request.param}.yaml", out=out, overrides=SHORT).path


def stretches(run: Path) -> Iterator[tuple[Interruption, list[Stretch]]]:
    walk = Interruptions(recorded_stories(run), load_scenario(run / "scenario.yaml"))
    for one in interrupting_handoffs(run):
        yield one, walk.of(one)


@pytest.mark.parametrize("run", NAMES, indirect=True)
def test_handoff_interruptions_are_explained_without_gaps(run: Path) -> None:
    sums: Counter[str] = Counter()
    count = 0
    for one, own_stretches in stretches(run):
        at_ns, count = one.last_ns, count + 1
        for stretch in own_stretches:
            assert stretch.begin_ns == at_ns < stretch.end_ns
            at_ns = stretch.end_ns
            sums[stretch.kind] += stretch.length_ns
        assert at_ns == one.first_ns
    assert sums[kinds.UNEXPLAINED] <= 0.01 * sums.total() > 0
    mean_s = mobilenet.Run(run).metrics["handoff_interruption_mean_s"]
    assert sums.total() / count / 1e9 == pytest.approx(mean_s, rel=1e-12)


@pytest.mark.parametrize("run", ["dynamic", "tcp_dynamic"], indirect=True)
def test_a_sentence_about_an_earlier_session_cites_its_rule(run: Path) -> None:
    own_stories = recorded_stories(run)
    walk = Interruptions(own_stories, load_scenario(run / "scenario.yaml"))
    sentences = [
        (row["sentence"], next(o.message for o in own_stories.record.deliveries if (o.node, o.time_ns) == at))
        for one in interrupting_handoffs(run)
        for at in [(one.host, one.first_ns)]
        for row in stretch_rows(own_stories, walk.of(one), one.host)
        if row["kind"] == kinds.OLD_SESSION
    ]
    is_of_paper = own_stories.protocol == "mobile_causal"
    assert sentences and all(message in text for text, message in sentences)
    assert all(("Algorithm 1, lines 6-9" in text) == is_of_paper for text, _ in sentences)


def setup_ns(run: Path, kind: str) -> float:
    """Return the mean time of one kind during the set-up of sessions."""
    interruptions = list(stretches(run))
    inside = (s for one, own in interruptions for s in own if one.begin_ns <= s.begin_ns and s.end_ns <= one.end_ns)
    return sum(s.length_ns for s in inside if s.kind == kind) / len(interruptions)


PLANTED = {
    "slow wires": ("stations.backbone.delay_ms=60", kinds.WIRE_PROPAGATION, kinds.RETRY),
    "lost frames": ("wireless.loss=0.3", kinds.RETRY, kinds.WIRE_PROPAGATION),
}


@pytest.mark.parametrize("cause", PLANTED)
@pytest.mark.parametrize("run", ["first"], indirect=True)
def test_an_injected_handoff_cause_is_the_only_one_found(cause: str, run: Path, tmp_path: Path) -> None:
    change, planted, other = PLANTED[cause]
    changed = mobilenet.run(SCENARIOS / "first.yaml", out=tmp_path / "changed", overrides=[*SHORT, change]).path
    assert setup_ns(changed, planted) > 2 * setup_ns(run, planted)
    assert setup_ns(changed, planted) - setup_ns(run, planted) > 2 * (setup_ns(changed, other) - setup_ns(run, other))


@pytest.mark.parametrize("run", ["first"], indirect=True)
@pytest.mark.lab
def test_the_why_command_explains_handoffs(run: Path, tmp_path: Path) -> None:
    result = command("why", run, "--handoffs", "--json", place=run.parent)
    assert result.returncode == 0, result.stderr
    whole = json.loads(result.stdout)
    assert sum(part["ns"] for part in whole["parts"]) == whole["interruption_ns"] > 0
    first = next(iter(stretches(run)))[0]
    name = f"{first.host}:{first.session}"
    one = json.loads(command("why", run, "--handoff", name, "--json", place=run.parent).stdout)
    assert sum(row["length_ns"] for row in one["stretches"]) == one["interruption_ns"] == first.length_ns
    assert [words[0] for words in follow(tmp_path, "why", run, "--handoffs")][:2] == ["why", "spacetime"]
    for words in (["--handoffs"], ["--handoff", name]):
        drawn = command("why", run, *words, "--out", tmp_path / "handoffs.svg", place=run.parent)
        assert drawn.returncode == 0 and (tmp_path / "handoffs.svg").read_text().rstrip().endswith("</svg>")
        (tmp_path / "handoffs.svg").unlink()
    wrong = command("why", run, "--handoff", "h0:99", place=run.parent)
    assert wrong.returncode == 2 and f"expected a handoff of this run, such as {name}" in wrong.stderr
