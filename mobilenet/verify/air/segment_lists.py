"""Check that `segment_messages` in `samples` counts the messages that end in the segments of `messages`.

Checks    of each node and number, there are at least as many samples as segments that surely differ
          in a run at rest, where no queue was full and the node did not crash, the samples of a node are those of its
          segments, in order where it has no wires; of a frame that the MAC may have sent several times, at least one
          and at most one each
Model     a segment in which messages end is sampled when it is made, before it waits for the radio. Rows of a node that
          follow each other and are equal may be one segment, or several
Units     integer nanoseconds
Errors    none
Source    ours: docs/models/tcp.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby, zip_longest

import numpy as np

from mobilenet.rundir.schema import MOST_LISTED
from mobilenet.rundir.table import Table
from mobilenet.verify.air.messages import Hops
from mobilenet.verify.air.nodes import Nodes

QUANTITY = "segment_messages"
Run = tuple[int, int, int]  # how many messages end in each segment, the fewest such segments in a row, and the most


def segment_lists_problem(hops: Hops, nodes: Nodes, samples: Table, unsure: set[int] | None) -> str | None:
    """The first node whose samples are others; `unsure`: nodes of which not all segments have rows; None: all are."""
    rows = hops.table.column("kind").rows("TcpData")
    codes = hops.table.column("detail").codes
    sizes = {code: len(hops.detail_by_code(code)["messages"]) for code in np.unique(codes[rows]).tolist()}
    if any(size >= MOST_LISTED for size in sizes.values()):
        return None  # the record cuts long lists off
    chosen = samples.column("quantity").rows(QUANTITY)
    owners = nodes.indices(samples.column("node"))[chosen]
    if (odd := np.flatnonzero(owners < 0)).size:
        return f"samples: {QUANTITY} of {samples['node'][int(chosen[odd[0]])]}, which is not a node of this run"
    times, values = samples.numbers("time_ns")[chosen], samples.numbers("value")[chosen]
    radio = np.flatnonzero(~hops.is_wired)
    radio = radio[np.lexsort((radio, hops.send_ns[radio], hops.sender[radio]))]
    for node in range(nodes.count):
        sampled = [*zip(times[owners == node].tolist(), values[owners == node].astype(np.int64).tolist(), strict=True)]
        wired = rows[hops.is_wired[rows] & (hops.sender[rows] == node)]
        sent = zip(hops.send_ns[wired].tolist(), (sizes[code] for code in codes[wired].tolist()), strict=True)
        over_wires = Counter(one for one in sent if one[1])
        missing = over_wires - Counter(sampled)
        if missing:
            (at_ns, size), _ = min(missing.items())
            return (
                f"samples: at {at_ns / 1e9:.6f} s {nodes.name(node)} sends a segment on a wire; {size} messages end in"
                f" it, but no sample of {QUANTITY} counts them"
            )
        left = []
        for one in sampled:
            if over_wires[one]:
                over_wires[one] -= 1
            else:
                left.append(one[1])
        own = radio[hops.sender[radio] == node]
        keys = [(int(hops.receiver[row]), int(codes[row])) for row in own.tolist()]
        runs = [(sizes.get(key[1], 0), 1, len(list(group))) for key, group in groupby(keys)]
        is_whole = unsure is not None and node not in unsure
        if (wrong := _first_wrong([run for run in runs if run[0]], left, is_whole, not len(wired))) is not None:
            return f"samples: {nodes.name(node)} sends segments over the radio; messages end in them, but {wrong}"
    return None


def _first_wrong(runs: list[Run], sampled: list[int], is_whole: bool, in_order: bool) -> str | None:
    due, sampled_runs = ([*_merge_runs(runs)], [*_merge_runs((size, 1, 1) for size in sampled)])
    if not in_order or not is_whole:
        due, sampled_runs = ([*_merge_runs(sorted(each))] for each in (due, sampled_runs))
    if not is_whole:
        counts = {size: count for size, count, _ in sampled_runs}
        short = next((one for one in due if counts.get(one[0], 0) < one[1]), None)
        return short and f"{QUANTITY} is {short[0]} in {counts.get(short[0], 0)} samples, expected at least {short[1]}"
    for (size, least, most), (value, count, _) in zip_longest(due, sampled_runs, fillvalue=(0, 0, 0)):
        if value != size or not least <= count <= most:
            return f"{QUANTITY} is {value} in {count} samples, expected {size} in {least} to {most}"
    return None


def _merge_runs(runs: Iterable[Run]) -> Iterator[Run]:
    """Merge runs of the same number that follow each other."""
    for size, group in groupby(runs, lambda run: run[0]):
        each = list(group)
        yield size, sum(run[1] for run in each), sum(run[2] for run in each)
