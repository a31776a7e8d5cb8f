"""Tests of interventions by a user. An intervention takes effect on time, a run with interventions can be repeated, and
the verifier checks them in the record.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobilenet.api import Run, run, simulate
from mobilenet.lab.live.session import LiveSession
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import Scenario
from mobilenet.scenario.interventions_check import without_effect
from mobilenet.scenario.plans.hosts import expectations
from mobilenet.simulation.mobile import Simulation
from mobilenet.simulation.outcome import Outcome
from mobilenet.verify.broadcasts.requests import obedience
from mobilenet.world.interventions import in_order
from tests.conftest import FIRST

BY_HAND: dict[str, dict[str, Any]] = {
    "crash": {"at_s": 5.123456789, "host": "h1"},
    "recover": {"at_s": 9, "host": "h1"},
    "drag": {"at_s": 10, "host": "h2", "to_m": [400, 30]},
    "leave": {"at_s": 12, "host": "h4"},
    "join": {"at_s": 16, "host": "h4"},
    "loss": {"at_s": 17, "loss": 0.3},
    "interval": {"at_s": 18, "interval_s": 0.5},
    "broadcast": {"at_s": 19.5, "host": "h0"},
    "add": {"at_s": 7.5, "to_m": [210, 40]},
    "cut": {"at_s": 6, "link": ["s1", "s0"]},
    "mend": {"at_s": 8, "link": ["s0", "s1"]},
    "radio_off": {"at_s": 13.25, "station": "s1"},
    "radio_on": {"at_s": 14.5, "station": "s1"},
}
ALL = [{"do": do, **more} for do, more in BY_HAND.items()]


def scenario(interventions: list[dict[str, Any]], *more: str) -> Scenario:
    return Scenario.load(FIRST, ["duration_s=20", f"interventions={json.dumps(interventions)}", *more])


def play(interventions: list[dict[str, Any]], *more: str) -> Outcome:
    run_outcome = simulate(scenario(interventions, *more))
    assert isinstance(run_outcome, Outcome)
    return run_outcome


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(scenario(ALL), out=tmp_path_factory.mktemp("by hand") / "run")


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return play(ALL)


def test_interventions_take_effect_at_their_times(done: Run) -> None:
    assert done.verdict == "valid"
    events = done.events
    what = {(row.event, row.node, row.time_ns) for row in events.itertuples()}
    assert {("crash", "h1", 5_123_456_789), ("recover", "h1", 9_000_000_000)} <= what
    assert ("broadcast", "h0", 19_500_000_000) in what
    of_h4 = events[(events.node == "h4") & events.event.isin(["join", "leave"]) & (events.time_ns >= 12e9)]
    assert of_h4.event.tolist() == ["leave", "join"] and of_h4.time_ns.iloc[1] >= 16e9
    sent = events[events.event == "broadcast"].time_ns
    assert ((sent > 18e9) & (sent < 20e9)).sum() > 3 * ((sent > 14e9) & (sent < 16e9)).sum()
    assert done.counters["radio"]["lost"]["random"] > 0


def test_a_dragged_host_walks_on_from_its_new_position(done: Run) -> None:
    track = done.positions[done.positions.node == "h2"].set_index("time_ns")
    assert np.hypot(track.x_m[11 * 10**9] - 400, track.y_m[11 * 10**9] - 30) < 5.001
    steps = np.hypot(track.x_m.diff(), track.y_m.diff())[track.index > 11 * 10**9]
    assert (steps <= 5.001).all() and steps.max() > 4.5


def test_a_run_with_interventions_repeats_from_its_directory(done: Run, tmp_path: Path) -> None:
    again = run(done.path / "scenario.yaml", out=tmp_path / "again")
    assert again.manifest["fingerprint"] == done.manifest["fingerprint"]


def test_an_empty_list_of_interventions_changes_nothing() -> None:
    assert play([]).recording.fingerprint() == simulate(Scenario.load(FIRST, ["duration_s=20"])).recording.fingerprint()


def problem(done: Outcome, scenario: Scenario) -> str | None:
    return obedience(done.recording.tables()["events"], expectations(scenario)).unasked


def whom(one: dict[str, Any]) -> str:
    return str(one.get("host") or one.get("station") or one.get("link") or one["do"])


HOST = st.sampled_from([f"h{number}" for number in range(6)])
WHEN = st.integers(0, 11_900_000_000).map(lambda ns: ns / 1e9)
PLACE = st.tuples(st.floats(-150, 550), st.floats(-150, 150)).map(list)


def one_of(*what: str, **how: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"do": st.sampled_from(what), "at_s": WHEN, **how})


ANY = st.one_of(
    one_of("crash", "recover", "join", "leave", "broadcast", host=HOST),
    one_of("drag", host=HOST, to_m=PLACE),
    one_of("add", to_m=PLACE),
    one_of("loss", loss=st.sampled_from([0.0, 0.1, 0.5])),
    one_of("cut", "mend", link=st.sampled_from([["s0", "s1"], ["s1", "s2"]])),
    one_of("radio_off", "radio_on", station=st.sampled_from(["s0", "s1", "s2"])),
    one_of("impair", host=HOST, loss=st.sampled_from([0.0, 0.2, 1.0]), delay_s=st.sampled_from([0.0, 0.03, 1.0])),
    one_of("impair_link", link=st.just(["s1", "s2"]), delay_s=st.sampled_from([0.0, 0.03, 1.0])),
    one_of("interval", interval_s=st.sampled_from([0.3, 1.0, 5.0])),
)


@settings(max_examples=25)
@given(
    st.lists(ANY, max_size=12, unique_by=lambda one: (whom(one), one["at_s"])),
    st.sampled_from(["null", "{schedule: random, rate_per_host_per_min: 6, mean_duration_s: 1}"]),
)
def test_runs_with_random_interventions_are_valid_and_repeatable(
    tmp_path_factory: pytest.TempPathFactory, interventions: list[dict[str, Any]], faults: str
) -> None:
    changes = ("duration_s=12", f"faults={faults}", "wireless.loss=0.05")
    idle = without_effect(scenario([], *changes), interventions)
    values = scenario([one for place, one in enumerate(interventions) if place not in idle], *changes)
    folder = tmp_path_factory.mktemp("any")
    first = run(values, out=folder / "one")
    assert first.verdict != "violated", (first.verdicts, interventions)
    assert simulate(values).recording.fingerprint() == first.manifest["fingerprint"]
    if faults == "null":
        asked = [(one.host, one.at_s) for one in in_order(values.interventions) if one.do == "crash"]
        crashes = first.events[first.events.event == "crash"]
        # `values` contains only interventions that take effect
        assert [*zip(crashes.node, crashes.time_ns / 1e9, strict=True)] == asked


WRONG = [
    ({"at_s": 20, "do": "crash", "host": "h1"}, "interventions.0.at_s: got 20 s, expected less than duration_s (20 s)"),
    ({"at_s": 1, "do": "crash", "host": "h9"}, "interventions: h9 does not exist; there are 6 hosts, h0 to h5"),
    ({"at_s": 1, "do": "fly", "host": "h1"}, "unknown do fly"),
    ({"at_s": 1, "do": "add", "to_m": [2e6, 0]}, "interventions.0.to_m: expected coordinates in metres, from -1e+06"),
    ({"at_s": 1, "do": "drag", "host": "h1", "to_m": [1e9, 0]}, "expected coordinates in metres, from -1e+06 to 1e+06"),
    ({"at_s": 1, "do": "crash", "host": "h1", "to_m": [0, 0]}, "to_m: unknown key"),
    (
        {"at_s": 1, "do": "cut", "link": ["s2", "s0"]},
        "interventions.0.link: no link between s0 and s2; the links are s0-s1, s1-s2",
    ),
    ({"at_s": 1, "do": "mend", "link": ["s0", "s0"]}, "no link between s0 and s0; the links are s0-s1, s1-s2"),
    ({"at_s": 1, "do": "mend", "link": ["s0", "s1"], "loses": True}, "loses: unknown key"),
    (
        {"at_s": 1, "do": "impair_link", "link": ["s0", "s1"], "loss": 0.1},
        "interventions.0.loss: got 0.1, but mobile_causal assumes lossless wires; expected 0, or a cut with loses: tr",
    ),
    ({"at_s": 1, "do": "impair_link", "link": ["s0", "s2"], "delay_s": 1}, "no link between s0 and s2; the links are"),
    ({"at_s": 1, "do": "impair", "host": "h9", "loss": 0.1}, "interventions: h9 does not exist"),
    ({"at_s": 1, "do": "impair", "host": "h1", "loss": 1.1}, "loss: should be at most 1, got 1.1"),
    (
        {"at_s": 1, "do": "radio_off", "station": "s3"},
        "interventions.0.station: s3 does not exist; there are 3 stations, s0 to s2",
    ),
    (
        {"at_s": 5.0, "do": "leave", "host": "h3"},
        "interventions.1: another intervention on h3 at 5 s; expected at most one at a time",
    ),
]


@pytest.mark.parametrize(("one", "complaint"), WRONG)
def test_malformed_interventions_are_rejected(one: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario([{"at_s": 5, "do": "crash", "host": "h3"}, one] if one["at_s"] == 5 else [one])
    assert complaint in str(caught.value)


def of(host: str, *what: tuple[str, float]) -> list[dict[str, Any]]:
    return [{"at_s": at_s, "do": do, "host": host} for do, at_s in what]


OUTAGE = "faults={schedule: explicit, outages: [{host: h1, at_s: 5, duration_s: 4}]}"
NO_EFFECT = [
    (of("h1", ("crash", 4), ("crash", 6)), [], 1, "h1 is already down, so crash has no effect; expected recover"),
    (of("h1", ("recover", 4)), [], 0, "h1 is already up, so recover has no effect; expected crash"),
    (of("h1", ("crash", 6), ("recover", 7), ("recover", 4)), [], 2, "h1 is already up, so recover"),
    (of("h1", ("crash", 6)), [OUTAGE], 0, "h1 is already down, so crash"),
    (of("h1", ("recover", 9)), [OUTAGE], 0, "h1 is already up, so recover"),
    (of("h1", ("recover", 6), ("crash", 7), ("crash", 10)), [OUTAGE], 2, "h1 is already down, so crash"),
]


@pytest.mark.parametrize(("interventions", "more", "place", "complaint"), NO_EFFECT)
def test_an_intervention_without_effect_is_rejected(
    interventions: list[dict[str, Any]], more: list[str], place: int, complaint: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario(interventions, *more)
    assert f"interventions.{place}.do: {complaint}" in str(caught.value) and "\n" not in str(caught.value)


def test_a_rejected_intervention_without_effect_states_its_line(tmp_path: Path) -> None:
    path = tmp_path / "twice.yaml"
    last = "  - {at_s: 6, do: crash, host: h1}\n  - {at_s: 7, do: crash, host: h1}\n"
    path.write_text(FIRST.read_text() + "interventions:\n" + last)
    line = path.read_text().count("\n")
    with pytest.raises(ScenarioError, match=rf"twice.yaml:{line}: interventions.1.do: h1 is already down"):
        Scenario.load(path)


@pytest.mark.parametrize(
    ("interventions", "more"),
    [
        (of("h1", ("crash", 4), ("recover", 6), ("crash", 7)), []),
        (of("h1", ("crash", 7), ("crash", 4), ("recover", 6)), []),  # The result is sorted by time.
        (of("h1", ("crash", 4)) + of("h2", ("crash", 5)), []),
        (of("h1", ("crash", 9)), [OUTAGE]),
        (of("h1", ("recover", 7), ("crash", 8), ("recover", 10)), [OUTAGE]),  # OUTAGE does not end a later outage
        (of("h1", ("crash", 4), ("crash", 6)), ["faults={schedule: random, rate_per_host_per_min: 1}"]),
        (of("h1", ("recover", 4), ("crash", 5), ("crash", 6)), ["faults={schedule: paper, station: s0}"]),
    ],
)
def test_an_intervention_with_a_possible_effect_is_accepted(
    interventions: list[dict[str, Any]], more: list[str]
) -> None:
    more = [one.replace("per_min: 1}", "per_min: 1, mean_duration_s: 3}") for one in more]
    assert len(scenario(interventions, *more).interventions) == len(interventions)


def test_simultaneous_interventions_on_one_link_are_rejected() -> None:
    link = [{"at_s": 1, "do": "cut", "link": ["s0", "s1"]}, {"at_s": 1, "do": "mend", "link": ["s1", "s0"]}]
    with pytest.raises(
        ScenarioError, match=r"interventions.1: another intervention on s0-s1 at 1 s; expected at most one at a time"
    ):
        scenario(link)
    scenario([link[0], {"at_s": 1, "do": "cut", "link": ["s1", "s2"]}])


def test_any_link_of_a_mesh_can_be_cut() -> None:
    mesh = "stations.backbone={kind: vcube_causal}"
    scenario([{"at_s": 1, "do": "cut", "link": ["s0", "s2"]}], mesh)
    with pytest.raises(ScenarioError, match="no link between s0 and s3; all pairs of s0 to s2 have a link"):
        scenario([{"at_s": 1, "do": "cut", "link": ["s0", "s3"]}], mesh)


@pytest.mark.parametrize("more", [[], ["wireless.loss=0.1", "record.messages=true"], ["protocol={name: tcp_flooding}"]])
def test_live_and_scheduled_interventions_have_the_same_effect(more: list[str]) -> None:
    live = LiveSession(scenario([], *more))
    for one in in_order(scenario(ALL).interventions):
        live.play(one.at_s)
        live.do(one.do, **one.model_dump(exclude={"do", "at_s"}))
    live.play()
    alone = simulate(scenario(ALL, *more))
    assert live.fingerprint == alone.recording.fingerprint()
    assert in_order(live.scenario.interventions) == in_order(scenario(ALL).interventions)


def test_an_intervention_in_the_past_is_rejected() -> None:
    run = Simulation(scenario([]))
    run.run()
    one = scenario(ALL[:1])
    with pytest.raises(ValueError, match=r"at_s: 5.12346 s has already passed; the run is at 20"):
        run.intervene(one, one.interventions[0])


def test_changing_the_interval_requires_periodic_broadcasts() -> None:
    with pytest.raises(
        ScenarioError, match="arrivals are 'none', so broadcasts have no interval that could be changed"
    ):
        scenario([{"at_s": 1, "do": "interval", "interval_s": 1}], "workload={arrivals: none}")
