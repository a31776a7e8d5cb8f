"""Open a Spark session, or use the caller's session.

Model     Executors use the Python of this process and import nothing from the current folder. A remote master receives
          the package itself. A task whose process dies is tried again; task.py records the run that killed the process,
          and limits the attempts. A caller's session only receives the package if a worker lacks it, and is not changed
          otherwise.
Errors    StudyError if pyspark or Java is missing, if the master does not answer, or if the session uses Spark Connect.
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

MOST_DEATHS = 200  # maximum number of processes that may die during a batch of runs
QUICK_TO_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # These options suit a Java that does little work itself.
MASTER_ANSWERS_WITHIN_S = 5
MASTER_TAKES_US_WITHIN_S = 40
NOT_INSTALLED = "PySpark is not installed; install it with: pip install 'mobilenet[studies]'"
Done = TypeVar("Done")
Spark: TypeAlias = "str | SparkSession"  # the address of a master for a new session, or an open session


def local_master(workers: int | None) -> str:
    return f"local[{workers or '*'}]"


def _settings(master: str, is_local: bool, memory: str, java_options: str) -> dict[str, str]:
    settings = {
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.driver.memory": memory,
        "spark.driver.extraJavaOptions": f'"-Djava.io.tmpdir={_scratch()}"',
        # Without this setting, Spark would create the warehouse in the current folder.
        "spark.sql.warehouse.dir": str(_scratch() / "warehouse"),
        # Below this number of paths, listing them without a job is faster.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
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
    """Return the folder for the temporary files of Spark. The folder, like the Java of Spark, exists until this process
    ends.
    """
    block = ExitStack()
    atexit.register(block.close)
    return block.enter_context(scratch_folder("spark"))


@contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    """Make libraries create their temporary files in this folder."""
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before


def is_installed() -> bool:
    """Return whether PySpark is installed. A plain installation of mobilenet does not include it."""
    return find_spec("pyspark") is not None


@contextmanager
def spark_session(
    spark: Spark, memory: str = "1g", java_options: str = "", failures: int = MOST_DEATHS
) -> Iterator[SparkSession]:
    """Open a Spark session for one command, without log output. A local master uses only the loopback interface. An
    open session is used unchanged. The options of a local Java in `java_options` override ours. Spark gives up when a
    task has failed `failures` times.
    """
    require_spark(spark)
    if not isinstance(spark, str):
        _give_package(spark)
        yield spark
        return
    import pyspark

    java = java_home()
    os.environ["JAVA_HOME"] = str(java)
    # Without this path, pyspark would search for bin/spark-submit in the parent folder.
    home = Path(str(pyspark.__file__)).parent
    os.environ.setdefault("SPARK_HOME", str(home))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # Without a handler, py4j prints tracebacks if Java ends first.
    logging.getLogger("py4j").addHandler(logging.NullHandler())
    logging.getLogger("py4j").propagate = False
    # Otherwise, this logger writes each refusal of SQL as JSON, including the traceback of Java.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    # The root logger also receives messages from py4j.
    logging.getLogger().addFilter(lambda record: "py4j" not in Path(record.pathname).parts)
    local = re.fullmatch(r"local\[(\*|\d+)\]", spark)
    is_local = spark.startswith("local")
    settings = _settings(spark, is_local, memory, f"{class_options(java)} {java_options}") | {
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
    accumulators.handle_error = lambda *request: None  # The default handler would print a traceback if Java ends first.
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

    # The code of this function is sent to the workers, because they do not have the package yet.
    def lacking(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if find_spec("mobilenet") is None:
            yield from batches

    if len(on_each_worker(session, lacking, "id long")):
        context.addPyFile(str(package_archive(_scratch())))


def on_each_worker(session: SparkSession, work: Callable[[Any], Iterator[pa.RecordBatch]], columns: str) -> pa.Table:
    """Call a function on the workers of a session, and return the rows that it yields. There are twice as many tasks as
    cores, so every worker very probably receives at least one task.
    """
    tasks = 2 * session.sparkContext.defaultParallelism
    return session.range(0, tasks, 1, tasks).mapInArrow(work, columns).toArrow()


def path_pattern(path: Path) -> str:
    """Return a pattern that matches only this path. Spark treats paths as patterns."""
    return "file:" + re.sub(r"([\\*?\[\]{}])", r"\\\1", str(path.absolute()))


def has_stopped(session: SparkSession) -> bool:
    """Return whether the session has stopped or its Java is gone."""
    try:
        return bool(session.sparkContext._jsc.sc().isStopped())
    except Exception:  # The library py4j may raise any kind of exception.
        return True


def _finish(session: SparkSession) -> None:
    with suppress(Exception):  # If the signal has also reached Java, the session has already stopped.
        session.stop()


def _end(session: SparkSession) -> None:
    """End Java after a signal or an error. A second signal cannot interrupt this and leave a Java process behind."""
    with deaf():
        stop = in_thread(session.stop)
        wait([stop], ENDS_WITHIN_S)
        end_java(stop)


def in_thread(work: Callable[[], Done]) -> Future[Done]:
    """Start work in a daemon thread. The work may wait for Java forever, but this does not prevent the process from
    ending.
    """
    future: Future[Done] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # The error is passed to the waiting thread.
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def _start(settings: dict[str, str], master: str) -> SparkSession:
    """Start Spark in a separate thread. In the main thread, Spark would handle SIGINT itself, and wait for minutes if
    the master does not answer.
    """
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
    """Raise StudyError unless PySpark is installed, and either the given session is usable or the master answers. Spark
    itself would try to reach a master for minutes.
    """
    if not is_installed():
        raise StudyError(f"studies run on Spark: {NOT_INSTALLED}")
    if not isinstance(spark, str):
        if type(spark).__module__.startswith("pyspark.sql.connect"):
            raise StudyError(
                "spark: got a session of Spark Connect; expected a session that was created without remote()"
            )
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
    # The address may list several masters, one of which is the leader.
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.partition(":")
        try:
            socket.create_connection((host, int(port)), MASTER_ANSWERS_WITHIN_S).close()
            return
        except (OSError, OverflowError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    raise StudyError(f"--master {master}: no answer ({reason}); start the master, or leave --master out")


def package_archive(folder: Path) -> Path:
    """Return mobilenet as a zip file for executors that lack it. Its dependencies must be installed there. The archive
    includes the compiled modules, which are used if the machine type and Python version match.
    """
    source = Path(__file__).parents[2]
    archive = folder / "mobilenet.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted([*source.rglob("*.py"), *native.folder().rglob("*.so")]):
            file.write(path, Path("mobilenet") / path.relative_to(source))
    return archive


@contextmanager
def _quiet_stderr() -> Iterator[None]:
    """Suppress the output of the launcher and the log system."""
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
