"""A limit on the wall time of each step of users' code. It also ends steps that would never return.

Model     A thread checks at intervals how long the current step has lasted, and raises TooLong in the thread that runs
          the step. This works in any thread, and reads the clock only twice for each step. A call of C code, such as
          time.sleep, is not interrupted, and TooLong is raised after it.
Units     Limits are in seconds of wall time.
Source    ours: docs/guide/simpy.md
"""

from __future__ import annotations

import ctypes
from threading import Event, Lock, Thread, get_ident
from time import monotonic
from weakref import ReferenceType, ref


class TooLong(BaseException):
    """A step of users' code lasts too long. This is not an Exception, so that users' code is unlikely to catch it."""


class WallLimit:
    """A limit on wall time. Each step runs in a `with` block of this object, between `start` and `stop`."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self._thread = 0
        self._begun_s: float | None = None  # start of the current step, or None between steps
        self._lock = Lock()
        self._stopped = Event()

    def start(self) -> None:
        Thread(target=_watch, args=(ref(self), self._stopped, self.limit_s / 10), daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()

    @property
    def is_stopped(self) -> bool:
        return self._stopped.is_set()

    def __enter__(self) -> None:
        self._thread = get_ident()
        self._begun_s = monotonic()

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._begun_s = None

    def look(self) -> None:
        """Raise TooLong in the thread of the current step if the step lasts too long."""
        with self._lock:
            if self._begun_s is not None and monotonic() - self._begun_s > self.limit_s:
                raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
                raise_in(ctypes.c_ulong(self._thread), ctypes.py_object(TooLong))


def _watch(reference: ReferenceType[WallLimit], stopped: Event, every_s: float) -> None:
    """Check the limit at intervals until it is stopped. The weak reference lets an abandoned limit be deleted."""
    while not stopped.wait(every_s) and (limit := reference()) is not None:
        limit.look()
        del limit
