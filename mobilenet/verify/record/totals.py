"""Whether the network's running totals can be what was counted, at each moment at which they were sampled.

Checks    no total ever falls
          all are sampled at the same moments: at both ends of the window, at the end of the run, and each second
          between (an adversary's only at the end). What only begins to be counted when it happens for the first time
          is sampled from then on
          at each moment no more addressed pairs than pairs, and as many bytes as control information and payload (in
          records of older versions, also of MAC ACKs)
          from each moment to the next at least as many frames as acknowledgements and copies of messages, and bytes
          enough for that many frames
          a protocol whose frames carry one message each has received a pair for each delivery at another host
Units     integer nanoseconds; frames, pairs, bytes
Source    ours: docs/run-directory.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.expected.expectations import Expectations
from mobilenet.rundir.table import Columns, Table
from mobilenet.verify.record.conservation import MAC_ACK_BYTES

NETWORK = "network"
Series = dict[str, list[tuple[int, float]]]
BEGINS_LATE = (
    "radio_mac_", "radio_group_retries", "wired_lost", "ack_pairs_", "addressed_ack_pairs_",
)  # fmt: skip


def totals_problem(
    events: Columns, samples: Columns, manifest: dict[str, Any], expected: Expectations | None
) -> str | None:
    """The first total that cannot be."""
    problem = falling_problem(samples)
    if problem is not None:
        return problem
    series = _series(samples)
    contradiction = _moments_problem(series, manifest) or _sums_problem(series)
    if contradiction is None and expected is not None and expected.hosts is not None:
        contradiction = _steps_problem(series, expected) or _deliveries_problem(events, series, expected)
    return contradiction


def falling_problem(samples: Columns) -> str | None:
    """The first total that is lower than before."""
    for quantity, own in _series(samples).items():
        for (_, before), (time, value) in pairwise(own):
            if value < before:
                return f"samples: {quantity} falls at {time / SECOND:g} s, from {before:.15g} to {value:.15g}"
    return None


def _series(samples: Columns) -> Series:
    """For each of the network's quantities, when it was sampled, and its value then."""
    series: Series = {}
    table = Table.of(samples)
    rows = table.column("node").rows(NETWORK)
    columns = (table.pick(name, rows) for name in ("time_ns", "quantity", "value"))
    for time, quantity, value in zip(*columns, strict=True):
        series.setdefault(quantity, []).append((time, value))
    return series


def _moments_problem(series: dict[str, list[tuple[int, float]]], manifest: dict[str, Any]) -> str | None:
    moments = {quantity: [time for time, _ in own] for quantity, own in series.items()}
    most = max(moments.values(), key=len, default=[])
    for quantity, own in moments.items():
        if own != (most[len(most) - len(own) :] if quantity.startswith(BEGINS_LATE) else most):
            missing = min(set(most) ^ set(own), default=own[0])
            return (
                f"samples: {quantity} and other totals of the network are not sampled at the same moments, for"
                f" example at {missing / SECOND:g} s"
            )
    if not series or manifest["promises"]["duplicating_air"] or "warmup_s" not in manifest:
        return None
    end_ns = round(manifest["duration_s"] * SECOND)
    due_moments = {round(manifest["warmup_s"] * SECOND), end_ns, *range(0, end_ns, SECOND)}
    absent = due_moments - set(most)
    return f"samples: the totals of the network were not sampled at {min(absent) / SECOND:g} s" if absent else None


