"""Do the same work for many tasks, in several processes.

Model     Processes are started from scratch (spawn), and do not share state with this one. Each task is done once, and
          its result does not depend on the process that does it. When the caller stops asking for results, the
          remaining tasks are cancelled
Errors    exceptions of the work pass through; BrokenProcessPool if a process has died
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
TOGETHER = 4  # number of short tasks that a process receives at once
LOOK_S = 1.0
AHEAD = 4  # maximum number of submitted batches per process


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
    """Return a multiprocessing context whose processes do not import modules from the current folder."""
    with safe_path.for_children():
        # This is also a Python process. Otherwise, multiprocessing would start it later, outside this block.
        resource_tracker.ensure_running()
    return _Context()


@contextmanager
def _processes(workers: int | None) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of processes that end with the block. If `workers` is None, start one process per core."""
    with ProcessPoolExecutor(workers or os.cpu_count(), spawning()) as pool:
        try:
            yield pool
        except BaseException:
            started = list((pool._processes or {}).values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in started:  # A running task may take long, and its result is no longer needed.
                process.terminate()
            raise


def nothing() -> None: ...


def as_done(
    work: Callable[[Task], Done], tasks: Sequence[Task], workers: int | None, look: Callable[[], None] = nothing
) -> Iterator[tuple[int, Done]]:
    """Yield the index and the result of each task in the order of completion. Use this for few and long tasks. `look`
    is called every second, and may raise an exception to stop the work.
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
    """Yield the results in the order of the tasks. The number of tasks may be unlimited. With one worker, the tasks are
    executed in this process.
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
