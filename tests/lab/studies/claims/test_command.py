"""Tests of `mobilenet claims` on a real Spark: its output and files, killed and resumed calls, quick answers, and exit
codes.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import mobilenet as package
from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.claims import evaluation
from mobilenet.lab.studies.claims.answer import command_in
from mobilenet.record.stamp import KEY
from tests.cli.command import FIRST, mobilenet, one_line
from tests.lab.studies.directories import advance_clock, copy_queue, kill, manifests

pytestmark = pytest.mark.spark

FILE = """\
name: Loss
rare: 0.5
experiments:
  loss:
    scenario: first.yaml
    factors: {wireless.loss: [0, 0.2]}
    set: {duration_s: 10}
  again: {scenario: first.yaml, first_seed: 9, set: {duration_s: 10, wireless.loss: 0.2}, deterministic: true}
claims:
  fast:
    says: Without loss, messages arrive within half a second on average.
    relation: within
    metric: delivery_delay_mean_s
    value: {experiment: loss, at: {wireless.loss: 0}}
    at_most: 0.5
  slower:
    relation: below
    metric: delivery_delay_mean_s
    value: {experiment: loss, at: {wireless.loss: 0.2}}
    than: {experiment: loss, at: {wireless.loss: 0}}
    expect: does not hold
  growing:
    relation: grows
    metric: delivery_delay_mean_s
    value: {experiment: loss}
    along: wireless.loss
  other: {relation: ratio, metric: frames, value: {experiment: again}, to: {experiment: loss, at: {wireless.loss: 0.2}},
          at_most: 3}
  unlike: {relation: within, metric: frames, value: {experiment: again}, at_most: 1000000}
  safe: {relation: no_violation, schedules: 6, protocol: best_effort}
