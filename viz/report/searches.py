"""Write the part of a study's report about the capacity search or screening that made the study.

Errors    A result that is damaged, or that belongs to other runs, is left out
Source    ours: docs/guide/capacity.md
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mobilenet.quoting import quote
from mobilenet.record.provenance import inputs_of, read_provenance
from mobilenet.record.stamp import Provenance

from ..style import DrawnFigure
from .page import bullets, paragraph, pictures, text

ANSWERS = ("capacity.json", "sensitivity.parquet")


def capacity_answer(directory: Path) -> str | None:
    """Return the answer in words, the requirements and the figure as HTML, or None if this is not the study of a
    capacity search.
    """
    made_by = _own(directory, ANSWERS[0])
    answer = None if made_by is None else _read(directory / ANSWERS[0])
    if answer is None:
        return None
    requirements = [
        f"{one}, tolerance {tolerance:g}"
        for one, tolerance in zip(answer["requirements"], answer["tolerances"], strict=True)
    ]
    question = f"How far can {answer['vary']} be pushed?"
    over = f"Requirements on the mean over runs, with {answer['vary']} from {answer['from']:g} to {answer['to']:g}:"
    drawing = directory / "capacity.svg"
    has_drawing = drawing.is_file() and read_provenance(drawing) == made_by
    title = "The requirements over the key, with intervals and the answer"
    return (
        paragraph(f"<b>{text(question)}</b>")
        + bullets(answer["sentences"])
        + paragraph(text(over))
        + bullets(requirements)
        + (pictures([DrawnFigure(title, drawing, f"{title}.")]) if has_drawing else "")
    )


def command_again(directory: Path) -> str | None:
    """Return the command of the search that made this directory, for use in the parent folder, or None for any other
    study.
    """
    made_by = next(filter(None, (_own(directory, name) for name in ANSWERS)), None)
    if made_by is None:
        return None
    name = directory.resolve().name
    words = [
        quote(Path(name) / word.removeprefix("STUDY/")) if word.startswith("STUDY/") else word
        for word in made_by.command.split(" ")
    ]
    return " ".join([*words, "--out", quote(Path(f"{name}-again"))])


def _own(directory: Path, name: str) -> Provenance | None:
    """Return the provenance of the file if it is a result for the runs in this directory, otherwise None."""
    file = directory / name
    provenance = read_provenance(file) if file.is_file() else None
    return provenance if provenance is not None and provenance.inputs == inputs_of(directory) else None


def _read(file: Path) -> dict[str, Any] | None:
    try:
        document: dict[str, Any] = json.loads(file.read_bytes())
        lists = [document[name] for name in ("requirements", "tolerances", "sentences")]
        is_whole = all(isinstance(one, list) for one in lists) and len(lists[0]) == len(lists[1])
        numbers = [*lists[1], document["from"], document["to"]]
        is_whole = is_whole and all(isinstance(one, int | float) for one in numbers) and "vary" in document
        return document if is_whole else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
