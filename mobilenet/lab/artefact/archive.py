"""Read an archive that may come from an untrusted source. Every file is checked before any file is written.

Model     The list of files is checked first (entries.py), then the SHA-256 of each file. Then the files are unpacked
          into an empty folder. Checksums reveal damage, but do not show who made an archive.
Units     Sizes are in bytes.
Errors    ArtefactError with one line.
Source    ours: docs/guide/artefact.md
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from mobilenet.lab.artefact import ArtefactError
from mobilenet.lab.artefact.entries import printable_name, require_allowed, require_plain
from mobilenet.lab.artefact.limits import MOST_LIST_BYTES

CHECKSUMS = "checksums.json"
FORMAT = 1
PIECE_BYTES = 1 << 20
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, struct.error, NotImplementedError, ValueError, RuntimeError)


class Archive:
    """An open archive whose list of files is within the limits."""

    def __init__(self, path: Path, file: zipfile.ZipFile) -> None:
        self.path, self._file = path, file
        self._infos = {info.filename: info for info in file.infolist()}
        self.digests, self.made_by = self._checksums()

    def _checksums(self) -> tuple[dict[str, str], dict[str, str | None]]:
        """Return the SHA-256 of each file by name, and the software versions with which the archive was made."""
        if CHECKSUMS not in self._infos:
            raise self.problem(f"{CHECKSUMS} is missing; expected an archive made by `mobilenet artefact`")
        if self._infos[CHECKSUMS].file_size > MOST_LIST_BYTES:
            raise self.problem(f"{CHECKSUMS} has more than {MOST_LIST_BYTES:,} bytes")
        try:
            document = json.loads(b"".join(self._pieces(CHECKSUMS)))
            digests, made_by = document["files"], document["made_by"]
            if document["format"] != FORMAT:
                raise self.problem(f"format {str(document['format'])[:40]}, expected {FORMAT}")
            if not _are_texts(digests) or not _are_texts(made_by, may_lack=True):
                raise TypeError
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self.problem(f"{CHECKSUMS} is damaged") from None
        if apart := sorted(digests.keys() ^ (self._infos.keys() - {CHECKSUMS})):
            where = "not in the archive" if apart[0] in digests else f"not in {CHECKSUMS}"
            raise self.problem(f"{printable_name(apart[0])} is {where}")
        return digests, made_by

    def verify(self) -> None:
        """Compare each file with its checksum. Raise ArtefactError if a file differs."""
        for name in self.digests:
            self._copy(name, None)

    def extract(self, folder: Path) -> None:
        """Write all files into an empty folder. Raise ArtefactError if this fails."""
        for name in sorted(self._infos):
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
            with open(descriptor, "wb") as file:
                self._copy(name, file)

    def _copy(self, name: str, target: IO[bytes] | None) -> None:
        digest = hashlib.sha256()
        for piece in self._pieces(name):
            digest.update(piece)
            if target is not None:
                target.write(piece)
        if name != CHECKSUMS and digest.hexdigest() != self.digests[name]:
            raise self.problem(f"{printable_name(name)} is not the file that {CHECKSUMS} names: its SHA-256 differs")

    def _pieces(self, name: str) -> Iterator[bytes]:
        info, size = self._infos[name], 0
        try:
            with self._file.open(info) as file:
                while piece := file.read(PIECE_BYTES):
                    size += len(piece)
                    if size > info.file_size:
                        raise self.problem(f"{printable_name(name)} is longer than the archive states")
                    yield piece
        except BROKEN:
            raise self.problem(f"{printable_name(name)} is damaged") from None
        if size != info.file_size:
            raise self.problem(f"{printable_name(name)} is shorter than the archive states")

    def problem(self, what: str) -> ArtefactError:
        """Return an error that names this archive."""
        return ArtefactError(f"{self.path}: {what}")


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open an archive, and check its list of files. Raise ArtefactError if the archive is not acceptable."""
    try:
        with path.open("rb") as stream:
            require_plain(path, stream)
            try:
                file = zipfile.ZipFile(stream)
            except BROKEN:
                raise ArtefactError(f"{path}: damaged: its list of files cannot be read") from None
            with file:
                require_allowed(path, file.infolist())
                yield Archive(path, file)
    except OSError as error:
        if error.filename != str(path):
            raise
        raise ArtefactError(f"{path}: cannot be read: {error.strerror}") from None


def _are_texts(mapping: Any, may_lack: bool = False) -> bool:
    kinds = (str, type(None)) if may_lack else str
    return isinstance(mapping, dict) and all(isinstance(value, kinds) for value in mapping.values())
