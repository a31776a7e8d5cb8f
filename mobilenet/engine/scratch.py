"""Temporary folders that exist during a `with` block. The next process removes the folders of killed processes.

Model     A folder receives the suffix .scratch once its process holds a lock on it, and a lock ends with its process. A
          folder that has the suffix but is not locked is therefore abandoned.
Errors    OSError if a folder cannot be created.
Source    ours: docs/architecture/command-line.md
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

SUFFIX = ".scratch"


@contextmanager
def scratch_folder(purpose: str, place: Path | None = None) -> Iterator[Path]:
    """Create an empty folder for the block, in `place` or in the system's folder for temporary files."""
    parent = Path(tempfile.gettempdir()) if place is None else place
    prefix = f"mobilenet-{purpose}-" if place is None else f".{purpose}-"
    remove_abandoned(parent.absolute())
    bare = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    lock = lock_folder(bare)
    folder = bare.with_name(bare.name + SUFFIX)
    try:
        os.rename(bare, folder)
        inner = folder / "files"  # a separate folder, because the code in the block may lock it
        inner.mkdir()
        yield inner
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


@cache
def remove_abandoned(parent: Path) -> None:
    """Remove the folders that killed processes have left here. Each process does this once."""
    for left in parent.glob(f"*{SUFFIX}"):
        if left.name.startswith(("mobilenet-", ".")):
            with suppress(OSError):  # the folder is in use: its process holds the lock
                lock = lock_folder(left)
                shutil.rmtree(left, ignore_errors=True)
                os.close(lock)


def lock_folder(folder: Path) -> int:
    """Return a descriptor that holds the lock on a folder until it is closed or the process ends. Raise BlockingIOError
    if another process has the lock.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
