"""How the command line speaks and ends: lines, progress, and an exit code for whatever goes wrong.

Exit codes  0 done, and what was judged is valid; 1 violated; 2 bad input; 3 could not be finished; 4 unknown, or
            stopped before all was looked at
Errors      one line on stderr for each problem, never a traceback (MOBILENET_DEBUG=1 shows it)
Signals     SIGINT, SIGTERM and SIGHUP unwind the command, which removes what it had begun to write; those that the
            caller has us ignore (nohup) stay ignored
Source      ours: docs/architecture/command-line.md
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from types import FrameType
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

from mobilenet import __version__
from mobilenet.quoting import spelled_out

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SAME_REQUEST_S = 1.0  # a second signal so soon after the first (timeout(1) sends two) does not disturb the cleaning up
WIDEST = 10_000  # columns of a table
PLAIN_PROGRESS_S = 10.0  # between two lines of progress where there is no terminal


class Exit(IntEnum):
    FINE = 0
    VIOLATED = 1
    BAD_INPUT = 2
    UNFINISHED = 3
    UNKNOWN = 4


class Stopped(BaseException):
    """A signal asked us to stop."""


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Nobody reads any more. Not rich's way, which exits with 1: that would say 'violated'."""
        raise BrokenPipeError


out_console = _Console(highlight=False)
error_console = _Console(stderr=True, highlight=False)


class Group(TyperGroup):
    """The commands; a wrong command line is one line and exit code 2 as well."""

    def main(self, *args: Any, **extra: Any) -> Any:
        standalone = extra.pop("standalone_mode", True)
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")  # names of files need not be text
        try:
            code = super().main(*args, **(extra | {"standalone_mode": False}))
        except typer.TyperException as error:
            context = getattr(error, "ctx", None)
            command = context.command_path if context is not None else "mobilenet"
            _print_error(
                f"{command}: {error.format_message().replace('Value error, ', '').rstrip('.')}; see {command} --help"
            )
            code = Exit.BAD_INPUT
        if not standalone:
            return code
        sys.exit(code if isinstance(code, int) else Exit.FINE)


@contextmanager
def reporting() -> Iterator[None]:
    """Every failure becomes one line and an exit code."""
    from mobilenet.parameters import ScenarioError
    from mobilenet.rundir.reader import RunError
    from mobilenet.rundir.writer import RecordError

    stop = _on_signal()
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:  # closed by the caller
                sys.stdout.flush()
    except (typer.Exit, typer.Abort):
        raise
    except (ScenarioError, RunError) as error:
        fail(str(error), Exit.BAD_INPUT)
    except RecordError as error:
        fail(str(error), Exit.BAD_INPUT if error.is_input else Exit.UNFINISHED)
    except (Stopped, KeyboardInterrupt) as stop_asked:
        fail(f"stopped by {stop_asked.args[0] if stop_asked.args else 'SIGINT'}; nothing was written", Exit.UNFINISHED)
    except MemoryError:
        fail("out of memory; nothing was written", Exit.UNFINISHED)
    except OSError as error:
        _forsake_stdout()
        if isinstance(error, BrokenPipeError):
            raise typer.Exit(Exit.UNFINISHED) from None
        _internal(error) if error.filename else fail(
            f"the output could not be written: {error.strerror}", Exit.UNFINISHED
        )
    except Exception as error:
        _internal(error)


def _on_signal() -> Callable[[int, FrameType | None], None]:
    first: list[float] = []

    def stop(number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if not first or now - first[0] > SAME_REQUEST_S:
            first[:] = [now]
            raise Stopped(signal.Signals(number).name)

    return stop


def _internal(error: Exception) -> NoReturn:
    if os.environ.get("MOBILENET_DEBUG"):
        raise error
    what = " ".join(str(error).split())[:200]
    fail(
        f"internal error: {type(error).__name__}: {what}; please report it with the command line, the scenario and the "
        f"output of the same command under MOBILENET_DEBUG=1 (mobilenet {__version__})",
        Exit.UNFINISHED,
    )


def _forsake_stdout() -> None:
    """What is still to be flushed at exit goes nowhere."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # not a file at all, under a test
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115


def fail(message: str, code: Exit) -> NoReturn:
    _print_error(message)
    raise typer.Exit(code)


def _print_error(message: str) -> None:
    with suppress(OSError):  # nobody can be told
        error_console.print(Text(spelled_out(message)), soft_wrap=True)


def say(line: str) -> None:
    out_console.print(Text(spelled_out(line)), soft_wrap=True)


def print_table(table: Table) -> None:
    """Whole, where nobody's window limits it."""
    if out_console.is_terminal:
        out_console.print(table)
    else:
        wide = _Console(file=out_console.file, width=WIDEST, highlight=False)
        wide.print(table, width=Measurement.get(wide, wide.options, table).maximum)


@contextmanager
def progress(quiet: bool, label: str) -> Iterator[Callable[[float, float], None] | None]:
    """Simulated time, speed and time left; on a terminal a bar, elsewhere a line now and then."""
    if quiet:
        yield None
        return
    started = time.perf_counter()
    if not error_console.is_terminal:
        yield _plain_progress(started)
        return
    columns = (
        TextColumn("{task.description}"), BarColumn(),
        TextColumn("{task.completed:.0f} of {task.total:.0f} s simulated"),
        TextColumn("{task.fields[speed]}"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=error_console, transient=True) as bar:
        task = bar.add_task(label, total=1, speed="")

        def update(done_s: float, total_s: float) -> None:
            speed = done_s / (time.perf_counter() - started)
            bar.update(task, completed=min(done_s, total_s), total=total_s, speed=f"{speed:.1f} s a second")

        yield update


def _plain_progress(started: float) -> Callable[[float, float], None]:
    last = [started]

    def update(done_s: float, total_s: float) -> None:
        now = time.perf_counter()
        if now - last[0] >= PLAIN_PROGRESS_S:
            last[0] = now
            speed = done_s / (now - started)
            left_s = max(0.0, total_s - done_s) / speed
            line = f"{done_s:.0f} of {total_s:.0f} s simulated, {speed:.1f} s a second, {left_s:.0f} s left"
            error_console.print(line, soft_wrap=True)

    return update


@contextmanager
def runs_progress(quiet: bool) -> Iterator[Callable[[int, int, int], None]]:
    """Runs done, failed and left of a study, with the time left."""
    started = time.perf_counter()
    if quiet:
        yield lambda done, failed, left: None
    elif not error_console.is_terminal:
        last = [started]

        def tell(done: int, failed: int, left: int) -> None:
            now = time.perf_counter()
            if now - last[0] >= PLAIN_PROGRESS_S and left:
                last[0] = now
                each_s = (now - started) / max(1, done + failed)
                line = f"{done} runs done, {failed} failed, {left} left"
                error_console.print(line + (f", about {each_s * left:.0f} s left" if done else ""), soft_wrap=True)

        yield tell
    else:
        columns = (TextColumn("runs"), BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
        with Progress(*columns, console=error_console, transient=True) as bar:
            task = bar.add_task("Spark starts", total=None)

            def update(done: int, failed: int, left: int) -> None:
                text = f"{done} done, {failed} failed, {left} left"
                bar.update(task, completed=done + failed, total=done + failed + left, description=text)

            yield update


@contextmanager
def counting(total: int) -> Iterator[Callable[[], None]]:
    """So many schedules out of `total`, on a terminal."""
    if not error_console.is_terminal:
        yield lambda: None
        return
    columns = (
        TextColumn("schedules"),
        BarColumn(),
        TextColumn("{task.completed} of {task.total}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=error_console, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda: bar.advance(task)
