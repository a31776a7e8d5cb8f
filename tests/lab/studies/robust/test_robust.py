"""Tests of `mobilenet robust` on a real Spark: the same worlds on each radio, resumed calls, and refused arguments."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from mobilenet.lab.studies.configurations import configurations
from mobilenet.lab.studies.robust.robust import plan
from mobilenet.scenario import Scenario
from tests.cli.command import ROOT, mobilenet, one_line
from tests.lab.studies.directories import manifests

pytestmark = pytest.mark.spark

STUDY = f"""scenario: {ROOT}/scenarios/first.yaml
set: {{duration_s: 8, hosts.attachment.hysteresis_m: 2}}
factors:
  workload.interval_s: [1, 4]
replications: {{min: 3}}
compare: {{factor: workload.interval_s, baseline: 1, metrics: [messages_sent_per_delivery, delivery_delay_mean_s]}}
"""
WALL = [[100, -60], [101, -60], [101, 60], [100, 60], [100, -60]]
TWO = ("--workers", "2")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("robust")
    (place / "pace.yaml").write_text(STUDY)
    done = mobilenet("robust", "pace.yaml", "--radios", "shadowing", "--out", "out", *TWO, place=place)
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "Next: look at out/robust.png", done
    assert "shadowing  log_distance with shadowing (7 dB, 13 m)  dcf  20.42       120       120" in done.stdout
    assert "2 radios, at least 6 runs on each" in done.stdout and "2 comparisons: " in done.stdout
    return place


def positions(place: Path, radio: str, run: str = "c000-r0002") -> pd.DataFrame:
    return pd.read_parquet(place / "out" / radio / "runs" / run / "positions.parquet")


def test_the_robust_command_uses_the_same_worlds_on_all_radios(place: Path) -> None:
    assert positions(place, "disk").equals(positions(place, "shadowing"))
    assert not positions(place, "disk").equals(positions(place, "disk", "c000-r0003"))
    a, b = (
        Scenario.load(place / "out" / r / "configurations" / "c001" / "scenario.yaml") for r in ("disk", "shadowing")
    )
    assert (a.wireless.model, b.wireless.model) == ("unit_disk", "sinr") and a.workload == b.workload
    assert a.hosts.attachment.hysteresis_m == 2 and a.seed == b.seed


def test_all_outputs_of_robust_are_consistent(place: Path) -> None:
    rows = pd.read_csv(place / "out" / "robust.csv")
    assert list(rows["radio"]) == ["disk", "shadowing"] * 2 and set(rows["pairs"]) == {3}
    for radio in ("disk", "shadowing"):
        own = pd.read_csv(place / "out" / radio / "comparison.csv")
        mine = rows[rows["radio"] == radio].reset_index(drop=True)
        for column in ("metric", "mean", "difference_low", "difference_high"):
            assert mine[column].equals(own[column]), column
        # In this table, p-values are adjusted for more comparisons.
        assert (mine["p_adjusted"] >= own["p_adjusted"]).all()
    assert pd.read_parquet(place / "out" / "robust.parquet")["verdict"].tolist() == rows["verdict"].tolist()
    page = (place / "out" / "robust.md").read_text()
    assert all(verdict in page for verdict in rows["verdict"]) and "| shadowing | log_distance with" in page
    assert (place / "out" / "robust.svg").stat().st_size > 5_000


def test_adding_a_radio_to_robust_runs_only_the_missing_runs(place: Path) -> None:
    before = manifests(place)
    radios = ("--radios", "obstacles,shadowing", "--obstacles", "town.geojson")
    (place / "town.geojson").write_text(json.dumps({"type": "Polygon", "crs": None, "coordinates": [WALL]}))
    done = mobilenet("robust", "pace.yaml", *radios, "--out", "out", *TWO, place=place)
    assert done.returncode == 0, done
    after = manifests(place)
    assert len(before) == 12 and len(after) == 18 and before.items() < after.items()
    assert list(pd.read_csv(place / "out" / "robust.csv")["radio"]) == ["disk", "shadowing", "obstacles"] * 2
    scenario = Scenario.load(place / "out" / "obstacles" / "configurations" / "c000" / "scenario.yaml")
    assert scenario.wireless.obstacles is not None and scenario.wireless.obstacles.file == "town.geojson"


def test_a_dry_run_of_robust_starts_no_runs(place: Path) -> None:
    done = mobilenet("robust", "pace.yaml", "--dry-run", "--out", "dry", place=place)
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "Next: mobilenet robust pace.yaml --out dry"
    assert "fading        log_distance with Nakagami fading" in done.stdout and "120       102" in done.stdout
    assert "5 radios, at least 6 runs on each" in done.stdout and not (place / "dry").exists()


REFUSED = {
    "no compare": (STUDY.partition("compare")[0], (), "s.yaml: the study has no comparison"),
    "unknown radio": (STUDY, ("--radios", "disk,fadig"), "unknown radio 'fadig' (did you mean 'fading'?)"),
    "no obstacles": (STUDY, ("--obstacles", "town.geojson"), "town.geojson: no such file; --obstacles takes"),
    "damaged obstacles": (STUDY, ("--obstacles", "s.yaml", "--radios", "obstacles"), "s.yaml:1:1: neither GeoJSON"),
    "processes": (
        f"scenario: {ROOT}/scenarios/vcube/causal.yaml\nfactors: {{duration: [1, 2]}}\n"
        "compare: {factor: duration, baseline: 1, metrics: [latency]}\n", (), "s.yaml:1: scenario: ",
    ),
    "a radio as factor": (
        STUDY.replace("workload.interval_s: [1, 4]", "wireless.range_m: [120, 130]")
        .replace("factor: workload.interval_s, baseline: 1", "factor: wireless.range_m, baseline: 120"),
        (), "s.yaml:4: factors.wireless.range_m: sets wireless.range_m, but this command varies the radio itself",
    ),
    "a hysteresis as factor": (
        STUDY.replace("set: {duration_s: 8, hosts.attachment.hysteresis_m: 2}\n", "")
        .replace("workload.interval_s: [1, 4]", "hand: [{hosts.attachment.hysteresis_m: 1}, {seed_: 2}]")
        .replace("seed_: 2", "hosts.attachment.hysteresis_m: 3")
        .replace("workload.interval_s, baseline: 1", "hand, baseline: {hosts.attachment.hysteresis_m: 1}"),
        (), "factors.hand: sets hosts.attachment.hysteresis_m, whose meaning differs between radios",
    ),
    "two masters": (STUDY, ("--master", "local[1]", "--workers", "1"), "--workers sets the number of cores"
        " on this machine"),
    "a metric": (STUDY.replace("messages_sent_per", "messages_send_per"), (), "unknown metric 'messages_send_per_"),
    "another study's folder": (STUDY, ("--out", "taken"), "taken: already exists and was not written by"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_the_robust_command_rejects_bad_input(name: str, tmp_path: Path) -> None:
    text, words, complaint = REFUSED[name]
    (tmp_path / "s.yaml").write_text(text)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "study.yaml").write_text("seed: 1\n")
    done = mobilenet("robust", "s.yaml", "--quiet", *words, place=tmp_path)
    assert complaint in one_line(done, 2), done.stderr
    assert not (tmp_path / "studies").exists()


@pytest.mark.parametrize(
    ("scenario", "changes", "radios"),
    [
        (
            "first.yaml",
            "wireless: {model: sinr, shadowing: {}}, hosts.attachment.hysteresis_db: 2",
            ["own", "disk", "capture", "log_distance", "fading", "shadowing"],
        ),
        ("paper/dynamic.yaml", "", ["disk", "capture", "log_distance", "fading", "shadowing"]),
        ("own_protocol/courier.yaml", "", ["disk", "capture", "log_distance", "fading", "shadowing"]),
    ],
)
def test_any_radio_can_be_the_base_of_a_robust_study(
    scenario: str, changes: str, radios: list[str], tmp_path: Path
) -> None:
    """Every configuration is a valid scenario with every radio, even if the other radios do not have some of its
    keys.
    """
    text = f"scenario: {ROOT}/scenarios/{scenario}\nset: {{{changes}}}\nreplications: {{min: 2}}\nfactors:\n"
    text += "  wireless.loss: [0, 0.1]\ncompare: {factor: wireless.loss, baseline: 0, metrics: [gaps]}\n"
    (tmp_path / "s.yaml").write_text(text)
    radio_plan = plan(tmp_path / "s.yaml", None, None, allow_code=True)
    assert [radio.name for radio in radio_plan.radios] == radios and radio_plan.runs == 4
    loss = [
        Scenario.load(radio_plan.study.scenario_path, c.overrides).wireless.loss
        for c in configurations(radio_plan.studies[-1], True)
    ]
    assert loss == [0, 0.1]
