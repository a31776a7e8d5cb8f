"""Check an archive: run all that is in it again, and compare.

Model     limits and checksums (archive.py) → an own temporary folder → the files that scenarios name are inside →
          studies and claims again, with the seeds and replications of the archive → comparison. Without permission, a
          study with plug-ins or programs is not run, and neither are claims about one. Nothing uses the network
Errors    ArtefactError, ScenarioError: an archive that is damaged, too large, or not one of ours
Source    ours: docs/guide/artefact.md
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from mobilenet.artefact import ArtefactError
from mobilenet.artefact.archive import opened
from mobilenet.artefact.comparing import Line, Sameness, compare_claims, compare_study
from mobilenet.artefact.contents import CLAIMS, KEPT, MARK, STUDIES, Part, answers_in
from mobilenet.artefact.inside import require_inside
from mobilenet.artefact.making import code_in, made_by, studies_of
from mobilenet.claims.answering import Means, answer
from mobilenet.claims.declaration import Claims
from mobilenet.claims.questions import plan
from mobilenet.parameters import ScenarioError
from mobilenet.studies import OutError
from mobilenet.studies.batch import Progress
from mobilenet.studies.spark import spark_session
from mobilenet.studies.study import run_study

NEEDS_CODE = "needs --allow-code, which runs its plug-ins and programs"


class Checked(NamedTuple):
    """The results of a check."""

    lines: list[Line]
    sha256: str  # of the archive
    promise: str  # whether the same bits are promised, in words

    def count(self, kind: Sameness) -> int:
        """Return how many studies and claims came out so."""
        return sum(line.sameness is kind for line in self.lines)


def check(
    path: Path, out: Path | None, master: str, progress: Progress, allow_code: bool, say: Callable[[str], None]
) -> Checked:
    """Run everything in an archive again; `out`: the directory that keeps it, by default none."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="mobilenet-artefact-")))
        with opened(path) as archive:
            archive.verify()
            kept = folder / "archive"
            kept.mkdir()
            archive.extract(kept)
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            differences = _differences(archive.made_by)
        again = folder / "again" if out is None else _empty(out)
        with _without_place(path, kept):
            parts = _parts(path, kept)
            codes = [sorted(set().union(*(code_in(study) for study in studies_of(part)))) for part in parts]
            run = _Run(kept, again, progress, allow_code, say, not differences)
            lines = run.all(parts, codes, master)
    promise = (
        f"the same bits are not promised: {differences[0]}" if differences else "the versions are the same, so the same"
        " bits are promised"
    )  # fmt: skip
    return Checked(lines, digest, promise)


class _Run(NamedTuple):
    """How the parts of an archive are run again."""

    kept: Path
    again: Path
    progress: Progress
    allow_code: bool
    say: Callable[[str], None]
    is_promised: bool

    def all(self, parts: list[Part], codes: list[list[str]], master: str) -> list[Line]:
        """Run all parts in one session of Spark."""
        lines: list[Line] = []
        allowed = [not code or self.allow_code for code in codes]
        with ExitStack() as stack:
            session = stack.enter_context(spark_session(master)) if any(allowed) else None
            for part, is_allowed in zip(parts, allowed, strict=True):
                if not is_allowed:
                    lines += _not_run(part)
                elif part.kind == STUDIES:
                    lines.append(self.study(part, master, session))
                else:
                    lines += self.claims(part, master, session)
        return lines

    def study(self, part: Part, master: str, session: Any) -> Line:
        out = self.again / part.place
        self.say(f"{part.place}: running it again")
        done = run_study(part.path / "study.yaml", out, master, self.progress, self.say, self.allow_code, session)
        if done.failed:
            return Line(part.place, Sameness.UNFINISHED, done.failed[0])
        return compare_study(part.place, part.path, out, self.is_promised)

    def claims(self, part: Part, master: str, session: Any) -> list[Line]:
        out = self.again / part.place
        out.parent.mkdir(parents=True, exist_ok=True)
        self.say(f"{part.place}: answering its claims again")
        planned = plan(Claims.load(part.path / KEPT), self.allow_code)
        outcome = answer(planned, Means(out, None, self.progress, self.say, self.allow_code), master, session)
        if outcome.failed:
            return [Line(part.place, Sameness.UNFINISHED, outcome.failed[0])]
        lines = [
            compare_study(f"{part.place}/{study.name}", study, out / study.name, self.is_promised)
            for study in studies_of(part)
        ]
        return lines + compare_claims(part.place, _rows(part.path), _rows(out), self.is_promised)


def _parts(path: Path, kept: Path) -> list[Part]:
    """Return the studies and claims of an unpacked archive, whose files are all inside."""
    require_inside(kept)
    found = [
        Part(kind, folder.name, folder)
        for kind, mark in ((CLAIMS, KEPT), (STUDIES, "study.yaml"))
        for folder in sorted((kept / kind).glob("*"))
        if (folder / mark).is_file()
    ]
    if not found:
        raise ArtefactError(f"{path}: contains neither studies nor claims")
    for part in found:
        if part.kind == CLAIMS:
            _rows(part.path)
    return found


def _rows(folder: Path) -> list[dict[str, Any]]:
    try:
        return list(answers_in((folder / MARK).read_bytes())["claims"])
    except (OSError, ValueError, RecursionError):
        raise ArtefactError(f"{folder / MARK}: expected the answers to claims") from None


def _not_run(part: Part) -> list[Line]:
    if part.kind == STUDIES:
        return [Line(part.place, Sameness.NOT_RUN, NEEDS_CODE)]
    return [Line(f"{part.place}: {row['claim']}", Sameness.NOT_RUN, NEEDS_CODE) for row in _rows(part.path)]


def _differences(before: dict[str, str | None]) -> list[str]:
    """Return which versions are not those with which the archive was made."""
    now = made_by()
    found = [
        f"{name} is {now.get(name) or 'unknown'} here, and was {str(before.get(name) or 'unknown')[:40]}"
        for name in now
        if now[name] != before.get(name)
    ]
    if (now["commit"] or "").endswith("+"):
        found.append("source files here were changed")
    return found


def _empty(out: Path) -> Path:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise OutError(f"{out}: exists and is not an empty directory")
    return out


@contextmanager
def _without_place(path: Path, kept: Path) -> Iterator[None]:
    """Name the archive in errors, and not the temporary folder."""
    try:
        yield
    except ScenarioError as error:
        if str(kept) not in str(error):
            raise
        raise ArtefactError(f"{path}: {str(error).replace(f'{kept}/', '')}") from None
