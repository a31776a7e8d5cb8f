"""The command line: which commands there are. How they end is in console.py.

Source    ours: docs/architecture/command-line.md
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from mobilenet import __version__
from mobilenet.cli import (
    bench,
    examples,
    exhaust,
    explore,
    export,
    live,
    pictures,
    programs,
    robust,
    run,
    serve,
    study,
    swarm,
    tracks,
)
from mobilenet.cli.console import Group, say
from mobilenet.engine import native

app = typer.Typer(
    cls=Group,
    name="mobilenet",
    help="Emulate mobile networks and the broadcast protocols that run on them.",
    invoke_without_command=True,
    add_completion=True,  # mobilenet --install-completion
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

PANELS: dict[str, dict[str, Callable[..., None]]] = {
    "Run and watch": {"run": run.run, "live": live.live, "serve": serve.serve, "check": run.check},
    "Look": {
        "show": run.show, "map": pictures.map_, "figures": pictures.figures, "report": pictures.report,
        "spacetime": explore.spacetime,
    },
    "Compare": {
        "study": study.study, "compare": study.compare, "robust": robust.robust, "reproduce": study.reproduce,
        "diff": explore.diff,
    },
    "Find mistakes": {
        "verify": run.verify, "replay": programs.replay, "shrink": programs.shrink, "swarm": swarm.swarm,
        "exhaust": exhaust.exhaust,
    },
    "Your own": {
        "examples": examples.examples, "reference": explore.reference, "schema": explore.schema,
        "inspect-tracks": tracks.inspect_tracks,
    },
    "Everything else": {"export": export.export, "bench": bench.bench},
}  # fmt: skip
for panel, commands in PANELS.items():
    for name, command in commands.items():
        app.command(name, rich_help_panel=panel)(command)


SIMULATING = (
    "run",
    "live",
    "serve",
    "study",
    "robust",
    "reproduce",
    "swarm",
    "bench",
)  # where edited sources would cost half of the speed


def _version(wanted: bool) -> None:
    if wanted:
        say(f"mobilenet {__version__}")
        raise typer.Exit()


@app.callback()
def main(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Emulate mobile networks and the broadcast protocols that run on them."""
    if context.invoked_subcommand in SIMULATING and native.is_outdated():
        from mobilenet.engine.build_native import renew

        renew()
    if context.invoked_subcommand is None:
        say(context.get_help())
        say(f"\nNext: {examples.first_step()}")
