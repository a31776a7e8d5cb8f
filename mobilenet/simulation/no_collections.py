"""A run without the garbage collector.

Model     what is built stays, and what a run allocates is gone soon or stays as well: looking for cycles is a waste of
          time
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
