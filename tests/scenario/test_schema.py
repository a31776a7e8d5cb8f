"""Tests of scenarios: how they are composed, which scenarios are refused and with which message, and how scenarios are
written back as text.
"""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobilenet.network.radio.unit_disk.model import ByDistance
from mobilenet.network.radio_models import model_of
from mobilenet.network.wireless import OF_MODEL, ONLY, WirelessParameters
from mobilenet.scenario import Scenario, ScenarioError, check_world, effective, load_scenario
from mobilenet.scenario.processes import ProcessScenario
from mobilenet.simulation.mobile import Simulation
from mobilenet.simulation.processes.experiment import Experiment
from tests.conftest import SCENARIOS

TEXT = """\
# line 1
seed: 1
duration_s: 400
stations:
  layout: {shape: hexagon, rings: 1, spacing_m: 200}
  backbone: {kind: tree, bandwidth_mbps: 10, delay_ms: 10}
wireless:
  range_m: 120
hosts:
  count: 70
  mobility: {model: random_waypoint, speed_mps: 1.38}
protocol: {name: mobile_causal}
workload: {interval_s: 2.8, payload_bytes: 100}
"""
ACKING = TEXT.replace("  range_m: 120", "  range_m: 120\n  mac: acking")


def out(key: str) -> str:
    return f"leave it out (--set wireless.{key}=default)"


def refusal(text: str = TEXT, *overrides: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_text(text, overrides, name="a.yaml")
    for line in str(caught.value).splitlines():
        assert re.match(r"(a\.yaml:\d+|overrides: .*): .", line), line
        assert "pydantic" not in line and "Input should" not in line, line
    return str(caught.value)


def test_a_scenario_has_the_documented_defaults() -> None:
    scenario = Scenario.from_text(TEXT)
    model = model_of(scenario.wireless)
    assert isinstance(model, ByDistance) and model.interference_m == model.detection_m == 120
    assert scenario.wireless.unicast_mbps == 24
    assert scenario.hosts.attachment.hysteresis_m == 5
    assert scenario.protocol.window == 150
    assert scenario.workload.arrivals == "exponential"
    assert scenario.record.positions_interval_s == 1


def test_a_scenario_cannot_be_modified() -> None:
    with pytest.raises(ValueError):
        Scenario.from_text(TEXT).seed = 2


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ("  range_m: 120", "  range: 120", "a.yaml:8: wireless.range: unknown key; did you mean 'range_m'?"),
        ("  range_m: 120", "  range_m: far", "a.yaml:8: wireless.range_m: expected a number, got far"),
        ("  range_m: 120", "  range_m: -1", "a.yaml:8: wireless.range_m: should be more than 0, got -1"),
        ("  range_m: 120", "  range_m: true", "a.yaml:8: wireless.range_m: expected a number, got true"),
        ("  range_m: 120", "  range_m: .inf", "a.yaml:8: .inf: expected a finite number"),
        ("  range_m: 120", "  range_m: 5000", "a.yaml:8: wireless.range_m: should be at most 3000, got 5000"),
        ("  count: 70", "  count: 1e3", "a.yaml:10: hosts.count: expected a whole number, got 1000"),
        ("  count: 70", "  count: -5", "a.yaml:10: hosts.count: should be at least 0, got -5"),
        (
            "  count: 70",
            "  count: 10000000000000",
            "a.yaml:10: hosts.count: should be at most 100000, got 10000000000000",
        ),
        ("  count: 70\n", "", "a.yaml:9: hosts.count: missing; expected the number of hosts"),
        ("duration_s: 400\n", "", "a.yaml:2: duration_s: missing; this key has no default"),
        (
            "random_waypoint",
            "random_way",
            "a.yaml:11: hosts.mobility.model: unknown model random_way; did you mean 'random_waypoint'?",
        ),
        (
            "mobile_causal",
            "none",
            "a.yaml:12: protocol.name: unknown name none; expected one of: mobile_causal, tcp_flooding, beacon, own,"
            " program, datagrams, ip",
        ),
        (
            "{name: mobile_causal}",
            "{windw: 3}",
            "a.yaml:12: protocol.name: missing; expected one of beacon, datagrams, ip, mobile_causal, own, program,"
            " tcp_flooding",
        ),
        ("rings: 1", "rings: 1000", "a.yaml:5: stations.layout.rings: should be at most 50, got 1000"),
        ("seed: 1", "seed: 1\nseed: 2", "a.yaml:3: duplicate key 'seed', first at a.yaml:2"),
        ("seed: 1", "- 3", None),
    ],
)
def test_scenario_errors_state_line_path_and_advice(old: str, new: str, expected: str | None) -> None:
    assert old in TEXT
    message = refusal(TEXT.replace(old, new))
    assert expected is None or message == expected


