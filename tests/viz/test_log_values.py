"""Tests of --log-y: small values stay readable next to outliers, and the figure reports values of zero or less."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mobilenet.viz.figures import run_figures, study_figures
from mobilenet.viz.log_values import log_values
from mobilenet.viz.style import Look, page

from mobilenet.lab.studies.study import Result, compare_study
from mobilenet.viz import comparison, style
from tests.tools import invoke
from tests.viz.overlap import legends_on_curves, overlapping

LOG_Y = Look((".svg",), log_y=True)


@pytest.fixture
def scales(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    seen: dict[str, list[str]] = {}

    def save(figure: Any, target: Path) -> None:
        seen[target.stem] = [axes.get_yscale() for axes in figure.axes]
        assert overlapping(figure) == [] and legends_on_curves(figure) == [], target

    for module in (style, comparison):
        monkeypatch.setattr(module, "save", save)
    return seen


def test_log_y_applies_to_figures_of_a_run(run: Path, tmp_path: Path, scales: dict[str, list[str]]) -> None:
    drawn = run_figures(run, tmp_path / "figures", LOG_Y)
    logarithmic = {"delays_over_time", "station_buffers", "host_buffers"}
    assert {name for name, each in scales.items() if "log" in each} == logarithmic
    assert {figure.path.stem for figure in drawn if LOG_Y.log_y_note in figure.note} == logarithmic
    scales.clear()
    run_figures(run, tmp_path / "plain", Look((".svg",)))
    assert not any("log" in each for each in scales.values())


def test_log_y_applies_to_figures_of_a_study(finished: Result, tmp_path: Path, scales: dict[str, list[str]]) -> None:
    study = finished.store.path
    compare_study(study)
    drawn = study_figures(study, tmp_path / "figures", LOG_Y)
    for name in ("curve", "comparison", "station_buffers"):
        assert set(scales[name]) == {"log"}, name
    assert {figure.path.stem for figure in drawn if LOG_Y.log_y_note not in figure.note} == {"delays", "effects"}


def test_non_positive_values_are_marked_on_logarithmic_axes() -> None:
    with page(6, 3, 1, 2) as (_, (axes, bare)):
        axes.errorbar([1, 2, 3, 4], [0.02, 40, 0, -1], [0.01, 50, 1, 1], marker="o", capsize=2)
        axes.set_ylim(bottom=0)
        bare.plot([1, 2], [0, -1], marker="o")
        limits = bare.get_ylim()
        log_values(axes)
        log_values(bare)
        assert [(text.get_position()[0], text.get_text()) for text in axes.texts] == [(3, "≤ 0"), (4, "≤ 0")]
        low, high = axes.get_ylim()
        assert axes.get_yscale() == "log" and 0 < low < 0.01 and high > 90
        assert (bare.get_yscale(), bare.get_ylim(), list(bare.texts)) == ("linear", limits, [])


def test_a_logarithmic_axis_has_a_lower_limit() -> None:
    """Because of rounding errors, a buffer may appear to hold 1e-17 messages."""
    with page(6, 3) as (_, axes):
        axes.plot([1, 2, 3], [1e-17, 1, 300])
        log_values(axes)
        assert axes.get_ylim()[0] > 1e-5


def test_figures_of_claims_reject_log_y(tmp_path: Path) -> None:
    (tmp_path / "claims.json").write_text("{}")
    result = invoke("figures", tmp_path, "--log-y")
    assert result.exit_code == 2 and "--log-y does not apply to claims" in result.stderr.replace("\n", " ")
