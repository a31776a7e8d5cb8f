"""Write pictures and pages atomically. All files of one call appear together.

Model     Files are written as in mobilenet/record/atomic_files.py, and missing folders are created
Errors    RecordError, one line, for an unknown suffix, a directory, or a file that cannot be written
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mobilenet.record.atomic_files import in_place_of, partial_path, remove_dead
from mobilenet.record.writer import RecordError

PICTURES = (".svg", ".png", ".pdf")


@contextmanager
def whole_file(target: Path, suffixes: tuple[str, ...] = PICTURES) -> Iterator[Path]:
    """Yield a temporary path with the same suffix. The file replaces `target` if the block ends without an error."""
    if target.suffix.lower() not in suffixes:
        raise RecordError(f"{target}: expected a name that ends in {' or '.join(suffixes)}", is_input=True)
    if target.is_dir():
        raise RecordError(f"{target}: is a directory, expected a file", is_input=True)
    new_folders: list[Path] = []
    begun = False
    try:
        for folder in reversed([folder for folder in target.parents if not folder.exists()]):
            folder.mkdir(exist_ok=True)
            new_folders.insert(0, folder)
        remove_dead(target.parent)
        with in_place_of(target) as partial:
            partial.touch()
            begun = True
            yield partial
    except OSError as error:
        if begun:
            raise RecordError(f"{target}: could not be written completely: {error.strerror}") from error
        raise RecordError(f"{target}: cannot be written: {error.strerror}", is_input=True) from None
    finally:
        for folder in new_folders:
            with suppress(OSError):  # the folder may no longer be empty
                folder.rmdir()


@contextmanager
def together(folder: Path) -> Iterator[Path]:
    """Yield an empty folder for files. If the block ends without an error, they are moved to `folder`; otherwise, they
    are discarded. Other files in `folder` are kept.
    """
    is_new = not folder.is_dir()
    if is_new and os.path.lexists(folder):
        raise RecordError(f"{folder}: is a file, expected a folder", is_input=True)
    place: Path | None = None
    new_folders: list[Path] = []
    try:
        for above in reversed([above for above in folder.parents if not above.exists()]):
            above.mkdir(exist_ok=True)
            new_folders.insert(0, above)
        around = folder.parent if is_new else folder
        for one in {folder.parent, around}:
            remove_dead(one)
        # The temporary folder is inside `around`, and therefore on the same file system.
        place = partial_path(around / folder.name)
        place.mkdir()
        yield place
        if is_new and not folder.exists():
            os.rename(place, folder)
            return
        files = sorted(place.iterdir())
        if wrong := next((file.name for file in files if (folder / file.name).is_dir()), None):
            raise RecordError(f"{folder / wrong}: is a directory, expected a file", is_input=True)
        for file in files:
            os.replace(file, folder / file.name)
    except RecordError as error:  # This error was raised while a file was being written.
        raise RecordError(str(error).replace(str(place), str(folder)), error.is_input) from None
    except OSError as error:
        if place is None or not place.is_dir():
            raise RecordError(f"{folder}: cannot be created: {error.strerror}", is_input=True) from None
        raise RecordError(f"{folder}: could not be written completely: {error.strerror}") from error
    finally:
        if place is not None:
            shutil.rmtree(place, ignore_errors=True)
        for above in new_folders:
            with suppress(OSError):  # the folder may no longer be empty
                above.rmdir()


def make_folder(folder: Path) -> None:
    """Create a folder with its parents. Raise RecordError if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordError(f"{folder}: cannot be created: {error.strerror}", is_input=True) from None