@pytest.mark.parametrize(
    "override, expected",
    [
        ("wireless.range=5", "wireless.range: unknown key; did you mean 'range_m'?"),
        ("wireless.mode=a", "wireless.broadcast_rate_mbps: mode a has no rate of 2 Mb/s, only 6"),
        ("wireless.mode=x", "wireless.mode: unknown value x; expected one of: b, g_mixed, g_erp, a"),
        ("wireless.unicast_rate_mbps=3", "wireless.unicast_rate_mbps: mode g_mixed has no rate of 3 Mb/s"),
        ("wireless.interference_range_m=100", "should be at least range_m (120), got 100"),
        ("wireless.range_m=1e-9", "wireless.range_m: the area that hosts walk in is empty"),
        (
            "hosts.mobility.area={box_m: [0, 0, 9, 9], hole_boxes_m: [[0, 0, 9, 9]]}",
            "hosts.mobility.area: the area that hosts walk in is empty",
        ),
        ("wireless.loss=1.5", "wireless.loss: should be at most 1, got 1.5"),
        ("wireless.eifs=on", "on: write true or false"),
        ("seed=010", "010: write a number without leading zeros"),
        ("seed=-1", "seed: should be at least 0"),
        ("seed=", "seed: expected a whole number, got null"),
        ("seed", "expected key=value"),
        ("=5", "expected key=value"),
        ("seed.x=5", "seed is a single value, which does not contain 'x'"),
        ("seed={a: *x}", "alias *x"),
        ("warmup_s=400", "warmup_s: should be less than duration_s"),
        ("hosts.mobility.speed_mps=[2, 1]", "hosts.mobility.speed_mps: expected 0.001 <= lowest <= highest"),
        ("hosts.mobility.speed_mps=[1, 2, 3]", "expected a number, or a range [lowest, highest]"),
        ("hosts.mobility.area={box_m: [0, 0, 0, 9]}", "hosts.mobility.area.box_m: expected [west, south, east, north]"),
        ("hosts.mobility.area={box_m: [0, 0, 1]}", "hosts.mobility.area.box_m.3: missing: the list is too short"),
        ("faults={schedule: paper, station: s9}", "faults.station: s9 does not exist; there are 7 stations, s0 to s6"),
        ("faults={schedule: paper, station: x}", "faults.station: expected a name such as s0 or s12, got x"),
        (
            "faults={schedule: explicit, outages: [{host: h70, at_s: 1, duration_s: 1}]}",
            "h70 does not exist; there are 70 hosts, h0 to h69",
        ),
        (
            (
                "faults={schedule: explicit, outages: [{host: h1, at_s: 1, duration_s: 3}, {host: h1, at_s: 2,"
                " duration_s: 3}]}"
            ),
            "faults.outages: h1 would crash at 2 s while it is down",
        ),
        ("churn.changes=[{host: h1, at_s: 1, kind: leave}, {host: h1, at_s: 2, kind: leave}]", "should alternate"),
        ("stations.backbone.edges=[[0, 1]]", "stations.backbone.edges: 1 edge cannot be a tree of 7 stations"),
        ("stations.names=[a, b]", "stations.names: expected 7 different names"),
        ("stations.layout={shape: points, points_m: [[0, 0], [0, 0]]}", "two stations are at the same position"),
        ("stations.layout={shape: csv, file: nowhere.csv}", "stations.layout.file: file 'nowhere.csv' not found"),
        ("hosts={mobility: {model: tracks, file: nowhere.csv}}", "hosts.mobility.file: file 'nowhere.csv' not found"),
        ("hosts={count: 3, mobility: {model: tracks, file: nowhere.csv}}", "hosts.count: determined by the tracks"),
        ("workload={arrivals: periodic}", "workload.interval_s: missing"),
        ("workload.arrivals=none", "workload.interval_s: has no effect"),
        ("workload.payload_bytes=-1", "workload.payload_bytes: should be at least 0"),
        ("protocol.ack_min_s=5", "protocol"),
        ("hosts.count=90000", "limits.max_events: about"),
        ("workload.interval_s=0.001", "limits.max_events: about"),
        ("duration_s=1e6", "limits.max_events: about"),
        ('"a\\nb"=3', "unknown key"),
    ],
)
def test_overrides_are_validated_like_the_scenario_file(override: str, expected: str) -> None:
    message = refusal(TEXT, override)
    assert expected in message
    assert len(message.splitlines()) == 1


