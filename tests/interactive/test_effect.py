"""What an intervention did: the same worlds with it and without it, really run."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import mobilenet
from mobilenet.interactive.desk import Desk
from mobilenet.interactive.jobs import Job, differences, effect_in_words, said
from mobilenet.interactive.session import LiveSession

FIRST = Path(__file__).parents[2] / "scenarios" / "first.yaml"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.chdir(tmp_path)
    live: LiveSession = mobilenet.live(FIRST, seed=3)
    live.play(8)
    live.do("crash", host="h3")
    live.play(12)
    live.do("recover", host="h3")
    live.do("drag", host="h1", to_m=[100, 10])
    return Desk(live)


def ended(job: Job) -> Job:
    end_s = time.monotonic() + 300
    while job.state == "running" and time.monotonic() < end_s:
        time.sleep(0.1)
    return job


def test_a_crash_delays_deliveries_and_a_sentence_says_by_how_much(desk: Desk) -> None:
    job = ended(desk.jobs.effect(desk.session.scenario, 0, 6))
    assert job.state == "done", job.text
    delay = job.result["differences"][0]
    assert delay["pairs"] == 6
    assert delay["low"] > 0
    assert job.text.startswith(
        "The crash of h3 at 8 s, in the 20 s after it, 6 worlds with and without it (95 % intervals): The mean"
        " delivery delay is "
    )
    study = Path(job.result["directory"])
    assert job.text.endswith(f"More: mobilenet compare {study}")
    assert effect_in_words(desk.session.branch.interventions[0], 20, differences(study)) in job.text


def test_two_jobs_at_a_time_have_directories_of_their_own(desk: Desk) -> None:
    jobs = [desk.jobs.save(desk.session.scenario, None, (0, "")) for _ in range(2)]
    assert len({job.about for job in jobs}) == 2
    for job in jobs:
        assert ended(job).state == "failed"  # the fingerprint asked for is none
        assert "other events than the session" in job.text


def test_words_of_interventions(desk: Desk) -> None:
    assert [said(one) for one in desk.session.branch.interventions] == [
        "crash of h3 at 8 s",
        "recovery of h3 at 12 s",
        "drag of h1 to [100, 10] at 12 s",
    ]
