"""Keep the garbage collector from slowing down runs.

Model     Most objects of a run are either freed soon by reference counting, or live until the end of the run. A search
          for cycles would therefore find very little.
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
    """Exclude imported modules from garbage collection. They stay until the process ends, and visiting them during the
    run and at exit takes 0.1 s. This is done only on the first call.
    """
    if not gc.get_freeze_count():
        gc.freeze()
