"""Tests that the claims files of the papers contain the printed numbers, and fail exactly as documented in
docs/validation.
"""

from __future__ import annotations

import csv
import json
import re
import time
from pathlib import Path

import pytest

from mobilenet.lab.package_files import PAPERS
from mobilenet.lab.studies.claims import paper_rules
from mobilenet.lab.studies.claims.declaration import Answer, Claims, Published
from mobilenet.lab.studies.claims.evaluation import Means, answer
from mobilenet.lab.studies.claims.paper_rules import PaperVerdicts, published_ids
from mobilenet.lab.studies.claims.questions import plan
from mobilenet.lab.studies.papers.jobs import Finding
from mobilenet.lab.studies.papers.reliable_statements import CHECKS
from tests.conftest import ROOT, SCENARIOS
from tests.lab.studies.directories import advance_clock
from validation import paper_claims

FOLDER = SCENARIOS / "claims"
FAILS = "does not hold"


def load(name: str) -> Claims:
    return Claims.load(FOLDER / f"paper_{name}.yaml")


def failing(name: str) -> set[str]:
    return {key for key, claim in load(name).claims.items() if claim.expect == FAILS}


def test_paper_claims_files_are_generated_from_published_numbers() -> None:
    for name, text in paper_claims.files().items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, "python -m validation.paper_claims"


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.yaml")), ids=lambda file: file.stem)
def test_every_shipped_claims_file_can_be_planned(file: Path) -> None:
    file_plan = plan(Claims.load(file), allow_code=True)
    assert len(file_plan.questions) == len(file_plan.claims.claims) and 0 < file_plan.error <= 0.05


def test_claims_of_the_mobile_paper_match_their_page() -> None:
    with (PAPERS / "wilhelm2020_mobile.csv").open() as file:
        rows = {f"{row['experiment']}.{row['metric']}": row for row in csv.DictReader(file)}
    table = paper_claims.documented_rows()
    assert [printed for _, printed, *_ in table[: len(rows)]] == [row["printed"] for row in rows.values()]
    for name, (_, _, verdict, _) in zip(rows, table, strict=False):
        assert verdict == "fits" or re.fullmatch(r"[\d.]+ times", verdict)
        assert (name in failing("mobile")) is (verdict != "fits"), name
    assert {"dynamic.station_rbuffer_mean", "static_heavy.frame_bytes_per_s"} < failing("mobile")
    compared = {"ratio.delay", "ratio.messages", "walking"}
    assert failing("mobile") - rows.keys() == compared
    assert load("mobile").claims.keys() == rows.keys() | compared | {"ratio.sbuffer", "collapse"}


def test_engineering_defaults_are_compared_on_the_same_numbers() -> None:
    """The last column of the document contains these numbers."""
    ours, presets = load("engineering").claims, load("mobile").claims
    assert ours.keys() == presets.keys() - {"collapse"}
    for name, claim in ours.items():
        assert claim.model_copy(update={"expect": "holds"}) == presets[name].model_copy(update={"expect": "holds"})
    holding = {name for name in ours if name.startswith(("static_25", "dynamic"))} - failing("engineering")
    assert holding == {
        "static_25.delivery_delay_mean_s", "dynamic.collision_loss_ratio", "dynamic.station_sbuffer_mean",
        "dynamic.station_sbuffer_max", "dynamic.host_sbuffer_mean", "dynamic.m_d_mean",
    }  # fmt: skip
    assert {"ratio.delay", "ratio.messages", "ratio.sbuffer", "walking"} < failing("engineering")


def test_claims_from_the_mobile_paper_text_have_expected_answers() -> None:
    """The claims cover failing connections and the recovery after each outage. Recovery is expected to fail only after
    the longest outage, because the backlog still grows at 60 s.
    """
    claims = load("mobile_text").claims
    assert failing("mobile_text") == {"recovery.9", "instability", "length.60", "length.250", "length.400"}
    assert {*(f"recovery.{length_s}" for length_s in range(3, 9)), "joining"} < claims.keys() and len(claims) == 13


def test_claims_of_the_bundling_paper_have_documented_answers() -> None:
    with (PAPERS / "rodrigues2018_bundling.csv").open() as file:
        assert len(load("bundling").claims) == sum(1 for _ in csv.DictReader(file)) == 250
    failures = failing("bundling")
    free = {name for name in failures if ".free." in name and name[0] in "34"}
    small = {name for name in free if int(name.split(".")[1]) <= 128}
    assert small == {"3.32.NO-AGGR.free.latency"}  # Only this cell differs.
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


