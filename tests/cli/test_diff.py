"""Tests of `mobilenet diff`, which reports where two runs diverge."""

from __future__ import annotations

from pathlib import Path

import pytest

import mobilenet
from mobilenet.record.compare import difference
from tests.cli.command import FIRST
from tests.cli.command import mobilenet as command


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for name, changes in {
        "one": [], "same": [], "lossy": ["wireless.loss=0.2"], "shorter": ["duration_s=12"],
    }.items():  # fmt: skip
        mobilenet.run(FIRST, out=folder / name, overrides=["duration_s=15", *changes])
    return folder


def test_diff_of_two_identical_runs_finds_no_difference(runs: Path) -> None:
    comparison = difference(runs / "one", runs / "same")
    assert comparison.same
    assert comparison.events == (None, None)
    assert comparison.scenario == comparison.metrics == []


@pytest.mark.parametrize(("other", "key"), [("lossy", "wireless.loss"), ("shorter", "duration_s")])
def test_diff_finds_the_first_event_that_differs(runs: Path, other: str, key: str) -> None:
    comparison = difference(runs / "one", runs / other)
    assert [row[0] for row in comparison.scenario] == [key]
    a, b = (
        mobilenet.Run(runs / name).events.astype(object).where(lambda t: t.notna(), None) for name in ("one", other)
    )
    rows = [[tuple(row) for row in table.to_numpy()] for table in (a, b)]
    assert rows[0][: comparison.common] == rows[1][: comparison.common]
    for row, event in zip(rows, comparison.events, strict=True):
        assert (None if event is None else tuple(event.values())) == (
            row[comparison.common] if comparison.common < len(row) else None
        )
    assert comparison.events[0] != comparison.events[1]
    assert "deliveries" in [row[0] for row in comparison.metrics]


def test_the_diff_command_prints_differences_and_the_next_step(runs: Path) -> None:
    result = command("diff", "one", "lossy", place=runs)
    assert result.returncode == 0
    assert "wireless.loss" in result.stdout
    assert "Next: mobilenet spacetime one --host h" in result.stdout
    assert command("diff", "one", "same", place=runs).stdout.startswith("the scenarios are the same\nboth runs have ")
    for wrong in ("nothing", "."):
        result = command("diff", "one", wrong, place=runs)
        assert result.returncode == 2
        assert len(result.stderr.splitlines()) == 1
