"""Tests of the settings for the experiments of the mobile paper, and of metrics that are mentioned only in the text of
the paper.
"""

from __future__ import annotations

import csv
import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mobilenet import api
from mobilenet.engine.clock import SECOND
from mobilenet.lab.package_files import PAPERS
from mobilenet.lab.studies.claims.declaration import Claims
from mobilenet.metrics import Record
from mobilenet.metrics.over_time import integral_of
from mobilenet.record.reader import read_frame
from mobilenet.record.schema import Event
from mobilenet.scenario import Scenario
from tests.conftest import SCENARIOS

PRESETS = SCENARIOS / "paper"
OUTAGES: Any = runpy.run_path(str(PRESETS / "outages.py"))
FILES = ("paper_mobile", "paper_mobile_text", "paper_engineering")


def test_paper_metrics_use_a_single_definition_of_a_collision() -> None:
    with (PAPERS / "wilhelm2020_mobile.csv").open(newline="") as file:
        metrics = {row["metric"] for row in csv.DictReader(file)}
    others = {"collision_loss_ratio_addressed", "collision_loss_ratio_addressed_begun", "messages_sent_per_delivery"}
    assert metrics > {"collision_loss_ratio", "copies_and_acks_per_delivery"} and not metrics & others


@pytest.mark.parametrize("name", FILES)
def test_experiments_use_seeds_that_were_not_used_in_searches(name: str) -> None:
    experiments = Claims.load(SCENARIOS / "claims" / f"{name}.yaml").experiments
    assert experiments and {one.first_seed for one in experiments.values()} == {2000}


def test_engineering_defaults_differ_from_presets_only_in_radio() -> None:
    presets, engineering = (Claims.load(SCENARIOS / "claims" / f"{name}.yaml") for name in (FILES[0], FILES[2]))
    assert presets.experiments.keys() - engineering.experiments.keys() == {"tcp_heavy"}
    for name in engineering.experiments:
        ours, theirs = engineering.study(name).base(), presets.study(name).base()
        assert isinstance(ours, Scenario) and isinstance(theirs, Scenario)
        loads = [(one.workload, one.duration_s, one.hosts.count, one.protocol.name) for one in (ours, theirs)]
        assert loads[0] == loads[1] and (ours.wireless.mac, theirs.wireless.mac) == ("dcf", "acking")


@pytest.mark.parametrize("path", sorted(PRESETS.glob("*.yaml")), ids=lambda path: path.stem)
def test_each_preset_setting_states_its_source(path: Path) -> None:
    origins = re.compile(r"#.*\b(printed|INET's default|inferred|ours)\b")
    text = path.read_text()
    for number, row in enumerate(text[text.index("\nseed:") :].splitlines(), 1):
        opens_a_group = re.match(r" *\w+:( *$|  *#)", row) and row.rstrip().endswith(":")
        assert not row.strip() or opens_a_group or origins.search(row), f"{path.name}: {number}: {row}"


def test_presets_differ_only_where_the_experiments_differ() -> None:
    loaded = {path.stem: Scenario.load(path) for path in PRESETS.glob("*.yaml")}
    assert set(loaded) == {"static", "static_25", "static_heavy", "dynamic", "faults", "tcp_static", "tcp_heavy"}
    for scenario in loaded.values():
        assert scenario.wireless == loaded["static"].wireless and scenario.stations == loaded["static"].stations
    for name in ("static_25", "static_heavy", "dynamic", "faults"):
        assert loaded[name].protocol == loaded["static"].protocol
    assert loaded["tcp_heavy"].protocol == loaded["tcp_static"].protocol
    assert {1 / loaded[name].workload.interval_s for name in ("static_heavy", "tcp_heavy")} == {0.5}


def test_the_outage_schedule_agrees_with_the_preset() -> None:
    faults = Scenario.load(PRESETS / "faults.yaml").faults
    assert faults is not None
    names = ("STATION", "FIRST_AT_S", "EVERY_S", "FIRST_LENGTH_S")
    schedule = (faults.station, faults.first_at_s, faults.every_s, faults.first_duration_s)
    assert schedule == tuple(OUTAGES[name] for name in names) and faults.duration_step_s == 1


def test_the_growth_over_an_outage_agrees_with_the_samples(tmp_path: Path) -> None:
    changes = ["duration_s=50", "hosts.count=20", "stations.layout.rings=1"]
    metrics = "metrics=[outages.py:sbuffer_growth_3, outages.py:hosts_never_members]"
    run = api.run(PRESETS / "faults.yaml", out=tmp_path / "run", overrides=[*changes, metrics], allow_code=True)
    samples = read_frame(run.path, "samples")
    rows = samples[(samples["quantity"] == "sbuffer") & (samples["node"] == "s3")]
    before = [np.diff(integral_of(rows, np.array([end - 5, end]) * SECOND))[0] for end in (15.0, 45.0)]  # seconds
    assert before[0] > 0 and run.metrics["sbuffer_growth_3"] == pytest.approx(before[1] / before[0])
    assert run.metrics["hosts_never_members"] == 0


def record(events: list[tuple[str, str]], samples: list[tuple[float, str, str, float]]) -> Record:
    columns = zip(*((round(time_s * SECOND), *rest) for time_s, *rest in samples), strict=True)
    event_columns: dict[str, Any] = {name: [""] * len(events) for name in Event._fields}
    event_columns |= {"time_ns": [0] * len(events), "node": [node for node, _ in events]}
    event_columns["event"] = [event for _, event in events]
    names = ("time_ns", "node", "quantity", "value")
    manifest = {"hosts": 3, "warmup_s": 0, "duration_s": 50}
    return Record(event_columns, dict(zip(names, map(list, columns), strict=True)), {}, manifest)


def test_the_backlog_before_an_outage_agrees_with_a_hand_count() -> None:
    """The test counts the backlog in the 5 s before 15 s, and in the 5 s before 45 s."""
    samples = [(1, "s3", "sbuffer", 2.0), (12, "s3", "sbuffer", 7.0), (13, "s1", "sbuffer", 90.0), (14, "s3", "rbuffer",
    80.0), (16, "s3", "sbuffer", 50.0), (41, "s3", "sbuffer", 10.0)]  # fmt: skip
    run = record([("h0", "join"), ("h0", "leave"), ("h0", "join"), ("h2", "join")], samples)
    assert OUTAGES["sbuffer_before"](run, 0) == (2 * 2 + 3 * 7) / 5
    assert OUTAGES["sbuffer_growth_3"](run) == (50 + 4 * 10) / (2 * 2 + 3 * 7)
    assert OUTAGES["hosts_never_members"](run) == 1
    assert OUTAGES["sbuffer_growth_3"](record([], [(16.0, "s3", "sbuffer", 5.0)])) is None
