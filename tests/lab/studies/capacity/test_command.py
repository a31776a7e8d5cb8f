"""`mobilenet capacity` on a real Spark: what it prints and leaves, killed and resumed, undecided, and from Python."""

from __future__ import annotations

import html
import json
import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pandas as pd
import pytest

import mobilenet as package
from mobilenet.lab.studies import StudyError
from mobilenet.record.provenance import read_provenance
from mobilenet.record.stamp import KEY
from tests.cli.command import COMMAND, FIRST, mobilenet, one_line

pytestmark = pytest.mark.spark

BARE = (
    "capacity", str(FIRST), "--vary", "wireless.loss", "--from", "0", "--to", "0.8", "--set", "duration_s=8",
    "--rare", "0.5",
)  # fmt: skip
ASKED = (*BARE, "--resolution", "0.1", "--require", "delivery_delay_mean_s <= 0.4", "--tolerance", "0.3")
WRITTEN = ("capacity.json", "capacity.csv", "capacity.md", "capacity.svg", "runs.csv", "tables/summary.csv")


def contents(place: Path) -> dict[str, bytes]:
    return {name: (place / name).read_bytes() for name in WRITTEN}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("capacity")
    done = mobilenet(*ASKED, "--workers", "2", place=place)
    assert done.returncode == 0, done
    (place / "printed.txt").write_text(done.stdout)
    return place


def test_what_it_prints(place: Path) -> None:
    lines = (place / "printed.txt").read_text().splitlines()
    assert lines[0] == "wireless.loss from 0 to 0.8 in 8 steps, at most 12,000 runs; studies/first-capacity-loss"
    document = json.loads((place / "studies" / "first-capacity-loss" / "capacity.json").read_text())
    assert document["verdict"] == "largest" and document["fails_at"] == pytest.approx(document["holds_at"] + 0.1)
    assert (
        f"the largest wireless.loss is {document['value']:g}: the requirements hold at {document['value']:g} and "
        in ("\n".join(lines))
    )
    assert any(
        line.startswith("probability of a wrong answer: at most 5 %, not counting values within the tol")
        for line in lines
    )
    assert lines[-3] == "outcomes in under 50 % of the runs could have been missed"
    assert (
        lines[-2]
        == "assumed: the requirements are monotone in wireless.loss; this was checked at 0, 0.2, 0.4, 0.6, 0.8"
    )
    assert lines[-1] == "Next: mobilenet report studies/first-capacity-loss"
    assert mobilenet(*shlex.split(lines[-1].removeprefix("Next: mobilenet ")), place=place).returncode == 0
    page = (place / "studies" / "first-capacity-loss" / "report.html").read_text()
    assert all(html.escape(text) in page for text in document["sentences"])
    assert "delivery_delay_mean_s &lt;= 0.4, tolerance 0.12" in page and "The requirements over the key" in page
    assert "mobilenet capacity first-capacity-loss/configurations/c000/scenario.yaml --vary" in page


def test_what_it_leaves(place: Path) -> None:
    out = place / "studies" / "first-capacity-loss"
    table, document = pd.read_csv(out / "capacity.csv"), json.loads((out / "capacity.json").read_text())
    assert list(table["wireless.loss"]) == sorted(table["wireless.loss"]) and len(table) == len(document["points"])
    assert pd.read_parquet(out / "capacity.parquet")["state"].tolist() == table["state"].tolist()
    assert document["runs"] == len(pd.read_csv(out / "runs.csv")) == len(pd.read_csv(out / "tables" / "runs.csv"))
    assert (out / "capacity.png").stat().st_size > 10_000
    page = (out / "capacity.md").read_text()
    assert "he largest wireless.loss is " in page and page.count("**") == 2
    assert "Percentiles are computed for each run, and then" in page


def test_all_values_meet_the_same_worlds(place: Path) -> None:
    runs = place / "studies" / "first-capacity-loss" / "runs"
    a, b = (pd.read_parquet(runs / f"c00{number}-r0003" / "positions.parquet") for number in (0, 8))
    first = [frame[frame["time_ns"] == 0].reset_index(drop=True) for frame in (a, b)]
    assert first[0].equals(first[1])


def test_it_is_a_study_like_any_other(place: Path) -> None:
    out = Path("studies/first-capacity-loss")
    for command in ("show", "compare", "figures", "verify"):
        done = mobilenet(command, out, place=place)
        assert done.returncode in ((0, 4) if command == "verify" else (0,)), done
    assert mobilenet("export", out, "--csv", place=place).returncode == 0


def test_another_number_of_workers_finds_the_same(place: Path) -> None:
    assert mobilenet(*ASKED, "--workers", "1", "--out", "one", "--quiet", place=place).returncode == 0
    assert contents(place / "one") == contents(place / "studies" / "first-capacity-loss")


def test_once_more_runs_nothing_and_prints_json(place: Path) -> None:
    out = place / "studies" / "first-capacity-loss"
    before = {path: path.stat().st_mtime_ns for path in out.glob("runs/*/manifest.json")}
    done = mobilenet(*ASKED, "--workers", "2", "--json", place=place)
    kept = json.loads((out / "capacity.json").read_text())
    search = "mobilenet capacity STUDY/configurations/c000/scenario.yaml --vary wireless.loss --from 0 --to 0.8"
    command = kept.pop(KEY)["command"]
    assert command.startswith(search) and "--rare 0.5" in command and kept["rare"] == 0.5
    assert json.loads(done.stdout) == kept
    assert {path: path.stat().st_mtime_ns for path in out.glob("runs/*/manifest.json")} == before


