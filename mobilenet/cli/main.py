"""The command line: its commands in panels. console.py defines how commands end.

Source    ours: docs/architecture/command-line.md
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.main import get_command

from mobilenet import __version__
from mobilenet.cli import examples
from mobilenet.cli.console import Group, say
from mobilenet.engine import native

PANELS = {  # panel of the help -> command -> its module in mobilenet.cli and its function in that module
    "Run and watch": {"run": "run:run", "live": "live:live", "serve": "serve:serve", "check": "run:check"},
    "Inspect": {
        "show": "run:show", "map": "pictures:map_", "figures": "pictures:figures", "report": "pictures:report",
        "spacetime": "explore:spacetime", "why": "why:why", "explain": "explain:explain",
    },
    "Compare": {
        "study": "study:study", "compare": "study_results:compare", "capacity": "capacity:capacity",
        "sensitivity": "sensitivity:sensitivity", "robust": "robust:robust", "claims": "claims:claims",
        "query": "query:query", "diff": "explore:diff",
    },
    "Find errors": {
        "verify": "run:verify", "replay": "programs:replay", "shrink": "programs:shrink", "swarm": "swarm:swarm",
        "exhaust": "exhaust:exhaust",
    },
    "Write your own": {
        "examples": "examples:examples", "reference": "explore:reference", "schema": "explore:schema",
        "inspect-tracks": "tracks:inspect_tracks",
    },
    "Other commands": {"export": "export:export", "artefact": "artefact:artefact", "bench": "bench:bench"},
}  # fmt: skip


class Commands(Mapping[str, Any]):
    """The commands of all panels. Each is imported only when it is looked up, so that other commands start faster."""

    def __init__(self) -> None:
        self._commands: dict[str, Any] = {}
        self._panels = {name: panel for panel, commands in PANELS.items() for name in commands}

    def __iter__(self) -> Iterator[str]:
        return iter(self._panels)

    def __len__(self) -> int:
        return len(self._panels)

    def __getitem__(self, name: str) -> Any:
        if name not in self._commands:
            panel = self._panels[name]
            module, function = PANELS[panel][name].split(":")
            one = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
            one.command(name, rich_help_panel=panel)(getattr(import_module(f"mobilenet.cli.{module}"), function))
            self._commands[name] = get_command(one)
        return self._commands[name]


class AllCommands(Group):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes | {"commands": {}})
        self.commands = Commands()  # type: ignore[assignment]  # nothing is ever added


app = typer.Typer(
    cls=AllCommands,
    name="mobilenet",
    help="Emulate mobile networks and the broadcast protocols that run on them.",
    invoke_without_command=True,
    add_completion=True,  # adds the option --install-completion
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

SIMULATING = (
    "run",
    "live",
    "serve",
    "study",
    "capacity",
    "robust",
    "sensitivity",
    "claims",
    "artefact",
    "swarm",
    "bench",
)  # these commands take about twice as long if the sources were edited and are not compiled


def _version(is_requested: bool) -> None:
    if is_requested:
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