"""
WRITTEN = (
    "claims.json", "claims.csv", "claims.parquet", "claims.md", "claims.yaml",
    "loss/runs.csv", "loss/tables/summary.csv",
)  # fmt: skip


def claims_file(place: Path, text: str = FILE) -> Path:
    (place / "first.yaml").write_text(FIRST.read_text())
    (place / "claims.yaml").write_text(text)
    return place


def contents(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in WRITTEN}


def evaluate(place: Path, *words: str, out: str = "out", workers: int = 2) -> subprocess.CompletedProcess[str]:
    return mobilenet("claims", "claims.yaml", "--workers", str(workers), "--out", out, *words, place=place)


def document_in(place: Path) -> dict[str, Any]:
    return dict(json.loads((place / "out" / "claims.json").read_text()))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = claims_file(tmp_path_factory.mktemp("claims"))
    done = evaluate(place)
    assert done.returncode == 4, done  # One claim is undecided.
    (place / "printed.txt").write_text(done.stdout)
    return place


def test_claims_prints_each_answer_and_a_summary(place: Path) -> None:
    first, *lines, summary, rare, end = (place / "printed.txt").read_text().splitlines()
    assert first == "6 claims about 2 experiments, at most 400 runs of each configuration; out"
    sentence_of = dict(line.split(": ", 1) for line in lines if ": " in line)
    opening = r"(broadcast [\d.]+ % of what was offered: )?holds\. Without loss, messages"
    assert re.match(opening, sentence_of["fast"])
    assert (
        "does not hold (as expected). Over the deliveries that both made: delivery_delay_mean_s, ratio "
        in (sentence_of["slower"])
    )
    assert ", required below 1 ± 0.05; " in sentence_of["slower"]
    assert sentence_of["slower"].endswith("; mobilenet report out/loss")
    assert sentence_of["other"].endswith("; mobilenet report out/again && mobilenet report out/loss")
    assert "undecided. 2 replications; its runs differ, so its exp" in sentence_of["unlike"]
    assert sentence_of["safe"].endswith("mobilenet swarm --count 6 --seed 1 --protocol best_effort")
    assert summary.startswith(
        "6 claims: 4 hold, 1 does not hold, 1 undecided; probability that any answer is wrong: at"
    )
    assert rare == "outcomes in under 50 % of the runs could have been missed, for 4 of 6 claims"
    assert end == "Next: look at out/claims.md"


def test_claims_writes_its_document_table_and_figure(place: Path) -> None:
    document = document_in(place)
    table = pd.read_csv(place / "out" / "claims.csv")
    assert [one["claim"] for one in document["claims"]] == list(table["claim"])
    assert (document["error"], document["rare"]) == (0.05, 0.5)
    assert pd.read_parquet(place / "out" / "claims.parquet")["answer"].tolist() == table["answer"].tolist()
    fast = document["claims"][0]
    assert fast["low"] < fast["value"] < fast["high"] and fast["unit"] == "s" and fast["replications"] >= 10
    assert document["runs"] == sum(len(pd.read_csv(place / "out" / name / "runs.csv")) for name in ("loss", "again"))
    for row in document["claims"][:3]:
        command = command_in(row["command"], Path("out"))
        assert row["command"].startswith("mobilenet report CLAIMS/") and command.startswith("mobilenet report out/")
        assert mobilenet(*shlex.split(command)[1:], place=place).returncode == 0


def test_repeating_claims_starts_no_runs_and_prints_json(place: Path) -> None:
    before = manifests(place / "out")
    done, kept = evaluate(place, "--json"), document_in(place)
    assert kept.pop(KEY)["command"] == "mobilenet claims CLAIMS/claims.yaml"
    assert json.loads(done.stdout) == kept
    assert manifests(place / "out") == before


def test_a_killed_claims_command_resumes_with_other_workers(place: Path, tmp_path: Path) -> None:
    before = kill("claims", "claims.yaml", "--out", "out", place=claims_file(tmp_path), runs=10)
    assert document_in(tmp_path) == {"claims": []}
    assert evaluate(tmp_path, "--quiet").returncode == 4
    assert before.items() < manifests(tmp_path).items()
    assert contents(tmp_path / "out") == contents(place / "out")


def test_claims_quick_lists_the_claims_it_did_not_answer(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter(range(1000))

    def check_time(means: evaluation.Means) -> None:
        assert means.limit_s == evaluation.QUICK_S == 540
        if next(looks) >= 3:
            raise evaluation.TimeUp

    monkeypatch.setattr(evaluation.Means, "check_time", check_time)
    done = evaluate(claims_file(tmp_path), "--quick")
    monkeypatch.undo()
    claims = document_in(tmp_path)["claims"]
    left = [one["claim"] for one in claims if one["left"]]
    lines = done.stdout.splitlines()
    assert done.returncode == 4 and left and f"not examined: {', '.join(left)}" in lines
    assert f"({len(left)} left by --quick)" in done.stdout
    whole = {one["claim"]: one for one in document_in(place)["claims"]}
    for one in claims:  # A claim that is answered within the limit has the same answer as without the limit.
        assert one["left"] or one == whole[one["claim"]]
    assert lines[-1] == "Next: mobilenet claims claims.yaml --out out"
    assert mobilenet(*shlex.split(lines[-1])[2:], "--quiet", place=tmp_path).returncode == 4
    assert contents(tmp_path / "out") == contents(place / "out")


@pytest.mark.long
def test_claims_quick_stops_in_the_middle_of_long_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test first waits for the start of the long run, and then moves the clock forward by an hour."""
    hours = "\n  hours: {scenario: first.yaml, set: {duration_s: 360000}}\nclaims:"
    text = FILE[: FILE.index("  slower:")].replace("\nclaims:", hours)
    late = "  late: {relation: within, metric: broadcasts, value: {experiment: hours}, at_most: 9}\n"
    began_s = advance_clock(monkeypatch, lambda: any(tmp_path.glob("out/hours/starting/c*")))
    done = evaluate(claims_file(tmp_path, text + late), "--quick", workers=1)
    assert done.returncode == 4 and began_s and time.monotonic() - began_s[0] < 200
    claim_of = {one["claim"]: one for one in document_in(tmp_path)["claims"]}
    assert claim_of["late"]["left"] and claim_of["late"]["answer"] == "undecided"
    assert claim_of["fast"]["answer"] == "holds"
    assert "late" in next(line for line in done.stdout.splitlines() if line.startswith("not examined: "))
    assert not list(tmp_path.glob("out/hours/runs/c*"))


