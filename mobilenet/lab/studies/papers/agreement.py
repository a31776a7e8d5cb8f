"""Whether a value of ours agrees with the one in print, and how many of a paper's values do.

Model     agrees: within half a unit of the last digit in print, and of both intervals where there are any; what print
          gives as a bound holds. Else it is what is known of the value in print: that another table of the paper
          contradicts it, or that nothing explains it; else it differs
Units     those of the rows
Shapes    rows with `table`, `printed`, `percent` and `verdict`, which is empty where nothing is in print
Source    ours: docs/protocols/vcube.md
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from mobilenet.lab.studies.papers.jobs import markdown
from mobilenet.quoting import pluralize

AGREES, DIFFERS, UNEXPLAINED, CONTRADICTED = "agrees", "differs", "unexplained", "contradicted by the paper itself"
WORDS = {AGREES: "agree", DIFFERS: "differ", UNEXPLAINED: "unexplained", CONTRADICTED: CONTRADICTED}  # of several
KNOWN = {"unexplained": UNEXPLAINED, "contradicts": CONTRADICTED, "stale": CONTRADICTED}  # a note's first word
HEAD = ("table", "published", *WORDS.values(), "largest difference, %")
RULE = (
    "A value agrees if it differs from the published one by at most half a unit in the last published digit plus the"
    " half-widths of any intervals, or if it satisfies a published bound."
)
Rows = list[dict[str, Any]]


def verdict_against(mean: float, half_width: float | None, paper: dict[str, str] | None) -> str:
    """`paper`: printed, its half_width if it has one, and a note; None: not in print."""
    if paper is None:
        return ""
    printed, note = float(paper["printed"]), paper["note"]
    digits = len(paper["printed"].partition(".")[2])
    slack = 0.5 * 10**-digits + (half_width or 0.0) + float(paper.get("half_width") or 0.0) + 1e-9
    is_fine = abs(mean - printed) <= slack
    is_fine |= (note.startswith("at most") and mean < printed) or (note.startswith("at least") and mean > printed)
    return AGREES if is_fine else KNOWN.get(note.partition(" ")[0].rstrip(":"), DIFFERS)


def percent(difference: float | None, paper: dict[str, str] | None) -> float | None:
    """The difference in per cent of what is in print."""
    if difference is None or paper is None or not float(paper["printed"]):
        return None
    return round(100 * difference / float(paper["printed"]), 2)


def summary(rows: Rows) -> Rows:
    """A row of HEAD for each table of the paper."""
    tables: dict[Any, Rows] = {}
    for row in rows:
        if row["verdict"]:
            tables.setdefault(row["table"], []).append(row)
    table_rows = []
    for table in sorted(tables, key=lambda table: (not str(table).isdecimal(), str(table).zfill(9))):
        own = tables[table]
        answers = Counter(row["verdict"] for row in own)
        parts = [row["percent"] for row in own if row["percent"] is not None]
        counts = [answers[answer] for answer in WORDS]
        table_rows.append(dict(zip(HEAD, (table, len(own), *counts, max(parts, key=abs, default=None)), strict=True)))
    return table_rows


def agreement_summary(rows: Rows) -> str:
    """How many of all values in print agree."""
    answers = Counter(row["verdict"] for row in rows if row["verdict"])
    if not answers:
        return "the paper gives no values for these sizes"
    breakdown = ", ".join(f"{answers[answer]} {words}" for answer, words in WORDS.items() if answers[answer])
    return f"{pluralize(answers.total(), 'published value')}: {breakdown}"


def document(title: str, head: tuple[str, ...], rows: Rows) -> str:
    """Markdown: what came out, table by table, and then every row."""
    first = markdown(HEAD, [list(row.values()) for row in summary(rows)])
    every = markdown(head, [[row[name] for name in head] for row in rows])
    return f"# {title}\n\n{agreement_summary(rows).capitalize()}. {RULE}\n\n{first}\n## Every value\n\n{every}"
