"""Tests of the shipped example plug-ins: each of them is one short file, works without changes to the package, and is
verified.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import mobilenet
from mobilenet.judgement import judge_anew, own_metrics
from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.measure import measure
from mobilenet.lab.studies.study import require_metric
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import load_scenario

from .examples import FOLDER, edit

SHORT = ["duration_s=8", "hosts.count=6"]
EXAMPLES = ("own_protocol/gossip", "own_protocol/courier", "own_mobility/patrol", "own_metric/fairness")


@pytest.mark.parametrize("example", EXAMPLES)
def test_each_plug_in_example_is_a_short_file_with_a_valid_run(example: str, tmp_path: Path) -> None:
    assert len((FOLDER / f"{example}.py").read_text(encoding="utf-8").splitlines()) <= 80
    once = mobilenet.run(FOLDER / f"{example}.yaml", out=tmp_path / "once", overrides=SHORT, allow_code=True)
    assert once.verdict == "valid"
    again = mobilenet.run(once.path / "scenario.yaml", out=tmp_path / "again", allow_code=True)
    assert again.manifest["fingerprint"] == once.manifest["fingerprint"]
    with pytest.raises(ScenarioError, match="runs Python code"):
        mobilenet.run(FOLDER / f"{example}.yaml", out=tmp_path / "forbidden")


def test_the_saved_scenario_includes_declarations_of_its_class(tmp_path: Path) -> None:
    run = mobilenet.run(FOLDER / "own_protocol/courier.yaml", out=tmp_path / "run", overrides=SHORT, allow_code=True)
    text = (run.path / "scenario.yaml").read_text(encoding="utf-8")
    assert "promises: best_effort" in text and "rto_min_s" in text
    assert run.manifest["promises"]["broadcast"] == "best_effort"


def test_custom_metrics_are_computed_from_the_record(tmp_path: Path) -> None:
    run = mobilenet.run(FOLDER / "own_metric/fairness.yaml", out=tmp_path / "run", overrides=SHORT, allow_code=True)
    delays = []
    sent = {}
    for time, event, message in zip(run.events["time_ns"], run.events["event"], run.events["message"], strict=True):
        if event == "broadcast":
            sent[message] = time
        elif event == "deliver" and sent[message] < 8e9:
            delays.append(time - sent[message])
    assert run.metrics["deliveries_late_share"] == sum(delay > 5e8 for delay in delays) / len(delays)
    assert run.manifest["own_metrics"]["delivery_fairness"][0].startswith("Jain's")
    own = own_metrics(load_scenario(run.path / "scenario.yaml"), allow_code=True)
    assert [metric.name for metric in own] == ["delivery_fairness", "deliveries_late_share"]
    measured = measure(run.path, "steady_state", own).metrics
    assert {"delivery_fairness", "deliveries_late_share"} <= measured.keys()
    (run.path / "metrics.json").unlink()
    judge_anew(run.path)
    assert mobilenet.Run(run.path).metrics["delivery_fairness"] is None
    assert "deliveries_late_share contradicts the record" in judge_anew(run.path, allow_code=True)[2][0]
    (run.path / "metrics.json").unlink()
    judge_anew(run.path, allow_code=True)
    assert mobilenet.Run(run.path).metrics == run.metrics


@pytest.mark.parametrize(
    ("example", "code", "change", "complaint"),
    [
        ("own_metric/fairness", "def f(run): return 1", "metrics=[own.py:f]", "metrics.0: own.py:f is not a metric"),
        (
            "own_metric/fairness",
            "from mobilenet.metrics import metric\n@metric('x')\ndef frames(run): return 1",
            "metrics=[own.py:frames]",
            "there is already a metric frames",
        ),
        (
            "own_mobility/patrol",
            "from mobilenet.parameters import Parameters\nfrom mobilenet.world.trajectory import between\n"
            "class P(Parameters):\n    def walk(self, ground):\n"
            "        return lambda stream: (between(50 * n, 0, 50 * n + 1, 0, 10**9) for n in range(99))",
            "hosts.mobility={class: own.py:P, speed_limit_mps: 1.5}",
            "a leg begins at (50, 0) m, but the previous one ended at (1, 0) m",
        ),
        (
            "own_metric/fairness",
            None,
            "metrics=[fairness.py:delivery_fairness, fairness.py:delivery_fairness]",
            "another metric has the same name",
        ),
        (
            "own_metric/fairness",
            "from mobilenet.metrics import metric\n@metric('x')\ndef seed(run): return 1",
            "metrics=[own.py:seed]",
            "there is already a metric seed",
        ),
        *(
            (
                "own_mobility/patrol",
                "from math import nan\nfrom mobilenet.parameters import Parameters\n"
                "from mobilenet.world.trajectory import Leg\n"
                f"class P(Parameters):\n    def walk(self, ground):\n        return {walk}",
                "hosts.mobility={class: own.py:P, speed_limit_mps: 1.5}",
                f"hosts.mobility.class: own.py:P: {complaint}",
            )
            for walk, complaint in (
                ("None", "walk(ground) returned None, expected a function"),
                ("(1, 2)", "walk(ground) returned (1, 2), expected a function"),
                (
                    "lambda stream: None",
                    "the function returned by walk(ground) returned None when called with a stream, expected"
                    " an iterator of legs",
                ),
                ("lambda stream: [3]", "3 is not a Leg"),
                ("lambda stream: [Leg(None, nan, 0.0, 0.0, 0.0)]", "a leg begins at (nan, 0.0), expected two finite"),
                ("lambda stream: [Leg(None, 'a', 0.0, 0.0, 0.0)]", "a leg begins at ('a', 0.0), expected two finite"),
                ("lambda stream: [Leg(None, 0.0, 0.0, nan, 0.0)]", "a leg has the velocity (nan, 0.0), expected two"),
                ("lambda stream: [Leg(None, 2e6, 0.0, 0.0, 0.0)]", "a leg begins at (2e+06, 0) m, expected at most"),
            )
        ),
        ("own_mobility/patrol", "class P: pass", "hosts.mobility.class=own.py:P", "is not a mobility model"),
        (
            "own_mobility/patrol",
            None,
            "hosts.mobility.speed_limit_mps=1.2",
            "patrol.py:Patrol moves at 1.5 m/s, faster than 1.2",
        ),
        ("own_mobility/patrol", None, "hosts.mobility.settings.side=3", "side: unknown key; did you mean 'side_m'?"),
        ("own_protocol/courier", None, "stations.backbone.kind=vcube_causal", "connections between neighbours"),
        ("own_protocol/gossip", None, "protocol.tcp={}", "gossip.py:Gossip has no connections"),
    ],
)
def test_a_malformed_plug_in_is_reported_in_one_line(
    example: str, code: str | None, change: str, complaint: str, tmp_path: Path
) -> None:
    for file in (FOLDER / example).parent.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    if code is not None:
        (tmp_path / "own.py").write_text(code + "\n", encoding="utf-8")
    scenario = tmp_path / f"{Path(example).name}.yaml"
    with pytest.raises(ScenarioError) as caught:
        mobilenet.run(scenario, out=tmp_path / "run", overrides=[*SHORT, change], allow_code=True)
    assert complaint in str(caught.value) and "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists() or mobilenet.load(tmp_path / "run").verdict == "unknown"


def test_a_custom_broadcast_runs_among_processes(tmp_path: Path) -> None:
    ring = FOLDER / "own_protocol/ring.yaml"
    run = mobilenet.run(ring, out=tmp_path / "run", allow_code=True)
    assert run.verdict == "valid" and run.metrics["deliveries"] == 16 * 16 * 3
    assert run.manifest["promises"]["broadcast"] == "fifo"
    again = mobilenet.run(run.path / "scenario.yaml", out=tmp_path / "again", allow_code=True)
    assert again.manifest["fingerprint"] == run.manifest["fingerprint"]
    with pytest.raises(ScenarioError, match="runs Python code"):
        mobilenet.run(ring, out=tmp_path / "forbidden")


@pytest.mark.parametrize(
    ("old", "new", "changes", "complaint"),
    [
        ('"fifo"', '"total"', (), "ring.py:Ring: order is 'total'"),
        ('"fifo"', "type('Quiet', (), {'__repr__': exit})()", (), "order is a value of the class Quiet whose repr"),
        ("", "", ("faults=[{process: p3, at: 1}]", "detector={}"), "ring.py:Ring does not survive crashes"),
        ("def broadcast(", "def bradcast(", (), "ring.py:Ring is not a broadcast among processes"),
        ("hop.id.source", "hop.id.sauce", (), "AttributeError"),
        ("", "", ("protocol.settings={x: 1}",), "x: unknown key; no settings are defined here"),
    ],
)
def test_a_malformed_broadcast_is_reported_in_one_line(
    old: str, new: str, changes: tuple[str, ...], complaint: str, tmp_path: Path
) -> None:
    ring = edit(tmp_path, "own_protocol/ring", old, new)
    with pytest.raises(ScenarioError) as caught:
        mobilenet.run(ring, out=tmp_path / "run", overrides=changes, allow_code=True)
    assert complaint in str(caught.value) and "\n" not in str(caught.value)


def test_a_ring_that_omits_its_last_hop_violates_a_promise(tmp_path: Path) -> None:
    lazy = edit(tmp_path, "own_protocol/ring", "if hop.id.source != self.port.me:", "if hop.id.source != self.next:")
    assert mobilenet.run(lazy, out=tmp_path / "run", allow_code=True).verdict == "violated"


def test_studies_can_compare_custom_metrics(tmp_path: Path) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(
        f"""scenario: {FOLDER / "own_metric/fairness.yaml"}
set: {{duration_s: 6, hosts.count: 6}}
factors: {{wireless.loss: [0, 0.3]}}
compare: {{factor: wireless.loss, baseline: 0, metrics: [delivery_fairness]}}
""",
        encoding="utf-8",
    )
    require_metric(Study.load(study), "delivery_fairness")
    with pytest.raises(StudyError, match=r"unknown metric 'delivery_fairnes' \(did you mean 'delivery_fairness'"):
        require_metric(Study.load(study), "delivery_fairnes")
