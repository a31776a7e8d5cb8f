"""Show the progress of long work: a bar on a terminal, or otherwise a line at intervals.

Units     seconds of simulated time and of wall time
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

PLAIN_PROGRESS_S = 10.0  # the interval between two progress lines if stderr is not a terminal
RECENT_S = 30.0  # the remaining time is estimated from the speed in this last period, as in rich
LOOK_S = 0.2
LEAST_KNOWN = 4  # the minimum number of finished runs or schedules for an estimate of the remaining time


def error_console() -> Console:
    """Return rich's console for stderr. rich is imported here because loading it takes long."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def progress(quiet: bool, label: str) -> Iterator[Callable[[float, float], None] | None]:
    """Show simulated time, speed and remaining time: a bar on a terminal, or otherwise a line at intervals."""
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
            speed = _speed(done_s / (time.perf_counter() - started))
            if done_s > total_s:
                speed = f"and {done_s - total_s:.0f} s of draining"
            bar.update(task, completed=min(done_s, total_s), total=total_s, speed=speed)

        yield update


def _plain_progress(started: float) -> Callable[[float, float], None]:
    marks = deque([(started, 0.0)])  # (wall time, simulated time) during the last RECENT_S

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
                left = f", {(total_s - done_s) / speed:.0f} s left" if speed else ""
                line = f"{done_s:.0f} of {total_s:.0f} s simulated, {_speed(speed)}{left}"
            print(line, file=sys.stderr, flush=True)

    return update


def _speed(speed: float) -> str:
    return f"{speed:.{1 if speed >= 0.1 else 3}f} s per second"


@contextmanager
def runs_progress(quiet: bool) -> Iterator[Callable[[Standing], None]]:
    """Show how many runs of a study are done, failed and left, with the round and the remaining time."""
    if quiet:
        yield lambda standing: None
    elif not _on_terminal():
        yield _plain_runs_progress()
    else:
        from rich.progress import BarColumn, Progress, TextColumn

        with Progress(TextColumn("runs"), BarColumn(), TextColumn("{task.description}"), console=error_console(),
                      transient=True) as bar:  # fmt: skip
            task, describe = bar.add_task("starting Spark", total=None), _describing()

            def update(standing: Standing) -> None:
                ended = standing.done + standing.failed
                bar.update(task, completed=ended, total=ended + standing.left, description=describe(standing))

            yield update


def _plain_runs_progress() -> Callable[[Standing], None]:
    last, describe = [time.perf_counter()], _describing()

    def tell(standing: Standing) -> None:
        now, text = time.perf_counter(), describe(standing)
        if now - last[0] >= PLAIN_PROGRESS_S and standing.left:
            last[0] = now
            print(text, file=sys.stderr, flush=True)

    return tell


def _describing() -> Callable[[Standing], str]:
    """Return a function that describes the state of a study. It estimates the remaining time from the speed since the
    current work began, for example the schedules of claims.
    """
    first: list[tuple[float, int]] = []  # when the current work began, and the number of runs that had ended before
    last: list[tuple[int, int]] = []

    def describe(standing: Standing) -> str:
        now, ended = time.perf_counter(), standing.done + standing.failed
        if not last or ended < last[0][0] or last[0][1] != standing.configurations:
            first[:] = [(now, ended)]
        last[:] = [(ended, standing.configurations)]
        since, before = first[0]
        most = max(standing.left, standing.most_left)
        left = f"{standing.left} left" if most == standing.left else f"{standing.left} to {most} left"
        text = f"{standing.done} done, {standing.failed} failed, {left}"
        # The estimate needs one run per configuration, because configurations take turns and differ in run time. It
        # also needs LEAST_KNOWN runs, because the first runs of a process take longer.
        if standing.left and ended - before >= max(standing.configurations, LEAST_KNOWN):
            each_s = (now - since) / (ended - before)
            low, high = (_duration(each_s * runs) for runs in (standing.left, most))
            text += f", about {low} left" if low == high else f", about {low} to {high} left"
        return text + (f"; {standing.note}" if standing.note else "")

    return describe


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


@contextmanager
def counting(total: int) -> Iterator[Callable[[], None]]:
    """Show how many of `total` schedules are finished, if stderr is a terminal."""
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
    """Show how many tasks of a query are done: a bar on a terminal, or otherwise a line at intervals."""
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
