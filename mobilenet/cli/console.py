"""The output and the end of every command: lines, progress, and an exit code for each failure.

Exit codes  0 finished, and everything that was judged is valid; 1 violated; 2 bad input; 3 could not be finished;
            4 unknown, or stopped before everything was examined. EXITS of run.py gives the code for the verdict of a
            run; each other command chooses its code where it ends
Errors      one line on stderr for each problem, but no traceback (MOBILENET_DEBUG=1 shows it)
Signals     SIGINT, SIGTERM and SIGHUP unwind the command, which removes its incomplete output. Signals that the caller
            has set to be ignored (nohup) stay ignored. If a signal raises its exception within a finalizer, or in a
            library that catches everything, the exception is lost. It is therefore raised again until the command
            unwinds
Source      ours: docs/architecture/command-line.md
"""

from __future__ import annotations

import errno
import gc
import mmap
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import IntEnum
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from mobilenet import __version__
from mobilenet.quoting import cut, spell_out

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SAME_REQUEST_S = 1.0  # a second signal within this time (timeout(1) sends two) does not interrupt the clean-up
AGAIN_S = 0.5  # the interval at which Stopped is raised again if its exception was lost
GROUP_S = 0.3  # within this time, a signal reaches all processes of a group
NO_FILE = (errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ENOENT, errno.EACCES, errno.EPERM, errno.ELOOP)
LEAST_BYTES = 400_000_000  # the memory that the libraries need before the simulation begins
EXTRAS = {  # library -> the extra that installs it, for optional libraries
    "SALib": "sensitivity", "folium": "pictures", "matplotlib": "pictures", "pyspark": "studies", "websockets": "live",
}  # fmt: skip
NO_MEMORY = "out of memory; nothing was written"
LONGEST_LINE = 800  # the maximum length of an error message, in characters
WIDEST = 10_000  # the maximum width of a table, in columns
# Thresholds of the garbage collector. They are high because imported modules never become garbage.
SELDOM = (100_000, 20, 20)
WORDINGS = {  # regular expressions for typer's messages, and their replacements
    "Value error, ": "",
    "Invalid value for '([^']+)'": r"\1",
    r"(['\"])(.*?)\1 is not one of ": r"unknown value \2; expected one of ",
    r"\. Choose from: ": "; expected one of ",
}
# The verdict of a record check can be one of these, in addition to the verdicts on the protocol.
DIFFERS, DAMAGED = "not the same when repeated", "damaged"
REPEATED = "The run did not record its messages (record.messages), so it was repeated; the fingerprint is the same."


class Exit(IntEnum):
    FINE = 0
    VIOLATED = 1
    BAD_INPUT = 2
    UNFINISHED = 3
    UNKNOWN = 4


class Stopped(KeyboardInterrupt):
    """Raised when a signal asks the command to stop."""


# The name of the signal that asked the command to stop. It is stored because the exception may get lost, for example in
# a finalizer.
_stop_signals: list[str] = []
_hush: list[bool] = []  # whether the current command prints only essential output, because of --quiet or --json
_brief: list[bool] = []  # whether --quiet, and not --json, limits the output


class Group(TyperGroup):
    """The group of all commands, which the help text lists in panels. An invalid command line is reported in one line,
    with exit code 2.
    """

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands under the names of their panels. In typer itself, panels require rich's markup."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            panel = getattr(command, "rich_help_panel", "Commands")
            panels.setdefault(panel, []).append((name, command.get_short_help_str(60)))
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows, col_max=16)

    def main(self, *args: Any, **extra: Any) -> Any:
        standalone = extra.pop("standalone_mode", True)
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")  # file names may contain bytes that are not text
        gc.set_threshold(*SELDOM)
        try:
            if not _has_memory():  # this must happen before a command imports numpy
                least = f"at least {LEAST_BYTES // 1_000_000} MB more memory is needed; see ulimit -v"
                fail(f"{NO_MEMORY} ({least})", Exit.UNFINISHED)
            code = super().main(*args, **(extra | {"standalone_mode": False}))
        except typer.Exit as ended:
            code = ended.exit_code
        except typer.TyperException as error:
            context = getattr(error, "ctx", None)
            words = extra.get("args") or sys.argv[1:]
            known = [f"mobilenet {word}" for word in words if word in self.commands] or ["mobilenet"]
            command = known[0] if context is None else context.command_path
            what = _usage_problem(error)
            _print_error(f"{command}: {what}{' See' if 'Did you mean' in what else '; see'} {command} --help")
            code = Exit.BAD_INPUT
        if not standalone:
            return code
        sys.exit(code if isinstance(code, int) else Exit.FINE)


