"""Tests of the figures of a factorial study. They show the effects, and are left out if the study has too many
configurations.

Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mobilenet.viz.comparison import has_room
from mobilenet.viz.figures import studies, study_figures
from mobilenet.viz.study_tables import StudyTables, study_tables

from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.level_names import LevelNames
from mobilenet.lab.studies.study import compare_study
from mobilenet.viz import study_tables as study_tables_module
from mobilenet.viz import style
from tests.conftest import SCENARIOS
from tests.lab.studies.test_moved_studies import make
from tests.viz.overlap import overlapping

DELAY = "delivery_delay_mean_s"
FACTORS = (
    "wireless.loss: [0, {label: lossy, value: 0.2}], workload.interval_s: [1, 2], protocol.window: [4, 16],"
    " hosts.count: [3, 4]"
)


@pytest.fixture(scope="module")
def factorial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("factorial")
    (folder / "study.yaml").write_text(
        f"scenario: {SCENARIOS}/first.yaml\nset: {{duration_s: 4, drain_s: 4}}\nreplications: {{min: 2}}\n"
        f"factors: {{{FACTORS}}}\n"
        "compare: {factor: wireless.loss, baseline: 0, metrics: [delivery_delay_mean_s, collision_ratio]}\n"
    )
    store = make(Study.load(folder / "study.yaml"), folder / "out")
    compare_study(store.path)
    return store.path


@pytest.mark.long
@pytest.mark.parametrize("width_in", [3.5, 7.2])
def test_the_effects_figure_shows_only_effects_without_overlaps(
    width_in: float, factorial: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[int] = []

    def look(figure: Any, target: Path) -> None:
        figure.draw_without_rendering()
        assert overlapping(figure) == [], target
        rows.extend(len(axes.get_yticks()) for axes in figure.axes)

    monkeypatch.setattr(style, "save", look)
    drawn = study_figures(factorial, tmp_path, style.Look((".svg",), captions=False, width_in=width_in))
    assert [figure.path.stem for figure in drawn] == ["effects"] and rows == [6, 6, 6]
    assert "The 6 largest of 10 effects" in drawn[0].note and drawn[0].note.count("Probably unstable: ") <= 2
    assert has_room(study_tables(factorial))  # The other factors have 8 combinations.


@pytest.mark.parametrize(("counts", "expected"), [([2, 2, 2, 2], True), ([2, 2, 2, 2, 2], False), ([9, 2], True)])
def test_comparisons_with_too_many_combinations_are_not_drawn(counts: list[int], expected: bool) -> None:
    tables = factorial_of(counts)
    compared = {"factor": tables.factors[0], "baseline": "0", "confidence": 0.95, "findings": []}
    assert has_room(replace(tables, comparison=compared)) == expected


def factorial_of(counts: list[int], label: str = "") -> StudyTables:
    """Return the tables of a study whose factors have these numbers of levels. `label` names its first
    configuration.
    """
    factors = [f"part.long_name_of_factor_{number}" for number in range(len(counts))]
    summary = [
        {"configuration": number, **dict(zip(factors, map(str, levels), strict=True)), "metric": DELAY, "n": 3,
         "mean": 2.0, "low": 1.0, "high": 3.0, "infinite": 0, "label": "" if number else label}
        for number, levels in enumerate(itertools.product(*map(range, counts)))
    ]  # fmt: skip
    return StudyTables(Path("study"), summary, factors, 0.95, None, "study", LevelNames({}))


@pytest.fixture(autouse=True)
def complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_tables_module, "missing_runs", lambda directory: None)


@pytest.mark.parametrize("width_in", [3.5, 7.2])
def test_a_long_legend_does_not_squeeze_the_panels(width_in: float) -> None:
    tables, look = factorial_of([2, 2, 2, 2, 2]), style.Look(width_in=width_in)
    with studies._drawn_means(tables, tables.factors[0], [DELAY, DELAY], look) as (figure, note):
        studies._entitle(figure, tables, "Means", note, look)
        assert overlapping(figure) == []
        assert all(axes.get_position().width > 0.3 for axes in figure.axes)


@pytest.mark.parametrize(("counts", "expected"), [([2, 6], ["curve"]), ([2, 2, 3], ["effects"])])
def test_figures_of_many_configurations_are_limited(
    counts: list[int], expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With two factors, the figure of means is drawn. With more factors and no effects, a sentence replaces the
    figure.
    """
    tables, texts = factorial_of(counts, "unstable"), []
    monkeypatch.setattr(studies, "study_tables", lambda study: tables)
    monkeypatch.setattr(studies, "study_effects", lambda *given: [])
    monkeypatch.setattr(style, "save", lambda figure, target: texts.extend(t.get_text() for t in figure.axes[0].texts))
    (tmp_path / "study.yaml").touch()
    drawn = [figure.path.stem for figure in study_figures(tmp_path, tmp_path, style.Look((".svg",)))]
    assert drawn == expected
    assert any(text.startswith("No effects: ") for text in texts) == (len(counts) > 2)
