"""Handle capacity searches and screenings in an archive: read their results, and repeat them.

Model     A search is a study whose runs were chosen by a command. Its result contains this command in normal form. The
          check repeats the command with the configurations of the archive, and compares the results.
Errors    ArtefactError or StudyError for an answer that is damaged, or that does not belong to the study in its
          directory.
Source    ours: docs/guide/artefact.md; mobilenet/lab/studies/origin.py
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mobilenet.lab.artefact import ArtefactError
from mobilenet.lab.studies.capacity import search_directory as of_capacity
from mobilenet.lab.studies.sensitivity import screening_directory as of_screening
from mobilenet.lab.studies.table_files import read_rows
from mobilenet.quoting import cut, format_number, spell_out
from mobilenet.record.provenance import read_provenance
from mobilenet.record.stamp import KEY

CAPACITY, SCREENING = "capacity", "sensitivity"  # names of the commands and of their files
TITLES = {CAPACITY: "Capacity search", SCREENING: "Screening"}
NAMES = {CAPACITY: "answer", SCREENING: "ranking"}  # names of the results in messages about differences
ANSWERS = {CAPACITY: of_capacity.ANSWER, SCREENING: of_screening.ANSWER}
FILES = {
    CAPACITY: (of_capacity.ANSWER, "capacity.csv", "capacity.parquet", "capacity.md"),
    SCREENING: ("sensitivity.csv", of_screening.ANSWER),
}
PICTURES = ("capacity.svg", "capacity.png")
SHORT = 60  # maximum number of characters in the short form of an answer
WORDS = 120  # maximum number of characters in a cell of the README


@dataclass(frozen=True)
class Search:
    """The result of a search, as it appears in the README and in the metadata."""

    verb: str
    command: str  # in normal form, with STUDY in place of the directory
    sentences: Sequence[str] = ()
    ranking: Sequence[Mapping[str, Any]] = ()

    @property
    def title(self) -> str:
        return TITLES[self.verb]

    def command_in(self, place: str) -> str:
        """Return the command with STUDY replaced by a directory."""
        words = shlex.split(self.command)
        return shlex.join(place + word[len("STUDY") :] if word.startswith("STUDY/") else word for word in words)


def verb_of(path: Path) -> str | None:
    """Return the command that made a study's directory: `capacity`, `sensitivity`, or None for any other command."""
    verbs = [verb for verb, names in FILES.items() if any((path / name).exists() for name in names)]
    if len(verbs) > 1:
        raise ArtefactError(f"{path}: contains the answers of two commands; expected one directory for each")
    return verbs[0] if verbs else None


def plan_of(path: Path) -> Any:
    """Return the plan of the search that made a directory. Raise StudyError or ScenarioError if the directory is
    damaged.
    """
    verb = verb_of(path)
    missing = [name for name in FILES[str(verb)] if not (path / name).is_file()]
    if missing:
        raise ArtefactError(f"{path / missing[0]}: missing; repeat the command that made the directory")
    return of_capacity.read_back(path) if verb == CAPACITY else of_screening.read_back(path)


def search_in(path: Path) -> Search | None:
    """Return the result of the search that made a directory, or None for any other study."""
    if (verb := verb_of(path)) is None:
        return None
    provenance = read_provenance(path / ANSWERS[verb])
    command = provenance.command if provenance is not None else f"mobilenet {verb}"
    if verb == CAPACITY:
        sentences = document_of(path).get("sentences")
        texts = [one for one in sentences if isinstance(one, str)] if isinstance(sentences, list) else []
        return Search(verb, command, texts)
    question, _ = of_screening.read_question(path)
    return Search(verb, command, (), [row for row in read_rows(path, SCREENING) if row["metric"] in question.metrics])


def document_of(path: Path) -> dict[str, Any]:
    """Return the content of capacity.json without its provenance. Raise ArtefactError if the file is damaged."""
    file = path / ANSWERS[CAPACITY]
    try:
        document = json.loads(file.read_bytes())
        return {key: value for key, value in document.items() if key != KEY}
    except (OSError, ValueError, AttributeError, RecursionError):
        raise ArtefactError(f"{file}: damaged; repeat the command that made it") from None


def answer_in(path: Path, with_words: bool) -> dict[str, Any]:
    """Return the part of capacity.json to compare. Without `with_words`, omit the sentences, which other versions may
    word differently.
    """
    if verb_of(path) != CAPACITY:
        return {}
    document = document_of(path)
    return document if with_words else {key: value for key, value in document.items() if key != "sentences"}


def pictures_of(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the pictures that belong to the answer in a directory."""
    made_by = read_provenance(path / ANSWERS[CAPACITY])
    for name in PICTURES:
        file = path / name
        if file.is_file() and not file.is_symlink() and read_provenance(file) == made_by:
            yield name, file.read_bytes()


def answer_lines(one: Search) -> list[str]:
    """Return the answer as blocks of Markdown."""
    if one.verb == CAPACITY:
        return ["\n".join(f"- {' '.join(text.split())[:500]}" for text in one.sentences)]
    rows = [
        (
            row["metric"], row["range"], format_number(row["size"]),
            f"{format_number(max(0.0, row['low']))} to {format_number(row['high'])}", format_number(row["p_adjusted"]),
        )
        for row in one.ranking
    ]  # fmt: skip
    head = ("metric", "key", "size", "interval", "p (Holm)")
    lines = [
        head,
        tuple("---" for _ in head),
        *(tuple(cell.replace("|", "\\|")[:WORDS] for cell in row) for row in rows),
    ]
    return ["\n".join(f"| {' | '.join(line)} |" for line in lines)]


def first_of(path: Path) -> str:
    """Return a short form of a search's answer, safe to print whatever its file contains."""
    if verb_of(path) == CAPACITY:
        document = document_of(path)
        value = document.get("value")
        text = str(document.get("verdict")) + (f": {value}" if value is not None else "")
    else:
        search = search_in(path)
        keys = [row.get("key", "") for row in search.ranking] if search is not None else []
        text = f"first: {keys[0]}" if keys else ""
    return cut(spell_out(text), SHORT)
