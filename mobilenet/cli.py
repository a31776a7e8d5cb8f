"""The command line. No logic: it reads options, calls the package, and prints.

Exit codes  0 nothing violated; 1 violated; 2 bad input; 3 the run could not be finished
Errors      one line on stderr each, never a traceback (MOBILENET_DEBUG=1 shows it)
Source      ours: DESIGN.md §9
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from mobilenet import __version__

app = typer.Typer(
    name="mobilenet",
    help="Emulate mobile networks and the broadcast protocols that run on them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
out_console = Console(highlight=False)
error_console = Console(stderr=True, highlight=False)

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="A scenario file (YAML).")]
RunDirectory = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")]
Overrides = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change one value, as in hosts.count=20. Repeatable.")
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", help="Instead of the scenario's seed.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no table.")]


class Exit(IntEnum):
    FINE = 0
    VIOLATED = 1
    BAD_INPUT = 2
    UNFINISHED = 3


class Stopped(BaseException):
    """A signal asked us to stop."""


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped(signal.Signals(number).name)


@contextmanager
def reporting() -> Iterator[None]:
    """Every failure becomes one line and an exit code."""
    from mobilenet.parameters import ScenarioError
    from mobilenet.record import RecordError
    from mobilenet.rundir import RunError

    for wanted in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(wanted, _stop)
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except (ScenarioError, RunError) as error:
        _fail(str(error), Exit.BAD_INPUT)
    except RecordError as error:
        _fail(str(error), Exit.BAD_INPUT if error.is_input else Exit.UNFINISHED)
    except (Stopped, KeyboardInterrupt) as stop:
        _fail(f"stopped by {stop.args[0] if stop.args else 'SIGINT'}; nothing was written", Exit.UNFINISHED)
    except MemoryError:
        _fail("out of memory; nothing was written", Exit.UNFINISHED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(Exit.UNFINISHED) from None
    except Exception as error:
        if os.environ.get("MOBILENET_DEBUG"):
            raise
        _fail(
            f"internal error: {type(error).__name__}: {str(error)[:200]}; please report it with the command line, the "
            f"scenario and the output of the same command under MOBILENET_DEBUG=1 (mobilenet {__version__})",
            Exit.UNFINISHED,
        )


def _fail(message: str, code: Exit) -> None:
    error_console.print(Text(message), soft_wrap=True)
    raise typer.Exit(code)


def _say(line: str) -> None:
    out_console.print(Text(line), soft_wrap=True)


@contextmanager
def _progress(quiet: bool, label: str) -> Iterator[Callable[[float, float], None] | None]:
    """Simulated time, speed and time left; on a terminal a bar, elsewhere a line now and then."""
    if quiet:
        yield None
        return
    started = time.perf_counter()
    if not error_console.is_terminal:
        last = [started]

        def plain(done_s: float, total_s: float) -> None:
            now = time.perf_counter()
            if now - last[0] >= 10:
                last[0] = now
                speed = done_s / (now - started)
                left = max(0.0, total_s - done_s) / speed
                error_console.print(f"{done_s:.0f} of {total_s:.0f} s simulated, {speed:.1f} s a second, {left:.0f} s left")

        yield plain
        return
    columns = (
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:.0f} of {task.total:.0f} s simulated"),
        TextColumn("{task.fields[speed]}"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=error_console, transient=True) as bar:
        task = bar.add_task(label, total=1, speed="")

        def update(done_s: float, total_s: float) -> None:
            speed = done_s / (time.perf_counter() - started)
            bar.update(task, completed=min(done_s, total_s), total=total_s, speed=f"{speed:.1f} s a second")

        yield update


@app.command()
def run(
    scenario: ScenarioFile,
    seed: Seed = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="The run directory; by default one below runs/.")] = None,
    overrides: Overrides = None,
    quiet: Quiet = False,
) -> None:
    """Simulate a scenario, judge it, and write its run directory."""
    with reporting():
        from mobilenet import runs

        with _progress(quiet, scenario.stem) as progress:
            done = runs.run(scenario, seed, out, overrides or [], progress)
        if not quiet:
            _say(_summary(done))
        _print_violations(done.verdicts)
        _say(f"Next: mobilenet show {_quoted(done.path)}")
        raise typer.Exit(Exit.VIOLATED if done.verdict == "violated" else Exit.FINE)


@app.command()
def check(scenario: ScenarioFile, overrides: Overrides = None) -> None:
    """Read a scenario and say whether it can run, without running it."""
    with reporting():
        from mobilenet.scenario import Scenario, estimated_events

        loaded = Scenario.load(scenario, overrides or [])
        _say(f"{scenario}: fine; {loaded.duration_s:g} s, about {estimated_events(loaded):,} events")
        _say(f"Next: mobilenet run {_quoted(scenario)}")


@app.command()
def verify(run: RunDirectory) -> None:
    """Judge a run directory anew, from its record alone."""
    with reporting():
        from mobilenet.verify import verify_run
        from mobilenet.verify.judge import overall

        verdicts = verify_run(run)
        _print_verdicts(verdicts)
        _print_violations(verdicts)
        answer = overall(verdicts)
        _say(f"{run}: {answer}. Next: mobilenet show {_quoted(run)}")
        raise typer.Exit(Exit.VIOLATED if answer == "violated" else Exit.FINE)


@app.command()
def show(run: RunDirectory) -> None:
    """Print the metrics and the verdict of a run."""
    with reporting():
        from mobilenet.runs import Run, shown

        opened = Run(run)
        table = Table("metric", "value", box=None, pad_edge=False)
        table.columns[1].justify = "right"
        for name, value in opened.metrics.items():
            table.add_row(name, shown(value))
        out_console.print(table)
        _print_verdicts(opened.verdicts)
        _print_violations(opened.verdicts)
        _say(f"{run}: {opened.verdict}. Next: mobilenet verify {_quoted(run)}")


@app.command()
def swarm(
    count: Annotated[int, typer.Option("--count", min=1, help="How many schedules.")] = 100,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The first schedule's seed; the others follow.")] = 1,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Processes.")] = os.cpu_count() or 1,
) -> None:
    """Run small random hostile scenarios and judge each of them."""
    with reporting():
        from mobilenet.swarm.hunt import hunt

        started = time.perf_counter()
        violated = 0
        tally: dict[str, int] = {}
        with _counting(count) as advance:
            for result in hunt(range(seed, seed + count), workers):
                advance()
                tally[result.answer] = tally.get(result.answer, 0) + 1
                if result.answer == "violated":
                    violated += 1
                    _say(f"schedule {result.seed} ({result.network}) violated:\n{result.explanation}")
                    _say(f"Repeat: mobilenet swarm --count 1 --seed {result.seed}")
        parts = ", ".join(f"{number} {answer}" for answer, number in sorted(tally.items()))
        _say(f"{count} schedules in {time.perf_counter() - started:.0f} s: {parts}")
        _say(f"Next: mobilenet swarm --count {count} --seed {seed + count}")
        raise typer.Exit(Exit.VIOLATED if violated else Exit.FINE)


@contextmanager
def _counting(total: int) -> Iterator[Callable[[], None]]:
    if not error_console.is_terminal:
        yield lambda: None
        return
    columns = (TextColumn("schedules"), BarColumn(), TextColumn("{task.completed} of {task.total}"), TimeRemainingColumn())
    with Progress(*columns, console=error_console, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda: bar.advance(task)


def _summary(done: Any) -> str:
    from mobilenet.runs import shown

    m, manifest = done.metrics, done.manifest
    speed = manifest["simulated_s"] / max(manifest["wall_s"], 1e-9)
    return (
        f"{manifest['simulated_s']:g} s simulated in {manifest['wall_s']:.1f} s ({speed:.0f} times as fast as time)\n"
        f"{shown(m['broadcasts'])} broadcasts, {shown(m['deliveries'])} deliveries, "
        f"mean delay {shown(m['delivery_delay_mean_s'])} s, {shown(m['handoffs'])} handoffs, "
        f"{shown(m['crashes'])} crashes, collision ratio {shown(m['collision_ratio'])}\n"
        f"verdict: {done.verdict}"
    )


def _print_verdicts(verdicts: dict[str, Any]) -> None:
    table = Table("property", "verdict", "", box=None, pad_edge=False)
    for name, verdict in verdicts.items():
        reason = verdict.explanation if verdict.answer == "unknown" else ""
        table.add_row(name, verdict.answer, Text(reason))
    out_console.print(table)


def _print_violations(verdicts: dict[str, Any]) -> None:
    for name, verdict in verdicts.items():
        if verdict.answer == "violated":
            _say(f"{name} violated: {verdict.explanation}")


def _quoted(path: Path) -> str:
    import shlex

    return shlex.quote(str(path))


def _version(wanted: bool) -> None:
    if wanted:
        _say(f"mobilenet {__version__}")
        raise typer.Exit()


@app.callback()
def main(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Emulate mobile networks and the broadcast protocols that run on them."""
