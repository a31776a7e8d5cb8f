"""Tests of the mobile experiments on each backbone over VCube, and of the keys that configure a backbone."""

from __future__ import annotations

from pathlib import Path

import pytest

from mobilenet import api
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import Scenario
from mobilenet.scenario.preflight import estimated_events
from tests.conftest import SCENARIOS

KINDS = ("vcube_best_effort", "vcube_reliable", "vcube_causal")
DYNAMIC = SCENARIOS / "dynamic.yaml"
SHORT = ("duration_s=12", "warmup_s=3")
CHAIN = "[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6]]"


def play(place: Path, name: str, *overrides: str) -> api.Run:
    done = api.run(SCENARIOS / f"{name}.yaml", out=place / "run", overrides=[*SHORT, *overrides])
    assert done.verdict == "valid" and done.manifest["quiescent"], done.verdicts
    return done


@pytest.mark.parametrize("name", ["dynamic", "faults"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_experiment_is_valid_on_each_backbone(name: str, kind: str, tmp_path: Path) -> None:
    crash = ["faults.first_at_s=5"] if name == "faults" else []
    done = play(tmp_path, name, f"stations.backbone.kind={kind}", *crash)
    assert bool(done.metrics["crashes"]) == bool(crash)
    wired, kinds = done.counters["wired"], done.counters["by_message_type"]["wired"]
    assert wired["sent"] == wired["delivered"] == sum(of["count"] for of in kinds.values()) > 1000
    assert wired["bytes"] == sum(of["bytes"] + 40 * of["count"] for of in kinds.values())
    assert done.metrics["handoffs"] and done.metrics["wired_bytes"] and "suspicions" not in wired
    again = api.run(tmp_path / "run" / "scenario.yaml", out=tmp_path / "again")
    assert again.manifest["fingerprint"] == done.manifest["fingerprint"] and again.counters == done.counters


@pytest.mark.parametrize(
    ("kind", "way"),
    [(KINDS[0], "shape=star"), (KINDS[1], f"edges={CHAIN}"), (KINDS[2], f"edges={CHAIN[:-1]}, [6, 0]]")],
)
def test_messages_are_routed_along_the_configured_edges(kind: str, way: str, tmp_path: Path) -> None:
    mesh = api.run(DYNAMIC, out=tmp_path / "mesh", overrides=[*SHORT, f"stations.backbone.kind={kind}"])
    done = play(tmp_path, "dynamic", f"stations.backbone.kind={kind}", f"stations.backbone.{way}")
    assert done.counters["wired"]["sent"] > 1.2 * mesh.counters["wired"]["sent"]


def test_failure_detector_tests_travel_over_the_links(tmp_path: Path) -> None:
    """Each test is answered, and tests and answers count as control traffic."""
    done = play(tmp_path, "first", "stations.backbone.kind=vcube_reliable", "stations.backbone.test_interval_s=2")
    by_kind = done.counters["by_message_type"]["wired"]
    assert (
        by_kind["Test"]["count"] == by_kind["Answer"]["count"] > 10
        and by_kind["Test"]["control_bytes"] == by_kind["Test"]["bytes"]
    )


def test_false_suspicions_of_stations_lose_no_messages(tmp_path: Path) -> None:
    """Answers take longer than the timeout, so all stations suspect each other repeatedly."""
    done = play(
        tmp_path, "dynamic", "stations.backbone.kind=vcube_reliable", "stations.backbone.timeout_s=0.015",
        "stations.backbone.test_interval_s=0.3",
    )  # fmt: skip
    assert done.counters["wired"]["suspicions"] > 100


@pytest.mark.parametrize("kind", KINDS)
def test_a_vcube_backbone_works_with_one_or_two_stations(kind: str, tmp_path: Path) -> None:
    for points in ("[[0, 0]]", "[[0, 0], [100, 0]]"):
        layout = f"stations.layout={{shape: points, points_m: {points}}}"
        play(tmp_path / points, "dynamic", layout, f"stations.backbone.kind={kind}", "hosts.count=8")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ("kind=vcube", "unknown value vcube; did you mean"),
        ("max_delay=3", "unknown key; did you mean 'max_delay_ms'?"),
        (
            "shape=full_mesh",
            "shape: full_mesh is not a tree; expected star, chain or breadth_first, or a kind other than tree",
        ),
        ("max_delay_ms=3", "max_delay_ms: has no effect with kind: tree; it applies to vcube_best_effort"),
        ("timeout_s=0", "timeout_s: should be at least 1e-09, got 0"),
    ],
)
def test_impossible_backbones_are_rejected_in_one_line(change: str, complaint: str) -> None:
    with pytest.raises(ScenarioError) as error:
        Scenario.load(DYNAMIC, [f"stations.backbone.{change}"])
    assert complaint in str(error.value) and len(str(error.value).splitlines()) == 1


def test_incompatible_backbone_settings_are_rejected() -> None:
    vcube = "stations.backbone.kind=vcube_causal"
    for changes, complaint in (
        (["stations.backbone.shape=star", f"stations.backbone.edges={CHAIN}"], "shape: star, but edges are given"),
        (
            ["stations.backbone.timeout_s=1"],
            "timeout_s: has no effect with kind: vcube_causal; it applies to vcube_reliable",
        ),
        (["stations.backbone.edges=[[0, 1]]"], "stations.backbone.edges: 1 edge cannot connect 7 stations"),
        (
            ["protocol={name: tcp_flooding}"],
            "stations.backbone.kind: tcp_flooding uses connections between neighbours; expected tree",
        ),
    ):
        with pytest.raises(ScenarioError) as error:
            Scenario.load(DYNAMIC, [vcube, *changes])
        assert complaint in str(error.value) and len(str(error.value).splitlines()) == 1


def test_the_run_size_estimate_counts_backbone_messages() -> None:
    estimates = [
        estimated_events(Scenario.load(DYNAMIC, [f"stations.backbone.kind={kind}"])) for kind in ("tree", *KINDS)
    ]
    tree, best_effort, reliable, causal = estimates
    joins = [Scenario.load(DYNAMIC, [f"stations.backbone.kind={kind}"]).events_of_joins for kind in ("tree", *KINDS)]
    assert joins[1] == joins[2] == joins[3] < joins[0]  # Over a tree, an answer takes several hops.
    assert tree - joins[0] == causal - joins[3] and causal < best_effort < reliable
