"""Tests that `mobilenet explain` prints the command that makes the results of a search or of claims, or that checks an
archive.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from mobilenet.lab.studies.capacity import question as capacities
from mobilenet.lab.studies.sensitivity import sensitivity as screening
from mobilenet.lab.studies.store import create
from mobilenet.lab.studies.table_files import write_table
from mobilenet.record.provenance import stamping_of
from mobilenet.record.stamp import in_document, in_text
from mobilenet.record.writer import write_json
from tests.conftest import FIRST
from tests.lab.artefact.archives import zip_files

from .command import mobilenet, one_line

REQUIRE = "delivery_delay_mean_s <= 0.6"
CLAIMS = "claims:\n  safe: {relation: no_violation, schedules: 2, protocol: best_effort}\n"


def next_of(place: Path, name: str) -> list[str]:
    done = mobilenet("explain", name, place=place)
    assert done.returncode == 0, done
    return shlex.split(done.stdout.splitlines()[-1].removeprefix("Next: "))


def option(words: list[str], name: str) -> str:
    return words[words.index(name) + 1]


def require_same_files(one: Path, other: Path) -> None:
    files = list(one.glob("**/*.yaml"))
    assert len(files) > 2
    for file in files:
        assert file.read_bytes() == (other / file.relative_to(one)).read_bytes(), file


def test_explain_gives_the_command_of_a_capacity_search(tmp_path: Path) -> None:
    asked = capacities.Question(FIRST, "wireless.loss", 0, 0.4, (REQUIRE,), budget=60, set=("duration_s=5",), rare=0.2)
    create(capacities.plan(asked).study, tmp_path / "found")
    with stamping_of(tmp_path / "found", capacities.normal_form(asked, False)):
        write_json(tmp_path / "found" / "capacity.json", in_document({}))
        write_table(tmp_path / "found", "capacity", [{"value": 1}])
        (tmp_path / "found" / "capacity.md").write_text(in_text("text\n", "<!-- ", " -->"))
    for name in ("capacity.csv", "capacity.json", "capacity.md", "study.yaml"):
        words = next_of(tmp_path, f"found/{name}")
        assert words[:3] == ["mobilenet", "capacity", "found/configurations/c000/scenario.yaml"], name
        assert (option(words, "--budget"), option(words, "--require")) == ("60", REQUIRE)
        assert option(words, "--out") == "found-again"
    low, high = (float(option(words, name)) for name in ("--from", "--to"))
    kept = capacities.Question(
        tmp_path / words[2], "wireless.loss", low, high, (REQUIRE,), budget=60, set=(option(words, "--set"),)
    )
    create(capacities.plan(kept).study, tmp_path / "again")
    require_same_files(tmp_path / "found", tmp_path / "again")


def test_explain_gives_the_command_of_a_screening(tmp_path: Path) -> None:
    """The user names the keys without ranges. The saved scenario sets these keys to other values, so the printed
    command must give the ranges.
    """
    asked = screening.Question(FIRST, ("workload.interval_s", "hosts.count"), seed=3, set=("duration_s=5",))
    planned = screening.plan(asked)
    create(planned.study, tmp_path / "found")
    with stamping_of(tmp_path / "found", screening.normal_form(planned, False)):
        write_table(tmp_path / "found", "sensitivity", [{"key": "hosts.count"}])
    for name in ("sensitivity.csv", "study.yaml"):
        words = next_of(tmp_path, f"found/{name}")
        assert words[:3] == ["mobilenet", "sensitivity", "found/configurations/c000/scenario.yaml"]
    kept = screening.Question(tmp_path / words[2], (option(words, "--keys"),), seed=3, set=(option(words, "--set"),))
    create(screening.plan(kept).study, tmp_path / "again")
    require_same_files(tmp_path / "found", tmp_path / "again")


def test_explain_gives_the_command_of_claims_answers(tmp_path: Path) -> None:
    (tmp_path / "asked.yaml").write_text(CLAIMS)
    assert mobilenet("claims", "asked.yaml", "--out", "answers", "-q", place=tmp_path).returncode == 0
    for name in ("claims.yaml", "schedules.jsonl", "claims.csv", "claims.md", "claims.json"):
        words = next_of(tmp_path, f"answers/{name}")
        assert words == ["mobilenet", "claims", "answers/claims.yaml", "--out", "answers-again"], name
    assert mobilenet(*words[1:], "-q", place=tmp_path).returncode == 0
    assert mobilenet("figures", "answers", "--format", "svg", place=tmp_path).returncode == 0
    assert next_of(tmp_path, "answers/figures/claims.svg") == ["mobilenet", "figures", "answers"]
    for kept in ("claims.csv", "claims.json", "claims.md", "claims.parquet"):
        assert (tmp_path / "answers" / kept).read_bytes() == (tmp_path / "answers-again" / kept).read_bytes()


def test_explain_gives_the_next_command_for_an_archive(tmp_path: Path) -> None:
    zip_files(tmp_path / "x.zip")
    assert next_of(tmp_path, "x.zip") == ["mobilenet", "artefact", "check", "x.zip"]
    (tmp_path / "x").mkdir()
    document = {"files": {"README.md": "0"}, "made_by": {"mobilenet": "1", "commit": None}}
    (tmp_path / "x" / "checksums.json").write_text(json.dumps(document))
    (tmp_path / "x" / "README.md").write_text("text")
    for name in ("README.md", "checksums.json"):
        assert next_of(tmp_path, f"x/{name}") == ["look", "at", "x/README.md"]
    (tmp_path / "x" / "own.md").write_text("text")
    assert "contains no provenance" in one_line(mobilenet("explain", "x/own.md", place=tmp_path), 2)
