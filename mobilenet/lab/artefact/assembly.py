"""Create an archive of studies and evaluated claims.

Model     The parts are read, their files are collected, and README, dependencies and metadata are added. Then
          checksums are computed, and everything is written to one ZIP file. The same directories and date result in
          the same bytes.
Errors    ArtefactError, StudyError or ScenarioError for an unusable part. RecordError if writing fails.
Source    ours: docs/guide/artefact.md
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata as packages
from pathlib import Path
from typing import NamedTuple

from mobilenet import __version__
from mobilenet.lab.artefact.answers import Files, answers_in
from mobilenet.lab.artefact.contents import files_of
from mobilenet.lab.artefact.crate import About, metadata
from mobilenet.lab.artefact.parts import CLAIMS, Part, parts_of
from mobilenet.lab.artefact.readme import CRATE, INSTALLED, LOCK, Summary, readme
from mobilenet.lab.artefact.searches import search_in
from mobilenet.lab.artefact.writer import write
from mobilenet.lab.studies.claims.declaration import Claims
from mobilenet.lab.studies.claims.evaluation import KEPT, MARK
from mobilenet.lab.studies.store import open_store
from mobilenet.lab.studies.table_files import read_rows
from mobilenet.record.provenance import read_provenance
from mobilenet.record.stamp import PACKAGE, commit
from mobilenet.viz.files import whole_file

DECIDING = ("numpy", "scipy", "pandas", "pyarrow")  # packages that may affect the exact bits of tables


class NewArchive(NamedTuple):
    """Describes a newly made archive."""

    files: int
    bytes: int
    has_code: bool


def make(paths: Sequence[Path], target: Path, title: str | None, license_: str | None, date: str | None) -> NewArchive:
    """Create an archive from directories of studies, directories of answers, and claims files.

    `date` is the date of publication in the form 2026-11-26. The default is the day on which the newest results were
    written.
    """
    with whole_file(target, (".zip",)) as partial:
        parts = parts_of(paths)
        files = {name: data for part in parts for name, data in files_of(part).items()}
        summaries = [summary_of(part) for part in parts]
        by, lock = versions() | _version_of(parts), _dependencies()
        about = About(title or ", ".join(part.name for part in parts), date or _newest(parts), license_)
        files |= lock
        files["README.md"] = readme(about.title, summaries, by, next(iter(lock))).encode()
        files[CRATE] = metadata(about, summaries, files, by)
        write(partial, files, by)
        size = partial.stat().st_size
    return NewArchive(len(files) + 1, size, any(one.code for one in summaries))


def versions() -> dict[str, str | None]:
    """Return the versions of all software that may affect results."""
    deciding = {name: packages.version(name) for name in DECIDING}
    python = ".".join(platform.python_version_tuple()[:2])
    return {"mobilenet": __version__, "commit": commit(), "python": python, "machine": platform.machine(), **deciding}


def _version_of(parts: Sequence[Part]) -> dict[str, str | None]:
    """Return the version and commit of mobilenet that made the results. Join several versions into one string."""
    files = [study / "tables" / "runs.parquet" for part in parts for study in studies_of(part)]
    stamps = [read_provenance(file) for file in [*files, *(part.path / MARK for part in parts if part.kind == CLAIMS)]]
    pairs = sorted({(stamp.version, stamp.commit or "unknown") for stamp in stamps if stamp is not None})
    if not pairs:
        return {}
    version, commits = " and ".join(sorted({one for one, _ in pairs})), " and ".join(commit for _, commit in pairs)
    return {"mobilenet": version, "commit": None if commits == "unknown" else commits}


def _dependencies() -> Files:
    """Return requirements.lock of the clone or, if it does not exist, a list of the installed packages."""
    if (lock := PACKAGE.parent / LOCK).is_file():
        return {LOCK: lock.read_bytes()}
    requirements = {f"{one.metadata['Name']}=={one.version}" for one in packages.distributions()}
    return {INSTALLED: ("\n".join(sorted(requirements, key=str.lower)) + "\n").encode()}


def studies_of(part: Part) -> list[Path]:
    """Return the directories of all studies that belong to a part."""
    if part.kind != CLAIMS:
        return [part.path]
    return [part.path / name for name in Claims.load(part.path / KEPT).experiments]


def code_in(study: Path) -> set[str]:
    """Return the plug-ins and programs named in a study's scenarios."""
    return open_store(study).code()


def summary_of(part: Part) -> Summary:
    studies = studies_of(part)
    answers = answers_in((part.path / MARK).read_bytes())["claims"] if part.kind == CLAIMS else []
    return Summary(
        part,
        sum(len(read_rows(study, "runs")) for study in studies),
        sum(len(open_store(study).configurations) for study in studies),
        answers,
        sorted(set().union(*(code_in(study) for study in studies))),
        search_in(part.path) if part.kind != CLAIMS else None,
    )


def _newest(parts: Sequence[Part]) -> str:
    files = [study / "tables" / "runs.csv" for part in parts for study in studies_of(part)]
    files += [part.path / MARK for part in parts if part.kind == CLAIMS]
    return datetime.fromtimestamp(max(file.stat().st_mtime for file in files), UTC).date().isoformat()