OF_ONE_MAC = [(mac, key) for mac, keys in ONLY.items() for key in keys]


def a_value(key: str) -> object:
    default = WirelessParameters.model_fields[key].default
    return {None: "null", True: "true", False: "false"}.get(default, default)


@pytest.mark.parametrize(("mac", "key"), OF_ONE_MAC)
def test_keys_of_another_mac_are_rejected_in_files(mac: str, key: str) -> None:
    """The keys are refused even if they have the default value."""
    (other,) = set(ONLY) - {mac}
    text = TEXT.replace("  range_m: 120", f"  range_m: 120\n  mac: {other}\n  {key}: {a_value(key)}")
    assert refusal(text) == f"a.yaml:10: wireless.{key}: has no effect with mac: {other}; {out(key)}"
    Scenario.from_text(text.replace(f"mac: {other}", f"mac: {mac}"))


@pytest.mark.parametrize(("mac", "key"), OF_ONE_MAC)
def test_keys_of_another_mac_are_rejected_with_set(mac: str, key: str) -> None:
    (other,) = set(ONLY) - {mac}
    text = {"dcf": TEXT, "acking": ACKING}
    override = f"wireless.{key}={a_value(key)}"
    assert (
        refusal(text[other], override)
        == f"overrides: {override}: wireless.{key}: has no effect with mac: {other}; {out(key)}"
    )
    Scenario.from_text(text[mac], [override])


@pytest.mark.parametrize(
    ("text", "overrides", "expected"),
    [
        (
            TEXT.replace("  range_m: 120", "  mode: b"),
            ["wireless.mac=acking"],
            f"a.yaml:8: wireless.mode: has no effect with mac: acking; {out('mode')}",
        ),
        (
            ACKING.replace("  range_m: 120", "  full_duplex: false"),
            ["wireless.mac=dcf"],
            f"a.yaml:8: wireless.full_duplex: has no effect with mac: dcf; {out('full_duplex')}",
        ),
        (
            TEXT,
            ["wireless={mac: acking, eifs: true}"],
            "overrides: wireless={mac: acking, eifs: true}: wireless.eifs: has no effect with mac: acking;"
            f" {out('eifs')}",
        ),
        (
            TEXT,
            ["wireless.mac=csma"],
            "overrides: wireless.mac=csma: wireless.mac: unknown value csma; expected one of: dcf, acking",
        ),
        (
            ACKING,
            ["wireless.bitrate_mbps=0"],
            "overrides: wireless.bitrate_mbps=0: wireless.bitrate_mbps: should be at least 0.01, got 0",
        ),
        (
            ACKING,
            ["wireless.link_ack_timeout_ms=0"],
            "overrides: wireless.link_ack_timeout_ms=0: wireless.link_ack_timeout_ms: should be more than 0, got 0",
        ),
    ],
)
def test_mac_specific_keys_require_that_mac(text: str, overrides: list[str], expected: str) -> None:
    assert refusal(text, *overrides) == expected


