"""Reproductions of the papers on VCube: what can be wrong is wrong before the first run, and what is done is not
done again.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from mobilenet.lab.studies.papers import jobs
from mobilenet.lab.studies.papers.agreement import AGREES, CONTRADICTED, DIFFERS, UNEXPLAINED, verdict_against
from mobilenet.lab.studies.papers.jobs import Job, perform_all, prepare
from mobilenet.parameters import ScenarioError
from tests.tools import invoke

JOBS = [Job((n,), "bundling.yaml", (f"processes={n}",)) for n in (2, 4)]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["bundling", "--processes", "8", "--out", "/proc/nobody"], "/proc/nobody: cannot be written"),
        (["bundling", "--processes", "8", "--out", __file__], "cannot be written: File exists"),
        (["reliable", "--processes", "12"], "runs on a full hypercube"),
        (["causal", "--master", "local[2]"], "--master has no effect on causal"),
        (["mobile", "--max-n", "16"], "--max-n sets the number of processes"),
        (["mobile", "--processes", "16"], "--processes sets the number of processes"),
        (["causal", "--max-n", "16", "--processes", "16"], "specify only one of the two"),
    ],
)
def test_what_cannot_be_is_refused_at_once(
    arguments: list[str], complaint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(jobs, "results_of", lambda *_: pytest.fail("a run"))
    done = invoke("reproduce", *arguments)
    assert done.exit_code == 2 and complaint in done.output.replace("\n", " ")


@pytest.mark.long
def test_what_is_there_is_not_run_again(tmp_path: Path) -> None:
    results, messages = tmp_path / "r.jsonl", list[str]()
    prepare(tmp_path, JOBS)
    first = perform_all(JOBS, 1, messages.append, results)
    assert messages == ["2 of 2 runs"] and len(results.read_text().splitlines()) == 2
    messages.clear()
    assert perform_all(JOBS, 1, messages.append, results) == first and messages == [
        f"2 of 2 runs are complete: {results}"
    ]


@pytest.mark.long
def test_a_torn_line_counts_for_nothing(tmp_path: Path) -> None:
    results, messages = tmp_path / "r.jsonl", list[str]()
    first = perform_all(JOBS, 1, messages.append, results)
    results.write_text(results.read_text()[:-20])
    messages.clear()
    assert perform_all(JOBS, 1, messages.append, results) == first
    assert messages == [f"1 of 2 runs are complete: {results}", "1 of 1 runs"]
    assert len(jobs.completed_results(results)) == 2


def test_other_values_are_another_job() -> None:
    with pytest.raises(ScenarioError):
        jobs.identity(Job((), "reliable.yaml", ("processes=12", "protocol={name: disjoint_paths}")))
    assert len({jobs.identity(job) for job in JOBS}) == 2


@pytest.mark.parametrize(
    ("mean", "half", "printed", "half_printed", "note", "answer"),
    [
        (11.24, None, "11.2", "", "", AGREES),
        (11.3, None, "11.2", "", "", DIFFERS),
        (11.3, None, "11.2", "", "unexplained", UNEXPLAINED),
        (10.0, None, "9.0", "", "contradicts Table 3", CONTRADICTED),
        (212.2, None, "214.4", "", "stale: printed for other message sizes", CONTRADICTED),
        (50.6, 8.0, "35.9", "9.8", "", AGREES),
        (50.6, 2.0, "35.9", "9.8", "", DIFFERS),
        (99.0, 0.1, "86", "", "at least", AGREES),
        (80.0, 0.1, "86", "", "at least", DIFFERS),
        (13.0, None, "14", "", "at most", AGREES),
    ],
)
def test_what_agrees_with_print(
    mean: float, half: float | None, printed: str, half_printed: str, note: str, answer: str
) -> None:
    assert verdict_against(mean, half, {"printed": printed, "half_width": half_printed, "note": note}) == answer
    assert verdict_against(mean, half, None) == ""


@pytest.mark.long
@pytest.mark.parametrize("paper", ["bundling", "causal"])
def test_a_reproduction_ends_with_how_much_agrees(paper: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = invoke("reproduce", paper, "--processes", "16", "--workers", "1", "--out", out)
    assert done.exit_code == 0, done.output
    match = re.search(r"(\d+) published values: (.*); \S+ contains all (\d+) rows", done.output)
    assert match is not None
    table = pd.read_csv(out / f"{paper}.csv", keep_default_na=False, dtype=str)
    answers = [row for row in table["verdict"] if row]
    assert len(table) == int(match[3]) and len(answers) == int(match[1]) == (table["printed"] != "").sum()
    assert sum(map(int, re.findall(r"\d+", match[2]))) == len(answers) and f"{answers.count(AGREES)} agree" in match[2]
    text = (out / f"{paper}.md").read_text()
    assert text.startswith("# Rodrigues") and match[2] in text.splitlines()[2]
    assert text.count("\n| ") > len(table)


@pytest.mark.long
@pytest.mark.parametrize("paper", ["bundling", "causal", "reliable"])
def test_each_file_names_its_command_and_comes_out_the_same(paper: str, tmp_path: Path) -> None:
    for out in ("one", "other"):
        done = invoke("reproduce", paper, "--processes", "8", "--workers", "1", "--out", tmp_path / out)
        assert done.exit_code == 0, done.output
    files = [path for path in (tmp_path / "one").iterdir() if path.is_file()]
    assert {path.suffix for path in files} == {".csv", ".parquet", ".md", ".png", ".svg", ".jsonl", ".json"}
    for file in files:
        if file.suffix != ".jsonl":  # in the order in which its runs were done
            assert file.read_bytes() == (tmp_path / "other" / file.name).read_bytes(), file
        done = invoke("explain", file, "--json")
        assert done.exit_code == 0, (file, done.output)
        explanation = json.loads(done.output)
        assert explanation["command"] == f"mobilenet reproduce {paper} --processes 8" and explanation["kind"] == "paper"
        assert explanation["runs"] >= 8 and len(explanation["scenario_sha256"]) == 64
    assert invoke("explain", files[0]).output.endswith(f"Next: mobilenet reproduce {paper} --processes 8\n")
