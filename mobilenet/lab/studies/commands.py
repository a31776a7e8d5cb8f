"""Whether every worker has the programs of a study, before anything starts.

Model     a program next to the scenario travels with it, in the study's folder, which all workers see. Any other is
          looked for where a run would: on the PATH of each worker, or at its absolute path. Absolute paths among the
          arguments that exist here have to exist there as well
Errors    StudyError, one line: a program, and where it is missing
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.configured import configured_scenario
from mobilenet.lab.studies.store import Store
from mobilenet.scenario.processes import ProcessProgram
from mobilenet.scenario.protocol_groups import OwnProgram

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

TASKS_PER_WORKER = 2  # so that each gets one, most likely


def require_programs(store: Store, spark: SparkSession) -> None:
    """Raise StudyError for a worker without a program of this study."""
    words = sorted({word for number in range(len(store.configurations)) for word in _needs(store, number)})
    if not words:
        return
    tasks = TASKS_PER_WORKER * spark.sparkContext.defaultParallelism
    absent = spark.range(0, tasks, 1, tasks).mapInArrow(partial(missing, words), "what string").toArrow()
    if lacking := sorted(absent["what"].to_pylist()):
        raise StudyError(
            f"protocol.command: {lacking[0]}; expected the programs of a study at the same path on every worker"
        )


def missing(words: list[str], tasks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the programs that this machine lacks."""
    import pyarrow as pa

    where = socket.gethostname()
    for _ in tasks:
        lacking = [f"there is no {word} on {where}" for word in words if not _is_there(word)]
        yield pa.RecordBatch.from_pydict({"what": pa.array(lacking, pa.string())})


def _is_there(word: str) -> bool:
    return os.path.exists(word) if os.path.isabs(word) else shutil.which(word) is not None


def _needs(store: Store, number: int) -> Iterator[str]:
    """Yield what one configuration needs: the programs of its commands, and absolute paths among the arguments."""
    scenario = configured_scenario(store.path, number)
    protocol = scenario.protocol
    if isinstance(protocol, OwnProgram):
        commands = [protocol.command.host, protocol.command.station]
    elif isinstance(protocol, ProcessProgram):
        commands = [protocol.command]
    else:
        return
    for first, *others in commands:
        if not (scenario.folder / first).is_file():
            yield first
        yield from (word for word in others if os.path.isabs(word) and os.path.exists(word))
