"""Tests of programs that run as processes on a network that loses messages, either at random or because of a
partition.
"""

from pathlib import Path
from typing import Any

import pytest

import mobilenet
from mobilenet.api import Run
from mobilenet.cli.run import _summary
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import load_scenario
from mobilenet.simulation.processes.experiment import Experiment
from mobilenet.verify import verify_run
from tests.lab.programs.own import AROUND, play, processes

ONCE = """
    def do(action, **keys): print(json.dumps({"do": action, **keys}))
    if e["ev"] == "start": me, n = e["me"], e["n"]
    if e["ev"] == "broadcast":
        do("deliver", id=e["id"])
        for other in range(n):
            if other != me: do("send", to=other, message=e["id"])
    if e["ev"] == "receive": do("deliver", id=e["message"])"""
AGAIN = """
    def do(action, **keys): print(json.dumps({"do": action, **keys}))
    def rest():
        do("buffer", name="unacknowledged", size=len(due))
        for other, name in due: do("send", to=other, message=["app", name])
        if due: do("timer", name="again", after_ns=3 * 10**9)
    if e["ev"] == "start": me, n, due, met = e["me"], e["n"], [], []; do("buffer", name="unacknowledged", size=0)
    if e["ev"] == "broadcast":
        do("deliver", id=e["id"])
        due += [[other, e["id"]] for other in range(n) if other != me]
        rest()
    if e["ev"] == "timer": rest()
    if e["ev"] == "receive" and e["message"][0] == "ack":
        due = [each for each in due if each != [e["from"], e["message"][1]]]
        do("buffer", name="unacknowledged", size=len(due))
    if e["ev"] == "receive" and e["message"][0] == "app":
        do("send", to=e["from"], message=["ack", e["message"][1]])
        if e["message"][1] not in met: met.append(e["message"][1]); do("deliver", id=e["message"][1])"""


def scenario(folder: Path, code: str, **network: Any) -> Path:
    workload = {"messages": 5, "instants": {"kind": "uniform", "latest": 20}}
    more = {"duration": 500, "workload": workload, "record": {"programs": True}}
    return processes(folder, AROUND.format(code=code), network={"kind": "abstract", **network}, **more)


def lossy(folder: Path, code: str, **network: Any) -> Run:
    return play(scenario(folder, code, **network))


@pytest.mark.parametrize("jitter", (0, 0.5))
def test_a_delivery_lost_by_the_network_is_not_a_violation(jitter: float, tmp_path: Path) -> None:
    done = lossy(tmp_path, ONCE, loss=0.2, jitter=jitter)
    lost = done.counters["messages"]["lost"]
    assert 4 <= lost <= 24 and done.metrics["deliveries"] == 4 * 4 * 5 - lost
    answers = {name: verdict.answer for name, verdict in done.verdicts.items()}
    assert answers.pop("agreement") == "unknown" and set(answers.values()) == {"valid"}, done.verdicts
    assert f"the network lost {lost} messages" in done.verdicts["agreement"].explanation
    assert verify_run(done.path) == done.verdicts
    (tmp_path / "again").mkdir()
    again = lossy(tmp_path / "again", ONCE, loss=0.2, jitter=jitter)
    assert again.manifest["fingerprint"] == done.manifest["fingerprint"]


def test_programs_that_resend_deliver_every_message(tmp_path: Path) -> None:
    apart = {"since": 2, "until": 15, "apart": ["p0"]}
    done = lossy(tmp_path, AGAIN, loss=0.3, partitions=[apart])
    assert done.verdict == "valid" and done.metrics["deliveries"] == 4 * 4 * 5, done.verdicts
    sent = done.lines[(done.lines.node == "p0") & (done.lines.time_ns >= 4 * 10**9) & (done.lines.time_ns < 15 * 10**9)]
    # Messages from before the partition have arrived, and messages that were sent across the partition are lost.
    assert not sent.line.str.contains('"ev":"receive"').any()


def test_a_partition_loses_what_is_sent_across_it(tmp_path: Path) -> None:
    done = lossy(tmp_path, ONCE, partitions=[{"since": 0, "until": 400, "apart": ["p0", "p1"]}])
    assert "40 of them lost" in _summary(done)
    assert "partition from 0 to 400 t.u.: p0, p1 separated from all others" in _summary(done)
    assert done.counters["messages"]["lost"] == 4 * 5 * 2 and done.metrics["deliveries"] == 4 * 5 * 2
    assert done.verdicts["agreement"].answer == "unknown"


def test_message_loss_does_not_excuse_invented_messages(tmp_path: Path) -> None:
    done = lossy(tmp_path, ONCE.replace('id=e["message"]', "id=[0, 77]"), loss=0.2)
    assert done.verdicts["creation"].answer == "violated"


@pytest.mark.parametrize(
    ("network", "why"),
    [
        ({"loss": 1.5}, "loss"),
        ({"partitions": [{"since": 3, "until": 3, "apart": ["p0"]}]}, "should be later than since"),
        ({"partitions": [{"since": 3, "until": 4, "apart": ["p9"]}]}, "p9 does not exist; there are"),
    ],
)
def test_bad_loss_settings_are_rejected_in_one_line(network: dict[str, Any], why: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=why) as caught:
        load_scenario(scenario(tmp_path, ONCE, **network))
    assert len(str(caught.value).splitlines()) == 1


def test_paper_protocols_reject_a_lossy_network() -> None:
    reliable = Path(mobilenet.__file__).parents[1] / "scenarios" / "vcube" / "reliable.yaml"
    with pytest.raises(ScenarioError, match="assumes that no message is lost; only programs can be run on a network"):
        load_scenario(reliable, ["network.loss=0.1"])


@pytest.mark.parametrize("loses", [True, False], ids=["losses", "a crash"])
def test_undelivered_messages_do_not_accumulate_in_the_causes(loses: bool, tmp_path: Path) -> None:
    path = scenario(tmp_path, AGAIN if loses else ONCE, loss=0.3 if loses else 0)
    changes = ["record.causes=true", *([] if loses else ["faults=[{process: p1, at: 3}]"])]
    experiment = Experiment(load_scenario(path).with_changes(changes), allow_code=True)
    experiment.run()
    assert experiment.causes is not None
    travelling = experiment.causes._travelling
    sent_at = experiment.recording.tables()["causes"]["time_ns"]
    latest = experiment.kernel.now - 3 * 10**9  # The failure detectors never stop sending messages.
    assert all(sent_at[row] > latest for copies in travelling.values() for row, *_ in copies), travelling
