"""Find what an archive contains: studies and answered claims, recognised by the files in their directories.

Model     studies/NAME/          study.yaml, the configurations with the files that they name (tracks, walls, plug-ins,
                                 programs), the table of runs, tables, comparison, figures; run directories are left
                                 out, as the check makes them again
          claims/NAME/           claims.yaml, the answers, and a study for each experiment in a folder of its name
Shapes    name in the archive -> content
Errors    ArtefactError, StudyError: not finished, or not a directory that can be run again
Source    ours: docs/guide/artefact.md; mobilenet/studies/store.py
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from mobilenet.artefact import ArtefactError
from mobilenet.artefact.answers import answers_of, require_answered
from mobilenet.claims.answering import KEPT, MARK, default_directory
from mobilenet.claims.declaration import Claims
from mobilenet.quoting import as_file_name, quoted
from mobilenet.rundir.provenance import carried, inputs_of
from mobilenet.studies.csv_tables import read_rows
from mobilenet.viz.figures import study_figures
from mobilenet.viz.style import Look

STUDIES, CLAIMS = "studies", "claims"
OF_STUDY = (
    "study.yaml", "runs.csv", "runs.parquet", "comparison.json", "comparison.csv", "comparison.parquet", "effects.csv",
    "effects.parquet",
)  # fmt: skip
OF_SEARCHES = ("capacity.json", "sensitivity.csv")  # made by commands that do not run all of study.yaml
PICTURES = (".svg", ".png", ".pdf")
Files = dict[str, bytes]


class Part(NamedTuple):
    """A study or a file of claims, and its directory."""

    kind: str  # STUDIES or CLAIMS
    name: str
    path: Path

    @property
    def place(self) -> str:
        """Return its folder in the archive."""
        return f"{self.kind}/{self.name}"


def parts_of(paths: Sequence[Path]) -> list[Part]:
    """Return what the arguments are, in the order of their places in the archive. Raises ArtefactError."""
    found: dict[str, Part] = {}
    for path in paths:
        part = _part(path)
        if part.place in found:
            what = f"{path}: has the same name as {found[part.place].path}; rename one of the directories"
            raise ArtefactError(what)
        found[part.place] = part
    return [found[place] for place in sorted(found)]


def _part(path: Path) -> Part:
    if path.is_file():
        path = _answers_of(path)
    name = as_file_name(path.resolve().name) or "study"
    if (path / MARK).is_file():
        return Part(CLAIMS, name, path)
    if (path / "study.yaml").is_file():
        if search := next((one for one in OF_SEARCHES if (path / one).exists()), None):
            raise ArtefactError(f"{path}: has {search}; expected the directory of a study or of answered claims")
        return Part(STUDIES, name, path)
    raise ArtefactError(f"{path}: expected the directory of a study or of answered claims, or a claims file")


def _answers_of(file: Path) -> Path:
    """Return the directory with the answers to a claims file."""
    claims, place = Claims.load(file), default_directory(file)
    if not (place / KEPT).is_file():
        what = f"{place} does not contain its answers; run `mobilenet claims {quoted(file)}` first"
        raise ArtefactError(f"{file}: {what}")
    kept = Claims.load(place / KEPT)
    if (place / KEPT).read_text(encoding="utf-8") != claims.kept(kept.experiments):
        raise ArtefactError(f"{file}: differs from {place / KEPT}; run `mobilenet claims {quoted(file)}` again")
    return place


def files_of(part: Part) -> Files:
    """Return all files of a part by their names in the archive. Raises ArtefactError, StudyError."""
    if part.kind == STUDIES:
        return _study(part.path, part.place)
    require_answered(part.path)
    claims, files = Claims.load(part.path / KEPT), answers_of(part.path, part.place)
    for name in claims.experiments:
        files |= _study(part.path / name, f"{part.place}/{name}")
    return files


def _study(path: Path, place: str) -> Files:
    _require_finished(path)
    found = [path / name for name in OF_STUDY]
    found += [one for folder in ("configurations", "tables") for one in sorted((path / folder).rglob("*"))]
    files = {}
    for one in found:
        inside = one.relative_to(path)
        if any(part.startswith(".") or part == "__pycache__" for part in inside.parts):
            continue
        if one.is_symlink():
            raise ArtefactError(f"{one}: is a link; expected a file that the study has written")
        if one.is_file():
            files[f"{place}/{inside.as_posix()}"] = one.read_bytes()
    return files | {f"{place}/figures/{name}": data for name, data in _figures(path)}


def _require_finished(path: Path) -> None:
    rows = read_rows(path / "runs.csv")
    missing = [row["run"] for row in rows if row.get("state") != "done"]
    if missing or len(read_rows(path / "tables" / "runs.csv")) != len(rows):
        what = f"{len(missing)} of {len(rows)} runs are missing" if missing else "its tables are not those of its runs"
        raise ArtefactError(f"{path}: unfinished: {what}; run the command that made it again")


def _figures(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the study's figures; they are drawn if there are none, or if they were drawn from other runs."""
    there = sorted(one for one in (path / "figures").glob("*") if one.suffix in PICTURES and not one.is_symlink())
    inputs = inputs_of(path)
    stamps = [carried(one) for one in there]
    if there and all(stamp is not None and stamp.inputs == inputs for stamp in stamps):
        yield from ((one.name, one.read_bytes()) for one in there)
        return
    with TemporaryDirectory(prefix="mobilenet-figures-") as folder:
        study_figures(path, Path(folder), Look((".svg",)))
        yield from ((one.name, one.read_bytes()) for one in sorted(Path(folder).iterdir()))
