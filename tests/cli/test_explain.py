"""Tests of `mobilenet explain`, which prints the origin of any file and a command that reproduces it byte for byte."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mobilenet.viz.style import save

from mobilenet.cli.console import Exit
from mobilenet.record.provenance import inputs_of, read_provenance
from mobilenet.record.stamp import (
    KEY,
    Inputs,
    Provenance,
    as_member,
    in_page,
    in_text,
    new_provenance,
    parse_provenance,
    stamping,
    write_sidecar,
)
from tests.conftest import ROOT
from tests.tools import sign

from .command import FIRST, SHORT, mobilenet, one_line

if TYPE_CHECKING:
    from mobilenet.lab.studies.study import Result

WALK = ROOT / "data" / "formats" / "walk.csv"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that contains a run and all the files that commands make from it."""
    place = tmp_path_factory.mktemp("written")
    for words in (
        f"run {FIRST} {' '.join(SHORT)} --set record.causes=true --out run", "report run", "map run --losses",
        "figures run --format svg,png,pdf --plain", "export run --csv", "export run --geojson --origin 7,50.5",
        "export run --kepler --origin 7,50.5", "export run --shiviz --from-s 1", "spacetime run --host h1",
        "export run --omnetpp", "why run --out why.png", f"inspect-tracks {WALK} --out tracks.pdf",
    ):  # fmt: skip
        done = mobilenet(*shlex.split(words), place=place)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
    return place


def explain(place: Path, *words: str | Path) -> dict[str, Any]:
    done = mobilenet("explain", *words, "--json", place=place)
    assert done.returncode == 0, done
    explanation: dict[str, Any] = json.loads(done.stdout)
    return explanation


