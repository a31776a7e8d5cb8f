"""Start our own code in another Python process from where it is installed, never from the current folder.

Model     `python -m` and `python -c` look into the current folder first, so a typer.py lying there would run in place
          of the real one, without consent. Commands that we write get -P. Where a library writes the command
          (multiprocessing, Spark), the variable PYTHONSAFEPATH does the same. It is meant for that one process, so it
          is removed there before any code of users runs: a user's program imports the modules next to it. A value
          that the user has set stays
Errors    none
Source    ours: docs/guide/plug-ins.md; PYTHONSAFEPATH: docs.python.org/3/using/cmdline.html
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLE = "PYTHONSAFEPATH"
OURS = "mobilenet"  # any value but the empty one works; this one shows that we have set it
_setting = threading.RLock()


def python(*words: str) -> list[str]:
    """Return the command that runs this Python with a safe path."""
    return [sys.executable, "-P", *words]


def value() -> str:
    """Return the value of PYTHONSAFEPATH for a process of ours: the user's value, or ours."""
    return os.environ.get(VARIABLE) or OURS


@contextmanager
def for_children() -> Iterator[None]:
    """Give a safe path to the processes that are started meanwhile."""
    with _setting:
        before = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = value()
        try:
            yield
        finally:
            if before is None:
                del os.environ[VARIABLE]
            else:
                os.environ[VARIABLE] = before


def not_for_programs() -> None:
    """Remove our PYTHONSAFEPATH from this process, whose path is safe already, before it starts users' programs."""
    if os.environ.get(VARIABLE) == OURS:
        del os.environ[VARIABLE]
