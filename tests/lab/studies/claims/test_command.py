"""`mobilenet claims` on a real Spark: what it prints and leaves, killed and resumed, quick, and its exit codes."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pandas as pd
import pytest

import mobilenet as package
from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.claims import answering
from mobilenet.lab.studies.claims.answer import command_in
from mobilenet.record.stamp import KEY
from tests.cli.command import COMMAND, FIRST, mobilenet, one_line

pytestmark = pytest.mark.spark

FILE = """\
name: Loss
rare: 0.5
experiments:
  loss:
    scenario: first.yaml
    factors: {wireless.loss: [0, 0.1, 0.2]}
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


def contents(place: Path) -> dict[str, bytes]:
    """What is written."""
    return {name: (place / name).read_bytes() for name in WRITTEN}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = claims_file(tmp_path_factory.mktemp("claims"))
    done = mobilenet("claims", "claims.yaml", "--workers", "2", "--out", "out", place=place)
    assert done.returncode == 4, done  # one claim is undecided
    (place / "printed.txt").write_text(done.stdout)
    return place


def test_what_it_prints(place: Path) -> None:
    lines = (place / "printed.txt").read_text().splitlines()
    assert lines[0] == "6 claims about 2 experiments, at most 400 runs of each configuration; out"
    assert any(
        re.match(r"fast: (broadcast [\d.]+ % of what was offered: )?holds\. Without loss, messages", line)
        for line in lines
    )
    (slower,) = (line for line in lines if line.startswith("slower: "))
    assert "does not hold (as expected). Over the deliveries that both made: delivery_delay_mean_s, ratio " in slower
    assert ", required below 1 ± 0.05; " in slower and slower.endswith("; mobilenet report out/loss")
    (other,) = (line for line in lines if line.startswith("other: "))
    assert other.endswith("; mobilenet report out/again && mobilenet report out/loss")
    assert any(
        line.startswith("unlike: ") and ("undecided. 2 replications; its runs differ, so its exp" in line)
        for line in lines
    )
    assert any(line.endswith("mobilenet swarm --count 6 --seed 1 --protocol best_effort") for line in lines)
    assert (
        "6 claims: 4 hold, 1 does not hold, 1 undecided; probability that any answer is wrong: at most 5 %, not"
        " counting values within the margins; " in lines[-3]
    )
    assert lines[-2] == "outcomes in under 50 % of the runs could have been missed, for 4 of 6 claims"
    assert lines[-1] == "Next: look at out/claims.md"


def test_what_it_leaves(place: Path) -> None:
    document = json.loads((place / "out" / "claims.json").read_text())
    table = pd.read_csv(place / "out" / "claims.csv")
    assert [one["claim"] for one in document["claims"]] == list(table["claim"]) and document["error"] == 0.05
    assert document["rare"] == 0.5
    assert pd.read_parquet(place / "out" / "claims.parquet")["answer"].tolist() == table["answer"].tolist()
    fast = document["claims"][0]
    assert fast["low"] < fast["value"] < fast["high"] and fast["unit"] == "s" and fast["replications"] >= 10
    assert document["runs"] == sum(len(pd.read_csv(place / "out" / name / "runs.csv")) for name in ("loss", "again"))
    for row in document["claims"][:3]:
        command = command_in(row["command"], Path("out"))
        assert row["command"].startswith("mobilenet report CLAIMS/") and command.startswith("mobilenet report out/")
        assert mobilenet(*shlex.split(command)[1:], place=place).returncode == 0


def test_another_number_of_workers_answers_the_same(place: Path) -> None:
    assert mobilenet("claims", "claims.yaml", "--workers", "1", "--out", "one", "-q", place=place).returncode == 4
    assert contents(place / "one") == contents(place / "out")


def test_once_more_runs_nothing_and_prints_json(place: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in place.glob("out/*/runs/*/manifest.json")}
    done = mobilenet("claims", "claims.yaml", "--workers", "2", "--out", "out", "--json", place=place)
    kept = json.loads((place / "out" / "claims.json").read_text())
    assert kept.pop(KEY)["command"] == "mobilenet claims CLAIMS/claims.yaml"
    assert json.loads(done.stdout) == kept
    assert {path: path.stat().st_mtime_ns for path in place.glob("out/*/runs/*/manifest.json")} == before


def test_a_killed_command_resumes(place: Path, tmp_path: Path) -> None:
    claims_file(tmp_path)
    words = [*COMMAND, "claims", "claims.yaml", "--out", "out", "--quiet"]
    process = subprocess.Popen(words, cwd=tmp_path, start_new_session=True, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and len(list(tmp_path.glob("out/loss/runs/c*"))) < 20:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("out/loss/runs/c*/manifest.json")}
    assert len(before) >= 20 and json.loads((tmp_path / "out" / "claims.json").read_text()) == {"claims": []}
    again = mobilenet("claims", "claims.yaml", "--workers", "2", "--out", "out", "--quiet", place=tmp_path)
    assert again.returncode == 4
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert contents(tmp_path / "out") == contents(place / "out")