def _usage_problem(error: typer.TyperException) -> str:
    """Return what is wrong with a command line. Describe option values in the same way as scenario values."""
    from pydantic import ValidationError

    from mobilenet.scenario.error_messages import option_problem

    what = " ".join(error.format_message().split()).rstrip(".")
    for theirs, ours in WORDINGS.items():
        what = re.sub(theirs, ours, what)
    better = option_problem(error.__cause__) if isinstance(error.__cause__, ValidationError) else None
    return what if better is None else f"{what.partition(': ')[0]}: {better}"


@contextmanager
def reporting(quiet: bool = False, reads: Sequence[Path] = (), as_json: bool = False) -> Iterator[None]:
    """Turn every failure into one line and an exit code. `quiet`: print only problems and the conclusion of the
    command. `as_json`: print only JSON. `reads`: the input directories of the command. Damage in these directories is
    reported as bad input, not as an internal error.
    """
    from mobilenet.parameters import ScenarioError
    from mobilenet.record.reader import RunError
    from mobilenet.record.writer import RecordError

    _hush.append(quiet or as_json)
    _brief.append(quiet and not as_json)
    _stop_signals.clear()
    stop = _on_signal()
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        try:
            yield
        finally:
            _no_more_asking()
            _hush.clear()
            _brief.clear()
            if sys.stdout is not None:  # stdout is None if the caller has closed it
                sys.stdout.flush()
    except (typer.Exit, typer.Abort):
        raise
    except (ScenarioError, RunError) as error:
        fail(str(error), Exit.BAD_INPUT if getattr(error, "is_input", True) else Exit.UNFINISHED)
    except RecordError as error:
        fail(str(error), Exit.BAD_INPUT if error.is_input else Exit.UNFINISHED)
    except KeyboardInterrupt as stop_asked:
        fail(f"stopped by {stop_asked.args[0] if stop_asked.args else 'SIGINT'}; nothing was written", Exit.UNFINISHED)
    except MemoryError:
        fail(NO_MEMORY, Exit.UNFINISHED)
    except ImportError as error:
        if _is_without_memory(error):
            fail(NO_MEMORY, Exit.UNFINISHED)
        library = (error.name or "").partition(".")[0]
        if library not in EXTRAS:
            _fail_unexpectedly(error, reads)
        fail(f"{library} is not installed; install it with: pip install 'mobilenet[{EXTRAS[library]}]'", Exit.BAD_INPUT)
    except OSError as error:
        _forsake_stdout()
        if isinstance(error, BrokenPipeError):
            raise typer.Exit(Exit.UNFINISHED) from None
        if (problem := _in_the_way(error, reads)) is not None:
            fail(problem, Exit.BAD_INPUT)
        # Some libraries report an unreadable file without an error number.
        if error.filename or error.errno is None:
            _fail_unexpectedly(error, reads)
        fail(f"the output could not be written: {error.strerror}", Exit.UNFINISHED)
    except Exception as error:
        if was_stopped():
            fail(f"stopped by {_stop_signals[0]}; nothing was written", Exit.UNFINISHED)
        _fail_unexpectedly(error, reads)


def _fail_unexpectedly(error: Exception, reads: Sequence[Path]) -> NoReturn:
    for directory in reads:
        if (damage := _damage(directory)) is not None:
            fail(damage, Exit.BAD_INPUT)
    _internal(error)


