"""Write an archive. The same files result in the same bytes on every machine with the same version of zlib.

Model     The files are written in the order of their names, and all have the date 1980-01-01. They are deflated, unless
          this would shrink them beyond the ratio that `limits.py` allows. `checksums.json` contains the SHA-256 of
          every other file.
Errors    ArtefactError for a name or a size that is not allowed in an archive.
Source    ours: docs/guide/artefact.md
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from mobilenet.lab.artefact import ArtefactError
from mobilenet.lab.artefact.archive import CHECKSUMS, FORMAT
from mobilenet.lab.artefact.limits import (
    MOST_ARCHIVE_BYTES,
    MOST_BYTES,
    MOST_FILE_BYTES,
    MOST_FILES,
    clash,
    name_problem,
    ratio_is_too_high,
)

DATE = (1980, 1, 1, 0, 0, 0)  # the earliest date that ZIP can represent
MODE = 0o100644 << 16
LEVEL = 6


def checksums(files: Mapping[str, bytes], made_by: Mapping[str, str | None]) -> bytes:
    """Return the content of checksums.json: the SHA-256 of each file."""
    digests = {name: hashlib.sha256(files[name]).hexdigest() for name in sorted(files)}
    return (json.dumps({"format": FORMAT, "made_by": made_by, "files": digests}, indent=1) + "\n").encode()


def write(target: Path, files: Mapping[str, bytes], made_by: Mapping[str, str | None]) -> None:
    """Write an archive with these files and their checksums. Raise ArtefactError for a forbidden name or size."""
    _require_allowed(files)
    with zipfile.ZipFile(target, "w", allowZip64=False) as file:
        for name, data in sorted({**files, CHECKSUMS: checksums(files, made_by)}.items()):
            info = zipfile.ZipInfo(name, DATE)
            info.create_system, info.external_attr = 3, MODE
            info.compress_type = zipfile.ZIP_STORED if _shrinks_too_much(data) else zipfile.ZIP_DEFLATED
            file.writestr(info, data, compresslevel=LEVEL)
    if (size := target.stat().st_size) > MOST_ARCHIVE_BYTES:
        raise ArtefactError(f"the archive would have {size:,} bytes, expected at most {MOST_ARCHIVE_BYTES:,}")


def _shrinks_too_much(data: bytes) -> bool:
    return ratio_is_too_high(len(data), len(zlib.compress(data, LEVEL, -15)))


def _require_allowed(files: Mapping[str, bytes]) -> None:
    if len(files) >= MOST_FILES:
        raise ArtefactError(f"{len(files):,} files, expected at most {MOST_FILES - 1:,}")
    for name, data in files.items():
        if (what := name_problem(name)) is not None:
            raise ArtefactError(f"{name!r}: its name {what}; an archive may not contain such a file")
        if len(data) > MOST_FILE_BYTES:
            raise ArtefactError(f"{name}: {len(data):,} bytes, expected at most {MOST_FILE_BYTES:,}")
    if (twice := clash(sorted(files))) is not None:
        raise ArtefactError(f"{twice}: on some machines, this name is the same as that of another file")
    if (total := sum(map(len, files.values()))) > MOST_BYTES:
        raise ArtefactError(f"{total:,} bytes, expected at most {MOST_BYTES:,}")