def test_quick_answers_what_it_can_and_says_what_it_left(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims_file(tmp_path)
    looks = iter(range(1000))

    def check_time(means: answering.Means) -> None:
        assert means.limit_s == answering.QUICK_S == 540
        if next(looks) >= 3:
            raise answering.TimeUp

    monkeypatch.setattr(answering.Means, "check_time", check_time)
    done = mobilenet("claims", "claims.yaml", "--quick", "--out", "out", "--workers", "2", place=tmp_path)
    monkeypatch.undo()
    document = json.loads((tmp_path / "out" / "claims.json").read_text())
    left = [one["claim"] for one in document["claims"] if one["left"]]
    lines = done.stdout.splitlines()
    assert done.returncode == 4 and left and f"not examined: {', '.join(left)}" in lines
    assert f"({len(left)} left by --quick)" in done.stdout
    whole = {one["claim"]: one for one in json.loads((place / "out" / "claims.json").read_text())["claims"]}
    for one in document["claims"]:  # what is answered is answered as without the limit
        assert one["left"] or one == whole[one["claim"]]
    assert lines[-1] == "Next: mobilenet claims claims.yaml --out out"
    assert mobilenet(*shlex.split(lines[-1])[2:], "--quiet", place=tmp_path).returncode == 4
    assert contents(tmp_path / "out") == contents(place / "out")


@pytest.mark.long
@pytest.mark.timeout(300)
def test_quick_stops_in_time_in_the_middle_of_long_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = FILE.replace("\nclaims:", "\n  hours: {scenario: first.yaml, set: {duration_s: 360000}}\nclaims:")
    claims_file(
        tmp_path, f"{text}  late: {{relation: within, metric: broadcasts, value: {{experiment: hours}}, at_most: 9}}\n"
    )
    monkeypatch.setattr(answering, "QUICK_S", 18)
    began_s = time.monotonic()
    done = mobilenet("claims", "claims.yaml", "--quick", "--out", "out", "--workers", "1", place=tmp_path)
    assert done.returncode == 4 and time.monotonic() - began_s < 18 + 30
    claim_of = {one["claim"]: one for one in json.loads((tmp_path / "out" / "claims.json").read_text())["claims"]}
    assert (
        claim_of["late"]["left"] and claim_of["late"]["answer"] == "undecided" and claim_of["fast"]["answer"] == "holds"
    )
    assert "late" in next(line for line in done.stdout.splitlines() if line.startswith("not examined: "))
    assert not list(tmp_path.glob("out/hours/runs/c*"))


def test_from_python(place: Path, tmp_path: Path) -> None:
    claims_file(tmp_path)
    shutil.copytree(place / "out", tmp_path / "out")
    for _ in range(2):  # the name stays the function when its modules are loaded
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
    with pytest.raises(StudyError, match="with master, the master sets it"):
        package.claims(tmp_path / "claims.yaml", workers=1, master="local[1]")


def test_another_seed_is_another_directory(place: Path) -> None:
    line = one_line(mobilenet("claims", "claims.yaml", "--seed", "2", "--out", "out", "-q", place=place), 2)
    assert "out/loss: belongs to another study: seed was 1 and is now 2; name another directory with --out" in line
    (place / "full").mkdir()
    (place / "full" / "notes.txt").write_text("mine")
    line = one_line(mobilenet("claims", "claims.yaml", "--out", "full", "-q", place=place), 2)
    assert "full: exists and does not contain answers to claims; name another directory with --out" in line
    two = mobilenet("claims", "claims.yaml", "--master", "local[1]", "--workers", "1", place=place)
    assert "--workers sets the number of cores on this machine" in one_line(two, 2)


def test_an_unexpected_answer_has_its_own_exit_code(tmp_path: Path) -> None:
    text = FILE[: FILE.index("  slower:")].replace("at_most: 0.5", "at_most: 0.5\n    expect: does not hold")
    claims_file(tmp_path, text)
    done = mobilenet("claims", "claims.yaml", "--workers", "1", place=tmp_path)
    assert done.returncode == 1 and "not as expected: fast: holds, expected: does not hold" in done.stdout
    assert (tmp_path / "studies" / "claims" / "claims.md").is_file()


def test_a_metric_that_only_a_plug_in_could_have(tmp_path: Path) -> None:
    folder = Path(__file__).parents[1] / "capacity"
    for name in ("queue.py", "queue.yaml"):
        (tmp_path / name).write_text((folder / name).read_text())
    (tmp_path / "claims.yaml").write_text(
        "experiments:\n  queue: {scenario: queue.yaml, set: {duration_s: 21}}\nclaims:\n"
        "  short: {relation: within, metric: host_waitin_mean, value: {experiment: queue}, at_most: 1}\n"
    )
    words = ("claims", "claims.yaml", "--quiet", "--workers", "1")
    assert "--allow-code" in one_line(mobilenet(*words, place=tmp_path), 2)
    line = one_line(mobilenet(*words, "--allow-code", place=tmp_path), 2)
    assert "claims.yaml:4: claims.short.metric: unknown metric 'host_waitin_mean' (did you mean 'host_wait" in line


def test_failed_runs_leave_it_unfinished(tmp_path: Path) -> None:
    folder = Path(__file__).parents[1] / "capacity"
    code = (folder / "queue.py").read_text()
    (tmp_path / "queue.py").write_text(code.replace("super().__init__(*parts)\n        self.waiting", "1 / 0\n        "
        "super().__init__(*parts)\n        self.waiting"))  # fmt: skip
    (tmp_path / "queue.yaml").write_text((folder / "queue.yaml").read_text())
    (tmp_path / "claims.yaml").write_text(
        "experiments:\n  queue: {scenario: queue.yaml, set: {duration_s: 21}}\nclaims:\n"
        "  some: {relation: within, metric: broadcasts, value: {experiment: queue}, at_least: 1}\n"
    )
    done = mobilenet("claims", "claims.yaml", "--allow-code", "--workers", "1", place=tmp_path)
    assert done.returncode == 3 and "failed: queue/c000-r0001: " in done.stdout
    assert "some: undecided" in done.stdout and "10 runs of queue failed" in done.stdout
    assert "10 runs failed; run the same command again to retry" in done.stderr
