"""What messages say: sound runs pass (test_recorded_frames.py), and what an insider edits against them is caught.

Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mobilenet.verify import verify_run
from mobilenet.verify.judge import overall

from .damage import Copy, Damage, verdicts_after
from .on_air_worlds import WORLDS
from .test_recorded_frames import accused, record

SILENT = WORLDS["only_messages"] | {
    "duration_s": 20,
    "faults": {
        "schedule": "explicit",
        "outages": [{"host": f"h{i}", "at_s": 4 + i, "duration_s": 2 + i} for i in range(3)],
    },
    "protocol": {"name": "mobile_causal", "expiry_s": 1.5, "heartbeat_s": 0.3},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("runs")
    record(SILENT, place / "silent")
    record(WORLDS["disk"], place / "disk")
    record(WORLDS["disk"] | {"churn": {"changes": [{"host": "h1", "at_s": 4, "kind": "leave"}]}}, place / "left")
    return {path.name: path for path in place.iterdir()}


def test_as_they_were_recorded_none_is_violated(runs: dict[str, Path]) -> None:
    assert all(overall(verify_run(path)) != "violated" for path in runs.values())


def say(copy: Copy, row: int, **values: Any) -> None:
    copy.messages["detail"][row] = json.dumps(json.loads(copy.messages["detail"][row]) | values)


def of_kind(copy: Copy, *kinds: str) -> list[int]:
    return [row for row, kind in enumerate(copy.messages["kind"]) if kind in kinds]


def a_list_is_shorter(copy: Copy) -> None:
    for row in of_kind(copy, "Rsp1"):
        told = json.loads(copy.messages["detail"][row])
        say(copy, row, undelivered=told["undelivered"][:-1])


def lists_exchanged(copy: Copy) -> None:
    details = copy.messages["detail"]
    rows = sorted(of_kind(copy, "Rsp2"), key=lambda row: len(details[row]))
    details[rows[0]], details[rows[-1]] = details[rows[-1]], details[rows[0]]


def a_join_without_its_cookie(copy: Copy) -> None:
    row = next(row for row in of_kind(copy, "Join") if "cookie" in copy.messages["detail"][row])
    say(copy, row, cookie=None)


def a_skip_set_is_no_list(copy: Copy) -> None:
    say(copy, of_kind(copy, "InitAck")[0], skip=7)


def a_number_is_a_word(copy: Copy) -> None:
    say(copy, of_kind(copy, "AckH")[0], nxt="many")


def later_sessions(copy: Copy) -> list[int]:
    """Ends of handoffs without a gap, of hosts that had one before."""
    events = copy.events
    gaps = {(events["node"][row], events["time_ns"][row]) for row in copy.rows("gap")}
    first = {node: min(at_ns for who, at_ns in gaps if who == node) for node, _ in gaps}
    ends = [row for row in copy.rows("handoff_end") if events["time_ns"][row] > first.get(events["node"][row], 2**62)]
    found = [row for row in ends if (events["node"][row], events["time_ns"][row]) not in gaps]
    assert found
    return found


def a_gap_that_no_station_told_of(copy: Copy) -> None:
    row = later_sessions(copy)[0]
    values = {name: copy.events[name][row] for name in ("time_ns", "node", "station", "session")}
    copy.insert(row + 1, event="gap", **values)


def a_gap_long_after_the_host_was_given_up(copy: Copy) -> None:
    """The station tells of it as well."""
    a_gap_that_no_station_told_of(copy)
    gaps = {(copy.events["node"][row], copy.events["session"][row]) for row in copy.rows("gap")}
    for row in of_kind(copy, "InitAck"):
        if (copy.messages["host"][row], copy.messages["session"][row]) in gaps:
            say(copy, row, gap=True)


def a_station_tells_of_a_gap_that_the_host_has_not(copy: Copy) -> None:
    end = later_sessions(copy)[0]
    for row in of_kind(copy, "InitAck"):
        if (copy.messages["host"][row], copy.messages["session"][row]) == (
            copy.events["node"][end],
            copy.events["session"][end],
        ):
            say(copy, row, gap=True)


def deliveries_before_a_gap_left_out(copy: Copy) -> None:
    """What the host delivered last before it was silent: the gap seems to excuse that."""
    gap = copy.rows("gap")[0]
    row = [row for row in copy.rows("deliver", copy.events["node"][gap]) if row < gap][-1]
    copy.remove(row)


def all_numbers_of_the_cells_are_0(copy: Copy) -> None:
    for row in of_kind(copy, "AppSh"):
        say(copy, row, number=0)


def a_copy_is_called_as_another_message(copy: Copy) -> None:
    rows = of_kind(copy, "AppSh")
    known = {copy.messages["message"][row] for row in rows}
    last = copy.messages["send_ns"][rows[-1]], copy.messages["sender"][rows[-1]]
    for row in rows:
        if (copy.messages["send_ns"][row], copy.messages["sender"][row]) == last:
            copy.messages["message"][row] = next(name for name in known if name != copy.messages["message"][rows[-1]])


def a_host_leaves_just_after_it_has_said_so(copy: Copy) -> None:
    row = copy.rows("leave")[0]
    values = {name: copy.events[name][row] for name in copy.events}
    now_ns = values["time_ns"] + 700_000
    copy.remove(row)
    place = next(row for row, at_ns in enumerate(copy.events["time_ns"]) if at_ns > now_ns)
    copy.insert(place, **values | {"time_ns": now_ns})


EDITS: dict[Damage, tuple[str, tuple[str, ...]]] = {
    a_list_is_shorter: ("record", ("silent", "disk")),
    lists_exchanged: ("record", ("silent", "disk")),
    a_join_without_its_cookie: ("record", ("silent", "disk")),
    a_skip_set_is_no_list: ("record", ("silent", "disk")),
    a_number_is_a_word: ("record", ("silent", "disk")),
    a_gap_that_no_station_told_of: ("gaps", ("silent",)),
    a_gap_long_after_the_host_was_given_up: ("gaps", ("silent",)),
    a_station_tells_of_a_gap_that_the_host_has_not: ("gaps", ("silent",)),
    all_numbers_of_the_cells_are_0: ("record", ("silent", "disk")),
    a_copy_is_called_as_another_message: ("record", ("silent", "disk")),
    a_host_leaves_just_after_it_has_said_so: ("record", ("left",)),
    deliveries_before_a_gap_left_out: ("record", ("silent",)),
}


@pytest.mark.parametrize(("how", "name"), [(how, name) for how, (_, names) in EDITS.items() for name in names])
def test_an_edit_is_caught(how: Callable[[Copy], None], name: str, runs: dict[str, Path], tmp_path: Path) -> None:
    found = accused(verdicts_after(runs[name], tmp_path / "edited", how))
    assert EDITS[how][0] in found, found
