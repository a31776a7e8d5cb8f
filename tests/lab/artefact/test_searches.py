"""Tests that archived capacity searches and screenings are reproduced on a real Spark, and that forged ones are
detected.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mobilenet.lab.artefact import ArtefactError
from mobilenet.lab.artefact.parts import STUDIES, Part
from mobilenet.lab.artefact.searches import CAPACITY, SCREENING, answer_lines, first_of, plan_of, search_in, verb_of
from mobilenet.lab.artefact.statements import differing_reports, not_compared
from mobilenet.lab.artefact.writer import write
from mobilenet.parameters import ScenarioError
from mobilenet.record.provenance import read_provenance
from mobilenet.record.stamp import KEY
from tests.cli.command import FIRST, mobilenet
from tests.conftest import ROOT

from .archives import pack, refusal, unzip, versions_in
from .test_reproduction import comes_out, here

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

SEARCH = (
    "capacity", str(FIRST), "--vary", "wireless.loss", "--from", "0", "--to", "0.4", "--resolution", "0.2", "--require",
    "delivery_delay_mean_s <= 0.4", "--tolerance", "0.3", "--rare", "0.5", "--set", "duration_s=4", "--out", "loss",
)  # fmt: skip
SCREEN = (
    "sensitivity", str(FIRST), "--keys", "workload.interval_s=1:3,wireless.loss=0:0.2,protocol.repair",
    "--trajectories", "4", "--replications", "2", "--set", "duration_s=4", "--out", "keys",
)  # fmt: skip
ANSWER, RANKING = "studies/loss: answer", "studies/keys: ranking"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that contains a search, a screening and an archive of both."""
    place = tmp_path_factory.mktemp("searches")
    for words in (SEARCH, SCREEN):
        assert mobilenet(*words, "--workers", "2", "--quiet", place=place).returncode == 0
    pack(place, "loss", "keys")
    return place


def test_an_archive_of_searches_includes_their_answers(place: Path) -> None:
    files = unzip(place / "x.zip")
    for name in ("json", "csv", "parquet", "md", "svg", "png"):
        assert files[f"studies/loss/capacity.{name}"] == (place / "loss" / f"capacity.{name}").read_bytes()
    for name in ("csv", "parquet"):
        assert files[f"studies/keys/sensitivity.{name}"] == (place / "keys" / f"sensitivity.{name}").read_bytes()
    text = files["README.md"].decode()
    answer = json.loads(files["studies/loss/capacity.json"])["sentences"][0]
    assert "contains 1 screening and 1 capacity search, " in text and f"- {answer}\n" in text
    assert "| delivery_delay_mean_s | loss 0 to 0.2 | " in text
    command = "    mobilenet capacity studies/loss/configurations/c000/scenario.yaml --vary wireless.loss --from 0"
    assert command in text and command.strip() in files["ro-crate-metadata.json"].decode().replace("\\n", "\n")


def test_tables_of_a_search_state_its_command(place: Path) -> None:
    for folder, file in (("loss", "capacity.json"), ("keys", "sensitivity.parquet")):
        provenance, answer = (
            read_provenance(place / folder / "tables" / "runs.csv"),
            read_provenance(place / folder / file),
        )
        assert provenance is not None and provenance == answer


@pytest.mark.long
def test_an_archived_screening_is_reproduced_exactly(place: Path, tmp_path: Path) -> None:
    pack(place, "keys", archive="keys.zip")
    done = here(tmp_path, place / "keys.zip")
    outcomes = comes_out(done)
    assert done.returncode == 0, done
    assert all(text.startswith("bit-identical") for text in outcomes.values()), outcomes
    assert outcomes.keys() == {"studies/keys", RANKING}


@pytest.mark.long
def test_reproduction_reveals_forged_answers_of_searches(place: Path, tmp_path: Path) -> None:
    """The checksums of the forged answers are correct."""
    files = unzip(place / "x.zip")
    document = json.loads(files["studies/loss/capacity.json"])
    document["holds_at"] = document["value"] = 0.4
    files["studies/loss/capacity.json"] = json.dumps(document).encode()
    lines = files["studies/keys/sensitivity.csv"].decode().splitlines()
    files["studies/keys/sensitivity.csv"] = "\n".join([lines[0], lines[2], lines[1], *lines[3:], ""]).encode()
    write(tmp_path / "y.zip", files, versions_in(place / "x.zip"))
    done = here(tmp_path, tmp_path / "y.zip")
    out = comes_out(done)
    assert done.returncode == 1, done
    assert out[ANSWER].startswith("differs") and "value: " in out[ANSWER] and "0.4 in the archive" in out[ANSWER]
    assert out[RANKING].startswith("differs") and "sensitivity.csv: row 1, " in out[RANKING]
    for study in ("studies/loss", "studies/keys"):
        assert out[study].startswith(("bit-identical", "same numbers"))


