"""What is held against the paper's figures, without running its experiments in full (that takes twenty minutes)."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from mobilenet.viz.figures.mobile_paper import mobile_figures

from mobilenet import api
from mobilenet.lab.studies.configurations import configurations, plan_runs
from mobilenet.lab.studies.papers import mobile, mobile_plan, mobile_tables
from mobilenet.lab.studies.papers import mobile_series as series
from mobilenet.lab.studies.papers.mobile import PRINTED, line, precision, ratio_of, verdict_against
from mobilenet.lab.studies.papers.mobile_plan import ENGINEERING, EXPERIMENTS, FIRST_SEED, PRESETS
from mobilenet.lab.studies.spark import local_master
from mobilenet.lab.studies.statistics import t_interval
from mobilenet.lab.studies.study import known_metrics
from mobilenet.scenario import Scenario, load_scenario
from tests.tools import invoke

ROOT = Path(__file__).parents[3]


def test_each_printed_figure_has_an_experiment_and_a_metric() -> None:
    names = {experiment.name for experiment in EXPERIMENTS}
    with PRINTED.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 20
    for row in rows:
        assert row["metric"] in known_metrics() and row["experiment"] in names
        assert 0 <= float(row["low"]) <= float(row["high"])


def test_one_definition_of_a_collision_and_one_of_a_message_for_all_printed_figures() -> None:
    with PRINTED.open(newline="") as file:
        metrics = {row["metric"] for row in csv.DictReader(file)}
    assert metrics & set(mobile_tables.DEFINITIONS) == {"collision_loss_ratio", "copies_and_acks_per_delivery"}


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_each_experiment_is_a_study_of_a_preset_on_seeds_that_were_not_searched(
    experiment: mobile_plan.Experiment,
) -> None:
    study = experiment.study()
    (configuration,) = configurations(study)
    assert study.scenario_path == PRESETS / f"{experiment.preset}.yaml"
    runs_of_it = plan_runs(study, [study.replications.most])
    assert [run.seed for run in runs_of_it[:3]] == [FIRST_SEED, FIRST_SEED + 1, FIRST_SEED + 2] and len(
        runs_of_it
    ) >= 10
    assert configuration.number == 0


def test_the_engineering_defaults_have_the_load_and_the_length_of_the_presets_and_their_own_radio() -> None:
    for experiment in ENGINEERING:
        preset = next(e for e in EXPERIMENTS if e.name == experiment.name)
        ours, theirs = (
            load_scenario(e.study().scenario_path, configurations(e.study())[0].overrides) for e in (experiment, preset)
        )
        assert isinstance(ours, Scenario) and isinstance(theirs, Scenario)
        assert (ours.workload, ours.duration_s, ours.hosts.count) == (
            theirs.workload,
            theirs.duration_s,
            theirs.hosts.count,
        )
        assert ours.protocol.name == theirs.protocol.name and (ours.wireless.mac, theirs.wireless.mac) == (
            "dcf",
            "acking",
        )


@pytest.mark.parametrize("path", sorted(PRESETS.glob("*.yaml")), ids=lambda path: path.stem)
def test_each_setting_of_a_preset_says_where_it_comes_from(path: Path) -> None:
    origins = re.compile(r"#.*\b(printed|INET's default|inferred|ours)\b")
    text = path.read_text()
    for number, row in enumerate(text[text.index("\nseed:") :].splitlines(), 1):
        opens_a_group = re.match(r" *\w+:( *$|  *#)", row) and row.rstrip().endswith(":")
        assert not row.strip() or opens_a_group or origins.search(row), f"{path.name}: {number}: {row}"


def test_presets_differ_only_in_what_the_experiments_vary() -> None:
    loaded = {path.stem: Scenario.load(path) for path in PRESETS.glob("*.yaml")}
    assert set(loaded) == {"static", "static_25", "static_heavy", "dynamic", "faults", "tcp_static", "tcp_heavy"}
    for scenario in loaded.values():
        assert scenario.wireless == loaded["static"].wireless and scenario.stations == loaded["static"].stations
    for name in ("static_25", "static_heavy", "dynamic", "faults"):
        assert loaded[name].protocol == loaded["static"].protocol
    assert loaded["tcp_heavy"].protocol == loaded["tcp_static"].protocol
    assert {1 / loaded[name].workload.interval_s for name in ("static_heavy", "tcp_heavy")} == {0.5}


@pytest.mark.parametrize(
    ("mean", "low", "high", "sentence"),
    [
        (0.2, 0.195, 0.205, "fits"),
        (0.1, 0.195, 0.205, "0.5 times"),
        (0.44, 0.195, 0.205, "2.2 times"),
        (3, 0, 0, "above"),
        (1, 0, 0.5, "2 times"),
    ],
)
def test_fits_or_by_how_much_not(mean: float, low: float, high: float, sentence: str) -> None:
    assert verdict_against(mean, low, high) == sentence


def test_a_wide_interval_says_why() -> None:
    tight, wide = np.array([1.0, 1.01, 0.99, 1.0]), np.array([1.0, 2.0, 0.2, 0.8])
    assert precision(t_interval(tight), tight) == "± 1 %, n = 4"
    assert precision(t_interval(wide), wide) == "± 119 %, n = 4: runs differ, 0.2 to 2"
    assert line("e", "q", "5", tight, (0.5, 2), "V", "tried this").remark == ""
    assert line("e", "q", "5", tight, (5, 6), "V", "tried this").remark == "tried this"


def test_ratios_pair_replications() -> None:
    ours = [{"replication": str(k), "m": str(v)} for k, v in ((1, 2.0), (2, 8.0), (3, 5.0))]
    baseline = [{"replication": str(k), "m": str(v)} for k, v in ((2, 2.0), (1, 0.5))]
    assert ratio_of(ours, baseline, "m").startswith("4 times (4 to 4)")


# --- the course of a run


@pytest.fixture(scope="module")
def preset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run of a preset with faults."""
    changes = ["duration_s=50", "hosts.count=20", "stations.layout.rings=1"]
    return api.run(PRESETS / "faults.yaml", out=tmp_path_factory.mktemp("preset") / "run", overrides=changes).path


