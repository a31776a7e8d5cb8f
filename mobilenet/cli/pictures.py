"""Look at a run or a study: its map, figures, and the page that reports it all."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from mobilenet.cli.console import Exit, fail, reporting, say
from mobilenet.cli.options import AllowCode, Quiet, RunDirectory
from mobilenet.cli.progress import progress
from mobilenet.quoting import quoted

NARROWEST_IN, WIDEST_IN = 3, 40  # of a figure


def map_(
    run: RunDirectory,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="HTML file to write; by default RUN/map.html.")
    ] = None,
    tiles: Annotated[
        bool,
        typer.Option(
            "--tiles",
            help="Show streets, which the browser fetches from openstreetmap.org; the scenario needs an origin.",
        ),
    ] = False,
    losses: Annotated[
        bool,
        typer.Option("--losses", help="Also show where frames were lost; a run without recorded frames is replayed."),
    ] = False,
    allow_code: AllowCode = False,
    quiet: Quiet = False,
) -> None:
    """Draw an animated map of a run.

    The map shows hosts, cells, handoffs and messages. It is one HTML file that works offline.
    """
    with reporting(quiet, reads=[run]):
        from mobilenet.replay.rerun import write_frames
        from mobilenet.viz.map import draw

        target = out or run / "map.html"
        with TemporaryDirectory(prefix="mobilenet-map-") as name:
            is_missing = losses and not (run / "frames.parquet").exists()
            if is_missing:
                with progress(quiet, "replaying") as update:
                    write_frames(run, Path(name), update, allow_code)
            size = draw(run, target, tiles, frames_in=Path(name) if is_missing else None)
        say(f"{target}: {size / 1e6:.1f} MB, {'with tiles of openstreetmap.org' if tiles else 'makes no request'}")
        say(f"Next: open {quoted(target)} in a browser; space plays, h goes to the next handoff")


def _width(value: float | None) -> float | None:
    if value is not None and not NARROWEST_IN <= value <= WIDEST_IN:  # nan is neither
        raise typer.BadParameter(f"{value:g} is not in the range {NARROWEST_IN} to {WIDEST_IN} inches")
    return value


def figures(
    directory: Annotated[Path, typer.Argument(metavar="RUN|STUDY", help="A run directory, or that of a study.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Folder to write to; by default DIRECTORY/figures."),
    ] = None,
    formats: Annotated[
        str, typer.Option("--format", metavar="F,F", help="One or more of svg, png (300 dpi) and pdf.")
    ] = "svg,png",
    width: Annotated[
        float | None,
        typer.Option(
            "--width",
            metavar="IN",
            callback=_width,
            help="Width of each figure in inches, 3 to 40; by default as designed.",
        ),
    ] = None,
    plain: Annotated[
        bool,
        typer.Option("--plain", help="For papers: write titles and captions to captions.txt, not into the figures."),
    ] = False,
) -> None:
    """Draw the figures of a run or a study."""
    with reporting(reads=[directory]):
        from mobilenet.viz.figures import run_figures, study_figures
        from mobilenet.viz.files import PICTURES, together
        from mobilenet.viz.style import Look

        suffixes = tuple(f".{name.strip().lower()}" for name in formats.split(","))
        strange = [suffix[1:] for suffix in suffixes if suffix not in PICTURES]
        if strange:
            fail(f"--format {formats}: {strange[0]!r} is not one of svg, png or pdf", Exit.BAD_INPUT)
        draw = study_figures if _is_study_with_tables(directory) else run_figures
        folder = out or directory / "figures"
        with together(folder) as place:
            drawn = draw(directory, place, Look(suffixes, not plain, not plain, width))
            if plain:
                texts = [f"{path.stem}: {title}. {note}" for title, path, note in drawn]
                (place / "captions.txt").write_text("\n\n".join(texts) + "\n", encoding="utf-8")
        for title, path, _ in drawn:
            say(f"{title}: {quoted(folder / path.name)}")
        say(f"Next: look into {quoted(folder)}")


def report(
    directory: Annotated[
        Path, typer.Argument(metavar="RUN|STUDY", help="A run directory, or that of a finished study.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="HTML file to write; by default DIRECTORY/report.html."),
    ] = None,
) -> None:
    """Write a one-page report of a run or a study.

    The page holds the verdict, the answer, metrics, figures, map and scenario. It works offline.
    """
    with reporting(reads=[directory]):
        from mobilenet.viz.report import draw

        _is_study_with_tables(directory)
        target = out or directory / "report.html"
        size = draw(directory, target)
        say(f"{quoted(target)}: {size / 1e6:.1f} MB. Next: open it in a browser")


def _is_study_with_tables(directory: Path) -> bool:
    """Whether it is a study, with a note on what is missing; RunError for neither a study nor a run."""
    from mobilenet.studies.tables import tables_of_what_is_there
    from mobilenet.viz.study_tables import is_study

    if not is_study(directory):
        return False
    if note := tables_of_what_is_there(directory):
        say(note)
    return True
