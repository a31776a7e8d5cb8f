"""Keep the record of a run whose process was killed, so that it cannot be mistaken for a complete run.

Model     a run in progress writes batches of rows into a hidden directory (batches.py). The next command that uses the
          name of the run converts the batches of a dead process to Parquet files, in NAME.partial. These contain all
          rows up to `whole_until_s` and no later ones, because some tables may lack later rows. The directory has no
          manifest, and no command takes it for a run
Units     simulated seconds
Errors    OSError if the tables cannot be written
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from mobilenet.engine.clock import SECOND
from mobilenet.record.batches import SUFFIX, read_batches
from mobilenet.record.schema import DERIVED_FILES

FACTS = "partial.json"


def keep_record(left: Path, name: Path) -> None:
    """Convert the batches in a hidden directory to tables, if there are any. `name`: the intended name of the run."""
    files = sorted(left.glob(f"*{SUFFIX}"))
    written = {path.stem: read_batches(path) for path in files if path.stat().st_size}
    if not files or len(written) < len(files) or not all(one.batches for one in written.values()):
        return
    until_ns = min(one.until_ns[-1] for one in written.values())
    tables = {table: one.table(until_ns) for table, one in written.items()}
    for table, columns in tables.items():
        columns.write(left / f"{table}.parquet")
        (left / f"{table}{SUFFIX}").unlink()
    for file in ("manifest.json", "counters.json", *DERIVED_FILES):
        (left / file).unlink(missing_ok=True)  # This file belongs only to a complete run.
    rows = {table: columns.rows for table, columns in tables.items()}
    facts = {"whole_until_s": until_ns / SECOND, "rows": rows}
    (left / FACTS).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    target, number = partial_record(name), 2
    while os.path.lexists(target):
        target, number = name.with_name(f"{name.name}.partial-{number}"), number + 1
    os.rename(left, target)


def partial_record(name: Path) -> Path:
    """Return the path for the record of a killed run. `name`: the intended directory of the run."""
    return name.with_name(f"{name.name}.partial")


def facts_of_killed(directory: Path) -> dict[str, Any] | None:
    """Return `whole_until_s` and the number of `rows` of each table. Return None if this is not the record of a killed
    run.
    """
    try:
        facts = json.loads((directory / FACTS).read_text(encoding="utf-8"))
        return {"whole_until_s": float(facts["whole_until_s"]), "rows": dict(facts["rows"])}
    except (OSError, ValueError, TypeError, KeyError):
        return None
