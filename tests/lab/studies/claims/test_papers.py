"""The claims files of the papers are those of the printed numbers, and expect what docs/validation says, no more."""

from __future__ import annotations

import csv
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from mobilenet.lab.studies.claims import published
from mobilenet.lab.studies.claims.answering import Means, answer
from mobilenet.lab.studies.claims.declaration import Answer, Claims, Published
from mobilenet.lab.studies.claims.published import PaperTables, published_ids
from mobilenet.lab.studies.claims.questions import plan
from mobilenet.lab.studies.papers.agreement import AGREES, CONTRADICTED, DIFFERS
from mobilenet.lab.studies.papers.bundling import PRINTED as BUNDLING
from mobilenet.lab.studies.papers.reliable_statements import CHECKS
from tests.conftest import ROOT, SCENARIOS
from validation import paper_claims

FOLDER = SCENARIOS / "claims"
FAILS = "does not hold"


def load(name: str) -> Claims:
    return Claims.load(FOLDER / f"paper_{name}.yaml")


def failing(name: str) -> set[str]:
    return {key for key, claim in load(name).claims.items() if claim.expect == FAILS}


def test_the_files_are_written_from_the_printed_numbers() -> None:
    for name, text in paper_claims.files().items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, "python -m validation.paper_claims"


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.yaml")), ids=lambda file: file.stem)
def test_every_shipped_file_can_be_answered(file: Path) -> None:
    file_plan = plan(Claims.load(file))
    assert len(file_plan.questions) == len(file_plan.claims.claims) and 0 < file_plan.error <= 0.05


def test_of_the_mobile_paper_only_what_the_document_calls_fitting_is_expected_to_hold() -> None:
    with (ROOT / "data" / "papers" / "wilhelm2020_mobile.csv").open() as file:
        rows = {f"{row['experiment']}.{row['metric']}": row for row in csv.DictReader(file)}
    table = paper_claims.documented_verdicts()
    assert [printed for _, printed, _ in table[: len(rows)]] == [row["printed"] for row in rows.values()]
    for name, (_, _, verdict) in zip(rows, table, strict=False):
        assert verdict == "fits" or re.fullmatch(r"[\d.]+ times", verdict)
        assert (name in failing("mobile")) is (verdict != "fits"), name
    assert {"dynamic.station_rbuffer_mean", "static_heavy.frame_bytes_per_s"} < failing("mobile")
    assert failing("mobile") - rows.keys() == {"ratio.delay", "ratio.messages", "walking"}
    assert len(load("mobile").claims) == len(rows) + 5


def test_the_bundling_paper() -> None:
    """As docs/validation/vcube.md sums it up."""
    with BUNDLING.open() as file:
        assert len(load("bundling").claims) == sum(1 for _ in csv.DictReader(file)) == 250
    failures = failing("bundling")
    free = {name for name in failures if ".free." in name and name[0] in "34"}
    small = {name for name in free if int(name.split(".")[1]) <= 128}
    assert small == {"3.32.NO-AGGR.free.latency"}  # the one cell
    assert {name for name in free if ".SMALL" in name} == {"3.1024.SMALL10.free.latency"}
    assert {name for name in free if ".NO-AGGR." in name} == small
    shared = {name for name in failures if name.startswith("2.")}
    assert shared == {
        "2.1.BIG2.free.messages", "2.2.BIG2.free.messages", "2.1.BIG10.free.messages",
        "2.4.NO-AGGR.free.latency", "2.8.NO-AGGR.free.latency", "2.16.NO-AGGR.free.latency",
    }  # fmt: skip
    random = {name for name in failures if name.startswith("5.")}
    assert {int(name.split(".")[1]) for name in random} == {8, 16} and len(random) == 10
    large = {name for name in failures if ".faulty." in name and int(name.split(".")[1]) >= 256}
    assert not {name for name in large if ".NO-AGGR." in name}


def test_the_sentences_of_the_reliable_paper() -> None:
    claims = load("reliable").claims
    assert set(claims) == set(CHECKS) == set(published_ids("reliable")) and len(claims) == 94
    text = " ".join((ROOT / "docs" / "validation" / "vcube.md").read_text().split())
    assert "73 hold, 9 hold at some sizes and 12 fail" in text and len(failing("reliable")) == 9 + 12


def test_the_causal_paper() -> None:
    """Shares saved are lower than printed; only at the largest size does the interval include the printed one."""
    assert failing("causal") == {f"1.{size}.reduction_percent" for size in (16, 32, 64, 128, 256, 512)}
    assert len(load("causal").claims) == 14


def test_numbers_that_reproduce_does_not_confirm_do_not_hold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def row(quantity: str, verdict: str, size: int | str = 16) -> dict[str, Any]:
        return {"table": "1", "size": size, "quantity": quantity, "printed": "2", "ours": "1", "verdict": verdict}

    calls = []

    def reproduce(out: Path, largest: int, *others: object) -> list[dict[str, Any]]:
        calls.append(largest)
        return [row("packets", AGREES), row("reduction_percent", DIFFERS), row("aggregated_percent", CONTRADICTED)]

    monkeypatch.setattr(published.causal, "reproduce", reproduce)
    tables = PaperTables(tmp_path, 1)
    answers = {
        quantity: tables.verdict(
            Published(relation="published", paper="causal", id=f"1/16/{quantity}", largest=16), lambda line: None
        )
        for quantity in ("packets", "reduction_percent", "aggregated_percent", "packets_plain")
    }
    assert [one.answer for one in answers.values()] == [Answer.HOLDS, Answer.FAILS, Answer.FAILS, Answer.UNDECIDED]
    assert answers["packets"].why == "1, published 2: agrees" and calls == [16]
    claim = Published(relation="published", paper="causal", id="1/16/packets", largest=16)
    assert tables.command(claim) == "mobilenet reproduce causal --max-n 16 --out CLAIMS/causal"


def test_a_sentence_that_holds_only_in_part_does_not_hold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def reproduce(*others: object) -> tuple[list[Any], list[dict[str, str]]]:
        verdicts = {"goal": "hold", "best_trees": "hold in part", "best_once": "fail", "higher_all_t1": "not checked"}
        return [], [{"id": name, "verdict": verdict, "answer": "why"} for name, verdict in verdicts.items()]

    monkeypatch.setattr(published.reliable, "reproduce", reproduce)
    tables = PaperTables(tmp_path, 1)
    answers = [
        tables.verdict(Published(relation="published", paper="reliable", id=name), lambda line: None).answer
        for name in ("goal", "best_trees", "best_once", "higher_all_t1")
    ]
    assert answers == [Answer.HOLDS, Answer.FAILS, Answer.FAILS, Answer.UNDECIDED]


@pytest.mark.long
def test_a_limit_of_time_stops_the_runs_of_a_paper(tmp_path: Path) -> None:
    text = "claims:\n  goal: {relation: published, paper: reliable, id: goal, largest: 256}\n"
    (tmp_path / "claims.yaml").write_text(text)
    planned, began_s = plan(Claims.load(tmp_path / "claims.yaml")), time.monotonic()
    outcome = answer(planned, Means(tmp_path / "out", 1, limit_s=12), "local[1]")
    assert time.monotonic() - began_s < 42
    assert [one.question.name for one in outcome.left] == ["goal"] and not outcome.unexpected
    kept = (tmp_path / "out" / "reliable" / "reliable.results.jsonl").read_text().splitlines()
    assert kept and all(json.loads(line)["answer"] for line in kept)
