"""Compute the missing points of a page's buffer curves: the largest size in each time bin, from the recorded samples.

Model     A page that plays fast receives buffer sizes only occasionally, but draws the largest size in each bin. For
          each buffer that changed in a bin, this module provides the largest and the last size. The page therefore
          shows the same curve as the page of the complete record
Units     seconds; numbers of messages
Source    ours: docs/guide/live-messages.md
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mobilenet.engine.clock import SECOND

MOST_SAMPLES = 200_000  # maximum number of samples in one state message; the remaining samples follow in later messages
KINDS = ("stations", "hosts")


def filled_bins(
    samples: Mapping[str, list[Any]], first: int, bins_s: tuple[float, float], names: Mapping[str, set[str]]
) -> tuple[dict[str, dict[str, dict[str, list[int]]]], int]:
    """Return a mapping kind -> buffer -> columns `node`, `bin`, `largest` and `last`, computed from sample number
    `first` on. Also return the number of the first sample that must be sent in a later state message. `bins_s` contains
    the bin widths in the order of KINDS, and `names` maps each kind to its buffers.
    """
    buffers = [names[kind] for kind in KINDS]
    end = min(len(samples["time_ns"]), first + MOST_SAMPLES)
    bins: dict[tuple[int, str, str, int], list[int]] = {}
    columns = (samples[name][first:end] for name in ("time_ns", "node", "quantity", "value"))
    for time_ns, node, quantity, value in zip(*columns, strict=True):
        kind = 1 if node[0] == "h" else 0
        if quantity not in buffers[kind]:
            continue
        key = kind, quantity, node, int(time_ns / SECOND / bins_s[kind])
        known = bins.get(key)
        if known is None:
            bins[key] = [value, value]
        else:
            known[0], known[1] = max(known[0], value), value
    lacking: dict[str, dict[str, dict[str, list[int]]]] = {kind: {} for kind in KINDS}
    for (kind, quantity, node, place), (largest, last) in bins.items():
        own = lacking[KINDS[kind]].setdefault(quantity, {"node": [], "bin": [], "largest": [], "last": []})
        for column, number in zip(own.values(), (int(node[1:]), place, largest, last), strict=True):
            column.append(number)
    return lacking, end
