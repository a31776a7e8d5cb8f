"""Tests that hostile names of hosts, stations, scenarios and files appear as plain text everywhere."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

import mobilenet
from mobilenet.parameters import ScenarioError
from mobilenet.scenario.yaml_writer import as_scalar
from mobilenet.viz import map as maps
from mobilenet.viz import report
from tests.browser import Page
from tests.cli.command import mobilenet as command
from tests.viz.hostile import STRINGS
from tests.viz.test_map_browser import _browser as needs_browser  # noqa: F401  (a fixture)

SHORT = ["duration_s=3"]
FIRST = Path(__file__).parents[2] / "scenarios" / "first.yaml"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of sixty stations and sixty hosts with hostile names."""
    folder = tmp_path_factory.mktemp("hostile")
    with (folder / "tracks.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(("t", "id", "x", "y"))
        for t in range(0, 61, 10):
            for number, name in enumerate(STRINGS):
                # The loader rejects names that consist only of spaces or have more than 1 000 characters.
                rows.writerow((t, name[:900] + str(number), 10 * number, 5 + t))
    names = [text[:150] + f" {number}" for number, text in enumerate(STRINGS)]
    (folder / "all.yaml").write_text(
        f"name: {as_scalar(STRINGS[1])}\ndescription: {as_scalar(' '.join(STRINGS)[:9_000])}\nduration_s: 20\nstations:"
        " {layout: {shape: grid, columns: 10, rows: 6, spacing_m: 100}, names:"
        f" [{', '.join(map(as_scalar, names))}]}}\nhosts: {{mobility: {{model: tracks, file: tracks.csv}}}}\nprotocol:"
        " {name: mobile_causal}\nworkload: {interval_s: 3}\n",
        encoding="utf-8",
    )
    return mobilenet.run(folder / "all.yaml", out=folder / "run").path


def test_a_run_stores_hostile_names_unchanged(run: Path) -> None:
    manifest = mobilenet.Run(run).manifest
    assert {name.strip() for name in manifest["host_names"].values()} == {
        f"{text[:900]}{number}".strip() for number, text in enumerate(STRINGS)
    }
    assert len(manifest["station_names"]) == 60
    again = mobilenet.run(run / "scenario.yaml", out=run.parent / "again")
    assert again.manifest["fingerprint"] == manifest["fingerprint"]


@pytest.mark.browser
@pytest.mark.parametrize("draw", [maps.draw, report.draw], ids=["map", "report"])
def test_hostile_names_are_shown_as_text_in_a_browser(run: Path, tmp_path: Path, draw: object) -> None:
    page_file = tmp_path / "page.html"
    draw(run, page_file)  # type: ignore[operator]
    with Page() as page:
        page.open(page_file)
        frame = "document.querySelector('iframe')?.contentDocument ?? document"
        page.until(f"({frame}).querySelector('.mn-time') !== null")
        for key in "h" * 3 + " ":
            page.key(key)
        for _ in range(20):  # Cards of hosts and stations show names.
            page.evaluate(
                f"(() => {{ const d = {frame}; d.querySelectorAll('button, a').forEach(b => b.dispatchEvent(new"
                " MouseEvent('mouseover', {bubbles: true}))); })()"
            )
        assert page.evaluate(f"window.hit === undefined && ({frame}).defaultView.hit === undefined")
        assert page.evaluate(f"({frame}).querySelectorAll('base, plaintext, meta[http-equiv=refresh]').length") == 0
        assert page.complaints == []
        assert {url.split(":")[0] for url in page.requests} <= {"file", "data", "about"}


@pytest.mark.parametrize("text", STRINGS, ids=range(60))
def test_hostile_file_names_are_supported(text: str, tmp_path: Path) -> None:
    name = text.replace("/", "∕").replace("\0", "")[:60] + ".yaml"
    (tmp_path / name).write_bytes(FIRST.read_bytes())
    done = mobilenet.run(tmp_path / name, out=tmp_path / (name + " run"), overrides=SHORT)
    maps.draw(done.path, tmp_path / (name + ".html"))
    html = (tmp_path / (name + ".html")).read_text(encoding="utf-8")
    if "<" in text and "script" in text:
        assert text not in html
    assert not (tmp_path / "hit").exists()


@pytest.mark.parametrize(
    "text",
    [STRINGS[0], STRINGS[38], STRINGS[48], STRINGS[50], STRINGS[58]],
    ids=["script", "shell", "rich", "bidi", "lines"],
)
def test_hostile_file_names_work_on_the_command_line(text: str, tmp_path: Path) -> None:
    name = text.replace("/", "∕") + ".yaml"
    (tmp_path / name).write_bytes(FIRST.read_bytes())
    result = command("run", name, "--out", "run " + name, "--set", "duration_s=6", place=tmp_path)
    assert result.returncode == 0, result.stderr
    for words in (
        ("show", "run " + name),
        ("report", "run " + name),
        ("verify", "run " + name),
        ("spacetime", "run " + name),
    ):
        result = command(*words, place=tmp_path)
        # The run lasts only six seconds, so it may not contain a handoff.
        assert result.returncode in (0, 2), result.stderr
        assert "Traceback" not in result.stderr
    assert not (tmp_path / "hit").exists()


@pytest.mark.long
def test_a_bidi_override_in_a_folder_name_is_escaped(tmp_path: Path) -> None:
    done = mobilenet.run(FIRST, out=tmp_path / "of \u202e 'z", overrides=SHORT)
    report.draw(done.path, tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    isolated = re.sub(r"<bdi>.*?</bdi>", "", html, flags=re.S)
    assert "\u202e" not in isolated and r"$&#x27;of \u202e \&#x27;z/scenario.yaml&#x27;" in isolated


def test_excessively_long_names_are_rejected_in_one_line(tmp_path: Path) -> None:
    text = FIRST.read_text() + f"\nname: {as_scalar(STRINGS[-1])}\n"
    (tmp_path / "long.yaml").write_text(text)
    with pytest.raises(ScenarioError) as refused:
        mobilenet.run(tmp_path / "long.yaml", out=tmp_path / "run")
    assert len(str(refused.value).splitlines()) == 1
    assert len(str(refused.value)) < 300
