"""Tests of complete runs with reception by SINR."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mobilenet
from mobilenet.lab.bench.simulator import lattice
from mobilenet.network.radio.sinr import links
from mobilenet.network.wireless import WirelessParameters
from mobilenet.scenario import Scenario
from mobilenet.scenario.preflight import warnings
from mobilenet.simulation.mobile import Simulation
from tests.conftest import ROOT

SINR = "model: sinr, mode: g, broadcast_rate_mbps: 6"
CACHES = (links.cell_m, links.reach_m, links.cutoff_m, links.serving_reach_m)


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Yield a monkeypatch that changes the bound of interference. Clear the caches afterwards."""
    yield monkeypatch
    for cached in CACHES:
        cached.cache_clear()


def pairs(*overrides: str) -> dict[str, int]:
    points = ", ".join(f"[{x!r}, {y!r}]" for x, y in lattice(61))
    changes = [
        "duration_s=4",
        "hosts.count=300",
        f"stations.layout={{shape: points, points_m: [{points}]}}",
        *overrides,
    ]
    simulation = Simulation(Scenario.load(ROOT / "scenarios" / "radio_check.yaml", changes))
    simulation.run()
    return dict(zip(simulation.medium.outcomes, simulation.medium.pairs, strict=True))


def test_interference_beyond_the_cutoff_changes_no_reception(bound: pytest.MonkeyPatch) -> None:
    """The network is 1.7 km wide. The cutoff is 1 393 m, or about 3 000 m if signals with a tenth of the power also
    count.
    """
    wireless = f"wireless={{{SINR}}}"
    parameters = WirelessParameters(model="sinr", mode="g", broadcast_rate_mbps=6)
    assert links.cutoff_m(parameters) == pytest.approx(1392.6, abs=0.1)
    usual = pairs(wireless)
    bound.setattr(links, "BELOW_NOISE_CDB", 3000)
    links.cutoff_m.cache_clear()
    assert links.cutoff_m(parameters) > 2900
    wider = pairs(wireless)
    assert sum(usual.values()) > 50_000 and usual["collision"] > 100
    assert sum(abs(usual[outcome] - wider[outcome]) for outcome in usual) < 2e-4 * sum(usual.values())
    bound.setattr(links, "BELOW_NOISE_CDB", -1000)
    links.cutoff_m.cache_clear()
    # With this bound, powers below ten times the noise are ignored, and the receptions do change.
    narrower = pairs(wireless)
    assert sum(abs(usual[outcome] - narrower[outcome]) for outcome in usual) > 1e-3 * sum(usual.values())


def test_the_radio_world_does_not_depend_on_the_protocol(tmp_path: Path) -> None:
    """Hosts stand still under shadowing. Each link has the same power in every frame and with either protocol."""
    changes = [
        f"wireless={{{SINR}, shadowing: {{sigma_db: 7}}}}", "hosts.attachment={hysteresis_db: 3}", "hosts.count=12",
        "duration_s=8", "warmup_s=0", "record.frames=true",
    ]  # fmt: skip
    powers = []
    for name, protocol in (("a", []), ("b", ["protocol={name: tcp_flooding}"])):
        run = mobilenet.run(ROOT / "scenarios" / "static.yaml", out=tmp_path / name, overrides=[*changes, *protocol])
        table = pd.read_parquet(run.path / "links.parquet")
        of_links = table.groupby(["sender", "receiver"]).power_dbm
        assert (of_links.nunique() == 1).all()
        powers.append(of_links.first())
    both = pd.concat(powers, axis=1, join="inner")
    assert len(both) > 50 and (both.iloc[:, 0] == both.iloc[:, 1]).all()
    assert len(np.unique(both.iloc[:, 0])) > 20


def test_a_sinr_run_is_judged_and_conserves_its_pairs(tmp_path: Path) -> None:
    changes = [
        f"wireless={{{SINR}, shadowing: {{sigma_db: 7}}, fading: {{model: nakagami}}}}", "duration_s=20", "warmup_s=0",
        "hosts.attachment={hysteresis_db: 2}", "hosts.count=20", "record.frames=true",
    ]  # fmt: skip
    run = mobilenet.run(ROOT / "scenarios" / "dynamic.yaml", out=tmp_path / "run", overrides=changes)
    assert run.verdict == "valid"
    lost = run.counters["radio"]["lost"]
    assert {"bit_errors", "preamble_missed", "collision"} <= set(lost)
    frames, table = pd.read_parquet(run.path / "frames.parquet"), pd.read_parquet(run.path / "links.parquet")
    assert len(frames) == len(table) == run.counters["radio"]["pairs_in_range"]
    assert frames.fate.value_counts()["received"] == run.counters["radio"]["received"]
    assert (table.power_dbm >= -82).all()
    received = frames.fate.isin(("received", "collision", "bit_errors"))
    assert table.sinr_db.notna().equals(received)
    assert table.sinr_db[frames.fate == "received"].min() > 0
    assert (table.sinr_db <= table.power_dbm + 93.98).where(received, True).all()
    again = mobilenet.run(ROOT / "scenarios" / "dynamic.yaml", out=tmp_path / "again", overrides=changes)
    assert again.manifest["fingerprint"] == run.manifest["fingerprint"]


@pytest.mark.parametrize(
    ("wireless", "expected"),
    [
        ("model: sinr, mode: g, broadcast_rate_mbps: 54", ["54 Mb/s reaches"]),
        # The calculation includes the noise.
        (f"{SINR}, preamble_sinr_db: 50", ["stations are received only up to 6.5 m"]),
        (f"{SINR}, unicast_rate_mbps: 6", []),
        (f"{SINR}, unicast_rate_mbps: 6, tx_dbm: -20", ["stations are received only up to 5.4 m"]),
        (
            f"{SINR}, unicast_rate_mbps: 6, tx_dbm: 10, station_tx_dbm: 20.4",
            ["a host therefore hears its station but is not"],
        ),
    ],
)
def test_check_warns_of_unsuitable_sinr_settings(wireless: str, expected: list[str]) -> None:
    area = "hosts.mobility.area={box_m: [-100, -100, 100, 100]}"
    scenario = Scenario.load(ROOT / "scenarios" / "radio_check.yaml", [f"wireless={{{wireless}}}", area])
    lines = warnings(scenario)
    assert len(lines) == len(expected), lines
    assert all(words in line for words, line in zip(expected, lines, strict=True)), lines
