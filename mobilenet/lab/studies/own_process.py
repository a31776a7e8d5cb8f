"""Do work that needs Spark for Python code: in the caller's session, or in a separate process.

Model     A process has only one Spark context, one Java, and the environment variables with which they were started.
          All of these belong to the caller. So a study with a master runs in a separate process. Its progress reports,
          its result and its errors come back through a pipe.
Errors    Errors of the work are passed on. StudyError if the process ends unexpectedly. An exception in a progress
          report, or Ctrl-C, ends the process.
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from typing import Any

from mobilenet.engine.safe_path import python
from mobilenet.lab.studies import OutError, StudyError
from mobilenet.lab.studies.java import ends_with_its_parent
from mobilenet.lab.studies.spark import Done, Spark, local_master, require_spark

Report = Callable[[Any], None]
ENDS_WITHIN_S = 20  # After the last report, the process and its Java must end within this time.


def chosen_spark(workers: int | None, master: str | None, session: Any) -> Spark:
    """Return the selected Spark: cores of this machine, the address of a master, or a session. Raise StudyError if more
    than one of them is selected.
    """
    if sum(choice is not None for choice in (workers, master, session)) > 1:
        raise StudyError("workers, master, spark: expected one of them, since each decides where the runs are made")
    if isinstance(session, str):
        raise StudyError("spark: got a name, expected a SparkSession; master is for the address of a cluster")
    return local_master(workers) if master is None and session is None else master or session


def on_spark(spark: Spark, work: Callable[[Spark, Report], Done], report: Report) -> Done:
    """Do the work with this Spark. Whenever the work calls its second argument, call `report` in this process. If the
    output directory is unusable, the error refers to the Python argument `out`.
    """
    require_spark(spark)
    try:
        return work(spark, report) if not isinstance(spark, str) else _in_process(spark, work, report)
    except OutError as error:
        raise StudyError(f"{error.what}; choose another directory for out") from None


def _in_process(spark: str, work: Callable[[Spark, Report], Done], report: Report) -> Done:
    ours, theirs = Pipe()
    command = python("-m", __name__, str(theirs.fileno()))
    with ours, subprocess.Popen(command, pass_fds=[theirs.fileno()], preexec_fn=ends_with_its_parent) as process:
        theirs.close()
        try:
            ours.send_bytes(_pack((work, spark)))
            while True:
                what, value = pickle.loads(ours.recv_bytes())
                if what == "done":
                    done: Done = value
                    return done
                if what == "failed":
                    raise value
                report(value)
        except (EOFError, BrokenPipeError):
            raise StudyError(
                f"the process of the study ended with code {process.wait()}; run it again to resume"
            ) from None
        finally:
            ours.close()  # The next report of the work then fails, and the work stops.
            with suppress(subprocess.TimeoutExpired):
                process.wait(ENDS_WITHIN_S)
            process.kill()


def _pack(value: Any) -> bytes:
    """Pickle a value, which may contain anonymous functions."""
    from pyspark import cloudpickle

    return bytes(cloudpickle.dumps(value))  # type: ignore[no-untyped-call]


def _serve(pipe: Connection) -> None:
    def send(what: str, value: Any) -> None:
        pipe.send_bytes(_pack((what, value)))

    work, spark = pickle.loads(pipe.recv_bytes())
    try:
        send("done", work(spark, lambda value: send("report", value)))
    except Exception as error:
        send("failed", error)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt, BrokenPipeError):  # The last report fails if the caller has stopped.
        _serve(Connection(int(sys.argv[1])))