def test_claims_can_be_evaluated_from_python(place: Path, tmp_path: Path) -> None:
    claims_file(tmp_path)
    shutil.copytree(place / "out", tmp_path / "out")
    evaluation = package.claims(tmp_path / "claims.yaml", out=tmp_path / "out", workers=1)
    assert (evaluation["fast"], evaluation["slower"], evaluation["unlike"]) == ("holds", "does not hold", "undecided")
    table = pd.read_csv(place / "out" / "claims.csv")
    assert evaluation.answers["answer"].tolist() == table["answer"].tolist()
    assert evaluation.answers["value"].tolist()[:3] == pytest.approx(table["value"].tolist()[:3])
    assert not evaluation.unexpected and not evaluation.left and not evaluation.failed
    assert evaluation.runs == len(evaluation.study("loss").runs) + len(evaluation.study("again").runs)
    assert evaluation.sentences()[-2].startswith("6 claims: 4 hold, ") and "<li>fast: " in evaluation._repr_html_()
    with pytest.raises(KeyError, match="unknown claim 'fest'"):
        evaluation["fest"]
    with pytest.raises(StudyError, match=r"unknown experiment 'los' \(did you mean 'loss'"):
        evaluation.study("los")
    with pytest.raises(StudyError, match="exists and does not contain answers to claims; choose another directory"):
        package.claims(tmp_path / "claims.yaml", out=tmp_path)
    with pytest.raises(StudyError, match="workers, master, spark: expected one of them"):
        package.claims(tmp_path / "claims.yaml", workers=1, master="local[1]")


@pytest.mark.parametrize(
    ("words", "out", "problem"),
    [
        (("--seed", "2"), "out", "out/loss: belongs to another study: seed was 1 and is now 2; name another directory"),
        ((), "full", "full: exists and does not contain answers to claims; name another directory with --out"),
        (("--master", "local[1]"), "new", "--workers sets the number of cores on this machine"),
    ],
)
def test_the_claims_command_rejects_bad_input(place: Path, words: tuple[str, ...], out: str, problem: str) -> None:
    (place / "full").mkdir(exist_ok=True)
    (place / "full" / "notes.txt").touch()
    assert problem in one_line(evaluate(place, *words, "-q", out=out), 2)


def test_an_unexpected_claim_answer_has_its_own_exit_code(tmp_path: Path) -> None:
    text = FILE[: FILE.index("  slower:")].replace("at_most: 0.5", "at_most: 0.5\n    expect: does not hold")
    done = mobilenet("claims", "claims.yaml", "--workers", "1", place=claims_file(tmp_path, text))
    assert done.returncode == 1 and "not as expected: fast: holds, expected: does not hold" in done.stdout
    assert (tmp_path / "studies" / "claims" / "claims.md").is_file()


OF_QUEUE = """\
experiments:
  queue: {{scenario: queue.yaml, set: {{duration_s: 21}}}}
claims:
  some: {{relation: within, metric: {metric}, value: {{experiment: queue}}, at_least: 1}}
"""


def test_claims_suggest_plug_in_metrics_for_an_unknown_one(tmp_path: Path) -> None:
    place = claims_file(copy_queue(tmp_path), OF_QUEUE.format(metric="host_waitin_mean"))
    assert "--allow-code" in one_line(evaluate(place, "--quiet"), 2)
    line = one_line(evaluate(place, "--quiet", "--allow-code"), 2)
    assert "claims.yaml:4: claims.some.metric: unknown metric 'host_waitin_mean' (did you mean 'host_wait" in line


def test_failed_runs_leave_claims_unfinished(tmp_path: Path) -> None:
    place = claims_file(copy_queue(tmp_path, "1 / 0"), OF_QUEUE.format(metric="broadcasts"))
    done = evaluate(place, "--allow-code")
    assert done.returncode == 3 and "failed: queue/c000-r0001: " in done.stdout
    assert "some: undecided" in done.stdout and "10 runs of queue failed" in done.stdout
    assert "10 runs failed; run the same command again to retry" in done.stderr
