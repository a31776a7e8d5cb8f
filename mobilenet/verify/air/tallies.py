"""Whether the rows of `frames` add up to what the network counted, in the end and at each moment of its samples.

Checks    pairs by outcome, all and those addressed, are as many as rows; acknowledgements of MACs by themselves, except
          in records of older versions
          frames of each kind, their bytes, and acknowledgements of MACs are at least as many as the frames with rows:
          a frame without a receiver has none
          at each moment as many pairs of each outcome were counted as rows had ended
Model     a frame is counted when its last receiver has it: not before its end, and at most one propagation delay later
Units     integer nanoseconds, bytes
Shapes    over rows, or over the moments of samples
Errors    none
Source    ours: docs/run-directory.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.rundir.schema import MAC_ACK
from mobilenet.rundir.table import Columns, Table
from mobilenet.verify.air.nodes import Nodes
from mobilenet.verify.air.outcomes import OUTCOMES
from mobilenet.verify.air.pairs import Pairs
from mobilenet.verify.basis.radio_counters import pair_counters

SIDES = ("station", "host")


class Totals:
    """The running totals of the network, as far as frames are concerned."""

    def __init__(self, samples: Columns) -> None:
        table = Table.of(samples)
        rows = table.column("node").rows("network")
        quantities = table.column("quantity")
        at_ns, values, codes = table.numbers("time_ns"), table.numbers("value"), quantities.codes
        self._series = {}
        for word in quantities.words:
            own = rows[codes[rows] == quantities.code(word)]
            self._series[word] = at_ns[own], values[own]

    def of(self, quantity: str) -> tuple[np.ndarray, np.ndarray]:
        """The moments, and the total at each."""
        return self._series.get(quantity, (np.zeros(0, np.int64), np.zeros(0)))

    def since_begin(self, quantity: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the same, with the moments before the first total, where it is 0."""
        (at_ns, values), every_ns = self.of(quantity), self.of("radio_frames")[0]
        early_ns = every_ns[every_ns < at_ns[0]] if len(at_ns) else every_ns[:0]
        return np.append(early_ns, at_ns), np.append(np.zeros(len(early_ns)), values)


def tallies_problem(pairs: Pairs, nodes: Nodes, totals: Totals, counters: dict[str, Any]) -> str | None:
    """The first number that is another one."""
    problem = next(_problems(pairs, nodes, counters), None)
    return problem or next(_problems_in_time(pairs, totals, "acks" in counters["radio"]), None)


def _problems(pairs: Pairs, nodes: Nodes, counters: dict[str, Any]) -> Iterator[str]:
    radio, kinds = counters["radio"], counters["by_message_type"]
    rows_of = {"radio": _of_frames(pairs, "acks" in radio), "radio.acks": pairs.is_ack}
    for key, _, counted in pair_counters(radio):
        for label, tally, chosen in (
            (f"pairs of {key}", counted, rows_of[key]),
            (f"addressed pairs of {key}", counted["addressed"], rows_of[key] & pairs.addressed),
        ):
            rows = np.bincount(pairs.outcome[chosen], minlength=len(OUTCOMES)).tolist()
            for outcome, name in enumerate(OUTCOMES):
                count = tally["received"] if name == "received" else tally["lost"].get(name, 0)
                if rows[outcome] != count:
                    yield f"frames: {rows[outcome]} {label} with the fate {name}, but counters.json counts {count}"
    table, heads = pairs.table, pairs.first
    words = table.column("kind").words
    codes = table.column("kind").codes[heads]
    station = pairs.sender[heads] < nodes.stations
    numbers = Counter(zip(codes.tolist(), station.tolist(), strict=True))
    for (code, is_station), count in sorted(numbers.items()):
        if words[code] == MAC_ACK:
            continue
        side = SIDES[not is_station]
        tally = kinds[side].get(words[code], {"count": 0, "bytes": 0})
        size = int(pairs.size_bytes[heads][(codes == code) & (station == is_station)].sum())
        if count > tally["count"] or size > tally["bytes"]:
            yield (
                f"frames: {count} {words[code]} frames from {side}s with {size} bytes in total, but counters.json has"
                f" {tally['count']} with {tally['bytes']} bytes"
            )
    if (acks := int(pairs.is_ack[heads].sum())) > radio["mac_acks"]:
        yield f"frames: {acks} MAC acknowledgements, but counters.json counts {radio['mac_acks']}"


def _of_frames(pairs: Pairs, are_apart: bool) -> np.ndarray:
    """Return which rows counters of frames have; `are_apart`: acknowledgements have separate counters."""
    return ~pairs.is_ack if are_apart else np.ones(len(pairs.is_ack), bool)


def _problems_in_time(pairs: Pairs, totals: Totals, are_apart: bool) -> Iterator[str]:
    of_frames = _of_frames(pairs, are_apart)
    rows = {"pairs_": of_frames, "addressed_pairs_": of_frames & pairs.addressed}
    if are_apart:
        rows |= {"ack_pairs_": pairs.is_ack, "addressed_ack_pairs_": pairs.is_ack & pairs.addressed}
    for prefix, chosen in rows.items():
        ends, outcomes = pairs.end_ns[chosen], pairs.outcome[chosen]
        for outcome, name in enumerate(OUTCOMES):
            yield from _falls_out(np.sort(ends[outcomes == outcome]), prefix + name, totals, pairs.delay_ns)
    heads = pairs.first[~pairs.is_ack[pairs.first]]
    ends = np.sort(pairs.end_ns[heads])
    at_ns, values = totals.of("radio_frames")
    fewest = np.searchsorted(ends, at_ns - pairs.delay_ns)
    if (wrong := values < fewest).any():
        at = int(wrong.argmax())
        yield (
            f"frames: {fewest[at]} frames with rows had ended by {at_ns[at] / SECOND:g} s, but the sample of"
            f" radio_frames counts {values[at]:g}"
        )


def _falls_out(ends: np.ndarray, quantity: str, totals: Totals, delay_ns: int) -> Iterator[str]:
    at_ns, values = totals.since_begin(quantity)
    fewest = np.searchsorted(ends, at_ns - delay_ns)
    most = np.searchsorted(ends, at_ns, "right")
    if (wrong := (values < fewest) | (values > most)).any():
        at = int(wrong.argmax())
        yield (
            f"frames: {most[at]} rows that {quantity} counts had ended by {at_ns[at] / SECOND:g} s, but the sample"
            f" counts {values[at]:g}"
        )


class UnrecordedFrames:
    """Frames without a row: those that have no receiver."""

    def __init__(self, pairs: Pairs, totals: Totals, counters: dict[str, Any]) -> None:
        heads = pairs.first
        self._acks = counters["radio"]["mac_acks"] - int(pairs.is_ack[heads].sum())
        ends = np.sort(pairs.end_ns[heads[~pairs.is_ack[heads]]])
        self._at_ns, values = totals.of("radio_frames")
        self._fewest = values - np.searchsorted(ends, self._at_ns, "right")
        self._most = values - np.searchsorted(ends, self._at_ns - pairs.delay_ns)

    def may_end_between(self, since_ns: int, until_ns: int | None) -> bool:
        """Whether any of them could have ended then; None: at any time after that."""
        if self._acks > 0 or not len(self._at_ns):
            return True
        before = int(np.searchsorted(self._at_ns, since_ns)) - 1
        after = len(self._at_ns) - 1
        if until_ns is not None:
            after = min(after, int(np.searchsorted(self._at_ns, until_ns)))
        known = 0 if before < 0 else float(self._fewest[before])
        return float(self._most[after]) > known
