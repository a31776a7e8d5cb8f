"""Read the bounds that claims set for measured values. Figures of claims and studies show them.

Shapes    There is one row for each claim, as in claims.json
Errors    OSError or ValueError for missing or damaged answers
Source    mobilenet/lab/studies/claims/answer.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ANSWERS = "claims.json"
Row = dict[str, Any]
Ends = dict[str, float]  # at_least, at_most, or both


def rows_of(directory: Path) -> list[Row]:
    """Return the rows of claims.json in a directory of answers."""
    document = json.loads((directory / ANSWERS).read_text(encoding="utf-8"))
    rows = document.get("claims") if isinstance(document, dict) else None
    if not isinstance(rows, list) or any(not isinstance(row, dict) or "answer" not in row for row in rows):
        raise ValueError("expected a row for each claim")
    return rows


def bounds_of(row: Row) -> Ends | None:
    """Return the bounds of a claim, or None if it has no bounds or was answered by an older version of mobilenet."""
    ends = {side: float(row[side]) for side in ("at_least", "at_most") if isinstance(row.get(side), int | float)}
    return ends or None


def bounds_of_study(study: Path) -> dict[tuple[int, str], Ends]:
    """Return the bounds of claims on means of a study in a directory of answers, by (configuration, metric)."""
    try:
        rows = [row for row in rows_of(study.absolute().parent) if row.get("experiment") == study.absolute().name]
    except (OSError, ValueError):
        return {}
    pairs = ((row, bounds_of(row)) for row in rows if isinstance(row.get("configuration"), int))
    return {(row["configuration"], str(row.get("quantity"))): ends for row, ends in pairs if ends is not None}
