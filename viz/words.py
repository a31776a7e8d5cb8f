"""Describe the numbers of runs and studies in the words that reports, tables and axes share.

Model     A metric has a description, and a unit unless it is a count or a share. A metric without a description is
          called by its name, with spaces. Numbers with an interval have the digits that the interval justifies.
Units     s, bytes, t.u. as stated
Source    mobilenet/metrics/registry.py; ours: docs/guide/pictures.md
"""

from __future__ import annotations

import math

from mobilenet.metrics.registry import SIGNED
from mobilenet.quoting import format_number

PROPERTIES = {
    "record": "the files are complete and unchanged, and times are in order",
    "creation": "nothing is delivered that was not broadcast",
    "duplication": "nothing is delivered twice",
    "membership": "only members deliver",
    "causal_order": "no message overtakes one that it depends on",
    "fifo_order": "no message overtakes an earlier one of its sender",
    "gaps": "hosts are notified of missed messages, and only for a reason",
    "delivery": "every member gets what it is entitled to",
    "order": "no message overtakes one that must be delivered before it",
    "completion": "a source is notified once, only of its own broadcasts, and only when they are complete",
    "agreement": "what one correct process delivers, all correct processes deliver",
    "validity": "a correct source's messages are delivered",
    "conservation": "every frame and message sent is accounted for",
    "drained": "at the end, all buffers are empty",
}


INFINITE = "∞: in at least one run, too large a share of the messages never arrived."
NO_MEAN = "A cross marks an unstable configuration: the backlog grows until the end, so no mean exists."


def with_interval(metric: str, mean: float | None, low: float | None, high: float | None) -> tuple[str, str, str]:
    """Return the mean and both ends of its interval, with the digits that the interval justifies. If a metric cannot be
    negative, a negative lower end is written as `< 0`.
    """
    if mean is None or low is None or high is None or not math.isfinite(low) or not math.isfinite(high):
        return format_number(mean), format_number(low), format_number(high)
    half = (high - low) / 2
    if half <= 0:
        return format_number(mean), format_number(low), format_number(high)
    digits = min(12, max(0, 1 - math.floor(math.log10(half))))
    text = [f"{value:,.{digits}f}" for value in (mean, low, high)]
    if low < 0 and metric not in SIGNED:
        text[1] = "< 0"
    return text[0], text[1], text[2]


def probability(p: float | None) -> str:
    return "–" if p is None else "< 0.0001" if p < 0.0001 else f"{p:.2g}"