def test_an_override_can_select_another_mac() -> None:
    wireless = Scenario.from_text(
        TEXT, ["wireless.mac=acking", "wireless.bitrate_mbps=2", "wireless.queue_frames=7"]
    ).wireless
    assert (wireless.mac, wireless.bitrate_mbps, wireless.queue_frames, wireless.range_m) == ("acking", 2, 7, 120)
    model = model_of(wireless)
    assert isinstance(model, ByDistance) and model.detection_m is None and model.reach_m == 120


@pytest.mark.parametrize(("text", "mac"), [(TEXT, "dcf"), (ACKING, "acking")])
def test_the_effective_scenario_has_only_the_keys_of_its_mac(text: str, mac: str) -> None:
    scenario = Scenario.from_text(text)
    (other,) = set(ONLY) - {mac}
    named = effective(scenario)
    assert all(f"\n  {key}: " in named for key in ONLY[mac])
    assert not any(f"\n  {key}: " in named for key in ONLY[other])
    left_out = set(WirelessParameters.model_fields) - set(scenario.wireless.model_dump())
    assert left_out == {*ONLY[other], *OF_MODEL["sinr"], "reception", "group_retries"}
    assert scenario.with_changes(["seed=5"]).with_changes(["seed=1"]) == scenario


def test_an_error_in_an_override_mentions_the_option() -> None:
    assert refusal(TEXT, "wireless.range_m=-3").startswith("overrides: wireless.range_m=-3: wireless.range_m: ")


def test_each_schema_error_states_its_line() -> None:
    lines = refusal(TEXT.replace("range_m: 120", "range: 1").replace("count: 70", "cont: 3")).splitlines()
    assert [line.split(":")[1] for line in lines] == ["8", "10"]


def test_overrides_change_the_scenario() -> None:
    scenario = Scenario.from_text(
        TEXT,
        [
            "seed=7",
            "wireless.range_m=100",
            "hosts.mobility={model: static}",
            "churn.initial_fraction=0.5",
            "record.frames=true",
        ],
    )
    assert (scenario.seed, scenario.wireless.range_m, scenario.hosts.mobility.model) == (7, 100, "static")
    assert scenario.churn is not None and scenario.churn.initial_fraction == 0.5 and scenario.record.frames
    assert scenario.with_changes(["seed=8"]).seed == 8
    listed = Scenario.from_text(
        TEXT, ["stations.layout={shape: points, points_m: [[0, 0], [9, 9]]}", "stations.layout.points_m.1.0=5"]
    )
    assert listed.stations.layout.points_m == ((0, 0), (5, 9))


def test_an_override_can_reset_a_key_to_its_default() -> None:
    without = Scenario.from_text(TEXT, ["wireless.range_m=100", "wireless.range_m=default", "churn.mean_s=default"])
    assert without == Scenario.from_text(TEXT, ["wireless.range_m=default"]) and without.churn is None
    by_power = Scenario.from_text(TEXT, ["wireless.range_m=default", "wireless.model=sinr"])
    assert by_power.wireless.model == "sinr"
    assert "expected" in refusal(
        TEXT, "stations.layout={shape: points, points_m: [[0, 0]]}", "stations.layout.points_m.0=default"
    )


def test_the_effective_scenario_lists_every_default() -> None:
    text = effective(Scenario.from_text(TEXT))
    for key in (
        "interference_range_m: null",
        "retry_limit: 7",
        "hysteresis_m: 5",
        "window: 150",
        "max_events: 1000000000",
    ):
        assert key in text


