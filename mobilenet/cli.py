"""The command line: which commands there are. How they end is in console.py.

Source    ours: DESIGN.md §9
"""

from __future__ import annotations

from typing import Annotated

import typer

from mobilenet import __version__
from mobilenet.commands import exhausting, exploring, pictures, running, studying, tracks, trying
from mobilenet.console import Group, say

app = typer.Typer(
    cls=Group,
    name="mobilenet",
    help="Emulate mobile networks and the broadcast protocols that run on them.",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

for command in (
    running.run, running.check, running.verify, running.show,
    pictures.figures, pictures.report, exploring.spacetime, exploring.diff, exploring.reference,
    studying.study, studying.compare, studying.reproduce,
    tracks.inspect_tracks, tracks.export,
    trying.swarm, exhausting.exhaust, trying.bench,
):  # fmt: skip
    app.command()(command)
app.command("map")(pictures.map_)


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
