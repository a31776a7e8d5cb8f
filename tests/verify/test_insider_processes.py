"""Edits of records of processes, made with their checksums and counts renewed, contradict the scenario or the rest of
the record.

Model     as in test_insider.py: each edit is made in a run that was really recorded. `caught by`: the property that has
          to be violated
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mobilenet
from mobilenet.clock import SECOND
from mobilenet.rundir.reader import RunError
from mobilenet.verify import verify_run
from mobilenet.verify.judge import overall
from tests.conftest import SCENARIOS

from .damage import Copy, Damage, Edits, Runs, verdicts_after

THREE = "workload={messages: 3, instants: {kind: uniform, latest: 20}}"
DRAWN = "random_faults={count: 3, latest: 20}"
CHAIN = "network={kind: wired, edges: [[0, 1], [1, 2], [2, 3]], delay_ms: 100}"
RUNS = {
    "reliable": ("vcube/reliable.yaml", ["processes=16", "faults=[{process: p8, at: 0}]"]),
    "drawn": ("vcube/reliable.yaml", ["protocol.name=all_to_all", "processes=9", "faults=[]", DRAWN, THREE]),
    "bundling": ("vcube/bundling.yaml", ["processes=16"]),
    "bundled": ("vcube/bundling.yaml", ["processes=16", "faults=[{process: p3, at: 1}]"]),
    "alone": ("vcube/bundling.yaml", ["processes=8", "protocol={name: best_effort}", THREE]),
    "mistaken": ("vcube/causal_reliable.yaml", []),
    "stamped": ("vcube/causal_reliable.yaml", ["processes=8", "faults=[]", "detector.mistakes=[]"]),
    "disjoint": ("vcube/reliable.yaml", ["protocol={name: disjoint_paths}", "detector=null", "faults=[]", THREE]),
    "causal": ("vcube/causal.yaml", ["processes=16"]),
    "single": ("vcube/causal.yaml", ["processes=9", "protocol.trees=single", "workload.messages=3"]),
    "wired": ("vcube/reliable.yaml", [CHAIN, "processes=4", "faults=[]", THREE]),
    "wired_causal": ("vcube/causal.yaml", ["network={kind: wired}", "processes=9"]),
    "ring": ("own_protocol/ring.yaml", []),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    place = tmp_path_factory.mktemp("runs")
    for name, (file, changes) in RUNS.items():
        mobilenet.run(SCENARIOS / file, out=place / name, overrides=changes, allow_code=True)
    return {name: place / name for name in RUNS}


def test_as_they_were_recorded_all_are_valid(runs: Runs) -> None:
    for path in runs.values():
        assert overall(verify_run(path)) == "valid", path


edits = Edits()


def edit(caught_by: str, words: str, names: str) -> Callable[[Damage], Damage]:
    """Register an edit of the runs with these names; the explanation of the verdict must contain `words`."""
    return edits((caught_by, words), names)


@pytest.mark.parametrize(("how", "name"), edits.all)
def test_an_edit_is_caught(how: str, name: str, runs: Runs, tmp_path: Path) -> None:
    (check, words), function = edits.all[how, name]
    verdict = verdicts_after(runs[name], tmp_path / "edited", function)[check]
    assert verdict.answer == "violated"
    assert words in verdict.explanation and len(verdict.explanation.splitlines()) == 1


# --- the plan


@edit("record", "p3 crashes, but the scenario does not crash it", "reliable mistaken")
def another_process_crashed(copy: Copy) -> None:
    gone = copy.events.node[copy.first("crash")]
    exchanged = {gone: "p3", "p3": gone}
    for row, event in enumerate(copy.events.event):
        if event in ("deliver", "crash", "suspect", "trust"):
            copy.events.node[row] = exchanged.get(copy.events.node[row], copy.events.node[row])
    copy.samples.node = [exchanged.get(node, node) for node in copy.samples.node]


@edit("record", "but the scenario crashes it at", "reliable mistaken drawn")
def a_crash_moves_to_the_end(copy: Copy) -> None:
    row, times = copy.first("crash"), copy.events.time_ns
    copy.events.insert(len(times), **copy.events.row(row) | {"time_ns": times[-1]})
    copy.remove(row)


@edit("record", "recovers, but a crashed process stays down", "reliable bundling")
def a_process_recovers(copy: Copy) -> None:
    copy.insert(copy.last("deliver"), node="p1", event="recover")


@edit("record", "has the event join", "causal")
def a_process_joins(copy: Copy) -> None:
    copy.insert(copy.last("deliver"), node="p1", event="join", station="s0", session=0)


@edit("record", "does not broadcast", "causal bundling ring mistaken drawn")
def a_broadcast_that_the_scenario_plans_is_left_out(copy: Copy) -> None:
    copy.remove(*copy.events.where(message=copy.events.message[copy.last("broadcast")]))


@edit("record", "the scenario plans this broadcast at", "causal drawn ring disjoint")
def broadcasts_later(copy: Copy) -> None:
    """Each at its own delivery at the earliest."""
    row = copy.last("broadcast")
    copy.events.time_ns[row] += 1
    for other in copy.events.where(message=copy.events.message[row]):
        copy.events.time_ns[other] = max(copy.events.time_ns[other], copy.events.time_ns[row])
    copy.events.sort("time_ns")


@edit("record", "but the scenario plans only 3 broadcasts by p", "disjoint ring")
def one_broadcast_more(copy: Copy) -> None:
    row = copy.last("broadcast", "p0")
    copy.repeat(row, row + 1)
    copy.events.message[row + 1] = "p0:3"


@edit("record", "but its next message is p0:2", "disjoint")
def a_number_is_left_out(copy: Copy) -> None:
    copy.events.message = ["p0:9" if message == "p0:2" else message for message in copy.events.message]


# --- delays


@edit("record", "but the network takes at least", "causal single bundling ring reliable wired disjoint")
def all_is_delivered_at_once(copy: Copy) -> None:
    sent = {copy.events.message[row]: copy.events.time_ns[row] for row in copy.rows("broadcast")}
    last: dict[str, int] = {}
    for row, node in enumerate(copy.events.node):
        if copy.events.event[row] == "deliver":
            copy.events.time_ns[row] = max(sent[copy.events.message[row]], last.get(node, 0))
        last[node] = copy.events.time_ns[row]
    copy.events.sort("time_ns")


@edit("record", "but the network takes at least 0.3", "wired")
def one_delivery_leaves_out_a_link(copy: Copy) -> None:
    """From p0 to p3 are three links of 100 ms each."""
    sent = {copy.events.message[row]: copy.events.time_ns[row] for row in copy.rows("broadcast")}
    row = next(row for row in copy.rows("deliver", "p3") if copy.events.message[row].startswith("p0:"))
    copy.events.time_ns[row] = sent[copy.events.message[row]] + SECOND // 4
    copy.events.sort("time_ns")


# --- the detector


@edit("record", "at the end of the run, p1 does not suspect p8, which crashed", "reliable")
@edit("record", "does not suspect", "drawn mistaken")
def suspicions_are_left_out(copy: Copy) -> None:
    trusts = copy.rows("trust")
    copy.remove(*copy.rows("suspect", None if trusts else "p1"), *trusts)


@edit("record", "does not suspect p0 at 2 t.u., although the scenario plans that mistake", "mistaken")
def a_planned_mistake_is_left_out(copy: Copy) -> None:
    rows = copy.rows("suspect", "p1") + copy.rows("trust", "p1")
    copy.remove(*(row for row in rows if copy.events.detail_of(row)["process"] == "p0"))


@edit("record", "suspects p2, which has not crashed", "reliable bundling")
def a_correct_process_is_suspected(copy: Copy) -> None:
    copy.insert(copy.last("deliver"), node="p1", event="suspect", detail='{"process": "p2"}')


@edit("record", "expected another process", "reliable bundling")
def a_suspicion_without_a_process(copy: Copy) -> None:
    copy.insert(copy.last("deliver"), node="p1", event="suspect")


@edit("record", "expected another process", "reliable")
def a_suspicion_of_process_99(copy: Copy) -> None:
    copy.events.detail[copy.first("suspect")] = '{"process": "p99"}'


@edit("record", "which it already suspects", "reliable mistaken")
def a_suspicion_twice(copy: Copy) -> None:
    row = copy.first("suspect")
    copy.repeat(row, row + 1)


@edit("record", "which it does not suspect", "mistaken")
def trust_without_a_suspicion(copy: Copy) -> None:
    copy.insert(copy.last("deliver"), node="p1", event="trust", detail='{"process": "p15"}')


@edit("record", "never withdraws a suspicion", "reliable")
def a_perfect_detector_trusts_again(copy: Copy) -> None:
    row = copy.first("suspect")
    copy.repeat(row, row + 1)
    copy.events.event[row + 1] = "trust"


@edit("record", "no test can fail before 4", "reliable")
def a_suspicion_before_any_timeout(copy: Copy) -> None:
    copy.events.time_ns[copy.first("suspect")] = 3 * SECOND
    copy.events.sort("time_ns")


@edit("record", "the scenario has no failure detector", "causal ring")
def suspicions_without_a_detector(copy: Copy) -> None:
    copy.insert(copy.last("deliver"), node="p1", event="suspect", detail='{"process": "p2"}')


@edit("conservation", "detector: 0 tests and answers, but the first round has", "reliable bundling mistaken")
def the_detector_counts_nothing(copy: Copy) -> None:
    copy.counters["detector"] = dict.fromkeys(copy.counters["detector"], 0)


@edit("conservation", "but the scenario has no failure detector", "causal ring")
def counters_of_a_detector_that_is_not_there(copy: Copy) -> None:
    counted: dict[str, Any] = {"sent": 9, "received": 9, "receiver_down": 0, "in_flight": 0, "never_left": 0}
    copy.counters["detector"] = counted | {"bytes": 9, "last_reception_ns": 1 * SECOND}


@edit("conservation", "tests and answers take", "reliable")
def the_detector_counts_no_bytes(copy: Copy) -> None:
    copy.counters["detector"]["bytes"] = 7


# --- counters


@edit("conservation", "counters.json: messages.packets_by_messages is {'many': 'x'}", "causal")
def packets_are_text(copy: Copy) -> None:
    copy.counters["messages"]["packets_by_messages"] = {"many": "x"}


@edit("conservation", "counters.json: messages.bytes is -5", "causal reliable")
def bytes_are_negative(copy: Copy) -> None:
    copy.counters["messages"]["bytes"] = -5


@edit("conservation", "counters.json: messages.receptions_waited_ns is 'x'", "causal")
def a_time_is_text(copy: Copy) -> None:
    copy.counters["messages"]["receptions_waited_ns"] = "x"


@edit("conservation", "counters.json: messages is None, expected an object", "causal ring")
def there_are_no_counters(copy: Copy) -> None:
    copy.counters["messages"] = None


@edit("conservation", "counters.json: messages.by_kind is None", "reliable ring")
def classes_are_left_out(copy: Copy) -> None:
    del copy.counters["messages"]["by_kind"]


@edit("conservation", "counters.json: messages.sent is True", "reliable")
def a_count_is_a_truth_value(copy: Copy) -> None:
    copy.counters["messages"]["sent"] = True


def _only(copy: Copy, kind: str, count: int, size_bytes: int) -> None:
    """Leave so many messages of one class."""
    sums = {"sent": count, "received": count, "receiver_down": 0, "in_flight": 0, "never_left": 0}
    copy.counters["messages"] |= sums | {"bytes": count * size_bytes, "by_kind": {kind: count}}


@edit("conservation", "deliveries at other processes, but all messages together carry 10", "drawn mistaken wired")
def ten_messages_for_all_deliveries(copy: Copy) -> None:
    _only(copy, "tree", 10, 1 if copy.manifest["protocol"] != "causal_reliable" else 20)


@edit("conservation", "deliveries at other processes, but all messages together carry 0", "alone bundling")
def acknowledgements_bring_all(copy: Copy) -> None:
    size_bytes = 20 if "ack_bytes: 20" in (copy.path / "scenario.yaml").read_text() else 1
    _only(copy, "ack", 1000, size_bytes)


@edit("conservation", "deliveries at other processes, but only 3 messages received", "drawn disjoint")
def nearly_nothing_is_received(copy: Copy) -> None:
    messages = copy.counters["messages"]
    messages["receiver_down"] += messages["received"] - 3
    messages["received"] = 3


@edit("conservation", "messages of these classes have", "bundling mistaken disjoint causal wired_causal")
def messages_have_a_thousand_times_the_bytes(copy: Copy) -> None:
    messages = copy.counters["messages"]
    messages["bytes"] *= 1000
    if "packets_by_bytes_from" in messages:
        messages["packets_by_bytes_from"] = {str(messages["bytes"] // messages["sent"] // 100 * 100): messages["sent"]}


@edit("conservation", "in by_kind, but 24 broadcasts require 168", "alone")
def acknowledgements_are_told_as_trees(copy: Copy) -> None:
    kinds = copy.counters["messages"]["by_kind"]
    kinds["tree"] += kinds.pop("ack")


@edit("conservation", "prayer in by_kind, but reliable sends only tree, delv, ack", "reliable")
def a_class_of_another_name(copy: Copy) -> None:
    kinds = copy.counters["messages"]["by_kind"]
    kinds["prayer"] = kinds.pop("ack")


@edit("conservation", "packets sent, but 24 in packets_by_messages", "causal")
def all_packets_are_bundled(copy: Copy) -> None:
    copy.counters["messages"] |= {"packets_by_messages": {"10": 24}, "packets_by_bytes_from": {"1000": 7}}


@edit("conservation", "bytes, but packets_by_bytes_from has", "causal single")
def packets_are_of_another_size(copy: Copy) -> None:
    copy.counters["messages"]["packets_by_bytes_from"] = {"9900": copy.counters["messages"]["sent"]}


@edit("conservation", "deliveries at other processes, but", "causal single")
def a_reception_is_left_out(copy: Copy) -> None:
    copy.counters["messages"]["receptions"] -= 1


@edit("conservation", "but the network takes at least 2000000000 ns for each", "causal single")
def receptions_waited_for_nothing(copy: Copy) -> None:
    copy.counters["messages"]["receptions_waited_ns"] = 0


@edit("conservation", "delays from broadcast to delivery add up to only", "causal single")
def receptions_waited_longer_than_deliveries(copy: Copy) -> None:
    copy.counters["messages"]["receptions_waited_ns"] *= 10


@edit("conservation", "the last delivery at another process requires a reception at", "causal reliable wired")
def the_last_reception_is_before_deliveries(copy: Copy) -> None:
    copy.counters["messages"]["last_reception_ns"] = 1


@edit("conservation", "after the end of the run", "causal ring")
def the_last_reception_is_after_the_end(copy: Copy) -> None:
    copy.counters["messages"]["last_reception_ns"] = 10**15


# --- completions


@edit("record", "but at_ns is 0, expected", "reliable bundling alone")
def a_completion_at_the_beginning(copy: Copy) -> None:
    for row in copy.rows("complete"):
        copy.events.say(row, at_ns=0)


@edit("record", "has message", "reliable bundling")
def a_completion_at_a_truth_value(copy: Copy) -> None:
    copy.events.say(copy.first("complete"), at_ns=True)


@edit("record", "by an acknowledgement, but at_ns is", "bundling alone")
def a_completion_at_its_event(copy: Copy) -> None:
    row = copy.first("complete")
    copy.events.say(row, at_ns=copy.events.time_ns[row])


def completed_at(copy: Copy, row: int, at_ns: int) -> None:
    """The source knows it then, and says so as much later as before."""
    copy.events.time_ns[row] += at_ns - copy.events.detail_of(row)["at_ns"]
    copy.events.say(row, at_ns=at_ns)
    copy.events.sort("time_ns")


@edit("record", "a round trip takes", "reliable alone wired")
def a_completion_in_less_than_two_ways(copy: Copy) -> None:
    row = copy.first("complete")
    sent = copy.events.where(event="broadcast", message=copy.events.message[row])[0]
    completed_at(copy, row, copy.events.time_ns[sent])


@edit("record", "after its last delivery, too early for the source to know", "bundling alone")
def a_completion_right_after_the_last_delivery(copy: Copy) -> None:
    row = copy.last("complete")
    last = copy.events.where(event="deliver", message=copy.events.message[row])[-1]
    waited_ns = copy.events.time_ns[row] - copy.events.detail_of(row)["at_ns"]
    completed_at(copy, row, copy.events.time_ns[last] + 1 - waited_ns)


@edit("completion", "never learns that", "reliable bundling drawn wired")
def completions_are_left_out(copy: Copy) -> None:
    copy.remove(*copy.rows("complete"))


@edit("record", "but causal_reliable does not report completion", "mistaken")
@edit("record", "but causal does not report completion", "causal")
@edit("record", "but disjoint_paths does not report completion", "disjoint")
def a_completion_that_the_protocol_does_not_report(copy: Copy) -> None:
    row = next(row for row in copy.rows("deliver") if copy.events.message[row].startswith("p0:"))
    detail = json.dumps({"at_ns": copy.events.time_ns[row]})
    copy.insert(row, node="p0", event="complete", message=copy.events.message[row], detail=detail)


# --- buffers


@edit("record", "had been broadcast", "causal single mistaken reliable alone")
def a_buffer_holds_more_than_there_is(copy: Copy) -> None:
    copy.samples.value[0] = 1000.0


@edit("record", "for pending of p0, expected a whole number", "causal")
def half_a_message_is_held(copy: Copy) -> None:
    copy.samples.value[0] = 0.5


@edit("record", "but causal has only pending", "causal")
def a_buffer_of_another_name(copy: Copy) -> None:
    copy.samples.quantity = ["zeal"] * len(copy.samples.quantity)


@edit("record", "no sample of unacknowledged", "reliable mistaken")
def a_buffer_is_left_out(copy: Copy) -> None:
    copy.samples.remove(copy.samples.where(quantity="unacknowledged"))


@edit("record", "row 0 is about p99, but there are 16 processes, p0 to p15", "ring causal")
def a_sample_of_process_99(copy: Copy) -> None:
    copy.samples.node[0] = "p99"


@edit("record", "of its broadcasts are incomplete", "reliable alone drawn wired")
def nothing_was_ever_held(copy: Copy) -> None:
    copy.samples.value = [0.0] * len(copy.samples.value)


@edit("record", "of its broadcasts are incomplete", "alone")
def only_the_end_is_sampled(copy: Copy) -> None:
    end_ns = max(copy.samples.time_ns)
    copy.samples.remove(row for row, time_ns in enumerate(copy.samples.time_ns) if time_ns < end_ns)


def forwarding(copy: Copy) -> list[int]:
    """Samples of a process that hands messages on, and broadcasts later or never."""
    samples = copy.samples
    own_ns = {copy.events.node[row]: copy.events.time_ns[row] for row in reversed(copy.rows("broadcast"))}
    return [row for row in samples.where(quantity="unacknowledged")
            if samples.value[row] and samples.time_ns[row] < own_ns.get(samples.node[row], 10**18)]  # fmt: skip


@edit("record", "should hold at most", "alone")
def a_process_keeps_one_more(copy: Copy) -> None:
    copy.samples.value[forwarding(copy)[0]] += 1


@edit("record", "should hold at least", "alone wired")
def a_process_keeps_nothing(copy: Copy) -> None:
    copy.samples.value[forwarding(copy)[0]] = 0.0


@edit("record", "should hold at most", "wired")
def a_process_keeps_a_message_beyond_its_completion(copy: Copy) -> None:
    samples, row = copy.samples, forwarding(copy)[0]
    empty = next(other for other in samples.where(quantity="unacknowledged", node=samples.node[row])
                 if other > row and samples.value[other] == 0)  # fmt: skip
    samples.remove([empty])


@edit("record", "should hold at least", "alone wired")
def a_process_gives_up_a_message_before_it_is_acknowledged(copy: Copy) -> None:
    samples, row = copy.samples, forwarding(copy)[0]
    samples.insert(row + 1, **samples.row(row) | {"time_ns": samples.time_ns[row] + 1, "value": 0.0})
    samples.sort("time_ns")


@edit("record", "although this value has not changed", "causal single reliable bundled mistaken disjoint wired")
def a_size_that_has_not_changed_is_sampled_again(copy: Copy) -> None:
    copy.samples.insert(6, **copy.samples.row(5))


# --- the end


@edit("record", "200 t.u. simulated, but the run was at rest at", "bundling stamped wired")
def simulated_longer(copy: Copy) -> None:
    copy.manifest["simulated_s"] = 200.0
    end_ns = max(copy.samples.time_ns)
    copy.samples.time_ns = [200 * SECOND if at == end_ns else at for at in copy.samples.time_ns]


@edit("conservation", "last message that this counter covers", "bundling alone stamped wired causal wired_causal")
def the_last_reception_is_later(copy: Copy) -> None:
    copy.counters["messages"]["last_reception_ns"] += 1


@edit("conservation", "but a buffer changes because of a later reception, at", "drawn mistaken")
def the_last_reception_is_before_the_last_change(copy: Copy) -> None:
    copy.counters["messages"]["last_reception_ns"] -= 1


@edit("conservation", "bytes, but 16 broadcasts require", "bundling")
def an_acknowledgement_is_left_out(copy: Copy) -> None:
    copy.counters["messages"]["bytes"] -= 20


@edit("conservation", "deliveries at other processes require", "bundled")
def bundles_carry_nothing(copy: Copy) -> None:
    messages = copy.counters["messages"]
    messages["bytes"] = 20 * (messages["sent"] + messages["never_left"])


@edit("record", "but the number of unacknowledged messages at p", "reliable bundling wired")
def a_source_learns_earlier_that_its_broadcast_is_complete(copy: Copy) -> None:
    """By a tenth of a time unit, and the reception is as much earlier."""
    for row in copy.rows("complete"):
        copy.events.add(row, at_ns=-(SECOND // 10))
        copy.events.time_ns[row] -= SECOND // 10
    copy.events.sort("time_ns")


@edit("conservation", "a source learns from a reception at", "reliable bundling")
def the_last_reception_is_before_that_of_the_last_completion(copy: Copy) -> None:
    copy.counters["messages"]["last_reception_ns"] -= SECOND // 10


@edit("record", "processes have no positions", "reliable causal")
def a_process_has_a_place(copy: Copy) -> None:
    copy.positions.insert(0, time_ns=0, node="p0", x_m=1.0, y_m=2.0)


@edit("conservation", "no message takes less than", "reliable")
def the_detector_heard_last_when_nothing_can_have_arrived(copy: Copy) -> None:
    copy.counters["detector"]["last_reception_ns"] = 1


def test_a_run_of_processes_is_not_stopped_by_hand(runs: Runs, tmp_path: Path) -> None:
    copy = Copy(runs["reliable"], tmp_path / "edited")
    copy.manifest |= {"ended_by_error": "stopped by hand at 3 s", "quiescent": False}
    copy.save()
    with pytest.raises(RunError, match="has no custom code that could fail"):
        verify_run(copy.path)
