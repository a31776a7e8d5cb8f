"""Tests of the speed of a live run and of its listeners. The player runs in a separate thread, as it does in the
command.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import mobilenet
from mobilenet.lab.live.player import MOST_BEHIND_S, TURN_S, Player
from tests.lab.programs.own import wait_until

FIRST = Path(__file__).parents[3] / "scenarios" / "first.yaml"
PIECES_S = 3 * TURN_S  # the tolerance for slow steps, in seconds


def nobody(at_once: bool) -> bool:
    return True


@contextmanager
def playing(on_state: Callable[[bool], bool] = nobody) -> Iterator[Player]:
    player = Player(mobilenet.live(FIRST), on_state)
    thread = threading.Thread(target=player.run)
    thread.start()
    try:
        yield player
    finally:
        player.end()
        thread.join()


def wait_for(answer: Future[Any]) -> Any:
    return answer.result(timeout=100)


def now_s(player: Player) -> float:
    return float(wait_for(player.ask(lambda: player.session.now_s)))


def test_a_speed_change_takes_effect_at_the_current_time() -> None:
    with playing() as player:
        wait_for(player.ask(lambda: player.play(0.1)))
        time.sleep(0.6)  # longer than the lag on which the player catches up
        began_s, before_s = time.monotonic(), now_s(player)
        wait_for(player.ask(lambda: player.set_speed(4)))
        time.sleep(0.2)
        after_s, took_s = now_s(player), time.monotonic() - began_s
    # The time before the change was played at the previous speed.
    assert after_s - before_s <= 4 * (took_s + PIECES_S)


@pytest.mark.long
def test_the_player_does_not_catch_up_after_a_stall() -> None:
    with playing() as player:
        play_ns, stalls = player.session.play_ns, [1.2]

        def slow(until_ns: int) -> None:
            if stalls:
                time.sleep(stalls.pop())
            play_ns(until_ns)

        player.session.play_ns = slow  # type: ignore[method-assign]
        began_s = time.monotonic()
        wait_for(player.ask(lambda: player.play(2)))
        time.sleep(1.4)
        reached_s, took_s = now_s(player), time.monotonic() - began_s
    assert not stalls
    assert reached_s <= 2 * (took_s - 1.2 + MOST_BEHIND_S + PIECES_S)


@pytest.mark.parametrize("refused", [0, 3])
def test_a_refused_state_is_resent_even_while_the_run_is_paused(refused: int) -> None:
    calls: list[bool] = []

    def on_state(at_once: bool) -> bool:
        calls.append(at_once)
        return len(calls) > refused

    with playing(on_state) as player:
        wait_for(player.ask(player.send_state))
        assert wait_until(lambda: len(calls) > refused)
        time.sleep(0.3)  # A state that was accepted is not sent again.
    # There may be one more call at the beginning, before the state is requested.
    assert refused < len(calls) <= refused + 2


def test_many_commands_do_not_delay_the_next_state() -> None:
    """In an earlier version, each command delayed the next state by 50 ms."""
    player = Player(mobilenet.live(FIRST), nobody)
    player.play(1)
    for _ in range(80):
        player.set_speed(1)
        player._tell()
    assert player._wait_s(time.monotonic()) <= player.pause_s
