"""Tests of radios that reach no node, or reach farther than the model covers: the error names the responsible key and
suggests a fix.
"""

from __future__ import annotations

import re

import pytest

from mobilenet.network.propagation.path_loss import mean_loss_db
from mobilenet.network.radio.keys import FARTHEST_M
from mobilenet.network.radio_models import model_of
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import Scenario, effective
from mobilenet.scenario.preflight import warnings
from mobilenet.simulation.mobile import Simulation

TEXT = """
seed: 1
duration_s: 5
stations: {layout: {shape: points, points_m: [[0, 0], [100, 0]]}, backbone: {kind: tree, shape: chain}}
hosts: {count: 3, mobility: {model: random_waypoint, speed_mps: 5}}
wireless: {model: sinr, mode: g, broadcast_rate_mbps: 6}
protocol: {name: mobile_causal}
workload: {interval_s: 1, payload_bytes: 100}
"""


def scene(*radio: str) -> Scenario:
    return Scenario.from_text(TEXT, [f"wireless.{key}" for key in radio])


@pytest.mark.parametrize(
    ("radio", "begin"),
    [
        (
            ["tx_dbm=-50"],
            "wireless.tx_dbm: at -50 dBm hosts and stations are received only up to 0.0 m, so hardly any nodes",
        ),
        (
            ["tx_dbm=-20"],
            "wireless.tx_dbm: at -20 dBm hosts and stations are received only up to 5.4 m, so hardly any nodes",
        ),
        (["station_tx_dbm=-30"], "wireless.station_tx_dbm: at -30 dBm stations are received only up to 2.5 m"),
        (["tx_dbm=-30", "station_tx_dbm=20"], "wireless.tx_dbm: at -30 dBm hosts are received only up to 2.5 m"),
        (
            ["tx_dbm=-30", "station_tx_dbm=-35"],
            "wireless.station_tx_dbm: at -35 dBm stations are received only up to 1.7 m",
        ),
    ],
)
def test_check_warns_of_low_power_and_states_the_power_needed(radio: list[str], begin: str) -> None:
    (warning,) = warnings(scene(*radio))
    assert warning.startswith(begin) and "for 100 m, you need 18.1 dBm" in warning
    assert model_of(scene("tx_dbm=18.1").wireless).cell_m == pytest.approx(100, abs=1)


@pytest.mark.parametrize(
    ("radio", "begin", "advice"),
    [
        (["noise_figure_db=30", "tx_dbm=-10"], "tx_dbm: at -10 dBm hosts and stations are received only up to 3.7 m",
         {"tx_dbm": "33.2 dBm"}),
        (["preamble_rssi_dbm=0"], "preamble_rssi_dbm: preambles are detected at 0 dBm or more, and hosts and",
         {"preamble_rssi_dbm": "-79.7 dBm or less"}),
        (["noise_figure_db=50"], "noise_figure_db: with 50 dB, preambles are detected at -46.96 dBm or more, and hosts",
         {"noise_figure_db": "17.2 dB or less"}),
        (["preamble_sinr_db=50"], "preamble_sinr_db: with 50 dB, preambles are detected at -43.96 dBm or more, and",
         {"preamble_sinr_db": "14.2 dB or less"}),
        (["path_loss={exponent: 9}"], "path_loss.exponent: with 9, hosts and stations are received only up to 4.9 m",
         {"path_loss.exponent": "3.11 or less"}),
        (["path_loss={reference_loss_db: 80}"], "path_loss.reference_loss_db: with 80 dB, hosts and stations are",
         {"path_loss.reference_loss_db": "42.3 dB or less"}),
    ],
)  # fmt: skip
def test_the_range_warning_states_the_limiting_key_and_a_remedy(
    radio: list[str], begin: str, advice: dict[str, str]
) -> None:
    (warning,) = warnings(scene(*radio))
    assert (
        warning.startswith(f"wireless.{begin}") and "hardly any nodes hear each other; for 100 m, you need" in warning
    )
    for key, value in advice.items():
        assert value in warning
        mended = [each for each in radio if not each.startswith(key.partition(".")[0])]
        top, _, name = key.partition(".")
        mended += [f"{top}={{{name}: {value.split()[0]}}}" if name else f"{top}={value.split()[0]}"]
        assert model_of(scene(*mended).wireless).cell_m >= 100


