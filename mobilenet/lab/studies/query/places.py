"""Find the runs that a query covers: those of a study or of another folder, or a single run.

Model     For a study, these are the finished runs, with their configuration, replication and levels. For any other
          folder, these are the run directories, ordered by name. In all views, the columns KEYS and one column for each
          factor identify a run. A factor with the name of another column is renamed to `level of FACTOR`.
Errors    StudyError for a folder without runs. RunError for a damaged run.
Source    ours: docs/guide/query.md
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.query.views import VIEWS
from mobilenet.lab.studies.store import open_store
from mobilenet.lab.studies.table_files import read_table, to_arrow
from mobilenet.lab.studies.tables import tables_of_what_is_there
from mobilenet.quoting import quote
from mobilenet.record.reader import read_derived, read_manifest

TABLE = "tables/runs"  # name of the study's table of runs
KEYS = {"run": pa.string(), "configuration": pa.int32(), "replication": pa.int32()}
FACTS = {"seed": pa.int64(), "verdict": pa.string()}
TAKEN = {"place", *KEYS, *FACTS, *(column.name for view in VIEWS.values() for column in view.columns)}


@dataclass(frozen=True)
class Runs:
    """The runs that a query covers, and the columns that identify them."""

    where: Path
    paths: tuple[Path, ...]
    keys: pa.Table  # one row for each of `paths`, with the index of the path, KEYS and the factors
    is_study: bool = False
    unfinished: str | None = None  # a note for users if the study is unfinished

    @property
    def columns(self) -> list[str]:
        """The names of the columns that identify a run: KEYS and the factors."""
        return [name for name in self.keys.column_names if name != "place"]

    def results(self) -> pa.Table:
        """Return the view `runs`: the columns that identify a run, FACTS, and all metrics."""
        if self.is_study:
            table = read_table(self.where, TABLE)
            others = {"fingerprint", *KEYS, *open_store(self.where).study.factors}
            results = table.select([name for name in table.column_names if name not in others])
        else:
            rows = [_result(path) for path in self.paths]
            metrics = sorted({name for row in rows for name in row} - FACTS.keys())
            results = pa.Table.from_pylist(rows, schema=pa.schema(FACTS | dict.fromkeys(metrics, pa.float64())))
        names = [*self.columns, *results.column_names]
        return pa.table([*self.keys.select(self.columns).columns, *results.columns], names=names)


def _result(path: Path) -> dict[str, Any]:
    metrics = read_derived(path, "metrics.json").items()
    facts = {"seed": read_manifest(path)["seed"], "verdict": read_derived(path, "verdict.json", "verdict")["verdict"]}
    return {name: None if value is None else float(value) for name, value in metrics} | facts


def runs_of(where: Path) -> Runs:
    """Return the runs of a study, of a folder with runs, or of a single run directory."""
    if (where / "study.yaml").is_file():
        return _of_study(where)
    if (where / "manifest.json").is_file():
        paths = [where]
    elif where.is_dir():
        paths = sorted(path for path in where.iterdir() if (path / "manifest.json").is_file() and path.name[0] != ".")
    else:
        raise StudyError(f"{where}: no such directory; expected a study, a run, or a folder of runs")
    if not paths:
        raise StudyError(f"{where}: contains no run; expected a study, a run, or a folder of runs")
    return Runs(where, tuple(paths), _keys([{"run": path.absolute().name} for path in paths], []))


def _of_study(where: Path) -> Runs:
    unfinished = tables_of_what_is_there(where)
    if not (where / f"{TABLE}.parquet").is_file():
        raise StudyError(f"{where}: no run is done yet; run the study: mobilenet study {quote(where)}")
    store = open_store(where)
    rows = read_table(where, TABLE).select([*KEYS]).to_pylist()
    names = {f: f"level of {f}" if f.lower() in TAKEN else f for f in store.study.factors}
    for row in rows:
        levels = store.configurations[row["configuration"]].row()
        row.update({names[factor]: level for factor, level in levels.items()})
    return Runs(where, tuple(store.runs / row["run"] for row in rows), _keys(rows, [*names.values()]), True, unfinished)


def _keys(rows: list[dict[str, Any]], factors: list[str]) -> pa.Table:
    import pandas as pd

    keys = to_arrow(pd.DataFrame(rows, columns=[*KEYS, *factors], dtype=object), KEYS)
    return keys.add_column(0, "place", pa.array(range(len(rows)), pa.int32()))
