"""Open a Spark session, or use that of a caller.

Model     executors use the Python of this process, and import nothing from the current folder; a remote master is sent
          the package itself. A task whose process dies is tried again: task.py records which
          run took it down, and how often that may be. A session of a caller is used as it is: it is sent the package
          if a worker lacks it, and nothing else about it changes
Errors    StudyError: no pyspark, no Java, a master that does not answer, a session of Spark Connect
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import socket
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from mobilenet.engine import native, safe_path
from mobilenet.engine.scratch import scratch_folder
from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.java import ENDS_WITHIN_S, class_options, deaf, end_java, java_home

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

MOST_DEATHS = 200  # of processes in one batch of runs
QUICK_TO_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # a Java that does little work itself
MASTER_ANSWERS_WITHIN_S = 5
MASTER_TAKES_US_WITHIN_S = 40
NOT_INSTALLED = "PySpark is not installed; install it with: pip install 'mobilenet[studies]'"
Done = TypeVar("Done")
Spark: TypeAlias = "str | SparkSession"  # the master for a session of our own, or an open session


def local_master(workers: int | None) -> str:
    return f"local[{workers or '*'}]"


def _settings(master: str, is_local: bool, memory: str, java_options: str) -> dict[str, str]:
    settings = {
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.driver.memory": memory,
        "spark.driver.extraJavaOptions": f'"-Djava.io.tmpdir={_scratch()}"',
        "spark.sql.warehouse.dir": str(_scratch() / "warehouse"),  # otherwise a folder in the current one
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",  # fewer are listed sooner without a job
        f"spark.executorEnv.{safe_path.VARIABLE}": safe_path.value(),
    }
    if is_local:
        settings["spark.driver.extraJavaOptions"] += f" {QUICK_TO_START} {java_options}"
    if is_local or "127.0.0.1" in master or "localhost" in master:
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return settings


@cache
def _scratch() -> Path:
    """Return the folder for temporary files of Spark, whose Java lasts as long as this process."""
    block = ExitStack()
    atexit.register(block.close)
    return block.enter_context(scratch_folder("spark"))


@contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    """Let libraries make their temporary files in this folder."""
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before


def is_installed() -> bool:
    """Return whether PySpark is installed, which a plain installation leaves out."""
    return find_spec("pyspark") is not None


@contextmanager
def spark_session(
    spark: Spark, memory: str = "1g", java_options: str | None = None, failures: int = MOST_DEATHS
) -> Iterator[SparkSession]:
    """Open a Spark session for one command: quietly, and on loopback if the master is local. An open session is used
    unchanged. `java_options`: for the Java of a local master, in place of those with which it starts faster;
    `failures`: of a task, after which Spark gives up.
    """
    require_spark(spark)
    if not isinstance(spark, str):
        _give_package(spark)
        yield spark
        return
    import pyspark

    java = java_home()
    os.environ["JAVA_HOME"] = str(java)
    home = Path(str(pyspark.__file__)).parent  # otherwise pyspark would look for bin/spark-submit in the parent folder
    os.environ.setdefault("SPARK_HOME", str(home))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    logging.getLogger("py4j").addHandler(logging.NullHandler())  # tracebacks when Java goes first
    logging.getLogger("py4j").propagate = False
    logging.getLogger("SQLQueryContextLogger").disabled = True  # each refusal of SQL as JSON, with its Java
    logging.getLogger().addFilter(lambda record: "py4j" not in Path(record.pathname).parts)  # to the root, too
    local = re.fullmatch(r"local\[(\*|\d+)\]", spark)
    is_local = spark.startswith("local")
    settings = _settings(spark, is_local, memory, class_options(java) if java_options is None else java_options) | {
        "spark.app.name": "mobilenet",
        "spark.master": f"local[{local[1]},{failures}]" if local else spark,
        "spark.task.maxFailures": str(failures),
    }
    with _quiet_stderr():
        try:
            with safe_path.for_children(), _temporary_files_in(_scratch()):
                session = _start(settings, spark)
        except StudyError:
            raise
        except Exception as error:
            raise StudyError(f"Spark did not start on {spark}: {' '.join(str(error).split())[:200]}") from None
    accumulators: Any = session.sparkContext._accumulatorServer
    accumulators.handle_error = lambda *request: None  # otherwise it would print a traceback if Java ends first
    try:
        if not is_local:
            session.sparkContext.addPyFile(str(package_archive(_scratch())))
        yield session
        with _quiet_stderr():
            _finish(session)
    except BaseException:
        with _quiet_stderr():
            _end(session)
        raise


def _give_package(session: SparkSession) -> None:
    """Send mobilenet to the workers of a cluster that lack it."""
    context = session.sparkContext
    if str(context.master).startswith("local"):
        return

    def lacking(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:  # sent whole: it is not there yet
        if find_spec("mobilenet") is None:
            yield from batches

    if len(on_each_worker(session, lacking, "id long")):
        context.addPyFile(str(package_archive(_scratch())))


def on_each_worker(session: SparkSession, work: Callable[[Any], Iterator[pa.RecordBatch]], columns: str) -> pa.Table:
    """Have the workers of a session do something, and return their rows. There are twice as many tasks as cores, so
    that most likely each worker gets one.
    """
    tasks = 2 * session.sparkContext.defaultParallelism
    return session.range(0, tasks, 1, tasks).mapInArrow(work, columns).toArrow()


def path_pattern(path: Path) -> str:
    """Return a pattern that Spark, which reads paths as patterns, matches to this path only."""
    return "file:" + re.sub(r"([\\*?\[\]{}])", r"\\\1", str(path.absolute()))


def has_stopped(session: SparkSession) -> bool:
    """Return whether the session is over, or its Java is gone."""
    try:
        return bool(session.sparkContext._jsc.sc().isStopped())
    except Exception:  # of any kind, from py4j
        return True


def _finish(session: SparkSession) -> None:
    with suppress(Exception):  # if a signal has reached Java as well, there is nothing to stop
        session.stop()


def _end(session: SparkSession) -> None:
    """End Java after a signal or an error, so that a second signal does not leave one behind."""
    with deaf():
        stop = in_thread(session.stop)
        wait([stop], ENDS_WITHIN_S)
        end_java(stop)


def in_thread(work: Callable[[], Done]) -> Future[Done]:
    """Begin work that may wait for Java for ever, in a thread that does not keep this process from ending."""
    future: Future[Done] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # passed to the waiting thread
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def _start(settings: dict[str, str], master: str) -> SparkSession:
    """Start Spark in a thread: in the main one, Spark takes SIGINT, and waits for minutes if no Spark answers."""
    from pyspark.sql import SparkSession

    session = in_thread(SparkSession.builder.config(map=dict(settings)).getOrCreate)
    try:
        if not wait([session], MASTER_TAKES_US_WITHIN_S if master.startswith("spark://") else None).done:
            raise StudyError(
                f"--master {master}: no compatible Spark master answered within {MASTER_TAKES_US_WITHIN_S} s; check"
                " its address and version"
            )
        return session.result()
    except BaseException:
        with deaf():
            end_java(session)
        raise


def require_spark(spark: Spark) -> None:
    """Raise StudyError unless PySpark is installed and the master answers, which Spark itself would try for minutes, or
    the session can be used.
    """
    if not is_installed():
        raise StudyError(f"studies run on Spark: {NOT_INSTALLED}")
    if not isinstance(spark, str):
        if type(spark).__module__.startswith("pyspark.sql.connect"):
            raise StudyError("spark: a session of Spark Connect; expected one that was made without remote()")
        if not hasattr(spark, "newSession"):
            raise StudyError(f"spark: got {type(spark).__name__}, expected a SparkSession")
        if has_stopped(spark):
            raise StudyError("spark: the session has been stopped; expected one that is running")
        return
    master = spark
    if re.fullmatch(r"local(\[(\*|[1-9]\d*)\])?|yarn|k8s://\S+", master):
        return
    if not re.fullmatch(r"spark://[\w.-]+:\d{1,5}(,[\w.-]+:\d{1,5})*", master):
        raise StudyError(f"--master {master}: expected local[N], spark://HOST:PORT, yarn or k8s://...")
    reason = ""
    for place in master.removeprefix("spark://").split(","):  # several: one of them leads
        host, _, port = place.partition(":")
        try:
            socket.create_connection((host, int(port)), MASTER_ANSWERS_WITHIN_S).close()
            return
        except (OSError, OverflowError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    raise StudyError(f"--master {master}: no answer ({reason}); start the master, or leave --master out")


def package_archive(folder: Path) -> Path:
    """Return mobilenet as a zip file, for executors that lack it; its dependencies must be installed there. It includes
    the compiled modules, which are used if machine and Python are the same.
    """
    source = Path(__file__).parents[2]
    archive = folder / "mobilenet.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted([*source.rglob("*.py"), *native.folder().rglob("*.so")]):
            file.write(path, Path("mobilenet") / path.relative_to(source))
    return archive


@contextmanager
def _quiet_stderr() -> Iterator[None]:
    """Silence the launcher and the log system, whose output is not useful."""
    if os.environ.get("MOBILENET_DEBUG"):
        yield
        return
    sys.stderr.flush()
    saved = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nowhere)
