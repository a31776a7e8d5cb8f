"""A picture or a page appears under its name when it is whole, and not before.

Errors    RecordError, one line: a suffix that is no kind of picture, a directory, a place where nothing can be written
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mobilenet.rundir.writer import RecordError

PICTURES = (".svg", ".png", ".pdf")


@contextmanager
def whole_file(target: Path, suffixes: tuple[str, ...] = PICTURES) -> Iterator[Path]:
    """A name to write to, with the same suffix; it takes the place of `target` when the block ends well."""
    if target.suffix.lower() not in suffixes:
        raise RecordError(f"{target}: expected a name that ends in {' or '.join(suffixes)}", is_input=True)
    if target.is_dir():
        raise RecordError(f"{target}: is a directory, expected a file", is_input=True)
    partial = target.parent / f".partial-{os.getpid()}{target.suffix}"
    made: list[Path] = []
    begun = False
    try:
        for folder in reversed([folder for folder in target.parents if not folder.exists()]):
            folder.mkdir(exist_ok=True)
            made.insert(0, folder)
        partial.touch()
        begun = True
        yield partial
        os.replace(partial, target)
    except OSError as error:
        if begun:
            raise RecordError(f"{target}: could not be written whole: {error.strerror}") from error
        raise RecordError(f"{target}: cannot be written: {error.strerror}", is_input=True) from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        for folder in made:
            with suppress(OSError):  # it is no longer empty
                folder.rmdir()


def make_folder(folder: Path) -> None:
    """For several files."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordError(f"{folder}: cannot be made: {error.strerror}", is_input=True) from None
