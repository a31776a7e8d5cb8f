"""Tests of hosts that a user adds to a run. They join, walk and broadcast like other hosts, and the verifier checks
them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mobilenet.viz.map.data import document
from mobilenet.viz.report.run import run_page

from mobilenet.api import Run, run, simulate
from mobilenet.lab.live.session import LiveSession
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import Scenario
from mobilenet.scenario.plans.hosts import expectations
from mobilenet.scenario.preflight import estimated_events
from mobilenet.simulation.outcome import Outcome
from mobilenet.verify.broadcasts.requests import obedience
from tests.conftest import FIRST, SCENARIOS
from tests.simulation.test_interventions import play, scenario

ADDED = [
    {"at_s": 5, "do": "add", "to_m": [100, 20]},
    {"at_s": 8.123456789, "do": "add", "to_m": [300, -20]},
    {"at_s": 9, "do": "crash", "host": "h6"},
    {"at_s": 11, "do": "recover", "host": "h6"},
    {"at_s": 12.5, "do": "drag", "host": "h7", "to_m": [0, 10]},
    {"at_s": 15, "do": "broadcast", "host": "h7"},
    {"at_s": 16, "do": "leave", "host": "h6"},
]
AREA = "area: {box_m: [-100, -100, 500, 100]}"


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(scenario(ADDED), out=tmp_path_factory.mktemp("added") / "run")


def test_added_hosts_exist_from_the_time_they_are_added(done: Run) -> None:
    assert done.verdict == "valid" and done.manifest["hosts"] == 8
    events = done.events
    assert events[events.node == "h6"].time_ns.min() == 5 * 10**9
    joins = events[events.event == "join"].groupby("node").time_ns.min()
    assert 5e9 <= joins["h6"] < 6e9 and 8.123456789e9 <= joins["h7"] < 9.2e9
    broadcasts = events[events.event == "broadcast"].groupby("node").size()
    assert broadcasts["h6"] >= 3 and broadcasts["h7"] >= 3
    assert {("crash", 9 * 10**9), ("recover", 11 * 10**9)} <= {
        (row.event, row.time_ns) for row in events[events.node == "h6"].itertuples()
    }


def test_added_hosts_start_walking_where_they_were_added(done: Run) -> None:
    track = done.positions[done.positions.node == "h7"]
    assert track.time_ns.iloc[0] == 9 * 10**9
    assert np.hypot(track.x_m.iloc[0] - 300, track.y_m.iloc[0] + 20) <= 5 * (9 - 8.123456789) + 1e-3
    first = done.positions[done.positions.node == "h6"]
    assert first.time_ns.iloc[0] == 6 * 10**9  # The host was added after 5 s.
    assert np.hypot(first.x_m.diff(), first.y_m.diff()).max() > 4.5


def test_adding_a_host_changes_no_draw_of_the_others() -> None:
    with_it, without = play(ADDED[:1]), play([])
    for what in ("broadcast", "refused"):
        columns = [outcome.recording.events.columns() for outcome in (with_it, without)]
        own = [
            [
                (time, node)
                for time, node, event in zip(c["time_ns"], c["node"], c["event"], strict=True)
                if event == what and node != "h6"
            ]
            for c in columns
        ]
        assert own[0] == own[1]
    places = [outcome.recording.tables()["positions"] for outcome in (with_it, without)]
    rows = [set(zip(*(table[name] for name in ("time_ns", "node", "x_m", "y_m")), strict=True)) for table in places]
    assert rows[1] < rows[0]


@pytest.mark.parametrize(
    "more",
    [
        [],
        ["wireless.loss=0.1", "hosts.count=0"],
        ["protocol={name: tcp_flooding}"],
        ["wireless={model: sinr}", f"hosts.mobility={{model: static, {AREA}}}"],
        [f"hosts.mobility={{model: gauss_markov, speed_mps: 5, {AREA}}}", "wireless.mac=acking"],
        ["stations.backbone={kind: vcube_reliable}", "hosts.attachment.error_m=5"],
        ["churn={leave_rate_per_host_per_min: 6}", "faults={schedule: paper, station: s1, first_at_s: 7, every_s: 4}"],
    ],
)
def test_hosts_can_be_added_anywhere_during_a_run(more: list[str], tmp_path: Path) -> None:
    wanted = ADDED[:2] if "hosts.count=0" in str(more) else ADDED
    wanted = [*wanted, {"at_s": 13, "do": "loss", "loss": 0.2}, {"at_s": 14, "do": "add", "to_m": [200, 0]}]
    wanted = sorted(wanted, key=lambda one: one["at_s"])
    written = run(scenario(wanted, *more), out=tmp_path / "run")
    assert written.verdict == "valid", written.verdicts
    live = LiveSession(scenario([], *more))
    for one in wanted:
        live.play(one["at_s"])
        live.do(one["do"], **{key: value for key, value in one.items() if key not in ("do", "at_s")})
    live.play()
    assert live.fingerprint == written.manifest["fingerprint"]


def test_a_live_run_with_an_added_host_can_be_rewound() -> None:
    live = LiveSession(scenario([]))
    live.play(5)
    live.do("add", to_m=[100, 20])
    live.play(12)
    live.do("broadcast", host="h6")
    before = live.fingerprint
    live.rewind(12)
    assert live.fingerprint == before
    live.play()
    assert live.violation is None and live.is_over
    with pytest.raises(ScenarioError, match="no intervention is possible after the active part"):
        live.do("add", to_m=[0, 0])


@pytest.mark.lab
def test_hosts_added_to_recorded_tracks_do_not_move(tmp_path: Path) -> None:
    rows = ["host,t_s,x_m,y_m", *(f"bus {i},{t},{i * 40 + t},10" for i in range(3) for t in range(31))]
    (tmp_path / "tracks.csv").write_text("\n".join(rows) + "\n")
    text = FIRST.read_text().replace("  count: 6\n", "")
    text = text.replace("{model: random_waypoint, speed_mps: 5}", "{model: tracks, file: tracks.csv}")
    (tmp_path / "world.yaml").write_text(text)
    add = [{"at_s": 6, "do": "add", "to_m": [90, 5]}, {"at_s": 9, "do": "broadcast", "host": "h3"}]
    loaded = Scenario.load(tmp_path / "world.yaml", ["duration_s=20", f"interventions={json.dumps(add)}"])
    done = run(loaded, out=tmp_path / "run")
    assert done.verdict == "valid", done.verdicts
    track = done.positions[done.positions.node == "h3"]
    assert len(track) > 10 and set(zip(track.x_m, track.y_m, strict=True)) == {(90.0, 5.0)}
    assert done.manifest["host_names"] == {"h0": "bus 0", "h1": "bus 1", "h2": "bus 2", "h3": "h3"}
    assert "4 hosts" in run_page(done.path)
    with pytest.raises(ScenarioError, match="h4 does not exist; there are 4 hosts"):
        simulate(
            Scenario.load(tmp_path / "world.yaml", [f"interventions={json.dumps([add[0], add[1] | {'host': 'h4'}])}"])
        )


@pytest.mark.parametrize(
    ("lists", "key"),
    [
        (
            {"faults": {"schedule": "explicit", "outages": [{"host": "h3", "at_s": 1, "duration_s": 1}]}},
            "faults.outages",
        ),
        ({"workload": {"arrivals": "explicit", "messages": [{"host": "h3", "at_s": 1}]}}, "workload.messages"),
        ({"churn": {"changes": [{"host": "h3", "at_s": 1, "kind": "leave"}]}}, "churn.changes"),
    ],
)
def test_host_lists_of_a_scenario_accept_only_hosts_with_a_track(
    lists: dict[str, Any], key: str, tmp_path: Path
) -> None:
    rows = ["t,id,x,y", *(f"{t},bus {i},{i * 40 + t},10" for i in range(3) for t in range(31))]
    (tmp_path / "tracks.csv").write_text("\n".join(rows) + "\n")
    world: dict[str, Any] = {
        "duration_s": 20,
        "stations": {"layout": {"shape": "points", "points_m": [[0, 0]]}},
        "hosts": {"mobility": {"model": "tracks", "file": str(tmp_path / "tracks.csv")}},
        "protocol": {"name": "mobile_causal"},
        "workload": {"interval_s": 1},
    }
    with pytest.raises(ScenarioError, match=f"^{key}: h3 does not exist; there are 3 hosts, h0 to h2$"):
        run(world | lists, out=tmp_path / "run")


@pytest.mark.lab
def test_maps_and_reports_show_added_hosts(done: Run) -> None:
    data = document(done.path)
    assert "8 hosts" in run_page(done.path)
    assert data["about"]["verdict"] == "valid"


def problem(outcome: Outcome, scenario: Scenario) -> str | None:
    return obedience(outcome.recording.tables()["events"], expectations(scenario)).unasked


def test_an_added_host_cannot_be_used_before_it_exists() -> None:
    add = {"at_s": 5, "do": "add", "to_m": [0, 0]}
    for wrong, complaint in (
        (
            {"at_s": 5, "do": "crash", "host": "h6"},
            "interventions.1.host: h6 does not exist yet at 5 s; an intervention adds it at 5 s",
        ),
        (
            {"at_s": 6, "do": "crash", "host": "h7"},
            "interventions.1.host: h7 does not exist; there are 7 hosts, h0 to h6",
        ),
    ):
        with pytest.raises(ScenarioError) as caught:
            scenario([add, wrong])
        assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("world", "complaint"),
    [
        ("programs/flood.yaml", "programs receive the number of hosts when they start, so no host can be added later"),
        ("programs/udp.yaml", "with datagrams, every host has its address from the beginning, so no host can be added"),
    ],
)
def test_hosts_cannot_be_added_to_runs_of_programs(world: str, complaint: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario.load(SCENARIOS / world, ['interventions=[{"at_s": 1, "do": "add", "to_m": [0, 0]}]'])
    assert str(caught.value).endswith(complaint)


@pytest.mark.parametrize("world", ["own_protocol/gossip.yaml", "own_mobility/patrol.yaml"])
def test_hosts_can_be_added_to_runs_of_plug_ins(world: str, tmp_path: Path) -> None:
    add = 'interventions=[{"at_s": 2, "do": "add", "to_m": [10, 20]}]'
    loaded = Scenario.load(SCENARIOS / world, ["duration_s=6", add])
    done = run(loaded, out=tmp_path / "run", allow_code=True)
    newest = f"h{done.manifest['hosts'] - 1}"
    assert done.verdict == "valid" and {"join", "deliver"} <= set(done.events[done.events.node == newest].event)


def test_added_hosts_increase_the_estimated_size_of_a_run() -> None:
    assert estimated_events(scenario([ADDED[0]] * 6)) > 1.5 * estimated_events(scenario([]))
    with pytest.raises(ScenarioError, match="for 7 hosts"):
        scenario(ADDED[:1], "limits.max_events=10")
