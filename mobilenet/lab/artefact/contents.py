"""Collect the files of an archive from its studies and evaluated claims.

Model     studies/NAME/          study.yaml, the configurations with the files that they name (tracks, walls, plug-ins,
                                 programs), the table of runs, tables, comparison and figures, and the answer of a
                                 capacity search or screening; but no run directories, because the check repeats the
                                 runs
          claims/NAME/           claims.yaml, the answers, and a folder for each experiment that contains its study
Shapes    Files are a mapping from the name in the archive to the content.
Errors    ArtefactError or StudyError if a part is not finished, or is not a directory that can be run again.
Source    ours: docs/guide/artefact.md; mobilenet/lab/studies/store.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mobilenet.engine.scratch import scratch_folder
from mobilenet.lab.artefact import ArtefactError
from mobilenet.lab.artefact.answers import Files, answers_of, require_answered
from mobilenet.lab.artefact.parts import STUDIES, Part
from mobilenet.lab.artefact.searches import FILES as ANSWERS_OF_SEARCHES
from mobilenet.lab.artefact.searches import pictures_of, plan_of, verb_of
from mobilenet.lab.studies.claims.declaration import Claims
from mobilenet.lab.studies.claims.evaluation import KEPT
from mobilenet.lab.studies.table_files import read_rows
from mobilenet.record.provenance import inputs_of, read_provenance
from mobilenet.viz.figures import study_figures
from mobilenet.viz.style import Look

OF_STUDY = (
    "study.yaml", "runs.csv", "runs.parquet", "comparison.json", "comparison.csv", "comparison.parquet", "effects.csv",
    "effects.parquet",
)  # fmt: skip
PICTURES = (".svg", ".png", ".pdf")


def files_of(part: Part) -> Files:
    """Return all files of a part by their names in the archive. Raise ArtefactError or StudyError if the part cannot be
    packed.
    """
    if part.kind == STUDIES:
        return _study(part.path, part.place) | _search(part)
    require_answered(part.path)
    claims, files = Claims.load(part.path / KEPT), answers_of(part.path, part.place)
    for name in claims.experiments:
        files |= _study(part.path / name, f"{part.place}/{name}")
    return files


def _search(part: Part) -> Files:
    """Return the result files if the part is a repeatable capacity search or screening."""
    if (verb := verb_of(part.path)) is None:
        return {}
    plan_of(part.path)
    files = {name: (part.path / name).read_bytes() for name in ANSWERS_OF_SEARCHES[verb]}
    return {f"{part.place}/{name}": data for name, data in {**files, **dict(pictures_of(part.path))}.items()}


def _study(path: Path, place: str) -> Files:
    _require_finished(path)
    paths = [path / name for name in OF_STUDY]
    paths += [one for folder in ("configurations", "tables") for one in sorted((path / folder).rglob("*"))]
    files = {}
    for one in paths:
        inside = one.relative_to(path)
        if any(part.startswith(".") or part == "__pycache__" for part in inside.parts):
            continue
        if one.is_symlink():
            raise ArtefactError(f"{one}: is a link; expected a file written by the study")
        if one.is_file():
            files[f"{place}/{inside.as_posix()}"] = one.read_bytes()
    return files | {f"{place}/figures/{name}": data for name, data in _figures(path)}


def _require_finished(path: Path) -> None:
    rows = read_rows(path, "runs")
    missing = [row["run"] for row in rows if row.get("state") != "done"]
    if missing or len(read_rows(path, "tables/runs")) != len(rows):
        what = f"{len(missing)} of {len(rows)} runs are missing" if missing else "its tables do not match its runs"
        raise ArtefactError(f"{path}: unfinished: {what}; repeat the command that made it")


def _figures(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the figures of the study. Draw them if they are missing, or if they were drawn from other runs."""
    there = sorted(one for one in (path / "figures").glob("*") if one.suffix in PICTURES and not one.is_symlink())
    inputs = inputs_of(path)
    stamps = [read_provenance(one) for one in there]
    if there and all(stamp is not None and stamp.inputs == inputs for stamp in stamps):
        yield from ((one.name, one.read_bytes()) for one in there)
        return
    with scratch_folder("figures") as folder:
        study_figures(path, folder, Look((".svg",)))
        yield from ((one.name, one.read_bytes()) for one in sorted(folder.iterdir()))