def test_claims_of_the_reliable_paper_have_documented_answers() -> None:
    claims = load("reliable").claims
    assert set(claims) == set(CHECKS) == set(published_ids("reliable")) and len(claims) == 94
    text = " ".join((ROOT / "docs" / "validation" / "vcube.md").read_text().split())
    assert "73 hold, 9 hold at some sizes and 12 fail" in text and len(failing("reliable")) == 9 + 12


def test_claims_of_the_causal_paper_have_documented_answers() -> None:
    """There is a claim for each printed number. The savings are lower than printed, except at the largest size."""
    claims = load("causal").claims
    names = {name.replace("/", ".") for name in published_ids("causal")}
    assert set(claims) == names and len(names) == 75 and len(failing("causal")) == 75 - 7 - 15
    saved = {name for name in failing("causal") if name.endswith("reduction_percent")}
    assert saved == {f"1.{size}.reduction_percent" for size in (16, 32, 64, 128, 256, 512)}
    exact = {name for name, claim in claims.items() if not isinstance(claim, Published)}
    assert exact == {name for name in names if name.endswith("packets_plain")} and not exact & failing("causal")


def test_the_verdicts_of_a_paper_become_claim_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A claim fails if it holds only in part. All claims about a paper with the same `largest` share one judgement."""
    verdicts = {"goal": "hold", "best_trees": "hold in part", "best_once": "fail", "higher_all_t1": "not checked"}
    calls = []

    def judge(file: Path, largest: int, *others: object) -> dict[str, Finding]:
        calls.append((file.name, largest))
        return {name: Finding(verdict, f"why {verdict}") for name, verdict in verdicts.items()}

    monkeypatch.setitem(paper_rules.JUDGES, "reliable", judge)
    papers = PaperVerdicts(tmp_path, 1)
    answers = [
        papers.verdict(Published(relation="published", paper="reliable", id=name, largest=16), lambda line: None)
        for name in (*verdicts, "messages_same")
    ]
    assert [one.answer for one in answers] == [
        Answer.HOLDS, Answer.FAILS, Answer.FAILS, Answer.UNDECIDED, Answer.UNDECIDED
    ]  # fmt: skip
    assert answers[1].finding.why == "why hold in part" and calls == [("reliable.jsonl", 16)]
    assert answers[-1].finding.why == "not among the values checked with up to 16 processes"


@pytest.mark.long
def test_claims_on_published_numbers_are_answered_from_runs(tmp_path: Path) -> None:
    """The test answers the same file in two directories and compares the answers."""
    text = (
        "claims:\n  goal: {relation: published, paper: reliable, id: messages_same, largest: 8, expect: holds}\n"
        "  packets: {relation: published, paper: causal, id: 1/16/packets, largest: 16, expect: does not hold}\n"
    )
    (tmp_path / "claims.yaml").write_text(text)
    planned = plan(Claims.load(tmp_path / "claims.yaml"))
    one, _ = (answer(planned, Means(tmp_path / name, 1), "local[1]") for name in ("one", "other"))
    assert not one.unexpected and [claim.why for claim in one.answers] == [
        "holds for n = 8; not checked for n = 16, 32, 64, 128, 256, 512, 1024",
        "published 232: differs",
    ]
    assert [claim.command for claim in one.answers] == ["mobilenet claims CLAIMS/claims.yaml"] * 2
    for name in ("claims.json", "claims.csv", "claims.md"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


@pytest.mark.long
def test_a_time_limit_stops_the_runs_of_a_paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test waits for the first result, and then moves the clock forward by an hour."""
    text = "claims:\n  goal: {relation: published, paper: reliable, id: goal, largest: 512}\n"
    (tmp_path / "claims.yaml").write_text(text)
    results = tmp_path / "out" / "reliable.jsonl"
    began_s = advance_clock(monkeypatch, lambda: results.exists() and results.read_text().endswith("\n"))
    planned = plan(Claims.load(tmp_path / "claims.yaml"))
    outcome = answer(planned, Means(tmp_path / "out", 1, limit_s=1800), "local[1]")
    assert began_s and time.monotonic() - began_s[0] < 200
    assert [one.question.name for one in outcome.left] == ["goal"] and not outcome.unexpected
    kept = results.read_text().splitlines()
    assert kept and all(json.loads(line)["result"]["answer"] for line in kept)
