"""The style of all figures: colours, axes, and files whose bytes are the same for the same run.

Model     The palette is by Okabe and Ito, and colour-blind people can distinguish its colours. Line styles can be
          distinguished without colours. There is no grid where a band or a line already guides the eye, and every axis
          has its unit.
Source    Okabe, Ito, Color universal design (2008)
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from mobilenet.record.atomic_files import in_place_of, remove_dead
from mobilenet.record.stamp import KEY, stamp
from mobilenet.record.writer import RecordError
from mobilenet.why import kinds

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#000000", "#7A7A7A")
LINES = ("-", "--", "-.", ":")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
# Stations are neither black nor grey, because these colours mean that a host is down or out of reach.
STATIONS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#4B2A7B", "#6E3B1F")
FAULT = "#E69F00"
# The colours of parts of delays: radio blue, losses red, waits orange, TCP violet, wires green, hosts brown.
KIND_COLOURS = {
    kinds.QUEUE: "#56B4E9",
    kinds.CONTENTION: "#B5DDF4",
    kinds.AIR: "#0072B2",
    kinds.LOST: "#C1272D",
    kinds.MAC_RETRY: "#E8998D",
    kinds.RETRY: "#E69F00",
    kinds.TIMER_WAIT: "#F3DB6B",
    kinds.ORDER: "#CC79A7",
    kinds.NAGLE: "#4B2A7B",
    kinds.CONGESTION_WINDOW: "#6B3FA0",
    kinds.RECEIVE_WINDOW: "#3A3F8F",
    kinds.IN_FLIGHT: "#A05FC8",
    kinds.RETRANSMISSION: "#9B1B6E",
    kinds.HANDSHAKE: "#8E6FC0",
    kinds.HEAD_OF_LINE: "#C3B1E1",
    kinds.WIRE_QUEUE: "#00543F",
    kinds.WIRE_TRANSMISSION: "#009E73",
    kinds.WIRE_PROPAGATION: "#8FD9C2",
    kinds.CUT: "#2F4B1F",
    kinds.IMPAIRED_LINK: "#7FBF3F",
    kinds.IMPAIRED_HOST: "#FF7F50",
    kinds.PARTITION: "#A9A9E0",
    kinds.DOWN: "#000000",
    kinds.OFF_AIR: "#4D4D4D",
    kinds.OUT_OF_COVERAGE: "#7A4A21",
    kinds.HANDOFF: "#B07A45",
    kinds.ELSEWHERE: "#DCC3A1",
    kinds.PROGRAM: "#7F8C3B",
    kinds.UNEXPLAINED: "#BBBBBB",
    kinds.OLD_SESSION: "#D9D9D9",
    kinds.DETECTION: "#E377C2",
    kinds.IDLE: "#F0F0F0",
}
QUIET = "#5B6570"  # the colour of lines and words in the background of figures and pages
DOTS_PER_INCH = 300
WIDE_IN = 6.0  # Figures of at least this width have a legend with all columns, panels side by side, and large text.
LETTERS_PER_IN = 12  # how many characters of an axis label fit into an inch
CAPTION_LINE_IN = 0.135
TITLE_LETTERS_PER_IN = 8.5
# the maximum number of ticks at the levels of a factor, and the minimum distance in inches between two of them
MOST_TICKS, LEAST_TICK_IN = 8, 0.3
LEAST_PANEL_IN = 2.0  # the minimum height of one of several panels
BESIDE_PANEL_IN = 0.7  # the width of the tick labels and the axis label next to a panel
LEAST_HEIGHT_IN = 2.4  # In a lower figure, the legend and the axis labels would not leave enough space for the panel.


def in_our_colours(page: str) -> str:
    """Fill in the colours that styles and scripts of pages share with figures."""
    return page.replace("$QUIET", QUIET)


def station_colour(number: int) -> str:
    """Return the colour of station `number`, which is the same in every picture. The eight hues are repeated in a
    darker and then in a lighter shade.
    """
    red, green, blue = (int(STATIONS[number % len(STATIONS)][i : i + 2], 16) for i in (1, 3, 5))
    round_ = number // len(STATIONS) % 3
    toned = [
        round(c * 0.6) if round_ == 1 else round(c + 0.5 * (255 - c)) if round_ == 2 else c for c in (red, green, blue)
    ]
    return "#{:02X}{:02X}{:02X}".format(*toned)


def plain(text: str) -> str:
    """Return an external string without anything that matplotlib reads as a formula, and without characters that change
    the writing direction.
    """
    return "".join(c if c.isprintable() or c in "\n\xa0" else "\N{REPLACEMENT CHARACTER}" for c in text).replace(
        "$", r"\$"
    )


def cut(text: str, most: int) -> str:
    """Return an external string on one line, truncated to this width."""
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return line if len(line) <= most else line[: most - 1] + "…"


def thousands(number: int) -> str:
    """Return a number with thousands separators, such as 106,167."""
    return f"{number:,}"


@contextmanager
def page(
    width_in: float, height_in: float, rows: int = 1, columns: int = 1, **options: Any
) -> Iterator[tuple[Any, Any]]:
    """Yield a figure and its axes while mobilenet's matplotlib settings are active. pyplot does not keep the figure."""
    import matplotlib

    from .canvas import Canvas

    is_wide = width_in >= WIDE_IN
    look: Any = {
        "font.size": 10 if is_wide else 8,
        "legend.fontsize": 8 if is_wide else 7,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "svg.hashsalt": "mobilenet",
        "axes.titlesize": 11 if is_wide else 9,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
    }
    of_figure = {"layout": options.pop("layout", "constrained")}
    with matplotlib.rc_context():
        matplotlib.rcParams.update(_defaults() | look)
        figure = Canvas(figsize=(width_in, height_in), **of_figure)
        yield figure, figure.subplots(rows, columns, **options)


