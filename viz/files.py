"""Write pictures and pages whole: a file gets its name only when complete; those of one call all together.

Model     written next to it under the name of the process; what a killed one left is removed by the next
Errors    RecordError, one line: an unknown suffix, a directory, a place where nothing can be written
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

import os
import re
import shutil
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
    partial = _partial(target)
    new_folders: list[Path] = []
    begun = False
    try:
        for folder in reversed([folder for folder in target.parents if not folder.exists()]):
            folder.mkdir(exist_ok=True)
            new_folders.insert(0, folder)
        partial.touch()
        begun = True
        yield partial
        os.replace(partial, target)
    except OSError as error:
        if begun:
            raise RecordError(f"{target}: could not be written completely: {error.strerror}") from error
        raise RecordError(f"{target}: cannot be written: {error.strerror}", is_input=True) from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        for folder in new_folders:
            with suppress(OSError):  # it is no longer empty
                folder.rmdir()


@contextmanager
def in_place_of(target: Path) -> Iterator[Path]:
    """The same in a folder that is there: what was killed leaves nothing under the final name."""
    partial = _partial(target)
    try:
        yield partial
        os.replace(partial, target)
    except OSError as error:
        raise RecordError(f"{target}: could not be written completely: {error.strerror}") from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


@contextmanager
def together(folder: Path) -> Iterator[Path]:
    """An empty folder to write files into; they appear in `folder` when the block ends well, and none before. What
    else is in `folder` stays.
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
        _clear(folder.parent)
        place = _partial((folder.parent if is_new else folder) / folder.name)  # inside: where it is, it can be moved
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
    except RecordError as error:  # reported by the writer of a file
        raise RecordError(str(error).replace(str(place), str(folder)), error.is_input) from None
    except OSError as error:
        if place is None or not place.is_dir():
            raise RecordError(f"{folder}: cannot be created: {error.strerror}", is_input=True) from None
        raise RecordError(f"{folder}: could not be written completely: {error.strerror}") from error
    finally:
        if place is not None:
            shutil.rmtree(place, ignore_errors=True)
        for above in new_folders:
            with suppress(OSError):  # it is no longer empty
                above.rmdir()


def _partial(target: Path) -> Path:
    """A name of this process for it; what dead processes left of it goes."""
    _clear(target.parent)
    return target.parent / f".partial-{os.getpid()}.{target.name[-100:]}"


def _clear(folder: Path) -> None:
    for left in folder.glob(".partial-*"):
        number = re.fullmatch(r"(?s)\.partial-(\d+)\..*", left.name)
        if number and not _is_alive(int(number[1])):
            if left.is_dir() and not left.is_symlink():
                shutil.rmtree(left, ignore_errors=True)
                continue
            with suppress(OSError):
                left.unlink()


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass  # another user's
    return True


def make_folder(folder: Path) -> None:
    """For several files."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordError(f"{folder}: cannot be created: {error.strerror}", is_input=True) from None
