"""The README of an archive: what it contains, what was claimed and answered, and how to check it.

Errors    none
Source    ours: docs/guide/artefact.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mobilenet.artefact.archive import CHECKSUMS
from mobilenet.artefact.parts import CLAIMS, Part
from mobilenet.papers.jobs import markdown as table
from mobilenet.quoting import counted, shown
from mobilenet.rundir.stamp import PLACE

LOCK, INSTALLED, CRATE = "requirements.lock", "installed.txt", "ro-crate-metadata.json"
HEAD = ("claim", "sentence", "answer", "value", "required", "runs")
FILES = (
    ("`studies/NAME/`", "a study: `study.yaml`, the scenario of each configuration with the files that it names,"
     " tables as CSV and Parquet, comparison, figures"),
    ("`claims/NAME/`", "`claims.yaml`, its answers as JSON, CSV, Parquet and Markdown, and a study for each"
     " experiment"),
    (f"`{CHECKSUMS}`", "SHA-256 of each file, and the versions with which the archive was made"),
    (f"`{CRATE}`", "metadata, as RO-Crate 1.3"),
)  # fmt: skip


class Summary(NamedTuple):
    """What the README and the metadata state about one part."""

    part: Part
    runs: int
    configurations: int
    answers: Sequence[Mapping[str, Any]]  # rows of claims.json
    code: Sequence[str]  # plug-ins and programs, by their names in the scenarios


def readme(title: str, parts: Sequence[Summary], made_by: Mapping[str, str | None], lock: str) -> str:
    """Return README.md."""
    code = sorted({name for one in parts for name in one.code})
    blocks = [
        f"# {title}",
        f"This archive contains {_in_words(parts)}, made with mobilenet {made_by['mobilenet']}{_commit(made_by)}.",
        "## Check",
        "Install this version of mobilenet, and let it run everything again. The check needs no network:",
        f"    mobilenet artefact check FILE.zip{' --allow-code' if code else ''}",
        "For each claim and each study, the command prints whether the results are the same.",
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
    blocks += ["## Files", table(("file", "content"), [*map(list, FILES), [f"`{lock}`", packages]]).rstrip()]
    return "\n\n".join(blocks) + "\n"


def _commit(made_by: Mapping[str, str | None]) -> str:
    if (commit := made_by["commit"]) is None:
        return ""
    return f", commit {commit.rstrip('+')}" + (" with changes that are not in this commit" * commit.endswith("+"))


def _in_words(parts: Sequence[Summary]) -> str:
    studies = [one for one in parts if one.part.kind != CLAIMS]
    claims = sum(len(one.answers) for one in parts)
    found = [counted(len(studies), "study")] if studies else []
    found += [counted(claims, "claim")] if claims else []
    runs = sum(one.runs for one in parts)
    return " and ".join(found) + (f", {counted(runs, 'run')} in all" if runs else "")


def _part(one: Summary) -> list[str]:
    runs = f": {counted(one.configurations, 'configuration')}, {counted(one.runs, 'run')}" if one.runs else ""
    if one.part.kind != CLAIMS:
        return [f"## Study: {one.part.name}", f"`{one.part.place}/study.yaml`{runs}."]
    rows = [[cell.replace("|", "\\|").replace("\n", " ") for cell in _cells(row)] for row in one.answers]
    return [
        f"## Claims: {one.part.name}",
        f"`{one.part.place}/claims.yaml`{runs}.",
        table(HEAD, rows).rstrip(),
        f"In the commands of `{one.part.place}/claims.md`, `{PLACE}` stands for `{one.part.place}`.",
    ]


def _cells(row: Mapping[str, Any]) -> list[str]:
    value, unit = row.get("value"), f" {row['unit']}" if row.get("unit") else ""
    number = f"{shown(value)}{unit}" if isinstance(value, int | float) else str(value or "–")
    texts = (str(row.get(name) or "") for name in ("claim", "says", "answer"))
    return [*texts, number, str(row.get("required") or ""), str(row.get("replications") or "")]