def _defaults() -> Any:
    """Return the default settings of matplotlib, so that a matplotlibrc in the current folder does not change the
    figures.
    """
    import matplotlib

    return {key: value for key, value in matplotlib.rcParamsDefault.items() if not key.startswith("backend")}


class Look(NamedTuple):
    """The options for the appearance of figures."""

    suffixes: tuple[str, ...] = (".svg", ".png")
    captions: bool = True  # whether the figure contains its title and caption; if not, it is a little smaller
    titles: bool = True
    width_in: float | None = None  # the width of each figure, or None for the default; the height is proportional
    log_y: bool = False  # whether metrics, buffers and delays have a logarithmic vertical axis

    def size(self, width_in: float, height_in: float) -> tuple[float, float]:
        if self.width_in is None:
            return width_in, height_in
        return self.width_in, max(LEAST_HEIGHT_IN, height_in / width_in * self.width_in)

    @property
    def log_y_note(self) -> str:
        """A sentence for captions of figures with logarithmic axes. It begins with a space."""
        text = " A vertical axis with values above zero is logarithmic; other values are below its lower edge."
        return text if self.log_y else ""

    def options(self) -> dict[str, Any]:
        """Return the options of `mobilenet figures` that change the content."""
        return {"plain": not self.titles, "width": self.width_in, "log_y": self.log_y}

    def panels(self, count: int, width_in: float, height_in: float) -> tuple[int, int, float, float]:
        """Return the numbers of rows and columns for panels of this size, and the width and height of the figure.
        Panels are placed side by side if they fit.
        """
        width = self.width_in if self.width_in is not None else width_in * min(2, count)
        columns = min(2, count) if width >= WIDE_IN else 1
        rows = -(-count // columns)
        shrunk = min(1.0, width / columns / width_in)
        return rows, columns, width, rows * max(LEAST_PANEL_IN, height_in * shrunk)


LOOK = Look()


class DrawnFigure(NamedTuple):
    """A figure that was saved as a file."""

    title: str
    path: Path
    note: str  # the caption, which explains what was measured, how, and how often


def save(figure: Any, target: Path) -> None:
    """Write the figure as SVG, PNG or PDF, according to the suffix, without the date."""
    wrap_labels(figure)
    suffix = target.suffix.lower()
    metadata: dict[str, Any] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix, {})
    if (line := stamp()) is not None:
        metadata[{".svg": "Description", ".pdf": "Subject"}.get(suffix, KEY)] = line
    remove_dead(target.parent)
    try:
        with in_place_of(target) as partial:
            figure.savefig(partial, dpi=DOTS_PER_INCH, metadata=metadata)
    except OSError as error:
        raise RecordError(f"{target}: could not be written completely: {error.strerror}") from error


