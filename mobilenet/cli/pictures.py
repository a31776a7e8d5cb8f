"""Look at a run or a study: its map, figures, and the page that tells it all."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from mobilenet.cli.console import progress, reporting, say
from mobilenet.cli.options import AllowCode, Quiet, RunDirectory
from mobilenet.quoting import quoted


def map_(
    run: RunDirectory,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="One HTML file; by default RUN/map.html.")
    ] = None,
    tiles: Annotated[
        bool,
        typer.Option(
            "--tiles",
            help="Streets below the map, fetched from openstreetmap.org when it is looked at; needs an origin.",
        ),
    ] = False,
    losses: Annotated[
        bool,
        typer.Option(
            "--losses", help="Also where frames were lost; a run that did not record its frames is run again for it."
        ),
    ] = False,
    allow_code: AllowCode = False,
    quiet: Quiet = False,
) -> None:
    """Draw a run as a map that plays: hosts, cells, handoffs, messages; one HTML file that needs no network."""
    with reporting():
        from mobilenet.experiments.replay import write_frames
        from viz.map import draw

        target = out or run / "map.html"
        with TemporaryDirectory(prefix="mobilenet-map-") as name:
            is_missing = losses and not (run / "frames.parquet").exists()
            if is_missing:
                with progress(quiet, "replaying") as update:
                    write_frames(run, Path(name), update, allow_code)
            size = draw(run, target, tiles, frames_in=Path(name) if is_missing else None)
        if not quiet:
            say(f"{target}: {size / 1e6:.1f} MB, {'with tiles of openstreetmap.org' if tiles else 'makes no request'}")
        say(f"Next: open {quoted(target)} in a browser; space plays, h goes to the next handoff")


def figures(
    directory: Annotated[
        Path, typer.Argument(metavar="RUN|STUDY", help="A run directory, or that of a finished study.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Where they go; by default DIRECTORY/figures.")
    ] = None,
) -> None:
    """Draw the figures of a run or a study, as SVG and PNG."""
    with reporting():
        from viz.figures import run_figures, study_figures
        from viz.study_tables import is_study

        draw = study_figures if is_study(directory) else run_figures
        folder = out or directory / "figures"
        for title, path, _ in draw(directory, folder):
            say(f"{title}: {quoted(path)}")
        say(f"Next: look into {quoted(folder)}")


def report(
    directory: Annotated[
        Path, typer.Argument(metavar="RUN|STUDY", help="A run directory, or that of a finished study.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="One HTML file; by default DIRECTORY/report.html."),
    ] = None,
) -> None:
    """Tell a run or a study on one page: verdict, answer, numbers, figures, map, scenario; it needs no network."""
    with reporting():
        from viz.report import draw

        target = out or directory / "report.html"
        size = draw(directory, target)
        say(f"{quoted(target)}: {size / 1e6:.1f} MB. Next: open it in a browser")
