"""Write the README of an archive: what it contains, the claims and their answers, and how to check it.

Source    ours: docs/guide/artefact.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mobilenet.lab.artefact.archive import CHECKSUMS
from mobilenet.lab.artefact.parts import CLAIMS, Part
from mobilenet.lab.artefact.searches import Search, answer_lines
from mobilenet.lab.studies.claims.words import markdown_table as table
from mobilenet.quoting import format_number, pluralize
from mobilenet.record.stamp import PLACE

LOCK, INSTALLED, CRATE = "requirements.lock", "installed.txt", "ro-crate-metadata.json"
HEAD = ("claim", "sentence", "answer", "value", "interval", "required", "runs")
OF_STUDIES = (
    "`studies/NAME/`", "a study: `study.yaml`, the scenario of each configuration with the files that it names,"
    " tables as CSV and Parquet, comparison, figures"
)  # fmt: skip
OF_SEARCHES = "; for a capacity search or a screening, also its answer (`capacity.*`, `sensitivity.*`)"
OF_CLAIMS = (
    "`claims/NAME/`", "`claims.yaml`, its answers as JSON, CSV, Parquet and Markdown, and a study for each experiment"
)  # fmt: skip
FILES = (
    (f"`{CHECKSUMS}`", "SHA-256 of each file, and the versions with which the archive was made"),
    (f"`{CRATE}`", "metadata, as RO-Crate 1.3"),
)  # fmt: skip


class Summary(NamedTuple):
    """The facts about one part that the README and the metadata need."""

    part: Part
    runs: int
    configurations: int
    answers: Sequence[Mapping[str, Any]]  # rows of claims.json
    code: Sequence[str]  # plug-ins and programs that the scenarios name
    search: Search | None = None  # the result, if the part is a search

    @property
    def kind(self) -> str:
        """The kind of the part, in words."""
        if self.part.kind == CLAIMS:
            return "Claims"
        return "Study" if self.search is None else self.search.title


def readme(title: str, parts: Sequence[Summary], made_by: Mapping[str, str | None], lock: str) -> str:
    """Return the text of the file README.md in the archive."""
    code = sorted({name for one in parts for name in one.code})
    blocks = [
        f"# {title}",
        f"This archive contains {_in_words(parts)}, made with mobilenet {made_by['mobilenet']}{_commit(made_by)}.",
        "## Check",
        "Install this version of mobilenet, and let it run everything again. The check needs no network:",
        f"    mobilenet artefact check FILE.zip{' --allow-code' if code else ''}",
        "For each claim, each study and each search, the command prints whether the results are the same.",
    ]
    if code:
        names = ", ".join(f"`{name}`" for name in code)
        blocks.append(
            f"The archive contains code: {names}. The check runs it only with `--allow-code`, and then with your full"
            " permissions. Read it first: it is next to the scenario of each configuration. Without the option,"
            " everything else is checked."
        )
    for one in parts:
        blocks += _part(one)
    packages = "its exact dependencies" if lock == LOCK else "the packages that were installed"
    files = [*map(list, _folders(parts)), *map(list, FILES), [f"`{lock}`", packages]]
    blocks += ["## Files", table(("file", "content"), files).rstrip()]
    return "\n\n".join(blocks) + "\n"


def _folders(parts: Sequence[Summary]) -> Iterator[tuple[str, str]]:
    if any(one.part.kind != CLAIMS for one in parts):
        yield OF_STUDIES[0], OF_STUDIES[1] + (OF_SEARCHES if any(one.search for one in parts) else "")
    if any(one.part.kind == CLAIMS for one in parts):
        yield OF_CLAIMS


def _commit(made_by: Mapping[str, str | None]) -> str:
    if (commit := made_by["commit"]) is None:
        return ""
    return f", commit {commit.rstrip('+')}" + (" with changes that are not in this commit" * commit.endswith("+"))


def _in_words(parts: Sequence[Summary]) -> str:
    runs = sum(one.runs for one in parts)
    return contents(parts) + (f", {pluralize(runs, 'run')} in all" if runs else "")


def contents(parts: Sequence[Summary]) -> str:
    """Return a summary of the contents, such as `1 study, 1 capacity search and 4 claims`."""
    kinds = Counter(one.kind.lower() for one in parts if one.part.kind != CLAIMS)
    phrases = [pluralize(count, kind) for kind, count in kinds.items()]
    claims = sum(len(one.answers) for one in parts)
    phrases += [pluralize(claims, "claim")] if claims else []
    return f"{', '.join(phrases[:-1])} and {phrases[-1]}" if len(phrases) > 1 else "".join(phrases)


def _part(one: Summary) -> list[str]:
    runs = f": {pluralize(one.configurations, 'configuration')}, {pluralize(one.runs, 'run')}" if one.runs else ""
    if one.part.kind != CLAIMS:
        head = [f"## {one.kind}: {one.part.name}", f"`{one.part.place}/study.yaml`{runs}."]
        return head if one.search is None else [*head, *answer_lines(one.search), *_command(one, one.search)]
    rows = [[cell.replace("|", "\\|").replace("\n", " ") for cell in _cells(row)] for row in one.answers]
    return [
        f"## Claims: {one.part.name}",
        f"`{one.part.place}/claims.yaml`{runs}.",
        table(HEAD, rows).rstrip(),
        f"In the commands of `{one.part.place}/claims.md`, `{PLACE}` stands for `{one.part.place}`.",
    ]


def _command(one: Summary, search: Search) -> list[str]:
    return ["The check repeats this command:", f"    {search.command_in(one.part.place)}"]


def _cells(row: Mapping[str, Any]) -> list[str]:
    unit = f" {row['unit']}" if row.get("unit") else ""
    value, low, high = (_number(row.get(name)) for name in ("value", "low", "high"))
    number = f"{value}{unit}" if value else "–"
    interval = f"{low} to {high}{unit}" if low and high else "–"
    texts = (str(row.get(name) or "") for name in ("claim", "says", "answer"))
    return [*texts, number, interval, str(row.get("required") or ""), str(row.get("replications") or "")]


def _number(value: Any) -> str:
    """Return a number from claims.json, where infinite numbers are stored as strings."""
    return format_number(value) if isinstance(value, int | float) else str(value or "")
