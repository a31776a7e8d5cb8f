"""Do the same work for many tasks, on several processes.

Model     processes are started fresh (spawn) and share nothing with this one. Each task is done once, and which
          process does it makes no difference to its result. When the caller stops asking for results, the rest stops
Errors    what the work raises passes through; BrokenProcessPool where a process has died
Source    ours
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from itertools import islice
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import TypeVar

from mobilenet.engine import safe_path

Task = TypeVar("Task")
Done = TypeVar("Done")
TOGETHER = 4  # short tasks that a process is given at once
LOOK_S = 1.0
AHEAD = 4  # batches of tasks that wait or run, for each process


class _Process(SpawnProcess):
    def start(self) -> None:
        with safe_path.for_children():
            super().start()

    def run(self) -> None:
        safe_path.not_for_programs()
        super().run()


class _Context(SpawnContext):
    Process = _Process


def spawning() -> SpawnContext:
    """Return a context of multiprocessing with processes that import nothing from the current folder."""
    with safe_path.for_children():
        resource_tracker.ensure_running()  # also a Python process, which multiprocessing would start later
    return _Context()


@contextmanager
def _processes(workers: int | None) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of processes, which end with the block. None: one for each core."""
    with ProcessPoolExecutor(workers or os.cpu_count(), spawning()) as pool:
        try:
            yield pool
        except BaseException:
            started = list((pool._processes or {}).values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in started:  # a task may be long, and its result is not needed
                process.terminate()
            raise


def nothing() -> None: ...


def as_done(
    work: Callable[[Task], Done], tasks: Sequence[Task], workers: int | None, look: Callable[[], None] = nothing
) -> Iterator[tuple[int, Done]]:
    """Yield the position of each task and its result, in the order of completion, for few and long tasks. `look` is
    called every second, and may raise to stop.
    """
    if not tasks:
        return
    with _processes(workers) as pool:
        futures = {pool.submit(work, task): place for place, task in enumerate(tasks)}
        left = set(futures)
        while left:
            done, left = wait(left, LOOK_S, FIRST_COMPLETED)
            for future in done:
                yield futures[future], future.result()
            look()


def in_order(work: Callable[[Task], Done], tasks: Iterable[Task], workers: int) -> Iterator[Done]:
    """Yield the results in the order of the tasks, of which there may be any number. With one worker they are done in
    this process.
    """
    if workers <= 1:
        yield from map(work, tasks)
        return
    left = iter(tasks)
    with _processes(workers) as pool:
        waiting: deque[Future[list[Done]]] = deque()
        while some := tuple(islice(left, TOGETHER)):
            waiting.append(pool.submit(_each, work, some))
            if len(waiting) >= AHEAD * workers:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()


def _each(work: Callable[[Task], Done], tasks: Sequence[Task]) -> list[Done]:
    return [work(task) for task in tasks]