def save_all(figure: Any, folder: Path, name: str, suffixes: tuple[str, ...] = (".svg", ".png")) -> Path:
    """Save a figure with all suffixes. Return the file of the first one."""
    for suffix in suffixes:
        save(figure, folder / f"{name}{suffix}")
    return folder / f"{name}{suffixes[0]}"


def percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def wrap_labels(figure: Any) -> None:
    """Wrap axis labels that would not fit into a narrow figure."""
    if figure.get_figwidth() >= WIDE_IN:
        return
    for axes in figure.axes:
        grid = axes.get_gridspec() if axes.get_subplotspec() is not None else None
        wide = figure.get_figwidth() / (grid.ncols if grid is not None else 1)
        high = figure.get_figheight() * (_share(axes.get_subplotspec(), grid) if grid is not None else 1)
        axes.set_xlabel(textwrap.fill(axes.get_xlabel(), max(12, int(LETTERS_PER_IN * wide))))
        label = " ".join(axes.get_ylabel().split())
        axes.set_ylabel(textwrap.fill(label, max(14, int(LETTERS_PER_IN * (high - 0.4)))))


def _share(place: Any, grid: Any) -> float:
    """Return the fraction of a figure's height that a panel takes."""
    heights = grid.get_height_ratios()
    return float(heights[place.rowspan.start] / sum(heights))


def entitle(figure: Any, title: str) -> None:
    """Write the title above the panels, in as many lines as necessary."""
    lines = textwrap.fill(title, int(figure.get_figwidth() * TITLE_LETTERS_PER_IN))
    _grow(figure, 0.18 * lines.count("\n"))
    figure.suptitle(plain(lines), fontsize=11, fontweight="bold", x=0.01, ha="left")


def caption(figure: Any, text: str) -> None:
    """Write the caption below the axes and the legend of the figure, in small print. After this, the height of the
    figure is final.
    """
    from matplotlib.transforms import ScaledTranslation

    lines = textwrap.wrap(text, int(figure.get_figwidth() * 16.5))
    text_below = figure.supxlabel(plain("\n".join(lines)), fontsize=8, color=QUIET, x=0.01, ha="left")
    _grow(figure, CAPTION_LINE_IN * (len(lines) - 1))
    for legend in figure.legends:  # The layout leaves space only for the taller one of two legends, but both must fit.
        text_below.set_in_layout(False)
        high = CAPTION_LINE_IN * len(lines) + 0.06
        up = ScaledTranslation(0, high, figure.dpi_scale_trans)
        legend.set_bbox_to_anchor((0, 0, 1, 1), figure.transFigure + up)
        high += legend.get_window_extent(figure.canvas.get_renderer()).height / figure.dpi
        share = high / figure.get_figheight()
        figure.get_layout_engine().set(rect=(0, share, 1, 1 - share))


