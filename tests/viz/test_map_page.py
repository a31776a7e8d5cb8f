"""Tests that the file of a map makes no requests, and contains the strings of a run only as text."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from mobilenet.viz.map import draw
from mobilenet.viz.map.pack import for_script
from mobilenet.viz.map.record import harmless_text

import mobilenet
from mobilenet.record.writer import file_digests
from tests.tools import editing
from tests.viz.conftest import document_in

HOSTILE = (
    "</script><img src=x onerror=alert(1)>", "<!--<script>", "]]>", "{{ 7 * 7 }}{% raw %}", "\u202egnp.exe",
    "\u2028\u2029\x00\x1b[31m", "'\"`${1}`", "\ud800",
    "x" * 10_000, "&lt;b&gt;",
)  # fmt: skip


def without_names(html: str) -> str:
    """Remove XML namespaces, which are never requested, and Leaflet's link, which only users can follow."""
    return re.sub(r"https?://www\.w3\.org/[\w/]*|https://leafletjs\.com", "", html)


def test_the_map_page_refers_to_nothing_outside_itself(page: Path) -> None:
    html = page.read_text(encoding="utf-8")
    assert not re.search(r"""(?:src|href)\s*=\s*["']?\s*(?:https?:)?//""", without_names(html))
    assert not re.search(
        r"<(?:link|img|iframe|object|embed|base)\b(?![^>]*\bonly\b)[^>]*(?:href|src|data)=",
        re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL),
    )
    assert "url(" not in re.sub(r"url\(#[\w#]+\)", "", re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL))
    assert "sourceMappingURL" not in html and "@import" not in html
    assert set(re.findall(r"https?://[^\s\"'<>)]+", without_names(html))) == set()


def test_the_same_run_gives_the_same_map_page(run: Path, page: Path, tmp_path: Path) -> None:
    draw(run, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == page.read_bytes()


def renew_digests(run: Path) -> None:
    """Update the digests in the manifest to match the current files."""
    with editing(run / "manifest.json") as manifest:
        manifest["files"] = file_digests(run)


def hostile(run: Path, folder: Path) -> Path:
    """Copy the run, and replace its names and descriptions by hostile strings."""
    shutil.copytree(run, folder)
    with editing(folder / "manifest.json") as manifest:
        manifest["host_names"] = {f"h{i}": HOSTILE[i % len(HOSTILE)] for i in range(12)}
        manifest["station_names"] = {f"s{i}": HOSTILE[i] for i in range(4)}
        manifest |= {"protocol": HOSTILE[0], "mobilenet_version": HOSTILE[1], "fingerprint": HOSTILE[0]}
    scenario = (folder / "scenario.yaml").read_text()
    for key, value in (
        ("name", "</script><img src=x onerror=alert(2)>"),
        ("description", "<b onmouseover=alert(3)>\\u202e"),
    ):
        line = f'{key}: "{value}"'
        scenario = "\n".join(line if old.startswith(f"{key}:") else old for old in scenario.splitlines()) + "\n"
    (folder / "scenario.yaml").write_text(scenario)
    renew_digests(folder)
    verdict = {"verdict": "<i>", "checks": {"<script>": {"answer": "</title>"}}}
    (folder / "verdict.json").write_text(json.dumps(verdict))
    return folder


def test_hostile_names_are_escaped_in_the_map_page(run: Path, page: Path, tmp_path: Path) -> None:
    draw(hostile(run, tmp_path / "run"), tmp_path / "map.html")
    html, plain = ((path).read_text(encoding="utf-8") for path in (tmp_path / "map.html", page))
    for sign in ("<script", "</script", "<img", "onerror", "<!--", "\u202e", "\u2028"):
        if sign == "onerror":
            assert "onerror=alert" not in re.sub(
                r"<script type='application/json'.*?</script>", "", html, flags=re.DOTALL
            )
        else:
            assert html.count(sign) == plain.count(sign), sign
    data = document_in(tmp_path / "map.html")
    assert (
        data["hosts"]["names"][0] == HOSTILE[0]
        and data["hosts"]["names"][3] == HOSTILE[3]
        and data["about"]["name"].startswith("</script>")
    )
    assert max(map(len, data["hosts"]["names"])) <= 200


def test_text_shown_in_a_map_has_no_control_characters() -> None:
    assert harmless_text("Rue de l'École 5") == "Rue de l'École 5"
    assert harmless_text("a\u202eb\x1b\n\ud800") == "a\ufffdb\ufffd\ufffd\ufffd"
    assert harmless_text("x" * 1000) == "x" * 199 + "…"
    for text in HOSTILE:
        script = for_script({"a": text})
        assert not re.search(r"[<>&\u2028\u2029]", script) and json.loads(script)["a"] == text


def on_earth(scenario: Path) -> None:
    """Set the origin of the scenario, and replace any earlier one."""
    scenario.write_text(re.sub(r"(?m)^origin:.*\n", "", scenario.read_text()) + "origin: {lon: -46.6, lat: -23.5}\n")
    renew_digests(scenario.parent)


def test_the_map_page_requests_tiles_only_on_demand(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    on_earth(tmp_path / "run" / "scenario.yaml")
    draw(tmp_path / "run", tmp_path / "map.html")
    html = (tmp_path / "map.html").read_text()
    assert "L.CRS.EPSG3857" in html and "openstreetmap" not in html
    draw(tmp_path / "run", tmp_path / "tiles.html", tiles=True)
    assert "tile.openstreetmap.org" in (tmp_path / "tiles.html").read_text()


def test_drawing_a_map_of_processes_is_rejected(tmp_path: Path) -> None:
    scenario = next(
        path
        for path in sorted((Path(__file__).parents[2] / "scenarios" / "vcube").glob("*.yaml"))
        if "processes:" in path.read_text()
    )
    done = mobilenet.run(scenario, out=tmp_path / "run")
    with pytest.raises(mobilenet.record.reader.RunError, match="no places to show on a map"):
        draw(done.path, tmp_path / "map.html")
    assert not (tmp_path / "map.html").exists()
