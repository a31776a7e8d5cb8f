"""The command that runs a study: many runs and their joint results."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from mobilenet.cli.console import Exit, fail, print_table, reporting, say, was_stopped
from mobilenet.cli.options import AllowCode, Master, Overrides, Quiet, Workers, refuse_both
from mobilenet.cli.progress import runs_progress
from mobilenet.quoting import pluralize, quote


def study(
    study: Annotated[
        Path,
        typer.Argument(metavar="STUDY", help="A study file (YAML), or the directory of a study to resume or extend."),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Directory of the study; by default studies/NAME."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only print the planned runs with their expected time and size."),
    ] = False,
    overrides: Overrides = None,
    replications: Annotated[
        int | None,
        typer.Option(
            "--replications", min=2, metavar="N", help="Number of runs of each configuration; overrides the study file."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, metavar="N", help="Seed of the study.")] = None,
    master: Master = None,
    workers: Workers = None,
    allow_code: AllowCode = False,
    quiet: Quiet = False,
) -> None:
    """Run a scenario with many settings and seeds.

    The study runs on Spark. The command writes tables and, if the study file has `compare`, a comparison.
    """
    places: list[Path] = []
    with reporting(quiet and not dry_run, reads=places):
        from mobilenet.lab.studies import study as studies
        from mobilenet.lab.studies.declaration import Study
        from mobilenet.lab.studies.sentences import ADVICE, has_one_movement
        from mobilenet.lab.studies.spark import local_master

        declared = Study.load(study, overrides or (), replications, seed)
        if has_one_movement(declared.base()):
            say(f"{study}: {ADVICE}")
        place = out or studies.default_directory(declared, study)
        if dry_run:
            _print_estimates(
                studies.estimate(declared, allow_code, place), workers or os.cpu_count() or 1, studies.SPARK_S
            )
            options = [("--out", out), ("--replications", replications), ("--seed", seed)]
            words = [f"--set {shlex.quote(override)}" for override in overrides or ()]
            words += [f"{option} {shlex.quote(str(value))}" for option, value in options if value is not None]
            say(" ".join(["Next: mobilenet study", quote(study), *words, *(["--allow-code"] if allow_code else [])]))
            return
        refuse_both(master, workers)
        places.append(place)
        with keeping_what_is_done(), runs_progress(quiet) as update:
            result = studies.run_study(declared, place, master or local_master(workers), update, say, allow_code)
        _end(result)


def _end(result: Any) -> None:
    """Print the results. Exit with an error if runs are missing or a run violates a property."""
    _print_study(result)
    if result.failed:
        fail(f"{pluralize(len(result.failed), 'run')} failed; run the same command again to retry", Exit.UNFINISHED)
    if result.violated:
        say(f"Next: mobilenet verify {quote(result.store.runs / result.violated[0])}")
        raise typer.Exit(Exit.VIOLATED)
    if result.store.study.can_be_compared:
        say(f"Next: mobilenet compare {quote(result.store.path)}")
    else:
        say(f"Next: mobilenet show {quote(result.store.path)}")


@contextmanager
def keeping_what_is_done() -> Iterator[None]:
    """Report that finished runs are kept if a study is stopped or loses Spark."""
    from mobilenet.lab.studies.batch import JobLost
    from mobilenet.lab.studies.java import is_without_java

    try:
        yield
    except KeyboardInterrupt:
        reason = "stopped"
    except JobLost as error:
        reason = "stopped" if was_stopped() else f"Spark lost the job: {error}"
    except Exception as error:
        if not is_without_java(error):
            raise
        reason = "stopped" if was_stopped() else "Spark's Java process has ended, for example because memory ran out"
    else:
        return
    fail(f"{reason}; finished runs are kept; run the same command again to resume the study", Exit.UNFINISHED)


@contextmanager
def while_spark_lives(early: str) -> Iterator[None]:
    """Report the message `early` if Spark ends during work whose partial results are not saved."""
    from mobilenet.lab.studies.batch import JobLost
    from mobilenet.lab.studies.java import is_without_java
    from mobilenet.parameters import ScenarioError

    try:
        yield
    except (typer.Exit, ScenarioError, BrokenPipeError):  # this command's own output can raise a BrokenPipeError
        raise
    except Exception as error:
        if isinstance(error, JobLost) or is_without_java(error):
            fail(f"{early}; run the same command again", Exit.UNFINISHED)
        raise


def _print_estimates(estimates: list[Any], cores: int, spark_s: float) -> None:
    rows = []
    for e in estimates:
        runs = f"{e.runs}" if e.runs == e.most_runs else f"{e.runs} to {e.most_runs}"
        rows.append((e.configuration.label, runs, f"{e.cpu_s:.1f}", f"{e.disk_bytes / 1e6:.2f}"))
    print_table(("configuration", "runs left", "s each", "MB each"), rows)
    least, most = ([e.runs for e in estimates], [e.most_runs for e in estimates])
    for name, count in [("", least)] if least == most else [("at least ", least), ("at most ", most)]:
        cpu_s = sum(n * e.cpu_s for n, e in zip(count, estimates, strict=True))
        size = sum(n * e.disk_bytes for n, e in zip(count, estimates, strict=True))
        need = "needs" if sum(count) == 1 else "need"
        say(
            f"{name}{pluralize(sum(count), 'run')} left, which {need} {cpu_s:.0f} s on one core and {size / 1e6:.0f} MB"
            f" of disk space; about {cpu_s / cores + spark_s:.0f} s with {pluralize(cores, 'core')}, including"
            f" {spark_s:.0f} s for Spark itself"
        )


def _print_study(result: Any) -> None:
    from mobilenet.scenario.radio_words import radio_of_study

    for line in result.failed[:10]:
        say(f"failed: {line}", always=True)
    for run in result.violated[:10]:
        say(f"violated: {run}", always=True)
    for line in result.doubts:
        say(line)
    if (radio := radio_of_study(result.store.path)) is not None:
        say(f"radio: {radio}")
    say(
        f"{pluralize(result.done, 'run')} done, {len(result.failed)} failed, {len(result.violated)} with"
        " violations; tables in"
        f" {quote(result.store.tables)}"
    )
