"""Whether all samples are numbers in their order, as columns: see verify/basis/sampled.py.

Units     integer nanoseconds
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import numpy as np

from mobilenet.rundir.table import Table, by_code


def last_samples(samples: Table, end_ns: int) -> dict[tuple[str, str], int] | None:
    """For each quantity (node, quantity), when it was last sampled, in the order of their first samples; None if a
    sample is not in order, or not what it should be.
    """
    try:
        times, values = samples.numbers("time_ns"), samples.numbers("value")
        nodes, quantities = samples.column("node"), samples.column("quantity")
        if not len(times):
            return {}
        if not (all(nodes.words) and all(quantities.words)) or min(nodes.codes.min(), quantities.codes.min()) < 0:
            return None
        if not (
            np.isfinite(values).all()
            and values.min() >= 0
            and (np.floor(values) == values).all()
            and times.min() >= 0
            and times.max() <= end_ns
        ):
            return None
        series = nodes.codes.astype(np.int64) * len(quantities.words) + quantities.codes
        order = by_code(series)
        ends = np.flatnonzero(np.diff(series[order])) + 1  # where another series begins
        falls = np.flatnonzero(np.diff(times[order]) < 0) + 1
        if not np.isin(falls, ends).all():
            return None
        first, last = order[[0, *ends.tolist()]], order[[*(ends - 1).tolist(), len(order) - 1]]
        sequence = np.argsort(first)
        columns = (samples.pick(name, last[sequence]) for name in ("node", "quantity", "time_ns"))
        return {(node, quantity): time for node, quantity, time in zip(*columns, strict=True)}
    except (TypeError, ValueError, OverflowError):
        return None