def test_a_killed_search_resumes(place: Path, tmp_path: Path) -> None:
    words = [*COMMAND, *ASKED, "--workers", "2", "--out", "out", "--quiet"]
    process = subprocess.Popen(words, cwd=tmp_path, start_new_session=True, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and len(list(tmp_path.glob("out/runs/c*"))) < 60:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("out/runs/c*/manifest.json")}
    assert len(before) >= 50 and not (tmp_path / "out" / "capacity.json").exists()
    assert mobilenet(*ASKED, "--workers", "2", "--out", "out", "--quiet", place=tmp_path).returncode == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert contents(tmp_path / "out") == contents(place / "studies" / "first-capacity-loss")


def test_undecided_within_the_budget_and_the_printed_command_resumes(place: Path) -> None:
    precise = [*BARE, "--resolution", "0.1", "--require", "delivery_delay_mean_s <= 0.4"]
    done = mobilenet(*precise, "--workers", "2", "--budget", "60", "--out", "short", place=place)
    assert done.returncode == 4, done
    assert "undecided: the budget of 60 runs is used up; the requirements hold at wireless.loss " in done.stdout
    again = re.findall(r"Next: mobilenet (.*)$", done.stdout, re.MULTILINE)[-1]
    assert "--budget" in again and "--rare 0.5" in again and "--resolution 0.1" in again
    done = mobilenet(*shlex.split(again), "--workers", "2", place=place)
    assert done.returncode in (0, 4) and json.loads((place / "short" / "capacity.json").read_text())["runs"] > 60


@pytest.mark.parametrize(
    ("requirement", "answer"),
    [
        (
            "delivery_delay_mean_s <= 1000",
            "holds everywhere: the requirements hold at all 5 values that were tried, and therefore",
        ),
        (
            "delivery_delay_mean_s >= 1000",
            "holds nowhere: the requirements fail at all 5 values that were tried, and therefore",
        ),
        ("broadcasts >= 1", "holds everywhere"),
    ],
)
def test_without_a_threshold(requirement: str, answer: str, place: Path) -> None:
    done = mobilenet(*BARE, "--to", "0.1", "--require", requirement, "--workers", "2", "--out", "none", place=place)
    assert done.returncode == 0 and answer in done.stdout, done
    assert json.loads((place / "none" / "capacity.json").read_text())["value"] is None


def test_whole_keys_from_python(place: Path) -> None:
    result = package.capacity(
        FIRST, "hosts.count", 2, 26, "broadcasts <= 40", tolerance=0.1, resolution=4, rare=0.5,
        overrides={"duration_s": 5}, out=place / "hosts", workers=2,
    )  # fmt: skip
    assert (
        result.verdict == "largest"
        and isinstance(result.value, int)
        and result.interval == (result.value, result.value + 4)
    )
    assert set(result.points["hosts.count"]) <= set(range(2, 27, 4)) and result.runs == len(result.study.runs)
    assert read_provenance(result.path / "capacity.svg") == read_provenance(result.path / "capacity.json") is not None
    assert f"the largest hosts.count is {result.value}: " in result.sentences()[0]
    assert result.plot().axes[0].get_ylabel() and "the largest hosts.count" in result._repr_html_()


def test_what_is_refused(place: Path) -> None:
    line = one_line(mobilenet(*ASKED, "--resolution", "0.2", "--quiet", place=place), 2)
    assert "studies/first-capacity-loss: belongs to another study: factors.wireless.loss was " in line
    assert line.endswith("name another directory with --out")
    two = mobilenet(*ASKED, "--master", "local[1]", "--workers", "1", place=place)
    assert "--workers sets the number of cores on this machine" in one_line(two, 2)
    missing = mobilenet(*BARE, place=place)
    assert "Missing option '--require'; see mobilenet capacity --help" in one_line(missing, 2)
    with pytest.raises(StudyError, match="choose another directory for out"):
        package.capacity(FIRST, "wireless.loss", 0, 0.3, "broadcasts <= 40", out=place / "hosts", workers=1)
    with pytest.raises(StudyError, match="out: missing"):
        package.capacity({"seed": 1}, "wireless.loss", 0, 0.3, "broadcasts <= 40")


def test_a_metric_that_only_a_plug_in_could_have(place: Path) -> None:
    scenario = Path(__file__).parent / "queue.yaml"
    done = mobilenet(
        "capacity", scenario, "--vary", "workload.interval_s", "--from", "0.2", "--to", "0.5", "--allow-code",
        "--require", "host_waitin_mean <= 1", "--set", "duration_s=21", "--out", "metric", "--quiet", place=place,
    )  # fmt: skip
    assert "unknown metric 'host_waitin_mean' (did you mean 'host_waiting_mean'?); the metrics" in one_line(done, 2)


def test_failed_runs_leave_it_unfinished(tmp_path: Path) -> None:
    here = Path(__file__).parent
    code = (here / "queue.py").read_text()
    (tmp_path / "queue.py").write_text(code.replace("super().__init__(*parts)\n        self.waiting", "1 / (parts[2]."
        "service_s < 0.3)\n        super().__init__(*parts)\n        self.waiting"))  # fmt: skip
    (tmp_path / "queue.yaml").write_text((here / "queue.yaml").read_text())
    done = mobilenet(
        "capacity", "queue.yaml", "--vary", "protocol.settings.service_s", "--from", "0.1", "--to", "0.4",
        "--resolution", "0.3", "--rare", "0.5", "--require", "broadcasts >= 1", "--set", "duration_s=22",
        "--allow-code", "--workers", "1", "--out", "out", place=tmp_path,
    )  # fmt: skip
    assert done.returncode == 3, done
    assert "failed: c001-r0001: " in done.stdout and "undecided: 10 runs failed" in done.stdout
    assert "10 runs failed; run the same command again to retry" in done.stderr