def _has_memory() -> bool:
    """Return whether enough address space is available, which `ulimit -v` limits. Without it, OpenBLAS retries for
    minutes, or ends the process with status 1, which here would mean violated.
    """
    try:
        mmap.mmap(-1, LEAST_BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError:
        return False
    return True


def _is_without_memory(error: BaseException | None) -> bool:
    """Return whether memory ran out while a library was loaded. numpy reports this as a different error."""
    while error is not None:
        if any(words in str(error) for words in ("failed to map segment", "annot allocate memory", "MemoryError")):
            return True
        error = error.__cause__ or error.__context__
    return False


def _damage(directory: Path) -> str | None:
    from mobilenet.lab.studies import store as of_studies
    from mobilenet.record import soundness as of_runs

    with suppress(Exception):  # if this check fails too, only the original error is reported
        return of_runs.fault(directory) or of_studies.fault(directory)
    return None


def _in_the_way(error: OSError, reads: Sequence[Path]) -> str | None:
    """Return a message about a damaged or unreadable input file, or None for any other error, such as a disk error."""
    place = Path(os.fsdecode(error.filename)) if isinstance(error.filename, (str, bytes)) else None
    if place is None or error.errno not in NO_FILE:
        return None
    inside = any(directory.absolute() in place.absolute().parents for directory in reads)
    return f"{place}: {error.strerror}; {place.name} is damaged or not accessible" if inside else None


def was_stopped() -> bool:
    """Return whether a signal has asked the command to stop. Wait briefly first, because a signal to the process group
    may have reached other processes earlier.
    """
    with suppress(KeyboardInterrupt):
        time.sleep(0.0 if _stop_signals else GROUP_S)
    return bool(_stop_signals)


def _on_signal() -> Callable[[int, FrameType | None], None]:
    first: list[float] = []

    def stop(number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if not first or now - first[0] > SAME_REQUEST_S:
            first[:] = [now]
            _stop_signals[:] = [signal.Signals(number).name]
            signal.signal(signal.SIGALRM, _ask_again)
            signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
            raise Stopped(signal.Signals(number).name)

    return stop


def _ask_again(number: int, frame: FrameType | None) -> None:
    """Raise Stopped again, unless the command is already unwinding because of an earlier Stopped."""
    signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
    error = sys.exc_info()[1]
    while error is not None:
        if isinstance(error, Stopped):
            return
        error = error.__cause__ or error.__context__
    raise Stopped(*_stop_signals)


def _no_more_asking() -> None:
    with suppress(ValueError):  # signals can only be handled in the main thread
        signal.setitimer(signal.ITIMER_REAL, 0)


def _internal(error: Exception) -> NoReturn:
    if os.environ.get("MOBILENET_DEBUG"):
        raise error
    what = " ".join(str(error).split())[:200]
    fail(
        f"internal error: {type(error).__name__}: {what}; please report it with the command line, the scenario and the "
        f"output of the same command with MOBILENET_DEBUG=1 (mobilenet {__version__})",
        Exit.UNFINISHED,
    )


def _forsake_stdout() -> None:
    """Discard any output that would be flushed at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # under tests, stdout is not a real file
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115


def fail(message: str, code: Exit) -> NoReturn:
    if _stop_signals:  # the command is already ending with this code; a second signal must not interrupt it
        _no_more_asking()
        with suppress(ValueError):  # signals can only be handled in the main thread
            for number in SIGNALS:
                signal.signal(number, signal.SIG_IGN)
    _print_error(message)
    raise typer.Exit(code)


def _print_error(message: str) -> None:
    with suppress(OSError):  # stderr may be closed
        print(cut(spell_out(message), LONGEST_LINE), file=sys.stderr, flush=True)


def say(line: str, always: bool = False) -> None:
    """Print a line, unless the command runs quietly. `always` prints the line in any case."""
    if always or not any(_hush):
        print(spell_out(line), flush=True)


def conclude(line: str) -> None:
    """Print the answer if the command runs with --quiet. Otherwise the full output already contains it."""
    if any(_brief):
        say(line, always=True)


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Report an error if the target cannot be written."""
    try:
        yield
    except OSError as error:
        fail(f"{target}: cannot be written: {error.strerror}", Exit.BAD_INPUT)


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Print rows of text under their headings, and right-align the columns in `right`.

    On a terminal, a table is at most as wide as the terminal. Otherwise it is as wide as its rows.
    """
    if any(_hush):
        return
    # rich is imported here, because loading it takes longer than starting a command that prints no table.
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    class Whole(Console):
        def on_broken_pipe(self) -> None:
            """Prevent rich from exiting with status 1, which would mean a violated verdict."""
            raise BrokenPipeError

    table = Table(*head, box=None, pad_edge=False, show_header=any(head))
    for row in rows:
        table.add_row(*(Text(spell_out(text)) for text in row))
    for column in right:
        table.columns[column].justify = "right"
    console = Whole(highlight=False)
    if not console.is_terminal:
        console = Whole(width=WIDEST, highlight=False)
        console.print(table, width=Measurement.get(console, console.options, table).maximum)
    else:
        console.print(table)
