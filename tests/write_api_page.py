"""Write the tables of docs/api.md from the docstrings of the code.

    python -m tests.write_api_page

Model     The text between two markers of the page is replaced by a table. Each function, class, attribute and method of
          the names in PARTS has a row. tests/test_docs.py compares the page with the code.
Source    ours: docs/api.md
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from tests.tools import between_marks
from tests.write_verdict_tables import table

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
PARTS = {  # section of the page -> modules, and the documented names of each module
    "Runs": (
        ("api", "run"),
        ("lab.notebook.runs", "load"),
        ("api", "Run"),
        ("lab.notebook.runs", "Run"),
        ("verify.verdict", "Verdict"),
    ),
    "Studies": (
        ("lab.studies.frames", "study"),
        ("lab.notebook.studies", "StudyFrames"),
        ("lab.studies.frames", "StudyFrames"),
    ),
    "Searches, rankings and claims": (
        ("lab.notebook.capacity", "capacity Capacity"),
        ("lab.notebook.sensitivity", "sensitivity Sensitivity"),
        ("lab.notebook.claims", "claims ClaimAnswers"),
    ),
    "Live runs": (
        ("lab.live.start", "live"),
        ("lab.live.session", "LiveSession"),
    ),
    "Swarm and shrink": (
        ("lab.hunt.swarm.campaign", "run_campaign Result"),
        ("lab.hunt.swarm.shrink", "Shrinking"),
    ),
    "Plug-ins": (
        ("protocols.declaration", "Declaration"),
        ("protocols.base", "BaseHost BaseStation BaseStable BaseMessage BaseClient"),
        ("metrics.custom", "metric Record Delivery SampleRow"),
        ("simulation.observer", "Observer"),
        ("record.schema", "Event"),
    ),
    "Custom processes": (("simulation.process_handles", "Host World Run"),),
    "Protocols in a test": (
        ("lab.hunt.controlled.network", "Network Packet"),
        ("lab.hunt.controlled.processes", "Processes"),
        ("lab.hunt.controlled.connections", "Connections End"),
    ),
}


def words_of(node: ast.ClassDef | ast.FunctionDef, text: str) -> str:
    """Return the docstring, or the comment at the end of the first line, as a single line. Links are relative to the
    page.
    """
    comment = text.splitlines()[node.lineno - 1].partition("  # ")[2]
    words = " ".join((ast.get_docstring(node) or comment).split())
    return re.sub(r"docs/([\w/-]+\.md(?:#[\w-]+)?)", r"[\1](\1)", words)


def signature(node: ast.FunctionDef) -> str:
    if any(ast.unparse(one).endswith("property") for one in node.decorator_list):
        return f": {ast.unparse(node.returns)}" if node.returns else ""
    given = ast.unparse(node.args).removeprefix("self, ").removeprefix("self")
    arrow = "" if node.returns is None or ast.unparse(node.returns) == "None" else f" -> {ast.unparse(node.returns)}"
    return f"({given}){arrow}"


def rows(module: str, own: str) -> Iterator[tuple[str, str]]:
    """Yield a row for a function or class and for the public members of a class."""
    text = Path(str(import_module(f"mobilenet.{module}").__file__)).read_text(encoding="utf-8")
    nodes = [one for one in ast.parse(text).body if isinstance(one, (ast.ClassDef, ast.FunctionDef))]
    (node,) = (one for one in nodes if one.name == own)
    if isinstance(node, ast.FunctionDef):
        yield own + signature(node), words_of(node, text)
        return
    methods = [one for one in node.body if isinstance(one, ast.FunctionDef)]
    new = next((signature(one) for one in methods if one.name == "__init__"), "")
    # A base class of this name has a row already.
    if not any(ast.unparse(base).rpartition(".")[2] == own for base in node.bases):
        yield own + new, words_of(node, text)
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and not one.name.startswith("_"):
            yield f"{own}.{one.name}{signature(one)}", words_of(one, text)
        elif isinstance(one, ast.AnnAssign) and not ast.unparse(one.target).startswith("_"):
            comment = text.splitlines()[one.lineno - 1].partition("  # ")[2]
            yield f"{own}.{ast.unparse(one.target)}: {ast.unparse(one.annotation)}", comment


def with_tables(page: str) -> str:
    for part, modules in PARTS.items():
        all_rows = [row for module, names in modules for name in names.split() for row in rows(module, name)]
        cells = [(f"`{what.replace(' | ', ' or ')}`", words.replace("|", r"\|")) for what, words in all_rows]
        marks = f"<!-- api: {part} -->", f"<!-- end of api: {part} -->"
        page = between_marks(page, *marks, table("name | what it is", cells))
    return page


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
