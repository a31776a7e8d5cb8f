"""Tests of the radios that are derived from a scenario. A derived radio has the same range, uses only rates that reach
this range, and has no keys of the original radio model.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from mobilenet.lab.studies.robust.radios import RADIOS, Radio, radios
from mobilenet.lab.studies.robust.words import RADIO_HEAD, radio_row
from mobilenet.network.propagation.fading import PIECES
from mobilenet.network.propagation.path_loss import loss_table
from mobilenet.network.radio.phy import MODES
from mobilenet.network.radio.sinr.links import detected_cdbm, fading_of, half_heard_m, rate_reach_m
from mobilenet.network.radio_models import model_of
from mobilenet.network.wireless import WirelessParameters
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import Scenario
from tests.conftest import ROOT

FIRST = ROOT / "scenarios" / "first.yaml"
SINR = "wireless={model: sinr, mode: g_erp, path_loss: {exponent: 3.4}, shadowing: {sigma_db: 4}, noise_figure_db: 9}"


def of(*changes: str, chosen: list[str] | None = None, obstacles: str | None = None) -> dict[str, Radio]:
    return {radio.name: radio for radio in radios(Scenario.load(FIRST, changes), chosen, obstacles)}


@pytest.mark.parametrize("range_m", [100.0, 120.0, 123.45, 310.0])
def test_all_radios_of_robust_have_the_range_of_the_disk(range_m: float) -> None:
    radios_by_name = of(f"wireless.range_m={range_m}")
    assert list(radios_by_name) == [name for name in RADIOS if name != "obstacles"]
    assert {model_of(radio.wireless).cell_m for radio in radios_by_name.values()} == {range_m}
    assert radios_by_name["capture"].wireless.capture_db == 10 and radios_by_name["disk"].changes == {}
    assert radios_by_name["fading"].wireless.fading and radios_by_name["shadowing"].wireless.shadowing
    assert radios_by_name["log_distance"].wireless.path_loss.exponent == 3


def test_fading_shortens_the_median_detection_range() -> None:
    radios_by_name = of()
    assert RADIO_HEAD[4:6] == ("reach, m", "half detected at, m")
    reaches = {name: radio_row(radio)[4:6] for name, radio in radios_by_name.items()}
    assert reaches.pop("fading") == ("120", "102") and set(reaches.values()) == {("120", "120")}


@pytest.mark.parametrize(
    "fading",
    [{}, {"m_near": 5.0}, {"m_near": 0.5, "m_far": 3.0}, {"near_m": 0.0}, {"near_m": 500.0}, {"near_m": 110.0}],
)
def test_the_half_reception_distance_follows_from_the_fading(fading: dict[str, float]) -> None:
    """The test counts how many values of the fading allow reception one centimetre before and one centimetre after this
    distance.
    """
    own = of()["fading"].wireless.model_dump(exclude_unset=True)
    wireless = WirelessParameters.model_validate({**own, "fading": {"model": "nakagami", **fading}})
    gains, losses = fading_of(wireless), loss_table(wireless.path_loss, 200)
    assert gains is not None
    half = half_heard_m(wireless)

    def receivers(cm: int) -> int:
        least = detected_cdbm(wireless) - round(100 * wireless.tx_dbm) + losses[cm]
        return sum(gains.gain_cdb(piece << 18, cm / 100) >= least for piece in range(PIECES))

    assert receivers(round(100 * half) - 1) >= PIECES // 2 > receivers(round(100 * half) + 1)


@pytest.mark.parametrize("mode", sorted(MODES))
def test_robust_selects_the_highest_rate_that_covers_the_range(mode: str) -> None:
    rates = MODES[mode].rates_mbps
    wireless = of(f"wireless={{mode: {mode}, broadcast_rate_mbps: {max(rates)}}}")["log_distance"].wireless
    far = 0.999 * model_of(wireless).cell_m
    assert rate_reach_m(wireless, wireless.unicast_mbps, 100) >= far
    assert all(rate_reach_m(wireless, rate, 100) < far for rate in rates if rate > wireless.unicast_mbps)
    fits = rate_reach_m(wireless, max(rates), 100) >= far
    assert wireless.broadcast_rate_mbps == (max(rates) if fits else wireless.unicast_mbps)


def test_the_broadcast_rate_is_unchanged_if_it_covers_the_range() -> None:
    assert of("wireless.broadcast_rate_mbps=1", "wireless.loss=0.1")["fading"].rates_mbps == (1, 18)
    assert of("wireless.loss=0.1")["fading"].wireless.loss == 0.1


def test_robust_can_derive_radios_from_a_sinr_radio() -> None:
    radios_by_name = of(SINR, "hosts.attachment.hysteresis_db=2")
    assert list(radios_by_name) == ["own", "disk", "capture", "log_distance", "fading", "shadowing"]
    own = model_of(radios_by_name["own"].wireless).cell_m
    assert radios_by_name["disk"].wireless.range_m == own and radios_by_name["disk"].wireless.mode == "g_erp"
    assert radios_by_name["log_distance"].wireless.noise_figure_db == 9
    assert model_of(radios_by_name["log_distance"].wireless).cell_m == pytest.approx(own, abs=0.011)
    assert radios_by_name["disk"].changes["hosts.attachment"] == {}
    assert radios_by_name["fading"].changes["hosts.attachment.hysteresis_db"] == 2


def test_sinr_radios_replace_the_acking_mac_by_dcf() -> None:
    radios_by_name = of("wireless={mac: acking, bitrate_mbps: 6}", "hosts.attachment={hysteresis_m: 0, error_m: 1}")
    assert [radio.wireless.mac for radio in radios_by_name.values()] == ["acking", "acking", "dcf", "dcf", "dcf"]
    assert radios_by_name["disk"].rates_mbps == (6, 6) and radios_by_name["shadowing"].rates_mbps == (2, 18)
    assert radios_by_name["shadowing"].changes["hosts.attachment"] == {"error_m": 1}
    assert list(radios_by_name["shadowing"].changes) == ["hosts.attachment", "wireless"]


def test_robust_adds_obstacles_and_drops_identical_radios() -> None:
    assert of(chosen=["obstacles"], obstacles="walls.geojson")["obstacles"].wireless.obstacles is not None
    assert "capture" not in of("wireless.capture_db=10")
    assert list(of(chosen=["fading", "disk"])) == ["disk", "fading"]


@pytest.mark.parametrize(
    ("changes", "chosen", "complaint"),
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
def test_robust_rejects_radios_that_cannot_be_derived(
    changes: tuple[str, ...], chosen: list[str] | None, complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(ScenarioError) as caught:
        of(*changes, chosen=chosen)
    assert complaint in str(caught.value) and "\n" not in str(caught.value)
