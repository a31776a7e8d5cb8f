"""The command that explores all orders of events in small networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mobilenet.cli.console import Exit, fail, reporting, say

if TYPE_CHECKING:
    from mobilenet.lab.hunt.exhaustion.campaign import Report
    from mobilenet.lab.hunt.exhaustion.search import Progress

EVERY_S = 10.0  # the interval between two progress lines


def exhaust(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[CASE]...", help="Cases to explore; by default all.")
    ] = None,
    minutes: Annotated[float, typer.Option("--minutes", min=0.01, help="Time limit for each case.")] = 15.0,
    gib: Annotated[float, typer.Option("--gib", min=0.1, help="Memory limit for each case.")] = 16.0,
    listing: Annotated[bool, typer.Option("--list", help="List the cases and their bounds.")] = False,
) -> None:
    """Check every order of events in small networks.

    The shipped classes of hosts and stations of the mobile causal broadcast run on a network that tries every order
    of events: frames are lost, duplicated, delayed and reordered, timers fire in any order, and hosts crash or move
    at any moment.
    The result holds within the bounds that are printed. It does not extend to larger networks.
    """
    with reporting():
        from mobilenet.lab.hunt.exhaustion.campaign import CaseProgress, bounds, explore
        from mobilenet.lab.hunt.exhaustion.cases import CASES

        for name in names or ():
            if name not in CASES:
                fail(f"{name}: no such case; expected one of {', '.join(CASES)}", Exit.BAD_INPUT)
        chosen = [CASES[name] for name in names or CASES]
        if listing:
            for case in chosen:
                say(f"{case.name}: {bounds(case)}")
            return
        reports: list[Report] = []
        last_s = 0.0
        for update in explore(chosen, minutes * 60, gib):
            if isinstance(update, CaseProgress):
                case, progress = update
                if progress.seconds < last_s:
                    last_s = 0.0
                if progress.seconds - last_s >= EVERY_S:
                    last_s = progress.seconds
                    say(f"  {case.name}: {_so_far(progress)}, {progress.waiting:,} waiting")
                continue
            reports.append(update)
            last_s = 0.0
            say(f"{update.case.name}: {bounds(update.case)}")
            _say_report(update)
        outcomes = [report.result.outcome for report in reports]
        if "violated" in outcomes:
            say("Next: repeat the trace on the controllable network, mobilenet/lab/hunt/controlled")
            raise typer.Exit(Exit.VIOLATED)
        if "stopped" in outcomes:
            name = reports[outcomes.index("stopped")].case.name
            say(f"Next: mobilenet exhaust {name} --minutes {2 * minutes:g} --gib {gib:g}")
            raise typer.Exit(Exit.UNKNOWN)
        say("Next: mobilenet swarm --count 200, for networks too large to search exhaustively")


def _so_far(progress: Progress) -> str:
    return (
        f"{progress.states:,} states, {progress.transitions:,} transitions, depth {progress.depth}, "
        f"{progress.seconds:.1f} s, {progress.gib:.2f} GiB"
    )


def _say_report(report: Report) -> None:
    result = report.result
    say(
        f"  {result.states:,} states ({result.covering:,} if frames and bounds are included), "
        f"{result.transitions:,} transitions, depth {result.depth}, {result.seconds:.1f} s, {result.gib:.2f} GiB"
    )
    if result.violation is not None:
        say(f"  violated: {result.violation.check}: {result.violation.explanation}")
        for line in report.trace:
            say(line)
    elif result.outcome == "exhausted":
        say("  exhausted: no violation")
    else:
        say("  stopped at the limit: not exhausted, no violation so far")
