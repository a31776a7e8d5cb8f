"""Tests of the comparison between results and the numbers printed in the causal paper. The complete experiments are not
repeated.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mobilenet.lab.studies.papers import causal, jobs
from mobilenet.lab.studies.papers.causal import agree
from mobilenet.lab.studies.papers.jobs import Finding, Job, perform, results_of
from mobilenet.lab.studies.statistics import Bounds
from mobilenet.parameters import ScenarioError

JOBS = [Job((n,), "bundling.yaml", (f"processes={n}",)) for n in (2, 4)]


@pytest.mark.long
def test_recorded_results_are_reused_and_partial_lines_ignored(tmp_path: Path) -> None:
    results, messages = tmp_path / "r.jsonl", list[str]()
    first = results_of(perform, JOBS, 1, messages.append, results)
    assert messages == ["2 of 2 runs"] and len(results.read_text().splitlines()) == 2
    messages.clear()
    assert results_of(perform, JOBS, 1, messages.append, results) == first
    assert messages == [f"2 of 2 runs are complete: {results}"]
    results.write_text(results.read_text()[:-20])
    messages.clear()
    assert results_of(perform, JOBS, 1, messages.append, results) == first
    assert messages == [f"1 of 2 runs are complete: {results}", "1 of 1 runs"]
    assert len(jobs.completed_results(results)) == 2


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="cannot be read"):
        jobs.completed_results(tmp_path)


def test_paper_jobs_with_other_values_are_different_jobs() -> None:
    with pytest.raises(ScenarioError):
        jobs.identity(Job((), "reliable.yaml", ("processes=12", "protocol={name: disjoint_paths}")))
    assert len({jobs.identity(job) for job in (*JOBS, JOBS[0]._replace(beside=()))}) == 3


@pytest.mark.parametrize(
    ("values", "printed", "note", "agrees"),
    [
        ([11.24], "11.2", "", True),
        ([11.3], "11.2", "", False),
        ([11.3], "11.2", "of all", False),
        ([10.0, 11.0, 12.0], "13", "", True),  # The confidence interval is 11 ± 2.5.
        ([10.0, 11.0, 12.0], "14.1", "", False),
        ([99.0, 98.9], "86", "at least", True),
        ([80.0, 80.1], "86", "at least", False),
        ([13.0], "14", "at most", True),
        ([15.0], "14", "at most", False),
    ],
)
def test_printed_numbers_agree_within_their_precision(
    values: list[float], printed: str, note: str, agrees: bool
) -> None:
    assert agree(np.array(values), printed, note) is agrees


def test_a_minimum_claimed_for_all_sizes_applies_to_each_size() -> None:
    printed = {"printed": "86", "note": "at least"}
    sizes = [np.array([50.0]), np.array([90.0, 92.0])]
    assert causal._answer(sizes, printed) == Finding("fail", "50, 91 ± 13, published 86: differs", None, (85.5, None))
    verdict, why, bounds, ends = causal._answer(sizes[1:], printed)
    assert (verdict, why, ends) == ("hold", "published 86: agrees", (85.5, None))
    assert bounds == pytest.approx((91, 91 - 12.706, 91 + 12.706), abs=0.001)


@pytest.mark.long
def test_real_runs_produce_a_value_for_each_published_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of workers does not change the results. After runs of all sizes, every printed number has a value."""
    names = causal.printed_numbers()
    monkeypatch.setattr(causal, "replications", lambda n: 3)
    few = causal.judge(tmp_path / "few.jsonl", 16, 1, lambda _: None)
    assert few == causal.judge(tmp_path / "other.jsonl", 16, 2, lambda _: None) and few.keys() < names.keys()
    assert few["1/16/packets_plain"] == Finding("hold", "published 240: agrees", Bounds(240, 240, 240), (239.5, 240.5))
    every_size = {name.replace("/256/", "/16/").replace("/1024/", "/16/"): row for name, row in names.items()}
    monkeypatch.setattr(causal, "LARGEST", 16)
    monkeypatch.setattr(causal, "printed_numbers", lambda: every_size)
    all_of_them = causal.judge(tmp_path / "few.jsonl", 16, 1, lambda _: None)
    assert {name for name in every_size if "/16/" in name or "/all/" in name} == all_of_them.keys()
    saved = [all_of_them[f"2/16/packets_of_{k}_percent"].bounds for k in (1, 2, 3, 4, 5, "more")]
    assert sum(one.mean for one in saved if one is not None) == pytest.approx(100, abs=0.01)
