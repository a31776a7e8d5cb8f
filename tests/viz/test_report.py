"""Tests of reports of runs and studies: their statements match the record, and they load nothing from the network."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
from mobilenet.viz.figures import run_figures
from mobilenet.viz.report import draw

import mobilenet
from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.study import Result
from mobilenet.scenario.radio_words import radio_of_study
from tests.accessibility import obstacles
from tests.browser import Page
from tests.tools import copy_run, editing, invoke, refusal
from tests.viz.test_map_browser import _browser as needs_browser  # noqa: F401  (a fixture)

ROOT = Path(__file__).parents[2]


def words(page: Path) -> str:
    """Return the text of the page, without the contents of pictures and frames."""
    text = re.sub(
        r"<(style|iframe)\b.*?(</\1>|srcdoc=\"[^\"]*\"></iframe>)",
        " ",
        page.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


@pytest.fixture(scope="module")
def report(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("report") / "report.html"
    draw(run, target)
    return target


def test_the_report_says_what_the_run_recorded(run: Path, report: Path) -> None:
    opened, text = mobilenet.Run(run), words(report)
    assert text.startswith(f"{run.name} valid {run.name}")
    assert "exactly once and in causal order? Yes." in text
    assert "no statistical inference" in text
    assert opened.manifest["fingerprint"] in text
    assert opened.manifest["command"] in text
    for name in opened.metrics:
        assert name in text
    for check in opened.verdicts:
        assert f"{check} valid" in text
    assert " ".join((run / "scenario.yaml").read_text().split()) in text
    # The field appears twice, because a figure replaces the interactive map in print.
    assert len(re.findall(r"<img alt='([^']+)' src='data:image/svg", report.read_text())) == 10


def test_the_report_requests_nothing_from_outside(report: Path) -> None:
    outside = re.sub(r"src='data:[^']*'", "", report.read_text(encoding="utf-8"))
    outside = (
        outside.replace("http://www.w3.org", "")
        .replace("https://leafletjs.com", "")
        .replace("https://www.openstreetmap.org/copyright", "")
    )
    assert not re.findall(r"(?:src|href)=.{0,10}https?:", outside)


@pytest.mark.browser
def test_the_report_works_in_a_browser_without_a_network(report: Path) -> None:
    with Page(1400, 900) as page:
        page.prefer(prefers_color_scheme="dark")
        page.open(report)
        page.until("document.querySelector('iframe').contentDocument.querySelector('.mn-time') !== null")
        pictures = "[...document.images].every(i => i.complete && i.naturalWidth > 100) && document.images.length"
        page.until(f"({pictures}) > 0")
        # The report and its map are white even if the user prefers dark colours.
        assert not page.evaluate("document.querySelector('iframe').contentDocument.querySelector('.mn-dark') !== null")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert obstacles(page) == []
        assert page.complaints == []
        assert {url.split(":")[0] for url in page.requests} <= {"file", "data"}
        assert sum(url.startswith("file:") for url in page.requests) == 1


def test_a_violation_appears_at_the_top_of_the_report(run: Path, unpainted: None, tmp_path: Path) -> None:
    broken = copy_run(run, tmp_path / "broken")
    with editing(broken / "verdict.json") as verdict:
        verdict["verdict"] = "violated"
        verdict["checks"]["causal_order"] = {
            "answer": "violated",
            "explanation": "h1:2 overtook <script>h1:1</script> at h3",
        }
    draw(broken, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "causal order? No." in words(tmp_path / "report.html")
    assert "<script>h1:1" not in text.partition("<iframe")[0]


def test_a_run_of_processes_can_be_drawn_as_a_report(tmp_path: Path) -> None:
    done = mobilenet.run(ROOT / "scenarios" / "vcube" / "causal.yaml", out=tmp_path / "run", overrides=["processes=8"])
    draw(done.path, tmp_path / "report.html")
    text = words(tmp_path / "report.html")
    assert "8 processes" in text and "t.u." in text
    assert "<iframe" not in (tmp_path / "report.html").read_text()


def test_the_report_of_a_study_states_its_runs_and_radio(finished: Result, unpainted: None, tmp_path: Path) -> None:
    study = finished.store.path
    draw(study, tmp_path / "report.html")
    text = words(tmp_path / "report.html")
    assert f"{finished.done} runs" in text and f"Radio: {radio_of_study(study)}." in text
    answer = text.partition("The numbers")[0]
    # The answer uses words instead of the names of metrics.
    assert "_" not in answer.replace(study.name, "").replace("interval_s", "")
    comparison = json.loads((study / "comparison.json").read_text())
    for finding in comparison["findings"]:
        assert finding["metric"] in text
        assert f"{finding['pairs']} pairs" in text
    assert "no statistical inference" not in text
    assert len(re.findall("<img ", (tmp_path / "report.html").read_text())) == 6


@pytest.mark.long
def test_figures_of_a_run_are_reproducible_to_the_byte(run: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        run_figures(run, tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert len(files) == 18
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


@pytest.mark.parametrize("command", ["map", "report", "figures"])
def test_drawing_commands_reject_what_is_not_a_run(command: str, tmp_path: Path) -> None:
    refusal(command, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["map", "report"])
def test_new_folders_are_removed_if_drawing_fails(command: str, run: Path, tmp_path: Path) -> None:
    broken = copy_run(run, tmp_path / "broken")
    (broken / "events.parquet").write_bytes(b"")
    (tmp_path / "there").mkdir()
    result = invoke(command, broken, "-o", tmp_path / "there" / "new" / "newer" / "out.html")
    assert result.exit_code == 2
    assert list((tmp_path / "there").iterdir()) == []


@pytest.mark.parametrize("value", [None, [1], "a"])
@pytest.mark.parametrize("name", ["warmup_s", "duration_s", "simulated_s", "station_positions_m"])
def test_the_report_rejects_a_manifest_with_wrong_types(
    name: str, value: object, run: Path, unpainted: None, tmp_path: Path
) -> None:
    copy = copy_run(run, tmp_path / "run")
    with editing(copy / "manifest.json") as manifest:
        manifest[name] = [["a", 0], *manifest[name][1:]] if value == "a" and name == "station_positions_m" else value
        if value is None:
            del manifest[name]
    for command in ("report", "figures"):
        complaint = refusal(command, copy, "-o", tmp_path / "out.html")
        assert "manifest.json" in complaint and name in complaint and "internal error" not in complaint


@pytest.mark.parametrize("target", ["report.pdf", ".", "no/../report"])
def test_the_report_rejects_an_impossible_output_path(
    run: Path, tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refusal("report", run, "-o", target)
    assert list(tmp_path.iterdir()) == []


def test_the_report_rejects_an_unfinished_study(finished: Result, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_bytes((finished.store.path / "study.yaml").read_bytes())
    with pytest.raises(StudyError, match="not finished"):
        draw(tmp_path, tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()
