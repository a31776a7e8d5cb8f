"""Compare the reports of answers, the README and the metadata of an archive with newly made ones.

Model     The check writes the reports of answers again. It also makes README and metadata from the files of the
          archive, with its title, date and licence. All of these are compared only if identical bits are promised,
          because another version may word them differently.
Errors    None. A file that cannot be read counts as different.
Source    ours: docs/guide/artefact.md
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from mobilenet.lab.artefact.answers import ANSWERS, Files
from mobilenet.lab.artefact.archive import CHECKSUMS
from mobilenet.lab.artefact.assembly import summary_of
from mobilenet.lab.artefact.comparison import Line, Sameness
from mobilenet.lab.artefact.crate import About, metadata
from mobilenet.lab.artefact.parts import CLAIMS, Part
from mobilenet.lab.artefact.readme import CRATE, INSTALLED, LOCK, readme
from mobilenet.lab.artefact.searches import CAPACITY, PICTURES, verb_of
from mobilenet.lab.studies.claims.evaluation import MARK

README, FIGURES = "README.md", "figures"
REPORTS = tuple(name for name in ANSWERS if name != MARK)
LICENSES = "https://spdx.org/licenses/"


def differing_reports(part: Part, again: Path) -> list[Line]:
    """Return a line for each report of answers that differs from the new one. The contents of claims.json and
    capacity.json are compared elsewhere.
    """
    return [
        Line(f"{part.place}/{name}", Sameness.DIFFERS, "other bytes")
        for name in reports_of(part)
        if _bytes(part.path / name) != _bytes(again / name)
    ]


def reports_of(part: Part) -> tuple[str, ...]:
    """Return the files of a part that present its answers to readers."""
    if part.kind == CLAIMS:
        return REPORTS
    return ("capacity.md",) if verb_of(part.path) == CAPACITY else ()


def differing_statements(folder: Path, parts: Sequence[Part], by: Mapping[str, str | None]) -> list[Line]:
    """Return a line for the README, and one for the metadata, if they disagree with the contents of the archive."""
    files = {name: (folder / name).read_bytes() for name in _names(folder) if name not in (CHECKSUMS, CRATE)}
    summaries = [summary_of(part) for part in parts]
    lock = next((name for name in (LOCK, INSTALLED) if name in files), LOCK)
    title = files.get(README, b"").decode(errors="replace").partition("\n")[0].removeprefix("# ")
    lines = []
    if files.get(README) != readme(title, summaries, by, lock).encode():
        lines.append(Line(README, Sameness.DIFFERS, "does not state what the archive contains"))
    try:
        is_same = _bytes(folder / CRATE) == metadata(_about(folder, title), summaries, files, by)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        is_same = False
    if is_same:
        return lines
    changed = [
        Line(name, Sameness.DIFFERS, f"is not the file that {CRATE} describes")
        for name in _changed_files(folder, files)
    ]
    return [*lines, *(changed or [Line(CRATE, Sameness.DIFFERS, "does not state what the archive contains")])]


def _changed_files(folder: Path, files: Files) -> list[str]:
    """Return the files whose digests do not match the metadata."""
    try:
        graph = json.loads((folder / CRATE).read_text(encoding="utf-8"))["@graph"]
        digests = {unquote(str(one["@id"])): one["sha256"] for one in graph if "sha256" in one}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return []
    names = [name for name in sorted(files) if name != README and name in digests]
    return [name for name in names if sha256(files[name]).hexdigest() != digests[name]]


def not_compared(folder: Path, parts: Sequence[Part], is_promised: bool) -> list[str]:
    """Return the names of the files that the check does not compare."""
    never = ("effects.csv", "effects.parquet", "comparison.json")
    names = [name for name in _names(folder) if f"/{FIGURES}/" in f"/{name}" or name.rpartition("/")[2] in never]
    names += [f"{part.place}/{name}" for part in parts for name in PICTURES if (part.path / name).is_file()]
    names += [name for name in (LOCK, INSTALLED) if (folder / name).is_file()]
    if not is_promised:
        names += [README, CRATE]
        names += [f"{part.place}/{name}" for part in parts for name in reports_of(part)]
        names += [name for name in _names(folder) if name.endswith(".parquet")]
    return sorted(set(names))


def _about(folder: Path, title: str) -> About:
    graph = json.loads((folder / CRATE).read_text(encoding="utf-8"))["@graph"]
    root: dict[str, Any] = next(one for one in graph if one.get("@id") == "./")
    place = str(root["license"]["@id"])
    license_ = unquote(place.removeprefix(LICENSES)) if place.startswith(LICENSES) else None
    return About(title, str(root["datePublished"]), license_)


def _names(folder: Path) -> Iterator[str]:
    return (path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file())


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
