"""Tests of `check`, which examines a scenario before a run, and which rejects a study with an error message."""

from __future__ import annotations

import re
import time
from itertools import accumulate, chain, repeat
from math import inf
from pathlib import Path
from types import SimpleNamespace

import pytest

from mobilenet.forecast import Forecast, forecast, shortages, work_until
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import Scenario, load_scenario
from mobilenet.scenario.preflight import drain_events
from mobilenet.simulation.mobile import Simulation
from tests.cli.command import mobilenet, one_line
from tests.conftest import FIRST, SCENARIOS


def test_check_estimates_the_run_time_and_repeats_the_overrides(tmp_path: Path) -> None:
    done = mobilenet("check", SCENARIOS / "dynamic.yaml", "--set", "hosts.count=400", place=tmp_path)
    assert done.returncode == 0
    assert re.search(r"about [\d.]+ (s|min|h) to compute, up to \d+(\.\d)? [MG]B of memory$", done.stdout, re.M)
    assert done.stdout.splitlines()[-1].endswith("dynamic.yaml --set hosts.count=400")


def test_check_warns_of_a_long_drain_deadline(tmp_path: Path) -> None:
    def warnings(*changes: str) -> list[str]:
        words = [word for change in changes for word in ("--set", change)]
        lines = mobilenet("check", FIRST, *words, place=tmp_path).stdout.splitlines()
        return [line for line in lines if "its drain of up to" in line]

    (line,) = warnings("drain_s=1e6")
    assert line.startswith("warning: ") and re.search(r"1e\+06 s may take about \d+\.\d h", line)
    assert warnings("wireless.loss=1") == []  # Simulating two minutes does not take long.


