"""The command line. No logic: it reads options, calls the package, and prints; how it ends is in console.py.

Source    ours: DESIGN.md §9
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from mobilenet import __version__
from mobilenet.console import (
    Exit,
    Group,
    Stopped,
    counting,
    fail,
    out_console,
    progress,
    quoted,
    reporting,
    runs_progress,
    say,
)

app = typer.Typer(
    cls=Group,
    name="mobilenet",
    help="Emulate mobile networks and the broadcast protocols that run on them.",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="A scenario file (YAML).")]
RunDirectory = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")]
Overrides = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change one value, as in hosts.count=20. Repeatable.")
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", help="Instead of the scenario's seed.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no table.")]


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

        with progress(quiet, scenario.stem) as update:
            done = runs.run(scenario, seed, out, overrides or [], update)
        if not quiet:
            say(_summary(done))
        _print_violations(done.verdicts)
        say(f"Next: mobilenet show {quoted(done.path)}")
        raise typer.Exit(Exit.VIOLATED if done.verdict == "violated" else Exit.FINE)


@app.command()
def check(scenario: ScenarioFile, overrides: Overrides = None) -> None:
    """Read a scenario and say whether it can run, without running it."""
    with reporting():
        from mobilenet.scenario import estimated_events, load_scenario

        loaded = load_scenario(scenario, overrides or [])
        say(f"{scenario}: fine; {loaded.duration_s:g} s, about {estimated_events(loaded):,} events")
        say(f"Next: mobilenet run {quoted(scenario)}")


@app.command()
def verify(run: RunDirectory) -> None:
    """Judge a run directory anew, from its record alone."""
    with reporting():
        from mobilenet.runs import judge_anew
        from mobilenet.verify.judge import overall

        verdicts, notes = judge_anew(run)
        _print_verdicts(verdicts)
        _print_violations(verdicts)
        for note in notes:
            say(note)
        answer = overall(verdicts)
        say(f"{run}: {answer}. Next: mobilenet show {quoted(run)}")
        raise typer.Exit(Exit.VIOLATED if answer == "violated" else Exit.FINE)


@app.command()
def show(run: RunDirectory) -> None:
    """Print the metrics and the verdict of a run."""
    with reporting():
        from mobilenet.runs import Run, shown

        opened = Run(run)
        verdicts = opened.verdicts
        table = Table("metric", "value", box=None, pad_edge=False)
        table.columns[1].justify = "right"
        for name, value in opened.metrics.items():
            table.add_row(name, shown(value))
        out_console.print(table)
        _print_verdicts(verdicts)
        _print_violations(verdicts)
        say(f"{run}: {opened.verdict}. Next: mobilenet verify {quoted(run)}")


@app.command()
def swarm(
    count: Annotated[int, typer.Option("--count", min=1, help="How many schedules.")] = 100,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The first schedule's seed; the others follow.")] = 1,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Processes.")] = os.cpu_count() or 1,
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="DIR", help="Where run directories go that are not valid.")
    ] = None,
) -> None:
    """Run small random hostile scenarios and judge each of them: even seeds without physics, odd ones on the radio."""
    with reporting():
        from mobilenet.swarm.hunt import hunt

        started = time.perf_counter()
        violated = 0
        tally: dict[str, int] = {}
        with counting(count) as advance:
            for result in hunt(range(seed, seed + count), workers, keep):
                advance()
                tally[result.answer] = tally.get(result.answer, 0) + 1
                if result.answer == "violated":
                    violated += 1
                    say(f"schedule {result.seed} ({result.network}) violated:\n{result.explanation}")
                    say(f"Repeat: mobilenet swarm --count 1 --seed {result.seed} --keep runs")
                elif result.answer == "unknown":
                    say(f"schedule {result.seed} ({result.network}) unknown: {result.explanation.splitlines()[0]}")
        parts = ", ".join(f"{number} {answer}" for answer, number in sorted(tally.items()))
        say(f"{count} schedules in {time.perf_counter() - started:.0f} s: {parts}")
        say(f"Next: mobilenet swarm --count {count} --seed {seed + count}")
        raise typer.Exit(Exit.VIOLATED if violated else Exit.FINE)


@app.command()
def bench(
    repeat: Annotated[int, typer.Option("--repeat", min=1, help="Runs of each case; the median counts.")] = 3,
    table: Annotated[Path, typer.Option("--csv", metavar="FILE", help="The table that lines are appended to.")] = Path("bench.csv"),
    studies: Annotated[bool, typer.Option(help="Also measure studies on Spark.")] = True,
) -> None:
    """Measure the speed of the simulator beside that of a bare event queue."""
    with reporting():
        from mobilenet import bench

        try:
            table.open("a").close()
        except OSError as error:
            fail(f"{table}: cannot be written: {error.strerror}", Exit.BAD_INPUT)
        say("case         hosts  simulated s  frames     a bare queue   in          cost of ten")
        say("                   per CPU s    per CPU s  M events/s     proportion  times the nodes")
        for row in bench.measure(repeat):
            factor = "" if row.cost_factor is None else f"{row.cost_factor:.1f}"
            mark = {True: "pass", False: "MISS", None: ""}[row.passed]
            say(
                f"{row.case:11} {row.hosts:6}  {row.simulated_s_per_cpu_s:<11.4g}  {row.frames_per_cpu_s:<9,.0f}  "
                f"{row.yardstick_events_per_s / 1e6:<13.2f}  {row.in_proportion:<10.3g}  {factor:15}  {mark}"
            )
            bench.append(table, row)
        if studies:
            from mobilenet.study import speed

            say("\nstudies        simulations a minute  s to start  Spark's overhead")
            for study in speed.measure_studies():
                overhead = "" if study.overhead is None else f"{study.overhead:+.1%}"
                say(f"{study.master:14} {study.runs_per_minute:<21g} {study.start_s:<11g} {overhead}")
                speed.append(table.with_name(f"{table.stem}_studies.csv"), study)
        say(f"Next: look at {quoted(table)}; the targets are in mobilenet/bench.py")


@app.command()
def study(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="A study file (YAML).")],
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="The study's directory; by default one below studies/.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say which runs there would be, how long they take, and how big they are.")] = False,
    master: Annotated[str | None, typer.Option("--master", metavar="URL", help="local[N], spark://HOST:PORT, yarn, ...; by default this machine.")] = None,
    workers: Annotated[int | None, typer.Option("--workers", min=1, metavar="N", help="Cores of this machine; by default all.")] = None,
    quiet: Quiet = False,
) -> None:
    """Run a study: many runs of a scenario under different factors, on Spark, with tables and a comparison."""
    with reporting():
        from mobilenet.study import study as studies
        from mobilenet.study.batch import JobLost
        from mobilenet.study.spark import local_master

        if dry_run:
            _print_estimates(studies.estimate(study))
            say(f"Next: mobilenet study {quoted(study)}")
            return
        if master is not None and workers is not None:
            fail("--workers counts cores of this machine; with --master the master says how many there are", Exit.BAD_INPUT)
        try:
            with runs_progress(quiet) as update:
                done = studies.run_study(study, out, master or local_master(workers), update)
        except (Stopped, KeyboardInterrupt):
            fail("stopped; the runs that are done are kept, and the same command goes on", Exit.UNFINISHED)
        except JobLost as error:
            fail(f"Spark lost the job: {error}; the runs that are done are kept, and the same command goes on", Exit.UNFINISHED)
        _print_study(done, quiet)
        if done.failed:
            fail(f"{len(done.failed)} runs failed; the same command tries them again", Exit.UNFINISHED)
        if done.violated:
            say(f"Next: mobilenet verify {quoted(done.store.runs / done.violated[0])}")
            raise typer.Exit(Exit.VIOLATED)
        compares = done.store.study.compare is not None
        say(f"Next: {'mobilenet compare ' + quoted(done.store.path) if compares else 'look at ' + quoted(done.store.tables / 'summary.csv')}")


@app.command()
def compare(study: Annotated[Path, typer.Argument(metavar="STUDY", help="The directory of a finished study.")]) -> None:
    """Compare the levels of a factor over the same worlds: by how much they differ, and how sure that is."""
    with reporting():
        from mobilenet.study.study import compare_study, shown_finding
        from viz.comparison import draw

        found = compare_study(study)
        for where in dict.fromkeys(finding.where for finding in found):
            say(f"\n{where}" if where else "")
            for finding in found:
                if finding.where == where:
                    for line in shown_finding(finding):
                        say(line)
        for suffix in ("svg", "png"):
            draw(study, study / f"comparison.{suffix}")
        say(f"{quoted(study)}: {len(found)} comparisons. Next: look at {quoted(study / 'comparison.png')}")


@app.command()
def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="mobile (Wilhelm et al. 2020), bundling (Rodrigues et al. 2018), reliable (Jeanneau et al. 2017).")],
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Where studies and tables go; by default studies/reproduce-PAPER.")] = None,
    master: Annotated[str | None, typer.Option("--master", metavar="URL", help="As for study.")] = None,
    workers: Annotated[int | None, typer.Option("--workers", min=1, metavar="N", help="Cores of this machine; by default all.")] = None,
    max_n: Annotated[int, typer.Option("--max-n", min=8, help="bundling, reliable: the largest number of processes.")] = 1024,
    processes: Annotated[int | None, typer.Option("--processes", min=8, max=1024, help="bundling, reliable: only this number.")] = None,
    quiet: Quiet = False,
) -> None:
    """Run the experiments of a paper, and print each of its figures beside ours. Goes on where it was stopped."""
    with reporting():
        from mobilenet.reproduce import bundling, mobile, reliable
        from mobilenet.study.batch import JobLost
        from mobilenet.study.spark import local_master

        if paper not in ("mobile", "bundling", "reliable"):
            fail(f"{paper}: no such paper; there are: mobile, bundling, reliable", Exit.BAD_INPUT)
        folder = out if out is not None else Path("studies") / f"reproduce-{paper}"
        tell = (lambda line: None) if quiet else say
        if paper == "bundling":
            _print_rows(bundling.HEAD, bundling.reproduce(folder, max_n, processes, workers, tell))
            say(f"Next: look at {quoted(folder / 'bundling.md')}")
            return
        if paper == "reliable":
            rows, statements = reliable.reproduce(folder, max_n, processes, workers, tell)
            _print_rows(reliable.HEAD, rows)
            for statement in statements:
                say(f"{statement['answer']}: {statement['statement']} ({statement['place']})")
            say(f"Next: look at {quoted(folder / 'reliable.md')}")
            return
        try:
            with runs_progress(quiet) as update:
                lines = mobile.reproduce(folder, master or local_master(workers), update, (lambda line: None) if quiet else say)
        except (Stopped, KeyboardInterrupt):
            fail("stopped; the runs that are done are kept, and the same command goes on", Exit.UNFINISHED)
        except JobLost as error:
            fail(f"Spark lost the job: {error}; the runs that are done are kept, and the same command goes on", Exit.UNFINISHED)
        for line in lines:
            say(f"{line.experiment}, {line.protocol}: {line.quantity}: {line.printed or 'nothing'} in print, {line.ours} here{': ' + line.verdict if line.verdict else ''}")
        say(f"Next: look at {quoted(folder / 'mobile.md')}")


def _print_rows(head: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    table = Table(*head, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(Text("" if row[name] is None else str(row[name])) for name in head))
    out_console.print(table)


def _print_estimates(estimates: list[Any]) -> None:
    table = Table("configuration", "runs", "s each", "MB each", box=None, pad_edge=False)
    for e in estimates:
        runs = f"{e.runs}" if e.runs == e.most_runs else f"{e.runs} to {e.most_runs}"
        table.add_row(Text(e.configuration.label), runs, f"{e.cpu_s:.1f}", f"{e.disk_bytes / 1e6:.2f}")
    out_console.print(table)
    for name, count in (("at least", [e.runs for e in estimates]), ("at most", [e.most_runs for e in estimates])):
        cpu_s = sum(n * e.cpu_s for n, e in zip(count, estimates, strict=True))
        size = sum(n * e.disk_bytes for n, e in zip(count, estimates, strict=True))
        say(f"{name} {sum(count)} runs: {cpu_s:.0f} s of one core, {size / 1e6:.0f} MB")


def _print_study(done: Any, quiet: bool) -> None:
    for line in done.failed[:10]:
        say(f"failed: {line}")
    for run in done.violated[:10]:
        say(f"violated: {run}")
    for configuration in done.unstable:
        say(f"unstable: {configuration.label}: what waits at stations and hosts grows to the end, so there is no mean")
    if not quiet:
        say(f"{done.done} runs done, {len(done.failed)} failed, {len(done.violated)} violated; tables in {quoted(done.store.tables)}")


def _summary(done: Any) -> str:
    from mobilenet.runs import shown

    m, manifest = done.metrics, done.manifest
    speed = manifest["simulated_s"] / max(manifest["wall_s"], 1e-9)
    if "processes" in manifest:
        return _process_summary(done)
    return (
        f"{manifest['simulated_s']:g} s simulated in {manifest['wall_s']:.1f} s ({speed:.0f} times as fast as time)\n"
        f"{shown(m['broadcasts'])} broadcasts, {shown(m['deliveries'])} deliveries, "
        f"mean delay {shown(m['delivery_delay_mean_s'])} s, {shown(m['handoffs'])} handoffs, "
        f"{shown(m['crashes'])} crashes, collision ratio {shown(m['collision_ratio'])}\n"
        f"verdict: {done.verdict}"
    )


def _process_summary(done: Any) -> str:
    from mobilenet.runs import shown

    m, manifest = done.metrics, done.manifest
    return (
        f"{manifest['processes']} processes, {manifest['simulated_s']:g} t.u. simulated in {manifest['wall_s']:.1f} s\n"
        f"{shown(m['broadcasts'])} broadcasts, {shown(m['deliveries'])} deliveries, latency {shown(m['latency'])} t.u., "
        f"{shown(m['messages'])} messages, {shown(m['crashes'])} crashes\n"
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
            say(f"{name} violated: {verdict.explanation}")


def _version(wanted: bool) -> None:
    if wanted:
        say(f"mobilenet {__version__}")
        raise typer.Exit()


@app.callback()
def main(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Emulate mobile networks and the broadcast protocols that run on them."""
    if context.invoked_subcommand is None:
        say(context.get_help())
        say("\nNext: mobilenet run scenarios/first.yaml")
