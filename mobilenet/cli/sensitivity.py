"""Sensitivity: which keys of a scenario matter most."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from mobilenet.cli.console import Exit, fail, print_table, reporting, say
from mobilenet.cli.options import AllowCode, AsJson, Master, Overrides, Quiet, ScenarioFile, Workers
from mobilenet.cli.progress import runs_progress
from mobilenet.cli.study import keeping_what_is_done
from mobilenet.quoting import counted, quoted


def sensitivity(
    scenario: ScenarioFile,
    keys: Annotated[
        list[str],
        typer.Option(
            "--keys",
            metavar="KEYS",
            help="Keys to vary, separated by commas: KEY=LOW:HIGH, KEY=A|B, or just KEY. May be repeated.",
        ),
    ],
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", metavar="NAME", help="Metric to rank by; may be repeated. [delivery_delay_mean_s]"),
    ] = None,
    trajectories: Annotated[
        int, typer.Option("--trajectories", min=4, metavar="N", help="Steps that are tried for each key.")
    ] = 10,
    replications: Annotated[
        int, typer.Option("--replications", min=2, metavar="N", help="Number of runs at each point.")
    ] = 3,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Directory; by default studies/SCENARIO-sensitivity."),
    ] = None,
    overrides: Overrides = None,
    seed: Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Seed of the study.")] = 1,
    master: Master = None,
    workers: Workers = None,
    allow_code: AllowCode = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Rank settings by how much they matter.

    The command runs the scenario at points of Morris trajectories, in the same worlds at each point, and ranks the keys
    by the mean size of the change that they cause. If the command was stopped, run it again to resume.
    """
    if master is not None and workers is not None:
        fail("--workers sets the number of cores on this machine; with --master, the master decides", Exit.BAD_INPUT)
    with reporting(quiet or as_json):
        from mobilenet.studies.sensitivity import sensitivity as screening
        from mobilenet.studies.spark import local_master

        asked = tuple(metric) if metric else (screening.METRIC,)
        question = screening.Question(
            scenario, tuple(keys), asked, trajectories, replications, seed, tuple(overrides or ())
        )
        planned, place = screening.plan(question, allow_code), out or screening.default_directory(question)
        points = int(planned.numbers.max()) + 1
        runs = counted(points * replications, "run")
        say(f"{counted(len(planned.ranges), 'key')}, {counted(points, 'point')}, {runs} in all; {quoted(place)}")
        with keeping_what_is_done(), runs_progress(quiet) as update:
            done = screening.run(planned, place, master or local_master(workers), update, say, allow_code)
        _end(planned, done, place, as_json)


def _end(planned: Any, done: Any, place: Path, as_json: bool) -> None:
    """Print the ranking; exit unless all runs were made and none is violated."""
    from mobilenet.metrics.registry import axis_name
    from mobilenet.studies.sensitivity.sensitivity import rows
    from mobilenet.viz.words import probability

    for line in done.doubts:
        say(line)
    if done.failed:
        fail(f"{counted(len(done.failed), 'run')} failed; run the same command again to retry", Exit.UNFINISHED)
    metrics = planned.question.metrics
    found = rows(planned, place, metrics, planned.study.confidence)
    if as_json:
        say(json.dumps(found, indent=1), always=True)
    for metric in metrics:
        own = [row for row in found if row["metric"] == metric]
        say(f"Mean size of the change of {axis_name(metric, False)} over the range of each key, the largest first:")
        head = ("key", "size", "95 % interval", "signed", "spread", "p (Holm)")
        print_table(
            head,
            [
                (row["range"], f"{row['size']:.3g}", f"{max(0.0, row['low']):.3g} to {row['high']:.3g}",
                 f"{row['mean']:+.3g}", f"{row['spread']:.3g}", probability(row["p_adjusted"]))
                for row in own
            ],
            right=[1, 2, 3, 4, 5],
        )  # fmt: skip
    say(f"{quoted(place / 'sensitivity.csv')} contains all numbers")
    if done.violated:
        say(f"Next: mobilenet verify {quoted(done.store.runs / done.violated[0])}")
        raise typer.Exit(Exit.VIOLATED)
    say(f"Next: mobilenet report {quoted(place)}")
