"""The sizes of buffers as they were sampled.

Units     integer nanoseconds; messages
Shapes    a buffer's sizes: times int64, values float64, (samples,)
Errors    none
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mobilenet.rundir.table import Table, by_code


class Sizes(NamedTuple):
    """The sizes of one buffer, each with the time from which it holds."""

    times: np.ndarray
    values: np.ndarray

    @property
    def grown(self) -> np.ndarray:
        """How much has come in by then."""
        return np.cumsum(np.maximum(np.diff(self.values, prepend=0.0), 0.0))


NO_SIZES = Sizes(np.zeros(0, np.int64), np.zeros(0))


def sizes_of(samples: Table, quantity: str) -> dict[str, Sizes]:
    """One buffer at each node that has it."""
    rows = samples.column("quantity").rows(quantity)
    node = samples.column("node")
    rows = rows[by_code(node.codes[rows])]
    times, values = samples.numbers("time_ns")[rows], samples.numbers("value")[rows]
    ends = np.searchsorted(node.codes[rows], np.arange(len(node.words) + 1))
    spans = ((name, int(ends[i]), int(ends[i + 1])) for i, name in enumerate(node.words))
    return {name: Sizes(times[first:end], values[first:end]) for name, first, end in spans if first < end}
