"""Limits for acceptable archives: their sizes, and the names of their files.

Model     New archives obey the same limits, so that every archive can be checked.
Units     Sizes are in bytes.
Source    ours: docs/guide/artefact.md
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

MOST_FILES = 20_000
MOST_ARCHIVE_BYTES = 1_000_000_000
MOST_LIST_BYTES = 10_000_000  # maximum size of the list of files at the end of the archive
MOST_FILE_BYTES = 500_000_000  # maximum size of an unpacked file
MOST_BYTES = 2_000_000_000  # maximum total size of all unpacked files
MOST_RATIO = 100  # maximum ratio of the unpacked to the packed size of a file
# A file may exceed the ratio by this many bytes, because short files may be compressed to almost nothing.
FREE_BYTES = 1_000
LONGEST_NAME = 300  # maximum number of characters in a file name
DEEPEST = 20  # maximum number of nested folders


def name_problem(name: str) -> str | None:
    """Return what is wrong with a file name in an archive, or None if it is acceptable."""
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
    """Return a name that, on some machine, denotes the same file as another name, or both a file and a folder. Return
    None if there is no such name.
    """
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
    """Return whether the compression ratio of a file is suspiciously high."""
    return size > MOST_RATIO * packed + FREE_BYTES
