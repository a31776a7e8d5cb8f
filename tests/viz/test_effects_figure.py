"""The figures of a factorial study: its effects, and no picture of more configurations than one has room for.

Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mobilenet.viz.comparison import has_room
from mobilenet.viz.figures import study_figures
from mobilenet.viz.study_tables import study_tables

from mobilenet.studies.declaration import Study
from mobilenet.studies.study import compare_study
from mobilenet.viz import style
from tests.conftest import SCENARIOS
from tests.studies.test_handed_on import made
from tests.viz.overlap import overlapping

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
    store = made(Study.load(folder / "study.yaml"), folder / "out")
    compare_study(store.path)
    return store.path


@pytest.mark.long
@pytest.mark.parametrize("width_in", [3.5, 7.2])
def test_only_effects_and_nothing_covers_anything(
    width_in: float, factorial: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[int] = []

    def look(figure: Any, target: Path) -> None:
        figure.draw_without_rendering()
        assert overlapping(figure) == [], target
        rows.extend(len(axes.get_yticks()) for axes in figure.axes)

    monkeypatch.setattr(style, "save", look)
    drawn = study_figures(factorial, tmp_path, style.Look((".svg",), captions=False, width_in=width_in))
    assert [figure.path.stem for figure in drawn] == ["effects"] and rows == [6, 6]
    assert "The 6 largest of 10 effects" in drawn[0].note and drawn[0].note.count("Probably unstable: ") <= 2
    assert has_room(study_tables(factorial))  # 8 combinations of the others
