"""What the report of a study contains if a capacity search or a screening has made it: the answer, and its command.

Errors    none: an answer that is damaged, or of other runs than the study's, is left out
Source    ours: docs/guide/capacity.md
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mobilenet.quoting import quoted
from mobilenet.rundir.provenance import carried, inputs_of
from mobilenet.rundir.stamp import Provenance

from ..style import Drawn
from .page import bullets, paragraph, pictures, text

ANSWERS = ("capacity.json", "sensitivity.parquet")


def capacity_answer(directory: Path) -> str | None:
    """Return the answer in words, the requirements and the figure, as HTML; None: it is not a capacity search."""
    made_by = _own(directory, ANSWERS[0])
    found = None if made_by is None else _read(directory / ANSWERS[0])
    if found is None:
        return None
    requirements = [
        f"{one}, tolerance {tolerance:g}"
        for one, tolerance in zip(found["requirements"], found["tolerances"], strict=True)
    ]
    asked = f"How far can {found['vary']} be pushed?"
    over = f"Requirements on the mean over runs, with {found['vary']} from {found['from']:g} to {found['to']:g}:"
    drawing = directory / "capacity.svg"
    has_drawing = drawing.is_file() and carried(drawing) == made_by
    title = "The requirements over the key, with intervals and the answer"
    return (
        paragraph(f"<b>{text(asked)}</b>")
        + bullets(found["sentences"])
        + paragraph(text(over))
        + bullets(requirements)
        + (pictures([Drawn(title, drawing, f"{title}.")]) if has_drawing else "")
    )


def command_again(directory: Path) -> str | None:
    """Return the command of the search that has made a directory, from the folder around it; None: another study."""
    made_by = next(filter(None, (_own(directory, name) for name in ANSWERS)), None)
    if made_by is None:
        return None
    name = directory.resolve().name
    words = [
        quoted(Path(name) / word.removeprefix("STUDY/")) if word.startswith("STUDY/") else word
        for word in made_by.command.split(" ")
    ]
    return " ".join([*words, "--out", quoted(Path(f"{name}-again"))])


def _own(directory: Path, name: str) -> Provenance | None:
    """Return the provenance of an answer about the runs of this directory."""
    file = directory / name
    found = carried(file) if file.is_file() else None
    return found if found is not None and found.inputs == inputs_of(directory) else None


def _read(file: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(file.read_bytes())
        lists = [found[name] for name in ("requirements", "tolerances", "sentences")]
        is_whole = all(isinstance(one, list) for one in lists) and len(lists[0]) == len(lists[1])
        numbers = [*lists[1], found["from"], found["to"]]
        is_whole = is_whole and all(isinstance(one, int | float) for one in numbers) and "vary" in found
        return found if is_whole else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
