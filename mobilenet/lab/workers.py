"""Execute many tasks of the same kind in several processes.

Model     Processes are started from scratch (spawn), and share no state with this one. Each task is executed once,
          and its result does not depend on the process. When the caller stops asking for results, the remaining tasks
          are cancelled
Errors    exceptions of the tasks are passed on; BrokenProcessPool if a process has died
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
TOGETHER = 4  # the number of short tasks that a process receives at once
LOOK_S = 1.0
AHEAD = 4  # the maximum number of submitted batches per process


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
        # The resource tracker is also a Python process. Without this call, multiprocessing would start it later,
        # outside this block.
        resource_tracker.ensure_running()
    return _Context()


@contextmanager
def _processes(workers: int | None) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of processes, which end with the block. If `workers` is None, start one per core."""
    with ProcessPoolExecutor(workers or os.cpu_count(), spawning()) as pool:
        try:
            yield pool
        except BaseException:
            started = list((pool._processes or {}).values())
            pool.shutdown(wait=False, cancel_futures=True)
            # do not wait for running tasks, because they may take long and their results are no longer needed
            for process in started:
                process.terminate()
            raise


def nothing() -> None: ...


def as_done(
    work: Callable[[Task], Done], tasks: Sequence[Task], workers: int | None, look: Callable[[], None] = nothing
) -> Iterator[tuple[int, Done]]:
    """Yield the index and the result of each task as it completes. This is meant for few, long tasks. `look` is called
    at least every second, and may raise an exception to stop the work.
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
    """Yield the results in the order of the tasks, of which there may be infinitely many. With one worker, execute the
    tasks in this process.
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
