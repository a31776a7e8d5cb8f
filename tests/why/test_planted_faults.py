"""Tests that `why` names each planted intervention and fault. The tests use random scenarios and cases that users
reported.

The command `python -m tests.why.random_faults 20` draws each fault in every setting.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest

from mobilenet.network.wired.parameters import BackboneParameters
from mobilenet.scenario import ProcessScenario
from mobilenet.scenario.process_parameters import AbstractNetwork, DetectorParameters
from mobilenet.scenario.yaml_writer import to_yaml
from mobilenet.why import kinds
from mobilenet.world.faults import Faults
from mobilenet.world.interventions import AnyIntervention
from tests.why.random_faults import DRAWS, FAULTS, HARMLESS, NEEDED, describe, rotated_draws
from tests.why.test_stories import parts, replay

TARGETS = {"at_s", "do", "host", "link", "station", "to_m"}
WIRES = ("max_delay_ms", "delay_ms", "bandwidth_mbps")  # settings that delay each message on a backbone
TIMES = {"kind", "send", "link", "jitter", "reception", "hand_over"}  # keys of the abstract network


def catalogue() -> set[str]:
    """Return every intervention with each of its parameters, and every fault, as the code declares them."""
    names = {"churn", "wireless.loss"}
    for intervention in get_args(AnyIntervention):
        fields = intervention.model_fields
        parameters = fields.keys() - TARGETS
        for do in get_args(fields["do"].annotation):
            names |= {f"{do}.{parameter}" for parameter in parameters}
            if not any(fields[parameter].is_required() for parameter in parameters):
                names.add(do)
    names |= {f"faults.{schedule.model_fields['schedule'].default}" for schedule in get_args(Faults)}
    names |= {f"backbone.{name}" for name in BackboneParameters.model_fields if name in WIRES}
    names |= {f"processes.{name}" for name in ProcessScenario.model_fields if "faults" in name}
    names |= {f"detector.{name}" for name in DetectorParameters.model_fields if name == "mistakes"}
    return names | {f"network.{name}" for name in AbstractNetwork.model_fields.keys() - TIMES}


def test_each_fault_is_classified_by_kind_or_as_harmless() -> None:
    assert FAULTS.keys() | HARMLESS.keys() == catalogue()
    assert not FAULTS.keys() & HARMLESS.keys()
    assert {kind for fault in FAULTS.values() for kind in fault.kinds} <= kinds.KINDS.keys() - {kinds.UNEXPLAINED}


@pytest.mark.parametrize("name", FAULTS)
def test_why_identifies_an_injected_fault(name: str) -> None:
    one = next(rotated_draws(name))
    assert one.names(FAULTS[name].kinds), describe(one)


@pytest.mark.long
@pytest.mark.parametrize("name", FAULTS)
def test_why_identifies_an_injected_fault_in_most_cases(name: str) -> None:
    cases = [one for one, _ in zip(rotated_draws(name), range(DRAWS), strict=False)]
    wrong = [describe(one) for one in cases if not one.names(FAULTS[name].kinds)]
    assert len(cases) == DRAWS and len(wrong) <= (1 - NEEDED) * DRAWS, wrong


def scenario(folder: Path, **changes: Any) -> Path:
    """Write a scenario with nine hosts that stand near three stations in a chain."""
    document = {
        "seed": 7,
        "duration_s": 40,
        "stations": {
            "layout": {"shape": "points", "points_m": [[0, 0], [200, 0], [400, 0]]},
            "backbone": {"kind": "tree", "shape": "chain", "delay_ms": 5},
        },
        "hosts": {"count": 9, "mobility": {"model": "static"}},
        "protocol": {"name": "mobile_causal", "repair": "selective"},
        "workload": {"interval_s": 2, "payload_bytes": 100},
    }
    path = folder / "scenario.yaml"
    path.write_text(to_yaml(document | changes), encoding="utf-8")
    return path


LINK = ["s1", "s2"]


@pytest.mark.parametrize(
    ("kind", "interventions", "least"),
    [
        ("impaired_host", [{"at_s": 3, "do": "impair", "host": "h2", "delay_s": 0.5}], 0.8),
        ("impaired_link", [{"at_s": 3, "do": "impair_link", "link": LINK, "delay_s": 0.7}], 0.95),
        ("cut", [{"at_s": 5, "do": "cut", "link": LINK}, {"at_s": 20, "do": "mend", "link": LINK}], 0.95),
    ],
)
def test_reported_cases_are_attributed_to_specific_delay_kinds(
    kind: str, interventions: list[dict[str, Any]], least: float, tmp_path: Path
) -> None:
    sums = parts(replay(scenario(tmp_path, interventions=interventions))[0])
    assert sums[kind] > least * sums.total()
    assert sums[kinds.CONTENTION] + sums[kinds.QUEUE] + sums[kinds.WIRE_QUEUE] < 0.02 * sums.total()


def test_waits_for_timers_of_a_vcube_backbone_are_explained(tmp_path: Path) -> None:
    """A station waits for an acknowledgement from a station behind a cut link, until the failure detector ends this
    wait.
    """
    path = scenario(
        tmp_path,
        seed=99315,
        duration_s=20,
        drain_s=400,
        hosts={"count": 8, "mobility": {"model": "static"}, "attachment": {"hysteresis_db": 0}},
        stations={
            "layout": {"shape": "points", "points_m": [[0, 30], [200, 0], [400, 0]]},
            "backbone": {"kind": "vcube_reliable", "bandwidth_mbps": 1, "test_interval_s": 0.3, "timeout_s": 0.5},
        },
        protocol={"name": "mobile_causal", "repair": "selective", "lossy_share": 1, "doubt_s": 0, "report_s": 0.2},
        wireless={"model": "sinr", "loss": 0.1, "fading": {"model": "nakagami", "m_near": 0.5, "m_far": 0.75}},
        workload={"interval_s": 5, "payload_bytes": 100},
        interventions=[{"at_s": 14.34, "do": "cut", "link": ["s0", "s1"]}],
    )
    sums: Counter[str] = parts(replay(path)[0])
    assert sums[kinds.UNEXPLAINED] <= 0.01 * sums.total()
    assert sums[kinds.CUT] > 0.3 * sums.total() and sums[kinds.TIMER_WAIT] > 0.05 * sums.total()