def figure_legend(figure: Any, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """Draw a legend below all panels, in as many columns as fit. The figure grows with the rows of the legend."""
    if not handles:
        return
    wide = figure.get_figwidth() - 0.2
    per_in = 14 if figure.get_figwidth() >= WIDE_IN else 17  # characters per inch
    columns = max(1, min(len(labels), int(wide / (0.55 + max(map(len, labels)) / per_in))))
    texts = [textwrap.fill(label, max(12, int((wide / columns - 0.55) * per_in))) for label in labels]
    rows = -(-len(texts) // columns) * (1 + max(label.count("\n") for label in texts))
    _grow(figure, 0.17 * rows)
    figure.legend(
        handles, list(map(plain, texts)), loc="outside lower left", ncols=columns, frameon=False, borderaxespad=0.3
    )


def _grow(figure: Any, inches: float) -> None:
    """Increase the height of the figure to make space for text without shrinking the panels."""
    figure.set_figheight(figure.get_figheight() + inches)


def legend_below(axes: Any, columns: int = 4, **options: Any) -> Any:
    """Draw a legend below the axis label, where it does not cover a curve."""
    from matplotlib.transforms import ScaledTranslation

    columns = max(1, min(columns, int(columns * axes.figure.get_figwidth() / WIDE_IN)))
    below = axes.transAxes + ScaledTranslation(0, -36 / 72, axes.figure.dpi_scale_trans)
    handles, labels = options.pop("handles", None), options.pop("labels", None)
    if handles is None:
        handles, labels = axes.get_legend_handles_labels()
    elif labels is None:
        labels = [handle.get_label() for handle in handles]
    if not handles:
        return None
    return axes.legend(
        handles,
        [plain(label) for label in labels],
        loc="upper left",
        bbox_to_anchor=(0, 0),
        bbox_transform=below,
        ncols=columns,
        frameon=False,
        borderaxespad=0,
        borderpad=0.2,
        columnspacing=1.4,
        **options,
    )


def log_axis(axis: Any, least: float, most: float) -> None:
    """Draw a logarithmic axis with plain numbers that do not overlap: at 1, 2 and 5 times powers of ten or, over many
    decades, at powers of ten.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis._set_axes_scale("log")
    few = most / least < 2000
    axis.set_major_locator(LogLocator(10, subs=(1, 2, 5) if few else (1,), numticks=20))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_formatter(NullFormatter())


def in_words(axes: Any, words: str) -> str:
    """Write a text into an empty picture. Return the text."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, words, ha="center", va="center", color=QUIET, transform=axes.transAxes)
    return words


def large_numbers(axis: Any) -> None:
    """Write thousands with a comma, and use k, M or G from a hundred thousand on."""
    from matplotlib.ticker import EngFormatter, FuncFormatter

    most = max(map(abs, axis.get_view_interval()))
    if most >= 1e5:
        axis.set_major_formatter(EngFormatter(sep="\N{THIN SPACE}"))
    elif most >= 1e3:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def numeric_ticks(axes: Any, levels: Sequence[float]) -> None:
    """Draw a tick at each level (in ascending order) if they fit, and otherwise where matplotlib places ticks."""
    if len(levels) > 1:
        span = levels[-1] - levels[0]
        axes.set_xlim(levels[0] - 0.06 * span, levels[-1] + 0.06 * span)
        wide = axes.figure.get_figwidth() / axes.get_gridspec().ncols - BESIDE_PANEL_IN
        closest = min(b - a for a, b in pairwise(levels)) / span
        if len(levels) > MOST_TICKS or closest * wide < LEAST_TICK_IN:
            return
    axes.set_xticks(levels, [f"{value:g}" for value in levels])


def unstable_mark(axes: Any, x: float, colour: str) -> None:
    """Draw a cross on the upper edge for a mean that does not exist."""
    axes.plot(x, 0.97, "x", color=colour, transform=axes.get_xaxis_transform(), clip_on=False)


def infinite_mark(axes: Any, x: float, colour: str) -> None:
    """Write ∞ above the upper edge for a mean that is infinite."""
    axes.text(x, 1, "∞", color=colour, fontsize=13, ha="center", va="bottom", transform=axes.get_xaxis_transform())
