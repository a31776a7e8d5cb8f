"""Tests that a run that was stopped is judged up to the time at which it stopped.

Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from pathlib import Path

import pytest

from mobilenet.lab.live.session import LiveSession
from mobilenet.lab.live.stopped_run import keep_unfinished
from mobilenet.scenario import Scenario
from mobilenet.verify import verify_run

from .damage import SCENARIO

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
def test_a_correct_run_that_was_stopped_is_unknown(at_s: float, stopped: dict[float, Path]) -> None:
    assert {verdict.answer for verdict in verify_run(stopped[at_s]).values()} == {"unknown"}
