"""How the Javas that we begin come to their end, however we come to ours.

Model     Spark's Java ends by itself when its Python is gone, but may get stuck on the way: after a signal it is asked,
          then killed, and further signals are ignored meanwhile. Those of a cluster are ended by the system, also
          when their parent is killed (Linux: PR_SET_PDEATHSIG)
Errors    none
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
    known = gateway.proc.pid if gateway is not None and getattr(gateway, "proc", None) is not None else None
    for child in {*children(), *([known] if known is not None else [])}:
        with suppress(OSError):
            if child == known or b"org.apache.spark" in Path(f"/proc/{child}/cmdline").read_bytes():
                os.kill(child, signal.SIGTERM)
                _kill_after(child, ENDS_WITHIN_S)


def children() -> set[int]:
    """The children of this process, where the system lists them."""
    with suppress(OSError):
        return {
            int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()
        }
    return set()


def _kill_after(child: int, seconds: float) -> None:
    """Wait for its end, and then no longer."""
    deadline = time.monotonic() + seconds
    with suppress(ChildProcessError):
        while os.waitpid(child, os.WNOHANG)[0] == 0:
            if time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return
            time.sleep(0.05)


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
