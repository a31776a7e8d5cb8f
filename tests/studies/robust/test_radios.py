"""The radios of a scenario: as far as its own, at rates that reach as far, and nothing of the other model left."""

from __future__ import annotations

from pathlib import Path

import pytest

from mobilenet.network.radio.links import cell_m, detected_cdbm, fading_of, half_heard_m, rate_reach_m
from mobilenet.network.radio.parameters import WirelessParameters
from mobilenet.network.radio.phy import MODES
from mobilenet.parameters import ScenarioError
from mobilenet.propagation.fading import PIECES
from mobilenet.propagation.path_loss import loss_table
from mobilenet.scenario import Scenario
from mobilenet.studies.robust.radios import RADIOS, Radio, radios
from mobilenet.studies.robust.words import RADIO_HEAD, radio_row
from tests.conftest import ROOT

FIRST = ROOT / "scenarios" / "first.yaml"
SINR = "wireless={model: sinr, mode: g_erp, path_loss: {exponent: 3.4}, shadowing: {sigma_db: 4}, noise_figure_db: 9}"


def of(*changes: str, chosen: list[str] | None = None, obstacles: str | None = None) -> dict[str, Radio]:
    return {radio.name: radio for radio in radios(Scenario.load(FIRST, changes), chosen, obstacles)}


@pytest.mark.parametrize("range_m", [100.0, 120.0, 123.45, 310.0])
def test_all_reach_as_far_as_the_disk(range_m: float) -> None:
    found = of(f"wireless.range_m={range_m}")
    assert list(found) == [name for name in RADIOS if name != "obstacles"]
    assert {cell_m(radio.wireless) for radio in found.values()} == {range_m}
    assert found["capture"].wireless.capture_db == 10 and found["disk"].changes == {}
    assert found["fading"].wireless.fading and found["shadowing"].wireless.shadowing
    assert found["log_distance"].wireless.path_loss.exponent == 3


def test_half_of_the_preambles_are_heard_nearer_with_fading() -> None:
    found = of()
    assert RADIO_HEAD[4:6] == ("reach, m", "half detected at, m")
    told = {name: radio_row(radio)[4:6] for name, radio in found.items()}
    assert told.pop("fading") == ("120", "102") and set(told.values()) == {("120", "120")}


@pytest.mark.parametrize(
    "fading",
    [{}, {"m_near": 5.0}, {"m_near": 0.5, "m_far": 3.0}, {"near_m": 0.0}, {"near_m": 500.0}, {"near_m": 110.0}],
)
def test_half_heard_is_what_the_gains_say(fading: dict[str, float]) -> None:
    """Counted piece by piece, at each centimetre around."""
    own = of()["fading"].wireless.model_dump(exclude_unset=True)
    wireless = WirelessParameters.model_validate({**own, "fading": {"model": "nakagami", **fading}})
    gains, losses = fading_of(wireless), loss_table(wireless.path_loss, 200)
    assert gains is not None
    half = half_heard_m(wireless)

    def heard(cm: int) -> int:
        least = detected_cdbm(wireless) - round(100 * wireless.tx_dbm) + losses[cm]
        return sum(gains.gain_cdb(piece << 18, cm / 100) >= least for piece in range(PIECES))

    assert heard(round(100 * half) - 1) >= PIECES // 2 > heard(round(100 * half) + 1)


@pytest.mark.parametrize("mode", sorted(MODES))
def test_the_highest_rate_that_reaches(mode: str) -> None:
    rates = MODES[mode].rates_mbps
    found = of(f"wireless={{mode: {mode}, broadcast_rate_mbps: {max(rates)}}}")["log_distance"].wireless
    far = 0.999 * cell_m(found)
    assert rate_reach_m(found, found.unicast_mbps, 100) >= far
    assert all(rate_reach_m(found, rate, 100) < far for rate in rates if rate > found.unicast_mbps)
    fits = rate_reach_m(found, max(rates), 100) >= far
    assert found.broadcast_rate_mbps == (max(rates) if fits else found.unicast_mbps)


def test_a_broadcast_rate_that_reaches_is_kept() -> None:
    assert of("wireless.broadcast_rate_mbps=1", "wireless.loss=0.1")["fading"].rates_mbps == (1, 18)
    assert of("wireless.loss=0.1")["fading"].wireless.loss == 0.1


def test_of_a_radio_that_receives_by_power() -> None:
    found = of(SINR, "hosts.attachment.hysteresis_db=2")
    assert list(found) == ["own", "disk", "capture", "log_distance", "fading", "shadowing"]
    own = cell_m(found["own"].wireless)
    assert found["disk"].wireless.range_m == own and found["disk"].wireless.mode == "g_erp"
    assert found["log_distance"].wireless.noise_figure_db == 9
    assert cell_m(found["log_distance"].wireless) == pytest.approx(own, abs=0.011)
    assert found["disk"].changes["hosts.attachment"] == {}
    assert found["fading"].changes["hosts.attachment.hysteresis_db"] == 2


def test_acking_becomes_dcf_where_power_decides() -> None:
    found = of("wireless={mac: acking, bitrate_mbps: 6}", "hosts.attachment={hysteresis_m: 0, error_m: 1}")
    assert [radio.wireless.mac for radio in found.values()] == ["acking", "acking", "dcf", "dcf", "dcf"]
    assert found["disk"].rates_mbps == (6, 6) and found["shadowing"].rates_mbps == (2, 18)
    assert found["shadowing"].changes["hosts.attachment"] == {"error_m": 1}
    assert list(found["shadowing"].changes) == ["hosts.attachment", "wireless"]


def test_obstacles_and_what_is_the_same() -> None:
    assert of(chosen=["obstacles"], obstacles="walls.geojson")["obstacles"].wireless.obstacles is not None
    assert "capture" not in of("wireless.capture_db=10")
    assert list(of(chosen=["fading", "disk"])) == ["disk", "fading"]


@pytest.mark.parametrize(
    ("changes", "chosen", "said"),
    [
        ((), ["fadign"], "unknown radio 'fadign' (did you mean 'fading'?)"),
        ((), ["own"], "unknown radio 'own'; the radios are: disk, "),
        (
            (),
            ["obstacles"],
            "radio obstacles: the scenario does not name a file of obstacles; specify one with --obstacles FILE",
        ),
        ((), ["disk"], "radios: only disk, so there is nothing to compare"),
        ((), [], "radios: only disk"),
        (("wireless.range_m=600",), None, "radio log_distance: a reach of 600 m needs 41.4 dBm, expected at most 40"),
    ],
)
def test_what_is_refused(changes: tuple[str, ...], chosen: list[str] | None, said: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        of(*changes, chosen=chosen)
    assert said in str(caught.value) and "\n" not in str(caught.value)
