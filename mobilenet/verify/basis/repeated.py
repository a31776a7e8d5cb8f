"""Check that no sample repeats the size that a buffer already had.

Model     of the protocols here. Nodes sample a buffer when its size changes, and once more at the end
Units     integer nanoseconds
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mobilenet.rundir.table import Table, by_code


def repeated_problem(samples: Table, buffers: Iterable[str], end_ns: int, first: float = np.nan) -> str | None:
    """Return the first sample that repeats a size; `first`: the size before the first sample, if it is known."""
    node, quantity = samples.column("node"), samples.column("quantity")
    rows = np.flatnonzero(quantity.among(tuple(buffers)))
    series = node.codes[rows].astype(np.int64) * len(quantity.words) + quantity.codes[rows]
    order = by_code(series)
    rows, series = rows[order], series[order]
    begins = np.diff(series, prepend=-1) != 0
    size = samples.numbers("value")[rows]
    before = np.where(begins, first, np.append(first, size[:-1])) if len(rows) else size
    is_at_end = np.append(begins[1:], True)[: len(rows)] & (samples.numbers("time_ns")[rows] == end_ns)
    wrong = rows[(size == before) & ~is_at_end]
    if not len(wrong):
        return None
    row = int(wrong.min())
    what, who = samples["quantity"][row], samples["node"][row]
    value = f"{samples['value'][row]:g}"
    return f"samples: row {row} gives {value} for {what} of {who} again, although this value has not changed"