def test_a_forged_report_of_a_search_is_found(place: Path, tmp_path: Path) -> None:
    shutil.copytree(place / "loss", tmp_path / "loss", ignore=shutil.ignore_patterns("runs", "measured"))
    part = Part(STUDIES, "loss", tmp_path / "loss")
    assert differing_reports(part, place / "loss") == []
    page = tmp_path / "loss" / "capacity.md"
    page.write_text(page.read_text().replace("holds", "fails", 1))
    assert [line.what for line in differing_reports(part, place / "loss")] == ["studies/loss/capacity.md"]
    left = not_compared(tmp_path, [part._replace(path=tmp_path / "loss")], True)
    assert "studies/loss/capacity.svg" in left and "studies/loss/capacity.md" not in left


def copy(place: Path, name: str, tmp_path: Path) -> Path:
    shutil.copytree(place / name, tmp_path / name, ignore=shutil.ignore_patterns("runs", "measured"))
    return tmp_path / name


def with_command(folder: Path, change: tuple[str, str]) -> None:
    if (file := folder / "capacity.json").is_file():
        document = json.loads(file.read_text())
        assert change[0] in document[KEY]["command"]
        document[KEY]["command"] = document[KEY]["command"].replace(*change)
        file.write_text(json.dumps(document))
        return
    file = folder / "sensitivity.parquet"
    table, before = pq.read_table(file), pq.read_metadata(file).metadata[KEY.encode()].decode()
    assert change[0] in before
    with pq.ParquetWriter(file, table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({KEY: before.replace(*change)})


@pytest.mark.parametrize(
    ("name", "change", "what"),
    [
        ("loss", ("STUDY/configurations/c000/scenario.yaml", "/etc/passwd"), "does not contain the command that made"),
        ("loss", ("mobilenet capacity", "mobilenet study"), "does not contain the command that made it"),
        ("loss", (" --tolerance 0.3", " --tolerance 0.3 --out /tmp/x"), "does not contain the command that made it"),
        ("loss", (" --tolerance 0.3", ""), None),
        ("loss", (" --rare 0.5", " --rare 0.9"), "--rare 0.9: expected a share of the runs from 0.001 to 0.5"),
        ("loss", ("--to 0.4", "--to 0.5"), "its factors do not follow from the command in capacity.json"),
        ("loss", ("--vary wireless.loss", "--vary wireless.range_m"), "its factors do not follow from the command"),
        ("loss", ("duration_s=4", "duration_s=5"), "its set do not follow from the command in capacity.json"),
        ("loss", ("--resolution 0.2", "--resolution 0.20"), "its command is not in normal form"),
        ("loss", ("--resolution 0.2", "--resolution x"), "does not contain the command that made it"),
        ("loss", ("duration_s=4", "duration_s=4 --budget 0"), "--budget 0: expected at least 1"),
        ("loss", ("--to 0.4", "--to inf"), "--to inf: expected a number"),
        ("loss", ("--to 0.4", "--to 0"), "both are 0, so there is nothing to search"),
        ("keys", ("--trajectories 4", "--trajectories -4"), "3 keys and -4 trajectories are not possible"),
        ("keys", ("STUDY/configurations/c000/scenario.yaml", "other.yaml"), "does not contain the command that made"),
        ("keys", ("--seed 1", "--seed 2"), "do not follow from the command in sensitivity.parquet"),
        ("keys", ("loss=0.0:0.2", "loss=0.0:0.3"), "its factors do not follow from the command"),
        ("keys", ("--trajectories 4", "--trajectories 4000000"), "3 keys and 4000000 trajectories are not possible"),
        ("keys", ("--replications 2", "--replications 3"), "its replications do not follow from the command"),
    ],
)
def test_a_search_with_an_unrelated_command_is_rejected(
    name: str, change: tuple[str, str], what: str | None, place: Path, tmp_path: Path
) -> None:
    """A search with another tolerance answers a different question about the same study."""
    folder = copy(place, name, tmp_path)
    with_command(folder, change)
    if what is None:
        assert plan_of(folder).question.tolerance == 0.05
        return
    with pytest.raises(ScenarioError, match=what):
        plan_of(folder)


def test_altered_configurations_of_a_search_are_rejected(place: Path, tmp_path: Path) -> None:
    folder = copy(place, "loss", tmp_path)
    scenario = folder / "configurations" / "c001" / "scenario.yaml"
    text = scenario.read_text()
    scenario.write_text(text.replace("loss: 0.2", "loss: 0.3"))
    with pytest.raises(ScenarioError, match=r"c001/scenario.yaml: its wireless.loss does not follow from the command"):
        plan_of(folder)
    scenario.write_text(text)
    runs = folder / "tables" / "runs.csv"
    runs.write_text("\n".join(runs.read_text().splitlines()[:-1]) + "\n")
    with pytest.raises(ScenarioError, match="was made from other runs than those in its directory"):
        plan_of(folder)
    (folder / "capacity.json").write_text("[")
    with pytest.raises(ArtefactError, match="damaged; repeat the command that made it"):
        search_in(folder)


def test_a_forged_search_table_is_shown_as_plain_text(place: Path, tmp_path: Path) -> None:
    """The forged table contains a verdict that does not exist."""
    folder = copy(place, "loss", tmp_path)
    document = json.loads((folder / "capacity.json").read_text()) | {
        "verdict": "\x1b[31m" * 99,
        "sentences": [5, "a\nb"],
    }
    (folder / "capacity.json").write_text(json.dumps(document))
    assert "\x1b" not in first_of(folder) and len(first_of(folder)) < 150
    search = search_in(folder)
    assert search is not None and answer_lines(search) == ["- a b"]


def test_levels_of_an_archived_search_cannot_refer_to_files(place: Path, tmp_path: Path) -> None:
    """The check applies each level to the first configuration. It has verified the files of that configuration, but not
    the files that a level names.
    """
    files = unzip(place / "x.zip")
    name = "studies/keys/study.yaml"
    files[name] = files[name].replace(b"{label: p0, ", b"{label: p0, hosts.mobility.file: /etc/passwd, ")
    write(tmp_path / "y.zip", files, versions_in(place / "x.zip"))
    assert (
        refusal(tmp_path, "check", "y.zip")
        == f"y.zip: {name}: '/etc/passwd' is a file; expected a search whose levels are not files"
    )


def test_capacity_and_screening_directories_are_distinguished(place: Path, tmp_path: Path) -> None:
    assert (verb_of(place / "loss"), verb_of(place / "keys")) == (CAPACITY, SCREENING)
    assert verb_of(tmp_path) is None and search_in(tmp_path) is None


@pytest.mark.long
def test_searches_with_files_or_code_can_be_archived(tmp_path: Path) -> None:
    """A plug-in runs only with permission. The archive contains the track files of each configuration."""
    queue = ROOT / "tests" / "lab" / "studies" / "capacity" / "queue.yaml"
    walk = ROOT / "data" / "formats" / "walk.csv"
    few = ("--workers", "2", "--quiet", "--tolerance", "0.5", "--rare", "0.5")
    asked = ("--vary", "workload.interval_s", "--from", "0.5", "--to", "1", "--resolution", "0.5", "--require")
    words = ("capacity", str(queue), *asked, "broadcasts >= 2", "--set", "duration_s=22", *few, "--allow-code")
    assert mobilenet(*words, "--out", "queue", place=tmp_path).returncode == 0
    tracks = ("--set", f"hosts={{mobility: {{model: tracks, file: {walk}}}}}", "--set", "duration_s=12")
    words = ("capacity", str(FIRST), *asked, "broadcasts >= 2", *tracks, *few)
    assert mobilenet(*words, "--out", "walk", place=tmp_path).returncode == 0
    pack(tmp_path, "queue", "walk")
    place = tmp_path / "checked"
    place.mkdir()
    outcomes = comes_out(done := here(place, tmp_path / "x.zip"))
    assert done.returncode == 4 and outcomes["studies/queue"].startswith("not run"), done
    assert outcomes["studies/walk: answer"].startswith("bit-identical")
    pack(tmp_path, "queue", archive="queue.zip")
    outcomes = comes_out(done := here(place, tmp_path / "queue.zip", "--allow-code"))
    assert done.returncode == 0 and outcomes["studies/queue: answer"].startswith("bit-identical"), done
