"""Tests of reports and figures of studies: a damaged directory leads to one line of output, and each number has a
description and only significant digits.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from mobilenet.viz.figures import study_figures
from mobilenet.viz.report import draw
from mobilenet.viz.style import Look
from mobilenet.viz.words import with_interval

from mobilenet.lab.studies.study import Result, compare_study
from mobilenet.lab.studies.table_files import read_table, write_table
from mobilenet.metrics.registry import OF_HOSTS
from mobilenet.quoting import format_number
from mobilenet.viz import comparison, style
from tests.accessibility import obstacles
from tests.browser import Page, chromium, is_required
from tests.tools import copy_run, editing, invoke, refusal
from tests.viz.overlap import legends_on_curves, overlapping
from tests.viz.test_report import words


def _cut(path: Path, share: float = 0.5) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])


Spoil = Callable[[Path], object]


def _without(key: str) -> Spoil:
    def spoil(path: Path) -> None:
        with editing(path) as value:
            del value[key]

    return spoil


def _finding(key: str, value: object) -> Spoil:
    def spoil(path: Path) -> None:
        with editing(path) as document:
            document["findings"][0][key] = value

    return spoil


def _text(text: str) -> Spoil:
    return lambda path: path.write_text(text)


def _bytes(content: bytes) -> Spoil:
    return lambda path: path.write_bytes(content)


def _table(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Spoil:
    def spoil(path: Path) -> None:
        change(pq.read_table(path).to_pandas()).to_parquet(path, index=False)

    return spoil


BOTH = ("report", "figures")
DAMAGES: dict[str, tuple[str, Spoil, tuple[str, ...]]] = {
    "comparison cut off": ("comparison.json", _cut, BOTH),
    "comparison without a factor": ("comparison.json", _without("factor"), BOTH),
    "comparison that is a list": ("comparison.json", _text("[]"), BOTH),
    "comparison of a level that is none": ("comparison.json", _finding("level", 0.77), BOTH),
    "comparison with words for numbers": ("comparison.json", _finding("ratio", "much"), BOTH),
    "comparison with half an interval": ("comparison.json", _finding("ratio_low", None), BOTH),
    "comparison with words for pairs": ("comparison.json", _finding("pairs", "x<b>"), BOTH),
    "comparison with words for replications": ("comparison.json", _finding("more_replications", "many"), BOTH),
    "comparison with a number in quotes": ("comparison.json", _finding("ratio", "1.5"), BOTH),
    "comparison of nothing": ("comparison.json", _bytes(b""), BOTH),
    "summary without labels": ("tables/summary.parquet", _table(lambda rows: rows.drop(columns="label")), BOTH),
    "summary cut in half": ("tables/summary.parquet", _cut, BOTH),
    "summary with words for numbers": ("tables/summary.parquet", _table(lambda rows: rows.astype({"mean": str})), BOTH),
    "delays with other columns": ("tables/distribution.parquet", _table(lambda rows: rows[["share"]]), BOTH),
    "buffers that are not a table": ("tables/buffers.parquet", _bytes(b"\xff\x00"), BOTH),
    "runs that are not a table": ("runs.parquet", _bytes(b"\xff\xfe\x00garbage"), ("report",)),
    "the study's own file is no text": ("study.yaml", _bytes(b"\xff\xfe"), ("report",)),
    "the first scenario is no text": ("configurations/c000/scenario.yaml", _bytes(b"\xff\xfe"), ("report",)),
    "the study's own file is missing": ("study.yaml", Path.unlink, BOTH),
}


@pytest.fixture(scope="module")
def compared(finished: Result) -> Path:
    compare_study(finished.store.path)
    return finished.store.path


@pytest.fixture
def study(compared: Path, tmp_path: Path) -> Path:
    """Return a copy of the study that the test may change."""
    return copy_run(compared, tmp_path / "study", "runs")


LookedAt = Callable[[Callable[[Any, Path], None]], None]


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> LookedAt:
    def set_look(look: Callable[[Any, Path], None]) -> None:
        for module in (style, comparison):
            monkeypatch.setattr(module, "save", look)

    return set_look


@pytest.mark.long
@pytest.mark.parametrize("damage", DAMAGES)
def test_reports_and_figures_reject_a_damaged_study(study: Path, damage: str, unpainted: None, tmp_path: Path) -> None:
    name, spoil, commands = DAMAGES[damage]
    spoil(study / name)
    for command in commands:
        complaint = refusal(command, study, "-o", tmp_path / "out.html" if command == "report" else tmp_path / "out")
        assert Path(name).name in complaint and "internal error" not in complaint
        assert not (tmp_path / "out.html").exists() and not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["summary", "runs", "distribution"])
def test_a_missing_table_of_a_study_is_recreated(name: str, study: Path, unpainted: None, tmp_path: Path) -> None:
    before = (study / "tables" / f"{name}.csv").read_bytes()
    (study / "tables" / f"{name}.parquet").unlink()
    assert invoke("report", study, "-o", tmp_path / "out.html").exit_code in (0, 1, 4)
    assert (study / "tables" / f"{name}.csv").read_bytes() == before


def test_figures_reject_an_unreadable_study_without_a_comparison(compared: Path, tmp_path: Path) -> None:
    """Without a comparison, only study.yaml contains the confidence level."""
    study = copy_run(compared, tmp_path / "study", "runs", "comparison.json")
    (study / "study.yaml").write_bytes(b"\xff\xfe")
    assert "study.yaml" in refusal("figures", study, "-o", tmp_path / "out")


@pytest.mark.long
def test_an_unstable_level_can_be_compared_reported_and_drawn(study: Path) -> None:
    """An unstable level has no mean, so a finding about it has no pairs. All commands still work, even when they are
    repeated.
    """
    _label(study, "unstable")
    for command in ("compare", "report", "figures", "compare"):
        result = invoke(command, study)
        assert result.exit_code == 0, result.output
    assert "unstable" in result.output and "has no mean" in (study / "report.html").read_text()
    assert (study / "figures" / "curve.svg").stat().st_size > 5000


def _label(study: Path, label: str) -> None:
    """Give the second configuration of a study a label. The label `unstable` also removes its means."""
    summary = read_table(study, "tables/summary").to_pandas()
    own = summary["configuration"] == 1
    summary.loc[own, "label"] = label
    if label == "unstable":
        summary.loc[own, ["mean", "sd", "low", "high"]] = math.nan
    write_table(study, "tables/summary", summary)


@pytest.mark.long
def test_figures_mark_and_explain_unstable_settings(study: Path, tmp_path: Path, looked_at: LookedAt) -> None:
    _label(study, "unstable")
    compare_study(study)
    crosses: dict[str, int] = {}

    def look(figure: Any, target: Path) -> None:
        assert overlapping(figure) == [], target
        crosses[target.stem] = sum(line.get_marker() == "x" for axes in figure.axes for line in axes.lines)
        if target.stem == "delays":
            drawn = [len(line.get_xdata()) for line in figure.axes[0].lines]
            assert drawn.count(0) == 1 and sum(map(bool, drawn)) >= 1

    looked_at(look)
    notes = {figure.path.stem: figure.note for figure in study_figures(study, tmp_path / "figures", Look((".svg",)))}
    for name in ("curve", "comparison", "delays"):
        assert crosses[name] > 0 and "A cross marks an unstable configuration: the backlog grows" in notes[name], name


def test_figure_titles_are_optional(compared: Path, tmp_path: Path, looked_at: LookedAt) -> None:
    def look(figure: Any, target: Path) -> None:
        assert bool(figure.get_suptitle()) == ("with" in str(target)), target

    looked_at(look)
    for name, titles in (("with", True), ("none", False)):
        study_figures(compared, tmp_path / name, Look((".svg",), titles=titles))


@pytest.mark.long
def test_compare_and_report_mention_probably_unstable_settings(study: Path, unpainted: None, tmp_path: Path) -> None:
    _label(study, "probably unstable")
    compare_study(study)
    for command in ("compare", "report"):
        result = invoke(command, study)
        assert result.exit_code == 0, result.output
        text = result.output if command == "compare" else words(study / "report.html")
        expected = r"the backlog grew by -?\d+ % of its mean .*, and grew in all \d+ runs; more replications or longer"
        assert re.search(expected, text), command
    notes = [figure.note for figure in study_figures(study, tmp_path / "figures", Look((".svg",)))]
    assert sum("Probably unstable: " in note for note in notes) >= 3


@pytest.mark.parametrize("command", ["report", "figures", "map", "export"])
@pytest.mark.parametrize("kind", ["a file", "nothing"])
def test_study_commands_reject_a_path_that_is_not_a_directory(command: str, kind: str, tmp_path: Path) -> None:
    place = tmp_path / "place"
    if kind == "a file":
        place.write_text("x")
    result = invoke(command, place, *(["--csv"] if command == "export" else []))
    assert result.exit_code == 2
    what = "is a file" if kind == "a file" and command != "export" else "no such run directory"
    assert what in result.stderr.replace("\n", " ")


@pytest.mark.long
def test_study_figures_have_no_overlapping_text(compared: Path, tmp_path: Path, looked_at: LookedAt) -> None:
    looked = []

    def look(figure: Any, target: Path) -> None:
        looked.append(target.name)
        assert overlapping(figure) == [], target
        assert legends_on_curves(figure) == [], target

    looked_at(look)
    for captions in (True, False):
        notes = [figure.note for figure in study_figures(compared, tmp_path / str(captions), Look((".svg",), captions))]
        assert all("n = " in note for note in notes)
        assert all("95 % t interval" in note for note in notes if "deliveries of n" not in note)
    assert len(looked) == 2 * len(notes)


def test_the_comparison_figure_fits_on_a_page(study: Path, tmp_path: Path, looked_at: LookedAt) -> None:
    """The figure stays narrow even with many metrics. The text contains no ratios, ticks have units, and captions are
    optional.
    """
    names = pd.read_csv(study / "tables" / "summary.csv")["metric"].unique()[:3].tolist()
    with editing(study / "comparison.json") as document:
        document["findings"] = [document["findings"][0] | {"metric": name} for name in names]
        document["findings"][1] |= {"ratio": None, "ratio_low": None, "ratio_high": None, "common_deliveries": None}

    def look(figure: Any, target: Path) -> None:
        assert figure.get_figwidth() <= 8.5
        assert overlapping(figure) == []
        texts = [text.get_text() for axes in figure.axes for text in axes.texts]
        assert len(texts) == 1 and texts[0].startswith("No ratio")
        for axes in figure.axes:
            if axes.axison:
                assert all(
                    tick.label1.get_text()
                    for tick in (*axes.xaxis.get_major_ticks(), *axes.yaxis.get_major_ticks())
                    if tick.label1.get_visible()
                )
                assert not axes.yaxis.get_minor_ticks()
        legend = figure.legends[0]
        assert legend.get_texts()[0].get_text().startswith(document["factor"].rpartition(".")[2] + " ")
        assert ("paired over the same worlds" in " ".join(figure.get_supxlabel().split())) == ("with" in target.name)

    looked_at(look)
    comparison.draw(study, tmp_path / "with.svg")
    comparison.draw(study, tmp_path / "bare.svg", captions=False)


def test_the_report_of_a_study_uses_words_for_metrics(compared: Path, unpainted: None, tmp_path: Path) -> None:
    draw(compared, tmp_path / "report.html")
    text = words(tmp_path / "report.html")
    for finding in json.loads((compared / "comparison.json").read_text())["findings"]:
        assert OF_HOSTS.meaning(finding["metric"]) in text.partition("The numbers")[0]
    assert "-6.1" not in text.partition("The comparison")[0]


@pytest.mark.browser
@pytest.mark.skipif(chromium() is None and not is_required(), reason="no browser")
def test_the_report_of_a_study_is_accessible(compared: Path, tmp_path: Path) -> None:
    draw(compared, tmp_path / "report.html")
    with Page(1280, 720) as page:
        for scheme in ("light", "dark"):
            page.prefer(prefers_color_scheme=scheme)
            page.open(tmp_path / "report.html")
            assert obstacles(page) == [], scheme
        assert page.complaints == []


def test_the_command_that_repeats_a_study_is_quoted(compared: Path, unpainted: None, tmp_path: Path) -> None:
    study = copy_run(compared, tmp_path / "x; touch PWN #", "runs")
    result = invoke("report", study, "-o", tmp_path / "out.html")
    assert result.exit_code == 0, result.output
    assert (
        "mobilenet study &#x27;x; touch PWN #/study.yaml&#x27; --out &#x27;x; touch PWN #-again&#x27;</pre>"
        in (tmp_path / "out.html").read_text()
    )


def test_numbers_are_formatted_for_readers() -> None:
    assert format_number(106167) == "106,167" and format_number(None) == "–"
    assert [format_number(sign * math.inf) for sign in (1, -1)] == ["∞", "-∞"]
    assert with_interval("collision_ratio", 0.003126, -6.116e-05, 0.006313) == ("0.0031", "< 0", "0.0063")
    assert with_interval("backlog_slope", 0.1266, -0.283, 0.5363) == ("0.13", "-0.28", "0.54")
    assert with_interval("deliveries", 17500, 16000, 19000) == ("17,500", "16,000", "19,000")
    assert with_interval("crashes", 2, 2, 2)[0] == "2"
    assert OF_HOSTS.meaning("something_new_s") == "something new (s)"


def test_every_metric_of_a_run_has_a_description(run: Path) -> None:
    assert set(json.loads((run / "metrics.json").read_text())) <= set(OF_HOSTS.declared)
