"""Look at a run: its map."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mobilenet.commands.options import Quiet, RunDirectory
from mobilenet.console import quoted, reporting, say


def map_(
    run: RunDirectory,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="One HTML file; by default RUN/map.html.")] = None,
    tiles: Annotated[bool, typer.Option("--tiles", help="Streets below the map, fetched from openstreetmap.org when it is looked at; needs an origin.")] = False,
    quiet: Quiet = False,
) -> None:
    """Draw a run as a map that plays: hosts, cells, handoffs, messages; one HTML file that needs no network."""
    with reporting():
        from viz.map import draw

        target = out or run / "map.html"
        size = draw(run, target, tiles)
        if not quiet:
            say(f"{target}: {size / 1e6:.1f} MB, {'with tiles of openstreetmap.org' if tiles else 'makes no request'}")
        say(f"Next: open {quoted(target)} in a browser; space plays, h goes to the next handoff")