def test_buffers_over_time_have_the_mean_that_the_metrics_have(preset: Path) -> None:
    at = series.edges(50.0, 1.0)
    metrics = api.Run(preset).metrics
    assert series.buffer(preset, at)[10:].mean() == pytest.approx(metrics["station_sbuffer_mean"], rel=1e-9)
    assert series.host_rbuffer(preset, at)[10:].mean() == pytest.approx(metrics["host_rbuffer_mean"], rel=1e-6)
    assert np.mean([series.buffer(preset, at, station=f"s{k}") for k in range(7)], axis=0) == pytest.approx(
        series.buffer(preset, at)
    )


def test_delays_by_length_end_with_those_of_the_metrics(preset: Path) -> None:
    delays = series.delays_by_length(preset, (30.0, 50.0))
    assert delays[50.0][1] == pytest.approx(api.Run(preset).metrics["delivery_delay_mean_s"], rel=1e-12)
    for seen, everything in delays.values():
        assert 0 < seen <= everything  # what takes longest is what has not arrived


def test_messages_per_delivery_are_counted_from_the_beginning(preset: Path) -> None:
    """Against counting by hand in the tables."""
    events, samples = (pd.read_parquet(preset / f"{name}.parquet") for name in ("events", "samples"))
    end = (
        samples[(samples.node == "network") & (samples.time_ns == 50 * 10**9)]
        .drop_duplicates("quantity")
        .set_index("quantity")
        .value
    )
    deliveries = ((events.event == "deliver") & (events.time_ns <= 50 * 10**9)).sum()
    expected = (end["radio_payload_bytes"] / 100 + end["radio_acknowledgements"]) / deliveries
    assert series.sent_per_delivery(preset, series.edges(50.0, 10.0))[-1] == pytest.approx(expected)


def test_before_each_fault(preset: Path) -> None:
    before = series.before_faults(preset, 5.0)
    assert len(before) == 2  # at 15 and 45 s
    assert before[0] == pytest.approx(series.buffer(preset, np.array([10.0, 15.0]), station="s3")[0])
    assert series.never_joined(preset) == 0 and series.unrest(preset) is None


def test_step_mean() -> None:
    times, values = np.array([1.0, 3.0]), np.array([4.0, 0.0])
    assert series.step_mean(times, values, 0, 4) == 2.0
    assert series.step_mean(times, values, 2, 3) == 4.0 and series.step_mean(times, values, 5, 6) == 0.0


@pytest.mark.long
def test_a_small_reproduction_from_runs_to_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it with two short runs each; called again, it runs nothing and says the same."""
    short = (("duration_s", 48.0), ("hosts.count", 14), ("drain_s", 20.0))
    small = [e._replace(least=2, most=2, changes=short) for e in EXPERIMENTS]
    monkeypatch.setattr(mobile, "EXPERIMENTS", tuple(small))
    monkeypatch.setattr(mobile_tables, "LENGTHS_S", (30.0, 48.0))
    done: list[int] = []
    once = mobile.reproduce(
        tmp_path / "out", local_master(2), lambda *counts: done.append(counts[0]), lambda text: None
    )
    tables = {path.name: path.read_bytes() for path in (tmp_path / "out").glob("mobile*")}
    again = mobile.reproduce(tmp_path / "out", local_master(2), lambda *counts: None, lambda text: None)
    assert once == again and tables == {path.name: path.read_bytes() for path in (tmp_path / "out").glob("mobile*")}
    text = (tmp_path / "out" / "mobile.md").read_text()
    for heading in ("What is not reproduced", "Alternative definitions", "length of the run", "Verdicts"):
        assert heading in text
    verdicts = pd.read_csv(tmp_path / "out" / "mobile_verdicts.csv")
    assert verdicts.violated.sum() == 0 and (verdicts.runs == 2).all()
    assert (verdicts.unknown == 0).equals(verdicts["not at rest at the end"].isna())
    assert [path.name for path in mobile_figures(tmp_path / "out")] == [
        "mobile_figure_6.png", "mobile_figure_7.png", "mobile_figure_8.png", "mobile_tcp.png",
    ]  # fmt: skip
    files = [path for path in (tmp_path / "out").iterdir() if path.is_file()]
    assert {path.suffix for path in files} == {".csv", ".parquet", ".md", ".png", ".svg"}
    for file in files:
        result = invoke("explain", file)
        assert result.exit_code == 0 and "from several studies of 16 runs" in result.output, (file, result.output)
        assert result.output.endswith("Next: mobilenet reproduce mobile\n")
