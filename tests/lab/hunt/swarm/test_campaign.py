"""Tests of swarm campaigns. A seed always gives the same run on one of two networks, and the run is judged from its
directory.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mobilenet
from mobilenet.lab.hunt.swarm import campaign, scenes
from mobilenet.lab.hunt.swarm.campaign import Result, judge_seed, keep_run, run_campaign
from mobilenet.lab.hunt.swarm.scenes import Radio
from mobilenet.network.radio_models import model_of
from mobilenet.protocols.names import AMONG_PROCESSES
from mobilenet.simulation.mobile import Simulation
from mobilenet.verify.judge import Answer
from tests.tools import invoke

ROOT = Path(mobilenet.__file__).parents[1]
PLUG_INS = ROOT / "scenarios" / "own_protocol"
RING, GOSSIP = f"{PLUG_INS / 'ring.py'}:Ring", f"{PLUG_INS / 'gossip.py'}:Gossip"
VIOLATION: tuple[Answer, str] = ("violated", "causal_order: h0:1 overtook h0:0 at h1:\n  h0:0 was broadcast at 1 s")


@pytest.mark.long
def test_swarm_seeds_are_valid_on_both_networks() -> None:
    results = list(run_campaign(range(40), workers=1))
    assert [result.seed for result in results] == list(range(40))
    assert Counter(result.network for result in results) == {"adversary": 20, "radio": 20}
    assert [result for result in results if result.answer != "valid"] == []
    assert len({result.fingerprint for result in results}) == 40


@pytest.mark.long
def test_swarm_results_do_not_depend_on_the_number_of_workers() -> None:
    assert list(run_campaign(range(12), workers=2)) == list(run_campaign(range(12), workers=1))


@pytest.mark.long
@pytest.mark.parametrize("hash_seed", ["0", "1", "2"])
def test_swarm_schedules_do_not_depend_on_hash_seed_or_folder(hash_seed: str, tmp_path: Path) -> None:
    code = (
        "from mobilenet.lab.hunt.swarm.campaign import run_campaign\n"
        "print([r.fingerprint for r in run_campaign(range(100, 108), 1)])"
    )
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    there = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert there.stdout.strip() == str([judge_seed(seed).fingerprint for seed in range(100, 108)])


def test_scenes_are_valid_scenarios_that_can_be_written_and_read() -> None:
    for seed in range(1, 60, 2):
        scene = scenes.draw(seed)
        assert scene.with_changes([]) == scene


def test_swarm_scenes_contain_every_kind_of_event() -> None:
    counts: Counter[str] = Counter()
    for seed in range(1, 80, 2):
        counts.update(Simulation(scenes.draw(seed)).run().recording.events.event)
    wanted = ("join", "leave", "broadcast", "deliver", "crash", "recover", "gap", "handoff_start", "handoff_end",
              "out_of_coverage", "in_coverage")  # fmt: skip
    assert all(counts[event] > 5 for event in wanted), counts


@pytest.mark.parametrize(
    ("seed", "how", "options"),
    [
        (16, {}, ""),
        (17, {}, ""),
        (16, {"radio": "acking"}, " --mac acking"),
        (16, {"backbone": "vcube_causal", "radio": "acking"}, " --backbone vcube_causal --mac acking"),
        (3, {"protocol": "causal_reliable"}, " --protocol causal_reliable"),
        (3, {"protocol": "tcp_flooding"}, " --protocol tcp_flooding"),
        (3, {"protocol": RING}, f" --protocol {RING} --allow-code"),
        (2, {"protocol": GOSSIP}, f" --protocol {GOSSIP} --allow-code"),
    ],
)
def test_a_swarm_schedule_can_be_saved_opened_and_repeated(
    seed: int, how: dict[str, Any], options: str, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    keep_run(seed, kept, **how)
    run = mobilenet.Run(kept)
    assert run.verdict == "valid" and run.metrics["deliveries"] > 0
    assert run.manifest["command"] == f"mobilenet swarm --count 1 --seed {seed}{options}"
    result = judge_seed(seed, **how)
    assert run.manifest["fingerprint"] == result.fingerprint
    if result.network != "adversary":  # A scenario cannot contain the choices of the adversary.
        again = mobilenet.run(kept / "scenario.yaml", out=tmp_path / "again", allow_code=True)
        assert again.manifest["fingerprint"] == run.manifest["fingerprint"]


def test_an_assertion_in_the_protocol_counts_as_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> str:
        raise AssertionError("h1 is owned at [0, 2]")

    monkeypatch.setattr(campaign, "record_radio", fail)
    result = judge_seed(5)
    assert result.answer == "violated" and "h1 is owned at [0, 2]" in result.explanation


def violate(monkeypatch: pytest.MonkeyPatch, *violated: int) -> list[dict[str, str]]:
    """Make a simulated campaign report violations for these seeds. Return a list that will contain the options of each
    campaign.
    """
    asked: list[dict[str, str]] = []

    def results(seeds: range, workers: int, keep: Path | None, **others: str) -> Iterator[Result]:
        asked.append(others)
        for seed in seeds:
            yield Result(seed, "radio", *VIOLATION) if seed in violated else Result(seed, "radio", "valid", "")

    monkeypatch.setattr(campaign, "run_campaign", results)
    return asked


def test_the_swarm_command_prints_how_to_repeat_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    violate(monkeypatch, 7)
    result = invoke("swarm", "--count", 5, "--seed", 5, "--workers", 1)
    assert result.exit_code == 1
    first, second = result.output.splitlines()[:2]
    assert first == "schedule 7 (radio) violated: " + VIOLATION[1].splitlines()[0].removesuffix(":")
    assert second == "Repeat: mobilenet swarm --count 1 --seed 7 --keep runs"
    assert result.output.splitlines()[-1] == "Next: mobilenet swarm --count 1 --seed 7 --keep runs"
    kept = invoke("swarm", "--count", 5, "--seed", 5, "--workers", 1, "--keep", "elsewhere")
    assert kept.output.splitlines()[-1] == "Next: mobilenet shrink elsewhere/swarm-s7"
    assert VIOLATION[1] in invoke("swarm", "--count", 1, "--seed", 7, "--workers", 1).output


def test_swarms_save_each_run_that_is_not_valid(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(campaign, "overall", lambda verdicts: "unknown")
    assert judge_seed(16, tmp_path / "kept").answer == "unknown"
    assert mobilenet.Run(tmp_path / "kept" / "swarm-s16").verdict == "valid"


def test_the_swarm_command_reports_correct_seeds_as_valid() -> None:
    result = invoke("swarm", "--count", "4", "--seed", "2", "--workers", "1")
    assert result.exit_code == 0 and "4 valid" in result.output


# --- another MAC


def test_another_mac_changes_only_the_radio_of_a_swarm_scene() -> None:
    drawn = set()
    for seed in range(60):
        for protocol in ("mobile_causal", "tcp_flooding"):
            usual, scene = scenes.draw(seed, protocol), scenes.draw(seed, protocol, radio="acking")
            assert usual.wireless.mac == "dcf" and scene.wireless.mac == "acking"
            assert scene.model_copy(update={"wireless": usual.wireless}) == usual
            assert (scene.wireless.range_m, scene.wireless.loss) == (usual.wireless.range_m, usual.wireless.loss)
            assert scene.with_changes([]) == scene
            assert scene.wireless == scenes.draw(seed, radio="acking").wireless
        wireless = scene.wireless
        assert 0.3 <= wireless.bitrate_mbps <= 24 and 5 <= wireless.link_ack_timeout_ms <= 200
        drawn.add((wireless.full_duplex, wireless.queue_frames))
    assert drawn == {(True, 100), (True, 5), (False, 100), (False, 5)}


@pytest.mark.long
def test_a_scene_keeps_its_range_under_another_reception_model() -> None:
    drawn = set()
    for seed in range(60):
        usual, scene = scenes.draw(seed), scenes.draw(seed, radio="sinr")
        wireless = scene.wireless
        assert model_of(wireless).cell_m == pytest.approx(usual.wireless.range_m, abs=0.2)
        assert wireless.mode == usual.wireless.mode and wireless.loss == usual.wireless.loss
        assert scene.hosts.mobility == usual.hosts.mobility and scene.faults == usual.faults
        assert scene.with_changes([]) == scene
        drawn.add((wireless.shadowing is None, wireless.fading is None))
    assert len(drawn) == 4


@pytest.mark.long
@pytest.mark.parametrize("radio", ["acking", "sinr"])
@pytest.mark.parametrize("protocol", ["mobile_causal", "tcp_flooding"])
def test_swarms_find_no_violation_on_any_other_radio(protocol: str, radio: Radio) -> None:
    results = list(run_campaign(range(32), workers=1, protocol=protocol, radio=radio))
    assert {result.network for result in results} == {"radio"}
    assert [result for result in results if result.answer == "violated"] == []
    assert sum(result.answer == "valid" for result in results) > 24  # Some runs do not end in time.
    happened: Counter[str] = Counter()
    for result in results:
        happened.update(result.happened)
    wanted = ("join", "leave", "broadcast", "deliver", "crash", "recover", "gap", "handoff_start", "handoff_end")
    assert all(happened[event] > 13 for event in wanted), happened


def test_swarms_save_non_valid_runs_over_another_mac_unchanged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(campaign, "overall", lambda verdicts: "unknown")
    result = judge_seed(16, tmp_path / "kept", protocol="tcp_flooding", radio="acking")
    run = mobilenet.Run(tmp_path / "kept" / "swarm-s16")
    assert run.manifest["command"] == "mobilenet swarm --count 1 --seed 16 --protocol tcp_flooding --mac acking"
    assert run.manifest["fingerprint"] == result.fingerprint


@pytest.mark.parametrize(
    ("words", "repeat", "following", "radio"),
    [
        (["acking"], " --mac acking --keep runs", "--protocol tcp_flooding --mac acking", "acking"),
        (["dcf"], " --keep runs", "--protocol tcp_flooding", None),
        (["dcf", "--keep", "a place"], " --keep 'a place'", "mobilenet shrink 'a place/swarm-s5'", None),
    ],
)
def test_the_printed_swarm_command_includes_a_mac_other_than_dcf(
    words: list[str], repeat: str, following: str, radio: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = violate(monkeypatch, 5)
    command = "mobilenet swarm --count 1 --seed {} --protocol tcp_flooding{}"
    options = ("--count", 1, "--seed", 5, "--workers", 1, "--protocol", "tcp_flooding")
    output = invoke("swarm", *options, "--mac", *words).output
    assert f"Repeat: {command.format(5, repeat)}\n" in output
    assert output.splitlines()[-1].endswith(following)
    assert [others.get("radio") for others in asked] == [radio]


@pytest.mark.parametrize("protocol", sorted(AMONG_PROCESSES))
def test_the_swarm_command_rejects_a_mac_for_processes(protocol: str) -> None:
    for mac in ("dcf", "acking"):
        result = invoke("swarm", "--count", "1", "--protocol", protocol, "--mac", mac)
        assert result.exit_code == 2
        assert result.output.splitlines() == [
            f"--mac {mac}: {protocol} is a broadcast among processes, which have no radio"
        ]


TOGETHER = {
    "--station-command x": "--station-command: applies only to programs; specify --command as well",
    "--promises fifo": "--promises: applies only to programs; specify --command as well",
    "--command x --protocol causal": "--protocol causal: specify either --protocol or --command, not both",
    "--command x --backbone tree": "--backbone tree: applies only to mobile_causal, not to a program",
}


@pytest.mark.parametrize("options", TOGETHER)
def test_the_swarm_command_rejects_conflicting_program_options(options: str) -> None:
    result = invoke("swarm", "--count", "1", "--allow-code", *options.split())
    assert result.exit_code == 2 and result.output.splitlines() == [TOGETHER[options]]


def test_the_swarm_judges_a_plug_in_by_the_promises_it_declares(tmp_path: Path) -> None:
    results = list(campaign.run_campaign(range(1, 5), 1, protocol=GOSSIP))
    assert [result.answer for result in results] == ["valid"] * 4
    text = (PLUG_INS / "gossip.py").read_text(encoding="utf-8")
    (tmp_path / "bold.py").write_text(text.replace('promises = "best_effort"', 'promises = "causal"'), encoding="utf-8")
    bold = list(campaign.run_campaign(range(1, 7), 1, protocol=f"{tmp_path / 'bold.py'}:Gossip"))
    assert "violated" in [result.answer for result in bold]
    assert campaign.again(3, protocol=GOSSIP).endswith(f"--protocol {GOSSIP} --allow-code")
