"""The command that finds the largest or smallest value of a key at which requirements hold."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mobilenet.cli.console import Exit, conclude, fail, print_table, reporting, say
from mobilenet.cli.options import AllowCode, AsJson, Master, Overrides, Quiet, ScenarioFile, Workers, refuse_both
from mobilenet.cli.progress import runs_progress
from mobilenet.cli.study import keeping_what_is_done
from mobilenet.quoting import pluralize, quote

if TYPE_CHECKING:
    from mobilenet.lab.studies.batch import Standing


def capacity(
    scenario: ScenarioFile,
    vary: Annotated[str, typer.Option("--vary", metavar="KEY", help="Numeric key, such as workload.interval_s.")],
    low: Annotated[float, typer.Option("--from", metavar="A", help="One end of the range to search.")],
    high: Annotated[float, typer.Option("--to", metavar="B", help="The other end.")],
    require: Annotated[
        list[str],
        typer.Option(
            "--require",
            metavar="TEXT",
            help="Requirement on the mean of a metric, such as 'delivery_delay_p95_s <= 1.0'. May be repeated.",
        ),
    ],
    tolerance: Annotated[
        float,
        typer.Option(
            "--tolerance",
            metavar="SHARE",
            help="Share of each limit; if a mean is this close to its limit, either decision is right.",
        ),
    ] = 0.05,
    resolution: Annotated[
        float | None,
        typer.Option(
            "--resolution", metavar="R", help="Step of the key; by default, a round number that gives 32 to 64 steps."
        ),
    ] = None,
    error: Annotated[float, typer.Option("--error", metavar="P", help="Maximum probability of a wrong answer.")] = 0.05,
    rare: Annotated[
        float, typer.Option("--rare", metavar="SHARE", help="Outcomes in a smaller share of the runs may be missed.")
    ] = 0.05,
    budget: Annotated[int, typer.Option("--budget", min=1, metavar="N", help="Maximum number of runs.")] = 12_000,
    minutes: Annotated[float, typer.Option("--minutes", metavar="M", help="Maximum wall time.")] = 10.0,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Directory; by default studies/SCENARIO-capacity-KEY."),
    ] = None,
    overrides: Overrides = None,
    seed: Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Seed of the study.")] = 1,
    master: Master = None,
    workers: Workers = None,
    allow_code: AllowCode = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find how far a setting can be pushed.

    The command finds the largest or smallest value at which all requirements hold, with a stated probability of error.
    If the command was stopped, or its time is up, run it again to resume.
    """
    refuse_both(master, workers)
    with reporting(quiet, as_json=as_json):
        from mobilenet.lab.studies.capacity.question import Question

        question = Question(
            scenario, vary, low, high, tuple(require), tolerance, resolution, error, budget, seed,
            tuple(overrides or ()), rare, minutes, is_command=True,
        )  # fmt: skip
        _search(question, out, (master, workers), allow_code, as_json, quiet)


def _search(
    question: Any,
    out: Path | None,
    where: tuple[str | None, int | None],  # the values of --master and --workers
    allow_code: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    from mobilenet.lab.studies.capacity import capacity as capacities
    from mobilenet.lab.studies.capacity.question import command_of, default_directory, plan
    from mobilenet.lab.studies.capacity.words import span
    from mobilenet.lab.studies.sentences import ADVICE, has_one_movement
    from mobilenet.lab.studies.spark import local_master

    planned, place = plan(question, allow_code), out or default_directory(question)
    if has_one_movement(planned.study.base()):
        say(f"{question.name}: {ADVICE}")
    say(
        f"{span(planned.search_question)} in {pluralize(planned.last, 'step')}, at most"
        f" {pluralize(question.budget, 'run')} and {question.minutes:g} min; {quote(place)}"
    )
    master = where[0] or local_master(where[1])
    done = []
    with keeping_what_is_done(), runs_progress(quiet) as update:

        def report(standing: Standing) -> None:
            done.append(standing.done)
            update(standing)

        outcome = capacities.search(planned, place, master, report, say, allow_code)
    again = command_of(question, question.name, out, allow_code)
    _end(outcome, question, place, again, as_json, done[-1] - done[0] if done else 0)


def _end(outcome: Any, question: Any, place: Path, again: str, as_json: bool, runs_made: int) -> None:
    """Draw and print the answer. Exit with an error if there is no answer, runs are missing, or a run violates a
    property.
    """
    from mobilenet.lab.studies.capacity.question import BUDGET
    from mobilenet.lab.studies.capacity.words import document, head, more_runs, point_rows, sentences
    from mobilenet.viz.capacity import draw_into

    answer = outcome.result
    for line in [f"failed: {line}" for line in outcome.failed[:10]] + [
        f"violated: {run}" for run in outcome.violated[:10]
    ]:
        say(line, always=not as_json)
    if answer.points:
        draw_into(answer, place, outcome.command)
    if as_json:
        say(json.dumps(document(answer), indent=1), always=True)
    print_table(head(answer.question), point_rows(answer))
    for line in sentences(answer):
        say(line)
    conclude(sentences(answer)[0])
    if outcome.failed:
        fail(f"{pluralize(len(outcome.failed), 'run')} failed; run the same command again to retry", Exit.UNFINISHED)
    if outcome.violated:
        say(f"Next: mobilenet verify {quote(outcome.store.runs / outcome.violated[0])}")
        raise typer.Exit(Exit.VIOLATED)
    more = more_runs(answer) if answer.is_over_budget or outcome.is_out_of_time else 0
    if more:
        say(
            f"about {pluralize(more, 'more run')} would settle the question at {_values(answer)}; with a"
            " larger --tolerance, fewer are needed"
        )
    if outcome.is_out_of_time:
        minutes = math.ceil(question.minutes * max(2, 1.5 * more / max(1, runs_made)))
        budget = "" if question.budget == BUDGET else f" --budget {question.budget}"
        say(f"Next: {again}{budget} --minutes {minutes}")
        fail(f"stopped after {question.minutes:g} min; run the same command again to resume", Exit.UNFINISHED)
    if answer.is_over_budget:
        say(f"Next: {again} --budget {_round_up(2 * answer.question.budget, answer.runs + more)}")
    else:
        say(f"Next: mobilenet report {quote(place)}")
    if answer.is_undecided:
        raise typer.Exit(Exit.UNKNOWN)


def _values(answer: Any) -> str:
    from mobilenet.lab.studies.capacity.answer import format_value

    return f"{answer.question.key} {', '.join(map(format_value, answer.open_points))}"


def _round_up(least: int, needed: int) -> int:
    """Return a sufficient number of runs, rounded up to a multiple of 100."""
    return -(-max(least, needed * 3 // 2) // 100) * 100
