"""The command that copies the scenarios and data of the package, for users without a clone of the repository."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mobilenet.cli.console import reporting, say
from mobilenet.quoting import quote

FIRST = Path("scenarios", "first.yaml")


def examples(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="New folder to which scenarios/ and data/ are copied.")
    ] = Path("mobilenet-examples"),
) -> None:
    """Copy the shipped scenarios and data."""
    with reporting():
        import shutil

        from mobilenet.lab.package_files import FOLDERS, ROOT
        from mobilenet.record.writer import run_directory

        with run_directory(folder) as partial:
            for name in FOLDERS:
                shutil.copytree(ROOT / name, partial / name, ignore=shutil.ignore_patterns("__pycache__"))
            count = sum(path.is_file() for path in partial.rglob("*"))
        say(f"{quote(folder)}: {count} files. Next: mobilenet run {quote(folder / FIRST)}")


def first_step() -> str:
    """Return the command that is suggested to a user who has not entered one."""
    return f"mobilenet run {FIRST}" if FIRST.is_file() else "mobilenet examples"
