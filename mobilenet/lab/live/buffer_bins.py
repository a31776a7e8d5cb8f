"""The points that a page lacks in the buffers' curves: the largest size in each bin of time, from the samples of the
record.

Model     a page that goes fast sees the sizes of some moments only, but draws the largest size in each bin. It gets, of
          each buffer that changed in a bin, the largest and the last size there, as the page of the whole record has it
Units     seconds; numbers of messages
Source    ours: docs/guide/live-messages.md
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mobilenet.engine.clock import SECOND

MOST_SAMPLES = 200_000  # read for one state; the rest follows in later states
KINDS = ("stations", "hosts")


def filled_bins(
    samples: Mapping[str, list[Any]], first: int, bins_s: tuple[float, float], names: Mapping[str, set[str]]
) -> tuple[dict[str, dict[str, dict[str, list[int]]]], int]:
    """Return kind -> buffer -> columns `node`, `bin`, `largest` and `last` of the samples from number `first` on, and
    the number of the first sample that was left for later. `bins_s`: widths, as in KINDS; `names`: kind -> buffers.
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
