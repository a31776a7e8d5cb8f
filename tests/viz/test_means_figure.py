"""Tests of the figure that shows the means of a study over the levels of a factor: gaps in lines, and positions of
labels.

Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mobilenet.viz.figures.means import draw_means, means_note
from mobilenet.viz.means_table import mean_and_half
from mobilenet.viz.study_tables import StudyTables

from mobilenet.lab.studies.level_names import LevelNames
from mobilenet.viz import study_tables, style

DELAY = "delivery_delay_mean_s"


def tables(levels: list[Any], without: int | None = None) -> StudyTables:
    """Return the tables of a study with one factor, in which the delay was not measured at the level `without`."""
    names = [str(level["value"] if isinstance(level, dict) else level) for level in levels]
    summary = [
        {"configuration": number, "loss": name, "metric": metric, "n": 3, "infinite": 0, "label": "",
         "mean": number + 1.0, "low": number + 0.5, "high": number + 1.5}
        for number, name in enumerate(names)
        for metric in (DELAY, "deliveries")
        if (number, metric) != (without, DELAY)
    ]  # fmt: skip
    return StudyTables(Path("study"), summary, ["loss"], 0.95, None, "study", LevelNames({"loss": levels}))


@pytest.fixture(autouse=True)
def complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_tables, "missing_runs", lambda directory: None)


def test_a_level_without_a_value_breaks_the_line_of_the_figure() -> None:
    with style.page(4, 3) as (_, axes):
        draw_means(axes, tables([0, 1, 2], without=1), "loss", DELAY)
    (line,) = [line for line in axes.lines if line.get_linestyle() == "-" and len(line.get_xdata()) == 3]
    assert list(line.get_xdata()) == [0, 1, 2] and list(np.isnan(line.get_ydata())) == [False, True, False]


def test_the_means_figure_shows_the_limits_of_claims(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"claim": "a", "answer": "holds", "experiment": "study", "configuration": 0, "quantity": DELAY, "at_least": 2,
         "at_most": 4},
        {"claim": "b", "answer": "holds", "experiment": "study", "configuration": 1, "quantity": DELAY, "at_most": 7},
        {"claim": "c", "answer": "holds", "experiment": "other", "configuration": 1, "quantity": DELAY, "at_most": 9},
    ]  # fmt: skip
    (tmp_path / "claims.json").write_text(json.dumps({"claims": rows}))
    with style.page(4, 3) as (_, axes):
        answering = replace(tables([0, 1, 2]), path=tmp_path / "study")
        draw_means(axes, answering, "loss", DELAY)
        assert "what claims require" in means_note(answering, [DELAY], 1)
    marks = [line for line in axes.lines if line.get_linestyle() == "None" and len(line.get_xdata()) == 1]
    assert [(*line.get_xdata(), *line.get_ydata()) for line in marks] == [(0, 3), (1, 7)]
    (tmp_path / "claims.json").write_text("{")
    assert "claims" not in means_note(replace(answering, path=tmp_path / "study"), [DELAY], 1)


@pytest.mark.parametrize(
    ("mean", "half", "words"),
    [
        (0.0414, 0.0021, "0.0414 ± 0.0021"),
        (0.022957739, 1.2e-8, "0.0229577 ± <0.0000001"),
        (1234567.8, 0.9, "1234568 ± 1"),
        (-3.2, 0.0, "-3.2"),
    ],
)
def test_means_are_rounded_according_to_their_interval(mean: float, half: float, words: str) -> None:
    assert mean_and_half(mean, half) == words


def test_axis_ticks_of_labelled_levels_show_the_labels() -> None:
    labelled = tables([{"label": "overload", "value": 0.02}, {"label": "quiet", "value": 2}])
    with style.page(4, 3) as (_, axes):
        draw_means(axes, labelled, "loss", DELAY)
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["overload", "quiet"]


def test_axis_ticks_of_close_numbers_do_not_overlap() -> None:
    with style.page(3.5, 3) as (figure, axes):
        draw_means(axes, tables([0.02, 0.2, 1, 2]), "loss", DELAY)
        figure.draw_without_rendering()
        boxes = [tick.get_window_extent() for tick in axes.get_xticklabels() if tick.get_text()]
        assert all(b.x0 - a.x1 > 4 for a, b in pairwise(boxes))