def _sums_problem(series: dict[str, list[tuple[int, float]]]) -> str | None:
    for quantity, own in series.items():
        pairs = series.get(quantity.removeprefix("addressed_"))
        if pairs is not None and pairs is not own:
            for (time, addressed), (_, of_all) in zip(own, pairs, strict=True):
                if addressed > of_all:
                    return (
                        f"samples: at {time / SECOND:g} s {quantity} is {addressed:g}, but there are {of_all:g} pairs"
                    )
    parts = [series.get(f"radio_{name}") for name in ("bytes", "control_bytes", "payload_bytes")]
    if None not in parts:
        for (time, size), (_, control), (_, payload) in zip(*parts, strict=True):
            rest = size - control - payload
            if rest < 0 or (rest if "radio_mac_acks" in series else rest % MAC_ACK_BYTES):
                return (
                    f"samples: at {time / SECOND:g} s, radio_bytes is {size:.15g}, but there are {control:.15g} control"
                    f" bytes and {payload:.15g} payload bytes"
                )
    acks = dict(series.get("radio_mac_acks", ()))
    for time, size in series.get("radio_mac_ack_bytes", ()):
        if size != MAC_ACK_BYTES * acks.get(time, 0.0):
            have = f"but there are {acks.get(time, 0.0):g} MAC ACKs"
            return f"samples: at {time / SECOND:g} s, radio_mac_ack_bytes is {size:.15g}, {have}"
    return None


def _steps_problem(series: dict[str, list[tuple[int, float]]], expected: Expectations) -> str | None:
    names = ("radio_frames", "radio_acknowledgements", "radio_payload_bytes", "radio_bytes")
    for before, after in pairwise(zip(*(series.get(name, ()) for name in names), strict=True)):
        frames, acknowledgements, payload, size = (b[1] - a[1] for a, b in zip(before, after, strict=True))
        carrying = payload / expected.payload_bytes if expected.payload_bytes else 0.0
        span = f"samples: from {before[0][0] / SECOND:g} to {after[0][0] / SECOND:g} s"
        if frames < acknowledgements + carrying:
            return (
                f"{span}, radio_frames rises by only {frames:g}, although acknowledgements account for"
                f" {acknowledgements:g} and messages for {carrying:g}"
            )
        if size < frames * expected.least_frame_bytes:
            return (
                f"{span}, radio_bytes rises by {size:.15g}, which is too little for {frames:g} frames of at least"
                f" {expected.least_frame_bytes} bytes"
            )
    return _airtime_problem(series, expected)


def _airtime_problem(series: dict[str, list[tuple[int, float]]], expected: Expectations) -> str | None:
    """The bytes in the air take at least the time that the highest rate gives them."""
    airtimes, air = series.get("radio_airtime_ns"), expected.air
    if airtimes is None or air is None:
        return None
    ack_bytes = dict(series.get("radio_mac_ack_bytes", ()))
    bit_ns = min(rate.step_ns * rate.numerator / rate.denominator for rate in (air.broadcast, air.unicast))
    for (time, airtime_ns), (_, size) in zip(airtimes, series["radio_bytes"], strict=True):
        size += ack_bytes.get(time, 0.0)
        least = 8 * size * bit_ns
        if airtime_ns < least:
            return (
                f"samples: at {time / SECOND:g} s, radio_airtime_ns is {airtime_ns:.15g}, but {size:.15g} bytes"
                f" take at least {least:.15g} ns"
            )
    return None


def _deliveries_problem(
    events: Columns, series: dict[str, list[tuple[int, float]]], expected: Expectations
) -> str | None:
    """Each delivery of another host's message took a frame of its own."""
    if expected.payload_bytes is None or "pairs_received" not in series:
        return None
    table = Table.of(events)
    node, message = table.column("node"), table.column("message")
    numbers = {name: number for number, name in enumerate(node.words)}
    senders = message.map([numbers.get(name.rpartition(":")[0], -2) for name in message.words], nothing=-2)
    others = (senders != node.codes) & table.column("event").among(("deliver",))
    others_ns = table.numbers("time_ns")[others]
    for time, received in series["pairs_received"]:
        delivered = int(np.searchsorted(others_ns, time))
        if received < delivered:
            return (
                f"samples: {received:g} pairs_received by {time / SECOND:g} s, but by then {delivered} messages of"
                " other hosts had been delivered"
            )
    return None
