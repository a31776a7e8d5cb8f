"""Tests of edits to the events, inputs or outputs of programs. The verifier detects them by comparing lines, events and
counters.

Model     Each edit is applied to a real recorded run.
Source    ours: docs/guide/programs.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import mobilenet
from mobilenet.parameters import ScenarioError
from mobilenet.record.reader import RunError, read_json
from mobilenet.verify import verify_run
from mobilenet.verify.judge import overall
from tests.conftest import SCENARIOS

from .damage import Copy, Edits, Runs, verdicts_after

SCENARIOS = SCENARIOS / "programs"
FLAT = ["record.programs=true"]
RUNS = {
    "flood": ("flood.yaml", [*FLAT, "duration_s=10"]),
    "bug": ("flood.yaml", [*FLAT, "protocol.command=[python3, flood.py, --bug]"]),
    "told": ("flood.yaml", [*FLAT, "duration_s=10", "record.frames=true", "record.messages=true"]),
    "lossy": ("flood.yaml", [*FLAT, "duration_s=10", "record.messages=true", "wireless.loss=0.6"]),
    "nodes": ("maelstrom.yaml", FLAT),
}


REPORTS = """
import json, sys
session = 0
for line in sys.stdin:
    event = json.loads(line)
    does = []
    if event["ev"] == "start" and event["role"] == "station":
        does = [{"do": "buffer", "name": "kept", "size": 0}]
    elif event["ev"] == "join":
        does = [{"do": "joined", "session": session, "station": 0}]
    elif event["ev"] == "cell" and event["station"] is not None:
        session += 1
        named = {"session": session, "station": event["station"]}
        does = [{"do": "session_opened", "cause": "cell", **named}, {"do": "session_confirmed", **named}]
    for action in (*does, {"do": "done"}):
        print(json.dumps(action), flush=True)
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    place = tmp_path_factory.mktemp("runs")
    for name, (file, changes) in RUNS.items():
        mobilenet.run(SCENARIOS / file, out=place / name, overrides=changes, allow_code=True)
    (place / "reports.py").write_text(REPORTS)
    shutil.copy(SCENARIOS / "flood.yaml", place)
    changes = [
        *FLAT,
        "duration_s=20",
        "faults=null",
        "protocol={command: [python3, reports.py], promises: best_effort}",
    ]
    mobilenet.run(place / "flood.yaml", out=place / "reports", overrides=changes, allow_code=True)
    return {name: place / name for name in (*RUNS, "reports")}


def test_unedited_program_runs_pass_verification(runs: Runs) -> None:
    assert {overall(verify_run(runs[name])) for name in ("flood", "nodes")} == {"valid"}
    assert verify_run(runs["reports"])["record"].answer == "valid"
    assert [check for check, verdict in verify_run(runs["bug"]).items() if verdict.answer == "violated"] == [
        "fifo_order"
    ]


def test_an_impossible_number_of_nodes_does_not_hang_verify(runs: Runs, tmp_path: Path) -> None:
    def more(copy: Copy) -> None:
        copy.manifest.update(hosts=10**30, stations=10**30)

    assert verdicts_after(runs["flood"], tmp_path / "edited", more)["record"].answer == "valid"


def test_an_impossible_end_time_in_a_manifest_is_rejected(runs: Runs, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"manifest.json: simulated_s is .1e\+308., which no run writes there"):
        verdicts_after(runs["flood"], tmp_path / "edited", lambda copy: copy.manifest.update(simulated_s=1e308))


edit = Edits()


@pytest.mark.parametrize(("how", "name"), edit.all)
def test_editing_recorded_program_lines_is_detected(how: str, name: str, runs: Runs, tmp_path: Path) -> None:
    words, function = edit.all[how, name]
    verdict = verdicts_after(runs[name], tmp_path / "edited", function)["record"]
    assert verdict.answer == "violated" and words in verdict.explanation