def test_the_range_warning_helps_if_no_single_key_suffices() -> None:
    (warning,) = warnings(scene("noise_figure_db=50", "preamble_sinr_db=50"))
    assert warning.startswith("wireless.preamble_sinr_db: with 50 dB, preambles are detected at -0.96 dBm or more")
    assert warning.endswith(
        "for 100 m, 78.7 dB are missing, more than this key can provide; use values closer to the defaults for"
        " preamble_sinr_db, noise_figure_db"
    )
    (warning,) = warnings(scene("path_loss={model: free_space, frequency_ghz: 100}", "noise_figure_db=50"))
    assert warning.startswith("wireless.noise_figure_db: with 50 dB, preambles")
    assert "for 100 m, 45.1 dB are missing" in warning and "noise_figure_db, path_loss.frequency_ghz" in warning
    (warning,) = warnings(scene("path_loss={model: three_slope, exponents: [9, 9, 9]}"))
    assert warning.startswith("wireless.path_loss.exponents: three_slope loses 220.1 dB over 100 m, and hosts")
    assert warning.endswith("for 100 m, you need a loss of 102.3 dB or less there")


def test_check_warns_of_groupcast_without_a_payload() -> None:
    repeats = ["wireless.groupcast=unsolicited_retry", "workload.payload_bytes=0"]
    (warning,) = warnings(Scenario.from_text(TEXT, repeats))
    assert warning.startswith("wireless.groupcast: has no effect with workload.payload_bytes: 0")
    assert not warnings(Scenario.from_text(TEXT, repeats[:1]))


def test_a_run_in_which_no_node_hears_another_completes() -> None:
    run = Simulation(scene("tx_dbm=-50"))
    run.run()
    assert not any(event == "deliver" for event in run.recording.events.event)


@pytest.mark.parametrize(
    ("radio", "key", "advice"),
    [
        (["tx_dbm=40", "path_loss={exponent: 2}"], "tx_dbm", "27.5 dBm or less, got 40"),
        (["station_tx_dbm=40", "path_loss={exponent: 2.3}"], "station_tx_dbm", "38 dBm or less, got 40"),
        (["path_loss={exponent: 1.5}"], "path_loss.exponent", "1.8 or more, got 1.5"),
        (["path_loss={reference_loss_db: 0, exponent: 2.9}"], "path_loss.reference_loss_db", "1.6 dB or more, got 0"),
        (["path_loss={model: free_space}", "tx_dbm=30"], "tx_dbm", "27.5 dBm or less, got 30"),
        (["path_loss={model: free_space, frequency_ghz: 0.1}"], "path_loss.frequency_ghz", "more than 102.4 dB"),
        (["preamble_rssi_dbm=-120", "preamble_sinr_db=-20", "path_loss={exponent: 2.5}"], "preamble_rssi_dbm",
         "-106.5 dBm or more, got -120"),
    ],
)  # fmt: skip
def test_excessive_power_is_rejected_with_the_responsible_key(radio: list[str], key: str, advice: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        scene(*radio)
    complaint = str(refused.value)
    assert f": wireless.{key}: preambles are detected" in complaint and advice in complaint and "\n" not in complaint
    assert re.search(r"detected up to [0-9.]+ km away", complaint)


@pytest.mark.parametrize(
    "radio",
    [
        ["tx_dbm=27.5", "path_loss={exponent: 2}"],
        ["path_loss={exponent: 1.8}"],
        ["path_loss={reference_loss_db: 1.6, exponent: 2.9}"],
        ["preamble_rssi_dbm=-106.5", "preamble_sinr_db=-20", "path_loss={exponent: 2.5}"],
    ],
)
def test_the_value_that_a_reach_error_suggests_is_accepted(radio: list[str]) -> None:
    assert 0.9 * FARTHEST_M < model_of(scene(*radio).wireless).cell_m < FARTHEST_M


@pytest.mark.parametrize(
    ("radio", "loss"),
    [
        ("{mode: g, broadcast_rate_mbps: 6}", {"model": "log_distance", "exponent": 3, "reference_loss_db": 40.05}),
        ("{mode: a, broadcast_rate_mbps: 6}", {"model": "log_distance", "exponent": 3, "reference_loss_db": 46.68}),
        ("{mode: a, broadcast_rate_mbps: 6, path_loss: {reference_loss_db: 40.05}}", {"reference_loss_db": 40.05}),
        ("{mode: a, broadcast_rate_mbps: 6, path_loss: {model: free_space}}",
         {"model": "free_space", "frequency_ghz": 5.15}),
        ("{mode: a, broadcast_rate_mbps: 6, path_loss: {model: umi, frequency_ghz: 3.5}}", {"frequency_ghz": 3.5}),
    ],
)  # fmt: skip
def test_the_carrier_frequency_follows_from_the_mode_by_default(radio: str, loss: dict[str, object]) -> None:
    scenario = Scenario.from_text(TEXT, [f"wireless={radio}", "wireless.model=sinr"])
    assert loss.items() <= scenario.wireless.path_loss.model_dump().items()
    again = Scenario.from_text(effective(scenario))
    assert again.wireless == scenario.wireless and hash(again.wireless) == hash(scenario.wireless)
    if loss.get("frequency_ghz") == 5.15:  # Both default path-loss models agree at 1 m.
        assert mean_loss_db(scenario.wireless.path_loss, 1) == pytest.approx(46.68, abs=0.01)
