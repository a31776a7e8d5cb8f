"""A run that was stopped is judged up to there: as it was recorded nothing is violated, and edits are caught.

Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mobilenet.interactive.keeping import keep_unfinished
from mobilenet.interactive.session import LiveSession
from mobilenet.rundir.reader import RunError
from mobilenet.scenario import Scenario
from mobilenet.verify import verify_run
from tests.scenario.test_ended_early import FAILS_LATER, GOSSIP, HEARD, edit, run_to_error

from .damage import SCENARIO, Copy, verdicts_after

STOPPED_S = (0.5, 6.0, 12.345678901, 17.0)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> dict[float, Path]:
    place = tmp_path_factory.mktemp("stopped")
    path_at = {}
    for at_s in STOPPED_S:
        session = LiveSession(Scenario.from_text(SCENARIO))
        session.play(at_s)
        for _ in range(7):
            session.step()
        path_at[at_s] = keep_unfinished(session, place / f"{at_s}")
    return path_at


@pytest.mark.parametrize("at_s", STOPPED_S)
def test_nothing_is_violated_until_it_was_stopped(at_s: float, stopped: dict[float, Path]) -> None:
    assert {verdict.answer for verdict in verify_run(stopped[at_s]).values()} == {"unknown"}


def a_negative_size(copy: Copy) -> None:
    copy.samples.value[len(copy.samples.value) // 2] = -1.0


def a_total_that_falls(copy: Copy) -> None:
    rows = copy.samples.where(quantity="radio_frames")
    copy.samples.value[rows[-2]] = copy.samples.value[rows[-1]] + 1


def a_counter_below_zero(copy: Copy) -> None:
    copy.counters["radio"]["frames"] = -7


def a_host_far_away(copy: Copy) -> None:
    copy.positions.x_m[next(row for row in copy.positions.where(node="h0") if copy.positions.time_ns[row])] += 1e6


def a_position_after_the_end(copy: Copy) -> None:
    copy.positions.time_ns[-1] += 10**9


def a_delivery_out_of_coverage(copy: Copy) -> None:
    copy.events.station[copy.rows("deliver")[3]] = None


@pytest.mark.parametrize(
    "damage",
    [
        a_negative_size,
        a_total_that_falls,
        a_counter_below_zero,
        a_host_far_away,
        a_position_after_the_end,
        a_delivery_out_of_coverage,
    ],
)
def test_an_edit_of_what_was_until_then_is_caught(
    damage: Callable[[Copy], None], stopped: dict[float, Path], tmp_path: Path
) -> None:
    verdict = verdicts_after(stopped[12.345678901], tmp_path / "edited", damage)["record"]
    assert verdict.answer == "violated" and len(verdict.explanation.splitlines()) == 1


def ten_frames_more(copy: Copy) -> None:
    copy.counters["radio"]["frames"] += 10


def a_hundred_pairs_more(copy: Copy) -> None:
    for key in ("pairs_in_range", "received"):
        copy.counters["radio"][key] += 100


def half_the_messages_on_wires(copy: Copy) -> None:
    copy.counters["wired"]["sent"] //= 2


def frames_that_are_not_counted(copy: Copy) -> None:
    copy.frames.remove(range(len(copy.frames.fate) - 20, len(copy.frames.fate)))


def a_frame_that_lasts_longer(copy: Copy) -> None:
    copy.frames.end_ns[-1] += 1


SUMS: dict[Callable[[Copy], None], str] = {
    ten_frames_more: "conservation",
    a_hundred_pairs_more: "conservation",
    half_the_messages_on_wires: "conservation",
    frames_that_are_not_counted: "conservation",
    a_frame_that_lasts_longer: "record",
}


@pytest.mark.parametrize("damage", SUMS)
def test_sums_come_out_until_then(damage: Callable[[Copy], None], tmp_path: Path) -> None:
    session = LiveSession(Scenario.from_text(SCENARIO, ["record.frames=true", "record.messages=true"]))
    session.play(9.0)
    whole = keep_unfinished(session, tmp_path / "whole")
    assert {verdict.answer for verdict in verify_run(whole).values()} == {"unknown"}
    assert verdicts_after(whole, tmp_path / "edited", damage)[SUMS[damage]].answer == "violated"


@pytest.mark.parametrize("damage", [ten_frames_more, a_hundred_pairs_more])
def test_sums_of_the_radio_come_out_until_an_error(damage: Callable[[Copy], None], tmp_path: Path) -> None:
    run_to_error(edit(tmp_path, GOSSIP, HEARD, f"{FAILS_LATER}{HEARD}"))
    assert verify_run(tmp_path / "run")["conservation"].answer == "unknown"
    assert verdicts_after(tmp_path / "run", tmp_path / "edited", damage)["conservation"].answer == "violated"


def test_it_was_stopped_when_it_ended(stopped: dict[float, Path], tmp_path: Path) -> None:
    copy = Copy(stopped[6.0], tmp_path / "edited")
    copy.manifest["ended_by_error"] = "stopped by hand at 5 s"
    copy.save()
    with pytest.raises(RunError, match=r"ended_by_error is 'stopped by hand at 5 s', but [67]\.\d+ s were simulated"):
        verify_run(copy.path)
