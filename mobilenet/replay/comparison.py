"""Is a record what its scenario gives? The run is repeated and compared with it, row by row.

Model     the scenario decides everything that happens, so the repeat has the same tables, counters and manifest. Only
          how long it took, the command and the version of mobilenet may differ
Errors    RunError for a run that cannot be repeated; ScenarioError where its code may not run
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mobilenet.api import run
from mobilenet.clock import Progress
from mobilenet.quoting import cut, spelled_out
from mobilenet.rundir.reader import RunError, read_json, read_manifest, read_table
from mobilenet.rundir.schema import COLUMNS
from mobilenet.scenario.run_source import AdversarySchedule, recorded
from mobilenet.simulation.plugin_code import PluginError

OF_THE_MOMENT = ("wall_s", "command", "mobilenet_version", "files")


def difference(directory: Path, progress: Progress | None = None, allow_code: bool = False) -> str | None:
    """The first difference between the record and a repeat of its run; None: they are the same."""
    manifest = read_manifest(directory)
    scenario = recorded(directory / "scenario.yaml")
    if isinstance(scenario, AdversarySchedule):
        raise RunError(f"{directory}: drawn by the swarm, which repeats it: {manifest['command']}")
    if scenario.protocol.name == "datagrams":
        raise RunError(f"{directory}: a run in real time, which is never the same again; expected one in virtual time")
    if str(manifest.get("ended_by_error")).startswith("stopped by hand"):
        raise RunError(f"{directory}: stopped by hand; expected a run that was played to its end")
    with tempfile.TemporaryDirectory(prefix="mobilenet-repeat-") as folder:
        repeat = Path(folder) / "repeat"
        try:
            run(scenario, out=repeat, progress=progress, allow_code=allow_code)
        except PluginError as error:
            if "ended_by_error" not in manifest or error.directory is None:
                raise
        return next(_differences(directory, repeat), None)


def _differences(directory: Path, repeat: Path) -> Iterator[str]:
    for name in COLUMNS:
        files = [(folder / f"{name}.parquet").exists() for folder in (directory, repeat)]
        if files[0] != files[1]:
            yield f"{name}.parquet: the {'record' if files[0] else 'repeat'} has it, the other has not"
        elif all(files):
            yield from _of_tables(name, read_table(directory, name), read_table(repeat, name))
    yield from _of_values("counters.json", read_json(directory, "counters.json"), read_json(repeat, "counters.json"))
    yield from _of_values("manifest.json", *(_facts(folder) for folder in (directory, repeat)))


def _facts(folder: Path) -> dict[str, Any]:
    found = {key: value for key, value in read_manifest(folder).items() if key not in OF_THE_MOMENT}
    if "ended_by_error" in found:
        found["ended_by_error"] = True  # its words name the file that failed, which is another one
    return found


def _of_tables(name: str, record: pa.Table, repeat: pa.Table) -> Iterator[str]:
    rows = min(len(record), len(repeat))
    differ = np.zeros(rows, bool)
    for column in COLUMNS[name]:
        one, other = (table[column][:rows].to_numpy() for table in (record, repeat))
        differ |= (one != other) & ((one == one) | (other == other))  # only NaN is not itself
    if differ.any():
        row = int(np.argmax(differ))
        one, other = ({c: table[c][row].as_py() for c in COLUMNS[name]} for table in (record, repeat))
        column = next(c for c in COLUMNS[name] if repr(one[c]) != repr(other[c]))
        yield f"{name}: row {row} has {column} {_short(one[column])}, the repeat has {_short(other[column])}"
    elif len(record) != len(repeat):
        yield f"{name}: {len(record)} rows, the repeat has {len(repeat)}"


def _of_values(path: str, record: Any, repeat: Any) -> Iterator[str]:
    if isinstance(record, dict) and isinstance(repeat, dict):
        for key in (*repeat, *(key for key in record if key not in repeat)):
            yield from _of_values(f"{path}: {key}", record.get(key), repeat.get(key))
    elif record != repeat:
        yield f"{path}: {_short(record)}, the repeat has {_short(repeat)}"


def _short(value: Any) -> str:
    return cut(spelled_out(repr(value)), 80)
