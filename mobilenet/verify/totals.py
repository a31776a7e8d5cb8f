"""Whether the network's running totals can be what was counted, at each moment at which they were sampled.

Checks    no total ever falls
          all are sampled at the same moments: at both ends of the window, at the end of the run, and each second
          between (an adversary's only at the end). What only begins to be counted when it happens for the first time
          is sampled from then on at each moment no more addressed pairs than pairs, and as many bytes as control
          information, payload and MAC ACKs
Units     integer nanoseconds; frames, pairs, bytes
Source    ours: docs/run-directory.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from typing import Any

from mobilenet.rundir.table import Columns
from mobilenet.verify.conservation import MAC_ACK_BYTES

SECOND = 1_000_000_000
NETWORK = "network"
BEGINS_LATE = ("radio_mac_retries", "wired_lost")


def totals_problem(samples: Columns, manifest: dict[str, Any]) -> str | None:
    """The first total that cannot be."""
    series: dict[str, list[tuple[int, float]]] = {}
    columns = (samples[name] for name in ("time_ns", "node", "quantity", "value"))
    for time, node, quantity, value in zip(*columns, strict=True):
        if node == NETWORK:
            own = series.setdefault(quantity, [])
            if own and value < own[-1][1]:
                return f"samples: {quantity} falls at {time / SECOND:g} s, from {own[-1][1]:.15g} to {value:.15g}"
            own.append((time, value))
    return _moments_problem(series, manifest) or _sums_problem(series)


def _moments_problem(series: dict[str, list[tuple[int, float]]], manifest: dict[str, Any]) -> str | None:
    moments = {quantity: [time for time, _ in own] for quantity, own in series.items()}
    most = max(moments.values(), key=len, default=[])
    for quantity, own in moments.items():
        if own != (most[len(most) - len(own) :] if quantity in BEGINS_LATE else most):
            missing = min(set(most) ^ set(own), default=own[0])
            return (
                f"samples: {quantity} and other totals of the network are not sampled at the same moments, as at"
                f" {missing / SECOND:g} s"
            )
    if not series or manifest["promises"]["duplicating_air"] or "warmup_s" not in manifest:
        return None
    end_ns = round(manifest["duration_s"] * SECOND)
    wanted = {round(manifest["warmup_s"] * SECOND), end_ns, *range(0, end_ns, SECOND)}
    absent = wanted - set(most)
    return f"samples: the totals of the network were not sampled at {min(absent) / SECOND:g} s" if absent else None


def _sums_problem(series: dict[str, list[tuple[int, float]]]) -> str | None:
    for quantity, own in series.items():
        pairs = series.get(quantity.removeprefix("addressed_"))
        if pairs is not None and pairs is not own:
            for (time, addressed), (_, of_all) in zip(own, pairs, strict=True):
                if addressed > of_all:
                    return f"samples: at {time / SECOND:g} s {quantity} is {addressed:g}, of {of_all:g} pairs"
    parts = [series.get(f"radio_{name}") for name in ("bytes", "control_bytes", "payload_bytes")]
    if None not in parts:
        for (time, size), (_, control), (_, payload) in zip(*parts, strict=True):  # type: ignore[arg-type]
            rest = size - control - payload
            if rest < 0 or rest % MAC_ACK_BYTES:
                return (
                    f"samples: at {time / SECOND:g} s {size:.15g} radio_bytes, of which {control:.15g} are control and"
                    f" {payload:.15g} payload"
                )
    return None
