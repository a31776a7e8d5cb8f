"""Read an archive that strangers may have made: nothing is written before every file of it has been checked.

Model     a ZIP file as `writing.py` makes it, and nothing else: one list of files at its end, no ZIP64, no comment, no
          encryption, stored or deflated regular files. First the limits and names, then the SHA-256 of each file, then
          the files are unpacked into an empty folder. An archive whose files do not agree with its own checksums is
          damaged. Checksums do not show who made an archive
Units     bytes
Errors    ArtefactError, one line
Source    ours: docs/guide/artefact.md; APPNOTE.TXT 6.3.10, 4.3 (PKWARE)
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from mobilenet.artefact import ArtefactError
from mobilenet.artefact.limits import (
    MOST_ARCHIVE_BYTES,
    MOST_BYTES,
    MOST_FILE_BYTES,
    MOST_FILES,
    MOST_LIST_BYTES,
    clash,
    name_problem,
    ratio_is_too_high,
)
from mobilenet.quoting import cut, spelled_out

CHECKSUMS = "checksums.json"
FORMAT = 1
END = struct.Struct("<4s4H2LH")  # end of central directory record
LOCATOR_BYTES = 20  # of ZIP64, before it
PIECE_BYTES = 1 << 20
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, struct.error, NotImplementedError, ValueError, RuntimeError)


class Archive:
    """An open archive whose list of files is within the limits."""

    def __init__(self, path: Path, file: zipfile.ZipFile) -> None:
        self.path, self._file = path, file
        self._infos = {info.filename: info for info in file.infolist()}
        self.digests, self.made_by = self._checksums()

    def _checksums(self) -> tuple[dict[str, str], dict[str, str | None]]:
        """Return the SHA-256 of each file by name, and the versions of what made the archive."""
        if CHECKSUMS not in self._infos:
            raise self.problem(f"{CHECKSUMS} is missing; expected an archive that `mobilenet artefact` has made")
        if self._infos[CHECKSUMS].file_size > MOST_LIST_BYTES:
            raise self.problem(f"{CHECKSUMS} has more than {MOST_LIST_BYTES:,} bytes")
        try:
            found = json.loads(b"".join(self._pieces(CHECKSUMS)))
            digests, made_by = found["files"], found["made_by"]
            if found["format"] != FORMAT:
                raise self.problem(f"format {str(found['format'])[:40]}, expected {FORMAT}")
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self.problem(f"{CHECKSUMS} is damaged") from None
        if not _are_texts(digests) or not _are_texts(made_by, may_lack=True):
            raise self.problem(f"{CHECKSUMS} is damaged")
        if apart := sorted(digests.keys() ^ (self._infos.keys() - {CHECKSUMS})):
            where = "not in the archive" if apart[0] in digests else f"not in {CHECKSUMS}"
            raise self.problem(f"{_shown(apart[0])} is {where}")
        return digests, made_by

    def verify(self) -> None:
        """Compare each file with its checksum. Raises ArtefactError."""
        for name in self.digests:
            self._copy(name, None)

    def extract(self, folder: Path) -> None:
        """Write all files into an empty folder. Raises ArtefactError."""
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
            raise self.problem(f"{_shown(name)} is not the file that {CHECKSUMS} names: its SHA-256 differs")

    def _pieces(self, name: str) -> Iterator[bytes]:
        info, size = self._infos[name], 0
        try:
            with self._file.open(info) as file:
                while piece := file.read(PIECE_BYTES):
                    size += len(piece)
                    if size > info.file_size:
                        raise self.problem(f"{_shown(name)} is longer than the archive states")
                    yield piece
        except BROKEN:
            raise self.problem(f"{_shown(name)} is damaged") from None
        if size != info.file_size:
            raise self.problem(f"{_shown(name)} is shorter than the archive states")

    def problem(self, what: str) -> ArtefactError:
        """Return an error about this archive."""
        return ArtefactError(f"{self.path}: {what}")


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """Open an archive, and check its list of files. Raises ArtefactError."""
    try:
        with path.open("rb") as stream:
            _require_plain(path, stream)
            try:
                file = zipfile.ZipFile(stream)
            except BROKEN:
                raise ArtefactError(f"{path}: damaged: its list of files cannot be read") from None
            with file:
                _require_allowed(path, file.infolist())
                yield Archive(path, file)
    except OSError as error:
        if error.filename != str(path):
            raise
        raise ArtefactError(f"{path}: cannot be read: {error.strerror}") from None


def _require_plain(path: Path, stream: IO[bytes]) -> None:
    """Look at the end of the file, before the list of files takes any memory."""
    size = stream.seek(0, os.SEEK_END)
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode) or size < END.size:
        raise ArtefactError(f"{path}: not a ZIP file")
    if size > MOST_ARCHIVE_BYTES:
        raise ArtefactError(f"{path}: {size:,} bytes, expected at most {MOST_ARCHIVE_BYTES:,}")
    stream.seek(-END.size, os.SEEK_END)
    mark, disk, first_disk, here, count, listed, begin, comment = END.unpack(stream.read(END.size))
    if mark != b"PK\x05\x06" or comment:
        raise ArtefactError(f"{path}: not a ZIP file, truncated, or followed by other data")
    if count > MOST_FILES or listed > MOST_LIST_BYTES:
        raise ArtefactError(f"{path}: {count:,} files, expected at most {MOST_FILES:,}")
    if disk or first_disk or here != count or begin + listed + END.size != size:
        raise ArtefactError(f"{path}: damaged: its list of files is not where it should be")
    if size >= END.size + LOCATOR_BYTES:
        stream.seek(-END.size - LOCATOR_BYTES, os.SEEK_END)
        if stream.read(4) == b"PK\x06\x07":
            raise ArtefactError(f"{path}: a ZIP64 file, which is not supported")
    stream.seek(0)


def _require_allowed(path: Path, infos: list[zipfile.ZipInfo]) -> None:
    """Require names inside, regular files, and sizes within the limits."""
    if len(infos) > MOST_FILES:
        raise ArtefactError(f"{path}: {len(infos):,} files, expected at most {MOST_FILES:,}")
    for info in infos:
        if (what := _problem(info)) is not None:
            raise ArtefactError(f"{path}: {_shown(info.orig_filename)} {what}")
    if (name := clash([info.filename for info in infos])) is not None:
        raise ArtefactError(f"{path}: {_shown(name)} is there twice, or is a file and a folder")
    if (total := sum(info.file_size for info in infos)) > MOST_BYTES:
        raise ArtefactError(f"{path}: {total:,} bytes unpacked, expected at most {MOST_BYTES:,}")


def _problem(info: zipfile.ZipInfo) -> str | None:
    if info.filename != info.orig_filename:
        return "has a name that ends early"
    if (what := name_problem(info.filename)) is not None:
        return what
    if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG) or info.external_attr & 0x10:
        return "is a link, a folder or a device; expected a file"
    if info.flag_bits & 0x41 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is encrypted, or packed in a way that is not supported"
    if info.file_size > MOST_FILE_BYTES:
        return f"has {info.file_size:,} bytes, expected at most {MOST_FILE_BYTES:,}"
    if ratio_is_too_high(info.file_size, info.compress_size):
        return f"would grow from {info.compress_size:,} to {info.file_size:,} bytes, which no study's file does"
    return None


def _are_texts(found: Any, may_lack: bool = False) -> bool:
    return isinstance(found, dict) and all(
        isinstance(value, str) or (may_lack and value is None) for value in found.values()
    )


def _shown(name: str) -> str:
    return cut(spelled_out(name), 120)