@settings(max_examples=50)
@given(
    seed=st.integers(0, 2**63 - 1),
    name=st.none() | st.text(min_size=1, max_size=30),
    duration_s=st.floats(0.001, 500),
    loss=st.floats(0, 1),
    slow=st.floats(0.01, 1),
    fast=st.floats(1, 10),
    wireless=st.fixed_dictionaries(
        {"mac": st.just("dcf"), "mode": st.sampled_from(["b", "g_mixed", "g_erp"]), "eifs": st.booleans()}
    )
    | st.fixed_dictionaries(
        {
            "mac": st.just("acking"),
            "bitrate_mbps": st.floats(0.01, 10_000),
            "phy_header_bits": st.integers(0, 1000),
            "mac_header_bytes": st.integers(0, 100),
            "link_ack_timeout_ms": st.floats(0.001, 60_000),
            "full_duplex": st.booleans(),
        }
    ),
    capture_db=st.none() | st.floats(0, 100),
    frames=st.booleans(),
    faults=st.sampled_from(
        ["null", "{schedule: paper}", "{schedule: random, rate_per_host_per_min: 1, mean_duration_s: 0.1}"]
    ),
)
def test_the_effective_scenario_loads_as_the_same_scenario(
    seed, name, duration_s, loss, slow, fast, wireless, capture_db, frames, faults
) -> None:  # type: ignore[no-untyped-def]
    overrides = [f"seed={seed}", f"duration_s={duration_s!r}"]
    values = {"loss": loss, "capture_db": capture_db, **wireless}
    overrides += [f"wireless.{key}={'null' if value is None else str(value).lower()}" for key, value in values.items()]
    overrides += [
        f"hosts.mobility.speed_mps=[{slow!r}, {fast!r}]",
        f"record.frames={str(frames).lower()}",
        f"faults={faults}",
    ]
    scenario = Scenario.from_text(TEXT, overrides)
    if name is not None:
        scenario = scenario.model_copy(update={"name": name})
    again = Scenario.from_text(effective(scenario))
    assert again == scenario
    assert again.wireless == scenario.wireless and not any(
        f"\n  {key}: " in effective(again) for mac, keys in ONLY.items() if mac != wireless["mac"] for key in keys
    )
    assert effective(again) == effective(scenario)


def test_a_pickled_scenario_keeps_its_folder() -> None:
    scenario = Scenario.load(SCENARIOS / "streets.yaml")
    again = pickle.loads(pickle.dumps(scenario))
    assert again == scenario and again.folder == scenario.folder


def test_a_missing_or_unreadable_scenario_file_is_reported(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere.yaml", tmp_path):
        with pytest.raises(ScenarioError, match="cannot be read") as caught:
            Scenario.load(path)
        assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_scenario_loads(path: Path) -> None:
    scenario = Scenario.load(path)
    assert path.read_text().startswith("# "), "each one is introduced to its reader"
    assert Scenario.from_text(effective(scenario), folder=SCENARIOS) == scenario
    assert [file.is_file() for _, file in scenario.files()].count(False) == 0
    assert check_world(scenario).trajectories
    assert 1000 < scenario.estimated_events() < 10_000_000


def test_the_size_of_a_run_with_imported_tracks_is_checked_too() -> None:
    scenario = Scenario.load(SCENARIOS / "streets.yaml", ["limits.max_events=1000"])
    with pytest.raises(ScenarioError, match=r"limits\.max_events: about"):
        check_world(scenario)
    with pytest.raises(ScenarioError, match=r"limits\.max_events: about"):
        Simulation(scenario)


@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        ("first", []),
        ("first", ["workload.interval_s=0.2", "hosts.count=40"]),
        ("static_heavy", []),
        ("churn", []),
        ("radio_check", []),
    ],
)
def test_the_size_estimate_includes_frame_and_message_rows(name: str, overrides: list[str]) -> None:
    """The estimate is compared with the rows of a ten-second run. It has the right order of magnitude and tends to be
    too high.
    """
    scenario = Scenario.load(SCENARIOS / f"{name}.yaml", ["warmup_s=0", "duration_s=10", "drain_s=10", *overrides])
    recording = Simulation(scenario.with_changes(["record.frames=true", "record.messages=true"])).run().recording
    for table in ("frames", "messages"):
        rows = scenario.with_changes([f"record.{table}=true"]).estimated_events() - scenario.estimated_events()
        assert 0.5 < rows / len(getattr(recording, table)) < 10, table


