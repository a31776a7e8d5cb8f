"""Draw the legend of a space-time diagram, which explains only what the picture contains.

Source    ours: docs/guide/pictures.md
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from ..style import COLOURS, QUIET

HANDOFF, APPLICATION, ACKNOWLEDGEMENT, WIRED, LOST = COLOURS[3], COLOURS[0], COLOURS[7], COLOURS[2], "#A8327A"
BROADCAST, DOWN = "#F0E442", "#BBBBBB"
ARROWS: tuple[tuple[str, Any, str], ...] = (
    (HANDOFF, "-", "control, radio"), (HANDOFF, "--", "control, wired"),
    (APPLICATION, "-", "application message, radio"), (APPLICATION, "--", "application message for one host, wired"),
    (WIRED, "--", "application message, wired"),
    (ACKNOWLEDGEMENT, "-", "acknowledgement"), (ACKNOWLEDGEMENT, "--", "acknowledgement, wired"),
)  # fmt: skip

MARKS = {  # The mark of a lost message for each reception outcome in mobilenet/network/radio/frame.py.
    "collision": "x", "never_attempted": "+", "preamble_missed": "1", "half_duplex": "2", "random": "X",
    "bit_errors": "P", "receiver_down": "s", "out_of_range": "D", "link_cut": "|",
}  # fmt: skip


def mark(outcome: str) -> str:
    return MARKS.get(outcome, "o")


def legend(
    figure: Any, styles: set[tuple[str, str]], outcomes: pd.Series, happened: set[str], bands: set[str], y: float
) -> Any:
    """Draw the legend. `styles` contains colours and line styles of arrows, `happened` can contain "deliver" and
    "broadcast", and `bands` can contain "session", "handoff", "down" and "not a member".
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Line2D([], [], color=colour, linestyle=line, label=text)
        for colour, line, text in ARROWS
        if (colour, line) in styles
    ]
    lost = sorted({outcome for outcome in outcomes if outcome != "received"})
    handles += [
        Line2D([], [], color=LOST, marker=mark(outcome), label=f"lost: {outcome.replace('_', ' ')}") for outcome in lost
    ]
    if "broadcast" in happened:
        handles.append(
            Line2D(
                [],
                [],
                color=BROADCAST,
                marker="*",
                markersize=10,
                markeredgecolor="#000000",
                markeredgewidth=0.6,
                linestyle="none",
                label="broadcast",
            )
        )
    if "deliver" in happened:
        handles.append(Line2D([], [], color="#000000", marker="o", markersize=5, linestyle="none", label="delivery"))
    if "session" in bands:
        handles.append(Patch(facecolor=QUIET, alpha=0.35, label="session, colour of its station"))
    if "handoff" in bands:
        handles.append(
            Patch(facecolor="none", edgecolor=QUIET, hatch="////", linewidth=0, label="session not confirmed yet")
        )
    for band in ("down", "not a member"):
        if band in bands:
            handles.append(Patch(facecolor=DOWN, label=band))
    columns = min(6, -(-len(handles) // 2)) if len(handles) > 6 else max(1, len(handles))
    return figure.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, y),
        ncols=columns,
        fontsize=8,
        frameon=False,
        borderaxespad=0,
    )
