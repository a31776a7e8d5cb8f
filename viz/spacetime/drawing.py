"""One window of a run as a picture: time from left to right, a line for each node, an arrow for each message.

Model     radio messages are solid, wired ones dashed; what got lost breaks off half-way with a cross, and says why in the
          legend. Sessions are bands on the host's line: hatched while they are being set up, filled once confirmed.
          Dots are deliveries, the name of the message beside them.
          Every arrow bears the identifier `message-N` in the SVG, N its row in messages.parquet
Units     milliseconds from the beginning of the window on the axis; its simulated time in the caption
Source    after Figure 5 of Wilhelm, Arantes, Sens (2020); the layout is ours: DESIGN.md §19
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from viz.spacetime.window import SECOND, Window, nodes_of, shown_messages
from viz.style import COLOURS

HANDOFF, APPLICATION, ACKNOWLEDGEMENT, WIRED, LOST = COLOURS[3], COLOURS[0], COLOURS[7], COLOURS[2], COLOURS[5]
BAND = ("#56B4E9", "#E69F00", "#CC79A7", "#009E73")
MOST_LABELS = 60
LINE_INCHES = 0.95


def draw(messages: pd.DataFrame, events: pd.DataFrame, window: Window, target: Path, name: str) -> list[int]:
    """Write the picture as SVG, PNG or PDF, by the target's suffix. The rows of `messages` that are its arrows."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = shown_messages(messages, events, window)
    nodes = nodes_of(shown, window, events)
    levels = {node: -number for number, node in enumerate(nodes)}
    with pyplot.rc_context({"svg.fonttype": "none"}):
        figure, axes = pyplot.subplots(figsize=(13, 1.9 + LINE_INCHES * len(nodes)), layout="constrained")
        _frame(axes, nodes, levels, window)
        _sessions(axes, events, levels, window)
        _arrows(axes, shown, levels, window)
        _deliveries(axes, events, levels, window)
        _legend(axes, shown)
        figure.suptitle(window.title, fontsize=12, x=0.01, ha="left", fontweight="bold")
        axes.set_xlabel(
            f"milliseconds after {window.begin_ns / SECOND:.6f} s of simulated time    ({name}, {len(shown)} messages, n = 1 run)"
        )
        figure.savefig(target, dpi=110)
        pyplot.close(figure)
    return [int(row) for row in shown.index]


def _ms(time_ns: float, window: Window) -> float:
    return (time_ns - window.begin_ns) / 1e6


