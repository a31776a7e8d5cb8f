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
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from mobilenet.lab.studies.batch import Standing
    from mobilenet.scenario import AnyScenario

PLAIN_PROGRESS_S = 10.0  # the interval between two progress lines if stderr is not a terminal
RECENT_S = 30.0  # the remaining time is estimated from the speed in this last period, as in rich
JUDGING = 0.2  # judging and writing a run usually takes this share of the time for simulating it
LOOK_S = 0.2
WorkUntil = Callable[[float], float]
LEAST_KNOWN = 4  # the minimum number of finished runs or schedules for an estimate of the remaining time


def error_console() -> Console:
    """Return rich's console for stderr. rich is imported here because loading it takes long."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def work_until(scenario: AnyScenario) -> WorkUntil:
    """Return the estimate of forecast.py. This module is imported only if an estimate is needed."""
    from mobilenet import forecast

    return forecast.work_until(scenario)


class _RunTime:
    """The remaining time of a run, estimated from the recent speed of the simulation. `rest`: the time after the
    simulation, as a share of its time. `expect` returns a function of the simulated time that estimates the work up
    to this time; it is called when the first estimate is needed.
    """

    def __init__(self, rest: float, expect: Callable[[], WorkUntil]) -> None:
        self._rest = rest
        self._expect = expect
        self.started = time.perf_counter()
        self._marks = deque([(self.started, 0.0)])  # (wall time, simulated time) during the last RECENT_S
        self.speed = 0.0  # simulated time per wall time
        self._ends: float | None = None  # wall time at which the command is likely to end

    @cached_property
    def _work_until(self) -> WorkUntil:
        return self._expect()

    def update(self, now: float, done_s: float, total_s: float) -> None:
        marks = self._marks
        if now - marks[-1][0] >= LOOK_S:
            marks.append((now, done_s))
        while len(marks) > 2 and marks[1][0] <= now - RECENT_S:
            marks.popleft()
        since, before_s = marks[0]
        self.speed = (done_s - before_s) / max(1e-9, now - since)
        if self.speed:
            done, before, total = map(self._work_until, (done_s, before_s, total_s))
            ends = now + max(0.0, total - done) * (now - since) / max(1e-9, done - before)
            self._ends = ends + self._rest * (ends - self.started)

    def left_s(self) -> float | None:
        """Return the remaining time, or None if it is unknown."""
        return None if self._ends is None else max(0.0, self._ends - time.perf_counter())


@contextmanager
def progress(
    quiet: bool, label: str, rest: float = 0.0, expect: Callable[[], WorkUntil] = lambda: float
) -> Iterator[Callable[[float, float], None] | None]:
    """Show simulated time, speed and remaining time: a bar on a terminal, or otherwise a line at intervals. `rest`: the
    time for the work after the simulation, as a share of the time for simulating. `expect` returns a function of the
    simulated time that estimates the work up to this time.
    """
    if quiet:
        yield None
        return
    if not _on_terminal():
        yield _plain_progress(rest, expect)
        return
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.text import Text

    run_time = _RunTime(rest, expect)

    class Left(ProgressColumn):
        def render(self, task: Task) -> Text:
            left_s = run_time.left_s()
            return Text("-:--:--" if left_s is None else str(timedelta(seconds=round(left_s))), "progress.remaining")

    columns = (
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[simulated]}"),
        TextColumn("{task.fields[speed]}"), Left(),
    )  # fmt: skip
    with Progress(*columns, console=error_console(), transient=True) as bar:
        task = bar.add_task(label, total=None, simulated="", speed="")

        def update(done_s: float, total_s: float) -> None:
            run_time.update(time.perf_counter(), done_s, total_s)
            speed = _speed(run_time.speed)
            if done_s > total_s:
                speed = f"and {done_s - total_s:.0f} s of draining"
            simulated = f"{min(done_s, total_s):.0f} of {total_s:.0f} s simulated"
            bar.update(task, completed=min(done_s, total_s), total=total_s, simulated=simulated, speed=speed)

        yield update


def _plain_progress(rest: float, expect: Callable[[], WorkUntil]) -> Callable[[float, float], None]:
    run_time = _RunTime(rest, expect)
    last = run_time.started

    def update(done_s: float, total_s: float) -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last < PLAIN_PROGRESS_S:
            return
        last = now
        run_time.update(now, done_s, total_s)
        if done_s > total_s:
            line = f"{total_s:.0f} s simulated, draining for {done_s - total_s:.0f} s"
        else:
            left_s = run_time.left_s()
            left = "" if left_s is None else f", {left_s:.0f} s left"
            line = f"{done_s:.0f} of {total_s:.0f} s simulated, {_speed(run_time.speed)}{left}"
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
