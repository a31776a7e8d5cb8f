"""What a handoff says that was recovered and skipped, against traces written by hand: each rule alone."""

from __future__ import annotations

import pytest

from mobilenet.expected.expectations import Conduct
from mobilenet.rundir.recorder import Recording
from mobilenet.verify.record.handoffs import handoffs_problem

CONDUCT = Conduct(True, {"handoff_start": ("cause",), "handoff_end": ("recovered", "skipped")}, None)
BEFORE = ["h0 join", "h1 join", "h0 broadcast h0:0", "h0 broadcast h0:1", "h1 deliver h0:0"]  # h1 lacks one message
LISTS = [("s1", "bodies", 1), ("s1", "skip", 1)]  # sent while the handoff is in progress


def problem(
    recovered: int,
    skipped: int,
    after: list[str],
    lists: list[tuple[str, str, int]] = LISTS,
    on_air: bool = True,
    quiescent: bool = True,
    may_forget: bool = False,
    expired: bool = False,
) -> str | None:
    """h1 hands over to s1; an event a second."""
    recording = Recording()
    log = recording.events
    begin = len(BEFORE)
    for time, line in enumerate(BEFORE):
        node, event, *message = line.split()
        log.add(time, node, event, message[0] if message else None, "s0" if event == "join" else None)
    log.add(begin, "h1", "handoff_start", station="s1", detail={"cause": "cell"})
    if expired:
        log.add(begin + 1, "s0", "expire", detail={"host": "h1", "silent_s": 5.0})
    log.add(begin + 2, "h1", "handoff_end", station="s1", detail={"recovered": recovered, "skipped": skipped})
    for time, line in enumerate(after, begin + 3):
        node, event, *message = line.split()
        log.add(time, node, event, message[0] if message else None)
    for node, quantity, length in lists:
        recording.samples.add(begin + 1, node, quantity, length)
    manifest = {"quiescent": quiescent, "promises": {"duplicating_air": not on_air}}
    conduct = CONDUCT._replace(forgets_after_s=1.0 if may_forget else None)
    return handoffs_problem(log.columns(), recording.samples.lists, conduct, manifest)


COMES = ["h1 deliver h0:1"]


@pytest.mark.parametrize("on_air", [True, False])
def test_as_it_was(on_air: bool) -> None:
    assert problem(1, 1, COMES, on_air=on_air) is None
    assert problem(1, 1, ["h0 broadcast h0:2", *COMES, "h1 deliver h0:2"], on_air=on_air) is None


@pytest.mark.parametrize(
    ("recovered", "skipped", "after", "complaint"),
    [
        (2, 1, COMES, "counts 2 messages as recovered, but the host already has 1 of the 2 messages"),
        (1, 3, COMES, "counts 3 messages as skipped, but only 2 were broadcast"),
        (1, 1, [], "counts 1 more message as recovered than the node delivers"),
        (
            1,
            1,
            ["h0 broadcast h0:2", "h1 deliver h0:2"],
            "h1 delivers h0:2, which was broadcast after the last handoff of h1",
        ),
    ],
)
def test_what_events_contradict(recovered: int, skipped: int, after: list[str], complaint: str) -> None:
    contradiction = problem(recovered, skipped, after, on_air=False)
    assert contradiction is not None and complaint in contradiction and len(contradiction.splitlines()) == 1


def test_what_is_still_to_come_when_a_run_is_cut_is_nobodys_fault() -> None:
    assert problem(1, 1, [], quiescent=False) is None
    assert problem(1, 1, ["h1 handoff_start"], on_air=False) is not None  # without a cause
    assert problem(1, 1, ["h1 leave"]) is None


@pytest.mark.parametrize(
    ("recovered", "skipped", "lists"),
    [
        (0, 1, LISTS),
        (1, 0, LISTS),
        (1, 2, LISTS),
        (1, 1, [("s1", "bodies", 1)]),
        (1, 1, [("s1", "skip", 1)]),
        (1, 1, [("s1", "bodies", 1), ("s0", "skip", 1)]),
        (0, 1, [("s1", "skip", 1)]),
    ],
)
def test_what_samples_of_lists_contradict(recovered: int, skipped: int, lists: list[tuple[str, str, int]]) -> None:
    contradiction = problem(recovered, skipped, COMES, lists)
    assert contradiction is not None and len(contradiction.splitlines()) == 1
    assert problem(recovered, skipped, COMES, lists, on_air=False) is None


def test_of_a_host_that_was_forgotten_nothing_is_recovered() -> None:
    assert problem(0, 1, COMES, [("s1", "skip", 1)], may_forget=True) is None


def test_of_a_host_that_was_given_up_nothing_is_recovered() -> None:
    assert problem(0, 1, COMES, [("s1", "skip", 1)], expired=True) is None
    assert problem(0, 1, COMES, [("s1", "bodies", 2), ("s1", "skip", 1)], expired=True) is None
    assert problem(3, 1, COMES, [("s1", "skip", 1)], expired=True) is not None
