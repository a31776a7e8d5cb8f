"""Check that the messages of each class add up: their bytes, their lists, and who sends them.

Checks    only classes that the protocol has are counted, each for the kind of node that sends it
          their bytes follow from their number, from the payload of the application messages in them, and from the
          lengths of their lists, which are sampled when a message is put on a wire or into the queue of a radio
          each list has a sample for each message; only messages that were dropped, or still wait, have others, and only
          what the MAC sends again has none
          messages that only acknowledge are counted as acknowledgements
Model     only for protocols whose messages are known (Kind). On the radio the lists of messages that were not sent are
          among the samples; so where there may be such, only bounds are certain
Units     bytes
Source    ours: docs/run-directory.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mobilenet.expected.expectations import Expectations, Kind
from mobilenet.rundir.table import Columns, Table

WIRED = "wired"


def kinds_problems(counters: dict[str, Any], samples: Columns, expected: Expectations | None) -> Iterator[str]:
    """All that does not add up. KeyError, TypeError: counters are missing, or no numbers."""
    if expected is None or expected.radio is None or expected.radio.kinds is None or expected.places is None:
        return
    kinds, tallies = expected.radio.kinds, counters["by_message_type"]
    lists = _Lists(Table.of(samples))
    # what waits in the MAC of a node when it crashes, or when the run ends, is never sent
    lives = {"station": len(expected.places.stations_m), "host": len(expected.hosts or ())}
    lives["host"] += counters["rows"]["events"].get("crash", 0)
    waiting = {side: count * (expected.queue_frames + 1) for side, count in lives.items()}
    retries = counters["radio"]["mac_retries"] + counters["radio"].get("mac_group_retries", 0)
    for side, known in kinds.items():
        for name in tallies[side]:
            if name not in known:
                yield f"{side} {name}: this protocol has no such message there"
        for name, kind in known.items():
            counted = tallies[side].get(name, {"count": 0, "bytes": 0, "control_bytes": 0})
            more, again = (0, 0) if side == WIRED else (counters["radio"]["queue_drops"] + waiting[side], retries)
            yield from _problems(f"{side} {name}", kind, counted, lists, (more, again), expected.payload_bytes)
    acknowledging = sum(
        tallies[side].get(name, {"count": 0})["count"]
        for side, known in kinds.items()
        for name, kind in known.items()
        if kind.acknowledges and side != WIRED
    )
    last_sample = lists.last("radio_acknowledgements")
    if last_sample is not None and last_sample != acknowledging:
        yield (
            f"samples: {last_sample:g} radio_acknowledgements at the end, but {acknowledging} messages"
            " are acknowledgements"
        )


class _Lists:
    """The samples of each quantity."""

    def __init__(self, samples: Table) -> None:
        quantity, values = samples.column("quantity"), samples.numbers("value")
        self._values: dict[str, np.ndarray] = {
            name: values[quantity.codes == code] for code, name in enumerate(quantity.words)
        }

    def of(self, name: str) -> np.ndarray:
        return self._values.get(name, np.zeros(0))

    def last(self, name: str) -> float | None:
        values = self.of(name)
        return float(values[-1]) if len(values) else None


def _problems(
    name: str, kind: Kind, counted: Mapping[str, int], lists: _Lists, bounds: tuple[int, int],
    payload_bytes: int | None,
) -> Iterator[str]:  # fmt: skip
    """`bounds`: the most messages that have samples and were not sent, and the most that were sent again without."""
    more, again = bounds
    count, control = counted["count"], counted["control_bytes"]
    payload = counted["bytes"] - control
    lengths = {entry: lists.of(entry) for entry in kind.entries}
    for entry, values in lengths.items():
        if not count - again <= len(values) <= count + more:
            yield f"samples: {len(values)} of {entry}, but {count} messages of kind {name} were sent, each with one"
    least = count * kind.fixed_bytes
    if control < least or not kind.entries and kind.is_exact and control != least:
        yield f"{name}: {control} control bytes in {count} messages, each of which has {kind.fixed_bytes}"
    if kind.entries and kind.is_exact and not again:
        in_lists = sum(int(values.sum()) * (kind.entries[entry] or 0) for entry, values in lengths.items())
        whole = all(len(values) == count for values in lengths.values())
        if control > least + in_lists or whole and control != least + in_lists:
            yield f"{name}: {control} control bytes, but {count} messages with these lists contain {least + in_lists}"
    if payload_bytes is not None and not kind.carries and payload:
        yield f"{name}: {payload} bytes of payload, but such messages carry none"
    if payload_bytes is not None and kind.carries and not kind.entries and payload != count * payload_bytes:
        yield f"{name}: {payload} bytes of payload in {count} messages, each of which carries {payload_bytes}"
