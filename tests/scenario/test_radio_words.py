"""Tests of the one-line description of a run's radio: wherever it is shown, it contains every setting that affects
reception.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from mobilenet.viz.report import draw as draw_report
from typer.testing import CliRunner

import mobilenet
from mobilenet.cli.main import app
from mobilenet.network.wireless import WirelessParameters
from mobilenet.scenario import Scenario
from mobilenet.scenario.radio_words import radio_of_run, radio_of_study, radio_words
from tests.conftest import SCENARIOS

TOWN = (
    "IEEE 802.11g, 6 Mb/s broadcast, 12 Mb/s unicast; log-distance path loss (n = 2.6, 40.05 dB at 1 m), 20.4 dBm;"
    " Nakagami fading (m = 1.5 below 80 m, 0.75 beyond); log-normal shadowing (4 dB, 13 m); 114 buildings (9"
    " dB for each wall,"
    " 0.4 dB/m); noise figure 7 dB, preamble at -82 dBm and 4 dB, ED -62 dBm"
)


def test_the_radio_of_the_town_is_described_in_words(tmp_path: Path) -> None:
    scenario = Scenario.load(SCENARIOS / "town.yaml")
    assert radio_words(scenario.wireless, scenario.folder) == TOWN
    assert "; buildings of buildings.geojson (9 dB" in radio_words(scenario.wireless, tmp_path)


@pytest.mark.parametrize(
    ("wireless", "words"),
    [
        (
            {"range_m": 100, "interference_range_m": 150, "detection_range_m": 200, "loss": 0.025, "eifs": False},
            "IEEE 802.11g mixed with b, 2 Mb/s broadcast, 24 Mb/s unicast, no EIFS; unit disk of 100 m, interference up"
            " to 150 m, carrier sense up to 200 m; 2.5 % lost at random",
        ),
        (
            {"mode": "b", "capture_db": 10},
            "IEEE 802.11b, 2 Mb/s broadcast, 11 Mb/s unicast; unit disk of 120 m, interference up to 120 m, carrier"
            " sense up to 120 m; capture at 10 dB",
        ),
        (
            {"mac": "acking", "full_duplex": False},
            "INET's AckingMac (no carrier sense), 12 Mb/s, half duplex; unit disk of 120 m, interference up to 120 m",
        ),
        (
            {"model": "sinr", "mode": "a", "broadcast_rate_mbps": 6, "station_tx_dbm": 23,
             "path_loss": {"model": "three_slope"}},
            "IEEE 802.11a, 6 Mb/s broadcast, 24 Mb/s unicast; three-slope path loss (n = 1.9, 3.8, 3.8 from 1, 200, 500"
            " m on, 46.68 dB at 1 m), hosts 20.4 dBm, stations 23 dBm; noise figure 7 dB, preamble at -82 dBm and 4 dB,"
            " ED -62 dBm",
        ),
        (
            {"model": "sinr", "path_loss": {"model": "umi"}, "obstacles": {"file": "gone.json"}},
            "IEEE 802.11g mixed with b, 2 Mb/s broadcast, 24 Mb/s unicast; 3GPP TR 38.901 UMi street canyon (2.4 GHz,"
            " stations at 10 m, hosts at 1.5 m), 20.4 dBm; buildings of gone.json (which determine the line of sight);"
            " noise figure 7 dB, preamble at -82 dBm and 4 dB, ED -62 dBm",
        ),
        (
            {"model": "sinr", "path_loss": {"model": "free_space", "frequency_ghz": 5.2}},
            "IEEE 802.11g mixed with b, 2 Mb/s broadcast, 24 Mb/s unicast; free-space path loss (5.2 GHz), 20.4 dBm;"
            " noise figure 7 dB, preamble at -82 dBm and 4 dB, ED -62 dBm",
        ),
    ],
)  # fmt: skip
def test_every_radio_model_is_described_in_words(wireless: dict[str, object], words: str, tmp_path: Path) -> None:
    assert radio_words(WirelessParameters.model_validate(wireless), tmp_path) == words


@pytest.mark.lab
def test_show_and_report_describe_the_radio(tmp_path: Path) -> None:
    run = mobilenet.run(
        SCENARIOS / "town.yaml", out=tmp_path / "run", overrides=["duration_s=8", "warmup_s=0", "drain_s=1"]
    ).path
    assert radio_of_run(run) == TOWN
    result = CliRunner().invoke(app, ["show", str(run)])
    assert result.exit_code == 0 and f"radio: {TOWN}\n" in result.output
    draw_report(run, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"Radio: {TOWN}." in page and "power, noise and interference determine" in page and "unit disk." not in page


def test_a_process_run_has_no_radio_description(tmp_path: Path) -> None:
    run = mobilenet.run(SCENARIOS / "vcube" / "causal.yaml", out=tmp_path / "run", overrides=["processes=4"]).path
    assert radio_of_run(run) is None
    assert "radio:" not in CliRunner().invoke(app, ["show", str(run)]).output


def study_of(folder: Path, *radios: str) -> Path:
    """Write a study directory with one configuration for each radio, and return its path."""
    for i, radio in enumerate(radios):
        at = folder / "configurations" / f"c{i:03d}"
        at.mkdir(parents=True)
        text = (SCENARIOS / "first.yaml").read_text(encoding="utf-8")
        (at / "scenario.yaml").write_text(f"{text}\nwireless: {radio}\n", encoding="utf-8")
    return folder


POWER = "model: sinr, mode: g, broadcast_rate_mbps: 6"


@pytest.mark.parametrize(
    ("radios", "varying"),
    [
        (["{}", "{}"], None),
        (["{loss: 0}", "{loss: 0.1}", "{loss: 0.2}"], "wireless.loss (0, 0.1, 0.2) varies"),
        (["{}", f"{{{POWER}}}"], "wireless.model (unit_disk, sinr), wireless.mode (g_mixed, g), "
         "wireless.broadcast_rate_mbps (2, 6) vary"),
        ([f"{{{POWER}, path_loss: {{exponent: 3}}}}", f"{{{POWER}, path_loss: {{exponent: 2.5}}}}"],
         "wireless.path_loss.exponent (3, 2.5) varies"),
        ([f"{{{POWER}}}", f"{{{POWER}, fading: {{model: nakagami}}, capture_db: 5}}"],
         "wireless.capture_db (none, 5), wireless.fading vary"),
    ],
)  # fmt: skip
def test_the_radio_of_a_study_is_described_in_words(radios: list[str], varying: str | None, tmp_path: Path) -> None:
    first = Scenario.from_text((SCENARIOS / "first.yaml").read_text(encoding="utf-8"), [f"wireless={radios[0]}"])
    words = radio_words(first.wireless, tmp_path)
    suffix = f"; this is the radio of the first configuration, and {varying}" if varying else ""
    assert radio_of_study(study_of(tmp_path, *radios)) == words + suffix


def test_an_unreadable_study_has_no_radio_description(tmp_path: Path) -> None:
    assert radio_of_study(tmp_path) is None
    study = study_of(tmp_path, "{loss: oops}", "{loss: 0.1}")
    assert (radio_of_study(study) or "").endswith("; 10 % lost at random")