def lines_with(copy: Copy, key: str, kind: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the row and the decoded content of each line in which `key` has the value `kind`."""
    for row, line in enumerate(copy.lines.line):
        content = json.loads(line)
        if content.get(key) == kind:
            yield row, content


def change(copy: Copy, key: str, kind: str, **values: Any) -> None:
    for row, content in lines_with(copy, key, kind):
        copy.lines.line[row] = json.dumps(content | values)


def replace(copy: Copy, key: str, kind: str, **values: Any) -> None:
    """Replace the content of all lines in which `key` has the value `kind`, but keep their times."""
    for row, content in lines_with(copy, key, kind):
        copy.lines.line[row] = json.dumps(values | ({"t": content["t"]} if "t" in content else {}))


@edit("of deliver", "bug")
def deliveries_name_the_messages_that_the_order_wants(copy: Copy) -> None:
    """Rename the messages in deliveries so that they follow the required order. The lines still show the wrong
    order.
    """
    due: dict[tuple[str, str], list[int]] = {}
    for row in copy.rows("deliver"):
        due.setdefault((copy.events.node[row], copy.events.message[row].split(":")[0]), []).append(row)
    for rows in due.values():
        names = sorted((copy.events.message[row] for row in rows), key=lambda name: int(name.split(":")[1]))
        for row, name in zip(rows, names, strict=True):
            copy.events.message[row] = name


@edit("of deliver", "flood nodes")
def programs_said_other_messages(copy: Copy) -> None:
    change(copy, "do", "deliver", id=[9, 99])


@edit("of broadcast", "flood nodes")
def programs_were_told_of_other_broadcasts(copy: Copy) -> None:
    change(copy, "ev", "broadcast", id=[0, 500])


@edit("of join", "flood")
def programs_joined_in_another_session(copy: Copy) -> None:
    change(copy, "do", "joined", session=7)


@edit("ending with `done`", "flood nodes")
def programs_were_told_nothing(copy: Copy) -> None:
    copy.lines.remove(copy.lines.where(said=False))


@edit("ending with `done`", "flood nodes")
def programs_said_nothing_but_deliver(copy: Copy) -> None:
    rows = copy.lines.where(said=True)
    copy.lines.remove(row for row in rows if json.loads(copy.lines.line[row])["do"] != "deliver")


@edit("starts 0 times, expected 1", "flood")
def a_station_has_no_lines(copy: Copy) -> None:
    copy.lines.remove(copy.lines.where(node="s1"))


@edit("as life 77", "flood nodes")
def all_live_for_the_77th_time(copy: Copy) -> None:
    copy.lines.life = [77] * len(copy.lines.life)


@edit("crashed at", "flood")
def a_program_that_is_down_is_told_something(copy: Copy) -> None:
    row = copy.first("crash")
    now_ns, node = copy.events.time_ns[row] + 1000, copy.events.node[row]
    place = next(row for row, time in enumerate(copy.lines.time_ns) if time > now_ns)
    for is_action, line in ((True, '{"do": "done"}'), (False, '{"ev": "timer", "t": 1, "name": "tick"}')):
        copy.lines.insert(place, time_ns=now_ns, node=node, life=1, said=is_action, line=line)


@edit("of recover", "flood")
def a_recovery_is_not_told(copy: Copy) -> None:
    change(copy, "ev", "recover", ev="timer", name="tick")


@edit("messages that were sent or never left", "nodes")
def a_quarter_of_the_messages_is_not_counted(copy: Copy) -> None:
    messages = copy.counters["messages"]
    number = messages["sent"] // 4
    for count in (messages["by_kind"], messages):
        count["gossip" if "gossip" in count else "sent"] -= number
    messages["received"] -= number


@edit("bytes", "nodes")
def bytes_that_nobody_sent(copy: Copy) -> None:
    copy.counters["messages"]["bytes"] += 1


@edit("bytes", "flood")
def frames_of_another_size_than_programs_say(copy: Copy) -> None:
    for action in ("send", "broadcast"):
        change(copy, "do", action, bytes=7, payload_bytes=0)


@edit("frames", "flood")
def frames_that_no_program_asked_for(copy: Copy) -> None:
    for action in ("send", "broadcast"):
        replace(copy, "do", action, do="log", text="")


@edit("frames are reported to nodes", "flood")
def frames_that_no_program_was_told_of(copy: Copy) -> None:
    replace(copy, "ev", "receive", ev="timer", name="tick")


@edit("messages from other stations are reported to stations", "flood")
def messages_over_wires_that_no_station_was_told_of(copy: Copy) -> None:
    replace(copy, "ev", "wire", ev="timer", name="tick")


@edit("expected an event from docs/guide/programs.md", "flood nodes")
def programs_were_told_something_that_is_no_event(copy: Copy) -> None:
    change(copy, "ev", "receive", ev="thunder")


@edit("expected an event from docs/guide/programs.md", "flood")
def an_event_has_a_key_that_no_event_has(copy: Copy) -> None:
    change(copy, "ev", "timer", weather="fair")


@edit("expected an action from docs/guide/programs.md", "flood nodes")
def programs_did_something_that_is_no_action(copy: Copy) -> None:
    change(copy, "do", "broadcast" if "s0" in copy.lines.node else "send", do="dance")


@edit("a timer that is running", "flood")
def a_timer_of_another_name_was_told(copy: Copy) -> None:
    change(copy, "ev", "timer", name="tock")


@edit("a timer that is running", "flood")
def nobody_had_set_a_timer(copy: Copy) -> None:
    replace(copy, "do", "timer", do="log", text="")


@edit("a timer due at this time", "flood")
def timers_come_before_they_are_due(copy: Copy) -> None:
    change(copy, "do", "timer", between_ns=[10**9, 10**9])


@edit("due at", "flood")
def timers_were_due_long_before(copy: Copy) -> None:
    change(copy, "do", "timer", between_ns=[1, 2])


TOCK = '{"do": "timer", "name": "tock", "after_ns": 1000}'


@edit("expected timer tock, due at", "flood nodes")
def a_timer_that_was_due_is_not_told(copy: Copy) -> None:
    one_action_more(copy, TOCK, [json.loads(line).get("do") for line in copy.lines.line].index("done"))


@edit("is never notified of timer tock", "flood nodes")
def the_last_timer_is_not_told(copy: Copy) -> None:
    one_action_more(copy, TOCK)


@edit("reports of handoff", "reports")
def a_program_opened_another_session(copy: Copy) -> None:
    change(copy, "do", "session_opened", session=77)


@edit("reports of handoff_end", "reports")
def a_program_confirmed_nothing(copy: Copy) -> None:
    replace(copy, "do", "session_confirmed", do="log", text="")


@edit("of handoff_start", "reports")
def handoffs_begin_for_another_reason_than_programs_said(copy: Copy) -> None:
    for row in copy.rows("handoff_start"):
        copy.events.detail[row] = '{"cause": "recovery"}'


@edit("of expire h1", "flood")
def a_station_said_that_a_host_expired(copy: Copy) -> None:
    one_action_more(copy, '{"do": "expired", "host": 1}')


@edit("names host 99", "flood")
def a_host_that_is_not_there_expired(copy: Copy) -> None:
    one_action_more(copy, '{"do": "expired", "host": 99}')


@edit("to leave, but it is out", "reports")
def a_host_that_is_not_a_member_is_asked_to_leave(copy: Copy) -> None:
    change(copy, "ev", "join", ev="leave")


@edit("but it requested no such frame", "flood nodes")
def a_program_is_told_of_a_frame_without_a_tag(copy: Copy) -> None:
    row, content = next(lines_with(copy, "ev", "receive"))
    copy.lines.line[row] = json.dumps({"ev": "sent", "t": content["t"], "tag": 5})


@edit("has not settled according to its last report, but the run is at rest", "flood")
def a_station_had_not_settled_at_last(copy: Copy) -> None:
    one_action_more(copy, '{"do": "settled", "value": false}')


@edit("but samples has", "reports")
def a_buffer_was_not_empty_at_last(copy: Copy) -> None:
    one_action_more(copy, '{"do": "buffer", "name": "kept", "size": 55}')


@edit("but samples has None", "flood")
def a_buffer_was_never_sampled(copy: Copy) -> None:
    one_action_more(copy, '{"do": "buffer", "name": "held", "size": 55}')


@edit("according to their last reports, no station serves h0", "reports")
def no_station_serves_a_member(copy: Copy) -> None:
    for station in ("s0", "s1", "s2"):
        place = max(row for row, node in enumerate(copy.lines.node) if node == station)
        one_action_more(copy, '{"do": "serves", "host": 0, "value": false}', place)


@edit("1 frames are reported as dropped", "flood")
def a_frame_was_dropped_that_is_not_counted(copy: Copy) -> None:
    """Add a tag to each frame, and replace a timer event by a report that a frame was dropped."""
    for action in ("send", "broadcast"):
        change(copy, "do", action, tag=5)
    *_, (row, content) = lines_with(copy, "ev", "timer")
    copy.lines.line[row] = json.dumps({"ev": "dropped", "t": content["t"], "tag": 5})


@edit("lines of refused", "flood")
def a_broadcast_was_refused_that_was_made(copy: Copy) -> None:
    events = [json.loads(line).get("ev") for line in copy.lines.line]
    row = next(
        row
        for row, event in enumerate(events)
        if event == "broadcast" and (copy.lines.node[row], copy.lines.time_ns[row]) in broadcasts_of(copy)
    )
    one_action_more(copy, '{"do": "refuse"}', row + 1)


def broadcasts_of(copy: Copy) -> set[tuple[str, int]]:
    return {(copy.events.node[row], copy.events.time_ns[row]) for row in copy.rows("broadcast")}


def one_action_more(copy: Copy, line: str, place: int | None = None) -> None:
    """Add the action `line` to the answer that ends at row `place`. By default, use the last answer of s0 or p0."""
    if place is None:
        place = max(row for row, node in enumerate(copy.lines.node) if node in ("s0", "p0"))
    copy.lines.insert(place, **copy.lines.row(place) | {"line": line})


for words, names, how in (
    ("that t is 5", "flood nodes", {"kind": "receive", "t": 5}),
    ("that me is 17", "flood nodes", {"kind": "start", "me": 17}),
    ("that n is 40", "nodes", {"kind": "start", "n": 40}),
    ("that stations is 40", "flood", {"kind": "start", "stations": 40}),
    ("that role is", "flood nodes", {"kind": "start", "role": "judge"}),
    ("that stable is", "flood", {"kind": "start", "stable": {"member": False}}),
    ("that payload_bytes is 7", "flood nodes", {"kind": "broadcast", "payload_bytes": 7}),
    ("that station is null", "flood", {"kind": "cell", "station": None}),
    ("that message is", "flood nodes", {"kind": "receive", "message": ["nothing at all"]}),
    ("that message is", "flood", {"kind": "wire", "message": ["nothing at all"]}),
    ("that message is", "nodes", {"kind": "receive", "from": 77}),
):
    edit.add(f"told {how}", words, names, partial(change, key="ev", **how))


def retold(copy: Copy, row: int, **values: Any) -> None:
    copy.lines.line[row] = json.dumps(json.loads(copy.lines.line[row]) | values)


@edit("that message is", "flood nodes")
def programs_sent_to_another_node(copy: Copy) -> None:
    for row, content in lines_with(copy, "do", "send"):
        retold(copy, row, to=(content["to"] + 1) % 3)


FAILS = """
import json, sys
for line in sys.stdin:
    if json.loads(line)["ev"] == "broadcast":
        delivers = {"do": "deliver", "id": json.loads(line)["id"]}
        for action in (delivers, {"do": "dance"}, {"do": "deliver", "id": [0, 9]}):
            print(json.dumps(action))
    print('{"do": "done"}', flush=True)
"""


def test_a_program_answer_interrupted_by_an_error_is_accepted(tmp_path: Path) -> None:
    """The complete answer is recorded, although only its first action took effect."""
    (tmp_path / "fails.py").write_text(FAILS)
    (tmp_path / "run.yaml").write_text((SCENARIOS / "maelstrom.yaml").read_text())
    changes = [*FLAT, "protocol={command: [python3, fails.py], order: none}"]
    with pytest.raises(ScenarioError, match="dance"):
        mobilenet.run(tmp_path / "run.yaml", out=tmp_path / "run", overrides=changes, allow_code=True)
    assert "ended_by_error" in read_json(tmp_path / "run", "manifest.json")
    assert overall(verify_run(tmp_path / "run")) == "unknown"


@edit("could have arrived", "nodes")
def a_process_is_told_of_a_message_too_early(copy: Copy) -> None:
    """Exchange two messages from one process to another, so that the second one is received while still in transit."""
    table, sent = copy.lines, {}
    for row, content in lines_with(copy, "do", "send"):
        sent[table.node[row], f"p{content['to']}", json.dumps(content["message"])] = table.time_ns[row]
    rows: dict[tuple[str, str], list[int]] = {}
    for row, content in lines_with(copy, "ev", "receive"):
        rows.setdefault((f"p{content['from']}", table.node[row]), []).append(row)
    for way, pair_rows in rows.items():
        for one, other in pairwise(pair_rows):
            messages = [json.loads(table.line[row])["message"] for row in (one, other)]
            if sent[(*way, json.dumps(messages[1]))] < table.time_ns[one]:
                retold(copy, one, message=messages[1])
                return retold(copy, other, message=messages[0])
    raise AssertionError


def test_timers_of_a_departed_host_do_not_have_to_fire(tmp_path: Path) -> None:
    for file in ("flood.py", "flood.yaml"):
        (tmp_path / file).write_text((SCENARIOS / file).read_text())
    rows = [f"h{host},{t},{x},0" for host, x, last in ((0, 0, 20), (1, 10, 60)) for t in range(0, last + 1, 5)]
    (tmp_path / "tracks.csv").write_text("\n".join(["id,t,x,y", *rows]))
    hosts = "hosts={mobility: {model: tracks, file: tracks.csv}}"
    changes = [*FLAT, "duration_s=40", hosts, "protocol.command=[python3, flood.py]", "faults=null"]
    done = mobilenet.run(tmp_path / "flood.yaml", out=tmp_path / "run", overrides=changes, allow_code=True)
    left = [node for node, event in zip(done.events["node"], done.events["event"], strict=True) if event == "leave"]
    assert left == ["h0"] and done.verdict == "valid"
