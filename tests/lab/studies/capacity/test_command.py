"""Tests of `mobilenet capacity` on a real Spark: its output and files, killed and resumed searches, undecided answers,
and the call from Python.
"""

from __future__ import annotations

import html
import json
import re
import shlex
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import mobilenet as package
from mobilenet.lab.studies import StudyError
from mobilenet.record.provenance import read_provenance
from mobilenet.record.stamp import KEY
from tests.cli.command import FIRST, mobilenet, one_line
from tests.lab.studies.directories import MODELS, copy_queue, kill, manifests

pytestmark = pytest.mark.spark

BARE = (
    "capacity", str(FIRST), "--vary", "wireless.loss", "--from", "0", "--to", "0.4", "--set", "duration_s=8",
    "--rare", "0.5",
)  # fmt: skip
PRECISE = (*BARE, "--resolution", "0.1", "--require", "delivery_delay_mean_s <= 0.4")
ASKED = (*PRECISE, "--tolerance", "0.3")
OUT = "studies/first-capacity-loss"
WRITTEN = ("capacity.json", "capacity.csv", "capacity.md", "capacity.svg", "runs.csv", "tables/summary.csv")


def contents(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in WRITTEN}


def ask(place: Path, *words: object, asked: tuple[str, ...] = ASKED) -> subprocess.CompletedProcess[str]:
    return mobilenet(*asked, "--workers", "2", *map(str, words), place=place)


def document_in(out: Path) -> dict[str, Any]:
    return dict(json.loads((out / "capacity.json").read_text()))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("capacity")
    done = ask(place)
    assert done.returncode == 0, done
    (place / "printed.txt").write_text(done.stdout)
    return place


@pytest.fixture(scope="module")
def out(place: Path) -> Path:
    return place / OUT


def test_capacity_prints_its_question_and_answer(place: Path, out: Path) -> None:
    first, *lines, end = (place / "printed.txt").read_text().splitlines()
    assert first == f"wireless.loss from 0 to 0.4 in 4 steps, at most 12,000 runs and 10 min; {OUT}"
    document = document_in(out)
    assert document["verdict"] == "largest" and document["fails_at"] == pytest.approx(document["holds_at"] + 0.1)
    value = f"{document['value']:g}"
    assert f"the largest wireless.loss is {value}: the requirements hold at {value} and " in document["sentences"][0]
    assert set(document["sentences"]) <= set(lines)
    assert end == f"Next: mobilenet report {OUT}"
    assert mobilenet("report", OUT, place=place).returncode == 0
    page = (out / "report.html").read_text()
    assert all(html.escape(text) in page for text in document["sentences"])
    assert "delivery_delay_mean_s &lt;= 0.4, tolerance 0.12" in page and "The requirements over the key" in page
    assert "mobilenet capacity first-capacity-loss/configurations/c000/scenario.yaml --vary" in page


def test_capacity_writes_its_table_document_and_figure(out: Path) -> None:
    table, document = pd.read_csv(out / "capacity.csv"), document_in(out)
    assert list(table["wireless.loss"]) == sorted(table["wireless.loss"]) and len(table) == len(document["points"])
    assert pd.read_parquet(out / "capacity.parquet")["state"].tolist() == table["state"].tolist()
    assert document["runs"] == len(pd.read_csv(out / "runs.csv")) == len(pd.read_csv(out / "tables" / "runs.csv"))
    assert (out / "capacity.png").stat().st_size > 10_000
    page = (out / "capacity.md").read_text()
    assert "he largest wireless.loss is " in page and page.count("**") == 2
    assert "Percentiles are computed for each run, and then" in page


def test_all_values_in_a_capacity_search_start_from_equal_worlds(out: Path) -> None:
    a, b = (pd.read_parquet(out / "runs" / f"c00{number}-r0003" / "positions.parquet") for number in (0, 4))
    first = [frame[frame["time_ns"] == 0].reset_index(drop=True) for frame in (a, b)]
    assert first[0].equals(first[1])


@pytest.mark.parametrize("command", ["show", "compare", "figures", "verify", "export"])
def test_other_commands_accept_a_capacity_search_as_a_study(command: str, place: Path) -> None:
    done = mobilenet(command, OUT, *(["--csv"] if command == "export" else []), place=place)
    assert done.returncode in ((0, 4) if command == "verify" else (0,)), done


def test_repeating_capacity_starts_no_runs_and_prints_json(place: Path, out: Path) -> None:
    before = manifests(out)
    done, kept = ask(place, "--json"), document_in(out)
    search = "mobilenet capacity STUDY/configurations/c000/scenario.yaml --vary wireless.loss --from 0 --to 0.4"
    command = kept.pop(KEY)["command"]
    assert command.startswith(search) and "--rare 0.5" in command and kept["rare"] == 0.5
    assert json.loads(done.stdout) == kept
    assert manifests(out) == before


def test_a_killed_capacity_search_resumes_with_other_workers(out: Path, tmp_path: Path) -> None:
    before = kill(*ASKED, "--out", "out", place=tmp_path, runs=20)
    assert not (tmp_path / "out" / "capacity.json").exists()
    assert ask(tmp_path, "--out", "out", "--quiet").returncode == 0
    assert before.items() < manifests(tmp_path).items()
    assert contents(tmp_path / "out") == contents(out)