@pytest.mark.parametrize("protocol", ["mobile_causal", "tcp_flooding"])
def test_check_does_not_underestimate_a_run_that_never_settles(protocol: str) -> None:
    scenario = Scenario.load(FIRST, ["drain_s=2000", "wireless.loss=1", f"protocol={{name: {protocol}}}"])
    simulation = Simulation(scenario)
    outcome = simulation.run()
    assert not outcome.quiescent
    handled = simulation.kernel.calendar.handled
    assert handled < scenario.estimated_events() + drain_events(scenario, scenario.longest_drain_s) < 100 * handled


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("dynamic.yaml", ["duration_s=60", "hosts.count=20"]),  # The rate of events is constant.
        ("static.yaml", ["duration_s=15", "hosts.count=150", "stations.layout.rings=5"]),  # Hosts are still joining.
        ("vcube/causal.yaml", []),
        ("first.yaml", []),  # The first forecast plays this scenario to its end.
    ],
)
def test_forecasts_of_events_and_rows_are_within_a_factor_of_two(
    file: str, changes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mobilenet.forecast.ENOUGH_S", inf)
    monkeypatch.setattr("mobilenet.forecast.MOST_EVENTS", 100_000)
    whole = forecast(load_scenario(SCENARIOS / file, changes))
    monkeypatch.setattr("mobilenet.forecast.MOST_EVENTS", whole.events // 4)
    foreseen = forecast(load_scenario(SCENARIOS / file, changes))
    assert whole.events / 2 < foreseen.events < 2 * whole.events and whole.rows / 2 < foreseen.rows < 2 * whole.rows


later_work = pytest.mark.parametrize(
    ("file", "change"),
    [
        ("first.yaml", "interventions=[{at_s: 30, do: interval, interval_s: 0.3}]"),
        ("dynamic.yaml", "churn={initial_fraction: 0.05, leave_rate_per_host_per_min: 0, mean_away_s: 30}"),
    ],
)


@later_work
def test_forecasts_include_later_broadcasts_and_members(
    file: str, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mobilenet.forecast.ENOUGH_S", inf)
    scenario = load_scenario(SCENARIOS / file, ["duration_s=60", change])
    whole = forecast(scenario)
    monkeypatch.setattr("mobilenet.forecast.MOST_EVENTS", whole.events // 10)
    assert whole.events / 2 < forecast(scenario).events < 2 * whole.events


@later_work
def test_expected_work_is_distributed_like_the_events(file: str, change: str) -> None:
    scenario = load_scenario(SCENARIOS / file, ["duration_s=60", change])
    simulation, expected, marks = Simulation(scenario), work_until(scenario), dict[float, int]()
    calendar = simulation.kernel.calendar
    simulation.run(lambda done_s, total_s: marks.setdefault(done_s, calendar.handled))
    for done_s in (10, 20, 30, 40, 50):
        assert expected(done_s) / expected(60) == pytest.approx(marks[done_s] / marks[60], abs=0.08)


def test_a_single_broadcast_is_hardly_a_part_of_the_work() -> None:
    workload = "workload={arrivals: explicit, payload_bytes: 100, messages: [{at_s: 1900, host: h0}]}"
    expected = work_until(load_scenario(FIRST, ["duration_s=2000", workload]))
    assert expected(1000) / expected(2000) == pytest.approx(0.5, abs=0.01)


def test_forecasts_extend_the_time_of_the_later_half(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this test, a simulated second takes 0.01 s of CPU time at the beginning, and 1 s later."""

    def foresee() -> Forecast:
        clock = accumulate(chain(repeat(0.01, 12), repeat(1.0)))
        monkeypatch.setattr("mobilenet.forecast.time", SimpleNamespace(process_time=clock.__next__))
        foreseen = forecast(load_scenario(SCENARIOS / "dynamic.yaml", ["duration_s=60", "hosts.count=20"]))
        assert foreseen is not None
        return foreseen

    monkeypatch.setattr("mobilenet.forecast.ENOUGH_S", inf)
    whole = foresee()
    monkeypatch.setattr("mobilenet.forecast.MOST_EVENTS", whole.events // 4)
    assert whole.cpu_s / 2 < foresee().cpu_s < 2 * whole.cpu_s


def test_check_reports_each_resource_that_a_run_would_exhaust(tmp_path: Path) -> None:
    lines = [*shortages(load_scenario(FIRST), Forecast(1e12, 1e7, 1e12), tmp_path)]
    assert [line.partition(" may")[0] for line in lines] == ["limits.max_events: the run", "the run", "the record"]
    assert [*shortages(load_scenario(FIRST), Forecast(3000, 0.1, 2000), tmp_path)] == []


def test_check_warns_of_disconnected_cells(tmp_path: Path) -> None:
    done = mobilenet("check", SCENARIOS / "static.yaml", "--set", "wireless.range_m=20", place=tmp_path)
    assert done.returncode == 0 and "areas that do not touch" in done.stdout
    assert "warning" not in mobilenet("check", SCENARIOS / "static.yaml", place=tmp_path).stdout


@pytest.mark.parametrize("command", ["check", "run"])
def test_commands_that_expect_a_scenario_reject_a_study(command: str, tmp_path: Path) -> None:
    done = mobilenet(command, SCENARIOS / "studies" / "loss.yaml", place=tmp_path)
    assert "a study, not a scenario; `mobilenet study" in one_line(done, 2)


def test_the_study_command_rejects_a_scenario(tmp_path: Path) -> None:
    done = mobilenet("study", FIRST, place=tmp_path)
    assert "a scenario, not a study; `mobilenet run" in one_line(done, 2)


def test_a_dry_run_checks_metrics_and_reports_spark_overhead(tmp_path: Path) -> None:
    study = tmp_path / "study.yaml"
    text = f"scenario: {FIRST}\nset: {{duration_s: 5}}\nfactors: {{wireless.loss: [0, 0.1]}}\n"
    study.write_text(text + "compare: {factor: wireless.loss, baseline: 0, metrics: [delviery_delay_mean_s]}\n")
    done = mobilenet("study", study, "--dry-run", place=tmp_path)
    assert "did you mean 'delivery_delay_mean_s'" in one_line(done, 2)
    study.write_text(text)
    done = mobilenet("study", study, "--dry-run", place=tmp_path)
    assert done.returncode == 0 and "s for Spark itself" in " ".join(done.stdout.split())


def test_diff_reports_a_changed_verdict(tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert mobilenet("run", FIRST, "--set", "duration_s=3", "--out", name, place=tmp_path).returncode == 0
    verdict = tmp_path / "b" / "verdict.json"
    verdict.write_text(verdict.read_text().replace('"valid"', '"violated"', 1))
    output = mobilenet("diff", "a", "b", place=tmp_path).stdout
    assert "verdict  first run  second run" in output and "violated" in output and "the metrics are the same" in output


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"k{i}: 1\n" for i in range(55_000)),  # Every key is unknown.
        "{" + ",".join(f"k{i}: 1" for i in range(90_000)) + "}",
        "seed: [" + ",".join("1" for _ in range(480_000)) + "]",
        "names:\n" + "- a\n" * 240_000,
        "a: " + "[" * 490_000,
        "? " * 490_000,
        "name: >\n" + "  x\n" * 240_000,
        "seed: " + "9" * 990_000,
    ],
    ids=["keys", "flow", "list", "block", "deep", "questions", "folded", "digits"],
)
def test_a_large_malformed_scenario_is_rejected_within_seconds(text: str) -> None:
    """Rejecting a file of the maximum size takes only seconds of CPU time."""
    began = time.process_time()
    with pytest.raises(ScenarioError) as refused:
        Scenario.from_text(text)
    assert time.process_time() - began < 30  # takes less than five seconds on an idle machine
    assert len(str(refused.value).splitlines()) <= 21
