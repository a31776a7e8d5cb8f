"""What is wrong with the files of a study that some program could not make sense of.

Model     asked only after something went wrong, since it reads everything, as mobilenet/record/soundness.py is of runs:
          the study, its configurations, the table of runs, what the runs contributed, the tables
Errors    none; the fault is the answer
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

from pathlib import Path

from mobilenet.lab.studies import parts
from mobilenet.lab.studies.configurations import configurations
from mobilenet.lab.studies.store import open_store
from mobilenet.lab.studies.table_files import AGAIN, TABLES, read_table
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import load_scenario


def fault(directory: Path) -> str | None:
    """The first one found, in one line with the file; None: everything is as a study leaves it."""
    if not (directory / "study.yaml").is_file():
        return None
    try:
        store = open_store(directory)
        for configuration in store.configurations:
            load_scenario(store.scenario_of(configuration.number))
        for name in TABLES:
            if (directory / f"{name}.parquet").exists():
                read_table(directory, name)
        for path in sorted(store.measured.glob("*.parquet")):
            if (wrong := parts.fault(path, len(store.configurations))) is not None:
                return f"{path}: {wrong}; {AGAIN}; the study is damaged"
        configurations(store.study, allow_code=True)  # last: a scenario elsewhere may be meant
    except ScenarioError as error:
        return f"{' '.join(str(error).split())}; the study is damaged"
    except OSError as error:
        return f"{error.filename or directory}: {error.strerror}; the study is damaged"
    return None
