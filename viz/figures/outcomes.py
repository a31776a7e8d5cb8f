"""Draw why frames were lost, as the share of each reason.

Model     A reception is a pair of a frame and a node that the frame can reach. With unit_disk, this is a node in range;
          with sinr, a node that would detect the preamble on a silent medium. If frames were recorded, the rows of
          frames.parquet are counted, with a bar for each kind of sender. Otherwise, the bars show the network's running
          totals: one for all receptions, and one for frames addressed to the node. These totals do not distinguish
          senders, and do not include ACKs of the MAC.
Units     shares
Source    ours: docs/guide/pictures.md
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from mobilenet.record.table import Table
from mobilenet.scenario.radio_words import Radio

from ..style import COLOURS, QUIET, legend_below, thousands
from .frames import SENDERS

REASONS = {  # outcome -> (description, colour)
    "collision": ("overlapped by another frame", COLOURS[3]),
    "never_attempted": ("receiver was busy with another frame", COLOURS[1]),
    "preamble_missed": ("preamble not detected", COLOURS[5]),
    "bit_errors": ("bit errors without interference", COLOURS[4]),
    "half_duplex": ("receiver was sending", COLOURS[2]),
    "receiver_down": ("receiver was down", COLOURS[7]),
    "random": ("random loss of the scenario", COLOURS[6]),
}
TOTALS = (
    ("pairs_", "all", "all"),
    ("addressed_pairs_", "of frames\nto that node", "at nodes to which the frame is addressed"),
)


class Bar(NamedTuple):
    """The receptions of one kind, with their names on the axis and in the caption, and the number of each outcome."""

    name: str
    words: str
    counts: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def has_outcomes(frames: Table | None, samples: pd.DataFrame) -> bool:
    return frames is not None or any(bar.total for bar in _of_totals(samples))


def outcomes(axes: Any, frames: Table | None, samples: pd.DataFrame, radio: type[Radio]) -> str:
    """Draw two bars with the share of each reason for a loss. Return a note."""
    bars = _of_totals(samples) if frames is None else _of_senders(frames)
    places = list(range(len(bars)))[::-1]
    left = np.zeros(len(bars))
    for outcome in dict.fromkeys((*REASONS, *(outcome for bar in bars for outcome in bar.counts))):
        shares = [100 * bar.counts.get(outcome, 0) / max(1, bar.total) for bar in bars]
        if outcome == "received" or not any(shares):
            continue
        words, colour = REASONS.get(outcome, (outcome.replace("_", " "), QUIET))
        axes.barh(places, shares, left=left, height=0.55, color=colour, label=words, edgecolor="white", linewidth=0.6)
        left += shares
    axes.set_yticks(places, [bar.name for bar in bars])
    axes.set(xlabel="lost (% of receptions)", ylim=(-0.6, 1.6), xlim=(0, max(float(left.max()) * 1.05, 0.1)))
    if left.any():
        legend_below(axes, 2)
    totals = "; ".join(
        f"{bar.words} {thousands(bar.total)}, of which {thousands(bar.total - bar.counts.get('received', 0))} lost"
        for bar in bars
    )
    return f"A reception is a frame at one node {radio.receivers}: {totals}. Whole run.{_missing(frames, radio)}"


def _of_senders(frames: Table) -> list[Bar]:
    sender, outcome = frames.column("sender"), frames.column("fate")
    bars = []
    for kind, words in SENDERS:
        own = outcome.codes[sender.among([word for word in sender.words if word[:1] == kind])]
        counts = np.bincount(own, minlength=len(outcome.words)).tolist()
        bars.append(Bar(f"from {words}", f"from {words}", dict(zip(outcome.words, counts, strict=True))))
    return bars


def _of_totals(samples: pd.DataFrame) -> list[Bar]:
    network = samples[samples.node == "network"]
    bars = []
    for prefix, name, words in TOTALS:
        own = network[network.quantity.str.startswith(prefix)]
        # The quantities are running totals, so the maximum is the last value.
        last = own[np.isfinite(own.value)].groupby("quantity").value.max()
        bars.append(Bar(name, words, {str(key).removeprefix(prefix): int(value) for key, value in last.items()}))
    return bars


def _missing(frames: Table | None, radio: type[Radio]) -> str:
    """Return what the figure would also show if the run had recorded its frames."""
    if frames is not None:
        return ""
    cards = "; on the map, the power and SINR of each host's last frame" if not radio.by_distance else ""
    return f" With record.frames=true also: losses by kind of sender, receptions over distance{cards}."
