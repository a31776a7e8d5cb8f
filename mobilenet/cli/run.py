"""Commands that run a scenario, judge a run, and show its metrics."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from mobilenet.cli.console import DAMAGED, DIFFERS, Exit, conclude, fail, print_table, reporting, say
from mobilenet.cli.options import (
    AllowCode,
    AsJson,
    Force,
    Metrics,
    NewRun,
    Overrides,
    Quiet,
    RunOrStudy,
    ScenarioFile,
    Seed,
)
from mobilenet.cli.progress import JUDGING, progress, work_until
from mobilenet.engine.gc_pause import no_collections, set_modules_aside
from mobilenet.engine.scratch import scratch_folder
from mobilenet.quoting import cut, format_number, pluralize, quote, spell_out, unknown

MOST_PARTITIONS = 10  # the maximum number of partitions in a summary
EXITS = {
    "valid": Exit.FINE,
    "violated": Exit.VIOLATED,
    DIFFERS: Exit.VIOLATED,
    DAMAGED: Exit.BAD_INPUT,
    "unknown": Exit.UNKNOWN,
}


def run(
    scenario: ScenarioFile,
    seed: Seed = None,
    out: NewRun = None,
    overrides: Overrides = None,
    allow_code: AllowCode = False,
    force: Force = False,
    twice: Annotated[
        bool, typer.Option("--twice", help="Run the scenario a second time and report the first difference.")
    ] = False,
    quiet: Quiet = False,
    check_simulator: Annotated[bool, typer.Option("--check-simulator", hidden=True)] = False,
) -> None:
    """Simulate a scenario and check the result.

    The command writes the events, metrics and verdicts to a run directory.
    """
    with reporting(quiet):
        with no_collections():
            from mobilenet import api
            from mobilenet.record.killed_runs import partial_record
            from mobilenet.scenario.loader import as_options, given_scenario

        set_modules_aside()
        changes = as_options([*(overrides or []), *(["record.programs=true"] if twice else [])], seed)
        given = given_scenario(scenario, None, changes)
        path = out or api.free_directory(given.name or scenario.stem, given.seed, force)
        with progress(quiet, scenario.stem, JUDGING, partial(work_until, given)) as update, offering_force():
            result = api.run(given, None, path, (), update, allow_code, replace=force, check_simulator=check_simulator)
        if twice:
            _require_the_same(result, allow_code, quiet)
        say(_summary(result))
        if (killed := partial_record(result.path)).is_dir():
            say(f"{killed}: what a killed run of this name had recorded")
        conclude(f"{result.path}: {result.answer}")
        end_with_verdicts(result)


@contextmanager
def offering_force() -> Iterator[None]:
    """Explain how to replace the target if it already exists."""
    from mobilenet.record.writer import AlreadyThere

    try:
        yield
    except AlreadyThere as error:
        if error.path.is_symlink() or not (error.path / "manifest.json").is_file():
            raise AlreadyThere(error.path) from None  # only an existing run may be replaced
        raise AlreadyThere(error.path, "replace it with --force, or name another directory with --out") from None


def end_with_verdicts(result: Any) -> NoReturn:
    """Print violations, unknown properties, missing deliveries and metrics without values. Exit with the code for the
    verdict.
    """
    _print_violations(result.verdicts)
    _print_unknown(result.verdicts)
    _print_warnings(result.warnings)
    _print_owed(result)
    _print_failed_metrics(result)
    if stderr_files := sorted(result.path.glob("*.stderr.txt")):
        example = ", for example" if stderr_files[1:] else ""
        say(f"{pluralize(len(stderr_files), 'program')} wrote to standard error; see {quote(stderr_files[0])}{example}")
    say(f"Next: mobilenet show {quote(result.path)}")
    failed = result.failed_metrics and result.verdict != "violated"
    raise typer.Exit(Exit.BAD_INPUT if failed else EXITS[result.verdict])


def _require_the_same(result: Any, allow_code: bool, quiet: bool) -> None:
    """Run the scenario again. If the record differs, report the first difference and exit."""
    from mobilenet import api
    from mobilenet.lab.replay.transcript import first_difference, lines_of

    with scratch_folder("twice") as folder, progress(quiet, "again", JUDGING) as update:
        again = api.run(result.path / "scenario.yaml", None, folder / "again", [], update, allow_code)
        same = again.manifest["fingerprint"] == result.manifest["fingerprint"]
        parting = None
        if (result.path / "lines.parquet").exists() and len(result.lines):
            parting = first_difference(lines_of(result.path)[0], lines_of(again.path)[0])
        if same and parting is None:
            say("both runs have the same events, and every program wrote the same lines")
            return
    if parting is None:
        fail(
            f"{result.path}: two runs of the scenario have different events, although all programs"
            " wrote the same lines",
            Exit.BAD_INPUT,
        )
    way = "wrote" if parting.is_output else "received"
    pair = [("nothing more" if text is None else spell_out(cut(text, 300))) for text in (parting.once, parting.then)]
    fail(
        f"{parting.node}: two runs differ in line {parting.number} of the lines that its program {way} in life"
        f" {parting.life}; the first run has {pair[0]}, the second {pair[1]}; expected a program whose output depends"
        " only on its input",
        Exit.BAD_INPUT,
    )


def check(scenario: ScenarioFile, overrides: Overrides = None, quiet: Quiet = False) -> None:
    """Check a scenario without running it."""
    with reporting(quiet):
        from mobilenet.forecast import describe_effort, forecast, shortages
        from mobilenet.protocols.names import REAL_TIME
        from mobilenet.scenario import load_scenario
        from mobilenet.scenario.plans.by_kind import plans_of

        loaded = load_scenario(scenario, overrides or [])
        foreseen = forecast(loaded)
        say(f"{scenario}: no problems found; {loaded.lasts} of simulated time, {describe_effort(loaded, foreseen)}")
        conclude(f"{scenario}: no problems found")
        lacking = shortages(loaded, foreseen, Path()) if foreseen is not None else ()
        for line in (*loaded.warnings(), *loaded.doubts_about_files(), *lacking):
            say(f"warning: {line}", always=True)
        for reason in plans_of(loaded).doubts(loaded):
            say(f"the verdict may be unknown: {reason}")
        again = "".join(f" --set {shlex.quote(override)}" for override in overrides or ())
        verb = "serve" if loaded.protocol.name in REAL_TIME else "run"
        say(f"Next: mobilenet {verb} {quote(scenario)}{again}{' --allow-code' if any(loaded.code()) else ''}")


def verify(
    run: RunOrStudy,
    repeat: Annotated[
        bool, typer.Option("--repeat", help="Also repeat the run and compare the two records row by row.")
    ] = False,
    allow_code: AllowCode = False,
    share: Annotated[
        float | None,
        typer.Option("--share", min=0, max=1, help="With --repeat, for a study: share of its runs, evenly spaced."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Check that a run kept its promises.

    For a study, the command checks each run.
    """
    with reporting(quiet, reads=[run]):
        from mobilenet.viz.study_tables import is_study

        if share is not None and not (repeat and is_study(run)):
            fail("--share applies only to a study, with --repeat", Exit.BAD_INPUT)
        if is_study(run):
            from mobilenet.cli.study_results import verify_study

            part = 0.0 if not repeat else 1.0 if share is None else share
            answer = verify_study(run, part, allow_code, quiet)
            say(f"Next: mobilenet show {quote(run)}")
            raise typer.Exit(EXITS[answer])
        from mobilenet.cli.record_check import judge_recorded
        from mobilenet.judgement import answer_in_words
        from mobilenet.verify.declarations import scenario_of, warnings_by

        answer, verdicts, notes, wrong = judge_recorded(run, repeat, allow_code, quiet)
        if answer == DIFFERS:
            conclude(f"{run}: {DIFFERS}")
            say(f"{run}: {DIFFERS}. Next: mobilenet verify {quote(run)}")
            raise typer.Exit(EXITS[DIFFERS])
        _print_verdicts(verdicts)
        _print_violations(verdicts)
        _print_warnings(warnings_by(scenario_of(run)))
        for note in (*notes, *wrong):
            say(note, always=True)
        words = answer if wrong else answer_in_words(verdicts, _delivery_ratio(run))
        conclude(f"{run}: {words}")
        say(f"{run}: {words}" if wrong else f"{run}: {words}. Next: mobilenet report {quote(run)}")
        raise typer.Exit(EXITS[answer])


