"""Run a scenario, judge a run, and look at its numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from mobilenet.cli.console import Exit, print_table, progress, reporting, say
from mobilenet.cli.options import AllowCode, Overrides, Quiet, RunDirectory, ScenarioFile, Seed
from mobilenet.quoting import quoted
from mobilenet.rundir.schema import kind_of

EXITS = {"valid": Exit.FINE, "violated": Exit.VIOLATED, "unknown": Exit.UNKNOWN}


def run(
    scenario: ScenarioFile,
    seed: Seed = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The run directory; by default one below runs/.")
    ] = None,
    overrides: Overrides = None,
    allow_code: AllowCode = False,
    quiet: Quiet = False,
) -> None:
    """Simulate a scenario, judge it, and write its run directory."""
    with reporting():
        from mobilenet import api

        with progress(quiet, scenario.stem) as update:
            done = api.run(scenario, seed, out, overrides or [], update, allow_code)
        if not quiet:
            say(_summary(done))
        _print_violations(done.verdicts)
        if not quiet:
            _print_unknown(done.verdicts)
        say(f"Next: mobilenet show {quoted(done.path)}")
        raise typer.Exit(EXITS[done.verdict])


def check(scenario: ScenarioFile, overrides: Overrides = None) -> None:
    """Read a scenario and say whether it can run, without running it."""
    with reporting():
        from mobilenet.scenario import ProcessScenario, estimated_events, load_scenario

        loaded = load_scenario(scenario, overrides or [])
        lasts = (
            f"at most {loaded.duration:g} t.u." if isinstance(loaded, ProcessScenario) else f"{loaded.duration_s:g} s"
        )
        say(f"{scenario}: fine; {lasts}, about {estimated_events(loaded):,} events")
        say(f"Next: mobilenet run {quoted(scenario)}{' --allow-code' if any(loaded.code()) else ''}")


def verify(run: RunDirectory) -> None:
    """Judge a run directory anew, from its record alone."""
    with reporting():
        from mobilenet.api import judge_anew
        from mobilenet.verify.judge import overall

        verdicts, notes = judge_anew(run)
        _print_verdicts(verdicts)
        _print_violations(verdicts)
        for note in notes:
            say(note)
        answer = overall(verdicts)
        say(f"{run}: {answer}. Next: mobilenet show {quoted(run)}")
        raise typer.Exit(EXITS[answer])


def show(run: RunDirectory) -> None:
    """Print the metrics and the verdict of a run."""
    with reporting():
        from mobilenet.api import Run, shown

        opened = Run(run)
        verdicts = opened.verdicts
        table = Table("metric", "value", box=None, pad_edge=False)
        table.columns[1].justify = "right"
        for name, value in opened.metrics.items():
            table.add_row(name, shown(value))
        print_table(table)
        _print_verdicts(verdicts)
        _print_violations(verdicts)
        say(f"{run}: {opened.verdict}. Next: mobilenet verify {quoted(run)}")


def _summary(done: Any) -> str:
    from mobilenet.api import shown
    from mobilenet.engine.native import is_outdated

    m, manifest = done.metrics, done.manifest
    speed = manifest["simulated_s"] / max(manifest["wall_s"], 1e-9)
    if kind_of(manifest) == "processes":
        return _process_summary(done)
    outdated = "; compiled modules were changed and are interpreted now: python3 make.py setup" if is_outdated() else ""
    return (
        f"{manifest['simulated_s']:g} s simulated in {manifest['wall_s']:.1f} s ({speed:.0f} times as fast as"
        f" time{outdated})\n{shown(m['broadcasts'])} broadcasts, {shown(m['deliveries'])} deliveries, mean delay"
        f" {shown(m['delivery_delay_mean_s'])} s, {shown(m['handoffs'])} handoffs, {shown(m['crashes'])} crashes,"
        f" collision ratio {shown(m['collision_ratio'])}\nverdict: {done.verdict}"
    )


def _process_summary(done: Any) -> str:
    from mobilenet.api import shown

    m, manifest = done.metrics, done.manifest
    return (
        f"{manifest['processes']} processes, {manifest['simulated_s']:g} t.u. simulated in {manifest['wall_s']:.1f}"
        f" s\n{shown(m['broadcasts'])} broadcasts, {shown(m['deliveries'])} deliveries, latency {shown(m['latency'])}"
        f" t.u., {shown(m['messages'])} messages, {shown(m['crashes'])} crashes\nverdict: {done.verdict}"
    )


def _print_verdicts(verdicts: dict[str, Any]) -> None:
    table = Table("property", "verdict", "", box=None, pad_edge=False)
    for name, verdict in verdicts.items():
        reason = verdict.explanation if verdict.answer == "unknown" else ""
        table.add_row(name, verdict.answer, Text(reason))
    print_table(table)


def _print_unknown(verdicts: dict[str, Any]) -> None:
    """Each reason once, with the properties that cannot be judged for it."""
    reasons: dict[str, list[str]] = {}
    for name, verdict in verdicts.items():
        if verdict.answer == "unknown":
            reasons.setdefault(verdict.explanation, []).append(name)
    for reason, names in reasons.items():
        say(f"{', '.join(names)} unknown: {reason}")


def _print_violations(verdicts: dict[str, Any]) -> None:
    for name, verdict in verdicts.items():
        if verdict.answer == "violated":
            say(f"{name} violated: {verdict.explanation}")
