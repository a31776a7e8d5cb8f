"""Tests of gaps with an expiry time T = 3 s on both networks. A gap after a silence of at least T is valid, and an
earlier gap is a violation.

The network measures the silence.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mobilenet
from mobilenet.lab.hunt.swarm.campaign import record_adversary
from mobilenet.lab.hunt.swarm.schedule import draw
from mobilenet.protocols.mobile_causal import MobileCausalParameters, Station
from mobilenet.protocols.mobile_causal.context import State
from mobilenet.protocols.mobile_causal.declaration import MobileCausal
from mobilenet.record.reader import read_columns, read_events
from mobilenet.scenario import Scenario
from mobilenet.verify import Verdict, verify_run
from mobilenet.verify.judge import overall

from .damage import Copy, Damage, verdicts_after

T_S = 3.0
SILENT_HOSTS = """
seed: 5
duration_s: 30
drain_s: 60
stations: {layout: {shape: points, points_m: [[0, 0], [130, 0]]}}
wireless: {range_m: 80, loss: 0.05}
hosts: {count: 5, mobility: {model: random_waypoint, speed_mps: [8, 12]}}
faults:
  schedule: explicit
  outages:
    - {host: h0, at_s: 6, duration_s: 2}
    - {host: h1, at_s: 6, duration_s: 5}
    - {host: h2, at_s: 9, duration_s: 2.2}
    - {host: h3, at_s: 12, duration_s: 7}
    - {host: h1, at_s: 18, duration_s: 2}
protocol: {name: mobile_causal, expiry_s: 3, heartbeat_s: 0.5}
workload: {interval_s: 1}
record: {messages: true}
"""


class Early(Station):
    """A station that gives up on a host after half of T, and reports this to the network."""

    def __init__(self, port: Any, wired: Any, parameters: MobileCausalParameters, *rest: Any) -> None:
        assert parameters.expiry_s is not None
        super().__init__(port, wired, parameters.model_copy(update={"expiry_s": parameters.expiry_s / 2}), *rest)


class EarlyAndMute(Early):
    """A station that gives up on a host after half of T without reporting it."""

    def _on_expiry_timer(self) -> None:
        for c in list(self.ctx.values()):
            if c.state is State.OWN and not c.expired and self._port.now - c.heard_ns >= T_S / 2 * 1e9:
                self._expire(c)
        super()._on_expiry_timer()


class EarlyAndLying(Early):
    """A station that gives up on a host too early, because it backdates everything that it hears from the host."""

    def on_receive(self, sender: int, message: Any) -> None:
        super().on_receive(sender, message)
        if (c := self.ctx.get(sender)) is not None:
            c.heard_ns -= round(T_S / 2 * 1e9)


EARLY = [Early, EarlyAndMute, EarlyAndLying]
Recorder = Callable[[int, Path, type[Station]], None]


def on_the_radio(seed: int, directory: Path, station: type[Station]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MobileCausal, "station", station)
        mobilenet.run(Scenario.from_text(SILENT_HOSTS, [f"seed={seed}"]), out=directory)


def on_the_adversary(seed: int, directory: Path, station: type[Station]) -> None:
    drawn = draw(seed, "expiry")
    directory.mkdir()
    parameters = drawn.parameters.model_copy(update={"expiry_s": T_S, "heartbeat_s": 2.0})
    record_adversary(replace(drawn, parameters=parameters), directory, station_class=station, check=False)


NETWORKS: dict[str, Recorder] = {"radio": on_the_radio, "adversary": on_the_adversary}


def judge(record: Recorder, seeds: range, place: Path, station: type[Station] = Station) -> list[dict[str, Verdict]]:
    verdicts = []
    for seed in seeds:
        record(seed, place / f"run{seed}", station)
        verdicts.append(verify_run(place / f"run{seed}"))
    return verdicts


@pytest.mark.parametrize("network", NETWORKS)
def test_justified_gaps_are_valid(network: str, tmp_path: Path) -> None:
    assert {overall(verdicts) for verdicts in judge(NETWORKS[network], range(6), tmp_path)} == {"valid"}
    events = Counter(event for seed in range(6) for event in read_events(tmp_path / f"run{seed}")["event"])
    assert events["gap"] > 10 and events["expire"] > 10


@pytest.mark.parametrize("mutant", EARLY)
@pytest.mark.parametrize("network", NETWORKS)
def test_giving_up_hosts_too_early_is_detected(network: str, mutant: type[Station], tmp_path: Path) -> None:
    for verdicts in judge(NETWORKS[network], range(4), tmp_path, mutant):
        assert verdicts["gaps"].answer == "violated", verdicts
        explanation = verdicts["gaps"].explanation
        assert any(
            words in explanation for words in ("gives up", "no station gave up on it", "it was silent for at most")
        ), explanation


@pytest.fixture(scope="module")
def silent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "silent"
    on_the_radio(5, path, Station)
    return path


def test_the_silence_of_a_host_agrees_with_radio_receptions(silent: Path) -> None:
    """The oracle is the table of messages, which is written by separate code."""
    events, messages = mobilenet.Run(silent).events, mobilenet.Run(silent).messages
    heard = messages[(messages.medium == "radio") & (messages.fate == "received")]
    expired = events[events.event == "expire"]
    assert len(expired) >= 2
    for _, row in expired.iterrows():
        detail = json.loads(row.detail)
        own = heard[(heard.receiver == row.node) & (heard.sender == detail["host"]) & (heard.receive_ns <= row.time_ns)]
        silent_s = (row.time_ns - own.receive_ns.max()) / 1e9
        # The network hands the message to the station when the last node in range has received the frame.
        assert detail["silent_s"] == pytest.approx(silent_s, abs=2e-6)
        assert T_S <= silent_s < T_S * 9 / 8 + 0.01  # Stations check the silence eight times in each period of T.


def test_without_expiry_no_gap_is_recorded(tmp_path: Path) -> None:
    run = mobilenet.run(Scenario.from_text(SILENT_HOSTS, ["protocol.expiry_s=null"]), out=tmp_path / "run")
    assert not set(run.events.event) & {"expire", "gap"} and run.verdict == "valid"


def another_gap(copy: Copy) -> None:
    row = copy.last("deliver", "h4")
    copy.insert(row, node="h4", event="gap", session=copy.events.session[row], station="s0")


DAMAGES: dict[str, Damage] = {
    "nobody gave it up": lambda copy: copy.remove(copy.first("expire")),
    "somebody else was given up": lambda copy: copy.events.say(copy.first("expire"), host="h4"),
    "it was silent for less": lambda copy: copy.events.add(copy.first("expire"), silent_s=-0.5),
    "a host that nobody gave up": another_gap,
}


@pytest.mark.parametrize("name", DAMAGES)
def test_an_inconsistent_gap_is_reported_as_a_violation(name: str, silent: Path, tmp_path: Path) -> None:
    assert read_columns(silent, "events")["event"].count("gap") >= 2
    verdicts = verdicts_after(silent, tmp_path / "damaged", DAMAGES[name])
    assert verdicts["gaps"].answer == "violated" and 1 <= len(verdicts["gaps"].explanation.splitlines()) < 10
