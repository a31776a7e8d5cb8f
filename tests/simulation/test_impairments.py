"""Tests of losses and delays that a user adds to hosts and links by hand, and of the verdict on the record."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mobilenet.api import Run, run, simulate
from mobilenet.engine.kernel import Kernel
from mobilenet.engine.random_streams import Stream
from mobilenet.lab.live.effect import in_words
from mobilenet.lab.live.session import LiveSession
from mobilenet.network.wired.link import Link
from mobilenet.scenario import Scenario
from mobilenet.scenario.plans.expectations import NEVER_S
from mobilenet.scenario.plans.quiescence import rest, surely_heard_every_s
from tests.conftest import FIRST

MILLISECOND = 1_000_000
HOST = {"do": "impair", "host": "h1"}
LINK = {"do": "impair_link", "link": ["s0", "s1"]}
SOME = [
    {"at_s": 3, **HOST, "loss": 0.3, "delay_s": 0.4},
    {"at_s": 4, **LINK, "delay_s": 0.5},
    {"at_s": 8, **HOST, "delay_s": 0.02},
    {"at_s": 9, **LINK, "delay_s": 0.1},
    {"at_s": 10, "do": "impair", "host": "h2", "loss": 1},
    {"at_s": 12, "do": "impair", "host": "h2"},
]


def scenario(interventions: list[dict[str, Any]], *more: str) -> Scenario:
    kept = ["record.frames=true", "record.messages=true"]
    return Scenario.load(FIRST, ["duration_s=16", *kept, f"interventions={json.dumps(interventions)}", *more])


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(scenario(SOME), out=tmp_path_factory.mktemp("impaired") / "run")


def test_messages_on_an_impaired_link_stay_in_order() -> None:
    kernel, arrived = Kernel(), []
    lost: list[str] = []
    link = Link(kernel, 8_000_000, 10 * MILLISECOND, lambda one, why: lost.append(why))
    draws = Stream(1, "impaired", "s0-s1")

    def send(name: str) -> None:
        link.send(1000, lambda: arrived.append((name, kernel.now // MILLISECOND)))  # A message takes 1 ms.

    send("a")
    link.impair(0.0, 50 * MILLISECOND, draws)
    send("b")
    link.impair(0.0, 0, draws)
    send("c")
    link.impair(1.0, 0, draws)
    send("d")
    link.send(1000, lambda: arrived.append(("e", kernel.now // MILLISECOND)), is_spared=True)
    kernel.run_until(100 * MILLISECOND)
    assert arrived == [("a", 11), ("b", 62), ("c", 62), ("e", 62)] and lost == ["random"]
    assert link.sent == link.delivered + link.lost == 5


def test_an_impaired_host_loses_more_frames_and_sends_late(done: Run) -> None:
    assert done.verdict == "valid" and done.manifest["quiescent"]
    frames = done.frames[done.frames.start_ns.between(3e9, 8e9)]
    own = (frames.sender == "h1") | (frames.receiver == "h1")
    ended = frames[frames.fate.isin(["received", "random"])]
    share = (ended.fate == "random")[own].mean()
    assert 0.2 < share < 0.4 and not (ended.fate == "random")[~own].any()
    silent = done.frames[done.frames.start_ns.between(10.05e9, 11.95e9)]
    of_h2 = silent[(silent.sender == "h2") | (silent.receiver == "h2")]
    assert len(of_h2) and "received" not in set(of_h2.fate)
    sent, made = done.messages, done.events
    copies = sent[(sent.sender == "h1") & (sent.kind == "AppHs")].groupby("message").send_ns.min()
    when = made[(made.event == "broadcast") & (made.node == "h1")].set_index("message").time_ns
    waits_s = ((copies - when) / 1e9).dropna()
    late = waits_s[when[waits_s.index].between(3e9, 8e9)]
    assert len(late) and (late >= 0.4).all() and (waits_s[when[waits_s.index] < 3e9] < 0.4).all()


def test_an_impairment_adds_delay_to_its_link(done: Run) -> None:
    hops = done.messages[(done.messages.medium == "wired") & done.messages.sender.isin(["s0", "s1"])]
    hops = hops[hops.receiver.isin(["s0", "s1"])]
    took_s = (hops.receive_ns - hops.send_ns) / 1e9
    since = np.searchsorted([4e9, 9e9, 16e9], hops.send_ns)
    for state, least_s in enumerate((0.01, 0.51, 0.11, 0.01)):
        assert took_s[since == state].min() == pytest.approx(least_s, abs=0.002) or not (since == state).any()


def test_a_run_with_impairments_repeats_and_equals_a_live_one() -> None:
    once = simulate(scenario(SOME)).recording.fingerprint()
    live = LiveSession(scenario([]))
    for one in scenario(SOME).interventions:
        live.play(one.at_s)
        live.do(one.do, **one.model_dump(exclude={"do", "at_s"}))
    live.play()
    assert live.fingerprint == once != simulate(scenario([])).recording.fingerprint()


def test_an_impairment_without_values_changes_nothing() -> None:
    none = [{"at_s": 3, **HOST}, {"at_s": 3, **LINK}]
    runs = [simulate(scenario(some, "wireless.loss=0.1")).recording.fingerprint() for some in (none, [])]
    assert runs[0] == runs[1]


def test_tcp_retransmits_data_lost_on_an_impaired_link(tmp_path: Path) -> None:
    lossy = [{"at_s": 4, **LINK, "loss": 0.2, "delay_s": 0.05}]
    recorded_run = run(scenario(lossy, "protocol={name: tcp_flooding}"), out=tmp_path / "run")
    assert recorded_run.verdict == "valid", recorded_run.verdicts
    wired = recorded_run.messages[recorded_run.messages.medium == "wired"]
    fates, counted = Counter(wired.fate), recorded_run.counters["wired"]
    assert fates == {"received": counted["delivered"], "random": counted["lost"]} and counted["lost"] > 3


def test_a_crash_drops_the_delayed_frames_of_a_host(tmp_path: Path) -> None:
    down = {"at_s": 6, "do": "crash", "host": "h1"}, {"at_s": 10, "do": "recover", "host": "h1"}
    recorded_run = run(scenario([{"at_s": 3, **HOST, "delay_s": 2}, *down]), out=tmp_path / "run")
    sent_s = recorded_run.frames[recorded_run.frames.sender == "h1"].start_ns / 1e9
    assert recorded_run.verdict == "valid" and not ((sent_s > 6.001) & (sent_s < 12)).any()


def test_the_estimated_time_to_rest_includes_impairment_delays() -> None:
    late, never = scenario([{"at_s": 3, **HOST, "delay_s": 5}, {"at_s": 4, **LINK, "delay_s": 7}]), scenario([])
    waits_s = rest(late).longest_wait_s, rest(never).longest_wait_s
    assert None not in waits_s and waits_s[0] >= waits_s[1] + 5  # type: ignore[operator]
    assert surely_heard_every_s(late) == pytest.approx(surely_heard_every_s(never) + 5)
    lossy = scenario([{"at_s": 3, **HOST, "loss": 0.9}])
    assert lossy.most_loss == 0.9 and surely_heard_every_s(lossy) == NEVER_S


def test_impairments_are_described_in_words() -> None:
    sentences = [in_words(one) for one in scenario(SOME).interventions]
    assert (
        sentences[0] == "loss of 30 % and delay of 0.4 s of h1 at 3 s"
        and sentences[5] == "end of the impairment of h2 at 12 s"
    )
    assert sentences[1] == "delay of 0.5 s of s0–s1 at 4 s"