def test_a_search_that_ran_out_of_time_can_be_resumed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time limit is 70 s, and each run takes one second."""
    runs = place / "short" / "runs"
    with monkeypatch.context() as patched:
        clock = SimpleNamespace(monotonic=lambda: len(list(runs.iterdir())) if runs.exists() else 0)
        patched.setattr("mobilenet.lab.studies.capacity.capacity.time", clock)
        done = ask(place, "--minutes", 70 / 60, "--out", "short", asked=PRECISE)
    assert done.returncode == 3 and "--minutes " in done.stdout.splitlines()[-1], done
    before, known = contents(place / "short"), document_in(place / "short")
    assert known["runs"] == known["budget"] in range(50, 71)
    done = ask(place, "--budget", known["budget"], "--out", "short", asked=PRECISE)
    assert done.returncode == 4 and contents(place / "short") == before, done
    assert f"undecided: after {known['runs']} runs; the requirements hold at wireless.loss " in done.stdout
    again = re.findall(r"Next: mobilenet (.*)$", done.stdout, re.MULTILINE)[-1]
    assert "--budget" in again and "--rare 0.5" in again and "--resolution 0.1" in again
    assert ask(place, asked=tuple(shlex.split(again))).returncode in (0, 4)
    assert document_in(place / "short")["runs"] > known["runs"]


@pytest.mark.parametrize(
    ("requirement", "answer"),
    [
        ("delivery_delay_mean_s <= 1000", "holds everywhere: the requirements hold at all 5 values that were tried"),
        ("delivery_delay_mean_s >= 1000", "holds nowhere: the requirements fail at all 5 values that were tried"),
        ("broadcasts >= 1", "holds everywhere"),
    ],
)
def test_capacity_reports_that_there_is_no_threshold(requirement: str, answer: str, place: Path) -> None:
    done = ask(place, "--to", "0.1", "--require", requirement, "--out", "none", asked=BARE)
    assert done.returncode == 0 and answer in done.stdout, done
    assert document_in(place / "none")["value"] is None


def test_capacity_from_python_accepts_integer_keys(place: Path) -> None:
    result = package.capacity(
        FIRST, "hosts.count", 2, 14, "broadcasts <= 20", tolerance=0.1, resolution=4, rare=0.5,
        overrides={"duration_s": 5}, out=place / "hosts", workers=2,
    )  # fmt: skip
    assert (
        result.verdict == "largest"
        and isinstance(result.value, int)
        and result.interval == (result.value, result.value + 4)
    )
    assert set(result.points["hosts.count"]) <= set(range(2, 15, 4)) and result.runs == len(result.study.runs)
    assert read_provenance(result.path / "capacity.svg") == read_provenance(result.path / "capacity.json") is not None
    assert f"the largest hosts.count is {result.value}: " in result.sentences()[0]
    assert result.plot().axes[0].get_ylabel() and "the largest hosts.count" in result._repr_html_()


@pytest.mark.parametrize(
    ("words", "asked", "problem"),
    [
        (("--resolution", "0.2"), ASKED, f"{OUT}: belongs to another study: factors.wireless.loss was "),
        (("--resolution", "0.2"), ASKED, "name another directory with --out"),
        (("--master", "local[1]"), ASKED, "--workers sets the number of cores on this machine"),
        ((), BARE, "Missing option '--require'; see mobilenet capacity --help"),
    ],
)
def test_the_capacity_command_rejects_bad_questions(
    words: tuple[str, ...], asked: tuple[str, ...], problem: str, place: Path
) -> None:
    assert problem in one_line(ask(place, *words, "--quiet", asked=asked), 2)


def test_capacity_from_python_rejects_bad_arguments(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(StudyError, match="choose another directory for out"):
        package.capacity(FIRST, "wireless.loss", 0, 0.3, "broadcasts <= 40", out=tmp_path, workers=1)
    with pytest.raises(StudyError, match="out: missing"):
        package.capacity({"seed": 1}, "wireless.loss", 0, 0.3, "broadcasts <= 40")


def test_capacity_suggests_plug_in_metrics_for_an_unknown_one(place: Path) -> None:
    done = mobilenet(
        "capacity", MODELS / "queue.yaml", "--vary", "workload.interval_s", "--from", "0.2", "--to", "0.5",
        "--allow-code", "--require", "host_waitin_mean <= 1", "--set", "duration_s=21", "--out", "metric", "--quiet",
        place=place,
    )  # fmt: skip
    assert "unknown metric 'host_waitin_mean' (did you mean 'host_waiting_mean'?); the metrics" in one_line(done, 2)


def test_failed_runs_leave_a_capacity_search_unfinished(tmp_path: Path) -> None:
    done = mobilenet(
        "capacity", "queue.yaml", "--vary", "protocol.settings.service_s", "--from", "0.1", "--to", "0.4",
        "--resolution", "0.3", "--rare", "0.5", "--require", "broadcasts >= 1", "--set", "duration_s=22",
        "--allow-code", "--workers", "1", "--out", "out", place=copy_queue(tmp_path, "1 / (parts[2].service_s < 0.3)"),
    )  # fmt: skip
    assert done.returncode == 3, done
    assert "failed: c001-r0001: " in done.stdout and "undecided: 10 runs failed" in done.stdout
    assert "10 runs failed; run the same command again to retry" in done.stderr
