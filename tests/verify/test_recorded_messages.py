"""What messages say: sound runs pass (test_recorded_frames.py), and what an insider edits against them is caught.

Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from pathlib import Path

import pytest

from mobilenet.verify import verify_run
from mobilenet.verify.judge import overall

from .damage import Copy, Edits, Runs
from .on_air_worlds import WORLDS, record

SILENT = WORLDS["only_messages"] | {
    "duration_s": 20,
    "faults": {
        "schedule": "explicit",
        "outages": [{"host": f"h{i}", "at_s": 4 + i, "duration_s": 2 + i} for i in range(3)],
    },
    "protocol": {"name": "mobile_causal", "expiry_s": 1.5, "heartbeat_s": 0.3},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    place = tmp_path_factory.mktemp("runs")
    record(SILENT, place / "silent")
    record(WORLDS["disk"], place / "disk")
    record(WORLDS["disk"] | {"churn": {"changes": [{"host": "h1", "at_s": 4, "kind": "leave"}]}}, place / "left")
    return {path.name: path for path in place.iterdir()}


def test_as_they_were_recorded_none_is_violated(runs: Runs) -> None:
    assert all(overall(verify_run(path)) != "violated" for path in runs.values())


edit = Edits()


@pytest.mark.parametrize(("how", "name"), edit.all)
def test_an_edit_is_caught(how: str, name: str, runs: Runs, tmp_path: Path) -> None:
    edit.require_caught(how, name, runs, tmp_path)


@edit("record", "silent disk")
def a_list_is_shorter(copy: Copy) -> None:
    for row in copy.messages.where(kind="Rsp1"):
        copy.messages.say(row, undelivered=copy.messages.detail_of(row)["undelivered"][:-1])


@edit("record", "silent disk")
def lists_exchanged(copy: Copy) -> None:
    details = copy.messages.detail
    rows = sorted(copy.messages.where(kind="Rsp2"), key=lambda row: len(details[row]))
    details[rows[0]], details[rows[-1]] = details[rows[-1]], details[rows[0]]


@edit("record", "silent disk")
def a_join_without_its_cookie(copy: Copy) -> None:
    row = next(row for row in copy.messages.where(kind="Join") if "cookie" in copy.messages.detail[row])
    copy.messages.say(row, cookie=None)


@edit("record", "silent disk")
def a_skip_set_is_no_list(copy: Copy) -> None:
    copy.messages.say(copy.messages.where(kind="InitAck")[0], skip=7)


@edit("record", "silent disk")
def a_number_is_a_word(copy: Copy) -> None:
    copy.messages.say(copy.messages.where(kind="AckH")[0], nxt="many")


def later_sessions(copy: Copy) -> list[int]:
    """Ends of handoffs without a gap, of hosts that had one before."""
    events = copy.events
    gaps = {events.at(row, "node", "time_ns") for row in copy.rows("gap")}
    first = {node: min(at_ns for who, at_ns in gaps if who == node) for node, _ in gaps}
    ends = [row for row in copy.rows("handoff_end") if events.time_ns[row] > first.get(events.node[row], 2**62)]
    rows = [row for row in ends if events.at(row, "node", "time_ns") not in gaps]
    assert rows
    return rows


@edit("gaps", "silent")
def a_gap_that_no_station_told_of(copy: Copy) -> None:
    row = later_sessions(copy)[0]
    copy.insert(row + 1, **copy.events.row(row) | {"event": "gap", "detail": None})


def tell_of_a_gap(copy: Copy, rows: list[int]) -> None:
    """Stations do, in the sessions of these events."""
    for event in rows:
        host, session = copy.events.at(event, "node", "session")
        for row in copy.messages.where(kind="InitAck", host=host, session=session):
            copy.messages.say(row, gap=True)


@edit("gaps", "silent")
def a_gap_long_after_the_host_was_given_up(copy: Copy) -> None:
    """The station tells of it as well."""
    a_gap_that_no_station_told_of(copy)
    tell_of_a_gap(copy, copy.rows("gap"))


@edit("gaps", "silent")
def a_station_tells_of_a_gap_that_the_host_has_not(copy: Copy) -> None:
    tell_of_a_gap(copy, later_sessions(copy)[:1])


@edit("record", "silent")
def deliveries_before_a_gap_left_out(copy: Copy) -> None:
    """What the host delivered last before it was silent: the gap seems to excuse that."""
    gap = copy.first("gap")
    copy.remove([row for row in copy.rows("deliver", copy.events.node[gap]) if row < gap][-1])


@edit("record", "silent disk")
def all_numbers_of_the_cells_are_0(copy: Copy) -> None:
    for row in copy.messages.where(kind="AppSh"):
        copy.messages.say(row, number=0)


@edit("record", "silent disk")
def a_copy_is_called_as_another_message(copy: Copy) -> None:
    table = copy.messages
    rows = table.where(kind="AppSh")
    name, send_ns, sender = table.at(rows[-1], "message", "send_ns", "sender")
    other = next(table.message[row] for row in rows if table.message[row] != name)
    for row in table.where(kind="AppSh", send_ns=send_ns, sender=sender):
        table.message[row] = other


@edit("record", "left")
def a_host_leaves_just_after_it_has_said_so(copy: Copy) -> None:
    row = copy.first("leave")
    copy.shift(row, copy.events.time_ns[row] + 700_000)
