"""Tests that plug-in stations are notified when hosts arrive and leave. These calls do not change anything else in the
simulation.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import mobilenet
from mobilenet.lab.hunt.controlled import Network
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import Scenario
from mobilenet.simulation.mobile import Simulation
from mobilenet.simulation.plugin_code import load_named
from tests.conftest import SCENARIOS

GOSSIP = (SCENARIOS / "own_protocol" / "gossip.py").read_text(encoding="utf-8")
NOTED = """

LOG = []


class NotedHost(Host):
    def on_cell(self, station):
        super().on_cell(station)
        LOG.append((self.port.now, "on_cell", self.port.me, station))

    def on_recover(self):
        LOG.append((self.port.now, "on_recover", self.port.me, self.cell))


class NotedStation(Station):
    def on_associated(self, host):
        LOG.append((self.port.now, "on_associated", host, self.port.me))

    def on_disassociated(self, host):
        LOG.append((self.port.now, "on_disassociated", host, self.port.me))


class Noted(Gossip):
    host, station = NotedHost, NotedStation
"""
SCENARIO = """
seed: 3
duration_s: 40
stations: {layout: {shape: points, points_m: [[0, 0], [150, 0], [300, 0]]}}
wireless: {range_m: 80}
hosts: {count: 8, mobility: {model: random_waypoint, speed_mps: 15, area: {box_m: [-100, -60, 400, 60]}}}
protocol: {class: "noted.py:Noted"}
workload: {interval_s: 5, payload_bytes: 100}
"""
WALKS = ""
CRASHES = "faults: {schedule: random, rate_per_host_per_min: 6, mean_duration_s: 2}\n"

Entry = tuple[int, str, int, int | None]


def scenario(folder: Path, more: str = "", text: str = GOSSIP + NOTED) -> Path:
    (folder / "noted.py").write_text(text, encoding="utf-8")
    (folder / "noted.yaml").write_text(SCENARIO + more, encoding="utf-8")
    return folder / "noted.yaml"


def play(path: Path) -> tuple[Simulation, list[Entry]]:
    simulation = Simulation(Scenario.load(path), allow_code=True)
    simulation.run()
    module: Any = sys.modules[type(simulation.stations[0].protocol).__module__]
    return simulation, module.LOG


def expected_calls(log: list[Entry]) -> list[Entry]:
    """Derive the expected calls of the stations from the calls of the hosts."""
    calls: list[Entry] = []
    at: dict[int, int] = {}
    for now, hook, host, station in log:
        if hook == "on_cell":
            if host in at and at[host] != station:
                calls.append((now, "on_disassociated", host, at.pop(host)))
            if station is not None:
                at[host] = station
                calls.append((now, "on_associated", host, station))
    return calls


@pytest.mark.parametrize("more", [WALKS, CRASHES])
def test_stations_are_notified_of_an_association_before_the_host(more: str, tmp_path: Path) -> None:
    simulation, log = play(scenario(tmp_path, more))
    heard = [entry for entry in log if "associated" in entry[1]]
    assert heard == expected_calls(log)
    kinds = [entry[1] for entry in heard]
    assert kinds.count("on_associated") > 20 and kinds.count("on_disassociated") > 10
    for place, (now, hook, host, station) in enumerate(log):  # A host is called after its station.
        if hook == "on_associated":
            assert log[place + 1] == (now, "on_cell", host, station)
    now_there = {host: station for _, hook, host, station in log if hook == "on_associated"}
    assert now_there == {host.me: host.cell for host in simulation.hosts}


def test_a_crash_keeps_the_association_until_the_recovery(tmp_path: Path) -> None:
    _, log = play(scenario(tmp_path, CRASHES))
    recovered = [place for place, entry in enumerate(log) if entry[1] == "on_recover" and entry[3] is not None]
    assert len(recovered) > 5
    for place in recovered:
        now, _, host, station = log[place]
        assert log[place - 2 : place] == [(now, "on_associated", host, station), (now, "on_cell", host, station)]
        before = [entry for entry in log[: place - 2] if entry[2] == host and "associated" in entry[1]]
        assert before[-1][1:] == ("on_associated", host, station)


def test_a_host_whose_track_has_ended_is_not_associated(tmp_path: Path) -> None:
    path = scenario(tmp_path)
    walks = [f"{t},a,{t},0" for t in range(0, 45, 5)] + [f"{t},b,{t},5" for t in range(0, 20, 5)]
    (tmp_path / "walks.csv").write_text("\n".join(["t,id,x,y", *walks]) + "\n")
    changes = ["hosts={mobility: {model: tracks, file: walks.csv}}"]
    simulation = Simulation(Scenario.load(path, changes), allow_code=True)
    simulation.run()
    module: Any = sys.modules[type(simulation.stations[0].protocol).__module__]
    heard = [entry[1:] for entry in module.LOG if "associated" in entry[1]]
    assert heard == [("on_associated", 0, 0), ("on_associated", 1, 0), ("on_disassociated", 1, 0)]
    assert module.LOG[-1][0] == 10e9  # The host leaves `leave_before_end_s` before its last sample.


def test_association_hooks_do_not_change_the_record(tmp_path: Path) -> None:
    silent = NOTED.replace("on_associated", "on_anything").replace("on_disassociated", "on_more")
    fingerprints = []
    for text in (GOSSIP + NOTED, GOSSIP + silent):
        simulation, log = play(scenario(tmp_path, CRASHES, text))
        fingerprints.append(simulation.recording.fingerprint())
        assert any("associated" in entry[1] for entry in log) == (text == GOSSIP + NOTED)
        assert bool(simulation._context.associating) == (text == GOSSIP + NOTED)
    assert fingerprints[0] == fingerprints[1]


def test_an_association_hook_with_wrong_arguments_is_rejected(tmp_path: Path) -> None:
    text = (GOSSIP + NOTED).replace("def on_associated(self, host)", "def on_associated(self)")
    with pytest.raises(ScenarioError, match=r"noted.py:\d+: NotedStation.on_associated takes \(\), but .* \(host\)"):
        mobilenet.run(scenario(tmp_path, "", text), out=tmp_path / "run", allow_code=True)
    assert not (tmp_path / "run").exists()


def test_an_error_in_an_association_hook_states_its_line(tmp_path: Path) -> None:
    text = (GOSSIP + NOTED).replace('LOG.append((self.port.now, "on_dis', '1 / 0  # (("')
    with pytest.raises(ScenarioError, match=r"noted.py:\d+: ZeroDivisionError: .*at s\d, handling the end of an assoc"):
        mobilenet.run(scenario(tmp_path, "", text), out=tmp_path / "run", allow_code=True)


def test_the_controlled_network_calls_association_hooks_too(tmp_path: Path) -> None:
    noted = load_named("protocol.class", "noted.py:Noted", scenario(tmp_path).parent, True)
    network = Network(noted, noted.settings(), cells=[0, None], parents=[0])
    network.move(0, 1)
    network.crash(0)
    network.recover(0)
    network.crash(0)
    network.move(0, None)
    network.move(1, 1)
    network.recover(0)
    heard = [entry[1:] for entry in sys.modules[noted.__module__].LOG if "associated" in entry[1]]
    assert heard == [
        ("on_associated", 0, 0),
        ("on_disassociated", 0, 0),
        ("on_associated", 0, 1),
        ("on_associated", 0, 1),
        ("on_associated", 1, 1),
        ("on_disassociated", 0, 1),
    ]
