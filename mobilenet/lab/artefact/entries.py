"""Check the list of files of an archive that may come from an untrusted source, before any of its files is read.

Model     The end of the file is checked before the list is read into memory: there must be one list at the end,
          without ZIP64 and without a comment. Then each entry is checked: it must have a name inside the archive and
          be a regular file, stored or deflated, within the size limits.
Units     Sizes are in bytes.
Errors    ArtefactError with one line.
Source    ours: docs/guide/artefact.md; APPNOTE.TXT 6.3.10, 4.3 (PKWARE)
"""

from __future__ import annotations

import os
import stat
import struct
import zipfile
from pathlib import Path
from typing import IO

from mobilenet.lab.artefact import ArtefactError
from mobilenet.lab.artefact.limits import (
    MOST_ARCHIVE_BYTES,
    MOST_BYTES,
    MOST_FILE_BYTES,
    MOST_FILES,
    MOST_LIST_BYTES,
    clash,
    name_problem,
    ratio_is_too_high,
)
from mobilenet.quoting import cut, spell_out

END = struct.Struct("<4s4H2LH")  # the record at the end of the central directory
LOCATOR_BYTES = 20  # the size of the ZIP64 locator, which would precede the end record


def require_plain(path: Path, stream: IO[bytes]) -> None:
    """Check the end of the file, before its list of files is read into memory."""
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


def require_allowed(path: Path, infos: list[zipfile.ZipInfo]) -> None:
    """Raise ArtefactError unless every entry is a regular file with an allowed name and size."""
    if len(infos) > MOST_FILES:
        raise ArtefactError(f"{path}: {len(infos):,} files, expected at most {MOST_FILES:,}")
    for info in infos:
        if (what := _problem(info)) is not None:
            raise ArtefactError(f"{path}: {printable_name(info.orig_filename)} {what}")
    if (name := clash([info.filename for info in infos])) is not None:
        raise ArtefactError(f"{path}: {printable_name(name)} occurs twice, or is both a file and a folder")
    if (total := sum(info.file_size for info in infos)) > MOST_BYTES:
        raise ArtefactError(f"{path}: {total:,} bytes unpacked, expected at most {MOST_BYTES:,}")


def _problem(info: zipfile.ZipInfo) -> str | None:
    if info.filename != info.orig_filename:
        return "has a name with a NUL character, or two different names"
    if (what := name_problem(info.filename)) is not None:
        return what
    if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG) or info.external_attr & 0x10:
        return "is a link, a folder or a device; expected a file"
    if info.flag_bits & 0x41 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is encrypted, or packed in a way that is not supported"
    if info.file_size > MOST_FILE_BYTES:
        return f"has {info.file_size:,} bytes, expected at most {MOST_FILE_BYTES:,}"
    if ratio_is_too_high(info.file_size, info.compress_size):
        return f"would grow from {info.compress_size:,} to {info.file_size:,} bytes, which no file of a study does"
    return None


def printable_name(name: str) -> str:
    """Return a file name with all unprintable characters replaced."""
    return cut(spell_out(name), 120)
