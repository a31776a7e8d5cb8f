"""Keep the garbage collector from slowing down runs.

Model     objects built for a run live as long as it does, and those that it allocates die soon or live as long: looking
          for cycles is a waste of time
Source    ours: docs/performance.md
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collections() -> Iterator[None]:
    """Disable the cyclic garbage collector within the block."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def set_modules_aside() -> None:
    """Keep the collector from visiting what was imported: it stays until the process ends, and visiting it during the
    run and at the exit takes 0.1 s. Done once, since what tests call later is not all imported yet.
    """
    if not gc.get_freeze_count():
        gc.freeze()
