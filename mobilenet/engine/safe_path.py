"""Start mobilenet's code in another Python process from its installation, and never from the current folder.

Model     `python -m` and `python -c` look into the current folder first, so a file typer.py in it would run instead of
          the library, without the user's consent. mobilenet adds -P to the commands that it builds. Where a library
          builds the command (multiprocessing, Spark), the variable PYTHONSAFEPATH has the same effect. The new process
          removes this variable before users' code runs, because a user's program imports the modules next to it. A
          value that the user has set is kept.
Source    ours: docs/guide/plug-ins.md; PYTHONSAFEPATH: docs.python.org/3/using/cmdline.html
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLE = "PYTHONSAFEPATH"
OURS = "mobilenet"  # any value except the empty string works; this one shows that mobilenet has set it
_setting = threading.RLock()


def python(*words: str) -> list[str]:
    """Return the command that runs this Python interpreter without importing from the current folder."""
    return [sys.executable, "-P", *words]


def value() -> str:
    """Return the value of PYTHONSAFEPATH for a process that mobilenet starts: the user's value, or `OURS`."""
    return os.environ.get(VARIABLE) or OURS


@contextmanager
def for_children() -> Iterator[None]:
    """Set PYTHONSAFEPATH for all processes that are started within the block."""
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
    """Remove PYTHONSAFEPATH from this process if mobilenet has set it, before users' programs are started. The path of
    the process itself is safe already.
    """
    if os.environ.get(VARIABLE) == OURS:
        del os.environ[VARIABLE]
