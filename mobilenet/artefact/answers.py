"""The answers to claims as an archive has them: their commands name its folders, and not those of the author.

Shapes    name in the archive -> content
Errors    ArtefactError: not all claims are answered, or the answers are damaged
Source    ours: docs/guide/artefact.md; mobilenet/claim_files/answer.py
"""

from __future__ import annotations

import json
import shlex
from io import BytesIO
from pathlib import Path
from typing import Any

from mobilenet.artefact import ArtefactError
from mobilenet.claim_files.answering import KEPT, MARK

ANSWERS = (MARK, "claims.csv", "claims.md")
Files = dict[str, bytes]


def answers_in(data: bytes) -> dict[str, Any]:
    """Return claims.json. Raises ValueError for anything else."""
    found = json.loads(data)
    rows = found.get("claims") if isinstance(found, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("no answers")
    if not all(isinstance(row.get("claim"), str) for row in rows):
        raise ValueError("no answers")
    return dict(found)


def require_answered(path: Path) -> None:
    again = "run the same `mobilenet claims` command again"
    if not (path / KEPT).is_file():
        raise ArtefactError(f"{path}: has no {KEPT}; {again}")
    try:
        rows = answers_in((path / MARK).read_bytes())["claims"]
    except (OSError, ValueError):
        raise ArtefactError(f"{path / MARK}: damaged; {again}") from None
    if not rows or any(row.get("left") for row in rows):
        raise ArtefactError(f"{path}: not all claims are answered; {again}, without --quick")


def answers_of(path: Path, place: str) -> Files:
    """Return the claims in a directory and their answers, as files of `place`, where their commands work."""
    read = {name: (path / name).read_bytes() for name in (KEPT, *ANSWERS)}
    found = answers_in(read[MARK])
    commands = {row["command"]: _placed(row["command"], place) for row in found["claims"] if row.get("command")}
    rows = [{**row, "command": commands.get(row.get("command"), "")} for row in found["claims"]]
    read[MARK] = (json.dumps({**found, "claims": rows}, indent=2) + "\n").encode()
    for name in ANSWERS[1:]:
        text = read[name].decode("utf-8")
        for old in sorted(commands, key=len, reverse=True):
            text = text.replace(old, commands[old])
        read[name] = text.encode()
    read["claims.parquet"] = _placed_table(path / "claims.parquet", commands)
    return {f"{place}/{name}": data for name, data in read.items()}


def _placed(command: str, place: str) -> str:
    """Return a command with the folder of the archive instead of the directory that it names."""
    steps = []
    for step in command.split(" && "):
        words = shlex.split(step)
        if words[:2] in (["mobilenet", "report"], ["mobilenet", "reproduce"]):
            words[-1] = f"{place}/{Path(words[-1]).name}"
        steps.append(shlex.join(words))
    return " && ".join(steps)


def _placed_table(path: Path, commands: dict[str, str]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table, metadata = pq.read_table(path), pq.read_metadata(path).metadata or {}
    column = table.schema.get_field_index("command")
    if column >= 0:
        placed = [commands.get(text, text) for text in table["command"].to_pylist()]
        table = table.set_column(column, table.schema.field(column), pa.array(placed, pa.string()))
    own = {key: text for key, text in metadata.items() if key != b"ARROW:schema"}  # such as the provenance
    stream = BytesIO()
    pq.write_table(table.replace_schema_metadata(own), stream)
    return stream.getvalue()
