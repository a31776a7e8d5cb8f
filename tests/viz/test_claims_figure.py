"""Tests of the figure of evaluated claims. It shows the measured values next to the requirements, and lists the claims
that cannot be drawn.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mobilenet.viz.figures import claims as drawing
from mobilenet.viz.figures import claims_figures
from mobilenet.viz.style import Look

from mobilenet.lab.studies import StudyError
from mobilenet.viz import style
from tests.tools import invoke, refusal
from tests.viz.overlap import overlapping


def row(name: str, value: Any, at_least: float | None, at_most: float | None, answer: str = "holds") -> dict[str, Any]:
    low, high = (value * 0.8, value * 1.3) if isinstance(value, float) else (value, value)
    return {
        "claim": name, "says": f"The mean delay of all messages in {name} is as printed.", "answer": answer,
        "value": value, "low": low, "high": high, "unit": "s", "at_least": at_least, "at_most": at_most,
    }  # fmt: skip


ROWS = [
    row("exact", 0.5, 0.45, 0.55), row("small", 0.0, None, 5.0), row("large", 9e6, 3.0, None),
    row("failing", 0.01, 0.1, 0.3, "does not hold"), row("open", 1.0, 1.0, 1.0, "undecided"),
    row("infinite", "inf", None, 1.0), row("schedules", 0.0, None, None), row("sign", -1.0, -2.0, 0.0),
]  # fmt: skip


def write(place: Path, rows: Any) -> Path:
    (place / "claims.json").write_text(json.dumps({"claims": rows}))
    return place


@pytest.mark.parametrize("width_in", [None, 3.5])
def test_the_claims_figure_shows_values_beside_requirements(
    width_in: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures: list[Any] = []
    monkeypatch.setattr(style, "save", lambda figure, target: figures.append(figure))
    look = Look((".svg",), width_in=width_in)
    (drawn,) = claims_figures(write(tmp_path, ROWS), tmp_path / "figures", look)
    (figure,) = figures
    assert overlapping(figure) == []
    assert drawn.note.endswith("Not drawn: 3 claims without a value or a bound.")
    axes = figure.axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert [name.split()[7] for name in names] == ["exact", "small", "large", "failing", "open"]
    bars = {(round(bar.get_x(), 6), round(bar.get_x() + bar.get_width(), 6)) for bar in axes.patches}
    assert (0.9, 1.1) in bars and (0.5, 1.5) in bars
    labels = {text.get_text() for text in figure.legends[0].get_texts()}
    assert labels == {"holds", "does not hold", "undecided"}


def test_many_claims_have_several_figures(tmp_path: Path) -> None:
    count = drawing.MOST_ROWS + 1
    write(tmp_path, [row(f"c{k}", 1.0, 0.5, 1.5) for k in range(count)])
    done = invoke("figures", tmp_path, "--format", "svg", "--plain")
    assert done.exit_code == 0, done.output
    folder = tmp_path / "figures"
    assert sorted(path.name for path in folder.iterdir()) == ["captions.txt", "claims_1.svg", "claims_2.svg"]
    assert "Not drawn" not in (folder / "captions.txt").read_text()


def test_the_claims_figure_counts_the_claims_without_numbers(tmp_path: Path) -> None:
    (drawn,) = claims_figures(write(tmp_path, ROWS[-2:]), tmp_path / "figures", Look((".svg",)))
    assert drawn.note.endswith("Not drawn: 2 claims without a value or a bound.") and drawn.path.is_file()


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"claims": [1]}', '{"claims": 1}'])
def test_drawing_damaged_claim_answers_is_rejected(text: str, tmp_path: Path) -> None:
    (tmp_path / "claims.json").write_text(text)
    with pytest.raises(StudyError, match="no answers to claims, or damaged"):
        claims_figures(tmp_path, tmp_path / "figures")


def test_the_claims_figure_rejects_options_of_studies(tmp_path: Path) -> None:
    assert "--x applies only to studies" in refusal("figures", write(tmp_path, ROWS), "--x", "processes")
