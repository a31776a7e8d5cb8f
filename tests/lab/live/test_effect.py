"""Tests of the estimated effect of an intervention, from real runs of the same worlds with and without it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import mobilenet
from mobilenet.lab.live import jobs
from mobilenet.lab.live.desk import Desk
from mobilenet.lab.live.effect import CELL, THERE, compare_worlds, differences, effect_in_words, in_words, outcome
from mobilenet.lab.live.jobs import Job, _ending, host_with_other_number
from mobilenet.lab.live.session import LiveSession
from mobilenet.parameters import ScenarioError
from mobilenet.record.table import Table
from mobilenet.scenario import load_scenario
from mobilenet.world.interventions import Add, Loss, OfHost, OfStation
from tests.lab.programs.own import wait_until

FIRST = Path(__file__).parents[3] / "scenarios" / "first.yaml"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.chdir(tmp_path)
    live: LiveSession = mobilenet.live(FIRST, seed=3)
    live.play(8)
    live.do("crash", host="h3")
    live.play(12)
    live.do("recover", host="h3")
    live.do("drag", host="h1", to_m=[100, 10])
    monkeypatch.setattr(jobs, "ENDING_S", 100.0)  # On a busy machine, a study takes longer to end.
    return Desk(live)


def wait_for(job: Job) -> Job:
    assert wait_until(lambda: job.state != "running", within_s=280)
    return job


@pytest.mark.long
def test_a_sentence_gives_the_delay_that_a_crash_caused(desk: Desk) -> None:
    desk.session.play(29)
    desk.session.do("crash", host="h5")  # This crash is after the period on which the effect is measured.
    job = wait_for(desk.jobs.effect(desk.session.scenario, 6, 0, 6))
    assert job.state == "done", job.text
    difference_of = {each["metric"]: each for each in job.result["differences"]}
    delay, itself = difference_of["delivery_delay_mean_s"], difference_of["delivery_delay_mean_there_s"]
    assert delay["pairs"] == itself["pairs"] == 6
    # The delay increases more at the crashed host than on average.
    assert 0 < delay["low"] < delay["high"] < itself["low"]
    assert job.text.startswith(
        "Effect of the crash of h3 at 8 s on the following 20 s, from 6 worlds with and without the"
        " intervention (95 % intervals):"
        " The number of deliveries "
    )
    study = Path(job.result["directory"])
    one = desk.session.branch.interventions[0]
    assert job.text.endswith(f"To include later deliveries: mobilenet compare {study}")
    assert effect_in_words(one, 20, differences(study, one, 28)) in job.text


@pytest.mark.long
def test_a_cancelled_effect_estimate_leaves_no_files(desk: Desk) -> None:
    job = desk.jobs.effect(desk.session.scenario, 6, 0, 500)
    assert wait_until(lambda: bool(list(Path("runs").glob("*/measured"))), within_s=200)
    desk.jobs.close()
    assert job.state == "failed"
    assert not list(Path("runs").iterdir())


@pytest.mark.long
def test_concurrent_jobs_use_separate_directories(desk: Desk) -> None:
    jobs = [desk.jobs.save(desk.session.scenario, None, (0, "")) for _ in range(2)]
    assert len({job.about for job in jobs}) == 2
    for job in jobs:
        assert wait_for(job).state == "failed"  # The job failed, because the requested fingerprint does not exist.
        assert "different events from the live run" in job.text


def test_interventions_are_described_in_words(desk: Desk) -> None:
    assert [in_words(one) for one in desk.session.branch.interventions] == [
        "crash of h3 at 8 s",
        "recovery of h3 at 12 s",
        "drag of h1 to [100, 10] at 12 s",
    ]


def test_the_effect_on_delay_is_given_per_host_and_per_cell() -> None:
    rows = [
        (0, "h0", "join", "s0", None),
        (0, "h1", "join", "s0", None),
        (0, "h2", "join", "s1", None),
        (0, "h3", "join", "s1", None),
        (1, "h3", "handoff_end", "s0", None),
        (2, "h1", "leave", None, None),
        (3, "h2", "broadcast", None, "h2:1"),  # This broadcast does not count, because it is before the intervention.
        (4, "h0", "crash", None, None),
        (5, "h2", "broadcast", None, "h2:2"),
        (6, "h0", "handoff_end", "s1", None),  # After the crash, h0 is in another cell.
        (6, "h3", "deliver", None, "h2:1"),
        (6, "h3", "deliver", None, "h2:2"),
        (7, "h1", "deliver", None, "h2:2"),
        (8, "h2", "deliver", None, "h2:2"),
        (9, "h0", "deliver", None, "h2:2"),
        (9, "h2", "broadcast", None, "h2:3"),
        (99, "h3", "deliver", None, "h2:3"),
    ]
    columns = dict(
        zip(("time_ns", "node", "event", "station", "message"), map(list, zip(*rows, strict=True)), strict=True)
    )
    events = Table.of({**columns, "time_ns": [second * 1_000_000_000 for second in columns["time_ns"]]})
    crash = OfHost(at_s=4, do="crash", host="h0")
    whole = {"deliveries": 4.0, "delivery_delay_mean_s": 2.5}
    itself, cell = (dict(zip(metrics, (mean, 1.0), strict=True)) for metrics, mean in ((THERE, 4.0), (CELL, 1.0)))
    assert outcome(events, crash, 10) == whole | itself | cell
    assert outcome(events, OfStation(at_s=4, do="radio_off", station="s1"), 10) == whole | {CELL[0]: 3.0, CELL[1]: 1.0}
    leave = OfHost(at_s=2, do="leave", host="h1")  # The last cell of h1 counts, although h1 leaves at this time.
    assert outcome(events, leave, 10)[CELL[0]] == (1 + 4 + 3) / 3
    alone = OfHost(at_s=4, do="crash", host="h1")  # h1 is not in a cell.
    assert outcome(events, alone, 10) == whole | {THERE[0]: 2.0, THERE[1]: 1.0}
    assert outcome(events, Loss(at_s=4, do="loss", loss=0.5), 10) == whole
    # These values exclude deliveries at or after the end of the window.
    early = {"deliveries": 3.0, "delivery_delay_mean_s": 2.0}
    assert outcome(events, crash, 9) == early | {THERE[1]: 0.0} | cell


def test_insignificant_differences_share_one_sentence() -> None:
    comparisons = [
        {"metric": "delivery_delay_mean_s", "pairs": 30, "difference": 0.41, "low": 0.36, "high": 0.46},
        {"metric": "deliveries", "pairs": 30, "difference": -2.0, "low": -5.0, "high": 1.0},
        {"metric": THERE[0], "pairs": 0},
        {"metric": CELL[0], "pairs": 27, "difference": 0.1, "low": -0.1, "high": 0.3},
    ]
    assert effect_in_words(OfHost(at_s=4, do="crash", host="h0"), 20, comparisons) == (
        "Effect of the crash of h0 at 4 s on the following 20 s, from 30 worlds with and without the"
        " intervention (95 % intervals):"
        " The mean delivery delay rises by 0.410 s ± 0.050 s. Too few runs have a value for the mean delay"
        " at h0 itself. The worlds show no measurable difference in the number of deliveries (-2.0 ± 3.0), or in the"
        " mean delay at the other hosts of h0's cell (+0.10 s ± 0.20 s in 27 worlds)."
    )


def test_adding_a_host_cannot_be_undone_if_it_was_changed_later(desk: Desk) -> None:
    live = desk.session
    for x_m in (10, 20):
        live.do("add", to_m=[x_m, 0])
        live.play(live.now_s + 1)
    live.do("crash", host="h7")
    for number in (3, 4):
        with pytest.raises(ScenarioError, match="h7 was added by this intervention or later, and a later"):
            desk.jobs.effect(live.scenario, live.first_hosts, number, 2)
    assert not desk.jobs.jobs


def test_added_hosts_are_numbered_in_order_of_time() -> None:
    second, first, third = (Add(at_s=at_s, do="add", to_m=(0, 0)) for at_s in (10, 5, 15))
    crash = OfHost(at_s=12, do="crash", host="h7")
    # h7 is the second host that is added.
    listed = [second, first, third, crash, OfHost(at_s=13, do="crash", host="h5")]
    assert [host_with_other_number(listed, one, 6) for one in (first, second, third)] == ["h7", "h7", None]


def test_at_most_four_jobs_run_at_once_without_duplicates(desk: Desk) -> None:
    jobs, scenario = desk.jobs, desk.session.scenario
    jobs.effect(scenario, 6, 0, 300)
    with pytest.raises(ScenarioError, match="the effect of the crash of h3 at 8 s is already being estimated"):
        jobs.effect(scenario, 6, 0, 300)
    jobs.effect(scenario, 6, 0, 301)  # This job uses another number of worlds.
    jobs.effect(scenario, 6, 1, 300)
    jobs.save(scenario, Path("runs/mine"), (0, ""))
    with pytest.raises(ScenarioError, match="4 jobs are in progress"):
        jobs.effect(scenario, 6, 2, 300)
    with pytest.raises(ScenarioError, match="runs/mine already exists"):
        jobs.save(scenario, Path("runs/mine"), (0, ""))
    jobs.close()
    assert {job.state for job in jobs.jobs} == {"failed"}


def test_replications_without_a_value_are_not_compared() -> None:
    rows = [(number, with_it) for number in range(4) for with_it in (0, 1)]
    runs = pd.DataFrame(rows, columns=["replication", "configuration"])
    runs["deliveries"] = 10.0 * runs["replication"]
    comparisons = compare_worlds(runs)
    # The runs do not contain a delay, so there are no pairs to compare.
    assert comparisons[0] == {"metric": "delivery_delay_mean_s", "pairs": 0}
    assert comparisons[1] == {"metric": "deliveries", "pairs": 4, "difference": 0.0, "low": 0.0, "high": 0.0}
    loss = Loss(at_s=4, do="loss", loss=0.5)
    alike = "The worlds show no measurable difference in the number of deliveries (+0 ± 0)."
    assert alike in effect_in_words(loss, 20, comparisons)
    runs["delivery_delay_mean_s"] = runs["replication"] + 0.5 * runs["configuration"]
    runs.loc[5, "delivery_delay_mean_s"] = None  # row of the third world with the intervention
    delay = compare_worlds(runs)[0]
    assert (delay["pairs"], delay["difference"]) == (3, 0.5)


def test_numbers_are_rounded_according_to_their_interval() -> None:
    comparisons = [{"metric": "deliveries", "pairs": 9, "difference": 3110.4, "low": 2950.0, "high": 3270.8}]
    assert "The number of deliveries rises by 3,110 ± 160." in effect_in_words(
        Loss(at_s=4, do="loss", loss=0.5), 20, comparisons
    )
    comparisons[0] |= {"difference": -53.2, "low": -72.0, "high": -34.4}
    assert "falls by 53 ± 19." in effect_in_words(Loss(at_s=4, do="loss", loss=0.5), 20, comparisons)


def test_shortening_a_compared_run_does_not_remove_hosts() -> None:
    """In a run over tracks, the duration decides which hosts exist, so the compared worlds must be as long as the
    session.
    """
    streets = load_scenario(FIRST.parent / "streets.yaml")
    hosts = mobilenet.live(streets).first_hosts
    assert mobilenet.live(streets.with_changes([_ending(streets, 25)])).first_hosts == hosts
    assert mobilenet.live(streets.with_changes(["duration_s=25"])).first_hosts < hosts
    assert _ending(load_scenario(FIRST), 25) == "duration_s=25"