def test_tables_that_would_fill_the_disk_are_rejected() -> None:
    limit = f"limits.max_events={2 * Scenario.from_text(TEXT).estimated_events()}"
    Scenario.from_text(TEXT, [limit])
    assert "limits.max_events: about" in refusal(TEXT, limit, "record.frames=true")
    assert "limits.max_events: about" in refusal(TEXT, limit, "record.messages=true")


def test_a_scenario_without_hosts_needs_no_covered_ground() -> None:
    assert Scenario.from_text(TEXT, ["wireless.range_m=1e-9", "hosts.count=0"]).hosts.count == 0


def test_two_sites_of_the_same_name_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "sites.csv").write_text("name,x_m,y_m\na,0,0\na,100,0\n")
    with pytest.raises(ScenarioError, match="another station has the name 'a'"):
        Scenario.from_text(TEXT, ["stations.layout={shape: csv, file: sites.csv}"], tmp_path)


def test_a_scenario_can_use_a_sinr_radio() -> None:
    values = "{model: sinr, mode: g, broadcast_rate_mbps: 6, tx_dbm: 18, fading: {model: nakagami}}"
    scenario = Scenario.from_text(TEXT, [f"wireless={values}", "hosts.attachment={hysteresis_db: 4}"])
    wireless = scenario.wireless
    assert (wireless.noise_figure_db, wireless.preamble_rssi_dbm, wireless.preamble_sinr_db) == (7, -82, 4)
    assert (wireless.ed_threshold_dbm, wireless.capture_db, wireless.station_tx_dbm) == (-62, None, None)
    named = effective(scenario)
    assert "hysteresis_db: 4" in named and "hysteresis_m" not in named and "range_m:" not in named
    assert Scenario.from_text(named).wireless == wireless
    assert "hysteresis_db" not in effective(Scenario.from_text(TEXT))


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["wireless.tx_dbm=10"], f"wireless.tx_dbm: has no effect with model: unit_disk; {out('tx_dbm')}, or"),
        (
            ["wireless={model: sinr, range_m: 100}"],
            f"range_m: has no effect with model: sinr; {out('range_m')}; tx_dbm and path_loss determine the range",
        ),
        (["wireless={model: sinr, mac: acking}"], "mac: acking does not use the rates of 802.11"),
        (["wireless={model: sinr}", "hosts.attachment={hysteresis_m: 5}"], "hysteresis_m: has no effect with"),
        (["hosts.attachment={hysteresis_db: 5}"], "hosts.attachment.hysteresis_db: has no effect"),
    ],
)  # fmt: skip
def test_keys_of_another_reception_model_are_rejected(overrides: list[str], expected: str) -> None:
    assert expected in refusal(TEXT, *overrides)


EDGES = ", ".join(f"[{i}, {i + 1}]" for i in range(15))
CHAIN = f"network={{kind: wired, bandwidth_mbps: 0.001, delay_ms: 2000, edges: [{EDGES}]}}"


@pytest.mark.parametrize(
    "changes",
    [
        ["processes=16", CHAIN, "detector={mode: unreliable, interval: 2.0, timeout: 1.3}", "workload.messages=5"],
        ["processes=13", "detector={mode: unreliable, interval: 3.7, timeout: 0.9}"],
    ],
)
def test_the_estimate_includes_tests_of_an_unreliable_detector(changes: list[str]) -> None:
    """Such a run may never become quiescent, so the estimate includes all tests until its end."""
    path = SCENARIOS / "vcube" / "reliable.yaml"
    scenario = load_scenario(path, [*changes, "faults=[{process: p1, at: 0}]", "duration=1000"])
    assert isinstance(scenario, ProcessScenario)
    outcome = Experiment(scenario).run()
    assert not outcome.quiescent
    sent = outcome.recording.counters["detector"]["sent"]
    assert 0.5 < scenario.estimated_events() / sent < 4
