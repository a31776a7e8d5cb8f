"""The command that repeats a study's comparison with other radio models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mobilenet.cli.console import Exit, conclude, fail, print_table, reporting, say
from mobilenet.cli.options import AllowCode, Master, Quiet, Workers, refuse_both
from mobilenet.cli.progress import runs_progress
from mobilenet.cli.study import keeping_what_is_done
from mobilenet.quoting import pluralize, quote


def robust(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="A study file (YAML) with `compare:`.")],
    radios: Annotated[
        str | None,
        typer.Option(
            "--radios",
            metavar="LIST",
            help=(
                "Radios to use, separated by commas: disk, capture, log_distance, fading, shadowing, obstacles;"
                " by default all. The scenario's own radio always comes first."
            ),
        ),
    ] = None,
    obstacles: Annotated[
        Path | None,
        typer.Option("--obstacles", metavar="FILE", help="Buildings for the radio `obstacles` (GeoJSON, poly.xml)."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Directory to write to; by default a new one in studies/."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the radios and the number of runs.")] = False,
    master: Master = None,
    workers: Workers = None,
    allow_code: AllowCode = False,
    quiet: Quiet = False,
) -> None:
    """Repeat a comparison on other radio models."""
    with reporting(quiet and not dry_run):
        from mobilenet.lab.studies.robust import robust as robustness
        from mobilenet.lab.studies.robust.words import RADIO_HEAD, mac_sentence, radio_row
        from mobilenet.lab.studies.spark import local_master

        refuse_both(master, workers)
        chosen = None if radios is None else [name.strip() for name in radios.split(",") if name.strip()]
        plan = robustness.plan(study, chosen, obstacles, allow_code)
        print_table(RADIO_HEAD, [radio_row(radio) for radio in plan.radios])
        if mac := mac_sentence(plan):
            say(mac)
        say(f"{pluralize(len(plan.radios), 'radio')}, at least {plan.runs} runs on each")
        place = out or robustness.default_directory(plan.study, study)
        if dry_run:
            say(f"Next: {_again(study, radios, obstacles, out, allow_code)}")
            return
        with keeping_what_is_done(), runs_progress(quiet) as update:
            results = robustness.perform(plan, place, master or local_master(workers), update, allow_code, say)
        _end(plan, place, results)


def _end(plan: Any, place: Path, results: list[Any]) -> None:
    """Write and print the result for each radio. Exit with an error if runs are missing or a run violates a
    property.
    """
    from mobilenet.lab.studies.robust import robust as robustness
    from mobilenet.lab.studies.robust.words import markdown, totals, without_mean
    from mobilenet.lab.studies.table_files import write_table
    from mobilenet.record.atomic_files import write_whole
    from mobilenet.record.provenance import stamping_of
    from mobilenet.record.stamp import in_text
    from mobilenet.viz.files import together
    from mobilenet.viz.robust import draw

    failed = [f"{result.store.path.name}/{line}" for result in results for line in result.failed]
    violated = [result.store.runs / run for result in results for run in result.violated]
    for line in [f"failed: {line}" for line in failed[:10]] + [f"violated: {quote(run)}" for run in violated[:10]]:
        say(line, always=True)
    claims, unclear = robustness.judge(plan, place), without_mean(results)
    with (
        together(place) as fresh,
        stamping_of(place, f"mobilenet robust STUDY/study.yaml{results[0].store.permission()}"),
    ):
        write_table(fresh, "robust", robustness.rows(claims))
        write_whole(fresh / "robust.md", in_text(markdown(plan, claims, unclear), "\n<!-- ", " -->"))
        for suffix in ("svg", "png"):
            draw(plan.factor, plan.names, plan.study.confidence, claims, fresh / f"robust.{suffix}")
    _print_claims(plan, claims)
    for line in unclear:
        say(f"{line}: the backlog at stations and hosts keeps growing, so the mean is undefined")
    conclude(totals(claims))
    say(f"{totals(claims)}; {quote(place / 'robust.md')} contains the intervals, and robust.csv contains all numbers")
    if failed:
        fail(f"{pluralize(len(failed), 'run')} failed; run the same command again to retry", Exit.UNFINISHED)
    if violated:
        say(f"Next: mobilenet verify {quote(violated[0])}")
        raise typer.Exit(Exit.VIOLATED)
    say(f"Next: look at {quote(place / 'robust.png')}")


def _again(study: Path, radios: str | None, obstacles: Path | None, out: Path | None, allow_code: bool) -> str:
    """Return the command that repeats this comparison."""
    words = ["mobilenet robust", quote(study)]
    for option, value in (("--radios", radios), ("--obstacles", obstacles), ("--out", out)):
        words += [] if value is None else [option, quote(Path(value))]
    return " ".join([*words, *(["--allow-code"] if allow_code else [])])


def _print_claims(plan: Any, claims: list[Any]) -> None:
    from mobilenet.lab.studies.robust.verdicts import pair_of, ratios_of
    from mobilenet.lab.studies.robust.words import cells, deliveries, name_of

    for line in deliveries(claims, plan):
        say(line)
    as_ratios = ratios_of(claims)
    head = ("metric", "comparison", *(radio.name for radio in plan.radios), "verdict")
    print_table(
        head,
        [
            (
                c.metric,
                name_of(c, plan),
                *cells(c, c.metric in as_ratios, intervals=False),
                c.verdict_in_full(pair_of(c, plan.factor, plan.names)),
            )
            for c in claims
        ],
    )
