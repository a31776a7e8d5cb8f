"""The command that creates an archive for reviewers, or checks an archive by repeating its runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mobilenet.cli.console import Exit, fail, print_table, reporting, say
from mobilenet.cli.options import AllowCode, Quiet, Workers
from mobilenet.cli.progress import runs_progress
from mobilenet.cli.study import while_spark_lives
from mobilenet.quoting import pluralize, quote

CHECK = "check"
MOST_NAMES = 12  # the maximum number of uncompared files that are listed by name


def artefact(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="STUDY… CLAIMS | check FILE.zip",
            help="Directories of studies and of evaluated claims, or claims files; or an archive to check.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE.zip|DIR",
            help="Archive to write; for a check, the directory in which its runs are kept.",
        ),
    ] = None,
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Title of the archive.")] = None,
    license_: Annotated[
        str | None, typer.Option("--license", metavar="SPDX", help="Licence of the archive, such as CC-BY-4.0.")
    ] = None,
    date: Annotated[
        str | None,
        typer.Option(
            "--date", metavar="YYYY-MM-DD", help="Date of publication; by default the date of the newest results."
        ),
    ] = None,
    workers: Workers = None,
    allow_code: AllowCode = False,
    quiet: Quiet = False,
) -> None:
    """Pack results for reviewers, or check an archive.

    The archive contains scenarios, claims, tables, figures, a README and metadata (RO-Crate). The check runs everything
    again and prints which results are the same. It needs no network.
    """
    paths = [Path(word) for word in words]
    with reporting(quiet, reads=paths):
        if words[0] != CHECK:
            if allow_code or workers is not None:
                fail("--allow-code and --workers apply only to `mobilenet artefact check`", Exit.BAD_INPUT)
            if out is None:
                fail("--out: missing; expected the name of the archive, such as -o results.zip", Exit.BAD_INPUT)
            _make(paths, out, title, license_, _day(date))
            return
        if len(paths) != 2:
            fail("expected one archive: mobilenet artefact check FILE.zip", Exit.BAD_INPUT)
        if title or license_ or date:
            fail("--title, --license and --date do not apply to `mobilenet artefact check`", Exit.BAD_INPUT)
        _check(paths[1], out, workers, allow_code, quiet)


def _day(text: str | None) -> str | None:
    from datetime import date

    try:
        return None if text is None else date.fromisoformat(text).isoformat()
    except ValueError:
        fail(f"--date {text}: expected a date such as 2026-11-26", Exit.BAD_INPUT)


def _make(paths: list[Path], out: Path, title: str | None, license_: str | None, date: str | None) -> None:
    from mobilenet.lab.artefact.assembly import make
    from mobilenet.record.provenance import digest

    archive = make(paths, out, title, license_, date)
    say(f"{quote(out)}: {pluralize(archive.files, 'file')}, {archive.bytes / 1e6:.1f} MB; SHA-256 {digest(out)}")
    say(f"Next: mobilenet artefact check {quote(out)}{' --allow-code' if archive.has_code else ''}")


def _check(file: Path, out: Path | None, workers: int | None, allow_code: bool, quiet: bool) -> None:
    """Print a line for each study and each claim. Exit with 0 if all results are the same."""
    from mobilenet.lab.artefact.comparison import Sameness
    from mobilenet.lab.artefact.reproduction import CheckOptions, check

    with while_spark_lives("Spark ended before all runs were repeated"), runs_progress(quiet) as update:
        check_result = check(file, out, CheckOptions(workers, update, say, allow_code))
    say(f"{quote(file)}: SHA-256 {check_result.sha256}")
    print_table(("what", "comes out", "note"), [(one.what, one.sameness.value, one.why) for one in check_result.lines])
    counts = [(check_result.count(kind), kind.value) for kind in Sameness]
    say(", ".join(f"{count} {words}" for count, words in counts if count) + f"; {check_result.promise}")
    if check_result.unchecked:
        names, more = ", ".join(check_result.unchecked[:MOST_NAMES]), len(check_result.unchecked) - MOST_NAMES
        say(f"not compared: {names}{f' and {more} more' if more > 0 else ''}")
    if check_result.count(Sameness.DIFFERS):
        names = ", ".join(one.what for one in check_result.lines if one.sameness is Sameness.DIFFERS)
        say(f"differs: {names}", always=True)
        raise typer.Exit(Exit.VIOLATED)
    if check_result.count(Sameness.UNFINISHED):
        fail("some runs failed, so not everything could be compared", Exit.UNFINISHED)
    if check_result.count(Sameness.NOT_RUN):
        say(f"Next: mobilenet artefact check {quote(file)} --allow-code")
        raise typer.Exit(Exit.UNKNOWN)
    note = "; its own text was not compared" if "README.md" in check_result.unchecked else ""
    say(f"Next: unpack {quote(file)}, and read README.md{note}")
