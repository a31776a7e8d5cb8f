"""Tests that work distributed over several processes returns the same results in the same order, and stops when
requested.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from itertools import count, islice
from pathlib import Path

import pytest

from mobilenet.lab.workers import as_done, in_order


def square(number: int) -> int:
    return number * number


def die(number: int) -> int:
    os._exit(1)


def fail(number: int) -> int:
    raise ValueError(f"{number} is not for me")


@pytest.mark.parametrize("workers", [1, 2])
def test_ordered_results_also_work_for_endless_tasks(workers: int) -> None:
    assert list(islice(in_order(square, count(), workers), 50)) == [number * number for number in range(50)]


def test_results_in_completion_order_identify_their_task() -> None:
    assert sorted(as_done(square, [3, 5, 4], 2)) == [(0, 9), (1, 25), (2, 16)]
    assert list(as_done(square, [], 2)) == []


def sleep_long(mark: Path) -> None:
    mark.touch()
    time.sleep(600)


def test_long_tasks_are_killed_when_the_caller_aborts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller aborts when both processes are in the middle of a task."""
    monkeypatch.setattr("mobilenet.lab.workers.LOOK_S", 0.1)
    began_s = time.monotonic()

    def look() -> None:
        if len(list(tmp_path.iterdir())) >= 2:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        list(as_done(sleep_long, [tmp_path / str(number) for number in range(4)], 2, look))
    assert time.monotonic() - began_s < 300


def test_worker_exceptions_and_crashes_reach_the_caller() -> None:
    with pytest.raises(ValueError, match="is not for me"):
        list(in_order(fail, range(9), 2))
    with pytest.raises(BrokenProcessPool):
        list(as_done(die, [1], 1))


def test_tasks_are_fetched_only_as_needed() -> None:
    taken: list[int] = []

    def tasks() -> Iterator[int]:
        for number in range(1000):
            taken.append(number)
            yield number

    assert next(in_order(square, tasks(), 2)) == 0 and len(taken) < 100
