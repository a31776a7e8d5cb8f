"""Studies: many runs, their joint results, and the experiments of the papers."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from mobilenet.cli.console import Exit, fail, print_table, reporting, say, was_stopped
from mobilenet.cli.options import AllowCode, Master, Overrides, Quiet, Workers, refuse_both
from mobilenet.cli.progress import runs_progress
from mobilenet.quoting import pluralize, quote

MOST_ROWS = 40  # of a table, on the screen


class Paper(Enum):
    mobile = "mobile"
    bundling = "bundling"
    reliable = "reliable"
    causal = "causal"


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
        from mobilenet.lab.studies.caveats import ADVICE, has_one_movement
        from mobilenet.lab.studies.declaration import Study
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
    """Print what came out; exit unless all runs were made and none is violated."""
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


def reproduce(
    paper: Annotated[
        Paper,
        typer.Argument(
            metavar="PAPER",
            help=(
                "mobile (Wilhelm et al. 2020), bundling (Rodrigues et al. 2018), reliable (Jeanneau et al. 2017),"
                " causal (Rodrigues et al.)."
            ),
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Directory for studies and tables; by default studies/reproduce-PAPER."
        ),
    ] = None,
    master: Master = None,
    workers: Workers = None,
    max_n: Annotated[
        int | None,
        typer.Option(
            "--max-n",
            min=8,
            max=1024,
            help="Use only 8, 16, 32, ... processes, up to this number; by default 1024; not for mobile.",
        ),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option("--processes", min=8, max=1024, help="Use only this number of processes; not for mobile."),
    ] = None,
    engineering: Annotated[
        bool,
        typer.Option(
            "--engineering",
            help="Also run the experiments with the default values that all other scenarios use; only for mobile.",
        ),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Repeat the experiments of a paper.

    The command prints each published value next to the value obtained here. If the command was stopped, run it again
    to resume.
    """
    with reporting(quiet):
        from mobilenet.viz.figures.mobile_paper import mobile_figures
        from mobilenet.viz.figures.papers import paper_figures

        _require_sense(paper, master, max_n, processes, engineering)
        folder = out if out is not None else Path("studies") / f"reproduce-{paper.value}"
        if paper is Paper.mobile:
            _reproduce_mobile(folder, master, workers, engineering, quiet)
        else:
            _reproduce_on_vcube(paper, folder, 1024 if max_n is None else max_n, processes, workers)
        for picture in mobile_figures(folder) if paper is Paper.mobile else paper_figures(paper.value, folder):
            say(f"drawn: {quote(picture)}")
        say(f"Next: look at {quote(folder / f'{paper.value}.md')}")


def _require_sense(
    paper: Paper, master: str | None, max_n: int | None, processes: int | None, engineering: bool
) -> None:
    if paper is Paper.mobile and (max_n is not None or processes is not None):
        option = "--max-n" if max_n is not None else "--processes"
        fail(
            f"{option} sets the number of processes for the VCube papers; the mobile paper has no processes",
            Exit.BAD_INPUT,
        )
    if paper is not Paper.mobile and engineering:
        fail(f"--engineering applies only to mobile; {paper.value} has a single setting", Exit.BAD_INPUT)
    if paper is not Paper.mobile and master is not None:
        what = f"--master has no effect on {paper.value}, which runs on this machine"
        fail(f"{what}; use --workers instead", Exit.BAD_INPUT)
    if max_n is not None and processes is not None:
        fail("--max-n and --processes: specify only one of the two", Exit.BAD_INPUT)


def _reproduce_mobile(folder: Path, master: str | None, workers: int | None, engineering: bool, quiet: bool) -> None:
    from mobilenet.lab.studies.papers import mobile
    from mobilenet.lab.studies.spark import local_master

    with keeping_what_is_done(), runs_progress(quiet) as update:
        lines = mobile.reproduce(folder, master or local_master(workers), update, say, engineering)
    for line in lines:
        verdict = f": {line.verdict}" if line.verdict else ""
        beside = f" ({line.engineering} with the engineering defaults)" if line.engineering else ""
        say(f"{line.experiment}: {line.quantity}: {line.printed} published, {line.ours} here{verdict}{beside}")
    _say_totals([line.verdict for line in lines if line.verdict], "judged figure")


def _reproduce_on_vcube(paper: Paper, folder: Path, most: int, processes: int | None, workers: int | None) -> None:
    from mobilenet.lab.studies.papers import bundling, causal, reliable

    if paper is not Paper.reliable:
        module = bundling if paper is Paper.bundling else causal
        with keeping_what_is_done():
            rows = module.reproduce(folder, most, processes, workers, say)
        _say_agreement(module.HEAD, rows, folder / f"{paper.value}.csv")
        return
    with keeping_what_is_done():
        rows, statements = reliable.reproduce(folder, most, processes, workers, say)
    _print_some(reliable.HEAD, rows, folder / "reliable.csv")
    for statement in statements:
        if statement["verdict"] != "not checked":
            say(f"{statement['answer']}: {statement['statement']} ({statement['place']})")
    _say_totals([statement["verdict"] for statement in statements], "statement")


@contextmanager
def keeping_what_is_done() -> Iterator[None]:
    """Whatever stops a study, its finished runs stay."""
    from mobilenet.lab.studies.batch import JobLost
    from mobilenet.lab.studies.java_end import is_without_java

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


def _say_agreement(head: tuple[str, ...], rows: list[dict[str, Any]], file: Path) -> None:
    """What does not agree with print, then how much does, table by table; every row is in the file."""
    from mobilenet.lab.studies.papers import agreement

    summary = agreement.summary(rows)
    if apart := [row for row in rows if row["verdict"] not in ("", agreement.AGREES)] if summary else rows:
        _print_some(head, apart, file)
        say("")
    if summary:
        _print_rows(agreement.HEAD, summary)
        say(agreement.RULE)
    say(f"{agreement.agreement_summary(rows)}; {quote(file)} contains all {pluralize(len(rows), 'row')}")


def _print_some(head: tuple[str, ...], rows: list[dict[str, Any]], file: Path) -> None:
    """The first rows; all are in the file."""
    _print_rows(head, rows[:MOST_ROWS])
    if len(rows) > MOST_ROWS:
        say(f"... and {pluralize(len(rows) - MOST_ROWS, 'more row')}, in {quote(file)}")


def _say_totals(answers: list[str], what: str) -> None:
    counts = Counter(answers)
    say(f"{pluralize(len(answers), what)}: " + ", ".join(f"{count} {answer}" for answer, count in counts.most_common()))


def _print_rows(head: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    def cell(value: Any) -> str:
        return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)

    print_table(head, [[cell(row[name]) for name in head] for row in rows])


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
