"""Write a run directory: the record becomes Parquet files, under a name that only complete runs have.

Model     the directory is written under a temporary name, synced and renamed, so that a directory with the final name
          is complete
Errors    RecordError if the directory exists, cannot be written, or the disk is full
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mobilenet.engine.scratch import lock_folder
from mobilenet.record.killed_runs import keep_record
from mobilenet.record.recorder import Recording
from mobilenet.record.schema import DERIVED_FILES


def file_digests(directory: Path) -> dict[str, str]:
    """Return the SHA-256 of every file of a run except derived files and the manifest, which contains these digests."""
    names = sorted(
        str(path.relative_to(directory))
        for path in directory.rglob("*")
        if path.is_file() and path.name not in ("manifest.json", *DERIVED_FILES)
    )
    return {name: hashlib.sha256((directory / name).read_bytes()).hexdigest() for name in names}


OF_MANIFEST = '  "manifest_sha256": "'  # the start of the second to last line of manifest.json


class RecordError(Exception):
    """Raised if the run directory cannot be written. The message is one line for users.

    `is_input` is true if the name itself is wrong (it exists, or is not writable), and false for other causes such as a
    full disk.
    """

    def __init__(self, message: str, is_input: bool = False) -> None:
        super().__init__(message)
        self.is_input = is_input


class AlreadyThere(RecordError):
    """Raised if the intended name of the directory already exists."""

    def __init__(self, path: Path, way_out: str = "remove it, or name another directory") -> None:
        super().__init__(f"{path}: already exists; {way_out}", is_input=True)
        self.path, self.way_out = path, way_out

    def __reduce__(self) -> tuple[type[AlreadyThere], tuple[Path, str]]:
        # The error may come from another process, so it must be possible to pickle it.
        return AlreadyThere, (self.path, self.way_out)


@contextmanager
def run_directory(path: Path, replaces: bool = False, keeps_record: bool = True) -> Iterator[Path]:
    """Yield a directory to fill. It gets its name only if the block ends without an error; otherwise it is removed.

    A killed process leaves at most `.NAME.partial-PID`, which readers do not accept as a run. A process that fills a
    directory holds a lock on it. The next command recognises abandoned directories by this lock, and keeps their
    records (killed_runs.py). The directory `replaces` is removed when the new one is complete. `keeps_record` has the
    same meaning as in `recover`.
    """
    partial = path.parent / f".{path.name}.partial-{os.getpid()}"
    new_folders: list[Path] = []
    lock: int | None = None
    begun = False
    try:
        # The library pyarrow cannot write to such a path.
        if any("\ud800" <= character <= "\udfff" for character in str(path)):
            raise RecordError(f"{path}: cannot be written: the name is not UTF-8 text", is_input=True)
        if path.name in ("", ".."):
            raise AlreadyThere(path)
        recover(path, keeps_record)
        if os.path.lexists(path) and not replaces:
            raise AlreadyThere(path)
        for folder in reversed([folder for folder in path.parents if not folder.exists()]):
            # The folder is noted before it is created, because a signal may arrive in between.
            new_folders.insert(0, folder)
            folder.mkdir(exist_ok=True)
        with _alone_in(path.parent):  # This prevents other processes from removing the directory before it is locked.
            begun = not partial.exists()
            partial.mkdir()
            lock = lock_folder(partial)
        yield partial
        for file in sorted(partial.iterdir()):
            _sync(file)
        _sync(partial)
        if replaces and os.path.lexists(path):
            _put_in_place_of(path, partial)
        elif os.path.lexists(path):
            raise RecordError(f"{path}: appeared while this run was being written")
        else:
            os.rename(partial, path)
    except OSError as error:
        what = "could not be written completely" if lock is not None else "cannot be written"
        raise RecordError(
            f"{path}: {what}: {os.strerror(error.errno) if error.errno else error}", is_input=lock is None
        ) from error
    finally:
        if begun:
            shutil.rmtree(partial, ignore_errors=True)  # This has no effect if the directory was renamed.
        for folder in new_folders:
            with suppress(OSError):  # The folder may no longer be empty.
                folder.rmdir()
        if lock is not None:
            os.close(lock)
    with suppress(OSError):
        _sync(path.parent)


def _put_in_place_of(path: Path, fresh: Path) -> None:
    """Replace the old directory by the new one, and restore the old one if that fails. If this process is killed, the
    next process restores the old directory.
    """
    old = path.parent / f".{path.name}.replaced-{os.getpid()}"
    with _alone_in(path.parent):
        os.rename(path, old)
        try:
            os.rename(fresh, path)
        except BaseException:
            os.rename(old, path)
            raise
    shutil.rmtree(old, ignore_errors=True)


def is_partial(path: Path) -> bool:
    """Return whether this is the temporary name of a run directory that is being written or was abandoned."""
    return re.fullmatch(r"(?s)\..*\.partial-\d+", path.name) is not None


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Lock a folder. Other processes that create a run directory in it wait until the block ends."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def recover(path: Path, keeps_record: bool = True) -> None:
    """Remove the directories that killed processes have left under this name. If one of these processes was replacing a
    run, that run gets its name back. With `keeps_record`, keep the records of killed runs (killed_runs.py).
    """
    if path.parent.is_dir():
        with _alone_in(path.parent):
            _clear_dead(path, keeps_record)


def is_being_written(path: Path) -> bool:
    """Return whether a running process is writing a run with this name. Directories of killed processes are removed."""
    if not path.parent.is_dir():
        return False
    with _alone_in(path.parent):
        _clear_dead(path)
        return any(is_partial(left) for left in _leftovers(path))


def _leftovers(path: Path) -> Iterator[Path]:
    """Yield the temporary directories of runs with this name, whether in progress or killed."""
    start = f".{path.name}."
    for name in os.listdir(path.parent):
        if name.startswith(start) and re.fullmatch(r"(partial|replaced)-\d+", name.removeprefix(start)):
            yield path.parent / name


def _clear_dead(path: Path, keeps_record: bool = True) -> None:
    """Remove the directories that killed runs left under this name, and keep their records."""
    for left in _leftovers(path):
        if is_partial(left):
            with suppress(OSError):  # A running process holds the lock.
                lock = lock_folder(left)
                if keeps_record:
                    keep_record(left, path)
                shutil.rmtree(left, ignore_errors=True)
                os.close(lock)
        elif os.path.lexists(path):
            shutil.rmtree(left, ignore_errors=True)
        else:
            os.rename(left, path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def as_text(value: Any) -> str:
    """Return a value as JSON, in the format of a run's files."""
    return json.dumps(value, indent=2, sort_keys=False, allow_nan=False) + "\n"


def write_json(path: Path, value: Any) -> None:
    path.write_text(as_text(value), encoding="utf-8")


def write_manifest(directory: Path, facts: dict[str, Any]) -> None:
    """Write manifest.json with the digests of all files. It ends with the digest of everything before it."""
    head = json.dumps({**facts, "files": file_digests(directory)}, indent=2, allow_nan=False).removesuffix("\n}")
    digest = hashlib.sha256(head.encode("utf-8")).hexdigest()
    (directory / "manifest.json").write_text(f'{head},\n{OF_MANIFEST}{digest}"\n}}\n', encoding="utf-8")


def write_recording(directory: Path, recording: Recording) -> None:
    """Write events, samples, positions, the optional tables and counters.json."""
    for name, table in recording.tables().items():
        table.write(directory / f"{name}.parquet")
    write_json(directory / "counters.json", recording.document())