def _frame(axes: Any, nodes: list[str], levels: dict[str, int], window: Window) -> None:
    width = _ms(window.end_ns, window)
    for node in nodes:
        own = node == window.host
        axes.plot([0, width], [levels[node]] * 2, color="#000000" if own else "#555555", linewidth=1.8 if own else 1.0, zorder=1)
    axes.set(xlim=(0, width), ylim=(-len(nodes) + 0.35, 0.65), yticks=list(levels.values()))
    axes.set_yticklabels(nodes, fontsize=11)
    for label in axes.get_yticklabels():
        label.set_fontweight("bold" if label.get_text() == window.host else "normal")
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _sessions(axes: Any, events: pd.DataFrame, levels: dict[str, int], window: Window) -> None:
    """Bands: from the beginning of a session to its confirmation, and from there to the beginning of the next one."""
    own = events[(events.node == window.host) & events.event.isin(["join", "handoff_start", "handoff_end", "crash", "leave"])]
    level = levels[window.host]
    stations = {row.session: row.station for row in own[own.event != "handoff_end"].itertuples()}
    rows = list(own.itertuples())
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        begin, end = row.time_ns, window.end_ns if following is None else following.time_ns
        if end < window.begin_ns or begin > window.end_ns:
            continue
        left, right = _ms(max(begin, window.begin_ns), window), _ms(min(end, window.end_ns), window)
        if row.event in ("crash", "leave"):
            axes.fill_between([left, right], level - 0.16, level + 0.16, color="#BBBBBB", linewidth=0, zorder=0)
            text = "down" if row.event == "crash" else "no member"
        else:
            colour = BAND[int(row.session) % len(BAND)]
            opening = row.event == "handoff_start"
            style = {"facecolor": "none", "edgecolor": colour, "hatch": "////", "linewidth": 0} if opening else {"facecolor": colour, "alpha": 0.35, "linewidth": 0}
            axes.fill_between([left, right], level - 0.16, level + 0.16, zorder=0, **style)
            station = stations.get(row.session)
            at = f" at {station}" if isinstance(station, str) else ""
            text = f"session {int(row.session)}{at}" + (": handoff" if opening else "")
        if right - left > 0.07 * _ms(window.end_ns, window):
            axes.text((left + right) / 2, level + 0.2, text, ha="center", va="bottom", fontsize=8, color="#333333",
                      bbox={"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.75})  # fmt: skip


def _style(row: Any) -> tuple[str, str]:
    """Colour and line style of an arrow."""
    line = "--" if row.medium == "wired" else "-"
    if row.fate != "received":
        return LOST, line
    if row.kind.startswith("Ack") or row.kind == "TcpAck":
        return ACKNOWLEDGEMENT, line
    carries = isinstance(row.message, str) or (row.kind == "TcpData" and isinstance(row.detail, str) and "App" in row.detail)
    if carries and not isinstance(row.host, str):
        return (WIRED if row.medium == "wired" else APPLICATION), line
    return (APPLICATION if carries else HANDOFF), line


def _arrows(axes: Any, shown: pd.DataFrame, levels: dict[str, int], window: Window) -> None:
    placed: list[tuple[float, float]] = []
    labelled = sum(_style(row)[0] in (HANDOFF, LOST, APPLICATION) for row in shown.itertuples()) <= MOST_LABELS
    width = _ms(window.end_ns, window)
    for row in shown.itertuples():
        colour, line = _style(row)
        x, y = _ms(row.send_ns, window), levels[row.sender]
        reaches = row.fate == "received"
        x2 = _ms(row.receive_ns, window) if reaches else x + 0.004 * width
        y2 = levels[row.receiver] if reaches else y + 0.5 * (levels[row.receiver] - y)
        arrow = axes.annotate(
            "", xy=(x2, y2), xytext=(x, y), annotation_clip=False, zorder=3,
            arrowprops={"arrowstyle": "-|>" if reaches else "-", "color": colour, "linestyle": line, "linewidth": 1.1,
                        "shrinkA": 0, "shrinkB": 0, "mutation_scale": 9},
        )  # fmt: skip
        arrow.arrow_patch.set_gid(f"message-{row.Index}")
        arrow.arrow_patch.set_clip_path(axes.patch)
        if not reaches:
            axes.plot([x2], [y2], "x", color=colour, markersize=6, zorder=4)
        if colour == HANDOFF or labelled and colour in (LOST, APPLICATION):  # too many say nothing
            along = 0.28 if row.medium == "wired" else 0.5  # beside the host's line, which wired messages cross
            beside = 0.006 * width if not reaches else 0.0  # the cross stays free
            _label(axes, row, x + along * (x2 - x) + beside, y + along * (y2 - y), colour, placed, width)


def _label(axes: Any, row: Any, x: float, y: float, colour: str, placed: list[tuple[float, float]], width: float) -> None:
    """The kind of message, and what it carries, where nothing else is written yet."""
    if not 0 <= x <= width:
        return
    text = f"{row.kind} {row.message}" if isinstance(row.message, str) else row.kind
    for shift in (0, 0.14, -0.14, 0.27, -0.27, 0.4, -0.4):
        if all(abs(x - other) > 0.05 * width or abs(y + shift - above) > 0.12 for other, above in placed):
            placed.append((x, y + shift))
            axes.text(x, y + shift, text, fontsize=7.5, color=colour, ha="left", va="center", zorder=5,
                      bbox={"boxstyle": "round,pad=0.08", "facecolor": "white", "edgecolor": "none", "alpha": 0.8})  # fmt: skip
            return


def _deliveries(axes: Any, events: pd.DataFrame, levels: dict[str, int], window: Window) -> None:
    inside = events[events.time_ns.between(window.begin_ns, window.end_ns)]
    own = inside[(inside.node == window.host) & inside.event.isin(["deliver", "broadcast"])]
    level = levels[window.host]
    last, row_of_text = -1e9, 0
    width = _ms(window.end_ns, window)
    for row in own.itertuples():
        x = _ms(row.time_ns, window)
        mark = "o" if row.event == "deliver" else "*"
        axes.plot([x], [level], mark, color="#000000", markersize=5 if mark == "o" else 9, zorder=6)
        row_of_text = row_of_text + 1 if x - last < 0.035 * width else 0
        if row_of_text < 3:
            axes.text(x, level - 0.22 - 0.12 * row_of_text, row.message, fontsize=7, ha="center", va="top", zorder=6)
        last = x


def _legend(axes: Any, shown: pd.DataFrame) -> None:
    from matplotlib.lines import Line2D

    entries: list[tuple[str, Any, str]] = [
        (HANDOFF, "-", "control, radio"), (HANDOFF, "--", "control, wired"),
        (APPLICATION, "-", "application message, radio"), (WIRED, "--", "application message, wired"),
        (ACKNOWLEDGEMENT, "-", "acknowledgement"),
    ]  # fmt: skip
    used = {_style(row) for row in shown.itertuples()}
    handles = [Line2D([], [], color=colour, linestyle=line, label=text) for colour, line, text in entries if (colour, line) in used]
    fates = [fate.replace("_", " ") for fate in dict.fromkeys(shown.fate) if fate != "received"]
    if fates:
        handles.append(Line2D([], [], color=LOST, marker="x", label=f"lost: {', '.join(fates)}"))
    handles.append(Line2D([], [], color="#000000", marker="o", linestyle="none", label="delivery"))
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.28 / max(1, len(axes.get_yticks()) * 0.35)),
                ncols=min(7, len(handles)), fontsize=8, frameon=False)  # fmt: skip
