"""Identify the run, study or file from which a file is made, and read the provenance of a file.

Errors    RunError for a directory that is neither a run nor a study, or for a file that has no provenance
Source    ours: docs/run-directory.md, Provenance
"""

from __future__ import annotations

import csv
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from mobilenet.record.reader import RunError, read_json
from mobilenet.record.stamp import (
    CLAIMS,
    FILE,
    KEY,
    RUN,
    RUNS,
    SIDECAR,
    STUDIES,
    STUDY,
    Inputs,
    Provenance,
    new_provenance,
    parse_provenance,
    present,
    stamping,
)


def inputs_of(directory: Path) -> Inputs:
    """Return the identity of a run, a study, or the studies of several radios."""
    if (directory / "manifest.json").is_file():
        text = str(read_json(directory, "manifest.json").get("fingerprint"))
        # Text that is not a fingerprint must not be copied into pages.
        fingerprint = text if re.fullmatch("[0-9a-f]{64}", text) else None
        return Inputs(RUN, digest(directory / "scenario.yaml"), fingerprint, 1)
    if (directory / "study.yaml").is_file():
        return Inputs(STUDY, digest(directory / "study.yaml"), *_of_runs(directory / "tables" / "runs.csv"))
    inside = sorted(path.parent for path in directory.glob("*/study.yaml"))
    if not inside:
        raise RunError(f"{directory}: neither a run directory nor a study directory")
    return inputs_of_all(inside)._replace(kind=STUDIES)


def inputs_of_file(path: Path) -> Inputs:
    return Inputs(FILE, digest(path))


def combine(fingerprints: Iterable[str]) -> str:
    """Return a digest of several fingerprints. The digest depends on their order."""
    return sha256("\n".join(fingerprints).encode()).hexdigest()


def _of_runs(table: Path) -> tuple[str | None, int]:
    try:
        with table.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except OSError:
        return None, 0
    fingerprints = [row.get("fingerprint") or "" for row in rows]
    return (combine(fingerprints) if fingerprints and all(fingerprints) else None), len(rows)


def digest(path: Path) -> str:
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror}") from None


def inputs_of_all(directories: Sequence[Path]) -> Inputs:
    """Return the identity of all directories from which a file was made."""
    parts = [inputs_of(path) for path in directories]
    if len(parts) == 1:
        return parts[0]
    kind = RUNS if all(part.kind == RUN for part in parts) else STUDIES
    return _join(kind, combine(part.scenario_sha256 for part in parts), parts)


def _join(kind: str, scenarios: str, parts: Sequence[Inputs]) -> Inputs:
    """Return the combined identity of several parts. A part without runs has no fingerprint."""
    made_runs = [part for part in parts if part.runs]
    fingerprints = [part.fingerprint for part in made_runs if part.fingerprint is not None]
    fingerprint = combine(fingerprints) if fingerprints and len(fingerprints) == len(made_runs) else None
    return Inputs(kind, scenarios, fingerprint, sum(part.runs for part in parts))


def inputs_of_claims(text: str, studies: Sequence[Path]) -> Inputs:
    """Return the identity of a claims file, and of the runs of the studies that answer the claims."""
    return _join(CLAIMS, sha256(text.encode()).hexdigest(), [inputs_of(path) for path in studies])


@contextmanager
def stamping_of(directory: Path | Sequence[Path], command: str) -> Iterator[None]:
    """Add the provenance of one or more runs or studies to all files that are written in the block. In nested blocks,
    the provenance of the outermost block applies.
    """
    directories = [directory] if isinstance(directory, Path) else directory
    if present() is not None:
        yield
        return
    with stamping(new_provenance(command, inputs_of_all(directories))):
        yield


def run_or_study_around(file: Path) -> tuple[Path | None, Inputs | None]:
    """Return the innermost run or study that contains this path, or the path itself if it is a run or study."""
    for place in (file, *file.parents, *file.absolute().parents):
        # A directory that contains the file of a study, but no configurations, is not a study.
        is_study = (place / "study.yaml").is_file() and (place / "configurations").is_dir()
        if is_study or (place / "manifest.json").is_file():
            return place, inputs_of(place)
    return None, None


# --- what a file carries


def read_provenance(file: Path) -> Provenance | None:
    """Read the provenance in a file or in its sidecar. Return None if it is missing or not readable."""
    sidecar = file if file.name.endswith(SIDECAR) else file.with_name(file.name + SIDECAR)
    read = READERS.get(file.suffix.lower(), _in_comment)
    try:
        text = sidecar.read_text(encoding="ascii") if sidecar.is_file() else read(file)
        return None if text is None else parse_provenance(text)
    except (OSError, ValueError):
        return None


def _in_svg(file: Path) -> str | None:
    match = re.search(r"<dc:description>(.*?)</dc:description>", file.read_text(encoding="utf-8"), re.DOTALL)
    return None if match is None else html.unescape(match[1])


def _in_png(file: Path) -> str | None:
    from PIL import Image

    with Image.open(file) as image:
        text = image.info.get(KEY)
    return None if text is None else str(text)


def _in_pdf(file: Path) -> str | None:
    match = re.search(rb"/Subject \(((?:\\.|[^\\)])*)\)", file.read_bytes(), re.DOTALL)
    return None if match is None else re.sub(r"\\(.)", r"\1", match[1].decode("latin-1"))


def _in_page(file: Path) -> str | None:
    match = re.search(rf'<meta name="{KEY}" content="([^"]*)">', file.read_text(encoding="utf-8", errors="replace"))
    return None if match is None else html.unescape(match[1])


def _in_comment(file: Path) -> str | None:
    match = re.search(rf"{KEY}: (\{{.*\}})", file.read_text(encoding="utf-8", errors="replace"))
    return None if match is None else match[1]


def _in_json(file: Path) -> str | None:
    document = json.loads(file.read_text(encoding="utf-8"))
    return json.dumps(document[KEY]) if isinstance(document, dict) and KEY in document else None


def _in_parquet(file: Path) -> str | None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(file).metadata or {}
    except pa.ArrowException as error:
        raise ValueError(str(error)) from None
    text = metadata.get(KEY.encode())
    return None if text is None else text.decode()


def _in_csv(file: Path) -> str | None:
    """Return the provenance of a CSV file, from the Parquet file of the same name or from contents.json of an
    export.
    """
    twin = file.with_suffix(".parquet")
    return _in_parquet(twin) if twin.is_file() else _in_contents(file)


def _in_contents(file: Path) -> str | None:
    contents = file.with_name("contents.json")
    return _in_json(contents) if contents.is_file() else None


READERS: dict[str, Callable[[Path], str | None]] = {
    ".svg": _in_svg, ".png": _in_png, ".pdf": _in_pdf, ".html": _in_page, ".htm": _in_page, ".json": _in_json,
    ".geojson": _in_json, ".parquet": _in_parquet, ".csv": _in_csv,
    ".sca": _in_contents, ".vec": _in_contents, ".vci": _in_contents, ".elog": _in_contents,
}  # fmt: skip
