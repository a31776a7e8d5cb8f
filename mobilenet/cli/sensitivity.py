"""The command that finds out which keys of a scenario matter most."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from mobilenet.cli.console import Exit, conclude, fail, print_table, reporting, say
from mobilenet.cli.options import AllowCode, AsJson, Master, Overrides, Quiet, ScenarioFile, Workers, refuse_both
from mobilenet.cli.progress import runs_progress
from mobilenet.cli.study import keeping_what_is_done
from mobilenet.quoting import pluralize, quote


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
        int,
        typer.Option(
            "--trajectories", min=4, metavar="N", help="Number of trajectories; each one changes every key once."
        ),
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
    by how much they change the metric on average. If the command was stopped, run it again to resume.
    """
    refuse_both(master, workers)
    with reporting(quiet, as_json=as_json):
        from mobilenet.lab.studies.sensitivity import sensitivity as screening
        from mobilenet.lab.studies.spark import local_master

        metrics = tuple(metric) if metric else (screening.METRIC,)
        question = screening.Question(
            scenario, tuple(keys), metrics, trajectories, replications, seed, tuple(overrides or ())
        )
        planned, place = screening.plan(question, allow_code), out or screening.default_directory(question)
        points = int(planned.numbers.max()) + 1
        runs = pluralize(points * replications, "run")
        say(f"{pluralize(len(planned.ranges), 'key')}, {pluralize(points, 'point')}, {runs} in all; {quote(place)}")
        with keeping_what_is_done(), runs_progress(quiet) as update:
            result = screening.run(planned, place, master or local_master(workers), update, say, allow_code)
        _end(planned, result, place, as_json)


def _end(planned: Any, result: Any, place: Path, as_json: bool) -> None:
    """Print the ranking. Exit with an error if runs are missing or a run violates a property."""
    from mobilenet.lab.studies.effects import BEFORE_DELAYS, SCREENING, study_effects
    from mobilenet.lab.studies.level_names import LevelNames
    from mobilenet.lab.studies.sensitivity import sensitivity as screening
    from mobilenet.lab.studies.sentences import changed_before, changes_in_numbers, conclusions
    from mobilenet.lab.studies.table_files import read_rows

    for line in result.doubts:
        say(line)
    if result.failed:
        fail(f"{pluralize(len(result.failed), 'run')} failed; run the same command again to retry", Exit.UNFINISHED)
    metrics, study = planned.question.metrics, planned.study
    rows = [row for row in read_rows(place, SCREENING) if row["metric"] in metrics]
    if as_json:
        say(json.dumps(rows, indent=1), always=True)
    words = study.words
    effects = study_effects(place, [screening.POINT], metrics, study.confidence)
    in_words = conclusions(effects, LevelNames({}), study.confidence, words)
    interval = f"{study.confidence * 100:g} % interval"
    for metric in metrics:
        say(f"Average change of {words.axis_name(metric)} over the range of each key, largest first:")
        own = {effect.levels[0][0]: effect for effect in effects if effect.metric == metric}
        changed = changed_before(list(own.values()))
        head = ["key", "size", interval, "signed", "spread", "p (Holm)"]
        head += [words for name in changed for words in (BEFORE_DELAYS[name], interval)]
        lines = [
            (*_line(row), *changes_in_numbers(own[row["key"]], changed)) for row in rows if row["metric"] == metric
        ]
        print_table(head, lines, right=range(1, len(head)))
        say(in_words[metric])
        conclude(in_words[metric])
    say(f"{quote(place / 'sensitivity.csv')} contains all numbers")
    if result.violated:
        say(f"Next: mobilenet verify {quote(result.store.runs / result.violated[0])}")
        raise typer.Exit(Exit.VIOLATED)
    say(f"Next: mobilenet report {quote(place)}")


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the table row of one key."""
    from mobilenet.viz.words import probability

    low, high = max(0.0, row["low"]), row["high"]
    return (
        row["range"], f"{row['size']:.3g}", f"{low:.3g} to {high:.3g}", f"{row['mean']:+.3g}",
        f"{row['spread']:.3g}", probability(row["p_adjusted"]),
    )  # fmt: skip
