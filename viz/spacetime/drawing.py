"""Draw a window of a run, with time from left to right, a line for each node, and an arrow for each message.

Model     Radio messages are solid and wired ones dashed. The arrow of a lost message ends half-way, with the mark of
          its outcome, which the legend names and the line below explains. Sessions are bands on the host's line in the
          colour of their station, hatched until they are confirmed. Dots are deliveries and stars broadcasts, with the
          name of the message. Labels never overlap (labels.py); messages of one kind that take the same path at nearly
          the same time share a label. Every arrow has the SVG identifier `message-N`, where N is its row in
          messages.parquet.
Units     The axis has milliseconds from the beginning of the window, whose simulated time is in the caption
Source    after Figure 5 of Wilhelm, Arantes, Sens (2020); the layout is ours: docs/guide/pictures.md
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import pandas as pd

from mobilenet.engine.clock import SECOND
from mobilenet.quoting import pluralize

from ..style import QUIET, cut, page, plain, save, station_colour
from .labels import Labels
from .legend import ACKNOWLEDGEMENT, APPLICATION, BROADCAST, DOWN, HANDOFF, LOST, WIRED, legend, mark
from .window import Window, messages_to_show, nodes_of
from .words import RECEIVED, legend_lines

MOST_LABELS = 60
MANY_ARROWS = 150
MOST_NAMES = 4  # the maximum number of names in one label
LINE_INCHES = 0.95
WIDTH_INCHES = 13.0
BAND = 0.16  # half the height of a band, in units of lanes


def draw(
    messages: pd.DataFrame,
    events: pd.DataFrame,
    window: Window,
    target: Path,
    name: str,
    called: dict[str, str] | None = None,
) -> list[int]:
    """Write the picture as SVG, PNG or PDF, according to the suffix of the target. Return the rows of `messages` that
    have an arrow. `called` contains the names of nodes in the scenario.
    """
    drawn_messages = messages_to_show(messages, events, window)
    with page(WIDTH_INCHES, 4, layout="none") as (figure, axes):
        compose(figure, axes, drawn_messages, events, window, name, called or {})
        save(figure, target)
    return [int(row) for row in drawn_messages.index]


def compose(
    figure: Any, axes: Any, rows: pd.DataFrame, events: pd.DataFrame, window: Window, name: str, called: dict[str, str]
) -> Labels:
    nodes = nodes_of(rows, window, events)
    levels = {node: -number for number, node in enumerate(nodes)}
    notes = [line for entry in legend_lines(rows.kind, rows.fate) for line in textwrap.wrap(entry, 215)]
    if (rows.fate == "received").any():
        notes.append(RECEIVED)
    above, lanes, below = 0.6, LINE_INCHES * len(nodes), 1.35 + 0.17 * len(notes)
    high = above + lanes + below
    figure.set_size_inches(WIDTH_INCHES, high)
    names = {node: cut(called[node], 16) for node in nodes if called.get(node)}
    left = 0.5 if not names else 0.65 + 0.085 * max(map(len, names.values()))
    figure.subplots_adjust(
        left=left / WIDTH_INCHES, right=1 - 0.2 / WIDTH_INCHES, top=1 - above / high, bottom=below / high
    )
    _frame(axes, nodes, levels, window, names)
    figure.canvas.draw()  # This fixes the positions of labels.
    labels = Labels(axes)
    width = _ms(window.end_ns, window)
    for node, level in levels.items():
        half = BAND + 0.02 if node == window.host else 0.02
        labels.keep_free(0, level - half, width, level + half)
    bands = _sessions(axes, events, levels, window, labels)
    happened = _deliveries(axes, events, levels, window, labels)
    too_many = _arrows(axes, rows, levels, window, labels)
    if too_many:
        notes.append(f"Too many to label: {too_many} application messages and losses.")
    if labels.left_out:
        notes.append(f"{pluralize(labels.left_out, 'label')} did not fit.")
    own = re.compile(rf"\b{re.escape(window.host)}\b(?!:\d)")
    in_full = f"{window.host} ({called[window.host]})" if called.get(window.host) else window.host
    figure.text(
        0.1 / WIDTH_INCHES,
        1 - 0.12 / high,
        plain(own.sub(lambda _: in_full, window.title, count=1)),
        fontsize=12,
        fontweight="bold",
        ha="left",
        va="top",
    )
    axes.set_xlabel(
        f"milliseconds after {window.begin_ns / SECOND:.6f} s of simulated time    "
        f"({plain(name)}, {pluralize(len(rows), 'message')}, n = 1 run)"
    )
    legend(figure, {_style(row) for row in rows.itertuples()}, rows.fate, happened, bands, y=(below - 0.58) / high)
    if notes:
        figure.text(
            0.1 / WIDTH_INCHES,
            0.06 / high,
            "\n".join(notes),
            fontsize=8,
            color=QUIET,
            ha="left",
            va="bottom",
            linespacing=1.25,
        )
    return labels


def _ms(time_ns: float, window: Window) -> float:
    return (time_ns - window.begin_ns) / 1e6


def _frame(axes: Any, nodes: list[str], levels: dict[str, int], window: Window, names: dict[str, str]) -> None:
    width = _ms(window.end_ns, window)
    for node in nodes:
        own = node == window.host
        axes.plot(
            [0, width],
            [levels[node]] * 2,
            color="#000000" if own else "#555555",
            linewidth=1.8 if own else 1.0,
            zorder=1,
        )
    axes.set(xlim=(0, width), ylim=(-len(nodes) + 0.35, 0.65), yticks=list(levels.values()))
    axes.set_yticklabels(
        [f"{node} {plain(names[node])}" if node in names else node for node in nodes], fontsize=10 if names else 11
    )
    for node, label in zip(nodes, axes.get_yticklabels(), strict=True):
        label.set_fontweight("bold" if node == window.host else "normal")
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _sessions(axes: Any, events: pd.DataFrame, levels: dict[str, int], window: Window, labels: Labels) -> set[str]:
    """Draw a band for each unconfirmed session, each confirmed session, and each period in which the host is down or
    not a member. Return the kinds of bands.
    """
    kinds = set()
    changes = ("join", "handoff_start", "handoff_end", "crash", "recover", "leave")
    own = events[(events.node == window.host) & events.event.isin(changes)]
    level = levels[window.host]
    stations = {row.session: row.station for row in own[own.event != "handoff_end"].itertuples()}
    rows = list(own.itertuples())
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        begin, end = row.time_ns, window.end_ns if following is None else following.time_ns
        if end < window.begin_ns or begin > window.end_ns or row.event == "recover":
            continue
        left, right = _ms(max(begin, window.begin_ns), window), _ms(min(end, window.end_ns), window)
        if row.event in ("crash", "leave"):
            axes.fill_between([left, right], level - BAND, level + BAND, color=DOWN, linewidth=0, zorder=0)
            text = kind = "down" if row.event == "crash" else "not a member"
        else:
            station = stations.get(row.session)
            colour = station_colour(int(station[1:])) if isinstance(station, str) and station[1:].isdecimal() else QUIET
            opening = row.event == "handoff_start"
            kind = "handoff" if opening else "session"
            style = (
                {"facecolor": "none", "edgecolor": colour, "hatch": "////", "linewidth": 0}
                if opening
                else {"facecolor": colour, "alpha": 0.35, "linewidth": 0}
            )
            axes.fill_between([left, right], level - BAND, level + BAND, zorder=0, **style)
            at = f" at {station}" if isinstance(station, str) else ""
            text = f"session {int(row.session)}{at}" + (": handoff" if opening else "")
        kinds.add(kind)
        if right - left > 0.02 * _ms(window.end_ns, window):
            middle, top = (left + right) / 2, level + BAND + 0.04
            labels.write(
                text,
                (
                    (middle, top, "center", "bottom"),
                    (left, top, "left", "bottom"),
                    (right, top, "right", "bottom"),
                    (middle, top + 0.17, "center", "bottom"),
                ),
                "#333333",
                8,
            )
    return kinds


def _style(row: Any) -> tuple[str, str]:
    """Return the colour and the line style of an arrow."""
    line = "--" if row.medium == "wired" else "-"
    if row.fate != "received":
        return LOST, line
    if row.kind.startswith(("Ack", "ack")) or row.kind == "TcpAck":
        return ACKNOWLEDGEMENT, line
    carries = row.carried or (row.kind == "TcpData" and isinstance(row.detail, str) and "App" in row.detail)
    if carries and not isinstance(row.host, str):
        return (WIRED if row.medium == "wired" else APPLICATION), line
    return (APPLICATION if carries else HANDOFF), line


def _arrows(axes: Any, messages: pd.DataFrame, levels: dict[str, int], window: Window, labels: Labels) -> int:
    """Draw all arrows with their labels. Return the number of arrows that are not labelled because there are too
    many.
    """
    width, many = _ms(window.end_ns, window), len(messages) > MANY_ARROWS
    groups: dict[tuple[Any, ...], list[tuple[Any, float, float, float, float]]] = {}
    # for each path, the beginning of the latest group of arrows, and the number of that group
    last: dict[tuple[Any, ...], tuple[float, int]] = {}
    for row in messages.itertuples():
        colour, line = _style(row)
        x, y = _ms(row.send_ns, window), levels[row.sender]
        reaches = row.fate == "received"
        x2 = _ms(row.receive_ns, window) if reaches else x + 0.004 * width
        y2 = levels[row.receiver] if reaches else y + 0.5 * (levels[row.receiver] - y)
        arrow = axes.annotate(
            "", xy=(x2, y2), xytext=(x, y), annotation_clip=False, zorder=3,
            arrowprops={"arrowstyle": "-|>" if reaches else "-", "color": colour, "linestyle": line,
            "linewidth": 0.6 if many else 1.1,
                        "shrinkA": 0, "shrinkB": 0, "mutation_scale": 6 if many else 9},
        )  # fmt: skip
        arrow.arrow_patch.set_gid(f"message-{row.Index}")
        arrow.arrow_patch.set_clip_path(axes.patch)
        if not reaches:
            axes.plot([x2], [y2], mark(row.fate), color=colour, markersize=4 if many else 6, zorder=4)
        if colour == ACKNOWLEDGEMENT:
            continue
        way = (row.sender, row.receiver, row.kind, colour, line)
        before, number = last.get(way, (-1e18, -1))
        number += x - before > 0.02 * width
        last[way] = (x, number)
        groups.setdefault((*way, number), []).append((row, x, y, x2, y2))
    rank = (HANDOFF, LOST, APPLICATION, WIRED)
    rest = sum(len(own) for key, own in groups.items() if key[3] != HANDOFF)
    too_many = rest > MOST_LABELS
    for (*_, colour, line, _number), own in sorted(groups.items(), key=lambda item: rank.index(item[0][3])):
        if colour == HANDOFF or not too_many:
            _label([row for row, *_ in own], own[len(own) // 2][1:], line, colour, labels, width)
    return rest if too_many else 0


def _label(
    rows: list[Any], ends: tuple[float, float, float, float], line: str, colour: str, labels: Labels, width: float
) -> None:
    """Write the kind of a message and the broadcasts that it carries. Several messages may share the label."""
    names = list(dict.fromkeys(name for row in rows for name in row.carried))
    text = rows[0].kind
    if names:
        rest = len(names) - MOST_NAMES
        text += " " + ", ".join(names[:MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")
        text = "\n".join(textwrap.wrap(text, 22))
    elif len(rows) > 1:
        text += f" ×{len(rows)}"
    x, y, x2, y2 = ends
    lost = rows[0].fate != "received"
    alongs = (
        (1.0, 0.8, 0.6, 0.4)
        if lost
        else (0.28, 0.4, 0.2, 0.6, 0.72, 0.12)
        if line == "--"
        else (0.5, 0.35, 0.65, 0.22, 0.78, 0.12, 0.88)
    )
    beside = (0.007 if lost else 0.003) * width
    places = []
    for along in alongs:
        px, py = x + along * (x2 - x), y + along * (y2 - y)
        if 0 <= px <= width:
            places += [(px + beside, py, "left", "center"), (px - beside, py, "right", "center")]
    if places:  # Otherwise, the arrow begins before the window.
        labels.write(text, places, colour)


def _deliveries(axes: Any, events: pd.DataFrame, levels: dict[str, int], window: Window, labels: Labels) -> set[str]:
    """Draw dots for deliveries and stars for broadcasts. Lines of other nodes show only messages in the picture. Return
    whether the picture contains "deliver", "broadcast" or both.
    """
    inside = events[
        events.time_ns.between(window.begin_ns, window.end_ns) & events.event.isin(["deliver", "broadcast"])
    ]
    is_relevant = (inside.node == window.host) | inside.message.isin(window.messages)
    width, kinds = _ms(window.end_ns, window), set()
    for node, own in inside[is_relevant & inside.node.isin(list(levels))].groupby("node", sort=False):
        groups: list[tuple[float, list[str]]] = []
        for row in own.itertuples():
            x, star = _ms(row.time_ns, window), row.event == "broadcast"
            kinds.add(row.event)
            axes.plot([x], [levels[str(node)]], "*" if star else "o", color=BROADCAST if star else "#000000",
                markeredgecolor="#000000",
                      markeredgewidth=0.6, markersize=10 if star else 5, zorder=7 if star else 6)  # fmt: skip
            if groups and x - groups[-1][0] < 0.035 * width:
                if row.message not in groups[-1][1]:  # The host delivers its own broadcast at the same time.
                    groups[-1][1].append(row.message)
            else:
                groups.append((x, [row.message]))
        for x, names in groups:
            rest = len(names) - MOST_NAMES
            text = "\n".join(names[:MOST_NAMES]) + (f"\n+{rest} more" if rest > 0 else "")
            level = levels[str(node)] - (BAND + 0.04 if node == window.host else 0.06)
            labels.write(
                text,
                [
                    (x + shift * width, level - down, "center", "top")
                    for down in (0, 0.12, 0.24)
                    for shift in (0, 0.01, -0.01, 0.02, -0.02, 0.03, -0.03)
                ],
                "#000000",
                7,
            )
    return kinds
