r"""Export a run or a study as tables in CSV.

Model     For a run: tracks, handoffs, stations, events, samples, metrics, and frames and messages if they were
          recorded; with an origin, also lon and lat. mobilenet can read tracks.csv again as a file of tracks. For a
          study: its tables, the runs, and the comparison if there is one. An apostrophe precedes any text that a
          spreadsheet would take for a formula. Characters that control a terminal or a page (control characters and
          characters that change the writing direction) are written as escapes such as \x1b
Errors    RunError for a directory that is neither a run nor a study
Source    RFC 4180; ours: docs/guide/tracks.md
"""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

from mobilenet.lab.export.source import Source, on_earth
from mobilenet.record.reader import RunError, read_columns, read_derived, read_frame, read_manifest
from mobilenet.record.stamp import in_document
from mobilenet.record.writer import write_json

if TYPE_CHECKING:
    import pandas as pd

FORMULA = ("=", "+", "-", "@", "\t", "\r")
COMMANDS = ("Cc", "Cf", "Cs", "Zl", "Zp")
MAY_BE_EMPTY = ("buffers.csv", "delays.csv", "distribution.csv", "handoffs.csv")  # study tables that may be empty


def run_tables(source: Source | None, folder: Path, target: Path) -> None:
    """Write the tables of a run into a folder. `source` is None for a run of processes."""
    import pandas as pd

    if source is None:
        read_manifest(folder)
        tables = {name: pd.DataFrame(read_columns(folder, name)) for name in ("events", "samples")}
    else:
        placed = {"tracks": source.tracks, "handoffs": source.handoffs, "stations": source.stations}
        if source.origin is not None:
            placed = {name: on_earth(table, source.origin) for name, table in placed.items()}
        tables = {**placed, "events": source.events, "samples": pd.DataFrame(read_columns(folder, "samples"))}
    for name in ("frames", "messages"):
        if (folder / f"{name}.parquet").exists():
            tables[name] = read_frame(folder, name)
    tables["metrics"] = pd.DataFrame([read_derived(folder, "metrics.json")])
    for name, table in tables.items():
        _write(table, target / f"{name}.csv")
    names = [f"{name}.csv" for name in tables]
    write_json(target / "contents.json", in_document({"run": folder.resolve().name, "files": names}))


def _write(table: pd.DataFrame, path: Path) -> None:
    for column in table.columns:
        if column in ("session", "origin"):
            table = table.assign(**{column: table[column].astype("Int64")})
        elif table[column].dtype == object:
            table = table.assign(**{column: table[column].map(harmless)})
    table.to_csv(path, index=False, lineterminator="\n")


def harmless(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = "".join(c.encode("unicode_escape").decode() if unicodedata.category(c) in COMMANDS else c for c in value)
    return "'" + text if value.startswith(FORMULA) else text


def _copy(table: Path, target: Path) -> None:
    """Copy a table, and protect cells that a spreadsheet would take for formulas."""
    import pandas as pd

    if table.name in MAY_BE_EMPTY and table.stat().st_size <= 1:  # the table has neither rows nor columns
        target.write_bytes(b"")
        return
    try:
        rows = pd.read_csv(table, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise RunError(f"{table}: damaged: {str(error).splitlines()[0]}") from None
    rows.map(lambda cell: cell if _is_number(cell) else harmless(cell)).to_csv(target, index=False, lineterminator="\n")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def require_study(folder: Path) -> None:
    """Raise RunError for a directory that is neither a run nor a study."""
    if not (folder / "study.yaml").is_file():
        raise RunError(f"{folder}: neither a run directory nor a study directory")


def study_tables(folder: Path, target: Path) -> int:
    """Copy the tables of a study, and return how many there are."""
    require_study(folder)
    paths = {path.name: path for path in sorted((folder / "tables").glob("*.csv"))}
    paths |= {name: folder / name for name in ("comparison.csv", "effects.csv") if (folder / name).is_file()}
    if (folder / "runs.csv").is_file():
        paths["planned_runs.csv"] = folder / "runs.csv"
    if "runs.csv" not in paths:
        raise RunError(
            f"{folder}: the study has no tables yet; `mobilenet study` writes them when its runs are complete"
        )
    for name, path in paths.items():
        _copy(path, target / name)
    files = {
        "planned_runs.csv": "every run and its state",
        "runs.csv": "one row per run, all metrics",
        "summary.csv": "configuration x metric: n, mean, sd, interval",
        "buffers.csv": "buffers over time",
        "delays.csv": "percentiles of delays",
        "distribution.csv": "distribution of delays",
        "handoffs.csv": "one row per handoff of each run",
        "comparison.csv": "levels against a baseline",
        "effects.csv": "main effects and interactions of the factors",
    }
    about = {"study": folder.resolve().name, "files": {name: files[name] for name in files if name in paths}}
    write_json(target / "contents.json", in_document(about))
    return len(paths)
