"""Write the means of a study as a table for papers, in LaTeX and Markdown.

Model     The table has a row for each configuration and a column for each metric: the mean and the half-width of its
          interval, rounded as the interval justifies. LaTeX needs the package booktabs.
Units     the units of the metrics, which the column heads state
Source    ours: docs/guide/pictures.md
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

from mobilenet.lab.studies.precedence import DELIVERED
from mobilenet.record.provenance import stamping_of
from mobilenet.record.stamp import in_text, normal_command

from .figures.means import metrics_of_interest
from .study_tables import StudyTables, infinite, study_tables
from .style import percent

MISSING = "–"
MOST_DIGITS = 6  # the maximum number of digits of a mean, unless its integer part has more


def write_means(
    study: Path, folder: Path, metrics: Sequence[str] = (), latex: bool = False, markdown: bool = False
) -> list[Path]:
    """Write means.tex and means.md, as requested, and return the files."""
    tables = study_tables(study)
    chosen_metrics = metrics_of_interest(tables, metrics)
    head, rows = head_and_rows(tables, chosen_metrics)
    note = note_of_means(tables)
    formats = [("means.tex", _latex, "% ", "")] * latex + [("means.md", _markdown, "\n<!-- ", " -->")] * markdown
    command = normal_command("figures", "STUDY", metric=metrics, latex=latex, markdown=markdown)
    with stamping_of(study, command):
        for name, form, before, after in formats:
            text = in_text(form(head, rows, len(tables.factors), note), before, after)
            (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name, *_ in formats]


def head_and_rows(tables: StudyTables, metrics: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Return the head of the table, with each factor and metric, and a row for each configuration. If not all messages
    were delivered, the delivery ratio comes before the other metrics.
    """
    if tables.lost_deliveries and DELIVERED not in metrics:
        metrics = [DELIVERED, *metrics]
    head = [*tables.factors, *(tables.words.axis_name(metric) for metric in metrics)]
    return head, _rows(tables, metrics)


def note_of_means(tables: StudyTables) -> str:
    """Return a note that explains the numbers."""
    of = f"Means over n = {tables.replications} replications ± half of the {percent(tables.confidence)} t interval."
    return " ".join([of, *tables.doubts()])


def mean_and_half(mean: float, half: float) -> str:
    """Return text such as `0.0410 ± 0.0023`. Both numbers have as many decimal places as two digits of the interval
    need, or fewer if the mean would exceed MOST_DIGITS digits.
    """
    if not half > 0:
        return f"{mean:.4g}"
    places = max(0, 1 - math.floor(math.log10(half)))
    if mean:
        places = min(places, max(0, MOST_DIGITS - 1 - math.floor(math.log10(abs(mean)))))
    least = 10.0**-places
    return f"{mean:.{places}f} ± " + (f"{half:.{places}f}" if half >= least / 2 else f"<{least:.{places}f}")


def _rows(tables: StudyTables, metrics: Sequence[str]) -> list[list[str]]:
    cells_of: dict[int, list[str]] = {}
    for row in tables.summary:
        cells = cells_of.setdefault(row["configuration"], [tables.levels.name(f, row[f]) for f in tables.factors])
        cells += [MISSING] * (len(tables.factors) + len(metrics) - len(cells))
        if row["metric"] in metrics:
            place = len(tables.factors) + metrics.index(row["metric"])
            if row["mean"] is not None:
                half = row["high"] - row["mean"] if row["high"] is not None else 0.0
                cells[place] = mean_and_half(row["mean"], half)
            else:
                cells[place] = infinite(row) or row["label"] or MISSING
    return list(cells_of.values())


def _markdown(head: list[str], rows: list[list[str]], factors: int, note: str) -> str:
    rule = ["---"] * factors + ["---:"] * (len(head) - factors)
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (head, rule, *rows)]
    return "\n".join([*lines, "", note, ""])


def _latex(head: list[str], rows: list[list[str]], factors: int, note: str) -> str:
    lines = [" & ".join(map(_escape, row)) + r" \\" for row in (head, *rows)]
    columns = "l" * factors + "r" * (len(head) - factors)
    return "\n".join(
        [r"% needs \usepackage{booktabs}", rf"\begin{{tabular}}{{{columns}}}", r"\toprule", lines[0], r"\midrule",
         *lines[1:], r"\bottomrule",
         rf"\multicolumn{{{len(head)}}}{{p{{0.9\linewidth}}}}{{\footnotesize {_escape(note)}}} \\",
         r"\end{tabular}", ""]
    )  # fmt: skip


def _escape(text: str) -> str:
    text = text.replace("\\", r"\textbackslash ")
    text = re.sub(r"([&%$#_{}])", r"\\\1", text).replace("~", r"\textasciitilde ").replace("^", r"\textasciicircum ")
    text = text.replace("∞", r"$\infty$")
    return text.replace("±", r"$\pm$").replace("–", "--").replace("×", r"$\times$").replace("…", r"\ldots ")
