"""Check an archive by running everything in it again and comparing the results.

Model     Limits and checksums are checked first (archive.py). The archive is unpacked into a temporary folder, where
          all files that scenarios name must exist. Then studies and claims are run again, with the seeds and
          replications of the archive, and compared. Without permission, studies with plug-ins or programs, and claims
          about such studies, are not run. The network is never used.
Errors    ArtefactError or ScenarioError for an archive that is damaged, too large, or not made by mobilenet.
Source    ours: docs/guide/artefact.md
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from mobilenet.engine.scratch import scratch_folder
from mobilenet.lab.artefact import ArtefactError
from mobilenet.lab.artefact.answers import answers_in
from mobilenet.lab.artefact.archive import open_archive
from mobilenet.lab.artefact.assembly import code_in, studies_of, versions
from mobilenet.lab.artefact.comparison import Line, Sameness, compare_claims, compare_search, compare_study
from mobilenet.lab.artefact.completeness import require_inside
from mobilenet.lab.artefact.parts import CLAIMS, STUDIES, Part
from mobilenet.lab.artefact.searches import CAPACITY, NAMES, answer_in, first_of, plan_of, verb_of
from mobilenet.lab.artefact.statements import differing_reports, differing_statements, not_compared
from mobilenet.lab.studies import OutError
from mobilenet.lab.studies.batch import Progress
from mobilenet.lab.studies.capacity.capacity import search
from mobilenet.lab.studies.claims.declaration import Claims
from mobilenet.lab.studies.claims.evaluation import KEPT, MARK, Means, answer
from mobilenet.lab.studies.claims.questions import plan
from mobilenet.lab.studies.sensitivity.sensitivity import run as screening
from mobilenet.lab.studies.spark import Spark, local_master, spark_session
from mobilenet.lab.studies.study import run_study
from mobilenet.lab.studies.table_files import read_rows
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import first_line, pluralize

NEEDS_CODE = "needs --allow-code, as it runs {}"


class CheckResult(NamedTuple):
    """The results of checking an archive."""

    lines: list[Line]
    sha256: str  # digest of the archive
    promise: str  # a sentence that states whether identical bits are promised
    unchecked: list[str]  # names of files that were not compared

    def count(self, kind: Sameness) -> int:
        """Return the number of studies and claims with this result."""
        return sum(line.sameness is kind for line in self.lines)


@dataclass(frozen=True)
class CheckOptions:
    """Options for running the parts again."""

    workers: int | None
    progress: Progress
    say: Callable[[str], None]
    allow_code: bool


def check(path: Path, out: Path | None, how: CheckOptions) -> CheckResult:
    """Run everything in an archive again, and compare the results. Keep the new results in the directory `out`, or
    delete them if `out` is None.
    """
    place = None if out is None else _place_of(out)
    with ExitStack() as stack:
        folder = stack.enter_context(scratch_folder("artefact", place))
        with open_archive(path) as archive:
            archive.verify()
            root = folder / "archive"
            root.mkdir()
            archive.extract(root)
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            by, differences = archive.made_by, _differences(archive.made_by)
        again = folder / "again"
        with _without_place(path, root):
            parts = _parts(path, root)
            lines = _Again(again, how, not differences).all(parts)
            lines += [] if differences else differing_statements(root, parts, by)
            unchecked = not_compared(root, parts, not differences)
        if out is not None and again.is_dir():
            os.replace(again, out)  # thus, a directory with the final name is always complete
    promise = (
        f"bit-identical results are not promised: {differences[0]}"
        if differences
        else "the versions are the same, so bit-identical results are promised"
    )
    return CheckResult(lines, digest, promise, unchecked)


@dataclass(frozen=True)
class _Again:
    """Runs the parts of an archive again, and writes the results into a folder."""

    folder: Path
    how: CheckOptions
    is_promised: bool  # whether identical bits are promised

    def all(self, parts: list[Part]) -> list[Line]:
        """Return a line for each study and claim. All parts share one Spark session."""
        codes = [sorted(set().union(*(code_in(study) for study in studies_of(part)))) for part in parts]
        pairs = list(zip(parts, codes, strict=True))
        needs_spark = any(studies_of(part) and (self.how.allow_code or not code) for part, code in pairs)
        lines: list[Line] = []
        with ExitStack() as stack:
            master = local_master(self.how.workers)
            spark = stack.enter_context(spark_session(master)) if needs_spark else master
            for part, code in pairs:
                if code and not self.how.allow_code:
                    lines += _not_run(part, NEEDS_CODE.format(", ".join(code)))
                    continue
                try:
                    lines += self._study(part, spark) if part.kind == STUDIES else self._claims(part, spark)
                except ScenarioError as error:
                    if not code:
                        raise
                    # A program is not installed on this machine.
                    lines.append(Line(part.place, Sameness.UNFINISHED, first_line(error)))
        return lines

    def _study(self, part: Part, spark: Spark) -> list[Line]:
        how, out = self.how, self.folder / part.place
        how.say(f"repeating {part.place}: {pluralize(_runs(part), 'run')}")
        if verb_of(part.path) is not None:
            return self._search(part, spark)
        result = run_study(part.path / "study.yaml", out, spark, how.progress, how.say, how.allow_code)
        if result.failed:
            return [Line(part.place, Sameness.UNFINISHED, result.failed[0])]
        return [compare_study(part.place, part.path, out, self.is_promised)]

    def _search(self, part: Part, spark: Spark) -> list[Line]:
        """Repeat a capacity search or a screening with the configurations of the archive."""
        how, out, planned = self.how, self.folder / part.place, plan_of(part.path)
        again = search if verb_of(part.path) == CAPACITY else screening
        outcome = again(planned, out, spark, how.progress, how.say, how.allow_code)
        if outcome.failed:
            return [Line(part.place, Sameness.UNFINISHED, outcome.failed[0])]
        what, words = f"{part.place}: {NAMES[str(verb_of(part.path))]}", first_of(part.path)
        documents = answer_in(part.path, self.is_promised), answer_in(out, self.is_promised)
        return [
            compare_study(part.place, part.path, out, self.is_promised),
            compare_search(what, part.path, out, words, documents, self.is_promised),
            *(differing_reports(part, out) if self.is_promised else []),
        ]

    def _claims(self, part: Part, spark: Spark) -> list[Line]:
        how, out = self.how, self.folder / part.place
        out.parent.mkdir(parents=True, exist_ok=True)
        how.say(f"repeating {part.place}: {pluralize(len(_rows(part.path)), 'claim')}, {pluralize(_runs(part), 'run')}")
        planned = plan(Claims.load(part.path / KEPT), how.allow_code)
        means = Means(out, how.workers, how.progress, how.say, how.allow_code)
        outcome = answer(planned, means, spark)
        if outcome.failed:
            return [Line(part.place, Sameness.UNFINISHED, outcome.failed[0])]
        lines = [
            compare_study(f"{part.place}/{study.name}", study, out / study.name, self.is_promised)
            for study in studies_of(part)
        ]
        lines += compare_claims(part.place, _rows(part.path), _rows(out), self.is_promised)
        return lines + (differing_reports(part, out) if self.is_promised else [])


def _parts(path: Path, root: Path) -> list[Part]:
    """Return the studies and claims of an unpacked archive, after checking that all files they name are in the
    archive.
    """
    parts = [
        Part(kind, folder.name, folder)
        for kind, mark in ((CLAIMS, KEPT), (STUDIES, "study.yaml"))
        for folder in sorted((root / kind).glob("*"))
        if (folder / mark).is_file()
    ]
    if not parts:
        raise ArtefactError(f"{path}: contains neither studies nor claims")
    for part in parts:
        require_inside(part)
        if part.kind == CLAIMS:
            _rows(part.path)
        elif verb_of(part.path) is not None:
            plan_of(part.path)
    return parts


def _rows(folder: Path) -> list[dict[str, Any]]:
    try:
        return list(answers_in((folder / MARK).read_bytes())["claims"])
    except (OSError, ValueError, RecursionError):
        raise ArtefactError(f"{folder / MARK}: expected the file that `mobilenet claims` writes") from None


def _runs(part: Part) -> int:
    return sum(len(read_rows(study, "runs")) for study in studies_of(part))


def _not_run(part: Part, why: str) -> list[Line]:
    if part.kind == STUDIES:
        return [Line(part.place, Sameness.NOT_RUN, why)]
    return [Line(f"{part.place}: {row['claim']}", Sameness.NOT_RUN, why) for row in _rows(part.path)]


def _differences(before: dict[str, str | None]) -> list[str]:
    """Return the software versions on this machine that differ from the versions with which the archive was made."""
    now = versions()
    differences = [
        f"{name} is {now.get(name) or 'unknown'} here, but was {str(before.get(name) or 'unknown')[:40]}"
        for name in now
        if now[name] != before.get(name)
    ]
    if (now["commit"] or "").endswith("+"):
        differences.append("source files have been changed here")
    return differences


def _place_of(out: Path) -> Path:
    """Return the folder for results until the check is complete. Raise an error unless `out` is new or an empty
    directory.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise OutError(f"{out}: exists and is not an empty directory")
    place = out.absolute().parent
    place.mkdir(parents=True, exist_ok=True)
    return place


@contextmanager
def _without_place(path: Path, root: Path) -> Iterator[None]:
    """Replace the temporary folder with the name of the archive in error messages."""
    try:
        yield
    except ScenarioError as error:
        if str(root) not in str(error):
            raise
        raise ArtefactError(f"{path}: {str(error).replace(f'{root}/', '')}") from None
