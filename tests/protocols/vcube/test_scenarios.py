"""Tests of scenarios of processes: their runs are pinned, recorded, judged and repeatable, and each error is a single
line.

To renew the pinned values, run `python -m tests.protocols.vcube.test_scenarios --renew`, and explain in CHANGELOG.md
what changed the runs and why.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from mobilenet import api
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import ProcessScenario, load_scenario

ROOT = Path(__file__).parents[3]
PINNED = Path(__file__).with_name("fingerprints.json")
SCENARIOS = sorted((ROOT / "scenarios" / "vcube").glob("*.yaml"))
BUNDLING = ROOT / "scenarios" / "vcube" / "bundling.yaml"


def of_processes() -> list[str]:
    return [path.stem for path in SCENARIOS if "\nprocesses:" in path.read_text(encoding="utf-8")]


def fingerprint(name: str) -> str:
    return api.simulate(load_scenario(ROOT / "scenarios" / "vcube" / f"{name}.yaml")).recording.fingerprint()


@pytest.mark.parametrize("name", of_processes())
def test_a_process_scenario_matches_its_fingerprint(name: str) -> None:
    assert fingerprint(name) == json.loads(PINNED.read_text())[name], (
        "meant? then renew and say why: see the head of this file"
    )


@pytest.mark.parametrize("name", of_processes())
def test_a_process_run_is_recorded_verified_and_repeatable(name: str, tmp_path: Path) -> None:
    done = api.run(ROOT / "scenarios" / "vcube" / f"{name}.yaml", out=tmp_path / "once")
    assert done.verdict == "valid" and done.manifest["quiescent"]
    verdicts, notes, wrong = api.judge_anew(tmp_path / "once")
    assert verdicts == done.verdicts and notes == wrong == []
    again = api.run(tmp_path / "once" / "scenario.yaml", out=tmp_path / "again")
    assert again.manifest["fingerprint"] == done.manifest["fingerprint"] and again.metrics == done.metrics


def test_parameters_of_the_published_scenarios_can_be_set(tmp_path: Path) -> None:
    """The scenario is SMALL2 of Tables 3 and 4, with n = 64."""
    changes = [
        "processes=64",
        "protocol.max_payload_bytes=1460",
        "protocol.tree_bytes=24",
        "protocol.ack_bytes=20",
        "protocol.max_delay=2",
    ]
    done = api.run(BUNDLING, out=tmp_path / "run", overrides=changes)
    assert (done.metrics["latency"], done.metrics["messages"], done.metrics["messages_per_process_mean"]) == (
        37.1,
        2240,
        35,
    )


def test_metrics_of_the_vcube_causal_broadcast_are_plausible(tmp_path: Path) -> None:
    m = api.run(
        ROOT / "scenarios" / "vcube" / "causal.yaml", out=tmp_path / "run", overrides=["protocol.aggregate=false"]
    ).metrics
    assert m["packets"] == 64 * 63 and m["packets_aggregated_share"] == 0
    assert m["pending_max"] and m["delivery_latency_mean"] and m["reception_latency_mean"]
    assert m["reception_latency_mean"] <= m["delivery_latency_mean"]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ("protocol.max_pay=3", "protocol.max_pay: unknown key"),
        ("faults=[{process: p64, at: 1}]", "faults: p64 does not exist; there are 64 processes, p0 to p63"),
        ("faults=[{process: q1, at: 1}]", "expected a name such as p0"),
        ("detector=null", None),
        ("detector.mode=unreliable", "best_effort loses messages"),
        ("protocol={name: causal}", "network.kind: causal runs on the network of its paper"),
        ("protocol={name: disjoint_paths}", None),
        ("workload.sources=65", "workload.sources: expected at most 64"),
        ("random_faults={count: 64, latest: 5, spared: [p0]}", "random_faults.count: expected at most 63"),
        ("workload.messages=1000000", "limits.max_events"),
        ("protocol={name: best_efort}", "did you mean 'best_effort'"),
        (
            "workload.instants={kind: uniform, earliest: 500, latest: 1}",
            "workload.instants.latest: should be at least earliest",
        ),
        (
            "random_faults={count: 2, earliest: 2.2, latest: 2.7}",
            "random_faults.latest: no whole number from 2.2 to 2.7",
        ),
        ("random_faults={count: 2, earliest: 2.2, latest: 2.7, whole_times: false}", None),
        ("detector.timeout=1e-10", "detector.timeout: should be at least 1e-09"),
        ("detector.interval=1e-12", "detector.interval: should be at least 1e-09"),
        ("network.send=1e-12", "network.send: .*should be 0, or at least 1e-09"),
        ("network={kind: abstract, send: 0, link: 0, reception: 0, hand_over: 0}", None),
        ("network={kind: abstract, send: 0, link: 0.0001, reception: 0, hand_over: 0}", None),
        ("detector.timeout=1", "detector.timeout: a test and its answer take 2.2 .*expected more than 2.2"),
        ("detector.timeout=2.2", "expected more than 2.2"),
        ("detector.timeout=2.3", None),
        ("network={kind: wired, delay_ms: 2500}", "expected more than 5.000"),
        ("network={kind: wired, delay_ms: 1500}", None),
        (
            "detector={mode: unreliable, mistakes: [{at: 1, by: p3, about: p3}]}",
            "detector.mistakes: a process cannot suspect itself",
        ),
        (
            "faults=[{process: p1, at: 100001}]",
            "faults: 100001 t.u. is after the end of the run .duration: 100000 t.u..$",
        ),
        ("random_faults={count: 1, latest: 200000}", "random_faults.latest: 200000 t.u. is after the end"),
        ("workload.instants={kind: at, time: 200000}", "workload.instants: 200000 t.u. is after the end"),
        ("workload.instants={kind: uniform, latest: 200000}", "workload.instants: 200000 t.u. is after the end"),
    ],
)
def test_impossible_process_scenarios_are_rejected_with_the_key(change: str, complaint: str | None) -> None:
    if complaint is None:
        load_scenario(BUNDLING, [change])
        return
    with pytest.raises(ScenarioError, match=complaint):
        load_scenario(BUNDLING, [change])


def test_the_load_of_a_detector_that_never_rests_is_estimated() -> None:
    nothing = "network={kind: abstract, send: 0, link: 0, reception: 0, hand_over: 0}"
    with pytest.raises(ScenarioError, match=r"limits.max_events: about 13,8\d+,\d+,\d+ events"):
        load_scenario(BUNDLING, [nothing, "detector.interval=1e-6", "workload.instants.time=6"])


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ("protocol.mtu_bytes=20", r"protocol.mtu_bytes: should be more than header_bytes \(20\), got 20"),
        ("detector={}", "detector: has no effect on the packet network"),
    ],
)
def test_impossible_packet_settings_are_rejected(change: str, complaint: str) -> None:
    with pytest.raises(ScenarioError, match=complaint):
        load_scenario(ROOT / "scenarios" / "vcube" / "causal.yaml", [change])


def test_a_timeout_that_is_too_short_is_not_a_violation(tmp_path: Path) -> None:
    """The messages of the failure detector share their wires with broadcasts, so only a run shows how long its tests
    take.
    """
    busy = "workload={messages: 10, instants: {kind: at, time: 0.1}}"
    changes = [
        "network={kind: wired, bandwidth_mbps: 0.001}",
        "detector.timeout=1.5",
        "processes=32",
        "protocol={name: best_effort}",
        busy,
    ]
    with pytest.raises(ScenarioError, match=r"detector.timeout: 1.5 is too short for a perfect detector: at"):
        api.run(BUNDLING, out=tmp_path / "run", overrides=changes)


def test_a_scenario_is_equal_to_its_copy_without_changes() -> None:
    scenario = load_scenario(BUNDLING, ["random_faults={count: 2, latest: 3}"])
    assert isinstance(scenario, ProcessScenario) and scenario.with_changes([]) == scenario
    assert scenario.with_changes(["seed=2"]) != scenario


if __name__ == "__main__" and sys.argv[1:] == ["--renew"]:
    PINNED.write_text(
        json.dumps({name: fingerprint(name) for name in of_processes()}, indent=2) + "\n", encoding="utf-8"
    )
