"""Tests that a failing custom metric does not spoil the run: the metric has no value, and the run reports which metric
failed, where and why.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mobilenet
from mobilenet.judgement import own_metrics
from mobilenet.lab.studies.measure import measure
from mobilenet.metrics.custom import own_metric
from mobilenet.scenario import load_scenario
from tests.cli.command import mobilenet as command
from tests.conftest import FIRST

SHORT = ("duration_s=5", "hosts.count=4")
HEAD = "from mobilenet.metrics import metric\n\n\n@metric('words')\n"


def scenario_with(folder: Path, body: str) -> Path:
    """Write a scenario with two metrics, `right` and `wrong`. The function of `wrong` has this body."""
    source = f"{HEAD}def wrong(run):\n    {body}\n\n\n@metric('deliveries')\ndef right(run):\n"
    (folder / "own.py").write_text(source + "    return sum(1 for _ in run.deliveries())\n", encoding="utf-8")
    scenario = folder / "own.yaml"
    scenario.write_text(FIRST.read_text(encoding="utf-8") + "metrics: ['own.py:wrong', 'own.py:right']\n")
    return scenario


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("return 1 / 0", "own.py:6: ZeroDivisionError: division by zero"),
        ("raise SystemExit(0)", "own.py:6: SystemExit: 0"),
        ("raise BaseException('odd')", "own.py:6: BaseException: odd"),
        ("return 'no'", "own.py:4: ValueError: returned 'no', expected a finite number or None"),
        ("return float('nan')", "own.py:4: ValueError: returned nan, expected"),
        ("return True", "own.py:4: ValueError: returned True, expected"),
        ("return [1]", "own.py:4: ValueError: returned [1], expected"),
        ("return 10 ** 400", "own.py:4: OverflowError"),
        ("run.manifest.clear(); run.counters.clear(); raise KeyError", "own.py:6: KeyError"),
    ],
)
def test_a_failing_metric_is_reported_and_the_run_is_saved(body: str, complaint: str, tmp_path: Path) -> None:
    run = mobilenet.run(scenario_with(tmp_path, body), out=tmp_path / "run", overrides=SHORT, allow_code=True)
    assert run.verdict == "valid"
    assert run.metrics["wrong"] is None and run.metrics["right"] == run.metrics["deliveries"] > 0
    assert list(run.failed_metrics) == ["wrong"] and run.failed_metrics["wrong"].startswith(complaint)
    assert "wrong" in run._repr_html_()
    for kind in ("terminating", "steady_state"):
        own = own_metrics(load_scenario(run.path / "scenario.yaml"), allow_code=True)
        metrics = measure(run.path, kind, own).metrics
        assert "wrong" not in metrics and metrics["right"] > 0


@pytest.mark.lab
def test_run_reports_a_failed_metric_with_the_bad_input_code(tmp_path: Path) -> None:
    scenario = scenario_with(tmp_path, "return 1 / 0")
    options = [option for change in SHORT for option in ("--set", change)]
    done = command("run", scenario, "--allow-code", "--out", "run", *options, place=tmp_path)
    complaint = "metric wrong has no value: own.py:6: ZeroDivisionError: division by zero"
    assert done.returncode == 2 and complaint in done.stdout and "Traceback" not in done.stderr
    process = command("show", "run", place=tmp_path)
    assert process.returncode == 0 and complaint in process.stdout
    judged = command("verify", "run", place=tmp_path)
    assert judged.returncode == 0, judged.stdout
    assert command("report", "run", place=tmp_path).returncode == 0
    (tmp_path / "run" / "metrics.json").unlink()
    assert command("verify", "run", place=tmp_path).returncode == 0
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["wrong"] is None


def test_code_of_a_run_directory_runs_only_when_allowed(tmp_path: Path) -> None:
    """The code in the run directory is replaced after the run."""
    run = mobilenet.run(scenario_with(tmp_path, "return 1"), out=tmp_path / "run", overrides=SHORT, allow_code=True)
    (run.path / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n" + HEAD + "def wrong(run): ...")
    measure(run.path, "steady_state")
    assert not (tmp_path / "ran").exists()


def test_an_object_that_is_not_a_metric_is_rejected_early() -> None:
    with pytest.raises(ValueError, match="is not a metric"):
        own_metric(len, "own.py:len")