COMMANDS = {
    "run/report.html": "report RUN",
    "run/map.html": "map RUN --losses",
    "run/figures/delays.svg": "figures RUN --plain",
    "run/figures/delays.png": "figures RUN --plain",
    "run/figures/delays.pdf": "figures RUN --plain",
    "run/csv/events.csv": "export RUN --csv",
    "run/omnetpp/General-#0.sca": "export RUN --omnetpp",
    "run/omnetpp/General-#0.elog": "export RUN --omnetpp",
    "run/geojson.geojson": "export RUN --geojson --origin 7.0,50.5",
    "run/kepler.geojson": "export RUN --kepler --origin 7.0,50.5 --epoch-s 1.70407e+09",
    "run/shiviz.log": "export RUN --shiviz --from-s 1",
    "why.png": "why RUN",
    "run/events.parquet": "run RUN/scenario.yaml",
    "run/causes.parquet": "run RUN/scenario.yaml",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_explain_finds_the_run_and_the_command_of_a_file(name: str, written: Path) -> None:
    explanation = explain(written, name, *(("--from", "run") if "/" not in name else ()))
    manifest = json.loads((written / "run" / "manifest.json").read_text())
    assert explanation["command"] == f"mobilenet {COMMANDS[name]}"
    assert (explanation["fingerprint"], explanation["mobilenet"]) == (
        manifest["fingerprint"],
        manifest["mobilenet_version"],
    )
    assert (
        explanation["scenario_sha256"] == inputs_of(written / "run").scenario_sha256
        and explanation["directory"] == "run"
    )


def test_each_figure_and_table_states_its_provenance(written: Path) -> None:
    run = written / "run"
    files = [path for path in run.rglob("*") if path.suffix in (".svg", ".png", ".pdf", ".html", ".parquet", ".csv")]
    assert len(files) > 20
    for path in [*files, written / "tracks.pdf"]:
        assert read_provenance(path) is not None, path


def test_commands_printed_by_explain_reproduce_identical_files(written: Path, tmp_path: Path) -> None:
    """The run is repeated in another folder, and the files are made again from it."""
    done = mobilenet("explain", "run/figures/delays.svg", place=written)
    lines = done.stdout.splitlines()
    again = shlex.split(lines[-2].partition("recreate it: mobilenet ")[2])
    assert mobilenet(*again, place=written).returncode == 0
    moved = Path(shutil.move(written / "run-again", tmp_path / "elsewhere"))
    drawn = shlex.split(lines[-1].removeprefix("Next: mobilenet ").replace("run", str(moved)))
    assert mobilenet(*drawn, "--format", "svg,png,pdf", place=written).returncode == 0
    for path in (written / "run" / "figures").iterdir():
        assert path.read_bytes() == (moved / "figures" / path.name).read_bytes(), path.name
    for path in (written / "run").glob("*.parquet"):
        assert path.read_bytes() == (moved / path.name).read_bytes(), path.name


def test_explain_does_not_accept_another_run_as_the_source(written: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(written / "run", other)
    manifest = json.loads((other / "manifest.json").read_text())
    sign(other, manifest | {"fingerprint": "0" * 64})
    done = mobilenet("explain", "run/report.html", "--from", other, place=written)
    assert done.returncode == 1 and "is not what the file was made from: other runs" in done.stdout
    (other / "scenario.yaml").write_text("seed: 5\n")
    done = mobilenet("explain", "run/report.html", "--from", other, place=written)
    assert done.returncode == 1 and "another scenario" in done.stdout


def test_explain_reports_files_without_provenance(written: Path, tmp_path: Path) -> None:
    done = mobilenet("explain", "run/counters.json", place=written)
    assert done.stdout.startswith("run/counters.json: part of a run in run\n")
    (tmp_path / "own.svg").write_text("<svg/>")
    (tmp_path / "own.png").write_bytes(b"no picture")
    (tmp_path / "own.json").write_text("[1")
    (tmp_path / "own.parquet").write_bytes(b"PAR1")
    for name in ("own.svg", "own.png", "own.json", "own.parquet"):
        assert "contains no provenance" in one_line(mobilenet("explain", name, place=tmp_path), 2)
    assert "no such file" in one_line(mobilenet("explain", "nothing.svg", place=tmp_path), 2)
    process = mobilenet("explain", "own.svg", "--from", tmp_path, place=tmp_path)
    assert "expected the directory of a run, of a study or of evaluated claims" in one_line(process, 2)


@settings(max_examples=30)
@given(command=st.text(st.characters(blacklist_categories=("Cs",)), max_size=40))
@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf", ".html", ".md", ".tex", ".geojson", ".log"])
def test_every_file_format_preserves_provenance_exactly(
    suffix: str, command: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("formats") / f"file{suffix}"
    one = Provenance(shlex.join(["mobilenet", command]), Inputs("run", "0" * 64, "1" * 64, 1), "1.0", "abc+")
    with stamping(one):
        if suffix in (".svg", ".png", ".pdf"):
            figure = plt.figure(figsize=(1, 1))
            save(figure, file)
            plt.close(figure)
        elif suffix == ".geojson":
            file.write_text(f'{{"features": []{as_member()}}}')
        elif suffix == ".log":
            write_sidecar(file)
        else:
            text = in_page("<html><head><title>") if suffix == ".html" else in_text("means\n", "% ")
            file.write_text(text)
    assert read_provenance(file) == one


@pytest.mark.parametrize(
    "command", ["mobilenet run; rm -r x", "rm x", "mobilenet show `id`", "mobilenet show > x", 5, None]
)
def test_explain_prints_no_command_from_an_untrusted_file(command: Any, tmp_path: Path) -> None:
    document = {"mobilenet": "1", "command": command, "kind": "run", "scenario_sha256": "0" * 64}
    (tmp_path / "own.json").write_text(json.dumps({KEY: document}))
    assert "contains no provenance" in one_line(mobilenet("explain", "own.json", place=tmp_path), 2)


def test_explain_adds_allow_code_for_a_run_with_code(tmp_path: Path) -> None:
    scenario = ROOT / "scenarios" / "own_protocol" / "gossip.yaml"
    done = mobilenet("run", scenario, *SHORT, "--allow-code", "--out", "run", place=tmp_path)
    assert done.returncode in (0, 4), done
    last = mobilenet("explain", "run/events.parquet", place=tmp_path).stdout.splitlines()[-1]
    assert last == "Next: mobilenet run run/scenario.yaml --allow-code --out run-again"


def test_pictures_that_replay_code_are_redrawn_only_if_allowed(tmp_path: Path) -> None:
    scenario = ROOT / "scenarios" / "own_protocol" / "gossip.yaml"
    for name, more in (("bare", ("--set", "record.messages=false")), ("rich", ())):
        mobilenet("run", scenario, *SHORT, *more, "--allow-code", "--out", name, place=tmp_path)
        done = mobilenet("spacetime", name, "--host", "h1", "-o", f"{name}.svg", place=tmp_path)
        needs_permission = all(part in done.stderr for part in ("gossip.py:", "--set record.messages=true"))
        assert (done.returncode == Exit.BAD_INPUT, needs_permission) == (name == "bare",) * 2, done
        for words in (f"spacetime {name} --host h1 -o {name}/{name}.svg", f"export {name} --shiviz"):
            done = mobilenet(*words.split(), "--allow-code", place=tmp_path)
            assert done.returncode == 0, done
        for file in (f"{name}.svg", "shiviz.log"):
            last = mobilenet("explain", f"{name}/{file}", place=tmp_path).stdout.splitlines()[-1]
            assert last.endswith(" --allow-code") is (name == "bare"), last


def test_only_the_outermost_provenance_block_is_used() -> None:
    with (
        stamping(new_provenance("mobilenet figures RUN", Inputs("run", "0"))),
        stamping(new_provenance("inner", Inputs("run", "1"))),
    ):
        assert parse_provenance(in_text("", "").partition(": ")[2]).command == "mobilenet figures RUN"
    assert in_text("text", "% ") == "text"


def test_explain_recognizes_the_files_of_a_study(finished: Result, tmp_path: Path) -> None:
    study = tmp_path / "study"
    shutil.copytree(finished.store.path, study)
    for words in ("figures study --latex --markdown", "report study", "export study --csv", "compare study"):
        assert mobilenet(*words.split(), place=tmp_path).returncode == 0, words
    commands = {
        "tables/summary.parquet": "study STUDY/study.yaml", "tables/runs.csv": "study STUDY/study.yaml",
        "comparison.csv": "compare STUDY", "comparison.png": "compare STUDY", "report.html": "report STUDY",
        "figures/means.tex": "figures STUDY --latex --markdown", "figures/curve.svg": "figures STUDY",
        "figures/means.md": "figures STUDY --latex --markdown", "csv/summary.csv": "export STUDY --csv",
    }  # fmt: skip
    explanations = [explain(tmp_path, f"study/{name}") for name in commands]
    assert [one["command"] for one in explanations] == [f"mobilenet {command}" for command in commands.values()]
    assert len({(one["fingerprint"], one["scenario_sha256"], one["runs"]) for one in explanations}) == 1
    fingerprints = pq.read_table(study / "tables" / "runs.parquet")["fingerprint"].to_pylist()
    assert len(fingerprints) == explanations[0]["runs"] and len(set(fingerprints)) > 1
    assert KEY.encode() in pq.read_metadata(study / "tables" / "delays.parquet").metadata
