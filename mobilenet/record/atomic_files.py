"""Write files atomically: a file gets its name when it is complete, and the files of killed processes are removed.

Model     a file is written in its folder as .partial-PID.NAME, and then renamed. If the process that writes it dies,
          the next process removes the incomplete file
Errors    OSError if the file cannot be written
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def in_place_of(target: Path) -> Iterator[Path]:
    """Yield a temporary path with the same suffix. The file replaces `target` if the block ends without an error."""
    partial = partial_path(target)
    try:
        yield partial
        os.replace(partial, target)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def write_whole(target: Path, text: str) -> None:
    """Write a string to a file atomically."""
    remove_dead(target.parent)
    with in_place_of(target) as partial:
        partial.write_text(text, encoding="utf-8")


def partial_path(target: Path) -> Path:
    """Return the name that this process gives to an incomplete file or folder."""
    return target.parent / f".partial-{os.getpid()}.{target.name[-100:]}"


def remove_dead(folder: Path) -> None:
    """Remove the incomplete files and folders that dead processes have left in a folder."""
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
        pass  # The process exists, but belongs to another user.
    return True
