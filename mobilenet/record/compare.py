"""Find where two runs differ: the first different event, and the different keys of scenarios and metrics.

Model     events are compared row by row in order of occurrence, and scenarios key by key with all defaults filled in
Errors    RunError for a directory that is not a run
Source    ours: docs/guide/pictures.md
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mobilenet.record.reader import RunError, read_events, read_json, read_manifest
from mobilenet.scenario import ScenarioError
from mobilenet.scenario.yaml_reader import read
from mobilenet.scenario.yaml_writer import inline

# (key or metric, value in the first run, value in the second run); a missing value is None
Rows = list[tuple[str, Any, Any]]


@dataclass(frozen=True, slots=True)
class Difference:
    same: bool  # whether the fingerprints are equal
    common: int  # the number of events before the first difference
    # The first event of each run that differs from the other run, or None if the run has no more events.
    events: tuple[dict[str, Any] | None, dict[str, Any] | None]
    before: list[dict[str, Any]]  # the last events before the difference
    scenario: Rows
    metrics: Rows
    verdicts: Rows  # the verdicts that differ; the overall verdict comes first


def difference(a: Path, b: Path, context: int = 3) -> Difference:
    """Return the differences between the runs a and b."""
    manifests = read_manifest(a), read_manifest(b)
    one, other = read_events(a), read_events(b)
    columns = list(one)
    rows = [list(zip(*(events[name] for name in columns), strict=True)) for events in (one, other)]
    common = next((i for i, (x, y) in enumerate(zip(*rows, strict=False)) if x != y), min(map(len, rows)))
    at = [dict(zip(columns, row[common], strict=True)) if common < len(row) else None for row in rows]
    before = [dict(zip(columns, row, strict=True)) for row in rows[0][max(0, common - context) : common]]
    return Difference(
        manifests[0]["fingerprint"] == manifests[1]["fingerprint"],
        common,
        (at[0], at[1]),
        before,
        _apart(_scenario(a), _scenario(b)),
        _apart(_metrics(a), _metrics(b)),
        _apart(_verdicts(a), _verdicts(b)),
    )


def _scenario(directory: Path) -> dict[str, Any]:
    try:
        return dict(_leaves("", read(directory / "scenario.yaml").plain()))
    except ScenarioError as error:
        raise RunError(f"{str(error).splitlines()[0]}; the run is damaged") from None


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, inside in value.items():
            yield from _leaves(f"{path}.{key}" if path else str(key), inside)
    else:
        yield path, inline(value)


def _metrics(directory: Path) -> dict[str, Any]:
    return read_json(directory, "metrics.json") if (directory / "metrics.json").is_file() else {}


def _verdicts(directory: Path) -> dict[str, Any]:
    if not (directory / "verdict.json").is_file():
        return {}
    document = read_json(directory, "verdict.json")
    checks = document.get("checks")
    answers = checks.items() if isinstance(checks, dict) else ()
    verdicts = {name: check.get("answer") for name, check in answers if isinstance(check, dict)}
    return {"verdict": document.get("verdict"), **verdicts}


def _apart(a: dict[str, Any], b: dict[str, Any]) -> Rows:
    return [
        (key, a.get(key), b.get(key))
        for key in dict.fromkeys([*a, *b])
        if a.get(key) != b.get(key) or (key in a) != (key in b)
    ]
