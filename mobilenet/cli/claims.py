"""The command that tests claims: statements about studies that are checked by simulation runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from mobilenet.cli.console import Exit, conclude, fail, print_table, reporting, say
from mobilenet.cli.options import AllowCode, AsJson, Master, Quiet, Workers, refuse_both
from mobilenet.cli.progress import runs_progress
from mobilenet.cli.study import keeping_what_is_done
from mobilenet.quoting import pluralize, quote


def claims(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A claims file (YAML).")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Stop after ten minutes, and list the claims that are left.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only check the file, and print what would be run.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Directory; by default studies/FILE-claims.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, metavar="N", help="Seed that replaces the seed of the file.")
    ] = None,
    master: Master = None,
    workers: Workers = None,
    allow_code: AllowCode = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Test the claims in a file.

    Each claim is a statement about experiments. The command runs the experiments and gives a verdict on each claim:
    holds, does not hold or undecided, with a stated probability that any verdict is wrong. If the command was stopped,
    run it again to resume.
    """
    refuse_both(master, workers)
    with reporting(quiet and not dry_run, as_json=as_json and not dry_run):
        from mobilenet.lab.studies.claims.declaration import Claims
        from mobilenet.lab.studies.claims.evaluation import QUICK_S, Means, answer, default_directory
        from mobilenet.lab.studies.claims.questions import plan
        from mobilenet.lab.studies.spark import local_master

        planned, place = plan(Claims.load(file, seed), allow_code), out or default_directory(file)
        _announce(planned, place)
        if dry_run:
            say(f"Next: {_command(file, out, seed, allow_code, quick)}")
            return
        with keeping_what_is_done(), runs_progress(quiet or as_json) as update:
            means = Means(place, workers, update, say, allow_code, QUICK_S if quick else None)
            outcome = answer(planned, means, master or local_master(workers))
        _end(outcome, _command(file, out, seed, allow_code, False), as_json)


def _announce(planned: Any, place: Path) -> None:
    count, experiments = len(planned.questions), len(planned.studies)
    about = f" about {pluralize(experiments, 'experiment')}" if experiments else ""
    most = planned.claims.replications
    say(f"{pluralize(count, 'claim')}{about}, at most {most} runs of each configuration; {quote(place)}")


def _end(outcome: Any, again: str, as_json: bool) -> None:
    """Print the answers. Exit with 0 if all answers are known and as expected."""
    from mobilenet.lab.studies.claims.words import HEAD, cells, closing_lines, sentence, summary_with_names

    for line in [f"failed: {line}" for line in outcome.failed[:10]]:
        say(line, always=not as_json)
    for run in outcome.violated[:10]:
        say(f"violated: {quote(run)}", always=not as_json)
    if as_json:
        say(json.dumps(outcome.json(), indent=1), always=True)
    print_table(HEAD, [cells(one) for one in outcome.answers])
    for one in outcome.answers:
        say(sentence(one, outcome.path))
    conclude(summary_with_names(outcome))
    for line in closing_lines(outcome):
        say(line)
    if outcome.failed:
        fail(f"{pluralize(len(outcome.failed), 'run')} failed; run the same command again to retry", Exit.UNFINISHED)
    if outcome.left:
        say(f"not examined: {', '.join(one.question.name for one in outcome.left)}")
    if outcome.violated:
        say(f"Next: mobilenet verify {quote(outcome.violated[0])}")
        raise typer.Exit(Exit.VIOLATED)
    for one in outcome.unexpected:
        say(f"not as expected: {one.question.name}: {one.answer.value}, expected: {one.question.claim.expect}")
    say(f"Next: {again}" if outcome.left else f"Next: look at {quote(outcome.path / 'claims.md')}")
    if outcome.unexpected:
        raise typer.Exit(Exit.VIOLATED)
    if any(one.answer.value == "undecided" for one in outcome.answers):
        raise typer.Exit(Exit.UNKNOWN)


def _command(file: Path, out: Path | None, seed: int | None, allow_code: bool, quick: bool) -> str:
    """Return the command that tests the claims in a file, or resumes an interrupted test."""
    words = ["mobilenet claims", quote(file), *(["--quick"] if quick else [])]
    words += [] if out is None else ["--out", quote(out)]
    words += [] if seed is None else ["--seed", str(seed)]
    return " ".join([*words, *(["--allow-code"] if allow_code else [])])
