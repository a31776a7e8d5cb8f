"""Which archives are read at all? The limits of size, and the names that files may have.

Model     the same limits hold for the archives that are made, so every archive that is made can be checked
Units     bytes
Errors    none
Source    ours: docs/guide/artefact.md
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

MOST_FILES = 20_000
MOST_ARCHIVE_BYTES = 1_000_000_000
MOST_LIST_BYTES = 10_000_000  # of the list of files at the end of the archive
MOST_FILE_BYTES = 500_000_000  # size of a file, unpacked
MOST_BYTES = 2_000_000_000  # size of all files, unpacked
MOST_RATIO = 100  # unpacked to packed size of a file
FREE_BYTES = 1_000  # bytes that a file may have beyond the ratio, since short files may shrink by any factor
LONGEST_NAME = 300  # characters
DEEPEST = 20  # folders


def name_problem(name: str) -> str | None:
    """Return what is wrong with the name of a file in an archive, or None if nothing is."""
    parts = name.split("/")
    if name.startswith("/") or ":" in name:
        return "is absolute, or names a drive"
    if any(part in ("", ".", "..") for part in parts):
        return "leads outside the archive, or is not a file"
    if "\\" in name or not name.isprintable():
        return "has a backslash, or an invisible character"
    if len(name) > LONGEST_NAME or len(parts) > DEEPEST:
        return f"is longer than {LONGEST_NAME} characters, or deeper than {DEEPEST} folders"
    return None


def clash(names: Iterable[str]) -> str | None:
    """Return a name that would be the same file as another one on some machine, or is both a file and a folder."""
    folded_names: set[str] = set()
    for name in names:
        folded = _fold(name)
        if folded in folded_names:
            return name
        folded_names.add(folded)
    for name in names:
        parts = _fold(name).split("/")
        if any("/".join(parts[:depth]) in folded_names for depth in range(1, len(parts))):
            return name
    return None


def _fold(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def ratio_is_too_high(size: int, packed: int) -> bool:
    """Return whether a file shrinks more than files of studies usually do."""
    return size > MOST_RATIO * packed + FREE_BYTES
