"""Tests of the estimate of the remaining time. It covers all of the work in progress, and is printed only after enough
of the work is done.
"""

from __future__ import annotations

import pytest

import mobilenet
from mobilenet.cli import progress
from mobilenet.lab.studies.batch import Standing
from mobilenet.scenario import load_scenario
from tests.conftest import SCENARIOS


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(progress, "_on_terminal", lambda: False)
    monkeypatch.setattr(progress, "PLAIN_PROGRESS_S", 10.0)
    return now


def test_time_estimates_of_schedules_ignore_earlier_experiments(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    """The experiment took 50 s. Each schedule takes half a second, so the estimate must not use the speed of the
    experiment.
    """
    with progress.runs_progress(False) as update:
        update(Standing(0, 0, 40, 1, 40, "loss", 2))
        clock[0] = 50
        update(Standing(40, 0, 0, 1, 0, "loss", 2))
        for done in (1, 2, 3, 8, 28):
            clock[0] += 0.5 if done < 8 else (done - {8: 3, 28: 8}[done]) * 0.5
            update(Standing(done, 0, 100 - done, 1, 100 - done, "schedules"))
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["1 done, 0 failed, 99 left; schedules", "28 done, 0 failed, 72 left, about 36 s left; schedules"]


def test_the_time_estimate_covers_all_rounds(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    """Ten runs finish per minute. 4 runs remain in this round, and up to 1,000 runs remain in all rounds."""
    with progress.runs_progress(False) as update:
        for done in range(0, 21, 5):
            update(Standing(done, 0, 24 - done, 2, 1020 - done, "loss 0.2"))
            clock[0] += 30
    assert capsys.readouterr().err.splitlines()[-1] == (
        "20 done, 0 failed, 4 to 1000 left, about 24 s to 100 min left; loss 0.2"
    )


def test_remaining_time_depends_on_the_remaining_work(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    """After half of the simulated time, each second takes nine times as much work."""
    with progress.progress(
        False, "dynamic", expect=lambda: lambda time_s: time_s + 8 * max(0.0, time_s - 50)
    ) as update:
        clock[0] = 10.0
        update(25.0, 100.0)
        clock[0] = 20.0
        update(50.0, 100.0)
    lines = capsys.readouterr().err.splitlines()
    assert [line.rpartition(", ")[2] for line in lines] == ["190 s left", "180 s left"]


def test_progress_shows_no_estimate_after_only_one_run(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with progress.runs_progress(False) as update:
        for done in range(8):
            update(Standing(done, 0, 10 - done, 1, 10 - done))
            clock[0] += 11
    lines = capsys.readouterr().err.splitlines()
    assert [("about" in line) for line in lines] == [False] * 3 + [True] * 4
    assert lines[-1] == "7 done, 0 failed, 3 left, about 33 s left"


def test_progress_of_processes_foresees_the_last_delivery() -> None:
    """The duration of a scenario of processes is only a limit."""
    seen: list[tuple[float, float]] = []
    mobilenet.run(SCENARIOS / "vcube" / "causal.yaml", progress=lambda *times: seen.append(times))
    end, total = seen[-1]
    assert total == end < load_scenario(SCENARIOS / "vcube" / "causal.yaml").duration
    half = [total for now, total in seen if now >= end / 2]
    assert max(half) < 2 * end
