"""Commands that draw a run or a study: its map, its figures, and a page with a full report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from mobilenet.cli.console import Exit, fail, reporting, say
from mobilenet.cli.options import AllowCode, Quiet, RunDirectory
from mobilenet.cli.progress import progress
from mobilenet.engine.scratch import scratch_folder
from mobilenet.quoting import quote

NARROWEST_IN, WIDEST_IN = 3, 40  # the minimum and maximum width of a figure, in inches

Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", metavar="NAME", help="For a study: draw the means of this metric. May be repeated."),
]
XAxis = Annotated[
    str | None,
    typer.Option("--x", metavar="FACTOR", help="For a study: the factor on the horizontal axis of the plot of means."),
]
Latex = Annotated[bool, typer.Option("--latex", help="Also write the means of a study as a LaTeX table, means.tex.")]
Markdown = Annotated[
    bool, typer.Option("--markdown", help="Also write the means of a study as a Markdown table, means.md.")
]

LogY = Annotated[
    bool, typer.Option("--log-y", help="Logarithmic vertical axes for means, delays over time and buffers.")
]


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
        typer.Option(
            "--losses", help="Also show where frames were lost; a run that did not record frames is repeated."
        ),
    ] = False,
    folium: Annotated[
        bool, typer.Option("--folium", help="Write a folium map instead, by default to RUN/folium.html.")
    ] = False,
    allow_code: AllowCode = False,
    quiet: Quiet = False,
) -> None:
    """Draw an animated map of a run.

    The map shows hosts, cells, handoffs and messages. It is a single HTML file that works offline.
    """
    if folium:
        for option, is_given in (("--losses", losses), ("--allow-code", allow_code)):
            if is_given:
                fail(f"{option} does not apply to --folium; draw the map without one of them", Exit.BAD_INPUT)
        _folium_map(run, out or run / "folium.html", tiles, quiet)
        return
    with reporting(quiet, reads=[run]):
        from mobilenet.lab.replay.rerun import write_frames
        from mobilenet.viz.map import draw

        target = out or run / "map.html"
        with scratch_folder("map") as name:
            is_missing = losses and not (run / "frames.parquet").exists()
            if is_missing:
                with progress(quiet, "replaying") as update:
                    write_frames(run, name, update, allow_code)
            size = draw(run, target, tiles, frames_in=name if is_missing else None)
        say(f"{target}: {size / 1e6:.1f} MB, {_fetches(tiles)}")
        say(f"Next: open {quote(target)} in a browser; space plays, h goes to the next handoff")


def _folium_map(run: Path, target: Path, tiles: bool, quiet: bool) -> None:
    with reporting(quiet, reads=[run]):
        from mobilenet.viz.folium_map import draw

        size = draw(run, target, tiles)
        say(f"{target}: {size / 1e6:.1f} MB, {_fetches(tiles)}")
        say(f"Next: open {quote(target)} in a browser; space plays, a click on a handoff shows its details")


def _fetches(tiles: bool) -> str:
    return "with tiles from openstreetmap.org" if tiles else "makes no network requests"


def _width(value: float | None) -> float | None:
    if value is not None and not NARROWEST_IN <= value <= WIDEST_IN:  # this form of the comparison also rejects nan
        raise typer.BadParameter(f"{value:g} is not in the range {NARROWEST_IN} to {WIDEST_IN} inches")
    return value


def figures(
    directory: Annotated[
        Path, typer.Argument(metavar="RUN|STUDY|CLAIMS", help="The directory of a run, a study or evaluated claims.")
    ],
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
            help="Width of each figure in inches, 3 to 40 (3.5 for one column, 7.2 for two); varies by default.",
        ),
    ] = None,
    plain: Annotated[
        bool,
        typer.Option("--plain", help="For papers: write titles and captions to captions.txt, not into the figures."),
    ] = False,
    metrics: Metrics = None,
    x: XAxis = None,
    latex: Latex = False,
    markdown: Markdown = False,
    log_y: LogY = False,
) -> None:
    """Draw the figures of a run, a study or claims."""
    with reporting(reads=[directory]):
        from mobilenet.viz.claim_bounds import ANSWERS
        from mobilenet.viz.figures import claims_figures, run_figures, study_figures
        from mobilenet.viz.files import together
        from mobilenet.viz.means_table import write_means
        from mobilenet.viz.style import Look

        folder, look = out or directory / "figures", Look(_suffixes(formats), not plain, not plain, width, log_y)
        is_study, is_claims = _is_study_with_tables(directory), (directory / ANSWERS).is_file()
        of_studies = {"--metric": metrics, "--x": x, "--latex": latex, "--markdown": markdown}
        study_options = [option for option, value in of_studies.items() if value]
        if study_options and not is_study:
            what = "has evaluated claims" if is_claims else "is a run"
            fail(f"{study_options[0]} applies only to studies; {quote(directory)} {what}", Exit.BAD_INPUT)
        if log_y and is_claims:
            fail(f"--log-y does not apply to claims, and {quote(directory)} has evaluated claims", Exit.BAD_INPUT)
        with together(folder) as place:
            if is_study:
                drawn = study_figures(directory, place, look, metrics or (), x)
                written = write_means(directory, place, metrics or (), latex, markdown)
            elif is_claims:
                drawn, written = claims_figures(directory, place, look), []
            else:
                drawn, written = run_figures(directory, place, look), []
            if plain:
                _write_captions(drawn, place)
        for title, path in [*((title, path) for title, path, _ in drawn), *(("Means", path) for path in written)]:
            say(f"{title}: {quote(folder / path.name)}")
        say(f"Next: open the figures in {quote(folder)}")


def _write_captions(drawn: Sequence[tuple[str, Path, str]], place: Path) -> None:
    texts = [f"{path.stem}: {title}. {note}" for title, path, note in drawn]
    (place / "captions.txt").write_text("\n\n".join(texts) + "\n", encoding="utf-8")


def _suffixes(formats: str) -> tuple[str, ...]:
    from mobilenet.viz.files import PICTURES

    suffixes = tuple(f".{name.strip().lower()}" for name in formats.split(","))
    strange = [suffix[1:] for suffix in suffixes if suffix not in PICTURES]
    if strange:
        fail(f"--format {formats}: {strange[0]!r} is not one of svg, png or pdf", Exit.BAD_INPUT)
    return suffixes


def report(
    directory: Annotated[
        Path, typer.Argument(metavar="RUN|STUDY", help="The directory of a run or of a finished study.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="HTML file to write; by default DIRECTORY/report.html."),
    ] = None,
) -> None:
    """Write a one-page report of a run or a study.

    The page contains the verdict, a summary in words, metrics, figures, the map and the scenario. It works offline.
    """
    with reporting(reads=[directory]):
        from mobilenet.viz.report import draw

        _is_study_with_tables(directory)
        target = out or directory / "report.html"
        size = draw(directory, target)
        say(f"{quote(target)}: {size / 1e6:.1f} MB. Next: open it in a browser")


def _is_study_with_tables(directory: Path) -> bool:
    """Return whether the directory is a study. If some of its tables are missing, print a note. Raise RunError if it is
    neither a study nor a run.
    """
    from mobilenet.lab.studies.tables import tables_of_what_is_there
    from mobilenet.viz.study_tables import is_study

    if not is_study(directory):
        return False
    if note := tables_of_what_is_there(directory):
        say(note)
    return True
