"""Show the progress of long work: a bar on a terminal, elsewhere a line now and then.

Units     seconds of simulated and of wall time, as the words show
Source    ours: docs/architecture/command-line.md
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from mobilenet.lab.studies.batch import Standing

PLAIN_PROGRESS_S = 10.0  # between two lines without a terminal
RECENT_S = 30.0  # whose speed counts for the time left, as in rich
LOOK_S = 0.2
LEAST_KNOWN = 4  # runs or schedules that an estimate of the time left is based on, at least


def error_console() -> Console:
    """Return rich's console for stderr. rich is imported here because it takes long to load."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def progress(quiet: bool, label: str) -> Iterator[Callable[[float, float], None] | None]:
    """Simulated time, speed and time left; on a terminal a bar, elsewhere a line now and then."""
    if quiet:
        yield None
        return
    started = time.perf_counter()
    if not _on_terminal():
        yield _plain_progress(started)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"), BarColumn(),
        TextColumn("{task.completed:.0f} of {task.total:.0f} s simulated"),
        TextColumn("{task.fields[speed]}"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=error_console(), transient=True) as bar:
        task = bar.add_task(label, total=1, speed="")

        def update(done_s: float, total_s: float) -> None:
            speed = f"{done_s / (time.perf_counter() - started):.1f} s per second"
            if done_s > total_s:
                speed = f"and {done_s - total_s:.0f} s of draining"
            bar.update(task, completed=min(done_s, total_s), total=total_s, speed=speed)

        yield update


def _plain_progress(started: float) -> Callable[[float, float], None]:
    marks = deque([(started, 0.0)])  # of the last RECENT_S: when, and what was done by then

    def update(done_s: float, total_s: float) -> None:
        now = time.perf_counter()
        if now - marks[-1][0] >= PLAIN_PROGRESS_S:
            marks.append((now, done_s))
            while len(marks) > 2 and marks[1][0] <= now - RECENT_S:
                marks.popleft()
            speed = (done_s - marks[0][1]) / (now - marks[0][0])
            if done_s > total_s:
                line = f"{total_s:.0f} s simulated, draining for {done_s - total_s:.0f} s"
            else:
                left_s = (total_s - done_s) / speed
                line = f"{done_s:.0f} of {total_s:.0f} s simulated, {speed:.1f} s per second, {left_s:.0f} s left"
            print(line, file=sys.stderr, flush=True)

    return update


@contextmanager
def runs_progress(quiet: bool) -> Iterator[Callable[[Standing], None]]:
    """Runs done, failed and left of a study, with the round and the time left of it."""
    if quiet:
        yield lambda standing: None
    elif not _on_terminal():
        yield _plain_runs_progress()
    else:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("runs"), BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
        with Progress(*columns, console=error_console(), transient=True) as bar:
            task = bar.add_task("starting Spark", total=None)
            is_new = _new_work()

            def update(standing: Standing) -> None:
                if is_new(standing, standing.round):  # the speed is that of this round
                    bar.reset(
                        task, total=standing.done + standing.failed + standing.left, description=_description(standing)
                    )
                bar.update(task, completed=standing.done + standing.failed, description=_description(standing))

            yield update


def _plain_runs_progress() -> Callable[[Standing], None]:
    last = [time.perf_counter()]
    first: list[tuple[float, int]] = []  # when this work began, and what was done before
    is_new = _new_work()

    def tell(standing: Standing) -> None:
        now, ended = time.perf_counter(), standing.done + standing.failed
        if is_new(standing):
            first[:] = [(now, ended)]
        if now - last[0] >= PLAIN_PROGRESS_S and standing.left:
            last[0] = now
            since, before = first[0]
            # configurations may take different times, and take turns; the first runs of a process take longer
            is_known = ended - before >= max(standing.configurations, LEAST_KNOWN)
            each_s = (now - since) / (ended - before) if is_known else None
            left = "" if each_s is None else f", about {each_s * standing.left:.0f} s left"
            print(
                _description(standing) + left + (" in this round" * (standing.round > 1)), file=sys.stderr, flush=True
            )

    return tell


def _new_work() -> Callable[..., bool]:
    """Return a function of a standing: whether it belongs to other work than the one before, as when claims go on with
    their schedules. `more`: what else sets work apart.
    """
    last: list[tuple[int, object]] = []

    def is_new(standing: Standing, more: object = None) -> bool:
        ended, kind = standing.done + standing.failed, (standing.configurations, more)
        is_other_work = not last or ended < last[0][0] or last[0][1] != kind
        last[:] = [(ended, kind)]
        return is_other_work

    return is_new


def _description(standing: Standing) -> str:
    text = f"{standing.done} done, {standing.failed} failed, {standing.left} left"
    if standing.most_left > standing.left:
        text = f"round {standing.round}: {text} (at most {standing.most_left})"
    return text + (f"; {standing.note}" if standing.note else "")


@contextmanager
def counting(total: int) -> Iterator[Callable[[], None]]:
    """So many schedules out of `total`, on a terminal."""
    if not _on_terminal():
        yield lambda: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("schedules"),
        BarColumn(),
        TextColumn("{task.completed} of {task.total}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=error_console(), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda: bar.advance(task)


@contextmanager
def tasks_progress(quiet: bool, tasks_done: Callable[[], tuple[int, int]]) -> Iterator[None]:
    """How many tasks of a query are done: on a terminal a bar, elsewhere a line now and then."""
    if quiet:
        yield
        return
    ended = threading.Event()
    watching = threading.Thread(target=_watch, args=(ended, tasks_done), daemon=True)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        watching.join()


def _watch(ended: threading.Event, tasks_done: Callable[[], tuple[int, int]]) -> None:
    if not _on_terminal():
        while not ended.wait(PLAIN_PROGRESS_S):
            print("{} of {} tasks done".format(*tasks_done()), file=sys.stderr, flush=True)
        return
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("tasks"), BarColumn(), TextColumn("{task.completed} of {task.total}"))
    with Progress(*columns, console=error_console(), transient=True) as bar:
        task = bar.add_task("", total=None)
        while not ended.wait(LOOK_S):
            done, total = tasks_done()
            bar.update(task, completed=done, total=total or None)