def _delivery_ratio(directory: Path) -> float | int | None:
    """Return the delivery ratio in metrics.json, or None if it cannot be read."""
    from mobilenet.record.reader import RunError, read_derived

    try:
        return read_derived(directory, "metrics.json", "deliveries").get("delivery_ratio")
    except RunError:
        return None


def show(
    run: RunOrStudy,
    metrics: Metrics = None,
    shows_all: Annotated[bool, typer.Option("--all", help="Print every metric of a run.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the main metrics and the verdict.

    For a study, the command prints the means of each configuration with their intervals.
    """
    with reporting(reads=[run]):
        from mobilenet.viz.study_tables import is_study

        if is_study(run):
            from mobilenet.cli.study_results import show_study

            if shows_all:
                fail(
                    f"--all applies only to runs; {quote(run)} is a study; expected --metric or --json", Exit.BAD_INPUT
                )
            show_study(run, metrics or (), as_json)
            return
        from mobilenet.api import Run
        from mobilenet.metrics.registry import VOCABULARIES
        from mobilenet.record.killed_runs import facts_of_killed
        from mobilenet.record.kinds import run_kind
        from mobilenet.record.reader import glance_at_tables
        from mobilenet.scenario.radio_words import radio_of_run

        if (killed := facts_of_killed(run)) is not None:
            _show_killed(run, killed)
        opened = Run(run)
        glance_at_tables(run, opened.manifest)
        verdicts = opened.verdicts
        if as_json:
            _print_json(opened)
            return
        own, kind = opened.manifest.get("own_metrics"), run_kind(opened.manifest)
        words, own = VOCABULARIES[kind.name], own if isinstance(own, dict) else None
        if strangers := [name for name in metrics or () if name not in opened.metrics]:
            fail(f"--metric: {unknown('metric', strangers[0], list(opened.metrics))}", Exit.BAD_INPUT)
        chosen = metrics or (list(opened.metrics) if shows_all else words.main(opened.metrics, own or ()))
        rows = [(name, format_number(opened.metrics[name]), words.meaning(name, own)) for name in chosen]
        print_table(("metric", "value", "what it is"), rows, right=[1])
        if not metrics and (others := len(opened.metrics) - len(chosen)):
            say(f"{pluralize(others, 'further metric')}: mobilenet show {quote(run)} --all")
        if (radio := radio_of_run(run)) is not None:
            say(f"radio: {radio}")
        _print_verdicts(verdicts)
        _print_violations(verdicts)
        _print_warnings(opened.warnings)
        _print_owed(opened)
        _print_failed_metrics(opened)
        if stopped := stopped_in_words(opened.manifest.get("real_time", {})):
            say(stopped)
        say(f"{run}: {opened.answer}. Next: mobilenet {kind.look} {quote(run)}")


def _show_killed(directory: Path, facts: dict[str, Any]) -> NoReturn:
    """Summarise the record of a run whose process was killed."""
    print_table(
        ("table", "rows", "file"),
        [(name, f"{rows:,}", f"{directory / name}.parquet") for name, rows in facts["rows"].items()],
        right=[1],
    )
    say(f"the run was killed; its tables hold every row up to {facts['whole_until_s']:g} s; it has no verdict")
    say(f"{directory}: incomplete. Next: run the scenario again, or read the tables with pyarrow.parquet")
    raise typer.Exit(Exit.UNFINISHED)


def stopped_in_words(facts: dict[str, Any]) -> str | None:
    """Describe the programs that kept running after the active part, from `real_time` of a manifest. Return None if
    there were none.
    """
    names: dict[str, list[str]] = {}
    for node, last_signal in facts.get("programs_stopped", {}).items():
        names.setdefault(last_signal, []).append(node)
    if not names:
        return None
    return "programs still running after duration_s ended by " + "; by ".join(
        f"{last_signal}: {', '.join(nodes)}" for last_signal, nodes in sorted(names.items(), reverse=True)
    )


def _print_json(opened: Any) -> None:
    """Print the metrics and the verdict of a run as JSON."""
    verdicts = {name: asdict(verdict) for name, verdict in opened.verdicts.items()}
    say(json.dumps({"verdict": opened.verdict, "properties": verdicts, "metrics": opened.metrics}, indent=1))


def _summary(result: Any) -> str:
    from mobilenet.engine.native import why_interpreted
    from mobilenet.record.kinds import PROCESSES, run_kind

    m, manifest = result.metrics, result.manifest
    speed = manifest["simulated_s"] / max(manifest["wall_s"], 1e-9)
    if run_kind(manifest) is PROCESSES:
        return _process_summary(result)
    interpreted = why_interpreted()
    outdated = f"; {interpreted}" if interpreted else ""
    handoffs = f" {pluralize(m['handoffs'], 'handoff')}," if "handoffs" in m else ""
    return (
        f"{manifest['simulated_s']:g} s simulated in {_wall(manifest)} ({speed:.{0 if speed >= 10 else 2}f} times real"
        f" time{outdated})\n{pluralize(m['broadcasts'], 'broadcast')}, {pluralize(m['deliveries'], 'delivery')}, mean"
        f" delay {format_number(m['delivery_delay_mean_s'])} s,{handoffs} {pluralize(m['crashes'], 'crash')},"
        f" collision ratio {format_number(m['collision_loss_ratio'])}\nverdict: {result.answer}"
    )


def _wall(manifest: Any) -> str:
    wall_s = manifest["wall_s"]
    return f"{wall_s:.1f} s" if wall_s >= 0.1 else f"{wall_s:.1g} s"


def _process_summary(result: Any) -> str:
    m, manifest = result.metrics, result.manifest
    lost = result.counters["messages"].get("lost")
    of_them = f", {lost} of them lost" if lost else ""
    return "\n".join(
        [
            f"{pluralize(manifest['processes'], 'process')}, {manifest['simulated_s']:g} t.u. simulated in"
            f" {_wall(manifest)}",
            f"{pluralize(m['broadcasts'], 'broadcast')}, {pluralize(m['deliveries'], 'delivery')}, latency"
            f" {format_number(m['latency'])} t.u., {pluralize(m['messages'], 'message')}{of_them},"
            f" {pluralize(m['crashes'], 'crash')}",
            *([] if lost is None else _partitions(result.path)),
            f"verdict: {result.answer}",
        ]
    )


def _partitions(directory: Path) -> list[str]:
    """Return a line for each network partition between processes. Events do not record partitions."""
    from mobilenet.scenario import load_scenario

    network: Any = load_scenario(directory / "scenario.yaml").network  # type: ignore[union-attr]
    return [
        f"partition from {one.since:g} to {one.until:g} t.u.: {cut(', '.join(one.apart), 60)} separated from all others"
        for one in network.partitions[:MOST_PARTITIONS]
    ]


def _print_verdicts(verdicts: dict[str, Any]) -> None:
    """Print the verdicts as a narrow table, and notes about them in lines below it."""
    print_table(("property", "verdict"), [(name, verdict.answer) for name, verdict in verdicts.items()])
    _print_unknown(verdicts)


def _print_unknown(verdicts: dict[str, Any]) -> None:
    """Print each reason once, with the properties that are unknown for this reason."""
    reasons: dict[str, list[str]] = {}
    for name, verdict in verdicts.items():
        if verdict.answer == "unknown":
            reasons.setdefault(verdict.explanation, []).append(name)
    for reason, names in reasons.items():
        say(f"{', '.join(names)} unknown: {reason}")


def _print_warnings(warnings: list[str]) -> None:
    for line in warnings:
        say(f"warning: {line}", always=True)


def _print_owed(run: Any) -> None:
    """Print the deliveries that were still missing when the run ended."""
    if owed := run.still_owed:
        say(owed)


def _print_failed_metrics(run: Any) -> None:
    for name, what in run.failed_metrics.items():
        say(f"metric {name} has no value: {what}", always=True)


def _print_violations(verdicts: dict[str, Any]) -> None:
    for name, verdict in verdicts.items():
        if verdict.answer == "violated":
            say(f"{name} violated: {verdict.explanation}", always=True)
