"""How the Javas that we begin come to their end, however we come to ours.

Model     Spark's Java ends by itself when its Python is gone, but may get stuck on the way: after a signal it is asked,
          then killed, and further signals are ignored meanwhile. Those of a cluster are ended by the system, also
          when their parent is killed (Linux: PR_SET_PDEATHSIG)
Errors    none
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import ctypes
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

ENDS_WITHIN_S = 5
PR_SET_PDEATHSIG = 1


@contextmanager
def deaf() -> Iterator[None]:
    """Ignore signals that ask us to stop within the block: we are stopping already."""
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


def end_java() -> None:
    """End Spark's Java, also one that is only beginning; it ends by itself without a client, or not."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = None
    known: Any = getattr(gateway, "proc", None)
    for child in children() | ({known.pid} if known is not None else set()):
        with suppress(OSError):
            if known is not None and child == known.pid:
                _end(child, lambda: known.poll() is not None)
            elif b"org.apache.spark" in Path(f"/proc/{child}/cmdline").read_bytes():
                _end(child, partial(_has_ended, child))


def children() -> set[int]:
    """The children of this process, where the system lists them."""
    with suppress(OSError):
        return {
            int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()
        }
    return set()


def _end(child: int, has_ended: Callable[[], bool]) -> None:
    """Ask it to end, wait, and then no longer."""
    os.kill(child, signal.SIGTERM)
    deadline = time.monotonic() + ENDS_WITHIN_S
    while not has_ended():
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            deadline = math.inf
        time.sleep(0.05)


def _has_ended(child: int) -> bool:
    """Whether it has. Its parent waits for it: a launcher that does not learn of the end would look for the port of
    its Java for ever, and hold the lock of all contexts.
    """
    try:
        return Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def is_without_java(error: BaseException | None) -> bool:
    """Whether the error arose because Spark's Java no longer answers."""
    while error is not None:
        if isinstance(error, ConnectionError) or type(error).__module__.startswith("py4j."):
            return True
        error = error.__cause__ or error.__context__
    return False


def ends_with_its_parent() -> None:
    """Have the kernel kill this process, just forked, when its parent dies for whatever reason."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
