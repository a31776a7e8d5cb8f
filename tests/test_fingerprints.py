"""Tests that every scenario behaves, to the nanosecond, as it did when its fingerprint was stored in fingerprints.json.

Model     Each scenario is shortened to DURATION_S. The file holds digests of the events (the fingerprint of a run), of
          the samples and of the counters. The counters also cover what events do not record: each frame and its fate.
Rule      A change that alters a fingerprint renews all of them and explains the reason in a line of CHANGELOG.md:

              python -m tests.test_fingerprints --renew
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from mobilenet import api
from mobilenet.metrics.declaration import as_whole
from mobilenet.record.recorder import Recording
from mobilenet.scenario import Scenario
from mobilenet.simulation.mobile import Progress, Simulation

ROOT = Path(__file__).parents[1]
PINNED = Path(__file__).with_name("fingerprints.json")
DURATION_S = 20
OTHERS = ("vcube/dynamic_on_vcube.yaml", "own_protocol/gossip.yaml", "own_protocol/roaming.yaml")
FILES = [*(ROOT / "scenarios").glob("*.yaml"), *(ROOT / "scenarios" / name for name in OTHERS)]
PATHS = {path.stem: path for path in sorted(FILES, key=lambda path: path.stem)}
PATHS |= {f"paper/{path.stem}": path for path in sorted((ROOT / "scenarios" / "paper").glob("*.yaml"))}
SCENARIOS = list(PATHS)
Digests = dict[str, str]


def shorten(name: str, *overrides: str) -> Scenario:
    return Scenario.load(PATHS[name], [f"duration_s={DURATION_S}", *overrides])


def record(scenario: Scenario, progress: Progress | None = None) -> Recording:
    return Simulation(scenario, allow_code=True).run(progress).recording


def digests(recording: Recording) -> Digests:
    return {
        "events": recording.fingerprint(),
        "samples": _digest(_columns(recording, "samples")),
        "counters": _digest(recording.counters),
    }


def _columns(recording: Recording, table: str) -> dict[str, list[Any]]:
    """Return the columns as lists, with whole numbers as integers."""
    return {name: list(map(as_whole, values)) for name, values in recording.tables()[table].items()}


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def all_digests(names: list[str]) -> dict[str, Digests]:
    return {name: digests(record(shorten(name))) for name in names}


def pinned_digests(name: str) -> Digests:
    expectation: Digests = json.loads(PINNED.read_text())[name]
    return expectation


def test_every_shipped_scenario_has_a_pinned_fingerprint() -> None:
    assert list(json.loads(PINNED.read_text())) == SCENARIOS, "renew: see the head of this file"


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_matches_its_pinned_fingerprint(name: str) -> None:
    assert digests(record(shorten(name))) == pinned_digests(name), (
        "meant? then renew and say why: see the head of this file"
    )


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_fingerprints_do_not_depend_on_hash_seed_or_directory(hash_seed: str, tmp_path: Path) -> None:
    """The other tests of fingerprints use the hash seed of this process, which is usually random."""
    names = ["churn", "first", "holes", "streets", "paper/tcp_static"]
    place = tmp_path / "ein Ort, wo ✈ nichts ist"
    place.mkdir()
    env = os.environ | {"PYTHONHASHSEED": hash_seed}
    command = [sys.executable, str(Path(__file__)), *names]
    done = subprocess.run(command, cwd=place, env=env, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {name: pinned_digests(name) for name in names}


def test_consecutive_simulations_do_not_affect_each_other() -> None:
    run_digests = [digests(record(shorten(name))) for name in ("churn", "first", "churn")]
    assert run_digests == [pinned_digests("churn"), pinned_digests("first"), pinned_digests("churn")]


def test_interleaved_simulations_do_not_affect_each_other() -> None:
    """Two threads take turns at each simulated second. Neither simulation may be affected by the state of the other."""
    names = ("churn", "holes", "churn")
    digests_of: dict[int, Digests] = {}
    turns = [threading.Semaphore(0) for _ in names]
    running = list(range(len(names)))

    def hand_over(me: int) -> None:
        if running:
            turns[running[(running.index(me) + 1) % len(running)]].release()
            turns[me].acquire()

    def one(me: int) -> None:
        turns[me].acquire()
        recording = record(shorten(names[me]), lambda done_s, total_s: hand_over(me))
        digests_of[me] = digests(recording)
        follower = running[(running.index(me) + 1) % len(running)]
        running.remove(me)
        turns[follower].release()

    threads = [threading.Thread(target=one, args=(me,), daemon=True) for me in range(len(names))]
    for thread in threads:
        thread.start()
    turns[0].release()
    for thread in threads:
        thread.join(timeout=120)
    assert digests_of == {me: pinned_digests(name) for me, name in enumerate(names)}


@pytest.mark.parametrize("name", ["churn", "holes", "streets"])
def test_a_run_can_be_repeated_from_its_directory(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    once = api.run(shorten(name), out=tmp_path / "once")
    monkeypatch.chdir(tmp_path)  # The files were copied into the run, so its scenario runs from any folder.
    again = api.run(Path("once", "scenario.yaml"), out="again")
    assert once.manifest["fingerprint"] == again.manifest["fingerprint"] == pinned_digests(name)["events"]
    assert once.metrics == again.metrics and once.counters == again.counters


@pytest.mark.parametrize("name", ["first", "holes", "radio_check"])
def test_recording_more_tables_does_not_change_a_run(name: str) -> None:
    full = record(shorten(name, "record.frames=true", "record.messages=true", "record.positions_interval_s=0.1"))
    assert full.frames is not None and len(full.frames) > 100
    assert digests(full) == pinned_digests(name)


@pytest.mark.parametrize("name", ["dynamic", "faults", "churn", "holes"])
def test_the_world_does_not_depend_on_the_protocol(name: str) -> None:
    """Different settings of the protocol lead to different timers, but walks, broadcast attempts and crashes stay the
    same.
    """
    other = record(shorten(name, "protocol.ack_min_s=0.1", "protocol.resend_first_s=0.6", "protocol.heartbeat_s=3"))
    usual = record(shorten(name))
    assert other.fingerprint() != usual.fingerprint()
    assert _columns(other, "positions") == _columns(usual, "positions")
    for kinds in (("broadcast", "refused"), ("crash",), ("recover",), ("out_of_coverage", "in_coverage")):
        assert events_of(other, kinds) == events_of(usual, kinds)


def events_of(recording: Recording, kinds: tuple[str, ...]) -> list[tuple[int, str]]:
    """Return the times and nodes of the events of these kinds, up to the moment when the hosts stop moving."""
    events = recording.events
    rows = zip(events.time_ns, events.node, events.event, strict=True)
    return [(time, node) for time, node, event in rows if event in kinds and time < DURATION_S * 10**9]


if __name__ == "__main__":
    if sys.argv[1:] == ["--renew"]:
        PINNED.write_text(json.dumps(all_digests(SCENARIOS), indent=2) + "\n", encoding="utf-8")
        print(f"renewed {PINNED.name}; now say in CHANGELOG.md what changed the runs, and why")
    else:
        print(json.dumps(all_digests(sys.argv[1:])))
